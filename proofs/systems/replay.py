"""Taking a trace with real machines and the channel between them, before anybody sees it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from proofs.core.explore import Trace
from proofs.core.results import NotReplayed
from proofs.systems.encoding import Configuration
from proofs.systems.product import Composition
from proofs.systems.propositions import NotedState
from pxp_fsm.automata.actions import SystemAction
from pxp_fsm.errors import PXPError
from pxp_fsm.sessions.live import LiveSystem


def shown(composition: Composition, trace: Trace[Any]) -> Trace[Configuration]:
    """`trace` in words, taken by the system as it runs, with a real machine a member.

    Raises `NotReplayed` where the machines or the buffers come somewhere else than the model.
    """
    words = trace.map(lambda state: composition.encoding.configuration(_state(state)))
    live = LiveSystem(composition.system)
    try:
        _compare(live, words.start)
        for step in words.steps:
            _take(live, step.action)
            _compare(live, step.target)
    except (AssertionError, PXPError) as error:
        raise NotReplayed(str(error), words) from error
    return words


def configuration_of(live: LiveSystem) -> Configuration:
    """Where a running system is, as the model writes it."""
    chosen = tuple("" if row is None else row.guard or "" for row in live.chosen.values())
    return Configuration(
        tuple(live.states.values()),
        tuple(map(live.buffer, live.messages)),
        chosen if any(chosen) else (),
    )


def _take(live: LiveSystem, action: Hashable) -> None:
    if not isinstance(action, SystemAction):
        raise AssertionError(f"no system does {action}")
    live.take(action)


def _compare(live: LiveSystem, configuration: Configuration) -> None:
    reached = configuration_of(live)
    if reached != configuration:
        raise AssertionError(f"the machines are at {reached}, the model at {configuration}")


def _state(state: NotedState | int) -> int:
    return state.state if isinstance(state, NotedState) else state
