"""The tables of networks are read and laid out by their names alone, as the core's are."""

from __future__ import annotations

from pxp_fsm.automata.tables import builtin, load_automaton
from tests.diagrams.test_diagrams import check_layout


def test_a_table_of_networks_is_read_by_its_name_alone() -> None:
    assert builtin("lan_agent").name == load_automaton("lan_agent").name == "lan_agent"


def test_a_layout_places_every_state_and_row_in_its_rectangle() -> None:
    check_layout("lan_agent")
