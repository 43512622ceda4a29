"""The authors' published code as a third reading of INTERACT, to audit its recordings.

Source: github.com/karannb/interact (MIT), `src/interact.py` and `src/agent.py`. What differs there:
a RATIFY stays one (a session stops once both agents have ever ratified), a REJECT of the initiator
does not stop the session, the bound counts rounds after the first message (2 · rounds + 1
messages), and an answer that counts as unchanged is replaced by one's previous one. It compares in
one order, the responder's text first, which for the relations in question is the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace
from functools import cache, cached_property
from typing import NamedTuple

from proofs.core.explore import Step
from proofs.languages.language import Language, Word, of_automaton
from proofs.languages.protocols import ENDLESS, automaton_of
from proofs.sessions.model import AGENTS, SessionModel, SessionState, speaker_of, tag_of
from proofs.sessions.relational import Theory
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.expressions import parse_expression
from pxp_fsm.automata.tables import builtin
from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.decisions import check_bound
from pxp_fsm.protocol.messages import Tag
from pxp_fsm.protocol.relations import EQUIVALENCE, NOISY, TOLERANCE, Assumption
from pxp_fsm.protocol.rules import Ending, Interact

ROUNDS, K = 5, 3
"""Rounds in the commands that its README gives, and k, which it fixes."""


@cache
def _never_stopping() -> Automaton:
    """INTERACT's table, but that no tags stop a session: the code's own rule does that."""
    table = builtin("interact")
    bound = parse_expression("j >= n", table.rules.types)
    rows = (replace(row, when=bound) if row.urgent else row for row in table.transitions)
    return replace(table, transitions=tuple(rows))


class CodeState(NamedTuple):
    """A session, which agents have ever ratified in it, and whether it is over."""

    session: SessionState
    ratified: tuple[bool, bool] = (False, False)
    over: str = ""


@dataclass(frozen=True)
class PublishedCode:
    """Sessions as the published code runs them, of `rounds` rounds at most (None: any number).

    Raises `UsageError` for rounds < 0 (0 is a session of one message) and k < 1, and for relations
    that are not one of the three with a name: for others the order of comparing would matter.
    """

    rounds: int | None = ROUNDS
    k: int = K
    assumptions: frozenset[Assumption] = field(default=NOISY)

    def __post_init__(self) -> None:
        check_bound(self.k, "k is the message after which REJECT is allowed,")
        if self.rounds is not None:
            check_bound(self.rounds + 1, "rounds are counted from 0: with the first, they are")
        if self.assumptions not in (EQUIVALENCE, TOLERANCE, NOISY):
            raise UsageError("the published code is known for equivalence, tolerance and noisy")

    @property
    def name(self) -> str:
        bound = "any number of" if self.rounds is None else self.rounds
        return f"published code ({bound} rounds, k = {self.k})"

    @property
    def longest(self) -> int | None:
        """How many messages a session has at most."""
        return None if self.rounds is None else 2 * self.rounds + 1

    def initial(self) -> Iterable[CodeState]:
        return map(CodeState, self._sessions.initial())

    def successors(self, at: CodeState) -> Iterable[Step[CodeState]]:
        if at.over:
            return
        for step in self._sessions.successors(at.session):
            after = self._after(at, speaker_of(step), tag_of(step), step.target)
            yield Step(step.action, after, step.facts)

    def propositions(self, at: CodeState) -> frozenset[str]:
        return self._sessions.propositions(at.session)

    def ending(self, word: Word) -> str | None:
        """Why a session with these tags is over; None if it goes on."""
        ratified = (False, False)
        over = ""
        for number, letter in enumerate(word, start=1):
            ratified, over = self._stop(ratified, AGENTS.index(letter.agent), letter.tag, number)
        return over or None

    def _after(self, at: CodeState, agent: int, tag: str, session: SessionState) -> CodeState:
        ratified, over = self._stop(at.ratified, agent, tag, session.sent)
        if self.rounds is None:  # numbers matter up to 2 and to k, as in `Folded`
            last = max(self.k, 2) + 1
            if session.sent > last:
                session = session._replace(sent=session.sent - 2)
        return CodeState(session, ratified, over)

    def _stop(
        self, before: tuple[bool, bool], agent: int, tag: str, sent: int
    ) -> tuple[tuple[bool, bool], str]:
        """Who has ever ratified after a message, and why the session is over then ("" if not)."""
        first, second = before
        ratified = (
            first or (agent == 0 and tag == Tag.RATIFY),
            second or (agent == 1 and tag == Tag.RATIFY),
        )
        if all(ratified):
            return ratified, Ending.RATIFIED
        if tag == Tag.REJECT and agent == 1:
            return ratified, Ending.REJECTED
        return ratified, Ending.BOUND if sent == self.longest else ""

    @cached_property
    def _sessions(self) -> SessionModel:
        rules = Interact(ENDLESS, self.k, _never_stopping())
        theory = Theory(self.assumptions)
        return SessionModel(rules, theory, observes=False, keeps_unchanged=True)


@cache
def published_sequences(reading: PublishedCode) -> Language:
    """The complete tag sequences of the published code."""
    accepted = automaton_of(reading, lambda at: bool(at.over))
    return of_automaton(_title(reading), accepted)


@cache
def published_started(reading: PublishedCode) -> Language:
    """The tag sequences of its sessions that have got so far, ended or not."""
    accepted = automaton_of(reading, lambda _at: True)
    return of_automaton(f"{_title(reading)}, begun", accepted)


def _title(reading: PublishedCode) -> str:
    names = {EQUIVALENCE: "equivalence", TOLERANCE: "tolerance", NOISY: "noisy"}
    return f"{reading.name}, {names[reading.assumptions]}"
