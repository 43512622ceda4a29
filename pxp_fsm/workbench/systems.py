"""`pxp check` of systems: tables with names, over one channel or several, within limits."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from proofs.effort import UNLIMITED, Effort
from proofs.verdicts import Result, Status, Verdict
from pxp_fsm.errors import UsageError
from pxp_fsm.messages import quoted
from pxp_fsm.tables import BUILTIN, load_automaton
from pxp_fsm.workbench.checks import PROVED_OF, Request

if TYPE_CHECKING:
    from proofs.logic.formulas import Formula
    from proofs.systems import Composition, Reduction, System

_NAMED = re.compile(r"([A-Za-z][A-Za-z0-9_]{0,63})=(.+)", re.DOTALL)

TITLES = {
    "no-deadlock": "no reachable state is without a step before the end",
    "no-unspecified-reception": "what is sent can be taken, there and then or after waiting",
    "no-orphan-message": "nothing is left for a member that has ended",
    "nothing-sent-after-the-end": "a member that has ended sends nothing",
    "end-reachable-from-everywhere": "from every reachable state all members can come to an end",
    "no-dead-row": "every row can be taken",
}


def asked_for(request: Request) -> bool:
    """Whether a request is about a system: several tables, named ones, channels, limits.

    The tables with claims of their own are otherwise checked each by itself.
    """
    return bool(
        len([table for table in request.tables if table not in PROVED_OF]) > 2
        or request.channels
        or request.reduce is not None
        or request.limit is not None
        or request.memory is not None
        or any(map(_NAMED.fullmatch, request.tables))
        or any(map(_names_partners, request.tables))
    )


def lines(request: Request) -> Iterator[Result]:
    """A line a property and channel, those of a property together.

    Raises `UsageError` or `TableError`. Interrupted, it gives the lines so far, and one for the
    check at hand, before `KeyboardInterrupt` goes on.
    """
    from proofs.logic import parse
    from proofs.systems import Composition, Reduction, parse_channel
    from pxp_fsm.workbench import unbounded

    if unbounded.UNBOUNDED in request.channels:
        yield from unbounded.lines(request, system_named(request.tables))
        left = tuple(text for text in request.channels if text != unbounded.UNBOUNDED)
        if not left:
            return
        request = replace(request, channels=left)
    names = _names(request)
    formulas = [(text, parse(text)) for text in request.formulas]
    channels = [parse_channel(text) for text in dict.fromkeys(request.channels or ("sync",))]
    reduction = None if request.reduce is None else Reduction(request.reduce)
    system = system_named(request.tables)
    about = [_Check(request, Composition(system, one), reduction) for one in channels]
    if request.termination:
        for check in about:
            yield from check.termination()
        return
    if formulas:
        for text, formula in formulas:
            for check in about:
                yield from check.formula(text, formula)
        return
    found, stopped = list[Result](), None
    for check in about:
        try:
            for line in check.standing(names):
                found.append(line)
        except KeyboardInterrupt as error:
            stopped = error
            break
    yield from sorted(found, key=lambda line: list(names).index(line.name))
    if stopped is not None:
        raise stopped


def system_named(tables: tuple[str, ...]) -> System:
    """The system of `tables`, each a table or NAME=TABLE; one alone is joined with itself."""
    from proofs.systems import system_of

    both = tables * 2 if len(tables) == 1 else tables
    members = []
    for text in both:
        named = _NAMED.fullmatch(text)
        name, table = (named[1], named[2]) if named else ("", text)
        members.append((name, load_automaton(table)))
    return system_of(members)


@dataclass(frozen=True)
class _Check:
    """The checks of one composition."""

    request: Request
    composition: Composition
    reduction: Reduction | None

    def formula(self, text: str, formula: Formula) -> Iterator[Result]:
        """The line of a formula."""
        from proofs.logic import Runs
        from proofs.systems import check
        from pxp_fsm.workbench.formulas import demands, suffix

        effort, runs, fairly = self._effort(), Runs(self.request.runs), demands(self.request)
        verdicts = (
            (name, check(self.composition, formula, runs, effort, self.reduction, fairly))
            for name in (text,)
        )
        under = f", {self.request.runs} runs{suffix(self.request)}"
        yield from self._lines({text: text}, verdicts, effort, formula, under)

    def standing(self, names: Mapping[str, str]) -> Iterator[Result]:
        """The lines of standing checks, with their titles."""
        from proofs.systems import standing_checks

        effort = self._effort()
        verdicts = standing_checks(self.composition, effort, self.reduction, frozenset(names))
        yield from self._lines(names, verdicts, effort, None, "")

    def termination(self) -> Iterator[Result]:
        """Whether the system comes to its end, a line a question."""
        from proofs.systems import terminates

        effort, started = self._effort(), time.perf_counter()
        asked = ("termination", "whether the system ends", "")
        try:
            for question, verdict in terminates(self.composition, effort):
                name, title, told = question.name, question.title, self._advised(verdict)
                yield self._line(name, title, "", told, started, question.expected)
                started = time.perf_counter()
        except MemoryError:
            spent = Verdict(Status.UNKNOWN, f"the memory is used up: {effort.latest or 'at once'}")
            yield self._line(*asked, self._advised(spent), started)
        except KeyboardInterrupt:
            cut_off = Verdict(Status.UNKNOWN, f"interrupted: {effort.latest or 'at once'}")
            yield self._line(*asked, cut_off, started)
            raise

    def _lines(
        self,
        names: Mapping[str, str],
        verdicts: Iterator[tuple[str, Verdict]],
        effort: Effort,
        formula: Formula | None,
        under: str,
    ) -> Iterator[Result]:
        spent = ""
        for name, title in names.items():
            started = time.perf_counter()
            try:
                verdict = Verdict(Status.UNKNOWN, spent) if spent else next(verdicts)[1]
            except MemoryError:
                spent = f"the memory is used up: {effort.latest or 'at once'}"
                verdict = Verdict(Status.UNKNOWN, spent)
            except KeyboardInterrupt:
                told = f"interrupted: {effort.latest or 'at once'}"
                yield self._line(name, title, under, Verdict(Status.UNKNOWN, told), started)
                raise
            yield self._line(name, title, under, self._advised(verdict, formula), started)

    def _advised(self, verdict: Verdict, formula: Formula | None = None) -> Verdict:
        """With what would need less, where it is unknown."""
        if verdict.status is not Status.UNKNOWN:
            return verdict
        from proofs.systems.advice import advice

        reducible = not (self.reduction or self.request.termination or self.request.fair)
        told = advice(self.composition, formula, reducible=reducible)
        return Verdict(Status.UNKNOWN, f"{verdict.reason}; {told}")

    def _line(
        self,
        name: str,
        title: str,
        under: str,
        verdict: Verdict,
        started: float,
        expected: Status | None = Status.HOLDS,
    ) -> Result:
        reduced = f", {self.reduction.value}" if self.reduction else ""
        return Result(
            self.composition.system.name,
            name,
            title,
            f"free guards, {self.composition.channel.name}{under}{reduced}",
            verdict,
            expected,
            time.perf_counter() - started,
            self.composition.name,
        )

    def _effort(self) -> Effort:
        limit, memory = self.request.limit, self.request.memory
        return Effort(
            UNLIMITED if limit is None else limit, UNLIMITED if memory is None else memory
        )


def _names(request: Request) -> Mapping[str, str]:
    """The standing checks that are asked for, with their titles."""
    if not request.tables:
        raise UsageError("which tables? name two or more, or one that is joined with itself")
    if request.relations is not None or request.values is not None:
        raise UsageError(
            "--relations and --values are about sessions of the built-in protocols, not about "
            "systems of tables; leave them out"
        )
    if request.termination and (
        request.formulas
        or request.names
        or request.reduce
        or request.fair
        or request.runs != "complete"
    ):
        raise UsageError(
            "--termination asks its own questions, of all states and of runs as fair as each says; "
            "leave out --formula, --property, --reduce, --fair and --runs"
        )
    if (request.fair or request.runs != "complete") and not request.formulas:
        option = "--fair" if request.fair else "--runs"
        raise UsageError(f"{option} is about runs of a formula; give a --formula")
    if request.names and request.formulas:
        raise UsageError("--formula goes without --property; leave one of them out")
    unknown = [name for name in request.names if name not in TITLES]
    if unknown:
        raise UsageError(
            f"{quoted(unknown[0])} is not asked of a system; there are: {', '.join(TITLES)}"
        )
    return {name: title for name, title in TITLES.items() if name in (request.names or TITLES)}


def _names_partners(table: str) -> bool:
    if table in BUILTIN or _NAMED.fullmatch(table):
        return False
    return any(row.partner for row in load_automaton(table).transitions)
