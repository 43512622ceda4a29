"""What a conformance test found: as lines, JSON or a drawing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pxp_fsm.automata.automaton import Automaton, Kind, Transition, Trigger
from pxp_fsm.diagrams import state_diagram, write
from pxp_fsm.diagrams.text import shortened
from pxp_fsm.errors import PXPError
from pxp_fsm.plugins.conformance.ioco import Deviation, IocoReport
from pxp_fsm.plugins.conformance.mealy import Stimulus, stimuli
from pxp_fsm.plugins.conformance.programs import DIFFERS, UNKNOWN, Conformance
from pxp_fsm.plugins.conformance.suspension import as_transitions
from pxp_fsm.plugins.conformance.testing import ConformanceReport, Output, ProgramFault


def lines(result: Conformance) -> Iterator[str]:
    """What was found, for a terminal."""
    report, name = result.report, result.automaton.name
    by = " by uioco" if isinstance(report, IocoReport) else ""
    counted = f"{report.tests:,} tests, {report.inputs:,} inputs"
    if report.unknown:
        yield f"UNKNOWN whether it conforms to {name}{by}: {report.unknown}"
        if isinstance(report, ConformanceReport) and report.during:
            answers = _way(result.automaton, report.during)[1]
            yield from _table([*zip(report.during, answers, (*answers[:-1], "?"), strict=True)])
        return
    if report.conforms:
        yield f"CONFORMS to {name}{by}: {counted}"
        yield _claim(result)
        if isinstance(report, IocoReport) and report.unseen:
            yield f"Allowed, and never seen: {'; '.join(report.unseen)}."
        yield "Not tested: any other input, how long it takes, what it does besides replying."
        return
    yield f"DIFFERS from {name}{by}: {counted}"
    yield from _table(_steps(report))
    different = report.deviation if isinstance(report, IocoReport) else report.difference
    if different is not None and different.shortest:
        yield "No shorter sequence of inputs shows a difference."
    elif different is not None:
        yield (
            f"No sequence of fewer than {different.none_below} inputs shows a difference; of those "
            f"between, not all were tried."
        )


def _inputs(result: Conformance) -> list[str]:
    """The different inputs that were given, as people read them."""
    deciding = isinstance(result.report, IocoReport)
    inputs = as_transitions(result.automaton).inputs if deciding else stimuli(result.automaton)
    return [str(stimulus) for stimulus in inputs]


def _claim(result: Conformance) -> str:
    """Of which programs, and of which inputs, the verdict is proved."""
    report, different = result.report, len(_inputs(result))
    most = report.states + report.extra
    if isinstance(report, ConformanceReport):
        return (
            f"Proved for a program that always answers alike after a reset and has at most "
            f"{most} states ({report.states} of the table, {report.extra} extra), and for "
            f"{different} different inputs."
        )
    alike = "always answers alike after a reset"
    if report.repetitions > 1:
        alike = f"shows each of its answers within {report.repetitions} repetitions"
    return (
        f"Proved of a program that {alike} and has at most {most} states ({report.states} told "
        f"apart, {report.extra} extra), and for {different} different inputs, given when it is "
        f"quiet."
    )


Step = tuple[Stimulus | None, Output | tuple[Output, ...], Output | tuple[Output, ...]]
"""An input (None is the reset), what was expected, and what came."""


def _steps(report: ConformanceReport[Stimulus] | IocoReport[Stimulus]) -> list[Step]:
    if isinstance(report, IocoReport):
        return _deviates(report.deviation) if report.deviation else []
    if report.difference is None:
        return []
    different = report.difference
    return [*zip(different.inputs, different.expected, different.got, strict=True)]


def _deviates(deviation: Deviation[Stimulus]) -> list[Step]:
    """The steps; what is expected of the last is what was right of it, and all that may follow."""
    last = deviation.replies[-1]
    may = " or ".join(output or "nothing" for output in deviation.allowed)
    more = "nothing more" if deviation.allowed == (None,) and deviation.place else may
    right = (*last[: deviation.place], more)
    steps: list[Step] = [
        (stimulus, reply, reply)
        for stimulus, reply in zip((None, *deviation.inputs), deviation.replies, strict=True)
    ]
    steps[-1] = (steps[-1][0], right, last)
    return steps if len(steps) == 1 or deviation.replies[0] else steps[1:]


def _table(steps: Sequence[Step]) -> Iterator[str]:
    """The steps, aligned; what was got stands last, for it may be long."""
    if not steps:
        return
    rows = [("step", "input", "expected", "got")]
    for step, (stimulus, should, did) in enumerate(steps, start=0 if steps[0][0] is None else 1):
        rows.append((str(step), str(stimulus or "reset"), _worded(should), _worded(did)))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row[:3], widths, strict=True))
        mark = "  " if row[2] == row[3] or row is rows[0] else "! "
        yield f"{mark}{'  '.join(cells)}  {row[3]}"


def _worded(output: Output | tuple[Output, ...]) -> str:
    if isinstance(output, tuple):
        return ", ".join(map(_worded, output)) or "nothing"
    return "refused" if output is None else str(output)


def _run(automaton: Automaton, deviation: Deviation[Stimulus]) -> tuple[Transition, ...]:
    """Rows that the table can take in what was right of a deviation."""
    wanted: list[tuple[Trigger | None, str]] = []
    for stimulus, reply in zip((None, *deviation.inputs), deviation.replies, strict=True):
        wanted += [] if stimulus is None else [(stimulus.event, "")]
        wanted += [(None, str(output)) for output in reply]
    unusual = len(deviation.replies[-1]) - deviation.place
    wanted = wanted[: len(wanted) - unusual]
    waiting: list[tuple[str, int, tuple[Transition, ...]]] = [(automaton.initial, 0, ())]
    while waiting:
        state, place, taken = waiting.pop()
        if place == len(wanted):
            return taken
        for row in automaton.leaving(state):
            seen = (None, row.action) if row.kind is Kind.SEND else (row.trigger, "")
            hidden = row.kind is Kind.EVENT and row.guard is not None
            if hidden or seen == wanted[place]:
                waiting.append((row.target, place + (not hidden), (*taken, row)))
    return ()


def _way(
    automaton: Automaton, inputs: tuple[Stimulus, ...]
) -> tuple[tuple[Transition, ...], tuple[Output, ...]]:
    """The rows that the table takes, and its answers."""
    state, taken, answers = automaton.initial, list[Transition](), list[Output]()
    for stimulus in inputs:
        try:
            row = automaton.step(state, stimulus.event, stimulus.valuation)
        except PXPError:
            answers.append(None)
            continue
        taken.append(row)
        answers.append(row.action)
        state = row.target
    return tuple(taken), tuple(answers)


def failure_lines(result: Conformance) -> Iterator[str]:
    """What was found of an agent that fails: the steps, the rule, and the table as text."""
    yield from lines(result)
    steps = _steps(result.report)
    stimulus = None if not steps else steps[-1][0]
    if stimulus is None:
        return
    automaton, taken = result.automaton, _taken(result, steps)
    state = taken[-1].target if taken else automaton.initial
    rows = [row for row in automaton.leaving(state) if row.trigger == stimulus.event]
    if isinstance(result.report, ConformanceReport):
        with suppress(PXPError):
            rows = [automaton.step(state, stimulus.event, stimulus.valuation)]
    refused = f"no row of {automaton.name} takes {stimulus} in {state}, so it is refused"
    told = "; ".join(f"row {row.row}: {_row(row)}" for row in rows if steps[-1][1] is not None)
    yield f"Rule: {told or refused}"
    yield from drawn_lines(automaton, state, taken)


def drawn_lines(automaton: Automaton, state: str, path: Sequence[Transition] = ()) -> Iterator[str]:
    """The table as text: a line for each row, > at those of `path`, * at those of `state`."""
    yield f"{automaton.name} (> the way, * where it is now):"
    names = dict.fromkeys(row.source for row in automaton.transitions) | {state: None}
    width = max(map(len, names))
    for name in names:
        rows = automaton.leaving(name)
        for row in rows:
            steps = [str(place) for place, taken in enumerate(path, 1) if taken == row]
            mark = (">" if steps else " ") + ("*" if name == state else " ")
            when = f"  (step {', '.join(steps)})" if steps else ""
            yield f"{mark} {name:<{width}}  {_arrow(row)}{when}"
        if not rows:
            yield f" * {name:<{width}}  no row leaves it"


def _row(row: Transition) -> str:
    return f"{row.source} {_arrow(row)}"


def _arrow(row: Transition) -> str:
    guard = f"{row.guard} / " if row.guard else ""
    return f"{guard}{row.action} → {row.target}"


def _taken(result: Conformance, steps: Sequence[Step]) -> tuple[Transition, ...]:
    """The rows on the way to the last step."""
    report = result.report
    if isinstance(report, IocoReport):
        return _run(result.automaton, report.deviation) if report.deviation else ()
    return _way(result.automaton, tuple(stimulus for stimulus, _, _ in steps[:-1] if stimulus))[0]


def as_json(result: Conformance) -> str:
    """What was found, for other tools."""
    report = result.report
    told: dict[str, object] = {
        "verdict": {0: "CONFORMS", DIFFERS: "DIFFERS", UNKNOWN: "UNKNOWN"}[result.exit_code],
        "relation": "uioco" if isinstance(report, IocoReport) else "equivalence",
        "table": result.automaton.name,
        "fingerprint": result.automaton.fingerprint,
        "states": report.states,
        "extra": report.extra,
        "tests": report.tests,
        "inputs": report.inputs,
        "alphabet": _inputs(result),
        "reason": report.unknown,
        "difference": [_told(step) for step in _steps(report)] or None,
    }
    if isinstance(report, IocoReport):
        shortest = report.deviation.shortest if report.deviation else None
        told |= {"repetitions": report.repetitions, "unseen": report.unseen}
    else:
        shortest = report.difference.shortest if report.difference else None
        told |= {"during": [str(stimulus) for stimulus in report.during]}
    return json.dumps(told | {"shortest": shortest}, indent=1)


def _told(step: Step) -> dict[str, object]:
    stimulus, should, did = step
    parts = did if isinstance(did, tuple) else (did,)
    faults = [str(part) for part in parts if isinstance(part, ProgramFault)]
    right = [part for part in parts if not isinstance(part, ProgramFault)]
    return {
        "input": str(stimulus or "reset"),
        "expected": should,
        "got": right if isinstance(did, tuple) else (right or [None])[0],
        "fault": faults[0] if faults else None,
    }


def draw(result: Conformance, path: Path) -> bool:
    """Draw the way to the difference on the table, up to the state in which it shows, if any."""
    steps = _steps(result.report)
    if not steps:
        return False
    taken = _taken(result, steps)
    state = taken[-1].target if taken else result.automaton.initial
    diagram = state_diagram(result.automaton, marked=state, path=taken)
    stimulus, *answers = steps[-1]
    due, got = (shortened(_worded(answer)) for answer in answers)
    note = f"A program differs in {state}, at {stimulus or 'reset'}: expected {due}, got {got}."
    write(replace(diagram, note=f"{diagram.note} {note}".strip()), path)
    return True
