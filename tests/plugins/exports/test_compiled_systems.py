"""The compiled search of systems, and SPIN on what is exported of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from proofs.core.limits import Effort
from proofs.core.table_search import explore_tables
from proofs.systems import Channel, Composition, Member, System
from proofs.systems.tables import tables_of
from pxp_fsm.plugins.exports.promela import to_promela
from tests.oracles.model_checkers import needs_spin, spin
from tests.proofs.text_tables import table


@pytest.mark.deep
@needs_spin
def test_spin_meets_as_many_states(tmp_path: Path) -> None:
    hub = table("hub", "[READY] -> [READY] receive BEGIN\n[READY] -> [READY] receive END")
    worker = table("worker", "[IDLE] -> BUSY send BEGIN\nBUSY -> [IDLE] send END")
    members = [Member("hub", hub), *(Member(f"worker{one}", worker) for one in range(4))]
    composition = Composition(System(tuple(members)).over(Channel(4)))
    found = explore_tables(tables_of(composition), Effort())
    assert (found.transitions, found.depth) == (64_000, 24)
    theirs = spin(to_promela(composition).text, 0, tmp_path).states
    assert len(found.states) == theirs == 10_000
