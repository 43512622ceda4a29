"""Whether one behaviour is included in another, or equivalent to it, and what tells them apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from proofs.core.explore import TooLarge, Trace
from proofs.core.results import Status, Verdict
from proofs.refinement.behaviour import ENDED_LABEL, ActionGraph, Joint, joint
from proofs.refinement.formulas import Can, TooLong, not_answered, telling_apart
from proofs.refinement.partition import Labelled, Partition, refined
from proofs.refinement.saturation import saturated
from proofs.refinement.simulation import Play, play
from proofs.refinement.traces import Path, first_missing
from pxp_fsm.lazy_dataclasses import dataclass

TRACES, SIMULATION, STRONG, WEAK = (
    "trace-inclusion",
    "simulation",
    "strong-bisimilarity",
    "weak-bisimilarity",
)

TITLES = {
    TRACES: "every sequence of actions of the first is one of the second",
    SIMULATION: "the second answers every step of the first, again and again",
    STRONG: "each answers every step of the other by one step, again and again",
    WEAK: "each answers every step of the other, hidden steps aside, again and again",
}
"""The relations, each with what it says; a bisimilarity implies both inclusions."""

_ORDINALS = ("the first", "the second")


@dataclass(frozen=True)
class Refinement:
    """Two behaviours side by side; what each relation needs is computed when it is asked for.

    The classes of strong bisimilarity are found first; everything else is decided on the classes of
    weak bisimilarity of those.
    """

    pair: Joint

    @classmethod
    def of(cls, left: ActionGraph, right: ActionGraph, hidden: tuple[str, ...] = ()) -> Refinement:
        """The comparison of two behaviours; raises `UsageError` where they have no actions alike.

        Actions that fit one of the patterns `hidden` are not observed.
        """
        return cls(joint(left, right, hidden))

    def decide(self, relation: str) -> Verdict:
        """The verdict on a relation of `TITLES`; UNKNOWN where it would need too much."""
        decide = {
            TRACES: self._included,
            SIMULATION: self._simulated,
            STRONG: self._strong,
            WEAK: self._weak,
        }
        try:
            return decide[relation]()
        except TooLarge as error:
            return Verdict(Status.UNKNOWN, str(error))

    @cached_property
    def _partition(self) -> Partition:
        pair = self.pair
        return refined(Labelled(pair.runner, pair.offsets, pair.targets, pair.labels))

    @cached_property
    def _steps(self) -> Labelled:
        """The classes of strong bisimilarity, with their weak steps."""
        return saturated(self._partition.quotient())

    @cached_property
    def _weak_partition(self) -> Partition:
        return refined(self._steps)

    @cached_property
    def _classes(self) -> Labelled:
        """The classes of weak bisimilarity, with their weak steps: none of the other relations
        tells states of one class apart."""
        return self._weak_partition.quotient()

    @cached_property
    def _class_of(self) -> Sequence[int]:
        """The class of weak bisimilarity of each state."""
        classes: Sequence[int] = self._weak_partition.after(self._partition.class_of)
        return classes

    @cached_property
    def _starts(self) -> tuple[int, int]:
        """The classes of weak bisimilarity in which the two begin."""
        left, right = (int(self._class_of[state]) for state in self.pair.starts)
        return left, right

    @cached_property
    def _plays(self) -> dict[int, Play]:
        return {}

    def _play(self, side: int) -> Play:
        """The play in which the other side answers the steps of this one."""
        if side not in self._plays:
            self._plays[side] = play(self._classes, self._starts[side], self._starts[1 - side])
        return self._plays[side]

    @cached_property
    def _paths(self) -> dict[int, Path | None]:
        return {}

    def _missing(self, side: int) -> Path | None:
        """A shortest path of one side whose actions the other cannot do; None if there is none."""
        if side not in self._paths:
            self._paths[side] = self._search(side)
        return self._paths[side]

    def _search(self, side: int) -> Path | None:
        first, second = self._starts[side], self._starts[1 - side]
        if first == second:
            return None
        try:
            known = self._play(side)
        except TooLarge:
            # Without the play the subset construction has less to leave out.
            return first_missing(self._classes, first, second, int.__eq__)
        if known.simulated:
            return None
        if known.is_forced:
            return _forced(known, first, second)
        return first_missing(self._classes, first, second, known.is_simulated)

    def _included(self) -> Verdict:
        path = self._missing(0)
        return Verdict(Status.HOLDS) if path is None else self._not_done(0, path)

    def _simulated(self) -> Verdict:
        left, right = self._starts
        if left == right or self._play(0).simulated:
            return Verdict(Status.HOLDS)
        shown = self._trace_of(0)
        return shown or self._differing(lambda: not_answered(self._play(0), left, right))

    def _strong(self) -> Verdict:
        left, right = self.pair.starts
        if self._partition.class_of[left] == self._partition.class_of[right]:
            return Verdict(Status.HOLDS)
        shown = self._trace_of(0) or self._trace_of(1)
        return shown or self._differing(lambda: telling_apart(self._partition, left, right))

    def _weak(self) -> Verdict:
        left, right = self._starts
        if left == right:
            return Verdict(Status.HOLDS)
        shown = self._trace_of(0) or self._trace_of(1)
        if shown is not None:
            return shown
        strong = [int(self._partition.class_of[state]) for state in self.pair.starts]
        return self._differing(lambda: telling_apart(self._weak_partition, *strong))

    def _trace_of(self, side: int) -> Verdict | None:
        """FAILS with a trace that only this side has; None where none is found."""
        try:
            path = self._missing(side)
        except TooLarge:
            return None
        return None if path is None else self._not_done(side, path)

    def _not_done(self, side: int, path: Path) -> Verdict:
        own, other = _ORDINALS[side], _ORDINALS[1 - side]
        has_ended = path[-1][0] == ENDED_LABEL
        reason = (
            f"{own} can have ended here, and {other} cannot"
            if has_ended
            else f"{own} can do this, and {other} cannot do the last step"
        )
        trace: Trace[object] = self.pair.run(side, path, self._class_of)
        return Verdict(Status.FAILS, reason, trace)

    def _differing(self, formula: Callable[[], Can]) -> Verdict:
        """FAILS with a formula, where no trace tells the two apart."""
        try:
            words = formula().words(self.pair.alphabet)
        except TooLong:
            words = "a formula that is too long to be read"
        return Verdict(Status.FAILS, f"of the first, not of the second, it is true: {words}")


def _forced(known: Play, first: int, second: int) -> Path:
    """The path by which a pair is lost soonest, where no step has several answers."""
    path: Path = []
    while True:
        label, target, answers = known.losing_step(first, second)
        path.append((label, target))
        if not answers:
            return path
        first, (second,) = target, answers
