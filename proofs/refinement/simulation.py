"""Simulation: whether the second can answer every step of the first, again and again.

A pair of states is lost if the first state has a step that the second answers only with lost pairs,
or not at all. Only pairs are looked at that the play can come to, and a pair of one state with
itself is never lost. Pairs are lost in the order of how soon the first can win, so a formula of
least depth can be read off. With p pairs, of which each has at most d answers and is an answer of
at most d others, this is O(p d^2), and p is at most the product of the numbers of classes (Milner,
An Algebraic Definition of Simulation between Programs, IJCAI 1971; Henzinger, Henzinger and Kopke,
Computing Simulations on Finite and Infinite Graphs, FOCS 1995, have better bounds).
"""

from __future__ import annotations

from dataclasses import field

from proofs.core.explore import TooLarge
from proofs.core.graphs import turned_round
from proofs.core.kernels import Array
from proofs.core.table_search import place_of, shift_for
from proofs.core.webassembly import I32, I64
from proofs.refinement.partition import Labelled
from pxp_fsm.lazy_dataclasses import dataclass

MOST_PAIRS, MOST_ANSWERS = 10_000_000, 60_000_000
"""How many pairs of states are looked at, and how many answers."""


@dataclass(frozen=True)
class Play:
    """The pairs that were met, and when each was lost: 0 where it never is.

    Pair i is `firsts[i]` and `seconds[i]`; pair 0 is where the play begins. `is_forced` says that
    no step had more than one answer.
    """

    graph: Labelled
    firsts: Array
    seconds: Array
    lost: Array
    is_forced: bool
    slots: Array = field(repr=False)

    @property
    def simulated(self) -> bool:
        return not self.lost[0]

    def time(self, first: int, second: int) -> int | None:
        """When a pair is lost; 0 for never, None where it was not met."""
        low = len(self.slots) - 1
        slot = place_of(first * self.graph.states + second, shift_for(len(self.slots)), low)
        while (number := self.slots[slot] - 1) >= 0:
            if (self.firsts[number], self.seconds[number]) == (first, second):
                return int(self.lost[number])
            slot = (slot + 1) & low
        return None

    def is_simulated(self, first: int, second: int) -> bool:
        """Whether a state is known to be simulated by another."""
        return first == second or self.time(first, second) == 0

    def losing_step(self, first: int, second: int) -> tuple[int, int, list[int]]:
        """The step by which a lost pair is lost soonest: its label, its target, its answers."""
        steps = []
        for label, target in self.graph.edges(first):
            answers = [to for with_label, to in self.graph.edges(second) if with_label == label]
            times = [self.time(target, answer) or 0 for answer in answers]
            if all(times):
                steps.append((max(times, default=0), label, target, answers))
        _, label, target, answers = min(steps)
        return label, target, answers


def play(graph: Labelled, first: int, second: int) -> Play:
    """The play in which `second` answers the steps of `first`.

    The edges of a state are sorted by their labels, as a quotient has them. Raises `TooLarge`.
    """
    runner = graph.runner
    pairs, room, size = 1 << 10, 1 << 12, 1 << 11
    while True:
        firsts, seconds = runner.new("i", pairs), runner.new("i", pairs)
        offsets, targets = runner.new("i", pairs + 1), runner.new("i", room)
        slots, at = runner.new("i", size), runner.new("q", 2)
        firsts[0], seconds[0] = first, second
        missing = runner.run(
            meet,
            *(graph.offsets, graph.targets, graph.labels),
            *(firsts, seconds, offsets, targets, slots, at),
        )
        if not missing:
            break
        for unused in (at, slots, targets, offsets, seconds, firsts):
            runner.release(unused)
        if missing == NO_PAIRS:
            pairs, size = 4 * pairs, 4 * size
        else:
            room *= 4
        if pairs > MOST_PAIRS or room > MOST_ANSWERS:
            raise TooLarge(
                f"more than {MOST_PAIRS // 4:,} pairs of states or {MOST_ANSWERS // 4:,} answers"
            )
    count, is_forced = at[0], not at[1]
    firsts, seconds, offsets = firsts[:count], seconds[:count], offsets[: count + 1]
    targets = targets[: offsets[count]]
    starts, sources = turned_round(runner, offsets, targets, count)
    lost, queue = runner.new("i", count), runner.new("i", count)
    runner.run(
        lose,
        *(graph.offsets, graph.labels),
        *(firsts, seconds, targets, offsets, starts, sources, lost, queue),
    )
    return Play(graph, firsts, seconds, lost, is_forced, slots)


NO_PAIRS, NO_ANSWERS = 1, 2


def meet(
    offsets: I32,
    targets: I32,
    labels: I32,
    firsts: I32,
    seconds: I32,
    pair_offsets: I32,
    pair_targets: I32,
    slots: I32,
    at: I64,
) -> int:
    """Every pair that can be met from pair 0, and for each the pairs that answers lead to.

    They stand in the order of the steps, and those of one step in the order of the answers; both
    are sorted by their labels, so that the answers to a step are found without going back. A slot
    has the number of a pair plus one. `at` gets the number of pairs, and whether a step has several
    answers.
    """
    low, count, place = len(slots) - 1, 1, 0
    shift, states = shift_for(len(slots)), len(offsets) - 1
    slots[place_of(firsts[0] * states + seconds[0], shift, low)] = 1
    at[1], number, pair_offsets[0] = 0, 0, 0
    while number < count:
        first, second = firsts[number], seconds[number]
        if first != second:
            begin, end = offsets[second], offsets[second + 1]
            for step in range(offsets[first], offsets[first + 1]):
                label, left = labels[step], targets[step]
                while begin < end and labels[begin] < label:
                    begin += 1
                answer = begin
                while answer < end and labels[answer] == label:
                    right = targets[answer]
                    answer += 1
                    slot = place_of(left * states + right, shift, low)
                    while slots[slot] != 0 and (
                        firsts[slots[slot] - 1] != left or seconds[slots[slot] - 1] != right
                    ):
                        slot = (slot + 1) & low
                    if slots[slot] == 0:
                        if count == len(firsts):
                            return NO_PAIRS
                        firsts[count], seconds[count] = left, right
                        count += 1
                        slots[slot] = count
                    if place == len(pair_targets):
                        return NO_ANSWERS
                    pair_targets[place] = slots[slot] - 1
                    place += 1
                if answer > begin + 1:
                    at[1] = 1
        number += 1
        pair_offsets[number] = place
    at[0] = count
    return 0


def lose(
    offsets: I32,
    labels: I32,
    firsts: I32,
    seconds: I32,
    pair_targets: I32,
    pair_offsets: I32,
    starts: I32,
    sources: I32,
    lost: I32,
    queue: I32,
) -> int:
    """Say of each pair when it is lost, from 1; how many are.

    `queue` has the lost pairs in the order of their times. A pair that has nobody to answer a step
    is lost at 1; another one when it is found lost beside a pair that is taken from the queue, and
    then its last answer was that pair, or one of the same time.
    """
    waiting, done = 0, 0
    for number in range(len(firsts)):
        own = is_lost_now(
            offsets,
            labels,
            firsts[number],
            seconds[number],
            pair_offsets[number],
            pair_targets,
            lost,
            1,
        )
        if own:
            queue[waiting] = number
            waiting += 1
    for number in range(waiting):
        lost[queue[number]] = 1
    while done < waiting:
        pair = queue[done]
        done += 1
        for place in range(starts[pair], starts[pair + 1]):
            source = sources[place]
            if lost[source] == 0:
                own = is_lost_now(
                    offsets,
                    labels,
                    firsts[source],
                    seconds[source],
                    pair_offsets[source],
                    pair_targets,
                    lost,
                    lost[pair] + 1,
                )
                if own:
                    lost[source] = lost[pair] + 1
                    queue[waiting] = source
                    waiting += 1
    return waiting


def is_lost_now(
    offsets: I32,
    labels: I32,
    first: int,
    second: int,
    place: int,
    pair_targets: I32,
    lost: I32,
    time: int,
) -> int:
    """1 where some step of `first` has no answer but with pairs that were lost before `time`.

    The pairs of the answers stand from `place` on, as `meet` wrote them.
    """
    if first == second:
        return 0
    at, begin, end = place, offsets[second], offsets[second + 1]
    for step in range(offsets[first], offsets[first + 1]):
        label, answered = labels[step], 0
        while begin < end and labels[begin] < label:
            begin += 1
        answer = begin
        while answer < end and labels[answer] == label:
            pair = pair_targets[at]
            at += 1
            answer += 1
            if lost[pair] == 0 or lost[pair] >= time:
                answered = 1
        if answered == 0:
            return 1
    return 0
