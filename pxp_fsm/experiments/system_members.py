"""The members of a system's session, by the names of who answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Protocol

from backends.models.member import ModelMember
from backends.models.random_member import RandomMember
from backends.models.registry import check_model
from backends.models.scripts import PREFIX, read_script
from backends.models.settings import Settings
from backends.people.member import PersonMember
from backends.programs.member import ProgramMember
from pxp_fsm.automata.system_files import (
    MCP,
    PYTHON,
    RANDOM,
    RESPONDENTS,
    TERMINAL,
    MemberLine,
    SystemFile,
    respondent_problem,
)
from pxp_fsm.errors import Fault, FileError, PXPError, UsageError, quoted
from pxp_fsm.prompting.model import Model
from pxp_fsm.sessions.actors import Actor, Intent, MemberFunction, Turn

_PROGRAM = "program:"


def respondents(
    file: SystemFile, given: Sequence[str], *, some: bool = False, settings: Settings | None = None
) -> dict[str, str]:
    """Who answers for each member: whom the file names, or NAME=WHO of `given` in its place.

    With `some`, members may be left without, and those that the file calls random are. Raises
    `UsageError` for a name that is none, and `FileError`, with the line of each member, where one
    has nobody.
    """
    found = {
        one.name: "" if some and one.respondent == RANDOM else one.respondent
        for one in file.members
    }
    for text in given:
        name, equals, who = text.partition("=")
        if name not in found or not equals:
            raise UsageError(
                f"{quoted(text)} names no member; write NAME=WHO, where NAME is one of "
                f"{', '.join(found)} and WHO is {RESPONDENTS}",
                "respondents",
            )
        problem = respondent_problem(who)
        if problem is not None:
            raise UsageError(f"member {name}: {problem}", "respondents")
        found[name] = who
    problems = []
    for place, name in enumerate(found):
        problem = _missing(name, found[name], some)
        if problem is not None:
            problems.append(Fault(("members", place), problem))
    if problems:
        raise FileError(file.located(problems))
    replaced = {text.partition("=")[0] for text in given}
    for place, line in enumerate(file.members):
        try:
            _check(line, found[line.name], settings or Settings())
        except PXPError as error:
            said = f"member {line.name}: {error}"
            if line.name in replaced:
                raise UsageError(said, "respondents") from error
            raise FileError(
                file.located([Fault(("members", place, "respondent"), said)])
            ) from error
    return {name: who for name, who in found.items() if who}


def _check(line: MemberLine, who: str, settings: Settings) -> None:
    """Raise an error where nobody of that name can answer for the member."""
    if who.startswith(PREFIX):
        read_script(Path(who.removeprefix(PREFIX)))
    elif who == RANDOM:
        RandomMember(line.automaton)
    elif who.startswith(_PROGRAM):
        ProgramMember(who.removeprefix(_PROGRAM), line.automaton).check()
    elif who not in ("", TERMINAL, MCP):
        check_model(who, settings=settings)


def is_local(who: str) -> bool:
    """Whether it takes no server to answer as `who`: nobody, chance, or a program."""
    return who in ("", RANDOM) or who.startswith(_PROGRAM)


def _missing(name: str, who: str, some: bool) -> str | None:
    if who == PYTHON:
        return (
            f"member {name} is answered by a function, which a command cannot find; run the "
            f"system in Python (pxp.Session(system, {{{quoted(name)}: function, ...}})), or name "
            f"another: --respondent {name}=WHO, where WHO is {RESPONDENTS}"
        )
    if not who and not some:
        return (
            f'nobody answers for member {name}; write respondent = "WHO", or give --respondent '
            f"{name}=WHO, where WHO is {RESPONDENTS}"
        )
    return None


class TurnDesk(Protocol):
    """Where the turns of members that come from outside wait for their answers."""

    async def ask(self, turn: Turn) -> Intent | None:
        """What the member wants to do; waits as long as it takes."""


@asynccontextmanager
async def members(
    file: SystemFile,
    names: Mapping[str, str],
    opened: Callable[[str], Model],
    seed: int,
    number: int,
    desk: TurnDesk | None = None,
) -> AsyncIterator[dict[str, Actor]]:
    """The members of session `number` of a run, from 1; programs end with the context.

    Assistants are asked at `desk`; raises `UsageError` where they have none.
    """
    async with AsyncExitStack() as stack:
        found, terminal = {}, asyncio.Lock()
        for line in file.members:
            if line.name in names:
                who = names[line.name]
                if who == MCP:
                    function = _at_desk(line, desk)
                else:
                    function = _member(line, who, opened, seed, number)
                if isinstance(function, ProgramMember):
                    stack.push_async_callback(function.aclose)
                if isinstance(function, PersonMember):
                    function = _in_turn(function, terminal)
                found[line.name] = Actor(function, timeout=line.timeout)
        yield found


def _in_turn(person: PersonMember, terminal: asyncio.Lock) -> MemberFunction:
    """`person`, asked while nobody else is: there is one terminal."""

    async def asked(turn: Turn) -> Intent | None:
        async with terminal:
            return await person(turn)

    asked.__name__ = person.name
    return asked


def _at_desk(line: MemberLine, desk: TurnDesk | None) -> MemberFunction:
    if desk is None:
        raise UsageError(
            f"member {line.name} is an assistant, which pxp mcp serves; carry the run with it, or "
            f"name another: --respondent {line.name}=WHO"
        )
    ask = desk.ask

    async def asked(turn: Turn) -> Intent | None:
        return await ask(turn)

    asked.__name__ = "assistant"
    return asked


def _member(
    line: MemberLine, who: str, opened: Callable[[str], Model], seed: int, number: int
) -> MemberFunction:
    if who == TERMINAL:
        return PersonMember(line.automaton, line.instructions)
    if who == RANDOM:
        return RandomMember(line.automaton, seed)
    if who.startswith(_PROGRAM):
        return ProgramMember(who.removeprefix(_PROGRAM), line.automaton)
    return ModelMember(opened(who), line.automaton, line.instructions, repetition=number)
