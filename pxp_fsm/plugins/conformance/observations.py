"""Running a program that chooses its own outputs, and remembering all that it did."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Generic, Protocol, TypeVar

from pxp_fsm.errors import NoAnswer, UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.conformance.suspension import Suspension
from pxp_fsm.plugins.conformance.testing import ProgramFault

I_contra = TypeVar("I_contra", contravariant=True)
I = TypeVar("I")  # noqa: E741 - the field's letter for an input

Reply = tuple[str | ProgramFault, ...]
"""What a program sent until it was quiet; a `ProgramFault` ends it."""

START = -1
"""The reset, as the first input of every test."""

LARGEST = 300_000
"""The most inputs that one round of tests may ask for."""


class ObservedProgram(Protocol[I_contra]):
    """A running program that decides by itself what it sends."""

    def reset(self) -> Sequence[str]:
        """Start anew; what it sends until it is quiet."""

    def step(self, stimulus: I_contra) -> Sequence[str]:
        """What it sends after `stimulus` until it is quiet; raises `NoAnswer` if it never is."""


@dataclass(eq=False)
class TraceNode:
    """A trace that the program has shown, as a node of the tree of all of them.

    `due` counts the inputs that are still `wanted`, here and below.
    """

    node: int
    parent: TraceNode | None = None
    given: int = START
    reply: Reply = ()
    depth: int = -1
    tried: Counter[int] = field(default_factory=Counter)
    missed: Counter[int] = field(default_factory=Counter)
    children: dict[int, dict[Reply, TraceNode]] = field(default_factory=dict)
    wanted: dict[int, None] = field(default_factory=dict)
    due: int = 0

    def way(self) -> list[TraceNode]:
        """The points from the first reply to this one."""
        points, point = [self], self
        while point.parent is not None:
            point = point.parent
            points.append(point)
        return points[-2::-1]


class Deviates(Exception):
    """The program did what the table does not allow, `reply` to `given` at `point`."""

    def __init__(self, point: TraceNode, number: int, reply: Reply, place: int) -> None:
        super().__init__()
        self.point, self.given, self.reply, self.place = point, number, reply, place

    @property
    def inputs(self) -> tuple[int, ...]:
        """All inputs of the sequence, the reset first."""
        return (*(point.given for point in self.point.way()), self.given)


class Unrepeatable(Exception):
    """The program does not show all of its answers within the given number of repetitions."""


class Tester(Generic[I]):
    """Runs tests and remembers all that was observed."""

    def __init__(self, spec: Suspension[I], subject: ObservedProgram[I], repetitions: int) -> None:
        self.spec, self.subject, self.repetitions = spec, subject, repetitions
        self.origin = TraceNode(0)
        self.tests = self.inputs = 0

    def want(self, point: TraceNode, number: int) -> None:
        """Ask for `number` at `point`, unless it was tried often enough."""
        if point.tried[number] >= self.repetitions or number in point.wanted:
            return
        point.wanted[number] = None
        self._add(point, 1)
        if self.origin.due > LARGEST:
            raise UsageError(
                f"more than {LARGEST:,} further inputs would have to be given; take fewer extra "
                f"states"
            )

    def run(self, guess: dict[int, int] | None = None) -> None:
        """Tests until nothing is wanted; at a new point the input of `guess` is tried at once."""
        while self.origin.due:
            self.tests += 1
            point, number, guessed = self.origin, self._next(self.origin), False
            while number is not None:
                point = self.give(point, number)
                number = self._next(point)
                if number is None and guess is not None and not (guessed or point.tried):
                    number, guessed = guess.get(point.node), True

    def replay(self, inputs: Sequence[int]) -> None:
        """One test of these inputs; it ends where one of them is not specified."""
        self.tests += 1
        point = self.origin
        for number in inputs:
            if number != START and number not in self.spec.receives[point.node]:
                return
            point = self.give(point, number)

    def give(self, point: TraceNode, number: int) -> TraceNode:
        """Give an input at `point`, where the program now is, and follow its reply."""
        reply = self._reply(number)
        point.tried[number] += 1
        if point.tried[number] == self.repetitions and number in point.wanted:
            del point.wanted[number]
            self._add(point, -1)
        start = 0 if number == START else self.spec.receives[point.node][number]
        node, place = self.spec.follow(start, reply)
        if node is None:
            raise Deviates(point, number, reply, place)
        children = point.children.setdefault(number, {})
        child = children.get(reply)
        if child is None:
            if point.tried[number] > self.repetitions:
                raise Unrepeatable
            child = children[reply] = TraceNode(node, point, number, reply, point.depth + 1)
        due = sum(other.due for other in children.values())
        if not due or child.due:
            point.missed[number] = 0
        elif number not in point.wanted:
            point.missed[number] += 1
            if point.missed[number] > self.repetitions:
                raise Unrepeatable
        return child

    def _reply(self, number: int) -> Reply:
        if number != START:
            self.inputs += 1
        try:
            if number == START:
                return tuple(self.subject.reset())
            return tuple(self.subject.step(self.spec.system.inputs[number]))
        except NoAnswer:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a wrong program raises is the finding
            return (error.fault if isinstance(error, Faulty) else _fault(error),)

    def _next(self, point: TraceNode) -> int | None:
        for number in point.wanted:
            return number
        if point.due:
            for number, children in point.children.items():
                if any(child.due for child in children.values()):
                    return number
        return None

    def _add(self, point: TraceNode | None, count: int) -> None:
        while point is not None:
            point.due += count
            point = point.parent

    def points(self) -> Iterator[TraceNode]:
        """All points, in order of their depth."""
        waiting = deque([self.origin])
        while waiting:
            point = waiting.popleft()
            if point is not self.origin:
                yield point
            for children in point.children.values():
                waiting.extend(children.values())


class Faulty(Exception):
    """Raised by a subject that broke; `fault` says how."""

    def __init__(self, fault: ProgramFault) -> None:
        super().__init__(fault.said)
        self.fault = fault


def _fault(error: Exception) -> ProgramFault:
    return ProgramFault(f"{type(error).__name__}: {error}")
