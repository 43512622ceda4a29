"""Agents in Python as programs under test: a function, async or not, a class, a command, a URL."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Literal

from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.system import System
from pxp_fsm.automata.tables import load_automaton
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.plugins.conformance import views
from pxp_fsm.plugins.conformance.at_channel import AtChannel
from pxp_fsm.plugins.conformance.ioco import conform_ioco
from pxp_fsm.plugins.conformance.mealy import as_mealy
from pxp_fsm.plugins.conformance.process import (
    RESET,
    Answer,
    InvalidLine,
    ProgramFailed,
    Request,
    UnderTest,
    parse_answer,
)
from pxp_fsm.plugins.conformance.programs import (
    Conformance,
    ConformanceRequest,
    Find,
    opened,
    tested,
)
from pxp_fsm.plugins.conformance.suspension import as_transitions
from pxp_fsm.plugins.conformance.testing import conform, conform_by_examples

By = Literal["hypothesis", "suite"]


class InProcess(UnderTest):
    """An agent in this process, which gets requests and returns replies as a program does.

    A function is asked to reset; of a class a new object is made, and called. An async one runs
    on a loop of its own.
    """

    def __init__(self, agent: Callable[..., Any]) -> None:
        super().__init__(1.0)
        self._made = agent if isinstance(agent, type) else None
        self._agent: Callable[..., Any] = agent
        self._runner = asyncio.Runner()

    def reset(self) -> Answer:
        if self._made is None:
            return self.ask(RESET)
        self._agent = self._made()
        return "reset"

    def ask(self, asked: Request) -> Answer:
        try:
            return self._parsed(self._agent(dict(asked)))
        except (ProgramFailed, UsageError):
            raise
        except Exception as error:
            raise ProgramFailed(f"it raised {type(error).__name__}: {error}") from error

    def _parsed(self, reply: Any) -> Answer:
        if inspect.isawaitable(reply):
            reply = self._runner.run(_awaited(reply))
        try:
            return parse_answer(json.dumps(reply).encode())
        except (InvalidLine, TypeError, ValueError) as error:
            shown = quoted(reply)
            raise ProgramFailed(f"it returned {shown}, which is no reply ({error})") from error

    def close(self) -> None:
        self._runner.close()


async def _awaited(reply: Any) -> Any:
    return await reply


def tested_agent(
    agent: Any,
    table: Any,
    *,
    extra_states: int = 0,
    by: By | None = None,
    timeout: float = 5.0,
) -> Conformance:
    """What the tests of `table` find of an agent: a command, a URL, a function or a class.

    A function gets each request as a mapping and returns the reply (pxp help conformance); so does
    an object of a class that can be called. A class with `act` and `carried` is an agent at a
    channel, one with `reset` and `step` a black box. `by` is "hypothesis", where that is installed,
    or "suite", which is complete for `extra_states`; a program that decides by itself always has
    the suite. Raises `UsageError` for what is no agent, and `TableError`.
    """
    if isinstance(table, System):
        raise UsageError(
            f"an agent is tested against one table, not against {table}; give its member's table"
        )
    automaton = load_automaton(table)
    find = _find(by)
    request = ConformanceRequest(_shown(agent), automaton.name, extra_states, timeout)
    if isinstance(agent, str):
        with opened(request) as program:
            return tested(program, automaton, request, find)
    if isinstance(agent, type) and hasattr(agent, "act") and hasattr(agent, "carried"):
        report = find(as_mealy(automaton), AtChannel(automaton, agent), extra_states, _SEARCHED)
        return Conformance(request, automaton, report)
    subject = agent
    if isinstance(agent, type) and hasattr(agent, "reset") and hasattr(agent, "step"):
        subject = agent()
    if hasattr(subject, "reset") and hasattr(subject, "step"):
        return _of_black_box(subject, automaton, request, find)
    if not callable(agent):
        raise UsageError(
            f"an agent is a command, a URL, a function of a request, or a class, not "
            f"{quoted(agent)}"
        )
    with InProcess(agent) as function:
        return tested(function, automaton, request, find)


_SEARCHED = 50_000
"""How many inputs are spent on a shorter sequence."""


def _find(by: By | None) -> Find:
    if by not in (None, "hypothesis", "suite"):
        raise UsageError(f'by is "hypothesis" or "suite", not {quoted(by)}')
    installed = find_spec("hypothesis") is not None
    if by == "hypothesis" and not installed:
        raise UsageError('by="hypothesis" needs Hypothesis: pip install hypothesis')
    return conform_by_examples if installed and by != "suite" else conform


def _of_black_box(
    subject: Any, automaton: Automaton, request: ConformanceRequest, find: Find
) -> Conformance:
    if isinstance(subject.reset(), tuple):
        ioco_report = conform_ioco(
            as_transitions(automaton), subject, request.extra, searched=_SEARCHED
        )
        return Conformance(request, automaton, ioco_report)
    report = find(as_mealy(automaton), subject, request.extra, _SEARCHED)
    return Conformance(request, automaton, report)


def _shown(agent: Any) -> str:
    return agent if isinstance(agent, str) else str(getattr(agent, "__name__", agent))


def assert_conforms(agent: Any, table: Any, **how: Any) -> None:
    """Raise `AssertionError` unless `agent` conforms to `table`, as far as its tests go.

    It says the shortest sequence that shows a difference, the rule, and the table as text; `how`
    is as for `tested_agent`.
    """
    result = tested_agent(agent, table, **how)
    if result.exit_code:
        raise AssertionError(f"{result.request.command} " + "\n".join(views.failure_lines(result)))
