"""What the explorer's server knows: the system, its tables, verdicts as they come, a session.

What the page and the server say to each other is here too: queries, answers, events.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from proofs.systems.folding import Fold, folds
from proofs.systems.paths import states_along
from pxp_fsm.errors import PXPError, Refused, UsageError
from pxp_fsm.protocol.relations import Assumption
from pxp_fsm.web.checks import Process, question
from pxp_fsm.web.editing import Editor, FaultView, TableText
from pxp_fsm.web.recordings import RecordedSessionView, Recording
from pxp_fsm.web.subjects import SystemSubject
from pxp_fsm.web.views import ResultView, StatePicture, SystemView, Views

MOST_STEPS = 10_000
"""The steps of a trace that are taken."""

MOST_LETTERS = 200_000
"""The characters of a table that is edited."""

Choices = Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(max_length=MOST_STEPS)]
Text = Annotated[str, Field(max_length=10_000)]
Fingerprint = Annotated[
    str,
    Field(max_length=64, description='of the system that is meant, or 409; "": the present one'),
]
"""That of the system which a query is about; "" is the one that is explored now."""


class _Query(BaseModel):
    model_config = ConfigDict(extra="forbid")

    choices: Choices = ()
    system: Fingerprint = ""


class TraceQuery(_Query):
    """A trace, and from which of its states on (from 0) they are wanted."""

    start: Annotated[int, Field(ge=0)] = 0


class PathQuery(_Query):
    """A trace, and a proposition to go to from its last state; "" is the nearest end."""

    goal: Text = ""


class FormulaQuery(_Query):
    """A trace, whose last `cycle` steps repeat for ever, and a formula."""

    formula: Text
    cycle: Annotated[int, Field(ge=0)] = 0


class GraphQuery(_Query):
    """A trace, and which states are one node in the picture of the reachable states."""

    fold: Fold = Fold.NONE


class ExportQuery(_Query):
    """A trace to write; `members` are those that are shown, all where there are none.

    With `fold` it is the picture of the reachable states that is written.
    """

    cycle: Annotated[int, Field(ge=0)] = 0
    members: tuple[str, ...] = ()
    fold: Fold | None = None


class AnswersQuery(_Query):
    """A trace of a protocol's session, and what is assumed of MATCH and AGREE."""

    assumptions: frozenset[Assumption] = frozenset(Assumption)


class EditQuery(_Query):
    """A new text of a table, by its number; `choices` are followed in the new system."""

    table: Annotated[int, Field(ge=0)]
    text: Annotated[str, Field(max_length=MOST_LETTERS)]


class SaveQuery(BaseModel):
    """The number of a table whose file is to be written."""

    model_config = ConfigDict(extra="forbid")

    table: Annotated[int, Field(ge=0)]
    system: Fingerprint = ""


class Edited(BaseModel):
    """What is wrong with a text; or nothing, and the trace as far as the new system has it.

    `system` is the fingerprint of what is explored then.
    """

    faults: tuple[FaultView, ...] = ()
    choices: tuple[int, ...] = ()
    system: str = ""


class CheckQuestion(BaseModel):
    """A formula to check, by WebSocket; it ends the check before it. "" only ends it."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["check"]
    id: int
    formula: Text


class ClaimsQuestion(BaseModel):
    """The claims about a protocol's sessions under `assumptions`, by WebSocket."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["claims"]
    id: int
    assumptions: frozenset[Assumption]


Question = CheckQuestion | ClaimsQuestion
QUESTION: TypeAdapter[Question] = TypeAdapter(Annotated[Question, Field(discriminator="type")])


class ResultEvent(BaseModel):
    """By WebSocket: a verdict, of a question, or without `id` of the standard checks."""

    type: Literal["result"] = "result"
    id: int | None = None
    result: ResultView


class RefusedEvent(BaseModel):
    """By WebSocket: why there is no verdict."""

    type: Literal["refused"] = "refused"
    id: int | None = None
    error: str


class DoneEvent(BaseModel):
    """By WebSocket: all verdicts of a question, or of the standard checks, have been sent."""

    type: Literal["done"] = "done"
    id: int | None = None


class SessionEvent(BaseModel):
    """By WebSocket: a stored session as it is now, at first and whenever something has happened."""

    type: Literal["session"] = "session"
    id: None = None
    session: RecordedSessionView


class TroubleEvent(BaseModel):
    """By WebSocket: why the stored session cannot be read now; it is read again."""

    type: Literal["trouble"] = "trouble"
    id: None = None
    error: str


class SystemEvent(BaseModel):
    """By WebSocket: the tables were edited; all verdicts before it are of another system."""

    type: Literal["system"] = "system"
    id: None = None
    fingerprint: str


Event = ResultEvent | RefusedEvent | DoneEvent | SessionEvent | TroubleEvent | SystemEvent
EVENT: TypeAdapter[Event] = TypeAdapter(Event)
_RESULT: TypeAdapter[ResultView] = TypeAdapter(ResultView)


def event_of(number: int | None, answer: dict[str, Any]) -> Event:
    """What a process that checks has answered, as an event."""
    if "error" in answer:
        return RefusedEvent(id=number, error=answer["error"])
    return ResultEvent(id=number, result=_RESULT.validate_python(answer))


class Opened(BaseModel):
    """The system that is explored, and the trace with which a page begins.

    `protocol` is whose claims there are, "" of other systems; `tables` are those to edit.
    """

    system: SystemView
    begin: tuple[int, ...]
    protocol: str = ""
    tables: tuple[TableText, ...] = ()


PAUSE = 0.5
"""The seconds between two readings of a stored session that is not over."""


class EditedSince(Refused):
    """A query is about a system that is explored no longer."""


class Explorer:
    """What the server knows: the views of one system, and verdicts as they come.

    The system is `subject`, or that of an `editor`, which may change it.
    """

    def __init__(
        self,
        subject: SystemSubject,
        recording: Recording | None = None,
        editor: Editor | None = None,
    ) -> None:
        self._recording = recording
        self.editor = editor
        self.session: Event | None = None
        if recording is not None:
            self.session = SessionEvent(session=recording.latest)
        self.news = asyncio.Condition()
        self.editing = asyncio.Lock()
        self._spare: Process | None = None
        self._checking: asyncio.Task[None] | None = None
        self._open(subject, Views(subject.system()))

    def _open(self, subject: SystemSubject, views: Views) -> None:
        self.subject, self.views = subject, views
        self.shown = Opened(
            system=views.system(),
            begin=subject.choices,
            protocol=subject.protocol,
            tables=self.editor.tables if self.editor else (),
        )
        self.events: list[Event] = [SystemEvent(fingerprint=self.shown.system.fingerprint)]
        self._latest: tuple[tuple[int, ...], tuple[int, ...]] = ((), (views.start,))
        self._pictures: dict[Fold, StatePicture] = {}

    def check_meant(self, system: str) -> None:
        """Raise `EditedSince` where a query is about another system than the one explored now.

        `system` is a fingerprint; "" means whatever is explored.
        """
        if system not in ("", self.shown.system.fingerprint):
            raise EditedSince("the tables were edited since, in another window: reload this page")

    def states(self, choices: tuple[int, ...]) -> tuple[int, ...]:
        """The states along a trace; the latest trace is remembered, and gone on from."""
        known, states = self._latest
        if choices[: len(known)] == known:
            more = states_along(self.views.composition, choices[len(known) :], states[-1])
            states = (*states, *more[1:])
        elif known[: len(choices)] == choices:
            return states[: len(choices) + 1]
        else:
            states = states_along(self.views.composition, choices)
        self._latest = (choices, states)
        return states

    def apart(self) -> Views:
        """Views for another thread: a composition numbers buffers as it meets them, unguarded."""
        return Views(self.views.composition.system)

    async def picture(self, fold: Fold) -> StatePicture:
        """The picture of the reachable states; it is drawn once."""
        pictures = self._pictures
        if fold not in pictures:
            composition = self.apart().composition
            if fold not in folds(composition):
                raise UsageError(f"the states of this system are not folded by {fold}")
            pictures[fold] = await asyncio.to_thread(StatePicture, composition, fold)
        return pictures[fold]

    async def edit(self, query: EditQuery) -> Edited:
        """Take a new text of a table; where nothing is wrong with it, its system is explored."""
        editor = self.editor
        if editor is None:
            raise UsageError("no table was opened to be edited: start pxp explore --edit TABLE")
        async with self.editing:
            self.check_meant(query.system)
            actions = self.views.actions(query.choices)
            faults = await asyncio.to_thread(editor.edit, query.table, query.text)
            if faults:
                return Edited(faults=faults)
            subject = editor.subject
            if subject == self.subject:  # its comments alone are others
                self.shown.tables = editor.tables
                return Edited(choices=query.choices, system=self.shown.system.fingerprint)
            views = await asyncio.to_thread(lambda: Views(subject.system()))
            self._open(subject, views)
            self.check()
            return Edited(
                choices=views.choices_along(actions), system=self.shown.system.fingerprint
            )

    def check(self) -> None:
        """Begin the standard checks, and end those of the system before."""
        if self._checking is not None:
            self._checking.cancel()
        self._checking = asyncio.create_task(self._check_standard())

    async def _check_standard(self) -> None:
        """Decide the standard checks, and tell everybody who listens."""
        process, events = self.borrow(), self.events
        try:
            await self._tell(events)
            async for answer in process.ask(question(), None):
                await self._tell(events, event_of(None, answer))
            await self._tell(events, DoneEvent())
        finally:
            self.give_back(process)

    async def follow(self) -> None:
        """Read the stored session until it is over, and tell everybody who listens."""
        while self._recording is not None and not self._recording.latest.ending:
            await asyncio.sleep(PAUSE)
            event: Event | None = None
            try:
                view = await asyncio.to_thread(self._recording.read)
                recovered = isinstance(self.session, TroubleEvent)
                if view is not None or recovered:
                    event = SessionEvent(session=view or self._recording.latest)
            except PXPError as error:
                event = TroubleEvent(error=str(error))
            if event is not None and event != self.session:
                self.session = event
                await self._tell(self.events)

    def borrow(self) -> Process:
        """A process that checks: the one that has been given back, or another one."""
        found, self._spare = self._spare, None
        if found is None:
            return Process(self.subject)
        found.subject = self.subject
        return found

    def give_back(self, process: Process) -> None:
        """Keep a process for the next who borrows one, or end it."""
        if self._spare is None and not process.busy:
            self._spare = process
        else:
            process.close()

    async def close(self) -> None:
        """End what is being checked and the process that is kept, and close the database."""
        if self._checking is not None:
            self._checking.cancel()
            with suppress(asyncio.CancelledError):
                await self._checking
        if self._recording is not None:
            self._recording.close()
        if self._spare is not None:
            self._spare.close()
            self._spare = None

    async def _tell(self, events: list[Event], *new: Event) -> None:
        async with self.news:
            events.extend(new)
            self.news.notify_all()
