"""What is ready to happen in a session of a system, and which of it comes next."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace

from pxp_fsm.automata.actions import Deliver, Exchange, Send, SystemAction
from pxp_fsm.automata.channels import Channel
from pxp_fsm.sessions.actors import Decision
from pxp_fsm.sessions.live import LiveSystem
from pxp_fsm.sessions.occurrences import Faults

Ready = tuple[SystemAction, Decision | None]
"""An action, and the decision of a member that it follows from, if it follows from one."""


def ready(live: LiveSystem, wants: Mapping[str, Decision | None], raised: Set[str]) -> list[Ready]:
    """What can happen now: what members want, deliveries, and events that were raised.

    A channel's faults are left out, but for a loss where nothing else can become of a message.
    """
    found: list[Ready] = []
    for name in live.machines:  # in their order, whoever has answered first
        decision = wants.get(name)
        if decision is not None:
            found += [(action, decision) for action in _by_decision(live, name, decision)]
    found += [(action, None) for action in live.deliveries() if not action.kept]
    found += [(action, None) for action in live.externals() if action.label in raised]
    return found


def _by_decision(live: LiveSystem, name: str, decision: Decision) -> list[SystemAction]:
    actions = [
        action
        for action in live.by_row(name, decision.row)
        if not decision.to
        or not isinstance(action, Exchange | Send)
        or action.receiver == decision.to
    ]
    return [one for one in actions if not isinstance(one, Send) or not one.lost] or actions


def drawn(
    found: Sequence[Ready], channel: Channel, faults: Faults, chances: Callable[[], random.Random]
) -> Ready | None:
    """One of `found`, each as likely, and what a faulty channel does to it; None of nothing."""
    if len(found) < 2 and not any(one.lossy or one.duplicating for one in channel.each):
        return found[0] if found else None
    if not found:
        return None
    chance = chances()
    action, decision = found[chance.randrange(len(found))]
    if not isinstance(action, Send | Deliver):
        return action, decision
    own = channel.of(action.sender, action.receiver)
    if isinstance(action, Send) and own.lossy and chance.random() < faults.loss:
        action = replace(action, lost=True)
    elif isinstance(action, Deliver) and own.duplicating:
        action = replace(action, kept=chance.random() < faults.duplication)
    return action, decision
