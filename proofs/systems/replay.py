"""Taking a trace with real machines and the channel between them, before anybody sees it."""

from __future__ import annotations

from typing import Any

from proofs.core.explore import Trace
from proofs.core.model import Step
from proofs.systems.encoding import Configuration
from proofs.systems.product import Composition
from proofs.systems.propositions import Noted
from pxp_fsm.automata.actions import SystemAction
from pxp_fsm.errors import PXPError
from pxp_fsm.sessions.live import LiveSystem


def shown(composition: Composition, trace: Trace[Any]) -> Trace[Configuration]:
    """`trace` in words, taken by the system as it runs, with a real machine a member.

    An `AssertionError` where the machines or the buffers come somewhere else than the model.
    """
    start, steps = _state(trace.start), list[Step[Configuration]]()
    live = LiveSystem(composition.system)
    _compare(live, composition.encoding.configuration(start))
    for step in trace.steps:
        if not isinstance(step.action, SystemAction):
            raise AssertionError(f"no system does {step.action}")
        try:
            live.take(step.action)
        except PXPError as error:
            raise AssertionError(str(error)) from error
        reached = composition.encoding.configuration(_state(step.target))
        _compare(live, reached)
        steps.append(Step(step.action, reached))
    return Trace(composition.encoding.configuration(start), tuple(steps))


def configuration_of(live: LiveSystem) -> Configuration:
    """Where a running system is, as the model writes it."""
    chosen = tuple("" if row is None else row.guard or "" for row in live.chosen.values())
    return Configuration(
        tuple(live.states.values()),
        tuple(map(live.buffer, live.letters)),
        chosen if any(chosen) else (),
    )


def _compare(live: LiveSystem, configuration: Configuration) -> None:
    reached = configuration_of(live)
    if reached != configuration:
        raise AssertionError(f"the machines are at {reached}, the model at {configuration}")


def _state(state: Noted | int) -> int:
    return state.state if isinstance(state, Noted) else state
