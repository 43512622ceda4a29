"""Tallies over the sessions of a run: curves, flows, categories, sequences; read without texts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from fractions import Fraction
from itertools import accumulate
from statistics import median

from backends.databases import SqlBlackboard
from backends.databases.recordings import Details, recorded_sessions
from backends.databases.records import CONCLUDED
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.decisions import Category, category
from pxp_fsm.protocol.intelligibility import ONE_WAY
from pxp_fsm.protocol.messages import Tag
from pxp_fsm.protocol.rules import Interact, Rules


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a message has its tag, as far as judgements tell.

    `category` compares what was received with one's own. `held` is whether MATCH and AGREE held of
    the new answer too: with one's previous one in INTERACT (if not, it changed), with what was
    received in PXP (if so, it was reconciled). None where that was not asked.
    """

    category: Category
    held: bool | None


@dataclass(frozen=True, slots=True)
class ObservedMessage:
    """One message: whose it is, its tag, the digest of its prediction, and why that tag.

    `reason` is None where nothing was judged: the first message, and tags that somebody named.
    """

    machine: bool
    tag: str
    prediction: str
    reason: Reason | None


@dataclass(frozen=True, slots=True)
class ObservedSession:
    """A session without its texts. The initiator is the machine, the responder the human."""

    session: str
    repetition: int
    position: int
    instance: str
    k: int | None
    ending: str | None
    steps: tuple[ObservedMessage, ...]


def observed(board: SqlBlackboard, run: str, *, reasons: bool = True) -> Iterator[ObservedSession]:
    """Every session of `run`, in the order in which they were planned; one at a time in memory.

    Without `reasons` no judgement is read, and every step's reason is None.
    """
    details = (Details.OUTCOMES,) if reasons else ()
    for session in recorded_sessions(board, run, *details):
        machine = session.initiator
        yield ObservedSession(
            session.session,
            session.repetition,
            session.position,
            session.instance,
            session.k,
            session.ending,
            tuple(
                ObservedMessage(
                    sender == machine,
                    tag,
                    y,
                    reason([answer.held for answer in judged]),
                )
                for _, sender, tag, y, _, judged in session.messages
            ),
        )


def reason(answers: Sequence[bool | None]) -> Reason | None:
    """The reason that the answers to a message's judgements, in their order, give; None is none.

    The first two are MATCH and AGREE of what was received with one's own; those after them are of
    the new answer.
    """
    if len(answers) < 2 or None in answers:
        return None
    match, agree, *rest = map(bool, answers)
    return Reason(category(match, agree), all(rest) if rest else None)


_READ = {Tag.RATIFY: 0, Tag.REFUTE: 1, Tag.REVISE: 2, Tag.REJECT: 3}
NOT_OVER = "not over"
KINDS = ("human", "machine", "two-way")
"""The curves of one-way intelligible sessions for each agent, and of two-way ones."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A median over repetitions with the least and the most, as the papers' error bars show."""

    number: int
    median: Fraction
    least: Fraction
    most: Fraction


@dataclass(frozen=True, slots=True)
class TagSituation:
    """What a tag answered: the category, whether REJECT was allowed yet (j > k), and the tag.

    `category` is None where no judgement led to the tag: somebody, or something else, named it.
    """

    category: Category | None
    late: bool
    tag: str


@dataclass
class RunTally:
    """Counts over the sessions of a run; `add` takes them one at a time and keeps none.

    Curves count sessions that the protocol itself ended, as Table 1 does; flows count all.
    """

    longest: int = 0
    curves: dict[tuple[str, int], Counter[int]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    totals: Counter[int] = field(default_factory=Counter)
    flows: Counter[tuple[int, str, str]] = field(default_factory=Counter)
    endings: Counter[tuple[int, str, str]] = field(default_factory=Counter)
    situations: Counter[tuple[TagSituation, bool]] = field(default_factory=Counter)
    sequences: Counter[tuple[str, ...]] = field(default_factory=Counter)
    by_repetition: dict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, session: ObservedSession) -> None:
        """Count one more session."""
        steps, ending = session.steps, session.ending or NOT_OVER
        self.longest = max(self.longest, len(steps))
        self.by_repetition[session.repetition][ending] += 1
        self.sequences[(*(step.tag for step in steps), ending)] += 1
        for number, step in enumerate(steps, start=1):
            following = steps[number].tag if number < len(steps) else None
            if following is not None:
                self.flows[number, step.tag, following] += 1
            else:
                self.endings[number, step.tag, ending] += 1
            if number > 1:
                late = session.k is not None and number > session.k
                self.situations[_situation(step, late), step.machine] += 1
        if ending in CONCLUDED:
            self.totals[session.repetition] += 1
            for number, kind, change in gains(steps):
                self.curves[kind, session.repetition][number] += change

    def curve(self, kind: str, until: int) -> tuple[CurvePoint, ...]:
        """How many sessions are in the class if they are cut after message 1, 2, … `until`."""
        return over_repetitions(
            [self._cumulated(kind, repetition, until) for repetition in sorted(self.totals)]
        )

    def _cumulated(self, kind: str, repetition: int, until: int) -> Sequence[int]:
        changes = self.curves.get((kind, repetition), Counter())
        return list(accumulate(changes[number] for number in range(1, until + 1)))


def over_repetitions(series: Sequence[Sequence[int | Fraction]]) -> tuple[CurvePoint, ...]:
    """Median, least and most of each place over the series of the repetitions."""
    return tuple(
        CurvePoint(
            number, median(map(Fraction, values)), Fraction(min(values)), Fraction(max(values))
        )
        for number, values in enumerate(zip(*series, strict=True), start=1)
    )


def gains(steps: Iterable[ObservedMessage]) -> Iterable[tuple[int, str, int]]:
    """Where a session enters (+1) or leaves (-1) a class of `KINDS`: message, class, change.

    A later REJECT takes a session out of a class, so that a curve may fall.
    """
    states = {True: "none", False: "none"}
    before = dict.fromkeys(KINDS, False)
    for number, step in enumerate(steps, start=1):
        if step.tag not in _READ:
            continue
        states[step.machine] = ONE_WAY.moves[states[step.machine]][_READ[Tag(step.tag)]]
        machine, human = (states[role] in ONE_WAY.accepting for role in (True, False))
        now = {"human": human, "machine": machine, "two-way": human and machine}
        for kind in KINDS:
            if now[kind] != before[kind]:
                yield number, kind, 1 if now[kind] else -1
        before = now


def _situation(step: ObservedMessage, late: bool) -> TagSituation:
    if step.reason is None:
        return TagSituation(None, False, step.tag)
    return TagSituation(step.reason.category, late and step.reason.category is Category.D, step.tag)


MEANING = {
    Category.A: ("matches", "agrees"),
    Category.B: ("matches", "differs"),
    Category.C: ("differs", "agrees"),
    Category.D: ("differs", "differs"),
}
"""What a category says of the prediction and of the explanation."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A row of the table: the case, the tag it gives, and how often each agent was in it."""

    category: str
    prediction: str
    explanation: str
    condition: str
    tag: str
    machine: int
    human: int


def rows(rules: Rules, tally: RunTally) -> tuple[Rule, ...]:
    """The table with the counts of a run; rows that the rules do not have come last."""
    named = dict.fromkeys(_named(rules))
    others = sorted(
        {situation for situation, _ in tally.situations} - {situation for situation, _ in named},
        key=lambda situation: (str(situation.category), situation.tag, situation.late),
    )
    return tuple(
        _row(tally, situation, condition)
        for situation, condition in (*named, *((other, _other(other)) for other in others))
    )


def _row(tally: RunTally, situation: TagSituation, condition: str) -> Rule:
    category = situation.category
    prediction, explanation = ("", "") if category is None else MEANING[category]
    counts = (tally.situations[situation, role] for role in (True, False))
    return Rule(
        "" if category is None else category.value,
        prediction,
        explanation,
        condition,
        situation.tag,
        *counts,
    )


def _other(situation: TagSituation) -> str:
    return "named, not derived" if situation.category is None else "by another rule"


def _named(rules: Rules) -> Iterator[tuple[TagSituation, str]]:
    rows = rules.automaton.transitions
    tags = {row.guard: row.label for row in rows if row.guard is not None}
    for answered_category in Category:
        for late in (False, True) if _depends_on_k(rules, answered_category) else (False,):
            number = (rules.k or 0) + late
            for revises in (True, False):
                guard = rules.guard(answered_category, revises, number)
                asked = revises if rules.depends_on_revision(answered_category, number) else None
                words = _condition(rules, late, asked, answered_category)
                yield TagSituation(answered_category, late, tags[guard.value]), words


def _depends_on_k(rules: Rules, category: Category) -> bool:
    return isinstance(rules, Interact) and category is Category.D


def _condition(rules: Rules, late: bool, revises: bool | None, category: Category) -> str:
    parts = []
    if _depends_on_k(rules, category):
        parts.append(f"message after {rules.k}" if late else f"message up to {rules.k}")
    if revises is not None and isinstance(rules, Interact):
        parts.append("answer changed" if revises else "answer unchanged")
    elif revises is not None:
        parts.append("reconciled" if revises else "not reconciled")
    return ", ".join(parts)
