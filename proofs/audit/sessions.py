"""The audit of one session: its findings, and the assumptions that its judges satisfy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from proofs.audit.findings import Finding, Kind, Possible, Recording
from proofs.audit.judges import contradictions
from proofs.audit.tags import ASSUMED, Followed, of_tags, wrong_answers
from proofs.languages import Language, Word
from proofs.languages.protocols import TWO_WAY
from proofs.languages.published_code import ROUNDS, K, PublishedCode, published_started
from proofs.sessions.model import AGENTS
from pxp_fsm.protocol.intelligibility import DEFINITIONS, ONE_WAY
from pxp_fsm.protocol.messages import Tag
from pxp_fsm.protocol.relations import Assumption
from pxp_fsm.protocol.rules import Ending, Rules

_CONCLUDED = frozenset({Ending.RATIFIED, Ending.REJECTED, Ending.BOUND, Ending.TERM})
_UNCOUNTED = frozenset({Tag.INIT, Tag.TERM})
_SAME = frozenset({Assumption.DETERMINISTIC, Assumption.SYMMETRIC})
_CONTRADICTS = {
    Kind.ITSELF: frozenset({Assumption.REFLEXIVE}),
    Kind.TWICE: frozenset({Assumption.DETERMINISTIC}),
    Kind.MIRROR: _SAME,
    Kind.APART: _SAME | {Assumption.SHARED},
    Kind.CHAIN: _SAME | {Assumption.SHARED, Assumption.TRANSITIVE},
}
"""What must be assumed, all of it, for a finding to be a contradiction."""


@dataclass(frozen=True)
class Audited:
    """What the audit of a session found, and the most that may be assumed of its judges."""

    possible: Possible
    findings: tuple[Finding, ...]


def audited(recording: Recording, followed: Followed) -> Audited:
    """Audit a session that is said to have followed a protocol.

    What may be assumed follows from the tags and from the answers; a fault of records (a class, an
    ending, an assumption) leaves it as it is.
    """
    tagged = of_tags(followed, recording.word)
    findings = list(tagged.findings)
    if tagged.possible is not Possible.NEVER:
        if followed.rules is not None:
            findings += wrong_answers(recording, followed.rules)
        findings += _ending(recording, tagged.ending)
    if followed.rules is not None:
        contradicted = list(contradictions(recording))
        findings += contradicted
        findings += _assumed(recording, contradicted)
    findings += _classes(recording)
    return Audited(
        min([Possible.EQUIVALENCE, *(one.kind.leaves for one in findings)]), tuple(findings)
    )


def _ending(recording: Recording, due: str | None) -> Iterator[Finding]:
    """Whether a session that is said to be over ended as the rules end it.

    A fault may end a session at any message, but none that the rules have ended.
    """
    ending = recording.ending
    if ending is None or ending == due or (due is None and ending not in _CONCLUDED):
        return
    what = "the rules go on" if due is None else f"the rules end it as {due}"
    yield Finding(Kind.ENDING, len(recording.word) or None, what)


def _assumed(recording: Recording, found: list[Finding]) -> Iterator[Finding]:
    """Assumptions under which the session is said to have run, and its answers contradict."""
    for one in found:
        if _CONTRADICTS[one.kind] <= recording.assumptions:
            what = f"it is recorded as {', '.join(sorted(_CONTRADICTS[one.kind]))}"
            yield Finding(Kind.ASSUMED, one.number, what, one.answers)


def _classes(recording: Recording) -> Iterator[Finding]:
    """Stored classes that are not what the definitions say of the tags."""
    if not recording.classes:
        return
    tags = tuple(
        frozenset(one.tag for one in recording.said if one.initiator is initiator) - _UNCOUNTED
        for initiator in (True, False)
    )
    due = {f"{d}:{agent}": DEFINITIONS[d].holds(sent)
           for d in DEFINITIONS for agent, sent in zip(AGENTS, tags, strict=True)}  # fmt: skip
    due[TWO_WAY] = all(map(ONE_WAY.holds, tags))
    for name, stored in recording.classes.items():
        if stored is not due[name]:
            said = "is" if due[name] else "is not"
            yield Finding(Kind.CLASS, None, f"stored otherwise: by its tags it {said} {name}")


@dataclass(frozen=True)
class AsPublished:
    """Sessions of the published code, of `rounds` rounds at most."""

    rounds: int = ROUNDS

    @property
    def rules(self) -> Rules | None:
        return None

    @property
    def longest(self) -> int | None:
        return PublishedCode(self.rounds, K).longest

    def begun(self, judges: Possible) -> Language:
        return published_started(PublishedCode(None, K, ASSUMED[judges]))

    def ending(self, word: Word) -> str | None:
        return PublishedCode(self.rounds, K).ending(word)
