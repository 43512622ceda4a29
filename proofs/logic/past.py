"""The past operators of a formula as a deterministic monitor that goes along with a model.

What a past operator says in a state follows from what is true there and from one bit about the
state before: of Y p and Z p whether p held there, of p S q and p T q whether the whole did. For
`p S q` is `q | p & Y (p S q)`, and `p T q` is `q & (p | Z (p T q))` (Havelund and Rosu,
Synthesizing monitors for safety properties, TACAS 2002). So a history is an int with a bit for each
operator, and a state with its history has the same runs from there on as the state. Past operators
are then propositions, and every search for formulas of the future decides the rest.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Generic, TypeVar

from proofs.core.explore import Model, Step, TooLarge, Trace
from proofs.core.kernels import Array
from proofs.core.webassembly import I32, I64, U8, U16
from proofs.logic.formulas import (
    And,
    Atom,
    Exists,
    Formula,
    Next,
    Not,
    Or,
    Past,
    Release,
    Since,
    Triggered,
    Truth,
    Until,
    WeakNext,
    WeakYesterday,
    Yesterday,
    globally,
    implies,
    parts,
)
from proofs.logic.graph import Graph
from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass

S = TypeVar("S", bound=Hashable)

MOST_PAST = 12
"""Past operators of a formula: each doubles the histories that a state may have."""

MOST_NODES = 1 << 27
"""States times histories for which there is room."""


@dataclass(frozen=True)
class PastMonitor:
    """The past operators of a path formula.

    `formula` has a proposition in the place of each of them, which speaks of the present; `names`
    are those of all past operators. `atoms` are the propositions of which they speak. A history has
    a bit for each; `start` is that before the first state.
    """

    formula: Formula
    names: tuple[str, ...]
    atoms: tuple[Atom, ...]
    start: int
    _parts: tuple[Formula, ...] = field(repr=False)
    _numbers: dict[Past, int] = field(repr=False, hash=False, compare=False)

    @property
    def bits(self) -> int:
        """How many past operators there are."""
        return len(self.names)

    @property
    def operators(self) -> tuple[Past, ...]:
        """The parts that are past operators, in the order of the bits."""
        return tuple(self._numbers)

    @property
    def propositions(self) -> tuple[Atom, ...]:
        """What stands in the formula in place of past operators."""
        return tuple(map(Atom, self.names))

    def defined(self) -> Formula:
        """`formula` with what its propositions for past operators mean, said without them.

        A run satisfies what the history is of just where some truth of these propositions makes it
        satisfy this.
        """
        meaning = self.formula
        present = partial(_present, numbers=self._numbers, names=self.names)
        for part, number in self._numbers.items():
            now: Formula = Atom(self.names[number])
            if isinstance(part, Yesterday | WeakYesterday):
                of = present(part.of)
                first = now if isinstance(part, WeakYesterday) else Not(now)
                after = And(implies(of, WeakNext(now)), implies(Not(of), WeakNext(Not(now))))
            elif isinstance(part, (Since, Triggered)):
                left, right = present(part.left), present(part.right)
                more, less = (
                    (Or(right, left), right)
                    if isinstance(part, Since)
                    else (right, And(right, left))
                )
                first = _equal(now, right)
                after = And(
                    implies(now, WeakNext(_equal(now, more))),
                    implies(Not(now), WeakNext(_equal(now, less))),
                )
            meaning = And(meaning, And(first, globally(after)))
        return meaning

    def step(self, history: int, known: Sequence[bool]) -> tuple[int, int]:
        """In a state with this history: the past operators that are true, and the history after it.

        `known` is the truth of `atoms` there.
        """
        letter = dict(zip(self.atoms, known, strict=True))
        values: dict[Formula, bool] = {}
        true = after = 0
        for part in self._parts:
            number = self._numbers[part] if isinstance(part, Past) else 0
            before = bool(history >> number & 1)
            match part:
                case Truth(value):
                    values[part] = value
                case Atom():
                    values[part] = letter[part]
                case Not(of):
                    values[part] = not values[of]
                case And(left, right):
                    values[part] = values[left] and values[right]
                case Or(left, right):
                    values[part] = values[left] or values[right]
                case Yesterday(of) | WeakYesterday(of):
                    values[part] = before
                    after |= values[of] << number
                case Since(left, right):
                    values[part] = values[right] or (values[left] and before)
                    after |= values[part] << number
                case Triggered(left, right):
                    values[part] = values[right] and (values[left] or before)
                    after |= values[part] << number
                case _:
                    raise AssertionError(f"not of the past: {part}")
            if isinstance(part, Past):
                true |= values[part] << number
        return true, after


def history_of(formula: Formula) -> PastMonitor | None:
    """The past operators of a path formula; None where it has none. Raises `UsageError`."""
    every = parts(formula)
    numbers = {part: n for n, part in enumerate(p for p in every if isinstance(p, Past))}
    if not numbers:
        return None
    if len(numbers) > MOST_PAST:
        raise UsageError(
            f"the formula has {len(numbers)} different past operators, and at most {MOST_PAST} are "
            f"decided; split it into several"
        )
    names = tuple(f'"{number}' for number in range(len(numbers)))  # no proposition has a quote
    inside = dict.fromkeys(inner for part in numbers for inner in parts(part))
    begin = sum(isinstance(p, (WeakYesterday, Triggered)) << n for p, n in numbers.items())
    atoms = tuple(part for part in inside if isinstance(part, Atom))
    ordered = tuple(part for part in every if part in inside)
    return PastMonitor(_present(formula, numbers, names), names, atoms, begin, ordered, numbers)


def _equal(left: Formula, right: Formula) -> Formula:
    return And(implies(left, right), implies(right, left))


def _present(formula: Formula, numbers: dict[Past, int], names: Sequence[str]) -> Formula:
    """The formula with a proposition for each past operator."""
    again = partial(_present, numbers=numbers, names=names)
    match formula:
        case Yesterday() | WeakYesterday() | Since() | Triggered():
            return Atom(names[numbers[formula]])
        case Not(of) | Next(of) | WeakNext(of):
            return type(formula)(again(of))
        case And(left, right) | Or(left, right) | Until(left, right) | Release(left, right):
            return type(formula)(again(left), again(right))
        case Truth() | Atom() | Exists():
            return formula


@dataclass(frozen=True)
class Remembering(Generic[S]):
    """A model whose states know their history, and what past operators say there."""

    model: Model[S]
    history: PastMonitor

    @property
    def name(self) -> str:
        return self.model.name

    def initial(self) -> Iterable[tuple[S, int]]:
        return ((state, self.history.start) for state in self.model.initial())

    def successors(self, state: tuple[S, int]) -> Iterable[Step[tuple[S, int]]]:
        after = self._step(state)[1]
        for step in self.model.successors(state[0]):
            yield Step(step.action, (step.target, after), step.facts)

    def propositions(self, state: tuple[S, int]) -> frozenset[str]:
        true = self._step(state)[0]
        past = (name for number, name in enumerate(self.history.names) if true >> number & 1)
        return self.model.propositions(state[0]).union(past)

    def _step(self, state: tuple[S, int]) -> tuple[int, int]:
        there = self.model.propositions(state[0])
        return self.history.step(state[1], [atom.name in there for atom in self.history.atoms])


def unfolded(
    graph: Graph, history: PastMonitor, kinds: Array, known: Sequence[Sequence[bool]]
) -> Graph:
    """The graph whose states have histories; a state's kind says which of `history.atoms` it knows.

    Its states are those that are reached from where runs start, and its paths those of `graph`.
    Raises `TooLarge` where there is no room for so many.
    """
    bits, runner = history.bits, graph.runner
    if graph.states << bits > MOST_NODES:
        raise TooLarge(f"{graph.states:,} states, each with up to {1 << bits:,} histories")
    steps = [history.step(before, values) for values in known for before in range(1 << bits)]
    true = runner.put("q", (step[0] for step in steps))
    after = runner.put("i", (step[1] for step in steps))
    index, nodes = (runner.new("i", graph.states << bits) for _ in range(2))
    for place, state in enumerate(graph.starts):
        nodes[place] = state << bits | history.start
        index[nodes[place]] = place + 1
    sizes = runner.put("q", (len(graph.starts), 0))
    runner.run(remember, graph.offsets, graph.targets, kinds, after, bits, index, nodes, sizes)
    count, edges = sizes
    offsets = runner.new("i", count + 1)
    targets, origins = (runner.new("i", edges) for _ in range(2))
    runner.run(
        follow, graph.offsets, graph.targets, kinds, after, bits, index, nodes, offsets, targets,
        origins,
    )  # fmt: skip
    labels = []
    for word in graph.labels:
        labels.append(runner.new("H", edges))
        runner.run(take_labels, origins, word, labels[-1])

    def truth(name: str) -> Array:
        marks = runner.new("B", count)
        if name in history.names:
            number = history.names.index(name)
            runner.run(mark_past, nodes, bits, kinds, true, number, marks)
        else:
            runner.run(mark_present, nodes, bits, runner.put("B", graph.truth(name)), marks)
        return marks

    def trace(start: int, path: Sequence[int]) -> Trace[object]:
        return graph.trace(nodes[start] >> bits, [origins[edge] for edge in path])

    return replace(
        graph,
        offsets=offsets,
        targets=targets,
        starts=range(len(graph.starts)),
        truth=truth,
        trace=trace,
        vocabulary=graph.vocabulary.union(history.names),
        labels=tuple(labels),
    )


def remember(
    offsets: I32,
    targets: I32,
    kinds: I32,
    after: I32,
    bits: int,
    index: I32,
    nodes: I32,
    sizes: I64,
) -> int:
    """Collect in `nodes` the states with histories that are reached, breadth first.

    A node is a state with the history before it. `index` is the place of each, plus one; `sizes`
    counts the nodes, of which the first are given, and their edges.
    """
    mask = (1 << bits) - 1
    count, edges, done = sizes[0], 0, 0
    while done < count:
        state = nodes[done] >> bits
        then = after[(kinds[state] << bits) + (nodes[done] & mask)]
        done += 1
        for edge in range(offsets[state], offsets[state + 1]):
            code = (targets[edge] << bits) + then
            edges += 1
            if index[code] == 0:
                nodes[count] = code
                count += 1
                index[code] = count
    sizes[0], sizes[1] = count, edges
    return 0


def follow(
    offsets: I32,
    targets: I32,
    kinds: I32,
    after: I32,
    bits: int,
    index: I32,
    nodes: I32,
    new_offsets: I32,
    new_targets: I32,
    origins: I32,
) -> int:
    """The edges of the nodes that `remember` has collected, and from which edge each comes."""
    mask = (1 << bits) - 1
    edges = 0
    for place in range(len(new_offsets) - 1):
        state = nodes[place] >> bits
        then = after[(kinds[state] << bits) + (nodes[place] & mask)]
        for edge in range(offsets[state], offsets[state + 1]):
            new_targets[edges] = index[(targets[edge] << bits) + then] - 1
            origins[edges] = edge
            edges += 1
        new_offsets[place + 1] = edges
    return 0


def take_labels(origins: I32, labels: U16, marks: U16) -> int:
    """Each edge has the labels of that from which it comes."""
    for edge in range(len(marks)):
        marks[edge] = labels[origins[edge]]
    return 0


def mark_past(nodes: I32, bits: int, kinds: I32, true: I64, number: int, marks: U8) -> int:
    """Mark the nodes in which a past operator is true."""
    mask = (1 << bits) - 1
    for place in range(len(marks)):
        at = (kinds[nodes[place] >> bits] << bits) + (nodes[place] & mask)
        marks[place] = true[at] >> number & 1
    return 0


def mark_present(nodes: I32, bits: int, truth: U8, marks: U8) -> int:
    """Mark the nodes in whose state something is true."""
    for place in range(len(marks)):
        marks[place] = truth[nodes[place] >> bits]
    return 0
