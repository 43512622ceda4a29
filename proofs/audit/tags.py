"""The audit of a session's tags: for which judges the session is possible, and where not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

from proofs.audit.findings import Finding, Judged, Kind, Possible, Recording, Said
from proofs.languages import Language, Reading, Word, started
from pxp_fsm.protocol.decisions import Guard
from pxp_fsm.protocol.messages import Answer, Message, Tag
from pxp_fsm.protocol.relations import EQUIVALENCE, NOISY, TOLERANCE
from pxp_fsm.protocol.rules import Interact, Rules

_KNOWN = 100_000
ASSUMED = {
    Possible.NOISY: NOISY,
    Possible.TOLERANCE: TOLERANCE,
    Possible.EQUIVALENCE: EQUIVALENCE,
}
"""The assumptions on MATCH and AGREE that each stands for."""


class Followed(Protocol):
    """What a session is said to have followed, as far as an audit asks."""

    def __hash__(self) -> int: ...

    @property
    def rules(self) -> Rules | None:
        """The rules by which judgements lead to tags; None where no judgements are recorded."""

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
class Protocols:
    """Sessions under `rules`, the protocols' own.

    Raises `UsageError` where there are more sessions than can be explored.
    """

    rules: Rules

    @property
    def longest(self) -> int | None:
        return self.rules.n

    def begun(self, judges: Possible) -> Language:
        rules: Rules = self.rules
        if isinstance(rules, Interact):  # one automaton for every n; REJECT after n is never sent
            rules = replace(rules, n=1, k=min(rules.k, rules.n))
        return started(Reading(rules, ASSUMED[judges], bounded=False))

    def ending(self, word: Word) -> str | None:
        empty = Answer("", "")
        sent = word[-2:]
        # only the latest tags and the number of messages count
        history = [Message("", 0, "", "", empty, "")] * (len(word) - len(sent))
        history += [Message("", 0, one.agent, one.tag, empty, "") for one in sent]
        found = self.rules.ending(history) if history else None
        return None if found is None else found.value


@dataclass(frozen=True)
class Tagged:
    """What tags say: what may be assumed of the judges, where that shows, how the session ends."""

    possible: Possible
    findings: tuple[Finding, ...]
    ending: str | None


@lru_cache(maxsize=_KNOWN)
def of_tags(followed: Followed, word: Word) -> Tagged:
    """What the tag sequence `word` says. Sessions with the same tags are looked at once."""
    for judges, kind in (
        (Possible.NOISY, Kind.MESSAGE),
        (Possible.TOLERANCE, Kind.TAGS_NOISY),
        (Possible.EQUIVALENCE, Kind.TAGS_TOLERANCE),
    ):
        language = followed.begun(judges)
        length = language.follows(word[: followed.longest])
        if length < len(word):
            bound = length == followed.longest
            before = () if bound else language.after(word[:length])
            found = Finding(kind, length + 1, word[length], (), before)
            ending = None if kind is Kind.MESSAGE else followed.ending(word)
            return Tagged(kind.leaves, (found,), ending)
    return Tagged(Possible.EQUIVALENCE, (), followed.ending(word))


TAGS = {Guard.RAT: "RATIFY", Guard.REF: "REFUTE", Guard.REV: "REVISE", Guard.REJ: "REJECT"}
"""The tag that each guard names, in the tables of both protocols."""


def wrong_answers(recording: Recording, rules: Rules) -> Iterator[Finding]:
    """Tags against their judgements, judgements of other texts, pairs that should not change.

    Looked at are agents whose guards follow from their relations, at messages with answers of
    MATCH and AGREE. Where Changed was not asked, the agent never revises.
    """
    for number, said in enumerate(recording.said, start=1):
        if number == 1 or said.tag == Tag.TERM:
            continue
        own = recording.said[number - 3] if number > 2 else None
        if not isinstance(rules, Interact) and own is not None:
            yield from _kept(number, said, own)
        if not recording.derived[0 if said.initiator else 1]:
            continue
        judged = [one for one in said.judged if one.relation in ("MATCH", "AGREE")]
        if len(judged) < 2 or any(one.held is None for one in judged):
            continue
        yield from _tagged(rules, number, said.tag, judged)
        yield from _asked(rules, number, said, recording.said[number - 2], own, judged)


def _kept(number: int, said: Said, own: Said) -> Iterator[Finding]:
    pair, before = (said.prediction, said.explanation), (own.prediction, own.explanation)
    if said.tag in (Tag.RATIFY, Tag.REJECT) and pair != before:
        yield Finding(Kind.PAIR, number, f"{said.tag} with another pair than message {number - 2}")


def _tagged(rules: Rules, number: int, tag: str, judged: list[Judged]) -> Iterator[Finding]:
    match, agree, *rest = (bool(one.held) for one in judged)
    found = rules.functions.category(match, agree)
    revises = False
    if rules.depends_on_revision(found, number) and rest:
        revises = all(rest) if not rules.asks_each_time else not all(rest)
    due = TAGS[rules.guard(found, revises, number)]
    if tag != due:
        what = f"{tag}, where category {found} makes it {due}"
        yield Finding(Kind.TAG, number, what, possible=(due,))


def _asked(
    rules: Rules, number: int, said: Said, received: Said, own: Said | None, judged: list[Judged]
) -> Iterator[Finding]:
    """Whether what was compared is what was received with one's own, then the new with its due.

    What PXP compares of message 2 was not sent where the agent has learned; it is not looked at.
    """
    each = rules.asks_each_time
    learned = not each and said.tag in (Tag.REFUTE, Tag.REVISE)
    mine = own if own is not None else (None if learned else said)
    second = (own or said) if each else received
    due = [(received, mine)] * 2 + [(said, second) if each or learned else (None, None)] * 2
    for place, (one, (left, right)) in enumerate(zip(judged, due, strict=False)):
        wanted = "MATCH" if place % 2 == 0 else "AGREE"
        texts = (one.left, left), (one.right, right)
        if one.relation != wanted or any(
            side is not None
            and text != (side.prediction if wanted == "MATCH" else side.explanation)
            for text, side in texts
        ):
            yield Finding(Kind.QUESTION, number, f"question {place + 1} to {one.relation}")
            return
