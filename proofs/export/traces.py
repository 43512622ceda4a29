"""A trace in any format: data, a table (LaTeX), or its sequence chart.

As data it is ITF JSON, the Informal Trace Format that Apalache and its viewers read (ADR-015).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

from proofs.core.explore import Step, Trace
from proofs.core.results import Result, Status, Verdict
from proofs.systems.encoding import Configuration
from proofs.systems.replay import configuration_of
from proofs.systems.results import chart_of, ways_of
from pxp_fsm import documents
from pxp_fsm.automata.actions import ActionRecord, SystemAction, action_of, record_of
from pxp_fsm.automata.system import System
from pxp_fsm.diagrams import FORMATS as PICTURES
from pxp_fsm.diagrams import Style, render
from pxp_fsm.diagrams.latex import Cell, Table, as_latex
from pxp_fsm.diagrams.style import PAPERS, PLAIN
from pxp_fsm.errors import FileError, UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.sessions.live import LiveSystem


def to_itf(property_name: str, model: str, verdict: Verdict) -> str:
    """The trace of `verdict` as ITF JSON text, with the property's name in its metadata.

    States that are named tuples become variables by their names, others one variable `state`;
    `action` is the label of the step that led to a state; in a system the state's `#meta` has the
    action itself (`record_of`), which `actions_of` reads. A trace in which no guard is settled
    ahead of its message has no variable `chosen`. Raises `ValueError` without a trace.
    """
    trace = verdict.trace
    if trace is None:
        raise ValueError(f"{property_name} has no trace")
    rows: list[tuple[Any, Any]] = [("", trace.start)]
    rows += [(step.action, step.target) for step in trace.steps]
    states = [
        {"#meta": _meta(index, action), "action": str(action), **_variables(state)}
        for index, (action, state) in enumerate(rows)
    ]
    if not any(getattr(state, "chosen", ()) for _, state in rows):
        for written in states:
            written.pop("chosen", None)
    document: dict[str, Any] = {
        "#meta": {
            "format": "ITF",
            "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
            "property": property_name,
            "source": model,
            "status": verdict.status.value,
        },
        "vars": [name for name in states[0] if name != "#meta"],
        "states": states,
    }
    if verdict.cycle:
        document["loop"] = len(states) - 1 - verdict.cycle
    return json.dumps(document, indent=1) + "\n"


def _meta(index: int, action: Any) -> dict[str, Any]:
    there = {"action": record_of(action)._asdict()} if isinstance(action, SystemAction) else {}
    return {"index": index, **there}


def actions_of(text: str, filename: str = "trace.itf.json") -> tuple[SystemAction, ...]:
    """The actions of a system's trace that `to_itf` wrote.

    Raises `FileError` where the text holds no such trace.
    """
    states = documents.read(text, filename, is_json=True).get("states")
    actions = []
    for index, state in enumerate(states[1:] if isinstance(states, list) else (), start=1):
        meta = state.get("#meta", {}) if isinstance(state, dict) else {}
        written = meta.get("action") if isinstance(meta, dict) else None
        fields = ActionRecord._fields
        if not isinstance(written, dict) or not all(
            isinstance(written.get(field), str) for field in fields
        ):
            raise FileError(
                [f"{filename}: state {index} does not say by which action it is reached"]
            )
        try:
            actions.append(action_of(ActionRecord(*(written[field] for field in fields))))
        except UsageError as error:
            raise FileError([f"{filename}: state {index}: {error}"]) from error
    if not actions:
        raise FileError([f"{filename}: it holds no trace of a system"])
    return tuple(actions)


def _variables(state: Any) -> dict[str, Any]:
    if hasattr(state, "_asdict"):
        return {name: _value(value) for name, value in state._asdict().items()}
    return {"state": _value(state)}


def _value(value: Any) -> Any:
    """An ITF value: tuples and sets are marked, integers kept exact, the rest as records."""
    match value:
        case bool() | str() | None:
            encoded: Any = value
        case int():
            encoded = {"#bigint": str(value)}
        case frozenset():
            encoded = {"#set": sorted(map(_value, value), key=json.dumps)}
        case tuple() if hasattr(value, "_asdict"):
            encoded = {name: _value(part) for name, part in value._asdict().items()}
        case tuple():
            encoded = {"#tup": [_value(part) for part in value]}
        case _:
            encoded = {field.name: _value(getattr(value, field.name)) for field in fields(value)}
    return encoded


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
        return as_latex(table_of(result), style.room or PAPERS["article"]).encode()
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
    rows = (
        (message.number, message.sender, message.receiver, message.tag)
        for message in result.messages
    )
    return ("message", "from", "to", "tag"), rows
