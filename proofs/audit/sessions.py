"""The audit of one session: its findings, and the assumptions that its judges satisfy.

The tags alone decide for which judges the session is possible, and where it is not. Then the
recorded judgements are held against a tolerance or an equivalence that both agents share.

A recorded set of answers about pairs of texts extends to a tolerance just
where no pair, in either order, was answered in two ways, and no text was judged unlike itself. It
extends to an equivalence just where, besides, no pair that was answered no is linked by pairs that
were answered yes. Both conditions are necessary at once and sufficient by taking the answered
pairs, or the classes that they link, as the relation; so nothing is missed and nothing is guessed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple, Protocol

from proofs.audit.findings import (
    AuditedAnswer,
    AuditedMessage,
    AuditedSession,
    AuditFinding,
    FindingKind,
    FollowedSession,
    Possible,
)
from proofs.languages import Language, ProtocolReading, Word, started
from proofs.languages.published_code import ROUNDS, K, PublishedCode, published_started
from proofs.sessions.model import AGENTS
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.decisions import Category, Guard, category
from pxp_fsm.protocol.messages import Answer, Message, Tag
from pxp_fsm.protocol.relations import (
    COMPARISONS,
    EQUIVALENCE,
    NOISY,
    TOLERANCE,
    Assumption,
    JudgedAnswer,
)
from pxp_fsm.protocol.rules import Ending, Interact, Rules


class GivenAnswer(NamedTuple):
    """An answer with whose it is, at which message; `implied` where its tag alone tells it."""

    number: int
    agent: str
    relation: str
    left: str
    right: str
    held: bool
    implied: bool = False


_STATED = frozenset({Tag.RATIFY, Tag.REJECT})
"""The tags that stand for answers where none is recorded."""

_LEARNED = frozenset({Tag.REFUTE, Tag.REVISE})
"""The tags with which an agent under PXP sends what it has learned."""


def given(recording: AuditedSession) -> list[GivenAnswer]:
    """Every answer that was given, in order; judges that gave none are left out.

    Where none is recorded, the tag was named by somebody. A RATIFY then stands for yes, and a
    REJECT for no, of both relations; REFUTE and REVISE stand for one of several, and for nothing
    here.
    """
    answers = []
    for number, message in enumerate(recording.said, start=1):
        agent = AGENTS[0 if message.initiator else 1]
        for relation, left, right, held in message.judged:
            if held is not None:
                answers.append(GivenAnswer(number, agent, relation, left, right, held))
        if number > 1 and not message.judged and message.tag in _STATED:
            got, own = (
                recording.said[number - 2],
                recording.said[number - 3] if number > 2 else message,
            )
            ratified = message.tag == Tag.RATIFY
            sides = ("MATCH", got.prediction, own.prediction), (
                "AGREE", got.explanation, own.explanation,
            )  # fmt: skip
            answers += [GivenAnswer(number, agent, *side, ratified, True) for side in sides]
    after = len(recording.said) + 1
    for answer in recording.closing:
        if answer.held is not None:
            agent = AGENTS[1 if recording.said and recording.said[-1].initiator else 0]
            answers.append(
                GivenAnswer(after, agent, answer.relation, answer.left, answer.right, answer.held)
            )
    return answers


def contradictions(recording: AuditedSession) -> Iterator[AuditFinding]:
    """What no tolerance, or no equivalence, can have said in a session of two."""
    judged = recording.closing
    for number, message in enumerate(recording.said):
        judged += message.judged
        if number and not message.judged and message.tag in _STATED:
            break  # its tag stands for answers
    else:
        for _, left, right, held in judged:
            if held is not (left == right) and held is not None:
                break
        else:
            return iter(())  # as equality says, which is an equivalence: so are most
    return contradictions_of(given(recording), recording.said)


def contradictions_of(
    answers: Sequence[GivenAnswer], messages: Sequence[AuditedMessage]
) -> Iterator[AuditFinding]:
    """Everything in the answers of a session that no tolerance, or no equivalence, can have said.

    Each pair that was answered in two ways is told once a relation, by its first two answers that
    differ; a chain is a shortest one. What was `messages` tells which message has which text.
    """
    for relation in dict.fromkeys(answer.relation for answer in answers):
        own = [answer for answer in answers if answer.relation == relation]
        if all(held is (left == right) for _, _, _, left, right, held, _ in own):
            continue  # as equality says
        where = _places(messages, relation)
        yield from _differing(own, where)
        yield from _chains(own, where)


def _differing(answers: Iterable[GivenAnswer], where: Mapping[str, int]) -> Iterator[AuditFinding]:
    """Texts unlike themselves, and pairs answered in two ways."""
    first: dict[tuple[str, str, bool], GivenAnswer] = {}
    told = set[tuple[str, str]]()
    for answer in answers:
        number, agent, _, left, right, held, _ = answer
        pair = (left, right) if left <= right else (right, left)
        if left == right:
            if not held and pair not in told:
                told.add(pair)
                yield AuditFinding(FindingKind.ITSELF, number, agent, (_shown(answer, where),))
            continue
        first.setdefault((*pair, held), answer)
        other = first.get((*pair, not held))
        if other is None or pair in told:
            continue
        told.add(pair)
        evidence = _shown(other, where), _shown(answer, where)
        if agent != other.agent:
            yield AuditFinding(FindingKind.APART, number, "both agents", evidence)
        elif left == other.left:
            yield AuditFinding(FindingKind.TWICE, number, agent, evidence)
        else:
            yield AuditFinding(FindingKind.MIRROR, number, agent, evidence)


def _chains(answers: Iterable[GivenAnswer], where: Mapping[str, int]) -> Iterator[AuditFinding]:
    """Pairs answered no whose texts are linked by yes; pairs answered both ways are told apart."""
    yes: dict[str, dict[str, GivenAnswer]] = {}
    refused: dict[tuple[str, str], GivenAnswer] = {}
    for answer in answers:
        _, _, _, left, right, held, _ = answer
        if left == right:
            continue  # no link of any chain
        if held:
            yes.setdefault(left, {}).setdefault(right, answer)
            yes.setdefault(right, {}).setdefault(left, answer)
        else:
            refused.setdefault((left, right) if left <= right else (right, left), answer)
    for (left, right), answer in refused.items():
        if left not in yes or right not in yes:
            continue  # nothing leads from the one, or to the other
        path = _path(yes, answer.left, answer.right)
        if len(path) > 1:
            links = tuple(_shown(link, where) for link in path)
            number = max(link.number for link in (*path, answer))
            whole = f"{len(path) + 1} texts in a row"
            yield AuditFinding(FindingKind.CHAIN, number, whole, (*links, _shown(answer, where)))


def _path(
    yes: Mapping[str, Mapping[str, GivenAnswer]], start: str, end: str
) -> tuple[GivenAnswer, ...]:
    """A shortest way of yes from one text to another; empty where there is none."""
    came: dict[str, GivenAnswer | None] = {start: None}
    waiting = deque([start])
    while waiting and end not in came:
        text = waiting.popleft()
        for following, link in yes.get(text, {}).items():
            if following not in came:
                came[following] = link
                waiting.append(following)
    path, at, step = list[GivenAnswer](), end, came.get(end)
    while step is not None:
        path.append(step)
        at = step.left if step.right == at else step.right
        step = came[at]
    return tuple(reversed(path))


def _places(messages: Sequence[AuditedMessage], relation: str) -> dict[str, int]:
    """The first message that carries each text that the relation is about."""
    places: dict[str, int] = {}
    for number, message in enumerate(messages, start=1):
        places.setdefault(
            message.prediction if relation == "MATCH" else message.explanation, number
        )
    return places


def _shown(answer: GivenAnswer, where: Mapping[str, int]) -> AuditedAnswer:
    left, right = where.get(answer.left, 0), where.get(answer.right, 0)
    return AuditedAnswer(
        answer.number, answer.agent, answer.relation, left, right, answer.held, answer.implied
    )


_KNOWN = 100_000
ASSUMED = {
    Possible.NOISY: NOISY,
    Possible.TOLERANCE: TOLERANCE,
    Possible.EQUIVALENCE: EQUIVALENCE,
}
"""The assumptions on MATCH and AGREE that each stands for."""


class RecordedRules(Protocol):
    """The rules that a session of two is said to have followed, as far as its tags ask."""

    def __hash__(self) -> int: ...

    @property
    def longest(self) -> int | None:
        """How many messages a session has at most; None where there is no bound."""

    def begun(self, judges: Possible) -> Language:
        """The tag sequences of sessions that have got so far, ended or not, for such judges.

        A bound on messages need not be in it: `longest` says it.
        """

    def ending(self, word: Word) -> str | None:
        """Why a session with these tags is over; None if it goes on."""


@dataclass(frozen=True)
class ProtocolTags:
    """Sessions under `rules`, the protocols' own.

    Raises `UsageError` where there are more sessions than can be explored.
    """

    rules: Rules
    judged = True

    def follow(self, session: AuditedSession) -> FollowedSession:
        told = of_tags(self, session.word)
        if told.possible is Possible.NEVER:
            return told
        wrong = tuple(wrong_answers(session, self.rules))
        return replace(told, findings=(*told.findings, *wrong)) if wrong else told

    @property
    def longest(self) -> int | None:
        return self.rules.n

    def begun(self, judges: Possible) -> Language:
        rules: Rules = self.rules
        if isinstance(rules, Interact):  # one automaton for every n; REJECT after n is never sent
            rules = replace(rules, n=1, k=min(rules.k, rules.n))
        return started(ProtocolReading(rules, ASSUMED[judges], bounded=False))

    def ending(self, word: Word) -> str | None:
        empty = Answer("", "")
        sent = word[-2:]
        # only the latest tags and the number of messages count
        history = [Message("", 0, "", "", empty, "")] * (len(word) - len(sent))
        history += [Message("", 0, letter.agent, letter.tag, empty, "") for letter in sent]
        ending = self.rules.ending(history) if history else None
        return None if ending is None else ending.value


@lru_cache(maxsize=_KNOWN)
def of_tags(followed: RecordedRules, word: Word) -> FollowedSession:
    """What the tag sequence `word` says. Sessions with the same tags are looked at once."""
    for judges, kind in (
        (Possible.NOISY, FindingKind.MESSAGE),
        (Possible.TOLERANCE, FindingKind.TAGS_NOISY),
        (Possible.EQUIVALENCE, FindingKind.TAGS_TOLERANCE),
    ):
        language = followed.begun(judges)
        length = language.follows(word[: followed.longest])
        if length < len(word):
            bound = length == followed.longest
            before = () if bound else language.after(word[:length])
            finding = AuditFinding(kind, length + 1, word[length], (), before)
            ending = None if kind is FindingKind.MESSAGE else followed.ending(word)
            return FollowedSession(kind.leaves, (finding,), ending)
    return FollowedSession(Possible.EQUIVALENCE, (), followed.ending(word))


TAGS = {Guard.RAT: "RATIFY", Guard.REF: "REFUTE", Guard.REV: "REVISE", Guard.REJ: "REJECT"}
"""The tag that each guard names, in the tables of both protocols."""


def wrong_answers(recording: AuditedSession, rules: Rules) -> Iterator[AuditFinding]:
    """Tags against their judgements, judgements of other texts, pairs that should not change.

    Looked at are agents whose guards follow from their relations, at messages with answers of
    MATCH and AGREE. Where Changed was not asked, the agent never revises.
    """
    for number, message in enumerate(recording.said, start=1):
        if number > 1:
            own = recording.said[number - 3] if number > 2 else None
            derived = recording.derived[0 if message.initiator else 1]
            yield from wrong_answer(
                rules, number, message, recording.said[number - 2], own, derived
            )


def wrong_answer(
    rules: Rules,
    number: int,
    message: AuditedMessage,
    received: AuditedMessage,
    own: AuditedMessage | None,
    derived: bool,
) -> Iterator[AuditFinding]:
    """The same of message `number` of a conversation, which answers `received`.

    `own` has the pair that the agent compares with what it received; None where it had sent none.
    `derived` says that its tags follow from its relations.
    """
    if message.tag == Tag.TERM:
        return
    if not isinstance(rules, Interact) and own is not None:
        yield from _kept(number, message, own)
    if not derived:
        return
    judged = [answer for answer in message.judged if answer.relation in COMPARISONS]
    held = tuple([answer.held for answer in judged])
    if len(judged) < 2 or None in held:
        return
    own_category, due, asks_each = _due(rules, number, held)
    if message.tag != due:
        detail = f"{message.tag}, where category {own_category} makes it {due}"
        yield AuditFinding(FindingKind.TAG, number, detail, possible=(due,))
    place = _misplaced(asks_each, message, received, own, judged)
    if place is not None:
        relation = judged[place].relation
        yield AuditFinding(FindingKind.QUESTION, number, f"question {place + 1} to {relation}")


def _kept(number: int, message: AuditedMessage, own: AuditedMessage) -> Iterator[AuditFinding]:
    pair, before = (message.prediction, message.explanation), (own.prediction, own.explanation)
    if message.tag in (Tag.RATIFY, Tag.REJECT) and pair != before:
        detail = f"{message.tag} with another pair than the agent's own"
        yield AuditFinding(FindingKind.PAIR, number, detail)


@lru_cache(maxsize=_KNOWN)
def _due(rules: Rules, number: int, held: tuple[bool | None, ...]) -> tuple[Category, str, bool]:
    """The category of what MATCH and AGREE answered for message `number`, its tag, and whether
    `rules` ask anew for each message.
    """
    match, agree, *rest = held
    own_category, asks_each = category(bool(match), bool(agree)), rules.asks_each_time
    revises = False
    if rules.depends_on_revision(own_category, number) and rest:
        revises = all(rest) is not asks_each
    return own_category, TAGS[rules.guard(own_category, revises, number)], asks_each


def _misplaced(
    asks_each: bool,
    message: AuditedMessage,
    received: AuditedMessage,
    own: AuditedMessage | None,
    judged: list[JudgedAnswer],
) -> int | None:
    """Where what was compared is not what was received with one's own, then the new with its due.

    What PXP compares of message 2 was not sent where the agent has learned; it is not looked at.
    """
    learned = not asks_each and message.tag in _LEARNED
    first: AuditedMessage | None = received
    other = own if own is not None or learned else message
    for place, (relation, left, right, _) in enumerate(judged[:4]):
        if place == 2:
            first, other = None, None
            if asks_each:
                first, other = message, own or message
            elif learned:
                first, other = message, received
        if place % 2 == 0:
            if (
                relation != "MATCH"
                or (first is not None and left != first.prediction)
                or (other is not None and right != other.prediction)
            ):
                return place
        elif (
            relation != "AGREE"
            or (first is not None and left != first.explanation)
            or (other is not None and right != other.explanation)
        ):
            return place
    return None


_CONCLUDED = frozenset({Ending.RATIFIED, Ending.REJECTED, Ending.BOUND, Ending.TERM})
_UNCOUNTED = frozenset({Tag.INIT, Tag.TERM})
_SAME = frozenset({Assumption.DETERMINISTIC, Assumption.SYMMETRIC})
_CONTRADICTS = {
    FindingKind.ITSELF: frozenset({Assumption.REFLEXIVE}),
    FindingKind.TWICE: frozenset({Assumption.DETERMINISTIC}),
    FindingKind.MIRROR: _SAME,
    FindingKind.APART: _SAME | {Assumption.SHARED},
    FindingKind.CHAIN: _SAME | {Assumption.SHARED, Assumption.TRANSITIVE},
}
"""What must be assumed, all of it, for a finding to be a contradiction."""


@dataclass(frozen=True)
class Audited:
    """What the audit of a session found, and the most that may be assumed of its judges."""

    possible: Possible
    findings: tuple[AuditFinding, ...]


class AuditSubject(Protocol):
    """What a session is said to have followed: a protocol, the published code, or tables."""

    @property
    def judged(self) -> bool:
        """Whether answers of MATCH and AGREE are recorded of its sessions."""

    def follow(self, session: AuditedSession) -> FollowedSession:
        """Where the session is none of its sessions, and how it ends."""


def audited(recording: AuditedSession, subject: AuditSubject) -> Audited:
    """Audit a session that is said to have followed `subject`.

    What may be assumed of judges follows from the tags and from the answers; a fault of records (an
    ending, an assumption) leaves it as it is.
    """
    told = subject.follow(recording)
    findings = list(told.findings)
    if told.possible is not Possible.NEVER:
        findings += _ending(recording, told.ending)
    if subject.judged:
        contradicted = list(contradictions(recording))
        findings += contradicted
        findings += _assumed(recording, contradicted)
    return Audited(
        min([Possible.EQUIVALENCE, *(finding.kind.leaves for finding in findings)]), tuple(findings)
    )


def _ending(recording: AuditedSession, due: str | None) -> Iterator[AuditFinding]:
    """Whether a session that is said to be over ended as the rules end it.

    A fault may end a session at any message, but none that the rules have ended.
    """
    ending = recording.ending
    if ending is None or ending == due or (due is None and ending not in _CONCLUDED):
        return
    detail = "the rules go on" if due is None else f"the rules end it as {due}"
    yield AuditFinding(FindingKind.ENDING, len(recording.steps) or None, detail)


def _assumed(recording: AuditedSession, findings: list[AuditFinding]) -> Iterator[AuditFinding]:
    """Assumptions under which the session is said to have run, and its answers contradict."""
    for finding in findings:
        if _CONTRADICTS[finding.kind] <= recording.assumptions:
            detail = f"it is recorded as {', '.join(sorted(_CONTRADICTS[finding.kind]))}"
            yield AuditFinding(FindingKind.ASSUMED, finding.number, detail, finding.answers)


@dataclass(frozen=True)
class AsPublished:
    """Sessions of the published code, of `rounds` rounds at most."""

    rounds: int = ROUNDS
    judged = False

    def follow(self, session: AuditedSession) -> FollowedSession:
        return of_tags(self, session.word)

    @property
    def longest(self) -> int | None:
        return PublishedCode(self.rounds, K).longest

    def begun(self, judges: Possible) -> Language:
        return published_started(PublishedCode(None, K, ASSUMED[judges]))

    def ending(self, word: Word) -> str | None:
        return PublishedCode(self.rounds, K).ending(word)
