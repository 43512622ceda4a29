"""A system as its rules decide: registers in the states, also where only the peers bound them.

A table by itself may count without end, as one that counts what it receives. What its register
holds in the system is then found by exploring: it is followed within an interval, which is widened
until no state that can be reached lies outside. That proves that the interval has all its values,
over this channel and with these peers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from proofs.core.limits import Effort
from proofs.systems.product import Composition
from proofs.systems.reachability import Reached, reach
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.expressions import INT
from pxp_fsm.automata.system import System, settable
from pxp_fsm.automata.unfolding import TooManyStates, unfolded
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
    """A system as far as its rules decide; `left_out` says of which tables they do not, and why."""

    system: System
    left_out: tuple[str, ...] = ()


def by_rules(system: System, given: Mapping[str, object], *, bounded: bool = True) -> Decided:
    """The system with its registers in the states, wherever what they hold is known.

    Where it is not, the table stays as it is: whoever decides there, all that can happen is more
    than what the rules allow. Not `bounded` is a channel without a capacity: there only registers
    that their own table bounds are known.

    Raises `UsageError` as `System.with_parameters` does where something is `given`.
    """
    system.check_given(given)
    members = [replace(member, automaton=member.automaton.written) for member in system.members]
    left_out = dict[str, None]()
    growing = dict[int, TooManyStates]()
    for place, member in enumerate(members):
        table = member.automaton
        needed = [parameter.name for parameter in table.rules.parameters]
        missing = [name for name in needed if name not in given]
        if missing and not given:
            left_out[f"{table.name}: {', '.join(missing)} has no value"] = None
        elif given or table.counts:
            try:
                members[place] = replace(member, automaton=unfolded(table, settable(table, given)))
            except TooManyStates as error:
                growing[place] = error
            except UsageError as error:
                if given:
                    raise
                left_out[str(error)] = None
    known = replace(system, members=tuple(members))
    if not growing:
        return Decided(known, tuple(left_out))
    found = _within(known, given, growing) if bounded else next(iter(growing.values()))
    if isinstance(found, System):
        return Decided(found, tuple(left_out))
    if given:
        raise found
    return Decided(known, (*left_out, str(found)))


def _within(
    system: System, given: Mapping[str, object], growing: Mapping[int, TooManyStates]
) -> System | TooManyStates:
    """The system whose `growing` members count within intervals that they never leave, or why none
    are found.

    What is explored is all that can happen until a register leaves its interval: there its member
    stops. Where none does, nothing was stopped, so nothing is missing.
    """
    intervals = {place: _first(system.members[place].automaton) for place in growing}
    while True:
        members = list(system.members)
        try:
            for place, within in intervals.items():
                table = members[place].automaton
                followed = unfolded(table, settable(table, given), within)
                members[place] = replace(members[place], automaton=followed)
        except TooManyStates as error:
            return error
        tried = replace(system, members=tuple(members))
        composition = Composition(tried)
        reached = reach(composition, MOST)
        if reached.cut:
            return next(iter(growing.values()))
        outside = [*_outside(composition, reached, intervals)]
        for place, name, held in outside:
            low, high = intervals[place][name]
            first = _first(system.members[place].automaton)[name][0]
            if abs(held - first) > WIDEST:
                return TooManyStates(
                    f"{system.members[place].automaton.name}: {name} goes beyond {WIDEST:,}, and "
                    f"nothing bounds it; let a when or an urgent event bound what it counts"
                )
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
