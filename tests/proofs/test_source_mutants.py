"""A sample of the changes of what runs is noticed; all of them: `make mutants`."""

from __future__ import annotations

import ast

import pytest

from pxp_fsm.protocol import rules
from tests.proofs.mutation_page import EQUIVALENT, kind, page, shuffled
from tests.proofs.source_changes import functions, installed
from tests.proofs.source_mutants import MODULES, Mutant, mutants, noticed, tried

SAMPLE = 8


def test_every_module_has_mutants_and_each_mutant_is_one_change() -> None:
    found = mutants()
    assert {mutant.module for mutant in found} == set(MODULES)
    assert len({mutant.key for mutant in found}) == len(found) > 1500


def test_what_is_called_equivalent_is_a_mutant() -> None:
    assert set(EQUIVALENT) <= set(map(str, mutants()))


def test_a_mutant_runs_in_a_process_of_its_own() -> None:
    mutant = next(one for one in mutants() if one.name == "derive")
    before = rules.derive
    assert tried(mutant, lambda _mutant: f"{rules.derive is before}") == "False"
    assert rules.derive is before

    def fails(_mutant: Mutant) -> str:
        raise ValueError

    assert tried(mutant, fails) == "ValueError stops the check"


@pytest.mark.deep
@pytest.mark.parametrize("place", range(SAMPLE))
def test_a_sample_is_noticed_or_changes_nothing(place: int) -> None:
    mutant = shuffled()[place]
    assert kind(mutant, tried(mutant)) != "survives", str(mutant)


@pytest.mark.deep
def test_nothing_is_noticed_where_nothing_is_changed() -> None:
    (same,) = (node for name, node in functions(rules) if name == "derive")
    with installed(rules, "derive", same):
        assert noticed(Mutant(rules, "derive", "nothing", ast.unparse(same))) == ""


def test_the_page_counts_what_was_tried() -> None:
    first, second = shuffled()[:2]
    text = page([(first, "sessions-agree-with-model"), (second, "nothing")], 2)
    assert "2 of 2 were tried" in text
    assert f"- {second}" in text or str(second) in EQUIVALENT
