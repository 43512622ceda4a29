"""Rows that name their partner: in files, in the table, in the machine, in drawings."""

from __future__ import annotations

import pytest

from proofs.systems.results import compare_machine
from pxp_fsm.automata.automaton import DECIDE, Kind, happening, receiving, sending
from pxp_fsm.automata.tables import parse_automaton
from pxp_fsm.diagrams.extract import state_diagram
from pxp_fsm.errors import NotEnabled, TableError
from pxp_fsm.sessions.machine import Machine

HUB = """\
format = 1
name = "hub"
title = "Hub"
initial = "A"
final = ["C"]
states = [
  { name = "A", guards = ["G", "H"], exclusive = true, complete = true },
  { name = "B" },
  { name = "C" },
]
rows = [
  { from = "A", to = "B", guard = "G", send = "ASK", partner = "left" },
  { from = "A", to = "B", guard = "H", send = "ASK", partner = "right" },
  { from = "B", to = "C", receive = "YES", partner = "left" },
  { from = "B", to = "B", receive = "YES", partner = "right" },
  { from = "B", to = "C", receive = "NO" },
  { from = "B", to = "C", send = "BYE", partner = "right" },
  { from = "B", to = "C", event = "CLOSE" },
]
[guards]
G = "left is asked"
H = "right is asked"
"""


def test_a_row_names_its_partner() -> None:
    hub = parse_automaton(HUB)
    assert [row.partner for row in hub.transitions] == [
        *("left", "right", "left", "right", "", "right", "")
    ]
    assert [row.action for row in hub.transitions][:4] == [
        *("+ASK to left", "+ASK to right", "-YES from left", "-YES from right")
    ]
    assert hub.step("B", receiving("YES", "left")).target == "C"
    assert hub.step("B", receiving("YES", "right")).target == "B"
    assert hub.step("B", receiving("NO", "anybody")).target == "C"
    assert hub.receives("B", "YES") is None
    assert hub.receives("B", "NO") is not None
    assert hub.sends("B", "BYE", "left") is None


def test_the_machine_is_the_table() -> None:
    hub = parse_automaton(HUB)
    assert compare_machine(hub).differences == ()
    machine = Machine(hub)
    machine.decide({"G": True, "H": False})
    assert machine.receive("YES", "right").target == "B"
    for event in (receiving("YES"), receiving("YES", "middle"), sending("BYE"), sending("YES")):
        with pytest.raises(NotEnabled):
            machine.fire(event)
    assert machine.state == "B"
    assert machine.send("BYE", "right").target == "C"


def test_partners_are_part_of_what_a_table_means() -> None:
    plain = HUB.replace(', partner = "left"', "").replace(', partner = "right"', "")
    plain = plain.replace('{ from = "B", to = "B", receive = "YES" },', "")
    plain = plain.replace('guard = "H", send = "ASK"', 'guard = "H", send = "BYE"')
    heard = plain.replace('receive = "NO"', 'receive = ["NO", "ASK", "BYE"]')
    named = heard.replace('send = "ASK"', 'send = "ASK", partner = "left"')
    assert parse_automaton(heard).fingerprint != parse_automaton(named).fingerprint


def test_a_drawing_says_to_whom() -> None:
    edges = state_diagram(parse_automaton(HUB)).edges
    texts = [row.text for edge in edges for row in edge.rows]
    assert "1 G / +ASK to left" in texts
    assert "3 \N{MINUS SIGN}YES from left" in texts


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('receive = "NO"', 'receive = ["NO", "YES"]', "one names its partner and one does not"),
        ('event = "CLOSE"', 'event = "CLOSE", partner = "left"', "comes from outside"),
        ('partner = "left"', 'partner = "left wing"', "is not a valid name"),
        ('partner = "left"', "partner = 3", "rows[0].partner"),
        ('"YES", partner = "right"', '"YES", partner = "left"', "a second row leaves B on -YES"),
        ("partner =", "with =", "unknown key with"),
    ],
)
def test_a_wrong_partner_is_refused_with_its_line(old: str, new: str, said: str) -> None:
    with pytest.raises(TableError) as raised:
        parse_automaton(HUB.replace(old, new, 1), "hub.toml")
    assert said in str(raised.value), raised.value
    assert "hub.toml, line" in str(raised.value)


def test_the_kinds_of_rows_that_have_partners() -> None:
    hub = parse_automaton(HUB)
    assert {row.kind for row in hub.transitions if row.partner} == {Kind.SEND, Kind.RECEIVE}


def test_an_event_is_shown_as_it_is_written_at_its_arrow() -> None:
    shown = [str(event) for event in (DECIDE, sending("TASK"), sending("TASK", "left"))]
    assert shown == ["decide", "+TASK", "+TASK to left"]
    shown = [str(event) for event in (receiving("DONE"), receiving("DONE", "hub"), happening("X"))]
    assert shown == ["-DONE", "-DONE from hub", "!X"]
