"""What the page of an expert is sent: queue and sessions as plain data.

Sessions and pictures have opaque names; the expert is "you", whoever they talk to "the other side".
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import lru_cache
from typing import Any

from pydantic_core import from_json

from backends.databases import SessionRecord
from backends.databases.drafts import read_draft
from backends.people.browser import Given, SeatQuestion
from backends.people.choices import MINE, THEIRS, GuardChoice, choices_of, words_of
from backends.people.waiting import WaitingQuestion
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.defaults import RESEARCH_ONLY
from pxp_fsm.errors import DataError
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.reports.pictures import drawer
from pxp_fsm.experiments.run_kinds import kind_of_plan
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.model import Image
from pxp_fsm.prompting.prompts import Problem
from pxp_fsm.protocol.messages import Instance, Message, Overview, Tag
from pxp_fsm.protocol.rules import Ending
from pxp_fsm.sessions.events import Event
from pxp_fsm.tasks.task import HUMAN
from pxp_fsm.web.hosting import Host, HostedRun, SeatPlace
from pxp_fsm.web.views import MemberView, member_view

SVG = "image/svg+xml"


def structure(smiles: str) -> Image | None:
    """The molecules of a SMILES text, drawn; None where it is none."""
    drawn = drawer("molecules")(smiles.strip())
    return Image(SVG, drawn[0].svg.encode()) if drawn else None


def of_instance(problem: Problem, instance: Instance) -> Image | None:
    """The picture of an instance as it may be given out; None where it has none.

    Raises `DataError` where its file is gone or has changed.
    """
    if problem.smiles:
        return structure(instance.x)
    picture = problem.picture(instance)
    return None if picture is None else Image("image/png", pixels(picture.data))


@lru_cache(maxsize=32)
def pixels(data: bytes, longest: int | None = None) -> bytes:
    """A picture's pixels as a new PNG: what else its file says (EXIF, text, profiles) is left out.

    With `longest` it is made so small that no side has more pixels. Raises `DataError` where it is
    no picture.
    """
    from PIL import Image as Pillow

    try:
        with Pillow.open(io.BytesIO(data), formats=("PNG", "JPEG")) as opened:
            plain = opened.convert("L" if opened.mode in ("1", "L", "LA", "I;16") else "RGB")
            if longest is not None:
                plain.thumbnail((longest, longest))
    except (OSError, ValueError, Pillow.DecompressionBombError) as error:
        raise DataError(f"the picture cannot be read: {error}") from error
    clean = Pillow.frombytes(plain.mode, plain.size, plain.tobytes())
    written = io.BytesIO()
    clean.save(written, "PNG", compress_level=1)
    return written.getvalue()


class CaseStanding(StrEnum):
    """Whom a session waits for."""

    YOU = "you"
    PARTNER = "partner"
    LATER = "later"
    PAUSED = "paused"
    OVER = "over"


_ENDINGS = {
    Ending.RATIFIED: "You agree.",
    Ending.REJECTED: "One of you gave up: no agreement.",
    Ending.BOUND: "The greatest number of messages was reached, without agreement.",
    Ending.TERM: "The session was ended.",
}
_ALL_ENDINGS = {
    Ending.RATIFIED: "Each two of you agree.",
    Ending.REJECTED: "Each two of you gave up: no agreement.",
    Ending.BOUND: "Each two of you reached the greatest number of messages, without agreement.",
    Ending.TERM: "All conversations were ended.",
}
_OF_SEVERAL = (Ending.FINISHED, Ending.LIMIT)
_FAULTY = "The session could not go on; whoever runs the experiment has been told."


@dataclass(frozen=True, slots=True)
class QueueLine:
    """A session in the queue."""

    id: str
    title: str
    standing: CaseStanding
    messages: int
    ending: str


@dataclass(frozen=True, slots=True)
class MessageView:
    """A message as its reader sees it; `drawn` says that its prediction has a picture.

    `sender` and `receiver` are the names of agents, where there are more than two.
    """

    number: int
    mine: bool
    sender: str
    receiver: str
    tag: str
    prediction: str
    explanation: str
    drawn: bool


@dataclass(frozen=True, slots=True)
class AnswerView:
    """An answer that can be sent."""

    prediction: str
    explanation: str


@dataclass(frozen=True, slots=True)
class AskedView:
    """What the person is asked, about message `number`; `key` is given back with the answer."""

    key: str
    step: str
    number: int
    offers: dict[str, AnswerView]
    choices: tuple[GuardChoice, ...]
    texts: tuple[str, str]
    tag: str
    answer: AnswerView | None
    why: str
    tells_why: bool


@dataclass(frozen=True, slots=True)
class WritingView:
    """What the other side has written so far of message `number`, which is not sent yet."""

    number: int
    prediction: str
    explanation: str


@dataclass(frozen=True, slots=True)
class BoardAgent:
    """An agent on the board: its current pair, how often that changed, whom it owes a message."""

    name: str
    mine: bool
    pair: AnswerView | None
    version: int
    owes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BoardView:
    """The board of a session of several agents; `to` is whom the person answers next, or ""."""

    agents: tuple[BoardAgent, ...]
    to: str


@dataclass(frozen=True, slots=True)
class CaseView:
    """A session: what it is about, what was said, where it is, what is asked.

    `board` is that of a session of several agents; of two there is none. `state` and `moves` are
    those of the conversation that the person is in; with nobody among several, they are empty.
    `moves` are the tags of the present state, allowed or not, in words; `draft` is what was typed
    and not sent; `writing` is what the other side writes at this moment, where that may be seen.
    """

    id: str
    title: str
    standing: CaseStanding
    query: str
    form: str
    described: str
    pictured: bool
    smiles: bool
    labels: tuple[str, ...]
    messages: tuple[MessageView, ...]
    board: BoardView | None
    automaton: MemberView
    state: str
    about: str
    moves: tuple[GuardChoice, ...]
    names_tags: bool
    asked: AskedView | None
    draft: Any
    writing: WritingView | None
    ending: str
    notice: str


def title_of(place: SeatPlace) -> str:
    """What a session is called on pages: its place, never what it is about."""
    return f"Case {place.number}"


def standing_of(
    hosted: HostedRun,
    record: SessionRecord | None,
    waiting: WaitingQuestion[SeatQuestion, Given] | None,
) -> CaseStanding:
    """Whom a session waits for; `record` is None where it has not begun.

    A record may be older than its run's state: one that was read just before the run ended is not
    of a run that is paused.
    """
    if record is not None and record.ending is not None:
        return CaseStanding.OVER
    if hosted.halted:
        return CaseStanding.PAUSED
    if record is None:
        return CaseStanding.LATER
    return CaseStanding.PARTNER if waiting is None else CaseStanding.YOU


def queue(host: Host, subject: str) -> tuple[QueueLine, ...]:
    """The sessions of an expert: those that wait for them first, those that are over last."""
    hosts = [hosted for hosted in host.hosted.values() if hosted.subject == subject]
    return _sorted(line for hosted in hosts for line in _lines(host, hosted))


def queue_of(host: Host, hosted: HostedRun) -> tuple[QueueLine, ...]:
    """The sessions of a run, in the same order."""
    return _sorted(_lines(host, hosted))


def _sorted(lines: Iterable[QueueLine]) -> tuple[QueueLine, ...]:
    order = list(CaseStanding)
    return tuple(sorted(lines, key=lambda line: order.index(line.standing)))


def _lines(host: Host, hosted: HostedRun) -> Iterator[QueueLine]:
    begun = {session.session: session for session in host.board.sessions(hosted.run.name)}
    for place in hosted.places:
        yield _line(host, hosted, place, begun.get(place.session))


def _line(
    host: Host, hosted: HostedRun, place: SeatPlace, record: SessionRecord | None
) -> QueueLine:
    standing = standing_of(hosted, record, host.waiting(place.session))
    messages = 0 if record is None else record.messages
    return QueueLine(place.id, title_of(place), standing, messages, _ended(record))


@dataclass(frozen=True, slots=True)
class Released:
    """What an expert may know of a session now: its first `messages`, and whether it asks them.

    `plain` is what is shown of a text that the other side has written.
    """

    messages: tuple[Message, ...]
    asks: bool
    tells_why: bool
    plain: Callable[[str], str]

    def shown(self, text: str) -> str:
        """What is shown of an explanation, or of an answer that was offered."""
        theirs = {
            message.answer.explanation for message in self.messages if message.sender != HUMAN
        }
        return self.plain(text) if text in theirs else text


def session_view(host: Host, place: SeatPlace, released: Released | None = None) -> CaseView | None:
    """A session as its expert sees it, as far as it is `released`; None where it has not begun."""
    hosted = host.hosted[place.run]
    run, board = hosted.run, host.board
    waiting = host.waiting(place.session)  # first: what is asked follows what is stored
    records = board.sessions_at(run.name, place.repetition, place.position, place.position)
    problem = run.opening.task.problem
    if not records or problem is None:
        return None
    record, events = records[0], board.events(place.session)
    history = [entry.carried for entry in events]
    overview = overview_of(run.opening.plan, place.session, events)
    if released is not None:  # that it is over is told elsewhere, once its last message is released
        record, history = replace(record, ending=None), list(released.messages)
        waiting = waiting if released.asks else None
    standing = standing_of(hosted, record, waiting)
    if waiting is None or waiting.number != len(history) + 1 or standing is not CaseStanding.YOU:
        waiting = None
    if released is not None and waiting is None:
        standing = (
            CaseStanding.PARTNER
        )  # a run that is paused or has stopped looks like one at work
    shown = str if released is None else released.shown
    rules = run.opening.plan.rules()
    number = len(history) + 1
    talk = history if overview is None else conversation(overview)
    state = "" if talk is None else state_of(rules.automaton, talk, HUMAN)
    if record.ending is not None:
        state = sorted(rules.automaton.final)[0]
    at_work = state and standing is not CaseStanding.OVER
    guards = rules.automaton.guards_of(state) if at_work else ()
    answer = len(talk or ()) + 1
    allowed = [guard for guard in guards if guard in rules.allowed(answer)]
    draft = None if waiting is None else read_draft(board, place.session, number)
    return CaseView(
        id=place.id,
        title=title_of(place),
        standing=standing,
        query=problem.query,
        form=problem.form,
        described=problem.described(record.instance) or "",
        pictured=_pictured(problem, record.instance),
        smiles=problem.smiles,
        labels=words_of(problem),
        messages=tuple(_message(message, problem, shown, overview) for message in history),
        board=None if overview is None else _board(overview),
        automaton=laid_out(rules.automaton),
        state=state,
        about=next(
            (described.about for described in rules.automaton.states if described.name == state), ""
        ),
        moves=choices_of(rules, guards, answer, allowed),
        names_tags=run.opening.plan.names_tags,
        asked=None if waiting is None else _asked(waiting, shown, released),
        draft=draft,
        writing=None if released is not None else writing_of(host, place),
        ending=_ended(record),
        notice=RESEARCH_ONLY,
    )


def overview_of(plan: Plan, session: str, events: Sequence[Event]) -> Overview | None:
    """What everybody may see of a session of several agents; None of a session of two."""
    kind = kind_of_plan(plan)
    return None if kind is None else kind.overview(plan, session, events)


def conversation(overview: Overview) -> list[Message] | None:
    """What was said between the person and whom they answer next; None where they do not."""
    if overview.next is None or overview.next[0] != HUMAN:
        return None
    ends = set(overview.next)
    between = [
        message for message in overview.messages if {message.sender, message.receiver} == ends
    ]
    begun = [place for place, message in enumerate(between) if message.tag == Tag.INIT]
    return between[begun[-1] :] if begun else []


def _board(overview: Overview) -> BoardView:
    agents = tuple(
        BoardAgent(
            pair.name,
            pair.name == HUMAN,
            None
            if pair.answer is None
            else AnswerView(pair.answer.prediction, pair.answer.explanation),
            pair.version,
            tuple(partner for member, partner in overview.owed if member == pair.name),
        )
        for pair in overview.pairs
    )
    speaker, to = overview.next or ("", "")
    return BoardView(agents, to if speaker == HUMAN else "")


def writing_of(host: Host, place: SeatPlace) -> WritingView | None:
    """What the other side writes in a session at this moment."""
    written = host.written(place.session)
    return None if written is None else WritingView(written.number, *legible(written.text))


def legible(text: str) -> tuple[str, str]:
    """The prediction and the explanation of a reply, as far as it has come; plain text is both."""
    text = text.encode("utf-8", "replace").decode("utf-8")  # half a character, cut in two
    if not text.lstrip().startswith(("{", "`")):
        return "", text
    _, opened, within = text.partition("{")
    try:
        reply = from_json(f"{{{within}" if opened else "{}", allow_partial="trailing-strings")
    except ValueError:
        return "", ""
    return _plain(reply.get("prediction")), _plain(reply.get("explanation"))


def _plain(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(filter(None, map(_plain, value)))
    return value if isinstance(value, str) else ""


def _ended(record: SessionRecord | None) -> str:
    if record is None or record.ending is None:
        return ""
    ending = Ending(record.ending)
    if ending in _OF_SEVERAL:
        return f"The session is over: {record.cause}."
    several = len(record.agents) > 2
    return (_ALL_ENDINGS if several else _ENDINGS).get(ending, _FAULTY)


def state_of(automaton: Automaton, history: Sequence[Message], who: str) -> str:
    """Where the machine of the agent `who` is after `history`."""
    state = automaton.initial
    for message in history:
        mine = message.sender == who
        find = automaton.sends if mine else automaton.receives
        row = find(state, message.tag, message.receiver if mine else message.sender)
        if row is None:
            break
        state = row.target
    return state


def _message(
    message: Message, problem: Problem, shown: Callable[[str], str], overview: Overview | None
) -> MessageView:
    answer = message.answer
    ends = ("", "") if overview is None else (message.sender, message.receiver)
    return MessageView(
        message.number,
        message.sender == HUMAN,
        *ends,
        message.tag,
        answer.prediction,
        shown(answer.explanation),
        problem.smiles,
    )


def _asked(
    waiting: WaitingQuestion[SeatQuestion, Given],
    shown: Callable[[str], str],
    released: Released | None,
) -> AskedView:
    asked = waiting.asked
    answer = asked.answer
    left, right = asked.texts
    return AskedView(
        waiting.key,
        asked.step.value,
        waiting.number,
        {
            name: AnswerView(offer.prediction, shown(offer.explanation))
            for name, offer in asked.offers.items()
            if name in (THEIRS, MINE)
        },
        asked.choices,
        (shown(left), shown(right)),
        asked.tag,
        None if answer is None else AnswerView(answer.prediction, shown(answer.explanation)),
        asked.why,
        asked.tells_why and (released is None or released.tells_why),
    )


def _pictured(problem: Problem, instance: Instance) -> bool:
    return problem.smiles or problem.described(instance) is None


@lru_cache(maxsize=16)
def laid_out(automaton: Automaton) -> MemberView:
    """The automaton of an expert; the first time takes seconds, so a server begins with it."""
    return member_view("you", automaton)
