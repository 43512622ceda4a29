"""The rules of the two protocols for sessions: table, decision functions, stop rule.

Sources: arXiv 2410.20600, Procedures 1-3 (INTERACT); arXiv 2301.01819 as cited there (PXP).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from pxp_fsm import defaults
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.tables import builtin
from pxp_fsm.errors import UsageError
from pxp_fsm.protocol import decisions
from pxp_fsm.protocol.decisions import GUARDS, Category, Guard
from pxp_fsm.protocol.interfaces import Decisions
from pxp_fsm.protocol.messages import Message, Tag

TermPolicy = Callable[[str, str], bool]
"""Whether to send TERM: (tag received, tag of one's own latest message, or "") to a truth value."""


class Role(StrEnum):
    """The pairs (y, e) in play when an agent must answer.

    RECEIVED is the peer's latest message, OWN one's own latest message (for message 2, the first
    answer), NEW what one would send now.
    """

    RECEIVED = "received"
    OWN = "own"
    NEW = "new"


MATCH, AGREE = "MATCH", "AGREE"
CATEGORY = (Role.RECEIVED, Role.OWN)
"""What MATCH and AGREE compare for the category of a received pair."""


class Comparison(NamedTuple):
    """A query to MATCH (of the predictions) or AGREE (of the explanations) of two pairs."""

    relation: str
    left: Role
    right: Role


class Ending(StrEnum):
    """Why a session is over.

    Sessions of systems end as `FINISHED` (every member is in an end state), `DEADLOCK` (nothing
    can happen), `IDLE` (nobody wants what can), `DIVERGED` (a member left the trace that was to be
    followed), or by a fault, as all sessions may.
    """

    RATIFIED = "ratified"
    REJECTED = "rejected"
    BOUND = "bound"
    TERM = "term"
    NO_ANSWER = "no answer"
    LATE = "late"
    BROKEN = "broken"
    LIMIT = "limit"
    FINISHED = "finished"
    DEADLOCK = "deadlock"
    IDLE = "idle"
    DIVERGED = "diverged"


FAULTS = (Ending.NO_ANSWER, Ending.LATE, Ending.BROKEN)
"""The endings by what a member or an oracle did, or failed to do."""


@dataclass(frozen=True, slots=True)
class Interact:
    """INTERACT: at most `n` messages, REJECT only after message `k`.

    The papers' experiments use n = 10; their code k = 3. `table` and `functions` are put in place
    of the protocol's own table and decision functions: variants of INTERACT, with its tags and
    guards. Raises `UsageError` for n < 1 or k < 1, and for the table of another protocol.

    >>> import pxp_fsm as pxp
    >>> pxp.Interact(n=10, k=3).name
    'interact'
    """

    n: int = defaults.N
    k: int = defaults.K
    table: Automaton | None = field(default=None, repr=False, hash=False)
    functions: Decisions = field(default=decisions, repr=False)

    def __post_init__(self) -> None:
        self.functions.check_bounds(self.n, self.k)
        _check_table(self.table, "Interact")

    @property
    def name(self) -> str:
        return "interact"

    @property
    def automaton(self) -> Automaton:
        return self.table or builtin("interact")

    @property
    def asks_each_time(self) -> bool:
        """INTERACT asks its respondent anew for each message, having learned from each."""
        return True

    def depends_on_revision(self, found: Category, number: int) -> bool:
        """Whether the guard depends on Changed in this category, at this message."""
        return self.functions.interact_depends_on_change(found, number, self.k)

    @property
    def revision(self) -> tuple[Role, Role]:
        """What is compared for Changed: the fresh answer with one's previous one."""
        return Role.NEW, Role.OWN

    def revises(self, holds: bool) -> bool:
        """Changed: the pairs of `revision` do not match, or do not agree."""
        return not holds

    def carries(self, _guard: str | None) -> Role:
        """Which pair a message carries: the fresh one, always."""
        return Role.NEW

    def guard(self, found: Category, revises: bool, number: int) -> Guard:
        """The guard that is true at message `number`."""
        return self.functions.interact_guard(found, revises, number, self.k)

    def allowed(self, number: int) -> tuple[Guard, ...]:
        """The guards that some outcome of MATCH, AGREE and revision makes true at a message."""
        return _possible(self, number)

    def says_term(self, history: Sequence[Message], answer: str | None = None) -> bool:
        """Never: the schedule closes the session."""
        return False

    def hangs_up(self, history: Sequence[Message]) -> bool:
        """Never: the two alternate."""
        return False

    def ending(self, history: Sequence[Message]) -> Ending | None:
        """Why the schedule closes the session after `history`, or None if it goes on."""
        tag = history[-1].tag
        previous = history[-2].tag if len(history) > 1 else Tag.INIT
        stopped = self.functions.stops(tag, previous)
        if not self.functions.done(len(history), self.n, stopped):
            return None
        if not stopped:
            return Ending.BOUND
        return Ending.REJECTED if tag == Tag.REJECT else Ending.RATIFIED


@dataclass(frozen=True, slots=True)
class Pxp:
    """PXP, unbounded, or PXP(k): each self-loop on a tag is taken at most `k` times.

    `term` decides when an agent answers with TERM; `hang_up`, off by default, when one sends TERM
    right after its own message (tag sent, tag that it answered). `table` and `functions` are put in
    place of the protocol's own: variants of PXP, with its tags and guards. Raises `UsageError` for
    k < 1, and for the table of another protocol.

    >>> import pxp_fsm as pxp
    >>> pxp.Pxp(k=2).name
    'pxp'
    """

    k: int | None = None
    term: TermPolicy = decisions.concluded
    hang_up: TermPolicy | None = None
    table: Automaton | None = field(default=None, repr=False, hash=False)
    functions: Decisions = field(default=decisions, repr=False)

    def __post_init__(self) -> None:
        if self.k is not None:
            meaning = "PXP(k) takes each self-loop at most k times, and k is"
            self.functions.check_bound(self.k, meaning)
        _check_table(self.table, "Pxp")

    @property
    def name(self) -> str:
        return "pxp"

    @property
    def n(self) -> int | None:
        """PXP has no bound on the number of messages."""
        return None

    @property
    def automaton(self) -> Automaton:
        return self.table or builtin("pxp_hang_up" if self.hang_up else "pxp")

    @property
    def asks_each_time(self) -> bool:
        """PXP asks its respondent once, and again after it has learned."""
        return False

    def depends_on_revision(self, found: Category, _number: int) -> bool:
        """Whether the agent LEARNs before it decides."""
        return self.functions.pxp_depends_on_learning(found)

    @property
    def revision(self) -> tuple[Role, Role]:
        """What is compared for g': one's new pair, after learning, with the received one."""
        return Role.NEW, Role.RECEIVED

    def revises(self, holds: bool) -> bool:
        """g': the pairs of `revision` match and agree."""
        return holds

    def carries(self, guard: str | None) -> Role:
        """Which pair a message carries: the new one after learning, else one's own."""
        return Role.NEW if guard in (Guard.REF, Guard.REV) else Role.OWN

    def guard(self, found: Category, revises: bool, _number: int) -> Guard:
        """The guard that is true."""
        return self.functions.pxp_guard(found, revises)

    def allowed(self, number: int) -> tuple[Guard, ...]:
        """The guards that some outcome of MATCH, AGREE and revision makes true at a message."""
        return _possible(self, number)

    def says_term(self, history: Sequence[Message], answer: str | None = None) -> bool:
        """Whether the agent that must answer `history` sends TERM.

        Without `answer` it is the policy's word; with the tag that the guards have named, whether
        PXP(k) forbids one more self-loop on it.
        """
        received = history[-1].tag
        if answer is None:
            return self.term(received, history[-2].tag if len(history) > 1 else "")
        if not self.functions.repeats(received, answer):
            return False
        return self.functions.exhausted(self._loops(history, answer), self.k)

    def _loops(self, history: Sequence[Message], tag: str) -> int:
        """How often `tag` has answered itself in `history`."""
        tags = [message.tag for message in history]
        return sum(self.functions.repeats(a, b) for a, b in pairwise(tags) if b == tag)

    def hangs_up(self, history: Sequence[Message]) -> bool:
        """Whether the sender of the latest message hangs up right after it."""
        if self.hang_up is None or len(history) < 2:
            return False
        return self.hang_up(history[-1].tag, history[-2].tag)

    def ending(self, history: Sequence[Message]) -> Ending | None:
        """TERM ends the session; nothing else does."""
        return Ending.TERM if history[-1].tag == Tag.TERM else None


Rules = Interact | Pxp
"""The protocol that a session follows."""


def derive(
    rules: Rules, number: int, answers: Sequence[bool], *, revises: bool = True
) -> Comparison | Guard:
    """What is compared next for message `number` after these `answers`, or the guard that is true.

    `answers` are those to the comparisons before, in order. With `revises` false the agent never
    changes its answer: what would be REV is REF. Sessions and proofs both follow this function.

    >>> from pxp_fsm.protocol.rules import Interact, derive
    >>> derive(Interact(), 3, [True, False])
    Comparison(relation='MATCH', left=<Role.NEW: 'new'>, right=<Role.OWN: 'own'>)
    >>> derive(Interact(), 3, [True, False, False])
    <Guard.REV: 'REV'>
    """
    if len(answers) < 2:
        return Comparison((MATCH, AGREE)[len(answers)], *CATEGORY)
    match, agree, *revision = answers
    found, changes = rules.functions.category(match, agree), False
    if revises and rules.depends_on_revision(found, number):
        if all(revision) and len(revision) < 2:
            return Comparison((MATCH, AGREE)[len(revision)], *rules.revision)
        changes = rules.revises(all(revision))
    return rules.guard(found, changes, number)


def _check_table(table: Automaton | None, protocol: str) -> None:
    """Raise `UsageError` where `table` is of a protocol that sessions do not follow."""
    if table is None:
        return
    tags = {transition.label for transition in table.transitions}
    if set(table.guards) <= set(GUARDS) and Tag.INIT in tags:
        return
    raise UsageError(
        f"{table.name} is a protocol of its own, and {protocol}(table=...) takes only a variant of "
        f"its own table: guards out of {', '.join(GUARDS)}, and the tag INIT. Run another protocol "
        f"as pxp.Session(system, members) with a pxp.System, or from a file with pxp run"
    )


def _possible(rules: Rules, number: int) -> tuple[Guard, ...]:
    found = {rules.guard(found, revises, number) for found in Category for revises in (False, True)}
    return tuple(guard for guard in GUARDS if guard in found)
