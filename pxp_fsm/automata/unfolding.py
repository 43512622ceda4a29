"""A table with rules, for given parameters, as one whose states hold its registers.

What is left is a plain table: in each state stand the rows that the rules allow there, and of the
guards those that some answers of the oracles make true. So everything that runs, explores, draws or
exports tables takes rules, over all channels, without knowing of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType

from pxp_fsm.automata.automaton import Automaton, Kind, State, Transition, Unfolding
from pxp_fsm.automata.expressions import Value, names_in
from pxp_fsm.automata.rules import Rules, Values
from pxp_fsm.errors import UsageError

MOST_STATES = 10_000
"""States of a table, its registers included, beyond which it is not unfolded."""

GIVEN = "given"
"""The key under which a stored table has the parameters with which it is unfolded."""

_Place = tuple[str, Values]
"""A state of the table, and what the registers hold in it."""


def unfolded(automaton: Automaton, parameters: Mapping[str, object]) -> Automaton:
    """`automaton` with `parameters`, its registers in the states: `WAIT[tries=1]`.

    A state keeps the name that it has in the table (`State.base`) and the values that hold there.
    An event that an agent causes by itself is a row under a guard of its own.

    >>> import pxp_fsm as pxp
    >>> table = unfolded(pxp.load_automaton("interact"), {"n": 2, "k": 1})
    >>> [state.name for state in table.states][:2]
    ['IDLE[j=0, last=NONE, stop=false]', 'WAIT[j=1, last=INIT, stop=false]']

    Raises `UsageError` for parameters that do not fit, where more than `MOST_STATES` states can be
    reached, and where a register is given what an oracle has said: that is any value.
    """
    return _unfolded(automaton, automaton.rules.arguments(parameters))


def as_decided(automaton: Automaton, given: Mapping[str, object]) -> Automaton:
    """The table by its rules where their parameters are known, or there are none.

    Otherwise, and where it cannot be unfolded without parameters, the table itself: whoever decides
    there, all that can happen is more than what the rules allow.
    """
    if not automaton.counts or (automaton.rules.parameters and not given):
        return automaton
    try:
        return unfolded(automaton, given)
    except UsageError:
        if given:
            raise
        return automaton


@lru_cache(maxsize=64)
def _unfolded(automaton: Automaton, given: Values) -> Automaton:
    """The same for values that were checked: each has the type that its parameter declares."""
    rules = automaton.rules
    start = (automaton.initial, rules.initial)
    names, rows, left = {start: _name(rules, start)}, list[Transition](), [start]
    for place in left:
        for row, registers in _rows(automaton, given, place):
            target = (row.target, registers)
            if target not in names:
                names[target] = _name(rules, target)
                left.append(target)
                _check_size(automaton, names)
            guard = row.label if _is_own(row) else row.guard
            rows.append(
                Transition(
                    row.row,
                    names[place],
                    names[target],
                    guard,
                    row.kind,
                    row.label,
                    row.partner,
                )
            )
    decided = dict[str, dict[str, None]]()
    for row in rows:
        if row.guard is not None:
            decided.setdefault(row.source, {})[row.guard] = None
    about = {state.name: state.about for state in automaton.states}
    own = {row.label: "it happens by itself" for row in automaton.transitions if _is_own(row)}
    held = [*zip((parameter.name for parameter in rules.parameters), given, strict=True)]
    told = ", ".join(f"{name}={_shown(value)}" for name, value in held)
    return replace(
        automaton,
        name=f"{automaton.name}({told})" if told else automaton.name,
        states=tuple(
            State(
                name,
                about[place[0]],
                tuple(decided.get(name, ())),
                place[0],
                tuple(zip(rules.stored, (*given, *place[1]), strict=True)),
            )
            for place, name in names.items()
        ),
        initial=names[start],
        final=frozenset(name for place, name in names.items() if place[0] in automaton.final),
        guards=MappingProxyType({**own, **automaton.guards}),
        transitions=tuple(rows),
        rules=Rules(),
        unfolding=Unfolding(automaton, tuple(held)),
    )


def _rows(
    automaton: Automaton, given: Values, place: _Place
) -> Iterator[tuple[Transition, Values]]:
    """The rows that may be taken in a place, each with the registers after it.

    While an urgent row may be taken there is no other one, not even to receive.
    """
    rules, (state, registers) = automaton.rules, place
    values = (*given, *registers)
    rows = [row for row in automaton.leaving(state) if rules.when(row, values)]
    guards = automaton.guards_of(state)
    if state in rules.deciding:
        guards = rules.possible(state, dict(zip(rules.stored, values, strict=True)))
    urgent = [row for row in rows if row.urgent]
    for row in urgent or rows:
        if row.guard is None or row.guard in guards:
            yield row, _after(automaton, row, values)


def _after(automaton: Automaton, row: Transition, values: Values) -> Values:
    rules = automaton.rules
    asked = {oracle.name for oracle in rules.oracles}
    if row.guard is None:
        return rules.step(row, values)
    for name, update in rules.updates(row).items():
        if names_in(update) & asked:
            raise UsageError(
                f"{automaton.name}: {name} becomes what the oracle "
                f"{', '.join(names_in(update) & asked)} says, which is any value; a table like "
                f"this is not explored with parameters"
            )
    nothing: Values = (False,) * len(asked)  # no update reads it
    return rules.step(row, (*values, *nothing))


def _is_own(row: Transition) -> bool:
    """Whether a row is an event that its agent causes, and no guard decides."""
    return row.kind is Kind.EVENT and row.guard is None and row.by == "self"


def _name(rules: Rules, place: _Place) -> str:
    state, registers = place
    names = (register.name for register in rules.registers)
    held = zip(names, registers, strict=True)
    told = ", ".join(f"{name}={_shown(value)}" for name, value in held)
    return f"{state}[{told}]" if told else state


def _shown(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_size(automaton: Automaton, names: Mapping[_Place, str]) -> None:
    if len(names) > MOST_STATES:
        raise UsageError(
            f"{automaton.name}: its registers take more than {MOST_STATES:,} states; let a when or "
            f"an urgent event bound what they count"
        )
