"""Counterexamples of systems as sequence charts, and on the automaton of each member."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proofs.core.explore import Trace
from proofs.core.results import Result, Verdict
from proofs.systems.encoding import Configuration
from proofs.systems.product import Composition
from proofs.systems.receptions import Receptions
from pxp_fsm.automata.actions import Choose, SystemAction, Unreceived
from pxp_fsm.automata.automaton import Kind, Transition
from pxp_fsm.automata.system import System
from pxp_fsm.diagrams import SequenceChart, StateDiagram, actions_chart, state_diagram
from pxp_fsm.errors import UsageError
from pxp_fsm.sessions.live import LiveSystem
from pxp_fsm.sessions.occurrences import occurrences_of


def chart_of(system: System, result: Result, over: str = "") -> SequenceChart:
    """The trace of a `result` of checking `system`; raises `UsageError` where it has none.

    `over` names what it was checked over, where that is more than the system's one channel.
    """
    trace = _trace(result)
    remark = f"over {over or system.channel.name}: {_ending(result.verdict, trace)}"
    states = zip(system.places, _last(trace).at, strict=True)
    refused = _refused(system, result)
    return actions_chart(
        occurrences_of(system, _actions(trace)),
        dict(states),
        title=result.headline,
        note="; ".join([remark, *map(str, refused)]),
        refused=((one.sender, one.receiver, one.tag) for one in refused),
    )


def ways_of(system: System, result: Result) -> Mapping[str, StateDiagram]:
    """The rows that each member took in the trace of a `result`, and what is not received."""
    live = LiveSystem(system)
    taken: dict[str, list[Transition]] = {name: [] for name in live.states}
    for action in _actions(_trace(result)):
        moved = live.take(action)
        for name, row in moved if not isinstance(action, Choose) else ():
            taken[name].append(row)
    refused = _refused(system, result)
    return {
        member.name: state_diagram(
            member.automaton,
            marked=live.states[member.name],
            path=taken[member.name],
            refused=_sending(live, member.name, refused),
            unreceived=[one.tag for one in refused if one.receiver == member.name],
        )
        for member in system.members
    }


def _sending(
    live: LiveSystem, name: str, refused: tuple[Unreceived, ...]
) -> tuple[Transition, ...]:
    """The rows by which a member would send what is not received; none where that is sent."""
    if not live.system.channel.synchronous:
        return ()
    tags = {(one.tag, one.receiver) for one in refused if one.sender == name}
    chosen = live.chosen[name]
    rows = live.machines[name].enabled() if chosen is None else (chosen,)
    return tuple(
        row
        for row in rows
        if row.kind is Kind.SEND
        and any(row.label == tag and row.partner in ("", to) for tag, to in tags)
    )


def unreceived_after(system: System, trace: Trace[Any]) -> tuple[Unreceived, ...]:
    """What is not received where `trace` ends, if nothing can happen there any more."""
    composition = Composition(system)
    state = composition.encoding.state(_last(trace))
    if composition.ended(state) or any(True for _ in composition.moves(state)):
        return ()
    return Receptions(composition).unreceived(state, ended=False)


def _refused(system: System, result: Result) -> tuple[Unreceived, ...]:
    """What is not received after the trace: what is known of it, or what has been chosen."""
    if result.verdict.unreceived or not system.channel.synchronous:
        return result.verdict.unreceived
    composition = Composition(system)
    state = composition.encoding.state(_last(_trace(result)))
    return tuple(Receptions(composition).waiting(state))


def _trace(result: Result) -> Trace[Configuration]:
    if result.trace is None:
        raise UsageError(f"{result.name} has no trace to draw: {result.verdict}")
    return result.trace


def _actions(trace: Trace[Configuration]) -> list[SystemAction]:
    return [step.action for step in trace.steps if isinstance(step.action, SystemAction)]


def _last(trace: Trace[Configuration]) -> Configuration:
    return trace.steps[-1].target if trace.steps else trace.start


def _ending(verdict: Verdict, trace: Trace[Configuration]) -> str:
    if verdict.cycle:
        return f"the last {verdict.cycle} of {len(trace.steps)} steps go on for ever"
    return f"reached in {len(trace.steps)} step{'' if len(trace.steps) == 1 else 's'}"
