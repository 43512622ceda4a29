"""Counterexamples of systems as sequence charts."""

from __future__ import annotations

from collections.abc import Iterable

from proofs.core.actions import Choose, Decide, Deliver, Exchange, External, Send
from proofs.core.explore import Trace
from proofs.core.results import Result, Verdict
from proofs.systems.encoding import Configuration
from proofs.systems.product import Composition
from proofs.systems.receptions import Receptions, Unreceived
from proofs.systems.system import System
from pxp_fsm.diagrams import Arrow, Lifeline, SequenceChart
from pxp_fsm.errors import UsageError


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
    arrows, events = list[Arrow](), list[str]()
    for number, step in enumerate(trace.steps, start=1):
        match step.action:
            case External(label):
                events.append(f"{label} in step {number}")
            case Decide(guard, label, member):
                events.append(f"{member} chooses {guard}/!{label} in step {number}")
            case Exchange(sender, receiver, tag):
                arrows.append(Arrow(number, sender, receiver, tag, ()))
            case Send(sender, receiver, tag) as action:
                arrows.append(Arrow(number, sender, receiver, tag, (_fate(trace, number, action),)))
            case Choose(member, guard, tag):
                events.append(f"{member} chooses {guard}/+{tag} in step {number}")
    after = len(trace.steps) + 1
    arrows += (Arrow(after, r.sender, r.receiver, r.tag, ("not received",)) for r in refused)
    lifelines = tuple(
        Lifeline(member.name, state)
        for member, state in zip(system.members, _last(trace).at, strict=True)
    )
    return SequenceChart(title, lifelines, tuple(arrows), "; ".join([remark, *events]))


def _fate(trace: Trace[Configuration], number: int, sent: Send) -> str:
    """What became of a message that was sent in step `number` over a channel with buffers."""
    if sent.lost:
        return "lost"
    actions = [step.action for step in trace.steps]
    gone = Deliver(sent.sender, sent.receiver, sent.tag)
    kept = Deliver(sent.sender, sent.receiver, sent.tag, kept=True)
    earlier = actions[: number - 1].count(sent)
    taken = list[str]()
    for step, action in enumerate(actions, start=1):
        if not earlier and action in (gone, kept):
            taken.append(str(step))
        if action == gone and not earlier:
            return _received(taken)
        earlier -= action == gone
    return f"{_received(taken)}, and a copy is left" if taken else "not received"


def _received(steps: list[str]) -> str:
    return f"received in step{'s' if len(steps) > 1 else ''} {', '.join(steps)}"


def _ending(verdict: Verdict, trace: Trace[Configuration]) -> str:
    if verdict.cycle:
        return f"the last {verdict.cycle} of {len(trace.steps)} steps go on for ever"
    return f"reached in {len(trace.steps)} step{'' if len(trace.steps) == 1 else 's'}"
