"""Model checking of a formula, with a counterexample.

A run is complete where it ends in a state without a step, or never ends. Finite and infinite runs
are kept apart: `Runs` says which of them count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import TypedDict

from proofs.core.kernels import Array, Interpreter, Runner
from proofs.core.results import Status, Verdict
from proofs.core.webassembly import I32, I64, U8
from proofs.logic import parsing
from proofs.logic.formulas import (
    TRUE,
    Atom,
    Exists,
    Formula,
    Not,
    Release,
    atoms,
    negated,
    negation_normal,
    path_parts,
)
from proofs.logic.graph import Graph
from proofs.logic.past import PastMonitor, history_of, unfolded
from proofs.logic.product import (
    FoundRun,
    Product,
    StateKind,
    at_least,
    exactly,
    mark_following,
)
from proofs.logic.tableau import MOST_EXACT, Known, Tableau


def is_co_safety(formula: Formula) -> bool:
    """Whether every run that satisfies the path formula has shown so after finitely many states.

    A condition on how it is written: in negation normal form it has no R (and so no G).
    """
    return not any(isinstance(p, Release) for p in path_parts(negation_normal(formula)))


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
    place = -1
    while done < count and place == -1:
        state = states[done]
        at = duties[done] * (many + 1) + kinds[state]
        if firsts[at] == 0:
            place = -2
            break
        for way in range(firsts[at] - 1, firsts[at + 1] - 1):
            if shown[way]:
                place = done
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
    return place


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
        Raises `UsageError` for a proposition that no state has, and `TooLarge` where the formula's
        automaton or the product is too large.
        """
        unknown = sorted(set(atoms(formula)) - self.graph.vocabulary)
        if unknown:
            raise parsing.unknown(unknown, self.graph.vocabulary, "no reachable state has")
        if self._runs is not Runs.COMPLETE:
            continuing = self.holds(TRUE)
            if not any(continuing[start] for start in self.graph.starts):
                return Verdict(Status.VACUOUS, f"there is no {self._runs.value} run")
        history = history_of(of_all_runs(formula))
        if history is not None:
            return FormulaChecker(self._with(history), self._runs).check(history.formula)
        bad = negated(of_all_runs(formula))
        if is_co_safety(bad):
            run = self._earliest(bad)
        else:
            run = self._product(Tableau(bad)).run_of(self.graph.starts, **self._counting)
        if run is None:
            return Verdict(Status.HOLDS)
        trace = self.graph.trace(run.start, run.edges)
        return Verdict(Status.FAILS, trace=trace, cycle=run.cycle)

    def holds(self, formula: Formula) -> Array:
        """For each state a 1 where a proposition, or a formula that begins with E, holds.

        For any other it says from which states some run that counts satisfies it.
        """
        if formula not in self._truth:
            if isinstance(formula, Atom):
                truth = self.graph.runner.put("B", self.graph.truth(formula.name))
            else:
                path = formula.path if isinstance(formula, Exists) else formula
                truth = self._product(Tableau(path)).satisfying(**self._counting)
            self._truth[formula] = truth
        return self._truth[formula]

    def live(self, path: Formula) -> list[frozenset[int]]:
        """For each state the valuations of the tableau of `path` whose promises a run keeps.

        Where a run ends there is no promise, and no valuation.
        """
        tableau = Tableau(path)
        product = self._product(tableau)
        nodes = self.graph.runner.put("i", range(product.nodes))
        live = product.live(nodes, **self._counting)
        many, offsets = len(tableau.valuations), self.graph.offsets
        return [
            frozenset(valuation for valuation in range(many) if live[state * many + valuation])
            if offsets[state] < offsets[state + 1]
            else frozenset()
            for state in range(self.graph.states)
        ]

    def _with(self, history: PastMonitor) -> Graph:
        """The graph whose states know what has been."""
        for atom in history.atoms:
            self.holds(atom)
        self._prepare(len(self.graph.targets) << history.bits)
        kinds, known = self._kinds(history.atoms)
        return unfolded(self.graph, history, kinds, [kind.known for kind in known])

    def _product(self, tableau: Tableau) -> Product:
        """The product with the valuations of a tableau, where these are few; else with its ways."""
        for atom in tableau.atoms:
            self.holds(atom)  # these may be what is large
        exact = len(tableau.choices) <= MOST_EXACT
        self._prepare(len(self.graph.targets) << min(len(tableau.choices), MOST_EXACT))
        kinds, known = self._kinds(tableau.atoms)
        if exact:
            moves = exactly(tableau, known)
        else:
            moves = at_least(tableau, known, self._following(kinds, len(known)))
        return Product(self.graph, moves, kinds, len(known))

    def _following(self, kinds: Array, many: int) -> Callable[[int], Sequence[int]]:
        """Of which kinds the states after one of a kind are."""
        runner, graph = self.graph.runner, self.graph
        follows = runner.new("B", many * many)
        runner.run(mark_following, graph.offsets, graph.targets, kinds, many, follows)
        return lambda kind: [then for then in range(many) if follows[kind * many + then]]

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
        tableau = Tableau(bad)
        for atom in tableau.atoms:
            self.holds(atom)
        self._prepare(len(self.graph.targets))
        runner, graph = self.graph.runner, self.graph
        kinds, known = self._kinds(tableau.atoms)
        among = self._continuing()
        starts = [start for start in graph.starts if among[start]]
        sets, ways = [tableau.duties(tableau.first)], list[tuple[int, int]]()
        numbers = {sets[0]: 0}
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
        progress, place = runner.put("q", (len(starts), 0)), -2 if starts else -1
        while place == -2:
            number = duties[progress[1]]
            for kind, (ended, values) in enumerate(known):
                firsts[number * (len(known) + 1) + kind] = len(ways) + 1
                for then in _left(tableau, sets[number], values, ended=ended):
                    if then not in numbers:
                        numbers[then] = len(sets)
                        sets.append(then)
                        firsts += [0] * (len(known) + 1)
                    ways.append((numbers[then], int(not then)))
            firsts[number * (len(known) + 1) + len(known)] = len(ways) + 1
            if len(sets) * graph.states > len(came):
                size = 2 * len(sets) * graph.states
                came, states, duties = (
                    _larger(runner, buffer, size) for buffer in (came, states, duties)
                )
            place = runner.run(
                earliest, graph.offsets, graph.targets, kinds, among, len(known),
                runner.put("i", firsts), runner.put("i", (then for then, _ in ways)),
                runner.put("B", (shows for _, shows in ways)), came, states, duties, progress,
            )  # fmt: skip
        if place < 0:
            return None
        path = [states[place]]
        while (place := came[duties[place] * graph.states + states[place]] - 1) >= 0:
            path.append(states[place])
        return FoundRun(path[-1], tuple(graph.edges_along(path[::-1])), 0)

    def _continuing(self) -> Array:
        """For each state a 1 where there is a run from it that counts."""
        if self._runs is Runs.COMPLETE:
            return self.graph.runner.put("B", b"\1" * self.graph.states)
        return self.holds(TRUE)


def _left(tableau: Tableau, duties: int, known: Known, *, ended: bool) -> Iterable[int]:
    """What each way to meet duties in a state leaves for the next one."""
    if ended:
        return (0,) if tableau.met_at_the_end(duties, known) else ()
    mask = (1 << len(tableau.promised)) - 1
    return dict.fromkeys(way & mask for way in tableau.ways(duties, known))


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


def of_all_runs(formula: Formula) -> Formula:
    """What must hold of every run: A in front of a formula changes nothing."""
    match formula:
        case Not(Exists(path)):
            return negated(path)
        case _:
            return formula
