"""A counterexample to a property of tables of one's own, as a sequence chart.

An arrow is a message, at the step in which it was sent; over a channel with buffers it says when it
was received, if it was. What is drawn has been taken by real machines.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from proofs.explore import Trace
from proofs.systems.compatibility import TITLES
from proofs.verdicts import Verdict
from pxp_fsm.diagrams import Arrow, Lifeline, SequenceChart, write
from pxp_fsm.errors import UsageError
from pxp_fsm.workbench import checks, systems

if TYPE_CHECKING:
    from proofs.systems import Configuration, System

_EVENT = "!"


def draw(tables: tuple[str, ...], name: str, channel: str, path: Path) -> Path:
    """Draw how `tables`, joined by `channel`, break `name`: a standing check or a formula.

    Raises `UsageError` where it does not fail, or fails without a trace.
    """
    request = checks.Request(tables, channels=(channel,))
    if name in systems.TITLES or name in TITLES:
        request = replace(request, names=(name,))
    else:
        request = replace(request, formulas=(name,))
    line, *_ = checks.run(request).lines
    trace = line.verdict.trace
    if trace is None:
        told = f"; {line.verdict.detail}" if line.verdict.detail else ""
        raise UsageError(f"{name} has no counterexample: {line.verdict.status.value}{told}")
    remark = f"over {channel}: {_ending(line.verdict, trace)}"
    write(chart(systems.system_named(tables), trace, f"{name} fails", remark), path)
    return path


def chart(system: System, trace: Trace[Configuration], title: str, remark: str) -> SequenceChart:
    """The messages of `trace`, and where each member is in the end."""
    arrows, events = list[Arrow](), list[str]()
    for number, label in enumerate(trace.labels, start=1):
        where, _, what = label.partition(" ")
        if where == _EVENT:
            events.append(f"{what} in step {number}")
        elif not what.startswith("-"):
            sender, receiver = where.split(">")
            tag, _, _ = what.lstrip("+").partition(" ")
            arrows.append(Arrow(number, sender, receiver, tag, _fate(trace, number, where, what)))
    last = trace.steps[-1].target if trace.steps else trace.start
    lifelines = tuple(
        Lifeline(member.name, state) for member, state in zip(system.members, last.at, strict=True)
    )
    return SequenceChart(title, lifelines, tuple(arrows), "; ".join([remark, *events]))


def _fate(trace: Trace[Configuration], number: int, where: str, what: str) -> tuple[str, ...]:
    """What became of a message that was sent in step `number` over a channel with buffers."""
    if not what.startswith("+"):
        return ()
    tag, _, fate = what.removeprefix("+").partition(" ")
    if fate:
        return (fate,)
    labels = trace.labels
    earlier = sum(label == f"{where} +{tag}" for label in labels[: number - 1])
    taken = list[str]()
    for step, label in enumerate(labels, start=1):
        gone = label == f"{where} -{tag}"
        if not earlier and (gone or label == f"{where} -{tag} kept"):
            taken.append(str(step))
        if gone and not earlier:
            return (_received(taken),)
        earlier -= gone
    return (f"{_received(taken)}, and a copy is left" if taken else "not received",)


def _received(steps: list[str]) -> str:
    return f"received in step{'s' if len(steps) > 1 else ''} {', '.join(steps)}"


def _ending(verdict: Verdict, trace: Trace[Configuration]) -> str:
    if verdict.cycle:
        return f"the last {verdict.cycle} of {len(trace.steps)} steps go on for ever"
    return f"so after {len(trace.steps)} step{'' if len(trace.steps) == 1 else 's'}"
