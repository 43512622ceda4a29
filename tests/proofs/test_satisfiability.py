"""Formulas whose satisfiability others published: the checker agrees, and its models are models.

A sample comes with the tests. All formulas of BLACK's index are decided by the long tests where
the environment variable BLACK names a clone of it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from bench_satisfiability import (
    FORMULAS,
    PAST,
    REASONS,
    TERMS,
    Decision,
    NotDecided,
    decide,
    listed,
    read,
)

from proofs.logic.formulas import Atom, Formula, Not
from tests.oracles.runs import satisfied

SAMPLE = [
    line.split(";")
    for line in (Path(__file__).parent / "black_formulas.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
]


def check(found: Decision, verdict: str) -> None:
    """The verdict is the published one, and a model satisfies the formula by its definition."""
    assert found.satisfiable == (verdict == "SAT")
    if found.satisfiable:
        states, cycle = found.model

        def holds(part: Formula, state: int) -> bool:
            assert isinstance(part, Atom)
            return bool(state >> found.names.index(part.name) & 1)

        assert satisfied(found.formula, states, cycle, holds)


@pytest.mark.parametrize(("verdict", "path", "text"), SAMPLE, ids=[line[1] for line in SAMPLE])
def test_a_published_verdict_is_ours(verdict: str, path: str, text: str) -> None:
    check(decide(text, finite=path.startswith("finite_models")), verdict)


def test_formulas_of_others_are_read_as_theirs() -> None:
    assert read("~ (a) => True") == read("!a -> True")
    assert isinstance(read(" ~  (a)"), Not)


@pytest.mark.parametrize(
    ("text", "reason"), [("G (p -> O q)", PAST), ("p S q", PAST), ("x + 1 = 2", TERMS)]
)
def test_what_is_not_supported_is_named(text: str, reason: str) -> None:
    with pytest.raises(NotDecided) as raised:
        decide(text)
    assert raised.value.reason == reason


@pytest.mark.deep
@pytest.mark.skipif("BLACK" not in os.environ, reason="BLACK names no clone of black-sat/black")
def test_every_published_verdict_is_ours() -> None:
    folder = Path(os.environ["BLACK"])
    decided = 0
    for path, verdict in listed(folder):
        text = (folder / FORMULAS / path).read_text("utf-8")
        try:
            found = decide(text, finite=path.startswith("finite_models"))
        except NotDecided as error:
            assert error.reason in REASONS
            continue
        check(found, verdict)
        decided += 1
    assert decided > 500
