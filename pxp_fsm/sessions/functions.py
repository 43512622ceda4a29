"""Plain functions, sync or async, as respondents, relations and guards of an agent."""

from __future__ import annotations

import time
import traceback
from collections.abc import Awaitable, Callable, Coroutine
from functools import update_wrapper
from typing import Any, TypeVar

from pxp_fsm import registry
from pxp_fsm.automata.automaton import Valuation
from pxp_fsm.errors import (
    NOT_THEIRS,
    GuardError,
    NoAnswer,
    PXPError,
    SessionFailed,
    UsageError,
    WrongType,
    quoted,
    unknown_name,
)
from pxp_fsm.lazy import asyncio
from pxp_fsm.protocol.interfaces import Respondent
from pxp_fsm.protocol.messages import Answer, Question
from pxp_fsm.protocol.relations import (
    NOISY,
    Assumption,
    OracleFailed,
    Outcome,
    Relation,
    awaited,
    is_cancelled,
    overdue,
)
from pxp_fsm.protocol.rules import Ending
from pxp_fsm.protocol.situation import Guards, Situation

T = TypeVar("T")

AnswerFunction = Callable[[Question], Answer | Awaitable[Answer]]
"""What a respondent may be: a function from what is asked to the answer."""

RelationFunction = Callable[[str, str], bool | Awaitable[bool]]
"""What MATCH or AGREE may be: a function from two texts to whether they count as the same."""

GuardFunction = Callable[[Situation], str | Awaitable[str]]
"""What guards may be: a function from a situation to the name of the guard that is true."""


class FunctionRespondent:
    """A respondent by a function of the question; see `respondent`."""

    def __init__(self, function: AnswerFunction) -> None:
        self.name = name_of(function)
        self._function = function
        update_wrapper(self, function)

    def __call__(self, question: Question) -> Answer | Awaitable[Answer]:
        return self._function(question)

    async def answer(self, question: Question) -> Answer:
        return await awaited(self._function(question))


class FunctionRelation:
    """A relation by a function of two texts, with what is known to be true of it."""

    def __init__(
        self,
        name: str,
        function: RelationFunction,
        assumptions: frozenset[Assumption] = NOISY,
    ) -> None:
        self.name = name
        self.assumptions = assumptions
        self._function = function

    async def holds(self, left: str, right: str) -> Outcome:
        answer = await awaited(self._function(left, right))
        if type(answer) is not bool:
            raise WrongType(f"relation {self.name} returned {quoted(answer)}, not True or False")
        return Outcome.YES if answer else Outcome.NO


class FunctionGuards:
    """Guards by a function of the situation that names the one guard that is true."""

    follows_relations = False

    def __init__(self, function: GuardFunction) -> None:
        self.name = name_of(function)
        self._function = function

    async def decide(self, situation: Situation) -> Valuation:
        guard = await awaited(self._function(situation))
        if not isinstance(guard, str):
            raise WrongType(f"guards {self.name} returned {quoted(guard)}, not a guard's name")
        if guard not in situation.guards:
            there = ", ".join(situation.guards)
            raise WrongType(f"guards {self.name} returned {quoted(guard)}; there are: {there}")
        return situation.choosing(guard)


def respondent(function: AnswerFunction) -> FunctionRespondent:
    """A respondent by a function, sync or async, of a `Question` that returns an `Answer`.

    >>> import pxp_fsm as pxp
    >>> @pxp.respondent
    ... def expert(question: pxp.Question) -> pxp.Answer:
    ...     return pxp.Answer("mammal", "It breathes air.")
    >>> expert.name
    'expert'

    What it raises is raised by the session too; `NoAnswer` ends the session and raises nothing.
    """
    return FunctionRespondent(function)


def as_respondent(answering: Respondent | AnswerFunction) -> Respondent:
    """`answering`, or the respondent by that function; `UsageError` where it is neither."""
    if isinstance(answering, Respondent) and not isinstance(answering, type):
        return answering
    if callable(answering) and not isinstance(answering, type):
        return FunctionRespondent(answering)
    raise _no_interface(
        "respondent",
        answering,
        "a name and a method answer(question), or is a function of a Question",
    )


_RELATIONS = {"exact": "guards.text:exact", "normalised-text": "guards.text:normalised_text"}
"""The core's relations that have a name; plug-ins add theirs."""


def as_relation(relation: Relation | RelationFunction | str) -> Relation:
    """`relation`, the relation by that function, or the one of that name; `UsageError` else."""
    if isinstance(relation, str):
        named = registry.contributions("relations") | _RELATIONS
        if relation not in named:
            raise unknown_name("relation", relation, dict.fromkeys(named, ""))
        loaded = registry.load(named[relation])
        return as_relation(loaded() if isinstance(loaded, type) else loaded)
    if isinstance(relation, Relation) and not isinstance(relation, type):
        return relation
    if callable(relation) and not isinstance(relation, type):
        return FunctionRelation(name_of(relation), relation)
    raise _no_interface(
        "relation",
        relation,
        "a name, its assumptions and a method holds(left, right), or is a function of two texts",
    )


def as_guards(guards: Guards | GuardFunction) -> Guards:
    """`guards`, or the guards by that function; `UsageError` where they are neither."""
    if isinstance(guards, Guards) and not isinstance(guards, type):
        return guards
    if callable(guards) and not isinstance(guards, type):
        return FunctionGuards(guards)
    raise _no_interface(
        "source of guards",
        guards,
        "a name, follows_relations and a method decide(situation), "
        "or is a function of a Situation that names the guard",
    )


def _no_interface(kind: str, value: object, form: str) -> UsageError:
    hint = f"; write {value.__name__}()" if isinstance(value, type) else ""
    return UsageError(f"{quoted(value)} is not a {kind}{hint}. A {kind} has {form}")


def name_of(function: Callable[..., Any]) -> str:
    """What a function is called, as a session records it."""
    return str(getattr(function, "__name__", type(function).__name__))


def checked_name(whose: str, name: object) -> str:
    """`name`, which is printable text; `UsageError` says whose it is where it is anything else."""
    if not isinstance(name, str) or not name or not name.isprintable():
        raise UsageError(
            f"{whose} name is printable text, at least one character, not {quoted(name)}"
        )
    return name


async def answered(
    who: str,
    ask: Callable[[], Awaitable[T] | T],
    timeout: float | None,
    failure: Callable[[str, Exception | None], SessionFailed],
) -> T:
    """What `ask` returns within `timeout` seconds; late is `OracleFailed`, a fault is `failure`."""
    started = time.perf_counter()
    try:
        async with asyncio.timeout(timeout):
            reply = await awaited(ask())
    except TimeoutError as error:
        why = str(error) or f"no answer within {timeout} s"
        raise OracleFailed(Outcome.LATE, f"{who}: {why}") from error
    except asyncio.CancelledError as error:
        if is_cancelled():
            raise
        raise failure(f"{who}: it cancelled itself", None) from error
    except NOT_THEIRS:
        raise
    except PXPError as error:
        raise failure(f"{who}: {error}", None) from error
    except Exception as error:
        raise failure(f"{who}: {type(error).__name__}: {error}", error) from error
    if overdue(started, timeout):
        raise OracleFailed(Outcome.LATE, f"{who}: it took longer than {timeout} s")
    return reply


def waited_for(work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, for a caller that is not async; in a notebook, beside its loop."""
    try:
        running = asyncio.get_running_loop() is not None
    except RuntimeError:
        running = False
    if not running:
        return asyncio.run(work)
    from concurrent.futures import ThreadPoolExecutor  # it loads `logging`

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def ending_of(error: NoAnswer | OracleFailed | GuardError) -> Ending:
    """How a session ends in which a member fails so."""
    if isinstance(error, OracleFailed) and error.outcome is Outcome.LATE:
        return Ending.LATE
    return Ending.NO_ANSWER if isinstance(error, NoAnswer) else Ending.BROKEN


def traceback_of(fault: Exception) -> str:
    """The traceback of what a user's function raised, as Python prints it."""
    return "".join(traceback.format_exception(fault))
