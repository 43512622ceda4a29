"""Verdicts on random graphs and formulas, beside SPIN's, where SPIN and a C compiler are there."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from proofs.core.explore import explore
from proofs.core.results import Status
from proofs.logic import FormulaChecker, graph_of
from proofs.logic.formulas import Formula, Next, Release, Until, WeakNext, children
from tests.oracles.graphs import NAMES, random_graph, random_path
from tests.oracles.model_checkers import needs_spin
from tests.oracles.spin import Pair, verdicts

pytestmark = needs_spin

MOST = 3
"""What a formula may weigh: SPIN's translation takes minutes for some that weigh more."""


def weight(formula: Formula) -> int:
    """How many temporal operators SPIN has to translate; X is two of them there."""
    own = 2 * isinstance(formula, (Next, WeakNext)) + isinstance(formula, (Until, Release))
    return own + sum(map(weight, children(formula)))


def pairs(first: int, count: int) -> list[Pair]:
    """So many pairs by seeds from `first`, each with a formula that is about more than a state."""

    def drawn() -> Iterator[Pair]:
        seed = first
        while True:
            chance = random.Random(seed)
            graph, formula = random_graph(chance, 5), random_path(chance, 3)
            if 1 <= weight(formula) <= MOST:
                yield graph, formula
            seed += 1

    source = drawn()
    return [next(source) for _ in range(count)]


def agree(chosen: list[Pair], folder: Path) -> None:
    """Ours and SPIN's verdicts are the same, and neither is always the same."""
    ours = [
        FormulaChecker(graph_of(graph, explore(graph), vocabulary=frozenset(NAMES)))
        .check(formula)
        .status
        for graph, formula in chosen
    ]
    theirs = verdicts(chosen, folder)
    for pair, mine, holds in zip(chosen, ours, theirs, strict=True):
        assert (mine is Status.HOLDS) is holds, pair
    assert min(theirs.count(True), theirs.count(False)) > len(chosen) // 8
    assert any(not targets for graph, _ in chosen for targets in graph.edges)


@pytest.mark.deep
def test_spin_has_the_same_verdicts(tmp_path: Path) -> None:
    agree(pairs(0, 30), tmp_path)


@pytest.mark.deep
@pytest.mark.parametrize("part", [1, 3])
def test_spin_has_the_same_verdicts_on_hundreds(part: int, tmp_path: Path) -> None:
    agree(pairs(100_000 * (part + 1), 80), tmp_path)


def test_spin_as_it_is_installed_reads_no_x() -> None:
    """That is why exports write X as never claims; where this fails, they need not."""
    done = subprocess.run(
        ["spin", "-f", "[] (p -> X q)"], capture_output=True, text=True, check=False
    )
    assert "expected predicate, saw 'X'" in done.stdout + done.stderr
