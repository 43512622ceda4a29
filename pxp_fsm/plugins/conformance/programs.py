"""Conformance of a program, or a service, with a table."""

from __future__ import annotations

from collections.abc import Callable

from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.tables import load_automaton
from pxp_fsm.errors import NoAnswer, UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.conformance.ioco import IocoReport, conform_ioco
from pxp_fsm.plugins.conformance.mealy import Answer, Mealy, Stimulus, as_mealy
from pxp_fsm.plugins.conformance.observations import Faulty
from pxp_fsm.plugins.conformance.process import Program, ProgramFailed, UnderTest, command_of
from pxp_fsm.plugins.conformance.service import SCHEMES, Service
from pxp_fsm.plugins.conformance.suspension import as_transitions
from pxp_fsm.plugins.conformance.testing import (
    BlackBox,
    ConformanceReport,
    Output,
    ProgramFault,
    conform,
)

DIFFERS, UNKNOWN = 1, 4
"""Exit codes beside 0: the program differs from the table; no verdict was reached."""

_SEARCHED = {"message": 50_000, "restart": 2_000}
"""How many inputs are spent on a shorter sequence, by what a reset costs."""


@dataclass(frozen=True)
class ConformanceRequest:
    """What is tested, as the command line says it."""

    command: str
    table: str = "interact"
    extra: int = 1
    timeout: float = 5.0
    reset: str = "message"
    repetitions: int = 1


@dataclass(frozen=True)
class Conformance:
    """What was found of a program."""

    request: ConformanceRequest
    automaton: Automaton
    report: ConformanceReport[Stimulus] | IocoReport[Stimulus]

    @property
    def exit_code(self) -> int:
        if self.report.unknown:
            return UNKNOWN
        return 0 if self.report.conforms else DIFFERS


class _Tested:
    """A program as what tests ask: what breaks it is an answer, a reset that fails is none."""

    def __init__(self, program: UnderTest) -> None:
        self._program = program

    def reset(self) -> None:
        _reset(self._program)

    def step(self, stimulus: Stimulus) -> Output:
        try:
            reply = self._program.step(stimulus.event, stimulus.valuation)
        except ProgramFailed as error:
            return ProgramFault(str(error))
        return (
            ProgramFault("it said what it sent, not what it did")
            if isinstance(reply, tuple)
            else reply
        )


class _Observed:
    """A program that decides by itself what it sends."""

    def __init__(self, program: UnderTest) -> None:
        self._program = program

    def reset(self) -> tuple[str, ...]:
        return self._sent(_reset(self._program))

    def step(self, stimulus: Stimulus) -> tuple[str, ...]:
        try:
            return self._sent(self._program.step(stimulus.event))
        except ProgramFailed as error:
            raise Faulty(ProgramFault(str(error))) from error

    def _sent(self, reply: str | tuple[str, ...] | None) -> tuple[str, ...]:
        if isinstance(reply, tuple):
            return reply
        raise Faulty(
            ProgramFault("refused" if reply is None else f"it said {reply}, not what it sent")
        )


def _reset(program: UnderTest) -> str | tuple[str, ...] | None:
    try:
        return program.reset()
    except ProgramFailed as error:
        raise NoAnswer(f"it was not reset: {error}") from error


def opened(request: ConformanceRequest) -> Program | Service:
    """The program, or the service, of a request."""
    restart = request.reset == "restart"
    if not request.command.startswith(SCHEMES):
        return Program(command_of(request.command), timeout=request.timeout, restart=restart)
    if restart:
        raise UsageError("a service cannot be started again; it must reset by a message")
    return Service(request.command, timeout=request.timeout)


def run(request: ConformanceRequest) -> Conformance:
    """Test the program, or the service, of `request`.

    Its reply to the first reset says how: by the Wp-method, or by uioco one that decides by itself
    what it sends. Raises `TableError`, and `UsageError` where it cannot be started or its first
    answer is none.
    """
    with opened(request) as program:
        return tested(program, load_automaton(request.table), request)


Find = Callable[
    [Mealy[Stimulus, Answer], BlackBox[Stimulus], int, int], ConformanceReport[Stimulus]
]
"""How a difference is looked for: by the suite (`conform`), or by examples."""


def tested(
    program: UnderTest, automaton: Automaton, request: ConformanceRequest, find: Find = conform
) -> Conformance:
    """Test a program that is open; one that decides by itself always by the suite."""
    try:
        first = program.reset()
    except ProgramFailed as error:
        raise UsageError(
            f"the program cannot be tested: {error}; pxp help conformance describes what it "
            f"must read and reply"
        ) from error
    except NoAnswer as error:
        report = ConformanceReport[Stimulus](0, request.extra, 0, 0, unknown=str(error))
        return Conformance(request, automaton, report)
    searched = _SEARCHED[request.reset]
    if isinstance(first, tuple):
        system, extra = as_transitions(automaton), request.extra
        ioco_report = conform_ioco(system, _Observed(program), extra, request.repetitions, searched)
        return Conformance(request, automaton, ioco_report)
    if request.repetitions > 1:
        raise UsageError(
            "--repetitions are for a program that decides by itself what it sends; this one "
            "is told what its guards say, and must answer always alike"
        )
    report = find(as_mealy(automaton), _Tested(program), request.extra, searched)
    return Conformance(request, automaton, report)
