"""What checks of systems do where no verdict of another test tells it: changes that lived."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

import pxp_fsm as pxp
from proofs.core.explore import Trace
from proofs.core.results import NotReplayed, Result, Status, Verdict
from proofs.logic.parsing import parse
from proofs.systems import Composition, Interrupted, System, check, compatibility, results
from proofs.systems.coloring import text_of
from proofs.systems.compatibility import outside_the_class
from proofs.systems.options import ChannelFull, NotFirst, NotSent
from proofs.systems.pictures import product_diagram
from proofs.systems.symmetry import Symmetry, why_not
from pxp_fsm.automata.automaton import Automaton
from tests.proofs.text_tables import table

HUB = table("hub", "[READY] -> [READY] send TASK\n[READY] -> [READY] receive RESULT")
WORKER = table("worker", "[IDLE] -> BUSY receive TASK\nBUSY -> [IDLE] send RESULT")


def workers() -> System:
    return System.load(HUB, WORKER, WORKER)


@pytest.mark.parametrize(
    ("formula", "symmetric"),
    [
        ("worker1@BUSY & F worker1.RESULT", False),
        ("worker1@BUSY & worker2@BUSY & F lost", True),
        ("worker1@BUSY & hub@READY & F lost", False),
        ("worker1@BUSY | worker2@BUSY | F lost", True),
    ],
)
def test_what_tells_members_apart_beside_a_temporal_part(formula: str, symmetric: bool) -> None:
    assert (why_not(workers(), parse(formula)) == "") is symmetric


@pytest.mark.parametrize("text", ["true", "false", "true U ended", "E (true R ended)"])
def test_constants_are_written_as_they_are_read(text: str) -> None:
    assert parse(text_of(parse(text))) == parse(text)


def test_constants_in_what_edges_decide() -> None:
    composition = Composition(System.load("pxp"))
    for formula, status in (
        ("AG EF (ended & true)", "HOLDS"),
        ("AG EF (ended & false)", "FAILS"),
        ("AG EF (ended | false)", "HOLDS"),
        ("AG EF (false | false)", "FAILS"),
        ("AG (true & true)", "HOLDS"),
        ("AG (false | !true)", "FAILS"),
    ):
        assert str(check(composition, parse(formula)).status) == status, formula


def test_a_row_with_two_partners_is_outside_the_class() -> None:
    hub = table("hub", "START -> WAIT send TASK\nWAIT -> [END] receive RESULT")
    assert [*outside_the_class(System.load(hub, WORKER, WORKER))] == [
        "a row of state START of hub does not deal with one partner alone",
        "a row of state WAIT of hub does not deal with one partner alone",
    ]


def late() -> Automaton:
    return pxp.build_automaton(
        "late",
        [
            {"from": "A", "to": "A", "event": "BELL", "do": {"rung": "true", "mood": "GOOD"}},
            {"from": "A", "to": "B", "event": "END"},
        ],
        final=["B"],
        registers={
            "rung": {"type": "bool", "init": False},
            "mood": {"of": ["BAD", "GOOD"], "init": "BAD"},
        },
    )


def test_formulas_name_truth_values_and_members() -> None:
    system = System.load(late(), late()).with_parameters({})
    for formula, status in (
        ("G (late1.rung -> late1.mood=GOOD)", "HOLDS"),
        ("G (event.BELL -> late1.rung)", "HOLDS"),
        ("G !late1.rung", "FAILS"),
        ("G late1.mood=BAD", "FAILS"),
        ("F late1.mood=BAD", "HOLDS"),
    ):
        assert str(pxp.check(system, formula)[0].status) == status, formula


def test_what_is_not_received_is_told_of_whom_a_member_listens_to_now() -> None:
    """In its first state it listens to somebody else."""
    hub = table(
        "hub",
        "START -> W receive X from left\nW -> [END] receive Y from right\n"
        "[END] -> [END] receive Z from right",
    )
    left = table("left", "A -> [B] send X to hub")
    right = table("right", "A -> B send Z to hub\nB -> [C] send Y to hub")
    system = System.load(hub, left, right, channel="fifo:1")
    found = pxp.check(system, "no-unspecified-reception")[0]
    assert str(found.status) == "FAILS"
    assert [str(each) for each in found.verdict.unreceived] == [
        "right sends Z; hub in W does not receive it"
    ]


def test_members_by_the_dozen_are_sorted_and_not_renamed_in_every_way() -> None:
    system = System.load(HUB, *[WORKER] * 12).over("fifo:1")
    composition = Composition(system)
    (start,) = composition.initial()
    assert Symmetry(composition).standing_for(start)[0] == start


def test_what_speaks_of_other_members_alone_tells_none_apart() -> None:
    """However many propositions there are."""
    states = [f"S{number}" for number in range(14)]
    rows = "\n".join(f"{one} -> [{two}] event TICK" for one, two in pairwise(states))
    system = System.load(HUB, WORKER, WORKER, table("other", rows))
    anywhere = " | ".join(f"other@{state}" for state in states)
    assert why_not(system, parse(f"G ({anywhere})")) == ""
    assert "tells worker1 and worker2 apart" in why_not(system, parse("F worker1@BUSY"))


def test_what_stops_a_check_of_termination_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> Iterator[tuple[Any, Any]]:
        yield from ()
        raise NotReplayed("the machines do something else", Trace(0, ()))

    monkeypatch.setattr(results, "terminates", stopped)
    (result,) = results.check_termination(System.load("pxp"))
    assert result.status is Status.UNKNOWN
    assert "the machines do something else" in result.reason
    assert result.assumptions == "free guards, sync"


def test_what_was_found_before_an_interrupt_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> Iterator[tuple[str, Verdict]]:
        yield "eventual-reception", Verdict(Status.HOLDS)
        raise KeyboardInterrupt

    monkeypatch.setattr(compatibility, "search_unbounded", interrupted)
    found = list[Result]()
    with pytest.raises(Interrupted) as raised:
        for result in results.check_unbounded(System.load("pxp")):
            found.append(result)
    assert [one.name for one in (*found, raised.value.result)] == ["eventual-reception", "progress"]
    assert [str(one.status) for one in found] == ["HOLDS"]


@pytest.mark.parametrize("channel", ["sync", "fifo:1"])
def test_what_can_happen_is_what_can_happen_by_its_parts(channel: str) -> None:
    composition = Composition(workers().over(channel))
    states = [*composition.initial()]
    for state in states:
        moves = composition.moves(state)
        by_parts = [move for local in composition.local_moves for move in local.of(state)]
        assert sorted(map(repr, by_parts)) == sorted(map(repr, moves))
        states += dict.fromkeys(state + m.difference for m in moves).keys() - {*states}
    assert len(states) > 3


def test_a_drawn_system_has_its_steps_from_state_to_state() -> None:
    diagram = product_diagram(System.load("m=pxp", "h=pxp"))
    names = [node.name for node in diagram.nodes]
    assert names[0] == "IDLE[h: IDLE]"
    assert {name for edge in diagram.edges for name in (edge.source, edge.target)} == {*names}
    assert all(edge.rows for edge in diagram.edges)


def test_why_a_message_cannot_be_sent_or_delivered_is_said() -> None:
    assert [
        str(reason)
        for reason in (
            ChannelFull("m", "h", 1),
            ChannelFull("m", "h", 2),
            NotSent("m", "ASK", "IDLE"),
            NotFirst("m", "h", "ASK", "BYE"),
        )
    ] == [
        "channel full: 1 message is on the way from m to h",
        "channel full: 2 messages are on the way from m to h",
        "not sent: m in IDLE cannot send ASK",
        "not first: BYE is ahead of ASK on the way from m to h",
    ]
