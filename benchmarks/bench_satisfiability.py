"""Satisfiability of published formulas of LTL and LTLf, by the model checker.

    git clone https://github.com/black-sat/black
    python benchmarks/bench_satisfiability.py black

BLACK, a satisfiability checker (Geatti, Gigante and Montanari, TABLEAUX 2019; MIT licence), has an
index of 3,180 formulas with their verdicts: tests/formulas/tests.index. A formula is satisfiable if
and only if its negation fails on a graph in which everything can happen: a state for each set of
propositions, and an edge from each to each. So the parser, the tableau, and the search are tested
by what others published. Each model that is found is evaluated on the formula by its definition.

Of what is in `finite_models` finite runs count, of the others infinite ones. What is not decided is
counted by its reason.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from proofs.core.explore import Step, Trace
from proofs.core.kernels import Interpreter
from proofs.core.results import Status, Verdict
from proofs.logic import FormulaChecker, Graph, Runs, parse
from proofs.logic.checking import MOST_PROMISES
from proofs.logic.formulas import Formula, atoms, negated
from proofs.logic.tableau import Tableau
from pxp_fsm.errors import UsageError

INDEX = Path("tests", "formulas", "tests.index")
FORMULAS = Path("benchmarks", "formulas")
MOST_BITS = 15
"""A node of the product has a bit for each proposition and for each temporal operator, of which
there may be 12."""

PAST = "past operators are not supported"
TERMS = "terms of a first-order theory are not supported"
PRODUCT = f"more than {MOST_BITS} propositions and temporal operators together"
OPERATORS = "more than 12 different temporal operators"
SIZE = "larger than the parser reads"
REASONS = (PAST, TERMS, PRODUCT, OPERATORS, SIZE)


@dataclass(frozen=True, slots=True)
class NotDecided(Exception):
    """A formula is not decided, for one of `REASONS`."""

    reason: str


_TOKEN = re.compile(r"\s*(<->|<=>|->|=>|&&?|\|\|?|[!~()]|[A-Za-z_]\w*)")
_OURS = {
    **{"<=>": "<->", "=>": "->", "~": "!", "True": "true", "False": "false", "V": "R"},
    **{"wX": "N"},
}
_OPERATORS = frozenset("FGXURWM")
_OF_THE_PAST = frozenset("YZOHST")


def read(text: str, *, finite: bool = False) -> Formula:
    """A formula in BLACK's syntax, by our parser; raises `NotDecided`."""
    written, place = [], 0
    text = text.strip()
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise NotDecided(TERMS)
        token, place = found[1], found.end()
        if token in _OF_THE_PAST:
            raise NotDecided(PAST)
        if token.isidentifier() and token not in _OPERATORS and token not in _OURS:
            token = f'"{token}"'
        written.append(_OURS.get(token, token))
    try:
        return parse(" ".join(written))
    except UsageError as error:
        if "too large" in str(error) or "too deeply" in str(error):
            raise NotDecided(SIZE) from error
        raise


def everything(names: Sequence[str]) -> Graph:
    """The graph in which everything can happen; the states are the sets of propositions."""
    states = 1 << len(names)
    places = {name: place for place, name in enumerate(names)}
    offsets = array("i", range(0, states * states + 1, states))
    targets = array("i", list(range(states)) * states)

    def truth(name: str) -> bytes:
        return bytes(state >> places[name] & 1 for state in range(states))

    def trace(start: int, edges: Sequence[int]) -> Trace[int]:
        return Trace(start, tuple(Step(targets[edge], targets[edge]) for edge in edges))

    runner = Interpreter()
    return Graph(runner, offsets, targets, range(states), truth, trace, frozenset(names))


def may_end(graph: Graph) -> Graph:
    """The same where a run may also end in each state: in a second one without an edge."""
    states = graph.states
    offsets = array("i", [2 * edge for edge in graph.offsets] + [2 * len(graph.targets)] * states)
    targets = array("i", [to + end for to in graph.targets for end in (0, states)])

    def truth(name: str) -> bytes:
        return bytes(graph.truth(name)) * 2

    def trace(start: int, edges: Sequence[int]) -> Trace[int]:
        return Trace(start % states, tuple(Step(0, targets[edge] % states) for edge in edges))

    every = range(2 * states)
    return Graph(Interpreter(), offsets, targets, every, truth, trace, graph.vocabulary)


@dataclass(frozen=True)
class Decision:
    """Whether a formula is satisfiable, and a model: states, of which the last `cycle` repeat."""

    formula: Formula
    names: tuple[str, ...]
    verdict: Verdict

    @property
    def satisfiable(self) -> bool:
        return self.verdict.status is Status.FAILS

    @property
    def model(self) -> tuple[list[int], int]:
        """The states of the model, as sets of bits of `names`; and how many repeat for ever.

        The cycle ends with the state in which it begins.
        """
        trace = self.verdict.trace
        if trace is None:
            raise ValueError("there is no model")
        states = [trace.start, *(step.target for step in trace.steps)]
        return (states[:-1] if self.verdict.cycle else states), self.verdict.cycle


def decide(text: str, *, finite: bool = False) -> Decision:
    """Whether a formula in BLACK's syntax is satisfiable; raises `NotDecided`."""
    formula = read(text)
    names = tuple(sorted({*atoms(formula)}))
    operators = len(Tableau(formula).promised)
    if operators > MOST_PROMISES:
        raise NotDecided(OPERATORS)
    if len(names) + operators > MOST_BITS:
        raise NotDecided(PRODUCT)
    graph = everything(names)
    if finite:
        graph = may_end(graph)
    checker = FormulaChecker(graph, Runs.FINITE if finite else Runs.INFINITE)
    return Decision(formula, names, checker.check(negated(formula)))


def listed(folder: Path) -> Iterator[tuple[str, str]]:
    """The formulas of the index: where each is, and its verdict."""
    for line in (folder / INDEX).read_text("utf-8").splitlines():
        path, _, verdict = line.partition(";")
        yield path, verdict


def family(path: str) -> str:
    """The first two parts of a path: who made the formulas."""
    return "/".join(path.split("/")[:2])


@dataclass
class Row:
    """What came of a family."""

    agreeing: int = 0
    wrong: list[str] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", nargs="?", type=Path, help="a clone of BLACK")
    parser.add_argument("--every", type=int, default=1, help="take every so manyth formula")
    given = parser.parse_args()
    folder: Path | None = given.folder
    if folder is None:
        sys.stdout.write("Name the folder of a clone of https://github.com/black-sat/black\n")
        return
    rows: dict[str, Row] = defaultdict(Row)
    for path, expected in islice(listed(folder), 0, None, given.every):
        row = rows[family(path)]
        text = (folder / FORMULAS / path).read_text("utf-8")
        started = time.process_time()
        try:
            found = decide(text, finite=path.startswith("finite_models"))
        except NotDecided as error:
            row.reasons[error.reason] += 1
            continue
        row.seconds.append(time.process_time() - started)
        if found.satisfiable == (expected == "SAT"):
            row.agreeing += 1
        else:
            row.wrong.append(path)
    _print(rows)


def _print(rows: dict[str, Row]) -> None:
    heads = ("family", "decided", "wrong", "median, s", "largest, s", "all, s", "not decided")
    lines = [heads, tuple("--" for _ in heads)]
    total = Row()
    for name, row in sorted(rows.items()):
        lines.append(_cells(name, row))
        total.agreeing += row.agreeing
        total.wrong += row.wrong
        total.reasons += row.reasons
        total.seconds += row.seconds
    lines.append(_cells("all", total))
    for line in lines:
        sys.stdout.write(f"| {' | '.join(line)} |\n")
    for path in total.wrong:
        sys.stdout.write(f"Wrong: {path}\n")


def _cells(name: str, row: Row) -> tuple[str, ...]:
    seconds = sorted(row.seconds)
    times = (
        (f"{seconds[len(seconds) // 2]:.3f}", f"{seconds[-1]:.2f}", f"{sum(seconds):.1f}")
        if seconds
        else ("", "", "")
    )
    reasons = "; ".join(f"{count:,}: {reason}" for reason, count in row.reasons.most_common())
    decided = row.agreeing + len(row.wrong)
    return name, f"{decided:,}", f"{len(row.wrong):,}", *times, reasons


if __name__ == "__main__":
    main()
