"""A system as its rules decide: registers in the states, also where only the peers bound them.

A table by itself may count without end, as one that counts what it receives. What its register
holds in the system is then found by exploring: it is followed within an interval, which is widened
until no state that can be reached lies outside. That proves that the interval has all its values,
over this channel and with these peers.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace

from proofs.core.limits import Effort
from proofs.systems.product import Composition
from proofs.systems.reachability import Reached, reach
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.expressions import INT
from pxp_fsm.automata.message_values import MessageValues, UnknownValues, loose_ids, tags_read
from pxp_fsm.automata.system import System, settable
from pxp_fsm.automata.unfolding import TooManyStates, unfolded, with_messages
from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass

WIDEST = 1_000
"""How far from its first value a register is followed before it counts as unbounded."""

MOST = Effort(100_000)
"""What is explored to find intervals."""

Intervals = dict[str, tuple[int, int]]
"""The least and the largest number of each register of a member."""


@dataclass(frozen=True)
class Decided:
    """A system as far as its rules decide; `left_out` says of which tables they do not, and why,
    `loose` which ids are followed that schemas may refuse."""

    system: System
    left_out: tuple[str, ...] = ()
    loose: tuple[str, ...] = ()


def by_rules(system: System, values: Mapping[str, object], *, bounded: bool = True) -> Decided:
    """The system with its registers in the states, wherever what they hold is known.

    Where it is not, the table stays as it is: whoever decides there, all that can happen is more
    than what the rules allow. Not `bounded` is a channel without a capacity: there only registers
    that their own table bounds are known.

    Raises `UsageError` as `System.with_parameters` does where something is `values`.
    """
    system.check_given(values)
    tables = [member.automaton for member in system.members]
    written = _with_tables(system, {n: table.written for n, table in enumerate(tables)})
    beside = (table.unfolding for table in tables if table.registers_beside)
    held = {name: value for made in beside if made for name, value in made.parameters} | {**values}
    left_out = dict[int, str]()
    for place, member in enumerate(written.members):
        needed = [parameter.name for parameter in member.automaton.rules.parameters]
        missing = [name for name in needed if name not in held]
        if missing and not values:
            left_out[place] = f"{member.automaton.name}: {', '.join(missing)} has no value"
    while True:
        try:
            decided = _followed(written, held, left_out, bounded=bounded)
        except _NotFollowed as error:
            if values:
                raise error.reason from None
            left_out |= dict.fromkeys(error.places, str(error.reason))
        else:
            written_tables = [member.automaton for member in written.members]
            loose = loose_ids(written_tables, _ruled(written_tables, values, left_out))
            return Decided(decided, tuple(dict.fromkeys(left_out.values())), tuple(loose))


class _NotFollowed(Exception):
    """The rules of members with these numbers cannot be followed, for this reason."""

    def __init__(self, places: Iterable[int], reason: UsageError) -> None:
        super().__init__(str(reason))
        self.places, self.reason = tuple(places), reason


def _followed(
    system: System, values: Mapping[str, object], left_out: Container[int], *, bounded: bool
) -> System:
    """The system as all rules decide, but for those of members that are left out."""
    written = [member.automaton for member in system.members]
    ruled = _ruled(written, values, left_out)
    try:
        messages = system.messages(ruled, bounded=bounded)
    except UnknownValues as error:
        readers = (place for place in ruled if error.tag in tags_read(written[place]))
        raise _NotFollowed(readers, error) from None
    tables = {place: with_messages(table, messages) for place, table in enumerate(written)}
    growing = dict[int, TooManyStates]()
    for place in ruled:
        table = written[place]
        try:
            tables[place] = unfolded(table, settable(table, values), messages=messages)
        except TooManyStates as error:
            growing[place] = error
        except UsageError as error:
            raise _NotFollowed([place], error) from None
    known = _with_tables(system, tables)
    if not growing:
        return known
    if not bounded:
        raise _NotFollowed(growing, next(iter(growing.values())))
    return _within(system, known, values, growing, messages)


def _ruled(
    tables: Iterable[Automaton], values: Mapping[str, object], left_out: Container[int]
) -> list[int]:
    """The numbers of the tables of which the rules decide."""
    return [
        place
        for place, table in enumerate(tables)
        if place not in left_out and (values or table.counts)
    ]


def _with_tables(system: System, tables: Mapping[int, Automaton]) -> System:
    members = (
        replace(member, automaton=tables.get(place, member.automaton))
        for place, member in enumerate(system.members)
    )
    return replace(system, members=tuple(members))


def _within(
    written: System,
    known: System,
    values: Mapping[str, object],
    growing: Mapping[int, TooManyStates],
    messages: MessageValues,
) -> System:
    """The `known` system whose `growing` members count within intervals that they never leave.

    What is explored is all that can happen until a register leaves its interval: there its member
    stops. Where none does, nothing was stopped, so nothing is missing.
    """
    tables = {place: written.members[place].automaton for place in growing}
    intervals = {place: _first(table) for place, table in tables.items()}
    while True:
        try:
            followed = {
                place: unfolded(table, settable(table, values), intervals[place], messages)
                for place, table in tables.items()
            }
        except TooManyStates as error:
            raise _NotFollowed(growing, error) from None
        tried = _with_tables(known, followed)
        composition = Composition(tried)
        reached = reach(composition, MOST)
        if reached.cut:
            raise _NotFollowed(growing, next(iter(growing.values())))
        outside = [*_outside(composition, reached, intervals)]
        for place, name, held in outside:
            low, high = intervals[place][name]
            first = _first(tables[place])[name][0]
            if abs(held - first) > WIDEST:
                reason = (
                    f"{tables[place].name}: {name} goes beyond {WIDEST:,}, and nothing bounds it; "
                    f"let a when or an urgent event bound what it counts"
                )
                raise _NotFollowed(growing, TooManyStates(reason))
            twice = 2 * held - first
            intervals[place][name] = min(low, twice), max(high, twice)
        if not outside:
            return tried


def _outside(
    composition: Composition, reached: Reached, intervals: Mapping[int, Intervals]
) -> Iterator[tuple[int, str, int]]:
    """The members and registers that can leave their interval, each with a number outside."""
    for place, within in intervals.items():
        field = composition.encoding.fields[place]
        states = composition.system.members[place].automaton.states
        # What has settled a guard waits in a state that is met without it, too.
        there = sorted({field.of(part) for part in reached.parts(field.bits)})
        for number in there:
            held = dict(states[number].values) if number < len(states) else {}
            for name, (low, high) in within.items():
                if name in held and not low <= int(held[name]) <= high:
                    yield place, name, int(held[name])


def _first(table: Automaton) -> Intervals:
    """The intervals that are tried first: what the registers hold at first, and one more."""
    numbers = [register for register in table.rules.registers if register.type == INT]
    return {counted.name: (int(counted.initial), int(counted.initial) + 1) for counted in numbers}
