"""What a table or a system can do, as a graph whose edges have labels; two of them side by side.

The label of an edge is its action in words, as traces show it. That a table, or each member of a
system, has come to an end state is an action too (`ENDED`), to a state from which nothing leads on:
so an implementation that ends where its specification cannot is another one, and the algorithms
need no further rule for it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from proofs.core.explore import Step, TooLarge, Trace
from proofs.core.kernels import Array, Compiled, Interpreter, Runner
from proofs.core.limits import Effort
from proofs.core.results import NotReplayed
from proofs.core.webassembly import I32, U8, U16
from proofs.systems.product import Composition, Move
from proofs.systems.reachability import Reached, reach
from proofs.systems.replay import shown
from pxp_fsm.automata.actions import Choose
from pxp_fsm.automata.automaton import Automaton, one_hot
from pxp_fsm.automata.system import System
from pxp_fsm.automata.unfolding import as_written
from pxp_fsm.errors import PXPError, UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.sessions.machine import Machine

ENDED, HIDDEN = "(ended)", "(hidden)"
"""The action of having ended, and the one of all steps that nobody observes."""

HIDDEN_LABEL, ENDED_LABEL = 0, 1
"""Their numbers among the labels of two behaviours side by side."""

_MOST_LABELS = (1 << 16) - 1


@dataclass(frozen=True)
class ActionGraph:
    """The reachable states of a table or a system, by number from 0, where it begins.

    The edges of state i are those from `offsets[i]` to `offsets[i + 1]`: each leads to a state, and
    has a number in `actions`. `ended` has a 1 for each end state. Nobody observes the actions with
    the numbers `internal`. `trace` takes a path of edges with real machines, and gives it in words.
    """

    name: str
    kind: str
    offsets: Array
    targets: Array
    labels: Array
    ended: bytes | bytearray
    actions: tuple[str, ...]
    internal: frozenset[int]
    trace: Callable[[Sequence[int]], Trace[Any]]

    @property
    def states(self) -> int:
        return len(self.offsets) - 1


def behaviour_of(subject: Automaton | System, effort: Effort) -> ActionGraph:
    """What a table does by itself, or a system; `TooLarge` where `effort` does not suffice."""
    if isinstance(subject, Automaton):
        return _of_table(subject)
    return _of_system(Composition(subject), effort)


def _of_table(table: Automaton) -> ActionGraph:
    """A row is an edge with its action; which guard was true is the agent's own matter."""
    names = [table.initial, *(state.name for state in table.states if state.name != table.initial)]
    numbers = {name: number for number, name in enumerate(names)}
    rows = [row for name in names for row in table.leaving(name)]
    actions = {action: number for number, action in enumerate(sorted({r.action for r in rows}))}
    offsets = array("i", [0])
    for name in names:
        offsets.append(offsets[-1] + len(table.leaving(name)))

    def trace(edges: Sequence[int]) -> Trace[str]:
        taken = [rows[edge] for edge in edges]
        walk = Trace(table.initial, tuple(Step(row.action, row.target) for row in taken))
        machine = Machine(table)
        try:
            for row in taken:
                guards = table.guards_of(row.source)
                valuation = None if row.guard is None else one_hot(row.guard, guards)
                if machine.fire(row.trigger, valuation) != row:
                    raise NotReplayed(f"the machine of {table.name} takes another row", walk)
        except PXPError as error:
            raise NotReplayed(str(error), walk) from error
        return walk

    return ActionGraph(
        table.name,
        "table",
        offsets,
        array("i", [numbers[row.target] for row in rows]),
        array("H", [actions[row.action] for row in rows]),
        bytes(name in table.final for name in names),
        tuple(actions),
        frozenset(),
        trace,
    )


def _of_system(composition: Composition, effort: Effort) -> ActionGraph:
    reached = reach(composition, effort)
    if reached.cut:
        raise TooLarge(f"{composition.name}: {reached.cut}")
    actions, internal = dict[str, int](), set[int]()

    def numbered(moves: Sequence[Move]) -> list[int]:
        labels = (str(as_written(move.action)) for move in moves)
        numbers = [actions.setdefault(label, len(actions)) for label in labels]
        for number, move in zip(numbers, moves, strict=True):
            if isinstance(move.action, Choose):
                internal.add(number)
        return numbers

    labels = reached.labels(numbered)
    if len(actions) > _MOST_LABELS:
        raise TooLarge(f"{composition.name}: more than {_MOST_LABELS:,} different actions")
    offsets, targets = reached.edges
    ended = reached.all_marks(
        (field.bits, partial(_is_final, field.of, final))
        for field, final in zip(composition.encoding.fields, composition.finals, strict=True)
    )
    return ActionGraph(
        composition.name,
        "system",
        offsets,
        targets,
        labels,
        ended,
        tuple(actions),
        frozenset(internal),
        partial(_replayed, reached),
    )


def _is_final(part_of: Callable[[int], int], final: frozenset[int], part: int) -> bool:
    return part_of(part) in final


def _replayed(reached: Reached, edges: Sequence[int]) -> Trace[Any]:
    return shown(reached.composition, reached.along(0, edges))


@dataclass(frozen=True)
class Joint:
    """Two behaviours in one graph: the states of the second have the numbers behind the first's.

    The last state is where both have ended. `alphabet` are the actions by the numbers of labels;
    what is hidden has the first of them.
    """

    left: ActionGraph
    right: ActionGraph
    runner: Runner
    offsets: Array
    targets: Array
    labels: Array
    alphabet: tuple[str, ...]

    @property
    def starts(self) -> tuple[int, int]:
        """Where each of them begins."""
        return 0, self.left.states

    def run(
        self, side: int, steps: Sequence[tuple[int, int]], class_of: Sequence[int]
    ) -> Trace[Any]:
        """A run of one of the two that has these steps, taken by real machines.

        Each of `steps` is a label and the class of states that it leads to; hidden steps before and
        after it are found here, as few as can be. To have ended is no step of a machine.
        """
        own, first = (self.left, self.right)[side], self.starts[side]
        state, edges = first, list[int]()
        for label, target in steps:
            if label != ENDED_LABEL:
                state, taken = self._weak_step(state, label, target, class_of)
                edges += taken
        offsets = [
            own.offsets[number] - self.offsets[first + number] for number in range(own.states)
        ]
        sources = [bisect_right(self.offsets, edge) - 1 for edge in edges]
        # The edges of a state stand in the order of its own behaviour, and before that of the end.
        return own.trace([e + offsets[s - first] for e, s in zip(edges, sources, strict=True)])

    def _weak_step(
        self, state: int, label: int, target: int, class_of: Sequence[int]
    ) -> tuple[int, list[int]]:
        """Where a weak step to a class leads, with the edges of a shortest path for it."""
        begin = (state, False)
        came_from: dict[tuple[int, bool], tuple[tuple[int, bool], int] | None] = {begin: None}
        queue = [begin]
        for at in queue:  # grows while it is read
            place, done = at
            if done and class_of[place] == target:
                path, before = list[int](), came_from[at]
                while before is not None:
                    path.append(before[1])
                    before = came_from[before[0]]
                return place, path[::-1]
            for edge in range(self.offsets[place], self.offsets[place + 1]):
                if self.labels[edge] == HIDDEN_LABEL:
                    further = (self.targets[edge], done)
                elif self.labels[edge] == label and not done:
                    further = (self.targets[edge], True)
                else:
                    continue
                if further not in came_from:
                    came_from[further] = (at, edge)
                    queue.append(further)
        raise AssertionError(f"state {state} has no step {self.alphabet[label]} to class {target}")


COMPILE_FROM = 500
"""From how many states on compiling pays: what follows takes longer than exploring."""


def joint(left: ActionGraph, right: ActionGraph, hidden: Sequence[str] = ()) -> Joint:
    """Both in one graph; actions that fit one of the patterns `hidden` are not observed.

    `*` in a pattern is any text. Raises `UsageError` for a pattern that no action fits, and for a
    table beside a system.
    """
    if left.kind != right.kind:
        table, system = sorted((left, right), key=lambda graph: graph.kind == "system")
        raise UsageError(
            f"{table.name} is a table, whose actions are its own, and {system.name} a system, "
            "whose actions are its members' together; compare two tables, or two systems"
        )
    every = sorted({*left.actions, *right.actions})
    for pattern in hidden:
        if not any(fnmatchcase(action, pattern) for action in every):
            listed = ", ".join(every[:_LISTED]) + (", …" if len(every) > _LISTED else "")
            raise UsageError(f"no action fits {quoted(pattern)}; there are: {listed}", "hide")
    unseen = {action for action in every if any(fnmatchcase(action, pattern) for pattern in hidden)}
    unseen |= {graph.actions[number] for graph in (left, right) for number in graph.internal}
    alphabet = (HIDDEN, ENDED, *(action for action in every if action not in unseen))
    numbers = {action: number for number, action in enumerate(alphabet)}
    states = left.states + right.states
    runner = Compiled() if states >= COMPILE_FROM else Interpreter()
    edges = len(left.targets) + len(right.targets) + sum(left.ended) + sum(right.ended)
    offsets, targets = runner.new("i", states + 2), runner.new("i", edges)
    labels = runner.new("i", edges)
    for side, first in ((left, 0), (right, left.states)):
        meaning = [numbers.get(action, HIDDEN_LABEL) for action in side.actions]
        own = [
            _copied(runner, "i", side.offsets),
            _copied(runner, "i", side.targets),
            _copied(runner, "H", side.labels),
            runner.put("i", meaning),
            _copied(runner, "B", side.ended),
        ]
        runner.run(append, *own, first, states, offsets, targets, labels)
        for unused in reversed(own):
            runner.release(unused)
    offsets[states + 1] = offsets[states]
    return Joint(left, right, runner, offsets, targets, labels, alphabet)


def _copied(runner: Runner, kind: str, values: Array) -> Array:
    """An array of this runner with these values, which are of the same kind, all at once."""
    copy = runner.new(kind, len(values))
    if len(values):
        view: Any = memoryview(values)
        memoryview(copy)[:] = view.cast("B").cast(kind)
    return copy


_LISTED = 12
"""How many actions an error lists."""


def append(
    offsets: I32,
    targets: I32,
    labels: U16,
    meaning: I32,
    ended: U8,
    first: int,
    end: int,
    all_offsets: I32,
    all_targets: I32,
    all_labels: I32,
) -> int:
    """Write a behaviour behind what is there, from state `first` on; the edge that says that it has
    ended comes last in each state, and leads to the state `end`.
    """
    place = all_offsets[first]
    for state in range(len(ended)):
        for edge in range(offsets[state], offsets[state + 1]):
            all_targets[place] = first + targets[edge]
            all_labels[place] = meaning[labels[edge]]
            place += 1
        if ended[state]:
            all_targets[place] = end
            all_labels[place] = ENDED_LABEL
            place += 1
        all_offsets[first + state + 1] = place
    return place
