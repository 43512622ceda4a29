"""MATCH or AGREE as an unknown relation: every answer that its assumptions allow.

A session compares at most three values at a time: the latest of each agent, and a fresh one. Under
every set of assumptions in question the finite structures that satisfy it can be amalgamated over
what they share, so whatever is possible for the values in play is possible whatever was said
before. A state therefore keeps how the latest two values are related and nothing of their
identity, and the result is that for any number of values.

Every session is a run of this model: take the values in play as points, two points for two messages
with the same value, related as their values are. Each law holds of these points, and the model
allows every relation that the laws allow.

Every run is a session. Along a run, build a relation R on all values so far. Let B be these values
with the relation built, A, a part of B, the two that are kept, and C = A and c with the relation
that the step chose; on A both are the same. Relate the values of B as in B and those of C as in C.
If the laws include *transitive*, relate also b of B to c if R(b, a) in B and R(a, c) in C for some
a of A, and c to b if R(c, a) and R(a, b). This changes nothing within B or C, and keeps each law: a
step over two values of A can be taken through either of B and C, where the law holds. So at the
run's end there are values and relations with which two agents take it. A violation needs only c,
two values of B and two of A, which is why the checker can try it by enumeration.

Without *deterministic* a relation is no set of pairs: each answer is free, but for a value that is
compared with itself where *reflexive* holds. Then equality of values is built by the same argument.
PXP never compares a point with itself, so its relations may be taken for reflexive.

`Judgements` says what both may answer at a message, and what the decision functions make of it. It
remembers that: at later messages, and in other states with the same data, the same is possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from itertools import groupby, product
from typing import NamedTuple

from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.decisions import Guard
from pxp_fsm.protocol.relations import Assumption
from pxp_fsm.protocol.rules import CATEGORY, MATCH, Role, Rules, derive

Pairs = frozenset[tuple[int, int]]


class Structure(NamedTuple):
    """How some values are related, for each of the two agents' relations, and which are equal.

    Points are numbered from 0; `left` and `right` are the relations of the first and the second
    agent. `equal` is kept only where it matters: *reflexive* without *deterministic*.
    """

    points: int
    left: Pairs = frozenset()
    right: Pairs = frozenset()
    equal: Pairs = frozenset()

    def of(self, agent: int) -> Pairs:
        """The relation of agent 0 or 1."""
        return self.right if agent else self.left

    def keep(self, *points: int) -> Structure:
        """The structure on the given points alone, renumbered in that order."""
        return Structure(
            len(points), *(_restricted(r, points) for r in (self.left, self.right, self.equal))
        )


def _restricted(pairs: Pairs, points: tuple[int, ...]) -> Pairs:
    numbered = list(enumerate(points))
    return frozenset((i, j) for i, p in numbered for j, q in numbered if (p, q) in pairs)


EMPTY = Structure(0)


@dataclass(frozen=True)
class Theory:
    """What may be assumed of a relation; `extensions` and `answers` are its consequences.

    Of the agent `free` nothing is assumed: its answers are free, and the assumptions are about the
    other's relation.
    """

    assumptions: frozenset[Assumption]
    free: int | None = None

    @property
    def deterministic(self) -> bool:
        return Assumption.DETERMINISTIC in self.assumptions

    def extensions(self, base: Structure) -> tuple[Structure, ...]:
        """Every structure with one more point (the last) that is `base` without it."""
        if base not in self._extensions:
            self._extensions[base] = tuple(self._extend(base))
        return self._extensions[base]

    @cached_property
    def _extensions(self) -> dict[Structure, tuple[Structure, ...]]:
        return {}

    def answers(self, structure: Structure, agent: int, left: int, right: int) -> tuple[bool, ...]:
        """What the agent's relation may say of the ordered pair, now."""
        if agent == self.free:
            return (False, True)
        if self.deterministic:
            return ((left, right) in structure.of(agent),)
        same = left == right or (left, right) in structure.equal
        if same and Assumption.REFLEXIVE in self.assumptions:
            return (True,)
        return (False, True)

    def _extend(self, base: Structure) -> Iterator[Structure]:
        new = base.points
        if not self.deterministic:
            if Assumption.REFLEXIVE in self.assumptions:
                yield from _with_identity(base)
            else:
                yield Structure(new + 1)
            return
        fresh = [(new, new), *((p, new) for p in range(new)), *((new, p) for p in range(new))]
        if self.free is not None:
            known = self._relations(base.of(1 - self.free), fresh, new + 1)
            yield from (
                Structure(new + 1, r) if self.free else Structure(new + 1, right=r) for r in known
            )
            return
        lefts = list(self._relations(base.left, fresh, new + 1))
        if Assumption.SHARED in self.assumptions:
            yield from (Structure(new + 1, pairs, pairs) for pairs in lefts)
            return
        rights = list(self._relations(base.right, fresh, new + 1))
        yield from (Structure(new + 1, left, right) for left, right in product(lefts, rights))

    def _relations(self, base: Pairs, fresh: list[tuple[int, int]], points: int) -> Iterator[Pairs]:
        for chosen in product((False, True), repeat=len(fresh)):
            pairs = base | {pair for pair, held in zip(fresh, chosen, strict=True) if held}
            if self._allows(pairs, points):
                yield pairs

    def _allows(self, pairs: Pairs, points: int) -> bool:
        a = self.assumptions
        if Assumption.REFLEXIVE in a and any((p, p) not in pairs for p in range(points)):
            return False
        if Assumption.SYMMETRIC in a and any((q, p) not in pairs for p, q in pairs):
            return False
        return Assumption.TRANSITIVE not in a or all(
            (p, s) in pairs for p, q in pairs for r, s in pairs if q == r
        )


def _with_identity(base: Structure) -> Iterator[Structure]:
    """One more point, equal to none or to one class of the points that are there."""
    new = base.points
    yield Structure(new + 1, equal=base.equal)
    classes = dict.fromkeys(
        frozenset(q for q in range(new) if p == q or (p, q) in base.equal) for p in range(new)
    )
    for members in classes:
        both = {(p, new) for p in members} | {(new, p) for p in members}
        yield Structure(new + 1, equal=base.equal | both)


Data = tuple[Structure, Structure]
"""How the latest predictions are related, and how the latest explanations are."""

Said = tuple[bool, bool]
"""`same` and `revision` of a `RelationOutcome`."""


class RelationOutcome(NamedTuple):
    """What one relation said at a message, and how the latest two values are related after it.

    `same` compares the received value with one's own; `revision` is the answer on which REVISE
    depends (INTERACT: the new value with one's own; PXP: the new value with the received one).
    `kept` and `taken` are the structures if the agent keeps its value, or takes the new one.
    """

    same: bool
    revision: bool
    kept: Structure
    taken: Structure


class GuardOutcome(NamedTuple):
    """A guard that may hold, the data that follow, and the answers of MATCH and AGREE to it.

    `answers` are in the order in which an agent with derived guards asks.
    """

    guard: Guard
    data: Data
    answers: tuple[bool, ...]


class DerivedGuard(NamedTuple):
    """A guard that follows from answers, those that were asked for, and if a new pair is sent."""

    guard: Guard
    answers: tuple[bool, ...]
    takes: bool


@dataclass(frozen=True)
class Judgements:
    """The judgements of two agents under `rules` whose relations are as `theory` says.

    With `keeps_unchanged` an answer that counts as unchanged is not sent, one's previous one is.
    """

    rules: Rules
    theory: Theory
    keeps_unchanged: bool = False

    def judge(self, base: Structure, speaker: int, number: int) -> tuple[RelationOutcome, ...]:
        """Everything that the speaker's relation may say at message `number`, 2 or later."""
        key = (base, speaker, number == 2)
        if key not in self._judged:
            # agreement first, not in a set's order: traces are always the same
            outcomes = dict.fromkeys(self._judge(*key))
            self._judged[key] = tuple(sorted(outcomes, key=_said, reverse=True))
        return self._judged[key]

    def outcomes(self, data: Data, speaker: int, number: int) -> tuple[GuardOutcome, ...]:
        """Every guard that may hold at message `number`, with every data that may follow."""
        key = (data, speaker, number)
        if key not in self._at_number:
            y, e = (self.judge(part, speaker, number) for part in data)
            pairs = product(dict.fromkeys(map(_said, y)), dict.fromkeys(map(_said, e)))
            derived = {pair: self.derived(number, *pair) for pair in pairs}
            # other numbers with the same guards have the same outcomes
            alike = (data, speaker, number == 2, tuple(derived.values()))
            if alike not in self._outcomes:
                self._outcomes[alike] = _outcomes(y, e, derived)
            self._at_number[key] = self._outcomes[alike]
        return self._at_number[key]

    def outcome(self, y: RelationOutcome, e: RelationOutcome, number: int) -> GuardOutcome:
        """What the protocol's decision functions make of the two relations' answers."""
        guard, answers, takes = self.derived(number, _said(y), _said(e))
        return GuardOutcome(guard, (y.taken, e.taken) if takes else (y.kept, e.kept), answers)

    @cached_property
    def derived(self) -> Callable[[int, Said, Said], DerivedGuard]:
        """The guard at a message by `same` and `revision` of each relation, remembered."""
        return cache(self._derive)

    @cached_property
    def _judged(self) -> dict[tuple[Structure, int, bool], tuple[RelationOutcome, ...]]:
        return {}

    @cached_property
    def _at_number(self) -> dict[tuple[Data, int, int], tuple[GuardOutcome, ...]]:
        return {}

    @cached_property
    def _outcomes(
        self,
    ) -> dict[tuple[Data, int, bool, tuple[DerivedGuard, ...]], tuple[GuardOutcome, ...]]:
        return {}

    def _derive(self, number: int, y: Said, e: Said) -> DerivedGuard:
        answers = list[bool]()
        while not isinstance(decision := derive(self.rules, number, answers), Guard):
            same, revision = y if decision.relation == MATCH else e
            answers.append(same if (decision.left, decision.right) == CATEGORY else revision)
        takes = self.rules.carries(decision) is Role.NEW
        if self.keeps_unchanged and y[1] and e[1]:
            takes = False
        return DerivedGuard(decision, tuple(answers), takes)

    def _judge(self, base: Structure, speaker: int, second: bool) -> Iterator[RelationOutcome]:
        """The same for message 2, or for a later one: nothing else of the number matters."""
        theory, changes = self.theory, self.rules.asks_each_time
        for mine in theory.extensions(base) if second else (base,):
            own, other = (1, 0) if second else (speaker, 1 - speaker)
            at_once = second and changes
            fresh = own if at_once else mine.points
            for structure in (mine,) if at_once else theory.extensions(mine):
                taken = structure.keep(0, fresh) if speaker else structure.keep(fresh, 1)
                points = {Role.RECEIVED: other, Role.OWN: own, Role.NEW: fresh}
                pairs = ([points[role] for role in of] for of in (CATEGORY, self.rules.revision))
                first, then = (theory.answers(structure, speaker, *pair) for pair in pairs)
                for same, revision in product(first, then):
                    yield RelationOutcome(same, revision, mine, taken)


def _outcomes(
    ys: tuple[RelationOutcome, ...],
    es: tuple[RelationOutcome, ...],
    derived: Mapping[tuple[Said, Said], DerivedGuard],
) -> tuple[GuardOutcome, ...]:
    """Each guard with each data once, in the order of the judgements."""
    distinct: dict[tuple[Guard, Data], GuardOutcome] = {}
    alike = [(told, list(some)) for told, some in groupby(es, key=_said)]
    groups = [
        (told, dict.fromkeys(e.kept for e in some), dict.fromkeys(e.taken for e in some))
        for told, some in alike
    ]
    for y in ys:
        for known, kept, taken in groups:
            guard, answers, takes = derived[_said(y), known]
            first, others = (y.taken, taken) if takes else (y.kept, kept)
            for other in others:
                data = (first, other)
                if (guard, data) not in distinct:
                    distinct[guard, data] = GuardOutcome(guard, data, answers)
    return tuple(distinct.values())


def _said(judged: RelationOutcome) -> Said:
    return judged.same, judged.revision
