"""What assistants may call: tools with their arguments, and resources; nothing of a transport."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.serialization import to_toml
from pxp_fsm.automata.system import System
from pxp_fsm.automata.tables import BUILTIN, builtin, parse_automaton
from pxp_fsm.diagrams import render, state_diagram
from pxp_fsm.diagrams.extract import system_diagram
from pxp_fsm.errors import DataError, quoted, unknown_name
from pxp_fsm.web.assistants.host import Host, Shown, turn
from pxp_fsm.web.checks import Process, question
from pxp_fsm.web.subjects import Subject, subject_of
from pxp_fsm.web.views import Views

LONGEST_WAIT = 50.0
"""Seconds for which `turn` waits at most: clients end a request after a minute."""
MOST_TABLES = 8
"""Tables of one system that are checked."""

SessionName = Annotated[
    str, Field(max_length=200, description="The session; left out, the one that waits for you.")
]


class Arguments(BaseModel):
    """A tool's arguments: nothing but what is named is taken."""

    model_config = ConfigDict(extra="forbid")


class OfNothing(Arguments):
    """The arguments of a tool that takes none."""


class OfSession(Arguments):
    """Which session is meant."""

    session: SessionName = ""


class OfTurn(OfSession):
    """Which session is meant, and how long to wait."""

    wait: Annotated[
        float,
        Field(ge=0, le=LONGEST_WAIT, description="Seconds to wait until it is your turn."),
    ] = 0.0


class OfAnswer(OfSession):
    """An answer to the question of a turn."""

    question: Annotated[
        str, Field(max_length=64, description="The question that you answer, as turn returned it.")
    ]
    do: Annotated[str, Field(max_length=200, description="One of the options of your turn.")]
    to: Annotated[
        str, Field(max_length=200, description="The receiver, where the option leaves it open.")
    ] = ""
    payload: Annotated[
        Any, Field(description="What the message carries, any JSON value that its schema allows.")
    ] = None


Text = Annotated[str, Field(max_length=100_000)]


class OfCheck(Arguments):
    """What is checked: the session's own system, a built-in table, or tables in TOML or JSON."""

    table: Annotated[
        str, Field(max_length=100, description=f"A built-in table: {', '.join(BUILTIN)}.")
    ] = ""
    texts: Annotated[
        list[Text],
        Field(max_length=MOST_TABLES, description="The text of each member's table, TOML or JSON."),
    ] = []
    channel: Annotated[
        str, Field(max_length=200, description="sync, fifo:N, lossy:N, unordered:N, ...")
    ] = "sync"
    formula: Annotated[
        str,
        Field(
            max_length=2_000,
            description='A temporal formula, such as "F ended"; left out, the standard checks.',
        ),
    ] = ""


class OfDrawing(OfSession):
    """What is drawn, and how."""

    what: Annotated[
        str,
        Field(
            max_length=100,
            description=f"own (your table, your state marked), system, or {', '.join(BUILTIN)}.",
        ),
    ] = "own"
    form: Annotated[
        Literal["mermaid", "svg", "dot"], Field(description="The format of the drawing.")
    ] = "mermaid"


A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: what it is for, its arguments, and what it returns to a member."""

    about: str
    arguments: type[Arguments]
    call: Callable[[str, Any], Awaitable[Any]]
    reads: bool = True

    async def run(self, member: str, given: Mapping[str, Any] | None) -> Any:
        """What the tool returns for the arguments `given`; `DataError` where they are none."""
        try:
            arguments = self.arguments.model_validate(dict(given or {}))
        except ValidationError as error:
            told = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
            raise DataError("; ".join(told)) from error
        return await self.call(member, arguments)


@dataclass(frozen=True, slots=True)
class Resource:
    """Something to read, by its address: what it is, its type, and its text."""

    uri: str
    about: str
    kind: str
    text: Callable[[], Awaitable[str]]


class Desk:
    """The tools and resources of a `host`; `pages` are pages on findings, by name."""

    def __init__(self, host: Host, pages: Mapping[str, Path]) -> None:
        self.host = host
        self._pages = pages
        self._checking, self._drawing = asyncio.Lock(), asyncio.Lock()
        self._process: Process | None = None
        self.tools = {
            "sessions": Tool("List your sessions: those that wait for you first.", OfNothing,
                             self._sessions),
            "turn": Tool(
                "Whose turn it is in a session, which messages came and, at your turn, what you "
                "may do. Call it with wait until the status is 'your turn' or 'over'.",
                OfTurn,
                self._turn,
            ),
            "moves": Tool("Every move of your table: whether it is allowed now, and why (not).",
                          OfSession, self._moves),
            "answer": Tool(
                "Answer the question of your turn. What your table does not allow is refused with "
                "the reason; nothing is stored of it, and the question still waits.",
                OfAnswer,
                self._answer,
                reads=False,
            ),
            "check": Tool(
                "Check a system of tables, exhaustively: deadlocks, unspecified receptions, "
                "whether it ends, or a temporal formula. Two members where one table is given.",
                OfCheck,
                self._check,
            ),
            "draw": Tool("Draw your table, the system, or a built-in table.", OfDrawing,
                         self._draw),
        }  # fmt: skip

    def close(self) -> None:
        """End what still checks."""
        if self._process is not None:
            self._process.close()

    async def resources(self, member: str) -> list[Resource]:
        """What `member` may read now."""
        own = [
            Resource(
                f"pxp://sessions/{line['session']}",
                "A session, as you know it.",
                "application/json",
                partial(self._session, member, line["session"]),
            )
            for line in await self.host.sessions(member)
        ]
        tables = [
            Resource(
                f"pxp://tables/{name}",
                f"The table: {table.title}",
                "application/toml",
                partial(asyncio.to_thread, to_toml, table),
            )
            for name, table in self._tables(member).items()
        ]
        found = [
            Resource(
                f"pxp://findings/{name}",
                "What the checks have found.",
                "text/markdown",
                partial(asyncio.to_thread, path.read_text, "utf-8"),
            )
            for name, path in self._pages.items()
        ]
        return [*own, *tables, *found]

    async def _session(self, member: str, name: str) -> str:
        return as_text((await self.host.view(member, name)).value)

    def _tables(self, member: str) -> dict[str, Automaton]:
        return {name: builtin(name) for name in BUILTIN} | dict(self.host.tables(member))

    async def _sessions(self, member: str, _given: OfNothing) -> Any:
        return {"you": member, "sessions": await self.host.sessions(member)}

    async def _turn(self, member: str, given: OfTurn) -> Any:
        return await turn(self.host, member, given.session, given.wait)

    async def _moves(self, member: str, given: OfSession) -> Any:
        return {"moves": [asdict(one) for one in await self.host.moves(member, given.session)]}

    async def _answer(self, member: str, given: OfAnswer) -> Any:
        told = given.session, given.question, given.do, given.to, given.payload
        return await self.host.answer(member, *told)

    async def _check(self, member: str, given: OfCheck) -> Any:
        subject = await asyncio.to_thread(self._subject, member, given)
        results = []
        async with self._checking:
            if self._process is None:
                self._process = await asyncio.to_thread(Process, subject)
            self._process.subject = subject
            async for one in self._process.ask(question(given.formula)):
                if "error" in one:
                    raise DataError(one["error"])
                results.append(one)
        views = Views(subject.system())
        return {"results": [_result(one, views) for one in results]}

    def _subject(self, member: str, given: OfCheck) -> Subject:
        if given.texts and given.table:
            raise DataError("give table or texts, not both")
        if not given.texts and not given.table:
            return self.host.subject(member)
        tables = (
            [self._known(member, given.table)] if given.table else list(map(_parsed, given.texts))
        )
        return subject_of(System.load(*tables, channel=given.channel))

    def _known(self, member: str, name: str) -> Automaton:
        tables = self._tables(member)
        if name not in tables:
            raise unknown_name("table", name, {one: table.title for one, table in tables.items()})
        return tables[name]

    async def _draw(self, member: str, given: OfDrawing) -> Any:
        if given.what == "own":
            state = None
            with suppress(DataError):  # no session has begun
                state = await self.host.state(member, given.session)
            diagram = state_diagram(self.host.table(member), marked=state)
        elif given.what == "system":
            diagram = system_diagram(self.host.subject(member).system())
        else:
            diagram = state_diagram(self._known(member, given.what))
        async with self._drawing:
            drawn = await asyncio.to_thread(render, diagram, given.form)
        return drawn.decode()


def _result(found: Mapping[str, Any], views: Views) -> dict[str, Any]:
    """A verdict in words, with its trace; the last `repeats` actions of it repeat for ever."""
    told = {name: found[name] for name in ("title", "assumptions", "status", "explanation")}
    if found["choices"] is not None:
        told["trace"] = [str(action) for action in views.actions(tuple(found["choices"]))]
        told["repeats"] = found["cycle"]
    return told


def _parsed(text: str) -> Automaton:
    name = "table.json" if text.lstrip().startswith("{") else "table.toml"
    return parse_automaton(text, name)


def as_shown(value: Any) -> Shown:
    """What a tool returned, with its pictures."""
    return value if isinstance(value, Shown) else Shown(value)


def as_text(value: Any) -> str:
    """What a tool returns, as text that a model reads: JSON, or the text itself."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


async def read(desk: Desk, member: str, uri: str) -> tuple[Resource, str]:
    """The resource at `uri`, and its text; `DataError` where there is none for `member`."""
    listed = await desk.resources(member)
    found = next((one for one in listed if one.uri == uri), None)
    if found is None:
        raise DataError(f"there is no resource {quoted(uri)}")
    return found, await found.text()
