"""The two protocols as sessions follow them: their tables decide, by rules, and say when to stop.

Sources: arXiv 2410.20600, Procedures 1-3 (INTERACT); arXiv 2301.01819v2, Definition 5 and Table 4,
as cited (PXP).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import field
from enum import StrEnum
from functools import lru_cache, reduce
from typing import NamedTuple

from pxp_fsm import defaults
from pxp_fsm.automata.automaton import Automaton, Kind
from pxp_fsm.automata.expressions import Value, names_in, str_of
from pxp_fsm.automata.rules import Rules as TableRules
from pxp_fsm.automata.rules import Values
from pxp_fsm.automata.tables import builtin
from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.decisions import (
    GUARDS,
    Category,
    Guard,
    check_bound,
    check_bounds,
    concluded,
)
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
COUNTER = "j"
"""The register that counts the messages so far."""

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

    The papers' experiments use n = 10; their code k = 3. `table` is put in place of the protocol's
    own: a variant of INTERACT, with its tags and guards; one without rules decides by INTERACT's.
    Raises `UsageError` for n or k that is no `int` of at least 1, and for the table of another
    protocol.

    >>> import pxp_fsm as pxp
    >>> pxp.Interact(n=10, k=3).name
    'interact'
    """

    n: int = defaults.N
    k: int = defaults.K
    table: Automaton | None = field(default=None, repr=False, hash=False)

    def __post_init__(self) -> None:
        check_bounds(self.n, self.k)
        _check_table(self, "Interact")

    @property
    def name(self) -> str:
        return "interact"

    @property
    def automaton(self) -> Automaton:
        return self.table or builtin("interact")

    @property
    def ruled(self) -> Automaton:
        """The table whose rules decide: one's own, or INTERACT's where that has none."""
        return _ruled(self.table, "interact")

    @property
    def asks_each_time(self) -> bool:
        """Whether the respondent is asked anew for each message, having learned from each."""
        return self.ruled.rules.asks == "each"

    def depends_on_revision(self, category: Category, number: int) -> bool:
        """Whether the guard depends on Changed in this category, at this message."""
        return _depends_on_revision(self, category, number)

    @property
    def revision(self) -> tuple[Role, Role]:
        """What is compared for Changed: the fresh answer with one's previous one."""
        return _revision(self.ruled.rules)

    def revises(self, holds: bool) -> bool:
        """Changed: the pairs of `revision` do not match, or do not agree."""
        return not holds

    def carries(self, guard: str | None) -> Role:
        """Which pair a message under `guard` carries."""
        return _carried(self.ruled, guard)

    def guard(self, category: Category, revises: bool, number: int) -> Guard:
        """The guard that is true at message `number`."""
        return _decided(self, category, holds=not revises, number=number)

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
        previous = history[-2].tag if len(history) > 1 else ""
        return self.ending_after(len(history), history[-1].tag, previous)

    def ending_after(self, sent: int, tag: str, previous: str) -> Ending | None:
        """The same after `sent` messages, the last two with these tags; "" is no message."""
        if not self.closes(sent, tag, previous):
            return None
        if tag == Tag.REJECT:
            return Ending.REJECTED
        stopped = tag == Tag.RATIFY and (previous == Tag.RATIFY or sent < self.n)
        return Ending.RATIFIED if stopped else Ending.BOUND

    def closes(self, sent: int, tag: str, previous: str) -> bool:
        """Whether the session is over after `sent` messages, the last with `tag`.

        `previous` is the tag before it, "" where there is none. Both agents see the same messages,
        so both close, by the urgent row of the table.
        """
        table, rules = self.ruled, self.ruled.rules
        stored = tuple(_stored(self, sent - 1 if previous else sent).values())
        for label in filter(None, (previous, tag)):
            rows = [row for row in table.transitions if row.kind is Kind.RECEIVE]
            row = next((row for row in rows if row.label == label), rows[0])
            stored = (*stored[: len(rules.parameters)], *rules.step(row, stored))
        return any(rules.when(row, stored) for row in table.transitions if row.urgent)


@dataclass(frozen=True, slots=True)
class Pxp:
    """PXP, unbounded, or PXP(k): each self-loop on a tag is taken at most `k` times.

    `term` decides when an agent answers with TERM; `hang_up`, off by default, when one sends TERM
    right after its own message (tag sent, tag that it answered). `table` is as in `Interact`.
    Raises `UsageError` for a k that is no `int` of at least 1, and for the table of another
    protocol.

    >>> import pxp_fsm as pxp
    >>> pxp.Pxp(k=2).name
    'pxp'
    """

    k: int | None = None
    term: TermPolicy = concluded
    hang_up: TermPolicy | None = None
    table: Automaton | None = field(default=None, repr=False, hash=False)

    def __post_init__(self) -> None:
        if self.k is not None:
            check_bound(self.k, "PXP(k) takes each self-loop at most k times, and k is")
        _check_table(self, "Pxp")

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
    def ruled(self) -> Automaton:
        """The table whose rules decide: one's own, or PXP's where that has none."""
        return _ruled(self.table, "pxp")

    @property
    def asks_each_time(self) -> bool:
        """Whether the respondent is asked for each message: PXP asks again when it has learned."""
        return self.ruled.rules.asks == "each"

    def depends_on_revision(self, category: Category, number: int) -> bool:
        """Whether the agent LEARNs before it decides."""
        return _depends_on_revision(self, category, number)

    @property
    def revision(self) -> tuple[Role, Role]:
        """What is compared for g': one's new pair, after learning, with the received one."""
        return _revision(self.ruled.rules)

    def revises(self, holds: bool) -> bool:
        """g': the pairs of `revision` match and agree."""
        return holds

    def carries(self, guard: str | None) -> Role:
        """Which pair a message under `guard` carries."""
        return _carried(self.ruled, guard)

    def guard(self, category: Category, revises: bool, number: int) -> Guard:
        """The guard that is true."""
        return _decided(self, category, holds=revises, number=number)

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
        if self.k is None:
            return False
        return self.forbids(
            reduce(self.remembers, (message.tag for message in history), self.first), answer
        )

    @property
    def first(self) -> Values:
        """What an agent remembers for PXP(k) before the first message; nothing without k."""
        return () if self.k is None else builtin(LIMITED).rules.initial

    def remembers(self, registers: Values, tag: str) -> Values:
        """What it remembers after a message with `tag`, sent or received."""
        return () if self.k is None else _counted(self.k, registers, tag)

    def forbids(self, registers: Values, tag: str) -> bool:
        """Whether PXP(k) sends TERM in place of `tag`, which has answered itself k times."""
        return self.k is not None and tag in _forbidden(self.k, registers)

    def hangs_up(self, history: Sequence[Message]) -> bool:
        """Whether the sender of the latest message hangs up right after it."""
        if self.hang_up is None or len(history) < 2:
            return False
        return self.hang_up(history[-1].tag, history[-2].tag)

    def ending(self, history: Sequence[Message]) -> Ending | None:
        """TERM ends the session; nothing else does."""
        return self.ending_after(len(history), history[-1].tag, "")

    def ending_after(self, sent: int, tag: str, previous: str) -> Ending | None:
        """The same after `sent` messages, the last two with these tags; "" is no message."""
        return Ending.TERM if tag == Tag.TERM else None


Rules = Interact | Pxp
"""The protocol that a session follows."""

LIMITED = "pxp_k"
"""The table of PXP(k): PXP's, in which a guard FULL sends TERM where a tag has been used up."""


@lru_cache(maxsize=4096)
def _counted(k: int, registers: Values, tag: str) -> Values:
    """The registers of PXP(k) after a message: both agents count each, sent or received."""
    table = builtin(LIMITED)
    rows = (row for row in table.transitions if row.kind is Kind.RECEIVE and row.label == tag)
    row = next(rows, None)
    return registers if row is None else table.rules.step(row, (k, *registers))


@lru_cache(maxsize=4096)
def _forbidden(k: int, registers: Values) -> frozenset[str]:
    """The tags whose guards are false now, whatever MATCH and AGREE say: FULL holds instead."""
    table = builtin(LIMITED)
    state = next(iter(table.rules.deciding))
    known = dict(zip(table.rules.stored, (k, *registers), strict=True))
    possible = table.rules.possible(state, known)
    return frozenset(
        row.label for row in table.leaving(state) if row.guard and row.guard not in possible
    ) - {Tag.TERM}


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
    table = rules.ruled.rules
    state, known = next(iter(table.deciding)), _stored(rules, number)
    left = list(answers)
    while True:
        question = table.next_question(state, known)
        if isinstance(question, str):
            return Guard(question)
        first, second = map(Role, question.roles)
        if not revises and Role.NEW in question.roles:  # the new pair is one's own
            known[question.name] = Role.OWN in question.roles
        elif left:
            known[question.name] = left.pop(0)
        else:
            return Comparison(question.relation, first, second)


def _ruled(table: Automaton | None, protocol: str) -> Automaton:
    return table if table is not None and table.rules.deciding else builtin(protocol)


def _stored(rules: Rules, number: int) -> dict[str, Value]:
    """Parameters and registers before message `number`; of the registers only j, the messages so
    far, is what it will be: guards read no other one (`_check_table`)."""
    table, bounds = rules.ruled.rules, {"n": rules.n, "k": rules.k}
    stored: dict[str, Value] = {
        parameter.name: bounds[parameter.name] or 0 for parameter in table.parameters
    }
    for register in table.registers:
        stored[register.name] = number - 1 if register.name == COUNTER else register.initial
    return stored


def _answers(rules: Rules, category: Category, holds: bool) -> dict[str, Value]:
    """What the oracles say in a category; those about a new pair, whether it `holds`."""
    match, agree = category in (Category.A, Category.B), category in (Category.A, Category.C)
    return {
        oracle.name: holds
        if Role.NEW in oracle.roles
        else (match if oracle.relation == MATCH else agree)
        for oracle in rules.ruled.rules.oracles
    }


def _decided(rules: Rules, category: Category, *, holds: bool, number: int) -> Guard:
    table = rules.ruled.rules
    values = {**_stored(rules, number), **_answers(rules, category, holds)}
    return Guard(table.decide(next(iter(table.deciding)), tuple(values.values())))


def _depends_on_revision(rules: Rules, category: Category, number: int) -> bool:
    table = rules.ruled.rules
    known = _stored(rules, number)
    roles = {oracle.name: oracle.roles for oracle in table.oracles}
    for name, answer in _answers(rules, category, holds=True).items():
        if Role.NEW not in roles[name]:
            known[name] = answer
    return not isinstance(table.next_question(next(iter(table.deciding)), known), str)


def _revision(table: TableRules) -> tuple[Role, Role]:
    """The roles that the oracles about a new pair compare."""
    roles = next(oracle.roles for oracle in table.oracles if Role.NEW in oracle.roles)
    first, second = map(Role, roles)
    return first, second


def _carried(table: Automaton, guard: str | None) -> Role:
    rows = (row for row in table.transitions if row.kind is Kind.SEND and row.guard == guard)
    return Role(next((row.carry for row in rows), Role.NEW))


def _check_table(rules: Rules, protocol: str) -> None:
    """Raise `UsageError` where the table is of a protocol that sessions of two do not follow."""
    table = rules.table
    if table is None:
        return
    tags = {transition.label for transition in table.transitions}
    if not set(table.guards) <= set(GUARDS) or Tag.INIT not in tags:
        problem = f"guards out of {', '.join(GUARDS)}, and the tag INIT"
    else:
        problem = _rules_problem(table.rules)
    if problem:
        raise UsageError(
            f"{table.name} is a protocol of its own, and {protocol}(table=...) takes only a "
            f"variant of its own table: {problem}. Run another protocol as "
            f"pxp.Session(system, members) with a pxp.System, or from a file with pxp run"
        )


def _rules_problem(table: TableRules) -> str:
    """What a variant's rules may read, where they read more; else ""."""
    if not table.deciding:
        return ""
    if any(parameter.name not in ("n", "k") for parameter in table.parameters):
        return "the parameters n and k"
    if any(not oracle.relation for oracle in table.oracles):
        return "oracles that are relations"
    registers = {register.name for register in table.registers}
    read = {name for when in table.whens.values() if when for name in names_in(when)}
    if read & registers - {COUNTER}:
        return f"guards that read of the registers {COUNTER} alone, the messages so far"
    if not _remembers_two(table, registers):
        return "registers that follow from the last two tags, and from the number of messages"
    return ""


def _remembers_two(table: TableRules, registers: Set[str]) -> bool:
    """Whether registers hold what the last two tags and the number of messages say.

    One that reads only the tag and the counter knows the last message; one that reads such ones,
    the last two.
    """
    reads = {
        name: names_in(table.on_message[name]) & registers - {COUNTER}
        for name in registers - {COUNTER}
        if name in table.on_message
    }
    last = {name for name, read in reads.items() if not read}
    counts = table.on_message.get(COUNTER)
    counted = COUNTER not in registers or (
        counts is not None and str_of(counts) == f"{COUNTER} + 1"
    )
    return counted and all(read <= last for read in reads.values())


def _possible(rules: Rules, number: int) -> tuple[Guard, ...]:
    table = rules.ruled.rules
    guards = table.possible(next(iter(table.deciding)), _stored(rules, number))
    return tuple(guard for guard in GUARDS if guard in guards)
