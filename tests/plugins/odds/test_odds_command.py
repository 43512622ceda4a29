"""`pxp odds` as a person uses it: what is typed, what is told, what is refused."""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pxp_fsm.cli.main import commands
from pxp_fsm.errors import UsageError
from pxp_fsm.plugins.odds import exact
from pxp_fsm.plugins.odds.results import OUTCOMES
from pxp_fsm.plugins.odds.runs import parameters

HUMAN = ["--human", "A=0.4,B=0.2,C=0.1,D=0.3,revise=0.5"]
MACHINE = ["--machine", "A=1/2,B=0.1,C=0.2,D=0.2,revise=2/3"]
BOTH = [*HUMAN, *MACHINE]


def told(*arguments: str) -> str:
    done = CliRunner().invoke(commands, ["odds", "interact", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def as_json(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(told(*arguments, "--json"))
    return found


def test_the_odds_are_told_with_what_they_are_of() -> None:
    shown = told(*BOTH)
    assert "INTERACT, n = 10, k = 3; judgements by chance" in shown
    assert "machine: A 1/2, B 1/10, C 1/5, D 1/5, revise 2/3" in shown
    (row,) = (line.split() for line in shown.splitlines() if line.startswith(" two-way"))
    assert row == ["two-way", "0.533164", "5118371411/9600000000"]
    assert "endless" not in shown


def test_json_has_every_outcome_exactly_and_as_a_float() -> None:
    found = as_json(*BOTH, "--n", "12", "--k", "4", "--also", "lengths", "--also", "sensitivities")
    pair = parameters.player([MACHINE[1]], "machine"), parameters.player([HUMAN[1]], "human")
    due = exact(pair, 12, 4)
    assert (found["n"], found["k"], found["exact"]) == (12, 4, True)
    for outcome in OUTCOMES:
        assert Fraction(found["outcomes"][outcome]["exact"]) == due.of(outcome)
        assert found["outcomes"][outcome]["value"] == float(due.of(outcome))
    assert Fraction(found["length"]["exact"]) == due.length
    listed = [Fraction(each["exact"]) for each in found["lengths"]]
    assert sum(place * share for place, share in enumerate(listed, start=1)) == due.length
    assert set(found["sensitivities"]) == {
        f"{role}.{name}" for role in parameters.ROLES for name in ("A", "B", "C", "D", "revise")
    }


def test_floats_and_no_bound() -> None:
    floats = as_json(*BOTH, "--n", "100000000")
    limit = as_json(*BOTH, "--n", "inf")
    assert (floats["exact"], limit["exact"], limit["n"]) == (False, True, None)
    assert limit["outcomes"]["two-way"]["exact"] == "867/1645"
    assert floats["outcomes"]["two-way"]["exact"] is None
    assert floats["outcomes"]["two-way"]["value"] == pytest.approx(867 / 1645, abs=1e-12)
    assert "exactly" not in told(*BOTH, "--float")
    never = told("--machine", "B=1", "--human", "B=1", "--n", "inf")
    assert ["messages,", "expected", "endless"] in [line.split() for line in never.splitlines()]


def test_a_free_parameter_and_its_targets() -> None:
    pytest.importorskip("flint", reason="python-flint is not installed: extra odds")
    asked = ["--free", "human.A", "--target", "two-way=0.8", "--target", "two-way=0.99"]
    shown = told(*BOTH, "--n", "inf", *asked)
    assert "(-3x^3 + 22x^2 - 43x) / (3x^2 - 7x - 24)" in shown
    assert (
        "two-way with probability 4/5 or more: human.A from ≈0.825062863999 to 1. The smallest"
        in shown
    )
    assert "two-way with probability 99/100 or more: nowhere, whatever human.A is" in shown
    found = as_json(*BOTH, "--n", "inf", *asked)["free"]
    assert found["functions"]["two-way"] == {
        "numerator": ["0", "-43", "22", "-3"],
        "denominator": ["-24", "-7", "3"],
    }
    ((reach,), nowhere) = (target["reached"] for target in found["targets"])
    assert Fraction(reach["from"]["low"]) < Fraction(reach["from"]["high"])
    assert (reach["to"]["low"], nowhere) == ("1", [])


def test_what_is_done_in_answer_to_a_tag_can_be_said() -> None:
    shown = told(*BOTH, "--machine", "RATIFY:A=1")
    assert "machine in answer to RATIFY: A 1, B 0, C 0, D 0, revise 0" in shown
    (row,) = (line.split() for line in shown.splitlines() if line.startswith(" ratified"))
    assert float(row[1]) > 0.6


def test_the_chain_is_written_for_other_tools(tmp_path: Path) -> None:
    file = tmp_path / "chain.pm"
    told(*BOTH, "-o", str(file))
    text = file.read_text("utf-8")
    assert text.startswith("// INTERACT with judgements by chance, k = 3\n")
    assert 'label "two_way"' in text


A, X = ["--machine", "A=1"], "--human"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([*A], "--human: the behaviour of the human is missing"),
        ([*A, X, "A=0.4,D=0.5"], "--human: A, B, C and D must add up to 1; they add up to 9/10"),
        ([*A, X, "A=0.4,E=0.6"], "'E=0.6' is not NAME=NUMBER"),
        ([*A, X, "A=1e99999999"], "A of the human must be a number such as 2/5 or 0.4"),
        ([*A, X, "A=1/0"], "must be a number such as"),
        ([*A, X, "A=1,A=1"], "A is given twice"),
        ([*A, X, "A=1,revise=3/2"], "revise.B is a probability, from 0 to 1; it was 3/2"),
        ([*A, X, "A=1", X, "A=1"], "the behaviour is given twice"),
        ([*A, X, "A=1", X, "REJECT:A=1"], "must be the tag that is answered"),
        ([*BOTH, "--n", "many"], "'many' is not a whole number"),
        ([*BOTH, "--n", "0"], "n is the largest number of messages"),
        ([*BOTH, "--k", "0"], "k is the message after which"),
        ([*BOTH, "--n", "30000", "--exact"], "exact results require n up to 20,000"),
        ([*BOTH, "--n", "inf", "--k", "30000"], "exact results require k up to 20,000"),
        (
            [*BOTH, "--n", "5000", "--also", "lengths"],
            "with lengths n is at most 1,000; it was 5,000",
        ),
        ([*BOTH, "--n", "inf", "--also", "lengths"], "--also: lengths require a bound n"),
        (
            [*BOTH, "--n", "inf", "--k", "2000", "--also", "sensitivities"],
            "sensitivities k is at most",
        ),
        ([*BOTH, "--target", "two-way=0.9"], "--target: a target requires a free parameter"),
        (
            [*BOTH, "--free", "human.A", "--target", "two-way"],
            "a target must be OUTCOME=PROBABILITY",
        ),
        ([*BOTH, "--free", "human.A", "--target", "two-way=2"], "at most 1, not 2"),
        ([*BOTH, "--free", "human.A", "--target", "fun=1"], "no outcome 'fun'; there are: one-way"),
        ([*BOTH, "--free", "human.luck"], "no parameter 'luck'"),
        ([*BOTH, "--free", "A"], "such as human.A or machine.revise; it is 'A'"),
        ([*BOTH, "--free", "human.RATIFY:A"], "nothing is said of what this agent does in answer"),
        ([*BOTH, "--free", "human.A", "--n", "1001"], "with a free parameter n is at most 1,000"),
        ([*A, X, "A=1", "--free", "human.A"], "nothing says how the other categories share"),
        ([*BOTH, "--from", "b.sqlite", "r"], "it excludes --machine and --human"),
        ([*BOTH, "--by-tag"], "--by-tag requires --from"),
        (
            [*BOTH, "--published", "RAD 2025"],
            "--published can be combined with --seed and --json only",
        ),
        (
            ["--float", "--published", "RAD 2025"],
            "--published can be combined with --seed and --json only",
        ),
        (
            ["--n", "0", "--published", "RAD 2025"],
            "--published can be combined with --seed and --json only",
        ),
        (["--published", "RAD 1999"], "no column 'RAD 1999' is published; there are: all, RAD"),
        (["--published", "all", "--seed", "-1"], "--seed is 0 or more"),
    ],
)
def test_what_cannot_be_used_is_refused_in_words(arguments: list[str], says: str) -> None:
    done = CliRunner().invoke(commands, ["odds", "interact", *arguments])
    assert done.exit_code == 2
    assert says in done.output


@pytest.mark.parametrize(
    ("protocol", "why"), [("pxp", "no judgement decides"), ("intract", "no protocol 'intract'")]
)
def test_of_other_protocols_there_are_no_odds(protocol: str, why: str) -> None:
    done = CliRunner().invoke(commands, ["odds", protocol, *BOTH])
    assert done.exit_code == 2
    assert why in done.output
    assert "probabilities are computed for interact" in done.output


def test_only_numbers_are_read() -> None:
    assert parameters.number(" 2/5 ", "x") == parameters.number("0.4", "x") == Fraction(2, 5)
    for wrong in ("", "-1", "0x1", "1.", ".5", "٣", "1_0", "inf", "nan", "1e3", "2/-5"):
        with pytest.raises(UsageError, match="must be a number such as"):
            parameters.number(wrong, "x")


@pytest.mark.parametrize(
    ("missing", "arguments", "says"),
    [
        ("flint", [*BOTH, "--free", "human.A"], "a function of a parameter needs python-flint"),
        ("scipy", ["--published", "RAD 2025"], "fitting needs SciPy"),
    ],
)
def test_without_the_extra_it_says_what_to_install(
    missing: str, arguments: list[str], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    done = CliRunner().invoke(commands, ["odds", "interact", *arguments])
    assert done.exit_code == 2
    assert done.output.startswith(f"Error: {says}, which is not installed")
    assert "pip install 'pxp-fsm[odds]'" in done.output
