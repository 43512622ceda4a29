"""Model checking of a formula, with a counterexample.

A run is complete where it ends in a state without a step, or never ends. Finite and infinite runs
are kept apart: `Runs` says which of them count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import TypedDict

from proofs.core.kernels import Array, Interpreter, Runner
from proofs.core.results import Status, Verdict
from proofs.core.webassembly import I32, I64, U8
from proofs.logic import parsing
from proofs.logic.formulas import (
    TRUE,
    And,
    Atom,
    Exists,
    Formula,
    Next,
    Not,
    Or,
    Release,
    Truth,
    Until,
    WeakNext,
    atoms,
    negated,
    negation_normal,
)
from proofs.logic.graph import Graph
from proofs.logic.product import FoundRun, Product, StateKind
from proofs.logic.tableau import Tableau, path_parts
from pxp_fsm.errors import UsageError

Duties = frozenset[Formula]


def is_co_safety(formula: Formula) -> bool:
    """Whether every run that satisfies the path formula has shown so after finitely many states.

    A condition on how it is written: in negation normal form it has no R (and so no G).
    """
    return not any(isinstance(p, Release) for p in path_parts(negation_normal(formula)))


def ways_to_meet(
    duties: Duties, holds: Callable[[Formula], bool]
) -> Iterable[tuple[Duties, Duties]]:
    """What each way to meet `duties` here leaves: where there must be a next state, and if any."""
    ordered = sorted(duties, key=repr)  # so that equal questions have equal answers
    return dict.fromkeys(_ways(tuple(ordered), frozenset(), frozenset(), holds))


def _ways(  # noqa: PLR0912 - a case for each kind of formula
    todo: tuple[Formula, ...], strong: Duties, weak: Duties, holds: Callable[[Formula], bool]
) -> Iterator[tuple[Duties, Duties]]:
    if not todo:
        yield strong, weak
        return
    first, rest = todo[0], todo[1:]
    match first:
        case Truth(value):
            if value:
                yield from _ways(rest, strong, weak, holds)
        case Atom() | Exists():
            if holds(first):
                yield from _ways(rest, strong, weak, holds)
        case Not(of):
            if not holds(of):
                yield from _ways(rest, strong, weak, holds)
        case And(left, right):
            yield from _ways((left, right, *rest), strong, weak, holds)
        case Or(left, right):
            yield from _ways((left, *rest), strong, weak, holds)
            yield from _ways((right, *rest), strong, weak, holds)
        case Next(of):
            yield from _ways(rest, strong | {of}, weak, holds)
        case WeakNext(of):
            yield from _ways(rest, strong, weak | {of}, holds)
        case Until(left, right):
            yield from _ways((right, *rest), strong, weak, holds)
            yield from _ways((left, *rest), strong | {first}, weak, holds)
        case Release(left, right):
            yield from _ways((right, left, *rest), strong, weak, holds)
            yield from _ways((right, *rest), strong, weak | {first}, holds)


MOST_PROMISES = 12
"""What one path formula may promise of the next state; the search can double with each."""


class Runs(StrEnum):
    """Which runs a formula speaks of."""

    COMPLETE = "complete"
    FINITE = "finite"
    INFINITE = "infinite"


def earliest(
    offsets: I32,
    targets: I32,
    kinds: I32,
    among: U8,
    many: int,
    firsts: I32,
    thens: I32,
    shown: U8,
    came: I32,
    states: I32,
    duties: I32,
    progress: I64,
) -> int:
    """The first place in breadth-first order that shows a formula; -1 if none does.

    A place is a state, of `states`, with the number of what is to be met there, of `duties`. The
    ways to meet it in a state of a kind begin at `firsts[number * (many + 1) + kind] - 1`: what
    `thens` has to be met in the next state, and whether that shows the formula at once. Where 0
    stands instead, they are not known yet: then the result is -2, and the search goes on when they
    are. `came` is, for each number and state, the place before plus one; 0 where it was not met.
    `progress` counts places, and those from which the search has gone on.
    """
    size = len(offsets) - 1
    count, done = progress[0], progress[1]
    found = -1
    while done < count and found == -1:
        state = states[done]
        at = duties[done] * (many + 1) + kinds[state]
        if firsts[at] == 0:
            found = -2
            break
        for way in range(firsts[at] - 1, firsts[at + 1] - 1):
            if shown[way]:
                found = done
                break
            for edge in range(offsets[state], offsets[state + 1]):
                target = targets[edge]
                code = thens[way] * size + target
                if among[target] and came[code] == 0:
                    came[code] = done + 1
                    states[count], duties[count] = target, thens[way]
                    count += 1
        done += 1
    progress[0], progress[1] = count, done
    return found


class _Counting(TypedDict):
    """Which runs count."""

    finite: bool
    infinite: bool


COMPILE_FROM = 100_000
"""From how many edges on, times the valuations of a formula, compiling the kernels pays."""


class FormulaChecker:
    """Checks formulas of a graph; what an E quantifies is worked out once.

    Where the product of graph and formula is large, the kernels are compiled.
    """

    def __init__(self, graph: Graph, runs: Runs = Runs.COMPLETE) -> None:
        self.graph = graph
        self._runs = runs
        self._counting = _Counting(
            finite=runs is not Runs.INFINITE, infinite=runs is not Runs.FINITE
        )
        self._truth: dict[Formula, Array] = {}

    def check(self, formula: Formula) -> Verdict:
        """Whether every run that counts satisfies `formula`, from every initial state.

        The trace of FAILS is a shortest one for a formula without an F, U or M that could be waited
        for (for ever safe, as it is written); else a run that ends, or a lasso with a shortest stem
        and then a shortest cycle, or with fairness a short one. VACUOUS: there is no such run.
        Raises `UsageError` for a proposition that no state has, or too many temporal operators, and
        `TooLarge` where there is no memory for the product.
        """
        unknown = sorted(set(atoms(formula)) - self.graph.vocabulary)
        if unknown:
            raise parsing.unknown(unknown, self.graph.vocabulary, "no reachable state has")
        if self._runs is not Runs.COMPLETE:
            continuing = self.holds(TRUE)
            if not any(continuing[start] for start in self.graph.starts):
                return Verdict(Status.VACUOUS, f"there is no {self._runs.value} run")
        bad = negated(of_all_runs(formula))
        if is_co_safety(bad):
            found = self._earliest(bad)
        else:
            found = self._product(bad).run_of(self.graph.starts, **self._counting)
        if found is None:
            return Verdict(Status.HOLDS)
        trace = self.graph.trace(found.start, found.edges)
        return Verdict(Status.FAILS, trace=trace, cycle=found.cycle)

    def holds(self, formula: Formula) -> Array:
        """For each state a 1 where a proposition, or a formula that begins with E, holds.

        For any other it says from which states some run that counts satisfies it.
        """
        if formula not in self._truth:
            if isinstance(formula, Atom):
                truth = self.graph.runner.put("B", self.graph.truth(formula.name))
            else:
                path = formula.path if isinstance(formula, Exists) else formula
                truth = self._product(path).satisfying(**self._counting)
            self._truth[formula] = truth
        return self._truth[formula]

    def live(self, path: Formula) -> list[frozenset[int]]:
        """For each state the valuations of the tableau of `path` whose promises a run keeps.

        Where a run ends there is no promise, and no valuation.
        """
        product = self._product(path)
        nodes = self.graph.runner.put("i", range(product.nodes))
        live = product.live(nodes, **self._counting)
        many, offsets = len(product.tableau.valuations), self.graph.offsets
        return [
            frozenset(valuation for valuation in range(many) if live[state * many + valuation])
            if offsets[state] < offsets[state + 1]
            else frozenset()
            for state in range(self.graph.states)
        ]

    def _product(self, path: Formula) -> Product:
        tableau = tableau_of(path)
        for atom in tableau.atoms:
            self.holds(atom)  # these may be what is large
        self._prepare(len(self.graph.targets) << len(tableau.promised))
        return Product(self.graph, tableau, *self._kinds(tableau.atoms))

    def _prepare(self, edges: int) -> None:
        """Compile the kernels for a search that follows so many edges, where that pays."""
        if edges >= COMPILE_FROM and isinstance(self.graph.runner, Interpreter):
            self.graph = self.graph.compiled()
            put = self.graph.runner.put
            self._truth = {part: put("B", truth) for part, truth in self._truth.items()}

    def _kinds(self, atoms: Sequence[Formula]) -> tuple[Array, list[StateKind]]:
        """For each state the number of its kind, and what each kind is."""
        runner, graph = self.graph.runner, self.graph
        kinds, known = runner.new("i", graph.states), [StateKind(False, ()), StateKind(True, ())]
        runner.run(mark_ends, graph.offsets, kinds)
        for atom in atoms:
            numbers = runner.new("i", 2 * len(known))
            count = runner.run(refine, kinds, self.holds(atom), numbers)
            finer = {
                numbers[place]: StateKind(
                    known[place // 2].ended, (*known[place // 2].known, place % 2 > 0)
                )
                for place in range(len(numbers))
            }
            known = [finer[number] for number in range(1, count + 1)]
        return kinds, known

    def _earliest(self, bad: Formula) -> FoundRun | None:
        """A shortest path, through states from which some run counts, after which `bad` is shown;
        None if there is none.
        """
        first = frozenset({negation_normal(bad)})
        atoms = [part for part in path_parts(next(iter(first))) if isinstance(part, (Atom, Exists))]
        for atom in atoms:
            self.holds(atom)
        self._prepare(len(self.graph.targets))
        runner, graph = self.graph.runner, self.graph
        kinds, known = self._kinds(atoms)
        among = self._continuing()
        starts = [start for start in graph.starts if among[start]]
        numbers: dict[Duties, int] = {first: 0}
        sets, ways = [first], list[tuple[int, int]]()
        firsts = [0] * (len(known) + 1)
        room = (
            runner.new("i", graph.states),
            runner.new("i", graph.states),
            runner.new("i", graph.states),
        )
        came, states, duties = room
        states[: len(starts)] = runner.put("i", starts)
        for start in starts:
            came[start] = -1
        progress, found = runner.put("q", (len(starts), 0)), -2 if starts else -1
        while found == -2:
            number = duties[progress[1]]
            for kind, (ended, values) in enumerate(known):
                firsts[number * (len(known) + 1) + kind] = len(ways) + 1
                true: dict[Formula, bool] = dict(zip(atoms, values, strict=True))
                for strong, weak in ways_to_meet(sets[number], true.__getitem__):
                    then = strong | weak
                    if then not in numbers:
                        numbers[then] = len(sets)
                        sets.append(then)
                        firsts += [0] * (len(known) + 1)
                    ways.append((numbers[then], int(not strong and (ended or not weak))))
            firsts[number * (len(known) + 1) + len(known)] = len(ways) + 1
            if len(sets) * graph.states > len(came):
                size = 2 * len(sets) * graph.states
                came, states, duties = (
                    _larger(runner, each, size) for each in (came, states, duties)
                )
            found = runner.run(
                earliest, graph.offsets, graph.targets, kinds, among, len(known),
                runner.put("i", firsts), runner.put("i", (then for then, _ in ways)),
                runner.put("B", (shows for _, shows in ways)), came, states, duties, progress,
            )  # fmt: skip
        if found < 0:
            return None
        path = [states[found]]
        while (found := came[duties[found] * graph.states + states[found]] - 1) >= 0:
            path.append(states[found])
        return FoundRun(path[-1], tuple(graph.edges_along(path[::-1])), 0)

    def _continuing(self) -> Array:
        """For each state a 1 where there is a run from it that counts."""
        if self._runs is Runs.COMPLETE:
            return self.graph.runner.put("B", b"\1" * self.graph.states)
        return self.holds(TRUE)


def _larger(runner: Runner, entries: Array, count: int) -> Array:
    """The entries in an array with room for so many."""
    larger = runner.new("i", count)
    larger[: len(entries)] = entries
    return larger


def mark_ends(offsets: I32, kinds: I32) -> int:
    """Give states without an edge the kind 1."""
    for state in range(len(kinds)):
        if offsets[state] == offsets[state + 1]:
            kinds[state] = 1
    return 0


def refine(kinds: I32, truth: U8, numbers: I32) -> int:
    """Tell states of each kind apart by the truth of one more atom; how many kinds there are.

    Kinds that are met are numbered anew; `numbers` has for each old one, twice, the new one plus
    one: first where the atom is false.
    """
    count = 0
    for state in range(len(kinds)):
        place = 2 * kinds[state] + truth[state]
        if numbers[place] == 0:
            count += 1
            numbers[place] = count
        kinds[state] = numbers[place] - 1
    return count


def tableau_of(path: Formula) -> Tableau:
    """The tableau of a path formula; `UsageError` where it is too large."""
    tableau = Tableau(path)
    if len(tableau.promised) > MOST_PROMISES:
        raise UsageError(
            f"the formula has {len(tableau.promised)} different temporal operators on one run, "
            f"and at most {MOST_PROMISES} are checked; split it into several formulas"
        )
    return tableau


def of_all_runs(formula: Formula) -> Formula:
    """What must hold of every run: A in front of a formula changes nothing."""
    match formula:
        case Not(Exists(path)):
            return negated(path)
        case _:
            return formula
