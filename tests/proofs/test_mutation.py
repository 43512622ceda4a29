"""Every single change of the tables and the decision functions is caught, or is none."""

from __future__ import annotations

from collections import Counter

import pytest

from proofs.claims.checking import Substitutes
from tests.proofs.mutants import Mutant, decision_mutants, table_mutants
from tests.proofs.mutation_analysis import TABLES, caught, equivalent, judged, verdicts

SAME = {
    "initiator_speaks: return number % 2 == 1 becomes return number % 2 >= 1",
    "repeats: return received == answer and answer not in (Tag.INIT, Tag.TERM) becomes "
    "return received == answer and received not in (Tag.INIT, Tag.TERM)",
    "concluded: return received == own and received in (Tag.RATIFY, Tag.REJECT) becomes "
    "return received == own and own in (Tag.RATIFY, Tag.REJECT)",
}
"""The changes of decision functions that change nothing: the same value for all arguments."""


@pytest.mark.deep
def test_nothing_is_caught_where_nothing_is_changed() -> None:
    assert [name for name, expected in verdicts(Substitutes()) if not expected] == []


@pytest.mark.parametrize("table", TABLES)
def test_a_sample_of_changes_of_a_table_is_caught(table: str) -> None:
    mutants = list(table_mutants(table, step=17))
    assert len(mutants) > 100
    assert sum(mutant.instead is not None for mutant in mutants) > 15
    assert [mutant.change for mutant in mutants if not caught(mutant)] == []


def test_what_is_called_equivalent_is_and_nothing_else() -> None:
    assert {mutant.change for mutant in decision_mutants() if _same(mutant)} == SAME


def _same(mutant: Mutant) -> bool:
    try:
        return equivalent(mutant)
    except Exception:  # noqa: BLE001 - what cannot even be called is not the same
        return False


@pytest.mark.deep
def test_every_change_of_a_table_is_caught() -> None:
    for table, number in (("interact", 2177), ("pxp", 1925)):
        found = Counter(judged(mutant).partition(":")[0] for mutant in table_mutants(table))
        assert found.total() == number
        assert not {"SURVIVES", "equivalent"} & set(found)


@pytest.mark.deep
def test_every_change_of_a_decision_function_is_caught_or_changes_nothing() -> None:
    found = {mutant.change: judged(mutant) for mutant in decision_mutants()}
    assert {change for change, by in found.items() if by == "equivalent"} == SAME
    assert "SURVIVES" not in found.values()
    assert len(found) == 414
