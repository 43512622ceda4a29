"""Sums of amounts: what they may come to is enforced, kept over restarts, and proved."""

from __future__ import annotations

import random
import tomllib
from pathlib import Path
from typing import Any

import pytest

import pxp_fsm as pxp
from backends.databases import SqlBlackboard
from proofs.core.results import Status
from proofs.requests import Request
from proofs.rules.certificates import RulesCertificate
from pxp_fsm.errors import FileError
from pxp_fsm.plugins.gateway import Gateway
from pxp_fsm.plugins.gateway.checks import POLICIES
from tests.oracles.gateway import Naive
from tests.plugins.gateway.sides import Sides, written
from tests.sampling import swept

POLICY = """format = 1
name = "spending"
otherwise = { tools = "refuse", methods = "pass" }

[[lines]]
tool = "transfer"
event = "TRANSFER"
about = "Ask for a new budget."

[fields]
amount = { at = "amount", type = "int" }
account = { at = "to", type = "id" }

[[sums]]
name = "budget"
event = "TRANSFER"
of = "amount"
most = 1000

[[sums]]
name = "each"
event = "TRANSFER"
of = "amount"
most = 600
per = ["account"]

[[properties]]
check = "calls-stay-possible"
expected = "FAILS"
"""


def test_amounts_are_added_and_no_more_than_the_bound_passes() -> None:
    sides = Sides.of(written(POLICY))
    assert sides.passes("transfer", amount=600, to="a")
    assert not sides.passes("transfer", amount=1, to="a")
    assert "each allows 0 more of amount (600 of 600 are used)" in sides.told()
    assert "Ask for a new budget." in sides.told()
    assert not sides.passes("transfer", amount=401, to="b")
    assert "budget allows 400 more of amount (600 of 1000 are used)" in sides.told()
    for wrong in (-1, True, 1.0, "1", None):
        assert not sides.passes("transfer", amount=wrong, to="b")
    assert sides.passes("transfer", amount=400, to="b")
    assert sides.passes("transfer", amount=0, to="b")
    assert not sides.passes("transfer", amount=1, to="c")


def test_a_restart_wins_no_new_budget(tmp_path: Path) -> None:
    for start in range(3):
        with SqlBlackboard(str(tmp_path / "runs.sqlite")) as board:
            sides = Sides.of(written(POLICY), board)
            assert sides.passes("transfer", amount=400, to=str(start)) is (start < 2)
            sides.reply()
            sides.gateway.stop()


@pytest.mark.parametrize("seeds", [30, pytest.param(swept(2_000), marks=pytest.mark.deep)])
def test_a_gateway_with_sums_does_what_the_naive_one_does(seeds: int) -> None:
    raw, policy, passed = tomllib.loads(POLICY), written(POLICY), 0
    for seed in range(seeds):
        chance = random.Random(seed)
        naive, sides = Naive(raw), Sides(Gateway(policy))
        for _ in range(15):
            amount = chance.choice([0, 1, 100, 250, 400, -5, "5", 2.5])
            arguments: dict[str, Any] = {"amount": amount, "to": chance.choice("ab")}
            expected = naive.call("transfer", arguments) == "pass"
            assert sides.passes("transfer", **arguments) is expected, seed
            passed += expected
    assert passed > seeds


def test_bounds_are_proved_for_all_amounts(tmp_path: Path) -> None:
    results = pxp.check(written(POLICY))
    assert results.as_expected
    stated = {result.name: result for result in results}
    assert stated["budget-stays-within"].status is Status.HOLDS
    assert stated["each-stays-within"].assumptions == "by rules"
    request = Request(subjects=(written(POLICY),), certificate=tmp_path / "proof.json")
    answers = list(POLICIES.results(request))
    assert sum(isinstance(answer, RulesCertificate) for answer in answers) == 2


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('of = "amount"', 'of = "amout"', "there is no field amout"),
        ('of = "amount"', 'of = "account"', 'account is no number; give it type = "int"'),
        ("most = 1000", "most = -1", "most"),
        ('event = "TRANSFER"\nof', 'event = "PAY"\nof', "no line raises the event PAY"),
        ('name = "each"', 'name = "budget"', "two sums are called budget"),
        ('tool = "transfer"', 'result_of = "transfer"', "raised by more than calls"),
    ],
)
def test_what_cannot_be_added_is_refused(old: str, new: str, said: str) -> None:
    with pytest.raises(FileError) as raised:
        written(POLICY.replace(old, new, 1))
    assert said in str(raised.value)
