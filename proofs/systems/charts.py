"""Counterexamples of systems as sequence charts."""

from __future__ import annotations

from collections.abc import Iterable

from proofs.core.explore import Trace
from proofs.core.results import Result, Verdict
from proofs.systems.encoding import Configuration
from proofs.systems.product import Composition
from proofs.systems.receptions import Receptions, Unreceived
from pxp_fsm.automata.actions import SystemAction
from pxp_fsm.automata.system import System
from pxp_fsm.diagrams import SequenceChart, actions_chart
from pxp_fsm.errors import UsageError
from pxp_fsm.sessions.occurrences import occurrences_of


def chart_of(system: System, result: Result, over: str = "") -> SequenceChart:
    """The trace of a `result` of checking `system`; raises `UsageError` where it has none.

    `over` names what it was checked over, where that is more than the system's one channel.
    """
    name, trace = result.name, result.trace
    if trace is None:
        raise UsageError(f"{name} has no trace to draw: {result.verdict}")
    remark = f"over {over or system.channel.name}: {_ending(result.verdict, trace)}"
    refused = _refused(system, trace, name)
    return _violation_chart(system, trace, result.headline, remark, refused)


def _refused(system: System, trace: Trace[Configuration], name: str) -> Iterable[Unreceived]:
    """What is not received after `trace`: for the standard checks that are about it, what could be
    sent; for others, what has been chosen."""
    composition = Composition(system)
    receptions, state = Receptions(composition), composition.encoding.state(_last(trace))
    if not system.channel.synchronous:
        return ()
    if name in ("no-deadlock", "no-unspecified-reception", "no-orphan-message"):
        return receptions.unreceived(state, ended=name == "no-orphan-message")
    return receptions.waiting(state)


def _last(trace: Trace[Configuration]) -> Configuration:
    return trace.steps[-1].target if trace.steps else trace.start


def _violation_chart(
    system: System,
    trace: Trace[Configuration],
    title: str,
    remark: str,
    refused: Iterable[Unreceived],
) -> SequenceChart:
    """The messages of `trace`, where each member is in the end, and what is `refused` there."""
    actions = [step.action for step in trace.steps if isinstance(step.action, SystemAction)]
    states = zip(system.places, _last(trace).at, strict=True)
    return actions_chart(
        occurrences_of(system, actions),
        dict(states),
        title=title,
        note=remark,
        refused=((one.sender, one.receiver, one.tag) for one in refused),
    )


def _ending(verdict: Verdict, trace: Trace[Configuration]) -> str:
    if verdict.cycle:
        return f"the last {verdict.cycle} of {len(trace.steps)} steps go on for ever"
    return f"reached in {len(trace.steps)} step{'' if len(trace.steps) == 1 else 's'}"
