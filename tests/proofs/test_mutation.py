"""Every single change of rows and rules of the tables is caught."""

from __future__ import annotations

from collections import Counter

import pytest

from proofs.claims.checking import Substitutes
from tests.proofs.mutants import rule_mutants, table_mutants
from tests.proofs.mutation_analysis import RULED, TABLES, caught, judged, verdicts
from tests.sampling import sampled


@pytest.mark.deep
def test_nothing_is_caught_where_nothing_is_changed() -> None:
    assert [name for name, expected in verdicts(Substitutes()) if not expected] == []


@pytest.mark.deep
@pytest.mark.parametrize("table", TABLES)
def test_a_sample_of_changes_of_a_table_is_caught(table: str) -> None:
    mutants = list(table_mutants(table, step=17))
    assert len(mutants) > 100
    assert sum(mutant.instead is not None for mutant in mutants) > 15
    assert [mutant.change for mutant in mutants if not caught(mutant)] == []


@pytest.mark.parametrize("table", sampled(RULED, 3))
def test_a_sample_of_changes_of_rules_is_caught(table: str) -> None:
    mutants = list(rule_mutants(table, step=13))
    assert sum(mutant.instead is not None for mutant in mutants) > 1
    assert [m.change for m in mutants if judged(m) == "SURVIVES"] == []


@pytest.mark.deep
def test_every_change_of_a_table_is_caught() -> None:
    for table, number in (("interact", 2165), ("pxp", 1916)):
        found = Counter(judged(mutant).partition(":")[0] for mutant in table_mutants(table))
        assert found.total() == number
        assert "SURVIVES" not in found


@pytest.mark.deep
@pytest.mark.parametrize("table", RULED)
def test_every_change_of_a_rule_is_caught(table: str) -> None:
    found = {mutant.change: judged(mutant) for mutant in rule_mutants(table)}
    assert [change for change, by in found.items() if by == "SURVIVES"] == []
