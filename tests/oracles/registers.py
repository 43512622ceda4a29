"""Two members with rules that meet, explored naively: states and registers side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from pxp_fsm.automata.automaton import Automaton, Kind, Transition
from pxp_fsm.automata.expressions import Value, evaluate

Agent = tuple[str, tuple[tuple[str, Value], ...]]
"""Where an agent is, and its registers."""

_ANSWERS: dict[str, list[Value]] = {"bool": [False, True], "int": [0, 1, 2, 3]}


def reachable(
    tables: tuple[Automaton, Automaton], parameters: Mapping[str, Value]
) -> set[tuple[Agent, Agent]]:
    """Every pair of agents that can be reached, with these parameters."""
    first, second = (
        (table.initial, tuple((one.name, one.initial) for one in table.rules.registers))
        for table in tables
    )
    seen, left = {(first, second)}, [(first, second)]
    while left:
        for after in _steps(tables, left.pop(), parameters):
            if after not in seen:
                seen.add(after)
                left.append(after)
    return seen


def _steps(
    tables: tuple[Automaton, Automaton], pair: tuple[Agent, Agent], given: Mapping[str, Value]
) -> Iterator[tuple[Agent, Agent]]:
    rows = [list(_rows(table, agent, given)) for table, agent in zip(tables, pair, strict=True)]
    for row in rows[0]:
        if row.kind is Kind.EVENT:
            yield _after(tables[0], pair[0], row, given), pair[1]
    for row in rows[1]:
        if row.kind is Kind.EVENT:
            yield pair[0], _after(tables[1], pair[1], row, given)
    for one, other in product(*rows):
        if {one.kind, other.kind} == {Kind.SEND, Kind.RECEIVE} and one.label == other.label:
            yield (
                _after(tables[0], pair[0], one, given),
                _after(tables[1], pair[1], other, given),
            )


def _rows(table: Automaton, agent: Agent, given: Mapping[str, Value]) -> list[Transition]:
    state, registers = agent
    values = {**given, **dict(registers)}
    rows = [
        row
        for row in table.leaving(state)
        if (row.when is None or evaluate(row.when, values))
        and (row.guard is None or row.guard in _true(table, state, values))
    ]
    return [row for row in rows if row.urgent] or rows


def _true(table: Automaton, state: str, values: Mapping[str, Value]) -> set[str]:
    """The guards that some answers of the oracles make true."""
    oracles = table.rules.oracles
    answers = [sorted(one.type.members) or _ANSWERS[one.type.name] for one in oracles]
    found = set[str]()
    for some in product(*answers):
        known = {**values, **dict(zip((one.name for one in oracles), some, strict=True))}
        whens = {guard: table.rules.whens[guard] for guard in table.guards_of(state)}
        true = {guard for guard, when in whens.items() if when and evaluate(when, known)}
        found |= true or {guard for guard, when in whens.items() if when is None}
    return found


def _after(table: Automaton, agent: Agent, row: Transition, given: Mapping[str, Value]) -> Agent:
    registers = dict(agent[1])
    values = {**given, **registers, "tag": row.label}
    updates = {} if row.kind is Kind.EVENT else dict(table.rules.on_message)
    updates |= dict(row.do)
    registers |= {name: evaluate(update, values) for name, update in updates.items()}
    return row.target, tuple(registers.items())
