"""What can be asked of a system, each answer a `Result`: standard checks, formulas, termination.

A counterexample is drawn as a sequence chart, and on the automaton of each member. All checks but
one are made on the tables; that one, `compare_machine`, carries their results over to the machines
of a running session: these do what the table says, in every state, for every event and valuation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

from proofs.core.explore import Trace
from proofs.core.limits import Effort
from proofs.core.results import NotReplayed, Result, Status, Verdict, stopped
from proofs.logic.checking import Runs
from proofs.logic.fairness import AGENTS, demand
from proofs.logic.formulas import Formula
from proofs.logic.parsing import parse
from proofs.logic.termination import TERMINATION
from proofs.systems import compatibility
from proofs.systems.checking import Reduction, check, decide_standard
from proofs.systems.encoding import Configuration
from proofs.systems.fairness import terminates, whose
from proofs.systems.options import Options
from proofs.systems.product import Composition
from proofs.systems.receptions import Receptions
from proofs.systems.standard_checks import STANDARD, applying
from pxp_fsm.automata.actions import Choose, SystemAction, Unreceived, WaitingMember
from pxp_fsm.automata.automaton import DECIDE, Automaton, Kind, Transition, Trigger, Valuation
from pxp_fsm.automata.channels import Channel
from pxp_fsm.automata.system import Member, System
from pxp_fsm.automata.unfolding import is_split, written
from pxp_fsm.diagrams import SequenceChart, StateDiagram, actions_chart, state_diagram
from pxp_fsm.errors import PXPError, UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.sessions.events import events_of
from pxp_fsm.sessions.live import LiveSystem
from pxp_fsm.sessions.machine import Machine


def chart_of(system: System, result: Result, over: str = "") -> SequenceChart:
    """The trace of a `result` of checking `system`; raises `UsageError` where it has none.

    `over` names what it was checked over, where that is more than the system's one channel.
    """
    trace = _trace(result)
    remark = f"over {over or system.channel.name}: {_ending(result.verdict, trace)}"
    states = zip(system.places, _last(trace).at, strict=True)
    refused = _refused(system, result)
    lost = [_region(system, trace)[1]] if result.verdict.impossible else []
    return actions_chart(
        events_of(system, _actions(trace)),
        dict(states),
        title=result.headline,
        note="; ".join([remark, *lost, *map(str, refused)]),
        refused=(
            (unreceived.sender, unreceived.receiver, unreceived.tag) for unreceived in refused
        ),
        cycle=result.verdict.cycle,
        waits=_waiting_after(system, result),
    )


def _waiting_after(system: System, result: Result) -> tuple[WaitingMember, ...]:
    """Who waits in vain where the trace ends, if nothing can happen there."""
    if result.verdict.cycle:
        return ()
    composition = Composition(system)
    deadlock = Options(composition).deadlock(composition.encoding.state(_last(_trace(result))))
    return deadlock.waiting if deadlock else ()


MOST_IN_REGION = 20_000
"""States from which a property of existence is impossible, up to which they are followed."""


def _region(system: System, trace: Trace[Configuration]) -> tuple[list[frozenset[str]], str]:
    """In which states each member can still be after `trace`; and how many those are, in words."""
    composition = Composition(system)
    first = composition.encoding.state(_last(trace))
    seen, front = {first}, [first]
    while front and len(seen) < MOST_IN_REGION:
        fresh = {
            state + move.difference for state in front for move in composition.moves(state)
        } - seen
        seen |= fresh
        front = list(fresh)
    places = zip(*(composition.encoding.configuration(state).at for state in seen), strict=True)
    more = "at least " if front else ""
    reached = "1 state" if len(seen) == 1 else f"{more}{len(seen):,} states"
    words = f"from there on {reached} can be reached, and what was asked is possible in none"
    return [frozenset(at) for at in places], words


def ways_of(system: System, result: Result) -> Mapping[str, StateDiagram]:
    """The rows that each member took in the trace of a `result`, and what is not received."""
    live = LiveSystem(system)
    taken: dict[str, list[Transition]] = {name: [] for name in live.states}
    for action in _actions(_trace(result)):
        moved = live.take(action)
        for name, row in moved if not isinstance(action, Choose) else ():
            taken[name].append(row)
    refused = _refused(system, result)
    everywhere = [frozenset[str]()] * len(system.members)
    lost = _region(system, _trace(result))[0] if result.verdict.impossible else everywhere
    return {
        member.name: state_diagram(
            _along(member.automaton, live.machines[member.name].state, taken[member.name], fatal),
            marked=live.machines[member.name].state,
            path=taken[member.name],
            refused=fatal,
            unreceived=[
                unreceived.tag for unreceived in refused if unreceived.receiver == member.name
            ],
            region=region,
        )
        for member, region in zip(system.members, lost, strict=True)
        for fatal in (_sending(live, member.name, refused),)
    }


def _along(
    table: Automaton, state: str, taken: Sequence[Transition], fatal: Sequence[Transition]
) -> Automaton:
    """The table; of one that values of messages make large, what a trace shows of it."""
    if not is_split(table):
        return table
    rows = dict.fromkeys((*taken, *fatal))
    visited = {state, *(at for row in rows for at in (row.source, row.target))}
    states = tuple(table_state for table_state in table.states if table_state.name in visited)
    return replace(table, states=states, transitions=tuple(rows))


def _sending(
    live: LiveSystem, name: str, refused: tuple[Unreceived, ...]
) -> tuple[Transition, ...]:
    """The rows by which a member would send what is not received; none where that is sent."""
    if not live.system.channel.synchronous:
        return ()
    tags = {
        (unreceived.tag, unreceived.receiver) for unreceived in refused if unreceived.sender == name
    }
    return tuple(
        row
        for row in live.machines[name].enabled()
        if row.kind is Kind.SEND
        and any(
            tag in (row.label, written(row.label)) and row.partner in ("", to) for tag, to in tags
        )
    )


def unreceived_after(system: System, trace: Trace[Any]) -> tuple[Unreceived, ...]:
    """What is not received where `trace` ends, if nothing can happen there any more."""
    composition = Composition(system)
    state = composition.encoding.state(_last(trace))
    if composition.ended(state) or any(True for _ in composition.moves(state)):
        return ()
    return Receptions(composition).unreceived(state, ended=False)


def _refused(system: System, result: Result) -> tuple[Unreceived, ...]:
    """What is not received after the trace: what is known of it, or what has been chosen."""
    if result.verdict.unreceived or not system.channel.synchronous:
        return result.verdict.unreceived
    composition = Composition(system)
    state = composition.encoding.state(_last(_trace(result)))
    return tuple(Receptions(composition).waiting(state))


def _trace(result: Result) -> Trace[Configuration]:
    if result.trace is None:
        raise UsageError(f"{result.name} has no trace to draw: {result.verdict}")
    return result.trace


def _actions(trace: Trace[Configuration]) -> list[SystemAction]:
    return [step.action for step in trace.steps if isinstance(step.action, SystemAction)]


def _last(trace: Trace[Configuration]) -> Configuration:
    return trace.steps[-1].target if trace.steps else trace.start


def _ending(verdict: Verdict, trace: Trace[Configuration]) -> str:
    if verdict.cycle:
        return f"the last {verdict.cycle} of {len(trace.steps)} steps go on for ever"
    return f"reached in {len(trace.steps)} step{'' if len(trace.steps) == 1 else 's'}"


UNKNOWN = "SOMETHING_UNHEARD_OF"
"""A label that no built-in table has; lengthened where a table happens to have it."""

MOST_CASES = 200_000
"""Cases that a check of a table compares, about a minute."""

Build = Callable[[Automaton, str], Machine]
"""Makes the machine under comparison, in a given state."""


@dataclass(frozen=True, slots=True)
class MachineEffect:
    """What an event did: the transition taken (None where it was refused), where it led, and the
    name of the exception (empty where none was raised)."""

    taken: Transition | None
    state: str
    raised: str = ""


@dataclass(frozen=True, slots=True)
class MachineDifference:
    """A case in which machine and table do not do the same.

    `valuation` is the guards that were given with their truth, None where none were given.
    """

    state: str
    event: Trigger
    valuation: tuple[tuple[str, bool], ...] | None
    machine: MachineEffect
    table: MachineEffect

    def __str__(self) -> str:
        guards = " and ".join(f"{name} = {truth}" for name, truth in self.valuation or ())
        condition = f" where {guards}" if guards else ""
        machine, table = self.machine, self.table
        return (
            f"in {self.state} on {self.event}{condition} the machine is in {machine.state} "
            f"({machine.raised or 'moved'}), by the table in {table.state} "
            f"({table.raised or 'moved'})"
        )


@dataclass(frozen=True, slots=True)
class MachineComparison:
    """How many cases were compared, and every one that differs; none is the claim."""

    cases: int
    differences: tuple[MachineDifference, ...]


def compare_machine(automaton: Automaton, build: Build = Machine) -> MachineComparison:
    """Compare a fresh machine of `build` with `Automaton.step`, in every case there is.

    The cases: each state; each event (decide, and each label of the table and one that it does
    not have, as sent, received and from outside, with each partner that the table names); no
    valuation, and all 2^g valuations of the state's g guards. What is compared: the transition
    taken, the state after it (an event that is refused must not move the machine), the type of the
    exception.
    """
    events = _events(automaton)
    differences = []
    cases = 0
    for state in automaton.states:
        for event, valuation in product(events, _valuations(state.guards)):
            cases += 1
            by_table = _table(automaton, state.name, event, valuation)
            by_machine = _machine(build(automaton, state.name), event, valuation)
            if by_machine != by_table:
                guards_set = None if valuation is None else tuple(valuation.items())
                differences.append(
                    MachineDifference(state.name, event, guards_set, by_machine, by_table)
                )
    return MachineComparison(cases, tuple(differences))


def check_machine(automaton: Automaton, build: Build = Machine) -> Verdict:
    """Whether the machine of `automaton` does what the table says, in every case.

    UNKNOWN where guards have so many valuations that they would be more than `MOST_CASES`.
    """
    cases = sum(2 ** len(state.guards) + 1 for state in automaton.states) * len(_events(automaton))
    if cases > MOST_CASES:
        return Verdict(Status.UNKNOWN, f"{cases:,} cases are more than {MOST_CASES:,}")
    compared = compare_machine(automaton, build)
    if compared.differences:
        return Verdict(Status.FAILS, str(compared.differences[0]))
    return Verdict(Status.HOLDS, f"{compared.cases:,} cases")


def _events(automaton: Automaton) -> tuple[Trigger, ...]:
    labels = sorted({transition.label for transition in automaton.transitions})
    unknown = UNKNOWN
    while unknown in labels:
        unknown += "_"
    partners = dict.fromkeys(("", UNKNOWN, *(row.partner for row in automaton.transitions)))
    return (
        DECIDE,
        *(
            Trigger(kind, label, partner)
            for kind in Kind
            for label in (*labels, unknown)
            for partner in (partners if len(partners) > 2 and kind is not Kind.EVENT else ("",))
        ),
    )


def _valuations(guards: tuple[str, ...]) -> Iterator[Valuation | None]:
    yield None
    for truths in product((False, True), repeat=len(guards)):
        yield dict(zip(guards, truths, strict=True))


def _table(
    automaton: Automaton, state: str, event: Trigger, valuation: Valuation | None
) -> MachineEffect:
    try:
        taken = automaton.step(state, event, valuation)
    except PXPError as error:
        return MachineEffect(None, state, type(error).__name__)
    return MachineEffect(taken, taken.target)


def _machine(machine: Machine, event: Trigger, valuation: Valuation | None) -> MachineEffect:
    try:
        taken = machine.fire(event, valuation)
    except Exception as error:  # noqa: BLE001 - whatever a wrong machine raises is the finding
        return MachineEffect(None, machine.state, type(error).__name__)
    return MachineEffect(taken, machine.state)


MACHINE = "machine-agrees-with-table"
"""The standard check of each table by itself, whatever the channel."""

FINDING = "no-finding"
"""The standard check that reports what is probably a mistake in a table."""

TITLES: Mapping[str, str] = {
    **{name: standard_check.title for name, standard_check in STANDARD.items()},
    FINDING: "no state and no row of a table is probably a mistake",
    MACHINE: "the machine that runs does what its table says, in every case",
}
"""The standard checks, by name; each is expected to hold."""


def titles_for(system: System, names: Iterable[str] = ()) -> tuple[str, ...]:
    """The standard checks with these names; without names, those that are asked of `system`.

    Findings are reported where there are any.
    """
    wanted = frozenset(names) or {
        *applying(system),
        *([FINDING] if system.findings else []),
        MACHINE,
    }
    return tuple(name for name in TITLES if name in wanted)


ANY_CAPACITY = "free guards, fifo of any capacity"
"""Under what results over channels without a bound hold."""


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
    wanted = titles_for(system, names)
    about = _About(system, effort, reduction)
    of_system = [name for name in wanted if name not in (FINDING, MACHINE)]
    if of_system:
        verdicts = decide_standard(about.composition, about.effort, reduction, frozenset(of_system))
        yield from about.answers({name: TITLES[name] for name in of_system}, verdicts, "")
    if FINDING in wanted:
        yield from check_findings(system)
    if MACHINE in wanted:
        yield from check_machines(system)


def check_findings(system: System) -> Iterator[Result]:
    """What is probably a mistake in the tables of `system`: one result per finding, or HOLDS.

    Why it matters: a table may be valid and still not say what was meant: a state that no row leads
    to, a message that no peer receives, a guard that no row uses. Each finding has its file and
    line.

    What to do: the finding says it, as `add a row that leads to it, or drop it`.

    >>> import pxp_fsm as pxp
    >>> a = pxp.build_automaton(
    ...     "a",
    ...     [
    ...         {"from": "IDLE", "to": "END", "send": "YES"},
    ...         {"from": "LOST", "to": "END", "send": "NO"},
    ...     ],
    ...     final=["END"],
    ... )
    >>> b = pxp.build_automaton(
    ...     "b",
    ...     [
    ...         {"from": "IDLE", "to": "END", "receive": "YES"},
    ...         {"from": "IDLE", "to": "END", "receive": "NO"},
    ...     ],
    ...     final=["END"],
    ... )
    >>> [result] = pxp.check(pxp.System(a=a, b=b), "no-finding")
    >>> print(result.status, result.verdict.explanation)  # doctest: +NORMALIZE_WHITESPACE
    FAILS a, states[2]: state LOST is unreachable from IDLE; add a row that leads to it, or drop it
    """
    for fault in system.findings or (None,):
        verdict = Verdict(Status.HOLDS)
        if fault is not None:
            verdict = Verdict(Status.FAILS, str(fault), fault=fault)
        under = "the tables alone"
        yield Result(system.name, FINDING, TITLES[FINDING], under, verdict, Status.HOLDS)


def check_machines(system: System) -> Iterator[Result]:
    """Whether the machine of each table does what the table says: one result per table.

    Why it matters: a proof about a table says something of a session only if the machine that runs
    is that table. Every state is tried with every event and every valuation of the guards, those
    that must be refused too.

    What to do: a failure is a fault of this package, or of a machine that was changed; the case is
    named. Report it.

    >>> import pxp_fsm as pxp
    >>> a = pxp.build_automaton("a", [{"from": "IDLE", "to": "END", "send": "YES"}], final=["END"])
    >>> [result] = pxp.check(a, "machine-agrees-with-table")
    >>> print(result.status, result.verdict.explanation)
    HOLDS 28 cases
    """
    tables = {table.without_rules().fingerprint: table for table in map(_run, system.members)}
    yield from map(machine_result, tables.values())


def _run(member: Member) -> Automaton:
    """The table of a member; the one that runs where messages have values only to be explored."""
    table = member.automaton
    return table.unfolding.table if is_split(table) and table.unfolding else table


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
        named = whose(about.composition) if any(wish.of == AGENTS for wish in demands) else ""

        def verdicts(
            text: str = text, formula: Formula = formula, about: _About = about
        ) -> Iterator[tuple[str, Verdict]]:
            spent = about.effort
            yield text, check(about.composition, formula, runs, spent, reduction, demands)

        yield from about.answers({text: text}, verdicts(), under + named)


def check_termination(
    system: System, effort: Effort | None = None, names: Collection[str] = TERMINATION
) -> Iterator[Result]:
    """Whether `system` ends: can, must, and must where runs are fair; or of these what has a name
    of `names`.

    Raises `Interrupted` when a check is interrupted.
    """
    about, started = _About(system, effort, None), time.perf_counter()
    name, title = "termination", "whether the system ends"
    try:
        for question, verdict in terminates(about.composition, about.effort, names):
            name, title, expected = question.name, question.title, question.expected
            named = whose(about.composition) if name.endswith("-agents") else ""
            yield about.result(name, title, named, verdict, started, expected)
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
    verdicts, left, interrupt = dict[str, Verdict](), about.cut_off, None
    try:
        for name, verdict in compatibility.search_unbounded(system, most, about.effort):
            verdicts[name] = verdict
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
            ANY_CAPACITY,
            verdicts.get(name, left),
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
            f"{system.decides}, {self.composition.channel.name}{under}{self._reduced}",
            verdict,
            expected,
            time.perf_counter() - started,
            self.composition.name,
            chart=partial(chart_of, system),
            ways=partial(ways_of, system),
        )
