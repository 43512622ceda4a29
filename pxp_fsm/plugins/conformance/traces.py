"""Recorded traces against a table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from proofs.subjects import OfTables
from proofs.systems.product import Composition
from pxp_fsm import registry
from pxp_fsm.automata.actions import Choose
from pxp_fsm.automata.automaton import Automaton, Transition
from pxp_fsm.automata.system import System
from pxp_fsm.automata.system_files import is_system_file
from pxp_fsm.automata.tables import load_automaton
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.plugins.conformance.views import drawn_lines

_ACTION = re.compile(r"[+!\-\N{MINUS SIGN}]\w+( (to|from) \w+)?")


def assert_allowed(trace: Iterable[str], table: Any, *, ended: bool = False) -> None:
    """Raise `AssertionError` unless `table` allows the actions of a trace, one after the other.

    An action is written as at a table's arrow: `+ASK` is sent, `-REPLY` received, `!CLOSE` happens;
    with a partner where rows name one (`+ASK to server`). With `ended` the trace must also lead to
    an end state. What guards said need not be recorded: some choice of them must allow the trace.

    >>> assert_allowed(["+INIT", "-RATIFY", "+RATIFY", "!CLOSE"], "interact")

    A machine of another library is its table. A `System`, or a system's file, allows what its
    members do together, written as its traces are: `a>b ASK` over a channel "sync" (`a>b +ASK` and
    `a>b -ASK` over a buffer), `! CLOSE` from outside, `a G/!STOP` where `a` decides. Of a
    policy each table allows its own events of the trace, as for calls that are all about the same
    values; its lines and sums are not looked at, for a trace has no arguments.

    Raises `UsageError` for what is no action, or an event that no table of a policy has, and
    `TableError`.
    """
    __tracebackhide__ = True  # pytest shows the caller
    if isinstance(table, System) or is_system_file(table):
        system = table if isinstance(table, System) else System.load(table)
        _assert_together(trace, system, ended)
        return
    numbered = [*enumerate(trace, start=1)]
    for kind in registry.listed("checks"):
        if isinstance(kind, OfTables) and kind.accepts(table):
            _assert_by_each(numbered, kind.tables(table), ended)
            return
    _assert_alone(numbered, load_automaton(table), ended)


def _assert_by_each(
    numbered: list[tuple[int, str]], tables: Mapping[str, Automaton], ended: bool
) -> None:
    """As `assert_allowed`, of tables each of which must allow what it has."""
    __tracebackhide__ = True
    events = {name: {row.action for row in table.transitions} for name, table in tables.items()}
    for number, action in numbered:
        if not isinstance(action, str) or not any(action in own for own in events.values()):
            known = ", ".join(sorted(set[str]().union(*events.values())))
            raise UsageError(
                f"action {number} of the trace, {quoted(action)}, is of no table; they have: "
                f"{known}"
            )
    for name, table in tables.items():
        _assert_alone([pair for pair in numbered if pair[1] in events[name]], table, ended)


def _assert_alone(numbered: Iterable[tuple[int, str]], automaton: Automaton, ended: bool) -> None:
    __tracebackhide__ = True
    ways: dict[str, tuple[Transition, ...]] = {automaton.initial: ()}
    for number, action in numbered:
        if not isinstance(action, str) or not _ACTION.fullmatch(action):
            raise UsageError(
                f"action {number} of the trace is {quoted(action)}; write +TAG, -TAG or !EVENT"
            )
        told = action.replace("\N{MINUS SIGN}", "-")
        after: dict[str, tuple[Transition, ...]] = {}
        for state, way in ways.items():
            for row in automaton.leaving(state):
                if told in (row.action, f"{row.kind.value}{row.label}"):
                    after.setdefault(row.target, (*way, row))
        if not after:
            states = " or ".join(ways)
            allowed = dict.fromkeys(row.action for s in ways for row in automaton.leaving(s))
            listed = ", ".join(allowed) or "nothing"
            _fail(
                f"action {number}, {action}, is not allowed by {automaton.name} in {states}; "
                f"allowed there: {listed}",
                ways,
                automaton,
            )
        ways = after
    if ended and not automaton.final.intersection(ways):
        ends = ", ".join(sorted(automaton.final)) or "none"
        _fail(f"the trace stops in {' or '.join(ways)}, which is no end ({ends})", ways, automaton)


def _assert_together(trace: Iterable[str], system: System, ended: bool) -> None:
    """As `assert_allowed`, of a system. That a guard was settled ahead need not be recorded."""
    __tracebackhide__ = True
    model = Composition(system)
    states = set(model.initial())
    for number, action in enumerate(trace, start=1):
        if not isinstance(action, str):
            raise UsageError(f"action {number} of the trace is {quoted(action)}, which is no text")
        steps = [step for state in _settled(model, states) for step in model.successors(state)]
        after = {step.target for step in steps if str(step.action) == action}
        if not after:
            listed = ", ".join(dict.fromkeys(str(step.action) for step in steps)) or "nothing"
            raise AssertionError(
                f"action {number}, {action}, is not allowed by {system.name} in "
                f"{_places(model, states)}; allowed there: {listed}"
            )
        states = after
    if ended and not any(model.ended(state) for state in _settled(model, states)):
        raise AssertionError(f"the trace stops in {_places(model, states)}, which is no end")


def _settled(model: Composition, states: set[int]) -> set[int]:
    """The states, and those to which members come by settling a guard without sending yet."""
    settled, left = set(states), [*states]
    while left:
        for step in model.successors(left.pop()):
            if isinstance(step.action, Choose) and step.target not in settled:
                settled.add(step.target)
                left.append(step.target)
    return settled


def _places(model: Composition, states: set[int]) -> str:
    return " or ".join(
        sorted(", ".join(model.encoding.configuration(state).at) for state in states)
    )


def _fail(text: str, ways: dict[str, tuple[Transition, ...]], automaton: Automaton) -> None:
    __tracebackhide__ = True
    state, way = next(iter(ways.items()))
    raise AssertionError("\n".join([text, *drawn_lines(automaton, state, way)]))
