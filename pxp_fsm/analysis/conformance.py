"""Conformance of a program, or a service, with a table."""

from __future__ import annotations

from dataclasses import dataclass

from backends.programs import SCHEMES, Program, ProgramFailed, Service, command_of
from proofs.conformance.ioco import IocoReport, conform_ioco
from proofs.conformance.mealy import Stimulus, as_mealy
from proofs.conformance.observations import Faulty
from proofs.conformance.suspension import as_transitions
from proofs.conformance.testing import Fault, Output, Report, conform
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.tables import load_automaton
from pxp_fsm.errors import NoAnswer, UsageError

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
    repetitions: int = 1


@dataclass(frozen=True)
class Conformance:
    """What was found of a program."""

    request: Request
    automaton: Automaton
    report: Report[Stimulus] | IocoReport[Stimulus]

    @property
    def exit_code(self) -> int:
        if self.report.unknown:
            return UNKNOWN
        return 0 if self.report.conforms else DIFFERS


class _Tested:
    """A program as what tests ask: what breaks it is an answer, a reset that fails is none."""

    def __init__(self, program: Program | Service) -> None:
        self._program = program

    def reset(self) -> None:
        _reset(self._program)

    def step(self, given: Stimulus) -> Output:
        try:
            said = self._program.step(given.event, given.valuation)
        except ProgramFailed as error:
            return Fault(str(error))
        return Fault("it said what it sent, not what it did") if isinstance(said, tuple) else said


class _Observed:
    """A program that decides by itself what it sends."""

    def __init__(self, program: Program | Service) -> None:
        self._program = program

    def reset(self) -> tuple[str, ...]:
        return self._sent(_reset(self._program))

    def step(self, given: Stimulus) -> tuple[str, ...]:
        try:
            return self._sent(self._program.step(given.event))
        except ProgramFailed as error:
            raise Faulty(Fault(str(error))) from error

    def _sent(self, said: str | tuple[str, ...] | None) -> tuple[str, ...]:
        if isinstance(said, tuple):
            return said
        raise Faulty(Fault("refused" if said is None else f"it said {said}, not what it sent"))


def _reset(program: Program | Service) -> str | tuple[str, ...] | None:
    try:
        return program.reset()
    except ProgramFailed as error:
        raise NoAnswer(f"it was not reset: {error}") from error


def _opened(request: Request) -> Program | Service:
    restart = request.reset == "restart"
    if not request.command.startswith(SCHEMES):
        return Program(command_of(request.command), timeout=request.timeout, restart=restart)
    if restart:
        raise UsageError("a service cannot be started again; it must reset by a message")
    return Service(request.command, timeout=request.timeout)


def run(request: Request) -> Conformance:
    """Test the program, or the service, of `request`.

    Its reply to the first reset says how: by the Wp-method, or by uioco one that decides by itself
    what it sends. Raises `TableError`, and `UsageError` where it cannot be started or its first
    answer is none.
    """
    automaton = load_automaton(request.table)
    with _opened(request) as program:
        try:
            first = program.reset()
        except ProgramFailed as error:
            raise UsageError(
                f"the program cannot be tested: {error}; pxp help conformance describes what it "
                f"must read and reply"
            ) from error
        except NoAnswer as error:
            report = Report[Stimulus](0, request.extra, 0, 0, unknown=str(error))
            return Conformance(request, automaton, report)
        searched = _SEARCHED[request.reset]
        if isinstance(first, tuple):
            system, extra = as_transitions(automaton), request.extra
            found = conform_ioco(system, _Observed(program), extra, request.repetitions, searched)
            return Conformance(request, automaton, found)
        if request.repetitions > 1:
            raise UsageError(
                "--repetitions are for a program that decides by itself what it sends; this one "
                "is told what its guards say, and must answer always alike"
            )
        report = conform(as_mealy(automaton), _Tested(program), request.extra, searched)
    return Conformance(request, automaton, report)
