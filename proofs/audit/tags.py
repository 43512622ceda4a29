"""What the tags of a session say by themselves: for which judges it is possible, and where not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

from proofs.audit.findings import Finding, Kind, Possible
from proofs.languages import Language, Reading, Word, started
from pxp_fsm.messages import Answer, Message
from pxp_fsm.relations import EQUIVALENCE, NOISY, TOLERANCE
from pxp_fsm.rules import Interact, Rules

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
