"""Records of runs, sessions and calls, and their rows: of values that every database keeps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from backends.databases import chain
from pxp_fsm.automata.channels import parse_channel
from pxp_fsm.automata.system import Member, System
from pxp_fsm.automata.tables import stored_automaton
from pxp_fsm.diagrams import SequenceChart, actions_chart, sequence_chart
from pxp_fsm.errors import BlackboardError, quoted
from pxp_fsm.prompting.model import Usage
from pxp_fsm.protocol.messages import Instance, Message, answer_problem, text_problem
from pxp_fsm.protocol.relations import Judgement, Outcome
from pxp_fsm.protocol.rules import Ending
from pxp_fsm.sessions.live import LiveSystem
from pxp_fsm.sessions.occurrences import Occurrence
from pxp_fsm.sessions.session import Entry, update_context

CONCLUDED = tuple(
    ending.value for ending in (Ending.RATIFIED, Ending.REJECTED, Ending.BOUND, Ending.TERM)
)
"""The protocol's own endings: such sessions are counted in Table 1."""

FAULTS = tuple(
    ending.value
    for ending in Ending
    if ending.value not in CONCLUDED and ending is not Ending.FINISHED
)
"""All other endings, but for a system's own; such sessions are counted apart."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run: its task, its whole plan as JSON, and what it needs to be repeated.

    `version` is the package's; `data_fingerprint` is the SHA-256 of the instances that it is about;
    `subject` is the pseudonym of the person who takes part, if one does.
    """

    run: str
    task: str
    plan: str
    seed: int
    version: str
    data_fingerprint: str
    created: str = ""
    subject: str = ""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run as a list shows it: how many of its sessions were started, how many are over."""

    run: str
    task: str
    created: str
    sessions: int
    over: int


class SessionLine(NamedTuple):
    """A session as a list shows it; a tuple, for lists of a hundred thousand."""

    session: str
    run: str
    instance: str
    protocol: str
    n: int | None
    k: int | None
    messages: int
    ending: str | None
    cause: str | None


class MemberRecord(NamedTuple):
    """A member of a system's session: its table, as JSON too, and what it is made of."""

    name: str
    automaton: str
    fingerprint: str
    table: str
    description: str


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session: its place in its run, its protocol, its agents, and how it ended, if it has.

    `agents` maps `m` and `h` (or other names) to what each is made of, the initiator first.
    `assumptions` are those on MATCH and AGREE under which it ran; `memo` tells whether both agents
    remembered their judgements. A system's session has a `channel`, how often it has `faults`, and
    `members`, of which the first two are its `agents`; its `messages` are its actions.
    """

    session: str
    run: str
    repetition: int
    position: int
    instance: Instance
    protocol: str
    n: int | None
    k: int | None
    automaton: str
    fingerprint: str
    memo: bool
    assumptions: tuple[str, ...]
    agents: tuple[tuple[str, str], ...]
    ending: str | None = None
    cause: str | None = None
    messages: int = 0
    subject: str = ""
    channel: str = ""
    faults: str = ""
    members: tuple[MemberRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session with everything that was stored of it, in order: entries, or a system's actions."""

    record: SessionRecord
    entries: tuple[Entry, ...]
    actions: tuple[Occurrence, ...] = ()

    @property
    def history(self) -> tuple[Message, ...]:
        """Its messages, in order."""
        return tuple(entry.message for entry in self.entries)

    def diagram(self) -> SequenceChart:
        """The session as a sequence chart."""
        one = self.record
        title, ending = f"Session {one.session}", one.ending or "not over"
        if one.channel:
            note = f"over {one.channel}; ended: {ending}"
            return actions_chart(self.actions, self.states, title=title, note=note)
        return sequence_chart(
            self.history, title=title, note=f"{one.instance.key}; ended: {ending}"
        )

    @property
    def states(self) -> dict[str, str]:
        """The state of each member of a system after its actions, by the tables that are stored."""
        live = LiveSystem(stored_system(self.record.members, self.record.channel))
        for occurrence in self.actions:
            live.take(occurrence.action, occurrence.letter)
        return live.states


def stored_system(members: Sequence[MemberRecord], channel: str) -> System:
    """The system whose session was stored, by its tables; `TableError` where they are none."""
    tables = tuple(Member(one.name, stored_automaton(one.table)) for one in members)
    return System(tables, parse_channel(channel))


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run's calls for one purpose to one model took; `dollars` is None if not known.

    Tokens and dollars are those that were billed: calls that the call cache answered cost nothing.
    `attempts` were sent, or about to be; `unsettled` ones have no known end, and count in full.
    """

    purpose: str
    model: str
    calls: int
    cached: int
    failed: int
    retries: int
    usage: Usage
    dollars: float | None
    seconds: float
    attempts: int = 0
    unsettled: int = 0


class Erasure(NamedTuple):
    """A session whose texts were erased: when, and how many texts and prompts there were."""

    session: str
    created: str
    texts: int
    prompts: int


GREATEST = 2**31 - 1
"""The greatest number that both databases keep in an integer column."""
GREATEST_SEED = 2**63 - 1
Row = dict[str, Any]


def now() -> str:
    """The time, UTC, ISO 8601; for people to read: nothing is ordered by it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def run_row(record: RunRecord) -> Row:
    """The row of a new run, without sessions yet."""
    row: Row = {
        "run": record.run,
        "task": record.task,
        "plan": record.plan,
        "seed": record.seed,
        "version": record.version,
        "data_fingerprint": record.data_fingerprint,
        "created": record.created or now(),
        "subject": record.subject,
    }
    check_values(f"run {quoted(record.run)}", row, {"seed"}, greatest=GREATEST_SEED)
    opening = chain.of_run(row)
    return {**row, "opening": opening, "opened": 0, "head": opening}


def session_row(record: SessionRecord, salt: str = "") -> Row:
    """The row of a new session, but for its ordinal and opening, which its run gives it.

    `salt` is that of its texts; without one, their digests are those of before version 7.
    """
    (initiator, initiator_is), (responder, responder_is) = record.agents
    row: Row = {
        "session": record.session,
        "run": record.run,
        "repetition": record.repetition,
        "position": record.position,
        "instance": record.instance.key,
        "x_digest": chain.text_digest(record.instance.x, salt),
        "protocol": record.protocol,
        "n": record.n,
        "k": record.k,
        "automaton": record.automaton,
        "fingerprint": record.fingerprint,
        "memo": int(record.memo),
        "assumptions": " ".join(record.assumptions),
        "initiator": initiator,
        "initiator_description": initiator_is,
        "responder": responder,
        "responder_description": responder_is,
        "created": now(),
        "subject": record.subject,
        "channel": record.channel,
        "faults": record.faults,
    }
    numbers = {"repetition", "position", "memo", "n", "k"}
    what = f"session {quoted(record.session)}"
    check_values(what, row, numbers, optional={"n", "k"})
    check_values(what, {"x": record.instance.x}, set())
    return row


def entry_row(message: Message, addition: str, salt: str = "") -> tuple[Row, list[str]]:
    """The row of a message, but for its link, and the texts that it refers to.

    What is derived from the message alone holds no text: it stands in the row.
    """
    what = f"message {quoted(message.number)} of session {quoted(message.session)}"
    problem = answer_problem(message.answer)
    if problem is not None:
        raise BlackboardError(f"{what} was refused: {problem}")
    said = [message.answer.prediction, message.answer.explanation]
    row: Row = {
        "session": message.session,
        "number": message.number,
        "sender": message.sender,
        "tag": message.tag,
        "receiver": message.receiver,
        "addition": addition,
        "created": now(),
        "prediction_digest": chain.text_digest(said[0], salt),
        "explanation_digest": chain.text_digest(said[1], salt),
    }
    check_values(what, row, {"number"})
    apart = addition not in ("", update_context(message))
    row |= _apart("addition", addition if apart else "", salt)
    return row, [*said, addition] if apart else said


def judgement_rows(
    session: str, number: int, judgements: Sequence[Judgement], salt: str = ""
) -> tuple[list[Row], list[str]]:
    """The rows of what was judged to arrive at message `number`, and the texts they refer to."""
    rows = [
        _judgement_row(session, number, place, j, salt) for place, j in enumerate(judgements, 1)
    ]
    return rows, [one.detail for one in judgements if one.detail]


def _judgement_row(session: str, number: int, place: int, judgement: Judgement, salt: str) -> Row:
    what = f"judgement {place} at message {quoted(number)} of session {quoted(session)}"
    row: Row = {
        "session": session,
        "number": number,
        "place": place,
        "relation": judgement.relation,
        "left_digest": judgement.left,
        "right_digest": judgement.right,
        "outcome": judgement.outcome.value if isinstance(judgement.outcome, Outcome) else "",
        "asked": int(judgement.asked),
        "detail": judgement.detail,
    }
    check_values(what, row, {"number", "place", "asked"})
    seconds = judgement.seconds
    if type(seconds) not in (int, float) or not math.isfinite(seconds):
        raise BlackboardError(
            f"{what} was refused: its seconds are {quoted(seconds)}, not a duration"
        )
    row |= {side: chain.salted(row[side], salt) for side in ("left_digest", "right_digest")}
    return {**row, "seconds": float(seconds), **_apart("detail", judgement.detail, salt)}


def closing_row(ending: str, cause: str, length: int, salt: str) -> tuple[Row, list[str]]:
    """What is recorded of a session's end, but for its seal, and the texts that it refers to.

    The cause of a fault may quote what somebody said.
    """
    row: Row = {"ending": ending, "cause": cause, "length": length}
    apart = cause if ending in FAULTS else ""
    return {**row, **_apart("cause", apart, salt)}, [apart] if apart else []


def _apart(name: str, text: str, salt: str) -> Row:
    """A text that is kept in `texts`, so that it can be erased; none where it is empty."""
    if not text:
        return {f"{name}_digest": None}
    return {name: "", f"{name}_digest": chain.text_digest(text, salt)}


def judgement_of(row: Any, known: Mapping[str, str]) -> Judgement:
    """The judgement that a row of `judgements` holds, with its text.

    `known` are the SHA-256 of the session's texts by the names under which they are stored.
    """
    return Judgement(
        row.relation,
        known.get(row.left_digest, row.left_digest),
        known.get(row.right_digest, row.right_digest),
        Outcome(row.outcome),
        bool(row.asked),
        row.seconds,
        row.text,
    )


def text_rows(texts: Iterable[str], salt: str = "") -> list[dict[str, str]]:
    """The rows of `texts`, each once; those of one statement in one order, whoever writes them."""
    found = {chain.text_digest(text, salt): text for text in texts}
    return [{"digest": digest, "text": found[digest], "salt": salt} for digest in sorted(found)]


def check_values(
    what: str,
    row: Row,
    numbers: set[str],
    *,
    optional: Iterable[str] = (),
    greatest: int = GREATEST,
) -> None:
    """`BlackboardError` where a value is none that every database keeps exactly."""
    for name, value in row.items():
        if value is None and name in optional:
            continue
        if name in numbers:
            if type(value) is not int or not -greatest - 1 <= value <= greatest:
                raise BlackboardError(
                    f"{what} was refused: {name} is {quoted(value)}, not a number"
                )
        elif not isinstance(value, str):
            raise BlackboardError(
                f"{what} was refused: {name} is {quoted(value)}, which is not valid text"
            )
        else:
            problem = text_problem(value)
            if problem is not None:
                raise BlackboardError(f"{what} was refused: {name}: {problem}")
