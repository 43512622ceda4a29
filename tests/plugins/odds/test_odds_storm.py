"""The odds beside Storm's: the same chain, written in the PRISM language, checked by stormpy."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from pxp_fsm.plugins.odds import Behaviour, Player, exact
from pxp_fsm.plugins.odds.behaviour import REVISING
from pxp_fsm.plugins.odds.chain import Players
from pxp_fsm.plugins.odds.floats import floats
from pxp_fsm.plugins.odds.functions import along
from pxp_fsm.plugins.odds.limit import limit
from pxp_fsm.plugins.odds.prism import label_of, prism
from pxp_fsm.plugins.odds.results import OUTCOMES
from pxp_fsm.protocol.decisions import Category
from tests.plugins.odds.session_odds import H, M

stormpy = pytest.importorskip("stormpy", reason="stormpy is not installed: extra storm")

LABELLED = [outcome for outcome in OUTCOMES if outcome != "endless"]


def storm(text: str, formula: str, folder: Path, kind: Any = float) -> dict[str, Any]:
    """What Storm says of `formula` for each outcome's label."""
    file = folder / "chain.pm"
    file.write_text(text, "utf-8")
    program = stormpy.parse_prism_program(str(file))
    properties = stormpy.parse_properties(
        ";".join(formula.format(label_of(outcome)) for outcome in LABELLED), program
    )
    model = stormpy.build_model[kind](program, properties)
    return {
        outcome: stormpy.model_checking(model, asked).get_value(model.initial_states[0])
        for outcome, asked in zip(LABELLED, properties, strict=True)
    }


def drawn(seed: int) -> Players:
    """Two players by a seed, the one's behaviour going by what it answers."""
    chance = random.Random(seed)

    def behaviour() -> Behaviour:
        shares = [chance.randint(1, 1000) for _ in Category]
        return Behaviour(
            {c: Fraction(s, sum(shares)) for c, s in zip(Category, shares, strict=True)},
            {c: Fraction(chance.randint(0, 1000), 1000) for c in REVISING},
        )

    return Player(behaviour(), {"REFUTE": behaviour()}), Player(behaviour())


@pytest.mark.parametrize(("seed", "n", "k"), [(1, 1, 1), (2, 4, 1), (3, 9, 3), (4, 60, 7)])
def test_storms_floats_are_ours_with_a_counter_and_without(
    seed: int, n: int, k: int, tmp_path: Path
) -> None:
    pair = drawn(seed)
    ours, due = floats(pair, n, k), exact(pair, n, k)
    after = storm(prism(pair, k), f'P=? [F[{n - 1},{n - 1}] "{{}}"]', tmp_path)
    counted = storm(prism(pair, k, n), 'P=? [F "{}"]', tmp_path, stormpy.Rational)
    for outcome in LABELLED:
        assert abs(after[outcome] - ours.of(outcome)) < 1e-12, outcome
        assert Fraction(str(counted[outcome])) == due.of(outcome), outcome


def test_storms_exact_limit_is_ours(tmp_path: Path) -> None:
    pair = drawn(5)
    due = limit(pair, 3)
    found = storm(prism(pair, 3), 'P=? [F ("over" & "{}")]', tmp_path, stormpy.Rational)
    for outcome in LABELLED:
        assert Fraction(str(found[outcome])) == due.of(outcome), outcome


def test_storms_function_of_a_parameter_is_ours(tmp_path: Path) -> None:
    pytest.importorskip("flint", reason="python-flint is not installed: extra odds")
    text = prism((M, H), 3, free=(1, "A"))
    found = storm(text, 'P=? [F ("over" & "{}")]', tmp_path, stormpy.RationalFunction)
    due = along((M, H), 1, "A", None, 3)
    (x,) = found["two-way"].gather_variables()
    for outcome in LABELLED:
        for eighths in range(1, 8):
            at = {x: stormpy.RationalFunctionCoefficient(f"{eighths}/8")}
            value = found[outcome].evaluate(at)
            assert Fraction(str(value)) == due.of(outcome)(Fraction(eighths, 8)), outcome


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(10, 50, 3))
def test_storms_floats_are_ours_for_many_players(seed: int, tmp_path: Path) -> None:
    pair, n, k = drawn(seed), seed * 3, seed % 7 + 1
    ours = floats(pair, n, k)
    after = storm(prism(pair, k), f'P=? [F[{n - 1},{n - 1}] "{{}}"]', tmp_path)
    assert max(abs(after[each] - ours.of(each)) for each in LABELLED) < 1e-12
