"""Adaptive conformance tests of a program that chooses its own outputs, by uioco.

A program conforms if, after every trace of the table that is tested, it does only what the table
may do there, silence included. Tested are the suspension traces (Tretmans, 1996) in which each
input is given to a quiet program, and no state in which the program may then be leaves the input
unspecified; the latter makes it uioco (van der Bijl, Rensink, Tretmans, "Compositional testing with
ioco", FATES 2003). The tests are chosen while they run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from pxp_fsm.errors import NoAnswer, UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.conformance.observations import (
    START,
    Deviates,
    ObservedProgram,
    Reply,
    Tester,
    Unrepeatable,
)
from pxp_fsm.plugins.conformance.state_counting import CountingPlan
from pxp_fsm.plugins.conformance.suspension import Suspension, Transitions
from pxp_fsm.plugins.conformance.testing import REPLAYED, SEARCHED, alike

I = TypeVar("I")  # noqa: E741 - the field's letter for an input


@dataclass(frozen=True)
class Deviation(Generic[I]):
    """A sequence of inputs to which a program replied with what the table does not allow.

    `replies[0]` is what came after the reset. Of the last reply the first `place` outputs are
    allowed; then only `allowed` may come, where None is silence. No sequence of fewer inputs than
    `none_below` deviates, all were tried as often as the report says.
    """

    inputs: tuple[I, ...]
    replies: tuple[Reply, ...]
    place: int
    allowed: tuple[str | None, ...]
    none_below: int = 0

    @property
    def shortest(self) -> bool:
        """Whether it is known that no shorter sequence deviates."""
        return self.none_below >= len(self.inputs)


@dataclass(frozen=True)
class IocoReport(Generic[I]):
    """What the tests found.

    A program without a `deviation`, and with nothing `unknown`, conforms, provided that it shows
    each answer that it can give to a sequence within `repetitions` of it, and has at most `states`
    + `extra` observable states: `states` of its states answered differently. `unseen` are answers
    that the table allows and that never came, at the inputs that were given.
    """

    states: int
    extra: int
    repetitions: int
    tests: int
    inputs: int
    unseen: tuple[str, ...] = ()
    deviation: Deviation[I] | None = None
    unknown: str = ""

    @property
    def conforms(self) -> bool:
        """Whether every test was passed."""
        return self.deviation is None and not self.unknown


def conform_ioco(
    system: Transitions[I],
    subject: ObservedProgram[I],
    extra: int = 1,
    repetitions: int = 1,
    searched: int = SEARCHED,
) -> IocoReport[I]:
    """Test `subject` against `system` by uioco, with inputs given when it is quiet.

    Complete for programs that show each answer to a sequence of inputs within `repetitions` of it
    and have at most `extra` observable states beyond those that the tests tell apart. At most
    `searched` inputs are spent on the search for a shorter deviation. Raises `UsageError` where too
    many tests would be needed.
    """
    if extra < 0 or repetitions < 1:
        raise UsageError(
            f"extra states are at least 0 and repetitions at least 1, not {extra} and {repetitions}"
        )
    spec = Suspension(system)
    tester = Tester(spec, subject, repetitions)
    plan = CountingPlan(tester, extra)
    deviation, unknown = None, ""
    try:
        tester.want(tester.origin, START)
        tester.run()
        guess = plan.make()
        while tester.origin.due:
            tester.run(guess)
            guess = plan.make()
    except Deviates as deviates:
        try:
            deviation = _shortened(tester, deviates, searched)
        except (NoAnswer, Unrepeatable) as error:
            unknown = str(error) or _varies(repetitions)
    except (NoAnswer, Unrepeatable) as error:
        unknown = str(error) or _varies(repetitions)
    unseen = () if deviation or unknown else tuple(_unseen(tester))
    return IocoReport(
        plan.states, extra, repetitions, tester.tests, tester.inputs, unseen, deviation, unknown
    )


def _varies(repetitions: int) -> str:
    return (
        f"it did not give all of its answers to a sequence of inputs within {repetitions} "
        f"repetition{'s'[: repetitions != 1]}; take more of them, or make what it does depend on "
        f"the inputs alone"
    )


def _shortened(tester: Tester[I], deviation: Deviates, searched: int) -> Deviation[I]:
    """The deviation after all shorter sequences were tried, and it was replayed."""
    budget = tester.inputs + searched
    below = 0  # all sequences of so many inputs were tried
    _forget(tester)
    while below + 1 < len(deviation.inputs) - 1:
        level = [point for point in tester.points() if point.depth == below]
        left = [
            (point, number)
            for point in level
            for number in tester.spec.receives[point.node]
            if point.tried[number] < tester.repetitions
        ]
        if (below + 1) * len(left) * tester.repetitions > budget - tester.inputs:
            deviation = _without(tester, deviation, below)
            break
        for point, number in left:
            tester.want(point, number)
        try:
            tester.run()
        except Deviates as shorter:
            deviation = shorter
            _forget(tester)
        below += 1
    return _replayed(tester, deviation, min(below + 1, len(deviation.inputs) - 1))


def _forget(tester: Tester[I]) -> None:
    """Want nothing any more."""
    for point in (tester.origin, *tester.points()):
        point.wanted.clear()
        point.due = 0


def _without(tester: Tester[I], deviation: Deviates, below: int) -> Deviates:
    """The deviation with inputs left out, as long as what is left deviates."""
    place = 1
    while place < len(deviation.inputs) - 1 and len(deviation.inputs) - 1 > below:
        try:
            tester.replay(deviation.inputs[:place] + deviation.inputs[place + 1 :])
            place += 1
        except Deviates as shorter:
            deviation, place = shorter, 1
    return deviation


def _replayed(tester: Tester[I], deviation: Deviates, below: int) -> Deviation[I]:
    """The deviation, after it came `REPLAYED` times again."""
    inputs, shown = deviation.inputs, 0
    allowed = min(REPLAYED * tester.repetitions ** len(inputs), 1000)
    for _ in range(allowed):
        try:
            tester.replay(inputs)
        except Deviates as again:
            shown += again.inputs == inputs and _same(again.reply, deviation.reply)
        if shown == REPLAYED:
            break
    else:
        raise Unrepeatable
    spec, way = tester.spec, deviation.point.way()
    start = 0 if deviation.given == START else spec.receives[deviation.point.node][deviation.given]
    return Deviation(
        tuple(spec.system.inputs[number] for number in inputs[1:]),
        (*(point.reply for point in way), deviation.reply),
        deviation.place,
        spec.allowed(start, deviation.reply[: deviation.place]),
        below,
    )


def _same(first: Reply, other: Reply) -> bool:
    return len(first) == len(other) and all(map(alike, first, other))


def _unseen(tester: Tester[I]) -> Iterator[str]:
    """The answers that the table allows to an input that was given, and that never came."""
    spec = tester.spec
    given_at: dict[tuple[int, int], set[int]] = {}
    seen: set[tuple[int, str | None]] = set()
    for point in (tester.origin, *tester.points()):
        for number, children in point.children.items():
            node = 0 if number == START else spec.receives[point.node][number]
            given_at.setdefault((node, number), set())
            for reply in children:
                at = node
                for output in reply:
                    given_at[node, number].add(at)
                    seen.add((at, str(output)))
                    at = spec.sends[at][str(output)]
                given_at[node, number].add(at)
                seen.add((at, None))
    told: dict[str, None] = {}
    for (_, number), nodes in given_at.items():
        for node in sorted(nodes):
            for answer in spec.allowed(node, ()):
                if (node, answer) not in seen:
                    given_input = "reset" if number == START else str(spec.system.inputs[number])
                    told[f"{given_input}: {answer or 'nothing'}"] = None
    return iter(told)
