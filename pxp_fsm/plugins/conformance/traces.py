"""Recorded traces against a table."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pxp_fsm.automata.automaton import Automaton, Transition
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

    Raises `UsageError` for what is no action, and `TableError`.
    """
    __tracebackhide__ = True  # pytest shows the caller
    automaton = load_automaton(table)
    ways: dict[str, tuple[Transition, ...]] = {automaton.initial: ()}
    for number, action in enumerate(trace, start=1):
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


def _fail(text: str, ways: dict[str, tuple[Transition, ...]], automaton: Automaton) -> None:
    __tracebackhide__ = True
    state, way = next(iter(ways.items()))
    raise AssertionError("\n".join([text, *drawn_lines(automaton, state, way)]))
