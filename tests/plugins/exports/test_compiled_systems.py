"""The compiled search of systems, and SPIN on what is exported of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from proofs.core.explore import explore
from proofs.core.limits import Effort
from proofs.core.table_search import explore_tables
from proofs.logic.parsing import parse
from proofs.systems import Channel, Composition, Member, System
from proofs.systems.tables import tables_of
from pxp_fsm.plugins.exports.promela import to_promela
from tests.oracles.model_checkers import needs_spin, spin
from tests.proofs.text_tables import table
from tests.sessions.test_message_values import CLIENT, FILE, GATEWAY, PERSON, TOOL


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


@pytest.mark.deep
@needs_spin
@pytest.mark.parametrize("channel", ["sync", "fifo:1", "reordering:2"])
def test_spin_meets_as_many_states_of_messages_with_values(channel: str, tmp_path: Path) -> None:
    """A gateway that remembers what was called and approved, as its rules decide."""
    system = System.load(str(FILE), CLIENT, PERSON, TOOL, channel=channel).with_parameters({})
    composition = Composition(system)
    formulas = {
        f"G ({GATEWAY}@ANSWERED -> {GATEWAY}.called=approved)": False,
        f"G (tool@DONE -> {GATEWAY}.called=approved)": True,
    }
    if channel != "sync":
        formulas[f"G !client:{GATEWAY}@has.CALL"] = False
    told = [(text, parse(text)) for text in formulas]
    space = explore(composition, limit=100_000)
    theirs = spin(to_promela(composition, told).text, len(told), tmp_path)
    ended = all(steps or composition.ended(state) for state, steps in space.steps.items())
    assert theirs.verdicts == [ended, *formulas.values()]
    assert theirs.states == len(space.steps)
