"""Partial order where a careless choice would lose something: each case breaks one condition."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from proofs.core.results import Status
from proofs.logic import parse
from proofs.systems import (
    Composition,
    Reduction,
    check,
    decide_standard,
    parse_channel,
    system_of,
)
from proofs.systems.partial_order import Closed, PartialOrder
from proofs.systems.product import Move
from proofs.systems.reachability import reach
from proofs.systems.standard_checks import STANDARD, StandardChecks
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


def composed(channel: str, texts: dict[str, str]) -> Composition:
    system = system_of([(one, table(one, text)) for one, text in texts.items()])
    return Composition(system.over(parse_channel(channel)))


@pytest.mark.parametrize("name", TRAPS)
def test_traps_of_partial_order(name: str) -> None:
    channel, texts, formula, expected = TRAPS[name]
    composition = composed(channel, texts)
    assert check(composition, parse(formula)).status is expected
    reduced = check(composition, parse(formula), reduction=Reduction.PARTIAL_ORDER)
    assert reduced.status is expected


class Hasty(PartialOrder):
    """Does not look whether a step leads back to a state that has been looked at."""

    def followed(self, state: int, closed: Closed) -> list[Move]:
        return super().followed(state, lambda target: False)


def without_conditions(composition: Composition) -> PartialOrder:
    return PartialOrder(composition, ())


def of_receivers(composition: Composition) -> PartialOrder:
    return PartialOrder(composition, ["r@DONE"])


CHECK_TRAPS: dict[str, tuple[str, dict[str, str], Callable[[Composition], PartialOrder]]] = {
    "no-dead-row: a row that could be taken must not be put off for ever": (
        "fifo:1",
        {"a": "[S] -> [S] event TICK", "b": "A -> [B] send X", "c": "A -> [B] receive X"},
        lambda composition: Hasty(composition, ()),
    ),
    "no-unspecified-reception: what is reordered may be received after all": (
        "reordering:2",
        {
            "s": "A -> B send Y to r\nB -> [C] send X to r",
            "t": "A -> [B] send Z to r",
            "r": "A -> [B] receive X from s\nA -> [B] receive W from t\n"
            "[B] -> [B] receive Y from s\n[B] -> [B] receive Z from t",
        },
        without_conditions,
    ),
    "no-orphan-message: what is reordered may be taken by a member that has ended": (
        "reordering:2",
        {
            "s": "A -> B send Y to r\nB -> [C] send X to r",
            "r": "A -> [DONE] event GO\n[DONE] -> LAST receive X from s\n"
            "LAST -> [OVER] receive Y from s",
        },
        of_receivers,
    ),
    "no-orphan-message: a member that has ended may go on": (
        "fifo:1",
        {
            "r": "[DONE] -> LATER event GO\nLATER -> [OVER] receive X",
            "s": "A -> [B] send X",
        },
        without_conditions,
    ),
    "end-reachable-from-everywhere: a member may leave its end before another comes to its own": (
        "fifo:1",
        {
            "a": "[DONE] -> B event A0\nC -> [DONE] event A1\nB -> C event A2",
            "b": "[DONE] -> B event B0\nB -> [DONE] event B1",
        },
        without_conditions,
    ),
}
"""What partial order would lose with one condition less."""


@pytest.mark.parametrize("name", CHECK_TRAPS)
def test_traps_of_decide_standard(name: str) -> None:
    channel, texts, careless = CHECK_TRAPS[name]
    composition, check_name = composed(channel, texts), name.partition(":")[0]
    names = frozenset({check_name})
    [(_, full)] = decide_standard(composition, names=names)
    [(_, reduced)] = decide_standard(composition, None, Reduction.PARTIAL_ORDER, names)
    lost = STANDARD[check_name].decide(
        StandardChecks(reach(composition, reduction=careless(composition)))
    )
    assert reduced.status is full.status
    assert lost.status is not full.status
