"""The audit of a panel's session: it is replayed through the machines and the policy of its panel.

These are what sessions run by, and what exploration asks; so a message that the audit lets pass is
one that the panel allows. Beside that, tags are held against their judgements, and the judgements
of all agents against each other.
"""

from __future__ import annotations

from collections.abc import Iterator

import pxp_fsm as pxp
from backends.databases import SessionRecord
from proofs.audit.findings import (
    AuditedMessage,
    AuditedSession,
    AuditFinding,
    FindingKind,
    FollowedSession,
    Possible,
)
from proofs.audit.sessions import (
    GivenAnswer,
    ProtocolTags,
    contradictions_of,
    of_tags,
    wrong_answer,
)
from proofs.languages import symbol
from pxp_fsm import defaults
from pxp_fsm.analysis.audits.records import derives
from pxp_fsm.errors import Refused
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.panels.panel import Panel
from pxp_fsm.protocol.messages import Message, Question, Tag
from pxp_fsm.protocol.relations import COMPARISONS, JudgedAnswer, digest, held
from pxp_fsm.protocol.rules import Ending, Interact
from pxp_fsm.sessions.events import Event

Channel = frozenset[str]


@dataclass(frozen=True)
class PanelRules:
    """Sessions of `panel` that are stored as `record` says."""

    panel: Panel
    record: SessionRecord
    judged = False

    def follow(self, session: AuditedSession) -> FollowedSession:
        events = session.events or ()
        findings = list(self._replayed(session, events))
        if not findings:
            findings += self._tags(events)
            findings += self._answers(events)
            findings += contradictions_of(_given(events), [_audited(event) for event in events])
        possible = min([Possible.EQUIVALENCE, *(finding.kind.leaves for finding in findings)])
        return FollowedSession(possible, tuple(findings), session.ending)

    def _replayed(
        self, session: AuditedSession, events: tuple[Event, ...]
    ) -> Iterator[AuditFinding]:
        """The first message that the panel does not allow, or an ending that is another."""
        record, ending = self.record, session.ending
        limit = max(1, len(events)) if ending == Ending.LIMIT else defaults.LIMIT
        members = {name: _SILENT for name, _ in record.agents}
        replayed = pxp.Session(
            self.panel, members, instance=record.instance, name=record.session, limit=limit
        )
        for event in events:
            try:
                replayed.replay([event])
            except Refused as error:
                reason = str(error).partition(" was refused: ")[2] or str(error)
                yield AuditFinding(FindingKind.MESSAGE, event.number, reason)
                return
        due = None if replayed.ending is None else replayed.ending.value
        goes_on = due is None and ending not in _BY_RULES
        if ending is not None and not goes_on and (ending, record.cause) != (due, replayed.cause):
            told = "the rules go on" if due is None else f"the rules end it as {due}"
            cause = f" ({replayed.cause})" if replayed.cause else ""
            yield AuditFinding(FindingKind.ENDING, len(events) or None, f"{told}{cause}")

    def _tags(self, events: tuple[Event, ...]) -> Iterator[AuditFinding]:
        """Of INTERACT, what the tags of each conversation say of its judges.

        Each conversation is a session of two there; of PXP it is not, since an agent may have
        changed its pair in another.
        """
        if not isinstance(self.panel.rules, Interact):
            return
        for conversation in _conversations(events):
            opener = conversation[0].carried.sender
            word = tuple(
                symbol("m" if event.carried.sender == opener else "h", event.carried.tag)
                for event in conversation
            )
            for finding in of_tags(ProtocolTags(self.panel.rules), word).findings:
                place = min(finding.number or 1, len(conversation)) - 1
                ends = sorted({opener, conversation[0].carried.receiver})
                detail = f"{finding.what} between {' and '.join(ends)}, of whom {opener} is m"
                number = conversation[place].number
                yield finding._replace(number=number, what=detail)

    def _answers(self, events: tuple[Event, ...]) -> Iterator[AuditFinding]:
        """Tags against their judgements, judgements of other texts, pairs that should stay."""
        rules = self.panel.rules
        derived = {name: derives(description) for name, description in self.record.agents}
        current: dict[str, AuditedMessage] = {}
        talks: dict[Channel, list[Event]] = {}
        for event in events:
            message, audited = event.carried, _audited(event)
            ends = frozenset((message.sender, message.receiver))
            talk = talks.setdefault(ends, [])
            if message.tag == Tag.INIT:
                talk.clear()
            else:
                own = current.get(message.sender)
                if isinstance(rules, Interact):
                    earlier = [
                        earlier_event
                        for earlier_event in talk
                        if earlier_event.carried.sender == message.sender
                    ]
                    own = _audited(earlier[-1]) if earlier else None
                for finding in wrong_answer(
                    rules,
                    len(talk) + 1,
                    audited,
                    _audited(talk[-1]),
                    own,
                    derived.get(message.sender, False),
                ):
                    yield finding._replace(number=event.number)
            talk.append(event)
            current[message.sender] = audited


def _silent(question: Question) -> pxp.Answer:
    raise AssertionError("nobody is asked where a session is replayed")


_SILENT = pxp.Agent(_silent, match=pxp.exact, agree=pxp.exact)
_BY_RULES = (*(Ending.RATIFIED, Ending.REJECTED, Ending.BOUND, Ending.TERM), Ending.FINISHED)


def _conversations(events: tuple[Event, ...]) -> list[list[Event]]:
    """What was said in each channel, from INIT on; one that was opened again has several."""
    by_channel: dict[Channel, list[list[Event]]] = {}
    for event in events:
        message: Message = event.carried
        talks = by_channel.setdefault(frozenset((message.sender, message.receiver)), [])
        if message.tag == Tag.INIT:
            talks.append([])
        talks[-1].append(event)
    return [talk for talks in by_channel.values() for talk in talks]


def _audited(event: Event) -> AuditedMessage:
    """A message with the digests of its texts, which is what judgements are of."""
    message = event.carried
    return AuditedMessage(
        False,
        message.tag,
        digest(message.answer.prediction),
        digest(message.answer.explanation),
        tuple(
            JudgedAnswer(judged.relation, judged.left, judged.right, held(judged.outcome))
            for judged in event.judgements
            if judged.relation in COMPARISONS
        ),
    )


def _given(events: tuple[Event, ...]) -> list[GivenAnswer]:
    """Every answer that was given, in order, with whose it is."""
    return [
        GivenAnswer(
            event.number, event.carried.sender, answer.relation, answer.left, answer.right, yes
        )
        for event in events
        for answer in _audited(event).judged
        if (yes := answer.held) is not None
    ]
