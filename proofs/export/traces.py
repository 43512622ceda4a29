"""A trace in any format: data (ITF), a table (LaTeX), or its sequence chart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from proofs.core.explore import Trace
from proofs.core.model import Step
from proofs.core.results import Result, Status, Verdict
from proofs.export.itf import to_itf
from proofs.systems.charts import chart_of, ways_of
from proofs.systems.encoding import Configuration
from proofs.systems.replay import configuration_of
from pxp_fsm.automata.actions import SystemAction
from pxp_fsm.automata.system import System
from pxp_fsm.diagrams import FORMATS as PICTURES
from pxp_fsm.diagrams import Style, render
from pxp_fsm.diagrams.latex import Cell, Table, as_latex
from pxp_fsm.diagrams.style import PLAIN
from pxp_fsm.errors import UsageError
from pxp_fsm.sessions.live import LiveSystem

TRACE_FORMATS = ("itf", "latex", *PICTURES)
"""The formats of `export_trace`: data, a table, and those of a drawing."""


@dataclass(frozen=True)
class Walk:
    """Actions of `system` in the order in which they are taken; `cycle` of them repeat for ever."""

    system: System
    actions: Sequence[SystemAction]
    title: str = ""
    cycle: int = 0

    def result(self) -> Result:
        """The walk as a witness; raises `Refused` where an action cannot happen."""
        live = LiveSystem(self.system)
        start, steps = configuration_of(live), list[Step[Configuration]]()
        for action in self.actions:
            live.take(action)
            steps.append(Step(action, configuration_of(live)))
        verdict = Verdict(Status.HOLDS, trace=Trace(start, tuple(steps)), cycle=self.cycle)
        system, title = self.system, self.title or self.system.name
        return Result(
            system.name,
            title,
            title,
            system.channel.name,
            verdict,
            model=system.name,
            chart=partial(chart_of, system),
            ways=partial(ways_of, system),
        )


def export_trace(subject: Result | Walk, form: str, style: Style = PLAIN) -> bytes:
    """The trace of `subject` in one of `TRACE_FORMATS`; text is UTF-8.

    `itf` is JSON that Apalache and its viewers read, `latex` a table of the steps with the state of
    each member, the others draw the sequence chart, as `style` asks for.

    >>> import pxp_fsm as pxp
    >>> [result] = pxp.check("interact", "AG !ended")
    >>> print(export_trace(result, "mermaid").decode().splitlines()[3])
    sequenceDiagram

    Raises `UsageError` for another format, and where there is no trace; otherwise what
    `diagrams.render` raises.
    """
    if form not in TRACE_FORMATS:
        raise UsageError(
            f"a trace is not written as {form!r}; choose one of {', '.join(TRACE_FORMATS)}"
        )
    result = subject.result() if isinstance(subject, Walk) else subject
    if result.trace is None:
        raise UsageError(f"{result.name} has no trace: {result.verdict}")
    if form == "itf":
        return to_itf(result.name, result.model, result.verdict).encode()
    if form == "latex":
        return as_latex(table_of(result)).encode()
    return render(result.diagram(), form, style)


def table_of(result: Result) -> Table:
    """The trace of `result` as a table: a row for each step; raises `UsageError` without one."""
    trace = result.trace
    if trace is None:
        raise UsageError(f"{result.name} has no trace: {result.verdict}")
    bound = str(result.bound) if result.bound is not None else ""
    loop = f"the last {result.cycle} steps repeat for ever" if result.cycle else ""
    fatal = map(str, result.verdict.unreceived)
    caption = "; ".join(filter(None, (result.headline, result.assumptions, bound, loop, *fatal)))
    key = re.sub(
        r"[^A-Za-z0-9]+", "-", f"trace-{result.subject}-{result.name}-{result.assumptions}"
    )
    headings, rows = _of_system(result, trace) if result.ways else _of_session(result, trace)
    return Table(key, caption, headings, tuple(rows))


def _of_system(
    result: Result, trace: Trace[Configuration]
) -> tuple[tuple[str, ...], Iterable[tuple[Cell, ...]]]:
    names = [line.name for line in result.diagram().lifelines]
    rows = [(0, "", trace.start), *((n, s.label, s.target) for n, s in enumerate(trace.steps, 1))]
    return ("step", "action", *names), ((n, label, *state.at) for n, label, state in rows)


def _of_session(
    result: Result, trace: Trace[object]
) -> tuple[tuple[str, ...], Iterable[tuple[Cell, ...]]]:
    if not result.messages:
        return ("step", "action"), enumerate(trace.labels, 1)
    rows = ((one.number, one.sender, one.receiver, one.tag) for one in result.messages)
    return ("message", "from", "to", "tag"), rows
