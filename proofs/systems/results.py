"""What can be asked of a system, each answer a `Result`: standard checks, formulas, termination."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from proofs.core.limits import Effort
from proofs.core.results import NotReplayed, Result, Status, Verdict, stopped
from proofs.logic.checking import Runs
from proofs.logic.fairness import demand
from proofs.logic.formulas import Formula
from proofs.logic.parsing import parse
from proofs.systems import compatibility
from proofs.systems.charts import chart_of, unreceived_after, ways_of
from proofs.systems.checking import Reduction, check, standing_checks
from proofs.systems.fairness import terminates
from proofs.systems.machine_comparison import check_machine
from proofs.systems.product import Composition
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.channels import Channel
from pxp_fsm.automata.system import System

TITLES = {
    "no-deadlock": "no reachable state is without a step before the end",
    "no-unspecified-reception": "what is sent can be taken, there and then or after waiting",
    "no-orphan-message": "nothing is left for a member that has ended",
    "nothing-sent-after-the-end": "a member that has ended sends nothing",
    "end-reachable-from-everywhere": "from every reachable state all members can come to an end",
    "no-dead-row": "every row can be taken",
    "machine-agrees-with-table": "the machine that runs does what its table says, in every case",
}
"""The standard checks of every system, by name."""

MACHINE = "machine-agrees-with-table"
"""The standard check of each table by itself, whatever the channel."""


class Interrupted(KeyboardInterrupt):
    """A check was interrupted; `result` says how far it came."""

    def __init__(self, result: Result) -> None:
        super().__init__()
        self.result = result


def check_standard(
    system: System,
    names: Iterable[str] = (),
    effort: Effort | None = None,
    reduction: Reduction | None = None,
) -> Iterator[Result]:
    """The standard checks of `system` over its channel, or those with these names.

    UNKNOWN where `effort` does not suffice. Raises `NotReducible`, and `Interrupted` when a check
    is interrupted.
    """
    wanted = frozenset(names) or frozenset(TITLES)
    about = _About(system, effort, reduction)
    of_system = [name for name in TITLES if name in wanted - {MACHINE}]
    if of_system:
        verdicts = standing_checks(about.composition, about.effort, reduction, frozenset(of_system))
        yield from about.answers({name: TITLES[name] for name in of_system}, verdicts, "")
    if MACHINE in wanted:
        yield from check_machines(system)


def check_machines(system: System) -> Iterator[Result]:
    """Whether the machine of each table does what the table says: one result per table."""
    tables = {member.automaton.fingerprint: member.automaton for member in system.members}
    yield from map(machine_result, tables.values())


def machine_result(table: Automaton) -> Result:
    """Whether the machine of `table` does what the table says."""
    started = time.perf_counter()
    verdict = check_machine(table)
    seconds = time.perf_counter() - started
    under, name = "any guards, any event", table.name
    return Result(name, MACHINE, TITLES[MACHINE], under, verdict, Status.HOLDS, seconds, name)


def check_formulas(
    system: System,
    formulas: Iterable[str],
    runs: Runs = Runs.COMPLETE,
    fair: Iterable[str] = (),
    effort: Effort | None = None,
    reduction: Reduction | None = None,
) -> Iterator[Result]:
    """Whether `system` satisfies each formula, on runs as fair as `fair` asks (`weak:rows`).

    UNKNOWN where `effort` does not suffice. Raises `UsageError` for a formula that cannot be read,
    `NotReducible`, and `Interrupted` when a check is interrupted.
    """
    parsed: dict[str, Formula] = {text: parse(text) for text in formulas}
    demands = tuple(map(demand, fair))
    under = "".join([f", {runs.value} runs", *(f", {text}" for text in fair)])
    for text, formula in parsed.items():
        about = _About(system, effort, reduction)

        def verdicts(
            text: str = text, formula: Formula = formula, about: _About = about
        ) -> Iterator[tuple[str, Verdict]]:
            spent = about.effort
            yield text, check(about.composition, formula, runs, spent, reduction, demands)

        yield from about.answers({text: text}, verdicts(), under)


def check_termination(system: System, effort: Effort | None = None) -> Iterator[Result]:
    """Whether `system` ends: can, must, and must where runs are fair.

    Raises `Interrupted` when a check is interrupted.
    """
    about, started = _About(system, effort, None), time.perf_counter()
    name, title = "termination", "whether the system ends"
    try:
        for question, verdict in terminates(about.composition, about.effort):
            name, title, expected = question.name, question.title, question.expected
            yield about.result(name, title, "", verdict, started, expected)
            started = time.perf_counter()
    except MemoryError:
        yield about.result(name, title, "", about.out_of_memory, started)
    except NotReplayed as error:
        yield about.result(name, title, "", stopped(error), started)
    except KeyboardInterrupt as error:
        raise Interrupted(about.result(name, title, "", about.cut_off, started)) from error


def check_unbounded(
    system: System,
    names: Iterable[str] = (),
    most: int = 8,
    effort: Effort | None = None,
) -> Iterator[Result]:
    """What holds of `system` over FIFO channels of every capacity; k is tried from 1 to `most`.

    Raises `Interrupted` when it is interrupted, after what was decided before.
    """
    effort = effort or Effort(compatibility.MOST_STATES)
    about, started = _About(system, effort, None), time.perf_counter()
    found, left, interrupt = dict[str, Verdict](), about.cut_off, None
    try:
        for name, verdict in compatibility.search_unbounded(system, most, about.effort):
            found[name] = verdict
    except KeyboardInterrupt as error:
        interrupt, left = error, about.cut_off
    except MemoryError:
        left = about.out_of_memory
    except NotReplayed as error:
        left = stopped(error)
    wanted = frozenset(names) or frozenset(compatibility.TITLES)
    seconds = (time.perf_counter() - started) / len(compatibility.TITLES)
    results = [
        Result(
            system.name,
            name,
            title,
            "free guards, fifo of any capacity",
            found.get(name, left),
            Status.HOLDS,
            seconds,
            f"{system.name} over fifo",
            chart=partial(chart_of, system.over(Channel(1)), over="fifo of any capacity"),
            ways=partial(ways_of, system.over(Channel(1))),
        )
        for name, title in compatibility.TITLES.items()
        if name in wanted
    ]
    if interrupt is not None and results:
        yield from results[:-1]
        raise Interrupted(results[-1]) from interrupt
    yield from results


class _About:
    """What is checked, and how far it has come."""

    def __init__(self, system: System, effort: Effort | None, reduction: Reduction | None) -> None:
        self.composition = Composition(system)
        self.effort = Effort() if effort is None else replace(effort, latest="")
        self._reduced = f", {reduction.value}" if reduction else ""

    @property
    def out_of_memory(self) -> Verdict:
        """UNKNOWN, since the memory is used up."""
        reason = f"the memory is used up: {self.effort.latest or 'at once'}"
        return Verdict(Status.UNKNOWN, reason)

    @property
    def cut_off(self) -> Verdict:
        """UNKNOWN, since it was interrupted."""
        return Verdict(Status.UNKNOWN, f"interrupted: {self.effort.latest or 'at once'}")

    def answers(
        self, titles: Mapping[str, str], verdicts: Iterator[tuple[str, Verdict]], under: str
    ) -> Iterator[Result]:
        """A result for each title, as the verdicts come."""
        spent: Verdict | None = None
        for name, title in titles.items():
            started = time.perf_counter()
            try:
                verdict = next(verdicts)[1] if spent is None else spent
            except MemoryError:
                verdict = spent = self.out_of_memory
            except NotReplayed as error:
                verdict = spent = stopped(error)
            except KeyboardInterrupt as error:
                cut_off = self.result(name, title, under, self.cut_off, started)
                raise Interrupted(cut_off) from error
            yield self.result(name, title, under, verdict, started)

    def result(
        self,
        name: str,
        title: str,
        under: str,
        verdict: Verdict,
        started: float,
        expected: Status | None = Status.HOLDS,
    ) -> Result:
        """The result of one property."""
        system = self.composition.system
        fails = verdict.status is Status.FAILS and not verdict.cycle
        if fails and verdict.trace is not None and not verdict.unreceived:
            verdict = replace(verdict, unreceived=unreceived_after(system, verdict.trace))
        return Result(
            system.name,
            name,
            title,
            f"free guards, {self.composition.channel.name}{under}{self._reduced}",
            verdict,
            expected,
            time.perf_counter() - started,
            self.composition.name,
            chart=partial(chart_of, system),
            ways=partial(ways_of, system),
        )
