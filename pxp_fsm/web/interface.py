"""What the explorer's page and its server say to each other: queries, answers, events."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from proofs.systems.folding import Fold
from pxp_fsm.protocol.relations import Assumption
from pxp_fsm.web.editing import FaultView, TableText
from pxp_fsm.web.recordings import SessionView
from pxp_fsm.web.views import ResultView, SystemView

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
    session: SessionView


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
