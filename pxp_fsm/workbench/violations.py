"""A counterexample to a property of tables of one's own, as a sequence chart.

An arrow is a message, at the step in which it was sent; over a channel with buffers it says when it
was received, if it was. What is drawn has been taken by real machines; after the last step there is
an arrow for each message that could be sent then, or was chosen, and that nobody receives.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from proofs.actions import Choose, Deliver, Exchange, External, Send
from proofs.explore import Trace
from proofs.systems import Composition, Configuration, System
from proofs.systems.receptions import Receptions, Unreceived
from proofs.verdicts import Verdict
from pxp_fsm.diagrams import Arrow, Lifeline, SequenceChart, write
from pxp_fsm.errors import UsageError
from pxp_fsm.workbench import systems


def draw(tables: tuple[str, ...], name: str, channel: str, path: Path) -> Path:
    """Draw how `tables`, joined by `channel`, break `name`: a standard check or a formula.

    Raises `UsageError` where it does not fail, or fails without a trace.
    """
    system, result = systems.counterexample(tables, name, channel)
    verdict, trace = result.verdict, result.trace
    if trace is None:
        told = f"; {verdict.detail}" if verdict.detail else ""
        raise UsageError(f"{name} has no counterexample: {verdict.status.value}{told}")
    remark = f"over {channel}: {_ending(verdict, trace)}"
    write(chart(system, trace, f"{name} fails", remark, _refused(system, trace, name)), path)
    return path


def _refused(system: System, trace: Trace[Configuration], name: str) -> Iterable[Unreceived]:
    """What is not received after `trace`: for the standard checks that are about it, what could be
    sent; for others, what has been chosen."""
    composition = Composition(system)
    receptions, state = Receptions(composition), composition.state(_last(trace))
    if not system.channel.synchronous:
        return ()
    if name in ("no-deadlock", "no-unspecified-reception", "no-orphan-message"):
        return receptions.unreceived(state, ended=name == "no-orphan-message")
    return receptions.waiting(state)


def _last(trace: Trace[Configuration]) -> Configuration:
    return trace.steps[-1].target if trace.steps else trace.start


def chart(
    system: System,
    trace: Trace[Configuration],
    title: str,
    remark: str,
    refused: Iterable[Unreceived] = (),
) -> SequenceChart:
    """The messages of `trace`, where each member is in the end, and what is `refused` there."""
    arrows, events = list[Arrow](), list[str]()
    for number, step in enumerate(trace.steps, start=1):
        match step.action:
            case External(label):
                events.append(f"{label} in step {number}")
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
    return f"so after {len(trace.steps)} step{'' if len(trace.steps) == 1 else 's'}"
