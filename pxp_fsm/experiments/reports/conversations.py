"""Complete sessions, in the style of Appendix D of the NeurIPS workshop version."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from backends.databases import (
    FAULTS,
    RecordedCall,
    SessionRecord,
    StoredSession,
)
from pxp_fsm.automata.automaton import Kind, Transition
from pxp_fsm.automata.tables import builtin
from pxp_fsm.diagrams.text import legible, shortened
from pxp_fsm.errors import PXPError, Refused
from pxp_fsm.experiments.drawings import check_table
from pxp_fsm.experiments.reports.pictures import Gallery
from pxp_fsm.experiments.reports.tallies import MEANING, reason
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.intelligibility import DEFINITIONS, holds_for, two_way
from pxp_fsm.protocol.messages import Answer, Instance, Message
from pxp_fsm.protocol.relations import COMPARISONS, LEARN, Judgement, Outcome, held
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.learning import weighing_in
from pxp_fsm.sessions.replay import trace
from pxp_fsm.tasks.task import Task

if TYPE_CHECKING:
    from markupsafe import Markup

LONGEST_TEXT = 6000
"""Characters of a text that are shown; what was said beyond them stays in the database."""


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message as it is shown; `same` is the number of an earlier one with the same answer."""

    number: int
    machine: bool
    sender: str
    receiver: str
    tag: str
    prediction: str
    drawing: Markup | None
    explanation: str
    why: str
    learned: tuple[str, ...]
    asked: tuple[str, ...]
    same: int = 0


@dataclass(frozen=True, slots=True)
class ReportedPath:
    """The way that an agent's automaton took, in words and drawn."""

    agent: str
    role: str
    steps: str
    drawing: Markup | None


@dataclass(frozen=True, slots=True)
class ReportedTalk:
    """A session as it is shown: `about` is what the instance is, in words."""

    name: str
    instance: str
    about: str
    picture: Markup | None
    facts: tuple[tuple[str, str], ...]
    said: tuple[ShownMessage, ...]
    ended: str
    classes: tuple[str, ...]
    ways: tuple[ReportedPath, ...]
    problem: str


def conversation(
    stored: StoredSession, task: Task | None, gallery: Gallery, calls: Sequence[RecordedCall]
) -> ReportedTalk:
    """A session with its pictures, as far as `gallery` has room, and the `calls` made in it."""
    record = stored.record
    names = [agent for agent, _ in record.agents]
    messages = [entry.carried for entry in stored.events]
    ways, problem = _ways(stored, gallery)
    first = dict[tuple[str, Answer], int]()
    for message in messages:
        first.setdefault((message.sender, message.answer), message.number)
    about = record.instance.x
    if task is not None and task.problem is not None:
        about = task.problem.described(record.instance) or ""
    return ReportedTalk(
        record.session,
        text(record.instance.key),
        text(about),
        _picture(record.instance, task, gallery),
        facts_of(stored),
        tuple(
            _said(entry, record, task, gallery, calls, first[message.sender, message.answer])
            for entry, message in zip(stored.events, messages, strict=True)
        ),
        text(f"{record.ending} ({record.cause})" if record.cause else record.ending or "not over"),
        tuple(_classes(messages, names)),
        ways,
        problem,
    )


def text(foreign: str) -> str:
    """What somebody said, so that it can be read: lines are kept, nothing reorders what is read.

    Cut after `LONGEST_TEXT` characters, and then it says so.
    """
    cut = foreign[:LONGEST_TEXT]
    lines = "\n".join(map(legible, cut.splitlines()))
    more = len(foreign) - len(cut)
    return f"{lines} … ({more:,} more characters are in the database)" if more else lines


def _picture(instance: Instance, task: Task | None, gallery: Gallery) -> Markup | None:
    if task is None or task.problem is None:
        return None
    shown = gallery.image(task.problem, instance)
    if shown is None and _of_molecules(task):
        shown = gallery.drawings("molecules", instance.x)
    return shown


def _of_molecules(task: Task | None) -> bool:
    """Whether predictions are molecules; a label such as CO must not be drawn as one."""
    return task is not None and task.problem is not None and task.problem.smiles


def facts_of(stored: StoredSession) -> tuple[tuple[str, str], ...]:
    """What a session was: its protocol, and who took part."""
    record = stored.record
    bounds = [f"{name} = {value}" for name, value in (("n", record.n), ("k", record.k)) if value]
    roles = zip(("machine", "human"), record.agents, strict=True)
    return (
        ("protocol", ", ".join((record.protocol, *bounds))),
        *((role, legible(f"{name}: {about}")) for role, (name, about) in roles),
        ("MATCH and AGREE are", ", ".join(record.assumptions) or "noisy"),
    )


def _said(
    entry: Event,
    record: SessionRecord,
    task: Task | None,
    gallery: Gallery,
    calls: Sequence[RecordedCall],
    first: int,
) -> ShownMessage:
    message, machine = entry.carried, record.agents[0][0]
    same = first if first < message.number else 0
    drawing = (
        gallery.drawings("predictions", message.answer.prediction)
        if _of_molecules(task) and not same
        else None
    )
    return ShownMessage(
        message.number,
        message.sender == machine,
        legible(message.sender),
        legible(message.receiver),
        legible(message.tag),
        "" if same else text(message.answer.prediction),
        drawing,
        "" if same else text(message.answer.explanation),
        why(entry, record.protocol, record.k),
        tuple(_lesson(judgement) for judgement in entry.judgements if judgement.relation == LEARN),
        tuple(_comments(message.number, calls)),
        same,
    )


def _comments(number: int, calls: Sequence[RecordedCall]) -> Iterator[str]:
    """What models were asked for message `number`: the papers' column of comments.

    Of a conversation that goes on the turn that is new is given, with the system text where it
    begins; questions on validation instances are counted.
    """
    own = [call for call in calls if call.message == number]
    weighed = sum(call.purpose == "validation" for call in own)
    for call in own:
        if call.prompt is None or call.purpose == "validation":
            continue
        first = call is next(candidate for candidate in calls if candidate.purpose == call.purpose)
        system = f"{call.prompt.system}\n\n" if first else ""
        yield text(f"{call.purpose}: {system}{call.prompt.asked}")
    if weighed:
        yield f"and {weighed:,} questions on validation instances"


def why(entry: Event, protocol: str, k: int | None) -> str:
    """Why a message has its tag, in words: category, j and k, and whether the answer changed."""
    message = entry.carried
    if message.number == 1:
        return "the first message"
    judged = [judgement for judgement in entry.judgements if judgement.relation in COMPARISONS]
    reasons = reason([held(judgement.outcome) for judgement in judged])
    if reasons is None:
        asked = ", ".join(map(_judged, judged))
        return asked or "named by who sent it; nothing was judged"
    prediction, explanation = MEANING[reasons.category]
    parts = [f"category {reasons.category}: prediction {prediction}, explanation {explanation}"]
    if any(judgement.outcome == Outcome.UNSURE for judgement in judged):
        parts.append("a judge was unsure, which counts as no")
    if reasons.category == "D" and protocol == "interact" and k is not None:
        parts.append(
            f"message {message.number} is {'after' if message.number > k else 'not after'} k = {k}"
        )
    if reasons.held is not None and protocol == "interact":
        parts.append("own answer unchanged" if reasons.held else "own answer changed")
    elif reasons.held is not None:
        parts.append(
            "what was learned reconciles" if reasons.held else "what was learned does not reconcile"
        )
    return "; ".join(parts)


def _lesson(judgement: Judgement) -> str:
    """What became of what was received: a logged LEARN, with what its decision rests on."""
    kept = judgement.outcome == Outcome.YES
    outcome = "learned from what was received" if kept else "what was received was not learned"
    try:
        weighed = str(weighing_in(judgement.detail))
    except Refused:  # of another version, or somebody else's
        weighed = shortened(judgement.detail, 160)
    return f"{outcome} ({weighed})" if weighed else outcome


def _judged(judgement: Judgement) -> str:
    detail = f" ({legible(judgement.detail)})" if judgement.detail else ""
    return f"{judgement.relation} {judgement.outcome}{detail}"


def _classes(messages: Sequence[Message], names: Sequence[str]) -> list[str]:
    classes = [
        f"{definition.name.replace('_', '-')} for {role}"
        for role, name in zip(("machine", "human"), names, strict=True)
        for definition in DEFINITIONS.values()
        if definition.name != "one_way_any" and holds_for(definition, messages, name)
    ]
    return [*classes, "two-way"] if two_way(messages, *names) else classes


def _ways(stored: StoredSession, gallery: Gallery) -> tuple[tuple[ReportedPath, ...], str]:
    """The ways of both agents, or why they cannot be told."""
    record = stored.record
    over = record.ending is not None and record.ending not in FAULTS
    messages = [entry.carried for entry in stored.events]
    try:
        check_table(record)
        automaton = builtin(record.automaton)
        return tuple(
            ReportedPath(
                legible(name),
                role,
                _in_words(taken := trace(automaton, messages, name, over=over)),
                gallery.way(automaton, taken),
            )
            for role, (name, _) in zip(("machine", "human"), record.agents, strict=True)
        ), ""
    except PXPError as error:
        return (), legible(str(error))


def _in_words(taken: Sequence[Transition]) -> str:
    """`IDLE, row 1 +INIT, WAIT`: the states and the rows between them."""
    signs = {Kind.SEND: "+", Kind.RECEIVE: "\N{MINUS SIGN}", Kind.EVENT: ""}
    steps = [f"row {row.row} {signs[row.kind]}{row.label}, {row.target}" for row in taken]
    return ", ".join([taken[0].source, *steps]) if taken else ""
