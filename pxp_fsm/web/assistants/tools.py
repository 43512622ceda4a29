"""What assistants may call, and what they are told: tools with their arguments, and resources.

Nothing here knows a transport, and nothing is sent to an assistant unasked. An answer is judged by
the code that the session itself uses, before the session is given it: what is refused reaches
neither the machines nor the database.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.serialization import to_toml
from pxp_fsm.automata.system import System
from pxp_fsm.automata.tables import BUILTIN, builtin, parse_automaton
from pxp_fsm.automata.unfolding import written
from pxp_fsm.diagrams import render, state_diagram
from pxp_fsm.diagrams.extract import system_diagram
from pxp_fsm.errors import DataError, quoted, unknown_name
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.model import Image
from pxp_fsm.web.checks import Process, question
from pxp_fsm.web.news import News
from pxp_fsm.web.subjects import SystemSubject, subject_of
from pxp_fsm.web.views import Views

ASSISTANT = "assistant"
"""The scope of the tokens of assistants; that of a system's run is its name behind it."""

PATIENCE = 2.0
"""Seconds for which an answer waits for what comes of it; after that it is called pending."""

YOUR_TURN, OTHERS, OVER = "your turn", "others act", "over"
"""How a session stands for a member."""

_ORDER = (YOUR_TURN, OTHERS, OVER)

PENDING = "accepted: it happens as soon as it can be sent"
"""What came of an answer that nobody can take yet."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What an assistant is shown: JSON, or a text; and pictures, which its `pictures` names."""

    value: Any
    pictures: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class AssistantMove:
    """A guard or a tag of a member's table: whether it is allowed now, and what it means or why."""

    do: str
    allowed: bool
    why: str


class Assistants(Protocol):
    """The assistants in the runs of a host, as its tools know them.

    `scope` is that of their tokens, `members` who they are. Every method takes the member that
    asks: it is told of its own sessions what the member knows, and nothing else. `session` is its
    name; "" is the one that asks the member, or the latest.
    """

    news: News
    scope: str

    @property
    def members(self) -> tuple[str, ...]: ...
    def member(self, name: str) -> str:
        """What the assistant is called who is named so on the command line."""

    def subject(self, member: str) -> SystemSubject:
        """The system that the member takes part in, and what is expected of it."""

    def tables(self, member: str) -> Mapping[str, Automaton]:
        """The tables of that system, by their names."""

    def table(self, member: str) -> Automaton:
        """The member's own table."""

    async def sessions(self, member: str) -> tuple[dict[str, Any], ...]:
        """The sessions that have begun: those that wait for the member first."""

    async def view(self, member: str, session: str = "") -> Shown:
        """Whose turn it is in a session, what came and, at the member's turn, what it may do."""

    async def state(self, member: str, session: str = "") -> str:
        """The state of the member's machine in a session."""

    async def moves(self, member: str, session: str = "") -> tuple[AssistantMove, ...]:
        """Every guard and tag of the member's table, and why it is not allowed now."""

    async def answer(
        self, member: str, session: str, key: str, do: str, to: str, payload: Any
    ) -> Shown:
        """Answer the question `key`; what came of it, and the view after it.

        Raises `SessionMoved` where that is not asked (any more), `DataError` for what is refused;
        then nothing has happened, and the question still waits.
        """


def in_order(lines: Iterable[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Sessions, those that wait for one first."""
    return tuple(sorted(lines, key=lambda line: _ORDER.index(line["status"])))


async def turn(assistants: Assistants, member: str, session: str, seconds: float) -> Shown:
    """The view of a session, once it is the member's turn or the session is over.

    Waits at most so many seconds for that. Without a session it is whichever asks first.
    """
    until = time.monotonic() + seconds
    while True:
        seen, left = assistants.news.version(session), until - time.monotonic()
        try:
            shown = await assistants.view(member, session)
        except NotBegun:
            if left <= 0:
                raise
        else:
            if left <= 0 or shown.value["status"] in (YOUR_TURN, OVER):
                return shown
        await assistants.news.after(session, seen, left)


class NotBegun(DataError):
    """No session of the member has begun."""

    def __init__(self) -> None:
        super().__init__("no session has begun; ask again in a second")


def moves_of(table: Automaton) -> dict[str, list[str]]:
    """What a member may say by its table, each with the states in which it may."""
    moves = dict[str, list[str]]()
    for state, do in _said(table):
        states = moves.setdefault(do, [])
        if state not in states:
            states.append(state)
    return moves


def _said(table: Automaton) -> Iterator[tuple[str, str]]:
    for state in table.states:
        for row in table.own_rows(state.name):
            yield state.name, row.guard or row.label


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

    async def run(self, member: str, arguments_sent: Mapping[str, Any] | None) -> Any:
        """What the tool returns for these arguments; `DataError` where they are none."""
        try:
            arguments = self.arguments.model_validate(dict(arguments_sent or {}))
        except ValidationError as error:
            told = (
                f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()
            )
            raise DataError("; ".join(told)) from error
        return await self.call(member, arguments)


@dataclass(frozen=True, slots=True)
class Resource:
    """Something to read, by its address: what it is, its type, and its text."""

    uri: str
    about: str
    kind: str
    text: Callable[[], Awaitable[str]]


class Toolbox:
    """The tools and resources of `assistants`; `pages` are pages on findings, by name."""

    def __init__(self, assistants: Assistants, pages: Mapping[str, Path]) -> None:
        self.assistants = assistants
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
            for line in await self.assistants.sessions(member)
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
        recorded = [
            Resource(
                f"pxp://findings/{name}",
                "What the checks have found.",
                "text/markdown",
                partial(asyncio.to_thread, path.read_text, "utf-8"),
            )
            for name, path in self._pages.items()
        ]
        return [*own, *tables, *recorded]

    async def _session(self, member: str, name: str) -> str:
        return as_text((await self.assistants.view(member, name)).value)

    def _tables(self, member: str) -> dict[str, Automaton]:
        return {name: builtin(name) for name in BUILTIN} | dict(self.assistants.tables(member))

    async def _sessions(self, member: str, _given: OfNothing) -> Any:
        return {"you": member, "sessions": await self.assistants.sessions(member)}

    async def _turn(self, member: str, arguments: OfTurn) -> Any:
        return await turn(self.assistants, member, arguments.session, arguments.wait)

    async def _moves(self, member: str, arguments: OfSession) -> Any:
        return {
            "moves": [
                asdict(move) for move in await self.assistants.moves(member, arguments.session)
            ]
        }

    async def _answer(self, member: str, arguments: OfAnswer) -> Any:
        told = arguments.session, arguments.question, arguments.do, arguments.to, arguments.payload
        return await self.assistants.answer(member, *told)

    async def _check(self, member: str, arguments: OfCheck) -> Any:
        subject = await asyncio.to_thread(self._subject, member, arguments)
        results = []
        async with self._checking:
            if self._process is None:
                self._process = await asyncio.to_thread(Process, subject)
            self._process.subject = subject
            async for record in self._process.ask(question(arguments.formula)):
                if "error" in record:
                    raise DataError(record["error"])
                results.append(record)
        views = Views(subject.system())
        return {"results": [_result(result, views) for result in results]}

    def _subject(self, member: str, arguments: OfCheck) -> SystemSubject:
        if arguments.texts and arguments.table:
            raise DataError("give table or texts, not both")
        if not arguments.texts and not arguments.table:
            return self.assistants.subject(member)
        tables = (
            [self._known(member, arguments.table)]
            if arguments.table
            else list(map(_parsed, arguments.texts))
        )
        return subject_of(System.load(*tables, channel=arguments.channel))

    def _known(self, member: str, name: str) -> Automaton:
        tables = self._tables(member)
        if name not in tables:
            raise unknown_name(
                "table", name, {known: table.title for known, table in tables.items()}
            )
        return tables[name]

    async def _draw(self, member: str, arguments: OfDrawing) -> Any:
        if arguments.what == "own":
            state = None
            with suppress(DataError):  # no session has begun
                state = await self.assistants.state(member, arguments.session)
            table = self.assistants.table(member)
            if state is not None and table.registers_beside:
                state = written(state)
            diagram = state_diagram(table, marked=state)
        elif arguments.what == "system":
            diagram = system_diagram(self.assistants.subject(member).system())
        else:
            diagram = state_diagram(self._known(member, arguments.what))
        async with self._drawing:
            drawn = await asyncio.to_thread(render, diagram, arguments.form)
        return drawn.decode()


def _result(record: Mapping[str, Any], views: Views) -> dict[str, Any]:
    """A verdict in words, with its trace; the last `repeats` actions of it repeat for ever."""
    told = {name: record[name] for name in ("title", "assumptions", "status", "explanation")}
    if record["choices"] is not None:
        told["trace"] = [str(action) for action in views.actions(tuple(record["choices"]))]
        told["repeats"] = record["cycle"]
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


async def read(toolbox: Toolbox, member: str, uri: str) -> tuple[Resource, str]:
    """The resource at `uri`, and its text; `DataError` where there is none for `member`."""
    listed = await toolbox.resources(member)
    named = next((resource for resource in listed if resource.uri == uri), None)
    if named is None:
        raise DataError(f"there is no resource {quoted(uri)}")
    return named, await named.text()
