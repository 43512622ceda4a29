"""Conformance of a program with a table: the result as lines, JSON or a drawing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from backends.programs import Program, ProgramFailed, command_of
from proofs.conformance.mealy import Stimulus, as_mealy
from proofs.conformance.suites import check_size
from proofs.conformance.testing import Fault, Output, Report, conform
from pxp_fsm.automata.automaton import Automaton, Transition
from pxp_fsm.automata.tables import load_automaton
from pxp_fsm.diagrams import state_diagram, write
from pxp_fsm.diagrams.text import shortened
from pxp_fsm.errors import NoAnswer, PXPError, UsageError

DIFFERS, UNKNOWN = 1, 4
"""Exit codes beside 0: the program differs from the table; no verdict was reached."""

_SEARCHED = {"message": 20_000, "restart": 2_000}
"""How many inputs are spent on a shorter sequence, by what a reset costs."""


@dataclass(frozen=True)
class Request:
    """What is tested, as the command line says it."""

    command: str
    table: str = "interact"
    extra: int = 1
    timeout: float = 5.0
    reset: str = "message"


@dataclass(frozen=True)
class Conformance:
    """What was found of a program."""

    request: Request
    automaton: Automaton
    report: Report[Stimulus]

    @property
    def exit_code(self) -> int:
        if self.report.unknown:
            return UNKNOWN
        return DIFFERS if self.report.difference else 0


class _Tested:
    """A program as what tests ask: what breaks it is an answer, a reset that fails is none."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def reset(self) -> None:
        try:
            self._program.reset()
        except ProgramFailed as error:
            raise NoAnswer(f"it was not reset: {error}") from error

    def step(self, given: Stimulus) -> Output:
        try:
            return self._program.step(given.event, given.valuation)
        except ProgramFailed as error:
            return Fault(str(error))


def run(request: Request) -> Conformance:
    """Test the program of `request`.

    Raises `TableError`, and `UsageError` where it cannot be started or its first answer is none.
    """
    automaton = load_automaton(request.table)
    machine = as_mealy(automaton)
    check_size(machine, request.extra)
    command = command_of(request.command)
    restart = request.reset == "restart"
    with Program(command, timeout=request.timeout, restart=restart) as program:
        try:
            program.reset()
        except ProgramFailed as error:
            raise UsageError(
                f"the program cannot be tested: {error}; pxp help conformance describes what it "
                f"must read and reply"
            ) from error
        except NoAnswer as error:
            report = Report[Stimulus](0, request.extra, 0, 0, unknown=str(error))
            return Conformance(request, automaton, report)
        subject = _Tested(program)
        searched = _SEARCHED[request.reset]
        report = conform(machine, subject, request.extra, searched)
    return Conformance(request, automaton, report)


def lines(found: Conformance) -> Iterator[str]:
    """What was found, for a terminal."""
    report, name = found.report, found.automaton.name
    counted = f"{report.tests:,} tests, {report.inputs:,} inputs"
    if report.unknown:
        yield f"UNKNOWN whether it conforms to {name}: {report.unknown}"
        yield from _table(found, *_during(found), ("?",))
        return
    if report.difference is None:
        yield f"CONFORMS to {name}: {counted}"
        yield (
            f"Proved for a program that always answers alike after a reset and has at most "
            f"{report.states + report.extra} states ({report.states} of the table, "
            f"{report.extra} extra)."
        )
        return
    different = report.difference
    yield f"DIFFERS from {name}: {counted}"
    yield from _table(found, different.inputs, different.expected, different.got)
    if different.shortest:
        yield "No shorter sequence of inputs shows a difference."
    else:
        yield (
            f"No sequence of fewer than {different.none_below} inputs shows a difference; of those "
            f"between, not all were tried."
        )


def _during(found: Conformance) -> tuple[tuple[Stimulus, ...], tuple[Output, ...]]:
    inputs = found.report.during
    return inputs, _way(found.automaton, inputs)[1]


def _table(
    found: Conformance,
    inputs: tuple[Stimulus, ...],
    expected: tuple[Output, ...],
    got: tuple[Output, ...],
) -> Iterator[str]:
    """The steps, aligned; what was got stands last, for it may be long."""
    if not inputs:
        return
    got = (*expected[: len(inputs) - len(got)], *got)
    rows = [("step", "input", "expected", "got")]
    for step, (given, should, did) in enumerate(zip(inputs, expected, got, strict=True), start=1):
        rows.append((str(step), str(given), _said(should), _said(did)))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row[:3], widths, strict=True))
        mark = "  " if row[2] == row[3] or row is rows[0] else "! "
        yield f"{mark}{'  '.join(cells)}  {row[3]}"


def _said(output: Output) -> str:
    return "refused" if output is None else str(output)


def _way(
    automaton: Automaton, inputs: tuple[Stimulus, ...]
) -> tuple[tuple[Transition, ...], tuple[Output, ...]]:
    """The rows that the table takes, and its answers."""
    state, taken, said = automaton.initial, list[Transition](), list[Output]()
    for given in inputs:
        try:
            row = automaton.step(state, given.event, given.valuation)
        except PXPError:
            said.append(None)
            continue
        taken.append(row)
        said.append(row.action)
        state = row.target
    return tuple(taken), tuple(said)


def as_json(found: Conformance) -> str:
    """What was found, for other tools."""
    report = found.report
    steps = None
    if report.difference is not None:
        told = zip(
            report.difference.inputs, report.difference.expected, report.difference.got, strict=True
        )
        steps = [
            {
                "input": str(given),
                "expected": should,
                "got": None if isinstance(did, Fault) else did,
                "fault": str(did) if isinstance(did, Fault) else None,
            }
            for given, should, did in told
        ]
    verdict = {0: "CONFORMS", DIFFERS: "DIFFERS", UNKNOWN: "UNKNOWN"}[found.exit_code]
    return json.dumps(
        {
            "verdict": verdict,
            "table": found.automaton.name,
            "fingerprint": found.automaton.fingerprint,
            "states": report.states,
            "extra": report.extra,
            "tests": report.tests,
            "inputs": report.inputs,
            "reason": report.unknown,
            "during": [str(given) for given in report.during],
            "difference": steps,
            "shortest": report.difference.shortest if report.difference else None,
        },
        indent=1,
    )


def draw(found: Conformance, path: Path) -> bool:
    """Draw the way to the difference on the table, up to the state in which it shows, if any."""
    different = found.report.difference
    if different is None:
        return False
    taken, _ = _way(found.automaton, different.inputs[:-1])
    state = taken[-1].target if taken else found.automaton.initial
    diagram = state_diagram(found.automaton, marked=state, path=taken)
    due, got = (shortened(_said(said[-1])) for said in (different.expected, different.got))
    note = f"A program differs in {state}, at {different.inputs[-1]}: expected {due}, got {got}."
    write(replace(diagram, note=f"{diagram.note} {note}".strip()), path)
    return True
