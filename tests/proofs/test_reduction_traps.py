"""Partial order where a careless choice would lose something: each case breaks one condition."""

from __future__ import annotations

import pytest

from proofs.core.results import Status
from proofs.logic import parse
from proofs.systems import Composition, Reduction, check, parse_channel, system_of
from tests.proofs.text_tables import table

TRAPS = {
    "a step that is always possible must not put off the others for ever": (
        "fifo:1",
        {"a": "[S] -> [S] event TICK", "b": "A -> [B] send X", "c": "A -> [B] receive X"},
        "G !c@B",
        Status.FAILS,
    ),
    "a formula may speak of two buffers at once": (
        "fifo:1",
        {
            "a": "A -> [B] send X to b",
            "b": "A -> [B] receive X from a",
            "c": "A -> [B] send X to d",
            "d": "A -> [B] receive X from c",
        },
        "G !(a:b@has.X & c:d@has.X)",
        Status.FAILS,
    ),
    "what comes later may be taken first": (
        "reordering:2",
        {
            "a": "A -> [B] receive X\nA -> [C] receive Y",
            "b": "A -> B send X\nB -> [C] send Y",
        },
        "G !a@C",
        Status.FAILS,
    ),
    "what comes from somebody else may be taken first": (
        "fifo:1",
        {
            "a": "A -> [B] receive X\nA -> [C] receive Y",
            "b": "A -> [B] send X",
            "c": "A -> [B] send Y",
        },
        "G !a@C",
        Status.FAILS,
    ),
    "whether a choice is still open is seen by formulas that branch": (
        "fifo:1",
        {
            "a": "A -> B event TICK\nA -> C event TOCK\nB -> [D] send X to c\nC -> [D] send Y to c",
            "b": "A -> [B] event GO",
            "c": "A -> [B] receive X\nA -> [C] receive Y",
        },
        "EF (b@B & EF c@B & EF c@C)",
        Status.HOLDS,
    ),
    "an event may move somebody who would rather do something else": (
        "fifo:1",
        {
            "a": "A -> [B] event TICK",
            "b": "A -> [B] event TICK\nA -> [C] send X to c",
            "c": "[A] -> [B] receive X",
        },
        "G !b@C",
        Status.FAILS,
    ),
    "a full buffer may be emptied": (
        "lossy:1",
        {
            "a": "A -> B send X\nB -> [C] send X",
            "b": "A -> B receive X\nB -> [C] receive X",
        },
        "G !b@C",
        Status.FAILS,
    ),
}


@pytest.mark.parametrize("name", TRAPS)
def test_traps_of_partial_order(name: str) -> None:
    channel, texts, formula, expected = TRAPS[name]
    system = system_of([(one, table(one, text)) for one, text in texts.items()])
    composition = Composition(system.over(parse_channel(channel)))
    assert check(composition, parse(formula)).status is expected
    reduced = check(composition, parse(formula), reduction=Reduction.PARTIAL_ORDER)
    assert reduced.status is expected
