"""What tells two states apart, as a formula of Hennessy and Milner, in words.

`can A then F`: some step A leads to a state of which F is true; `cannot A then F` is its negation;
`can A` asks nothing of what comes then. Two states that are not bisimilar differ in such a formula,
and one that is not simulated differs in one without `cannot` (Hennessy and Milner, Algebraic Laws
for Nondeterminism and Concurrency, JACM 32, 1985; how to read them off a partition is Cleaveland's,
On Automatically Explaining Bisimulation Inequivalence, CAV 1990).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from proofs.refinement.partition import Labelled, Partition
from proofs.refinement.simulation import Play
from pxp_fsm.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Can:
    """Some step with the label leads to a state with all of `then`; or none does, if `negated`."""

    label: int
    then: tuple[Can, ...] = ()
    negated: bool = False

    def size(self) -> int:
        """How many steps it speaks of."""
        return 1 + sum(part.size() for part in self.then)

    def words(self, alphabet: Sequence[str]) -> str:
        """The formula in words; `alphabet` has the actions by label."""
        then = [part.words(alphabet) for part in self.then]
        after = (
            f" then ({' and '.join(then)})"
            if len(then) > 1
            else "".join(f" then {t}" for t in then)
        )
        return f"{'cannot' if self.negated else 'can'} {alphabet[self.label]}{after}"


class TooLong(Exception):
    """A formula has more parts than anybody reads."""


LONGEST = 40
"""How many steps a formula has at most."""


@dataclass
class _Length:
    """How many steps a formula may still have."""

    left: int = field(default=LONGEST)

    def spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise TooLong


def telling_apart(partition: Partition, state: int, other: int) -> Can:
    """A formula that is true of `state` and false of `other`, which are not bisimilar.

    Raises `TooLong`.
    """
    return _apart(partition, state, other, _Length())


def _apart(partition: Partition, state: int, other: int, length: _Length) -> Can:
    length.spend()
    before = partition.parted(state, other) - 1
    for first, second, negated in ((state, other, False), (other, state, True)):
        answers = partition.graph.edges(second)
        for label, target in partition.graph.edges(first):
            own = partition.class_after(target, before)
            others = {
                partition.class_after(to, before): to for sent, to in answers if sent == label
            }
            if own not in others:
                then = [_apart(partition, target, to, length) for to in others.values()]
                needed = _needed(partition.graph, then, list(others.values()))
                return Can(label, needed, negated)
    raise AssertionError(f"states {state} and {other} are bisimilar")


def not_answered(play: Play, first: int, second: int) -> Can:
    """A formula without `cannot` that is true of `first` and not of `second`, a lost pair.

    Raises `TooLong`.
    """
    return _unanswered(play, first, second, _Length())


def _unanswered(play: Play, first: int, second: int, length: _Length) -> Can:
    length.spend()
    label, target, answers = play.losing_step(first, second)
    then = [_unanswered(play, target, answer, length) for answer in answers]
    return Can(label, _needed(play.graph, then, answers))


def _needed(graph: Labelled, parts: Sequence[Can], states: Sequence[int]) -> tuple[Can, ...]:
    """Parts of which one is false in each of these states, without those that others make needless.

    Each part is false in the state at its place; the shortest are left out first.
    """
    kept = list(dict.fromkeys(parts))
    false = {part: {state for state in states if not _is_true(graph, part, state)} for part in kept}
    for part in sorted(kept, key=Can.size):
        others = [false[other] for other in kept if other is not part]
        if set(states) <= set[int]().union(*others):
            kept.remove(part)
    return tuple(kept)


def _is_true(graph: Labelled, formula: Can, state: int) -> bool:
    can = any(
        all(_is_true(graph, part, target) for part in formula.then)
        for label, target in graph.edges(state)
        if label == formula.label
    )
    return can is not formula.negated
