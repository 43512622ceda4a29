"""Members of a system's session: guards, payloads, and what becomes of one that fails."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import pxp_fsm as pxp
from pxp_fsm.errors import TableError, WrongType
from pxp_fsm.protocol.relations import Outcome
from pxp_fsm.protocol.rules import Ending
from pxp_fsm.sessions.session import Session
from tests.sessions.small_systems import (
    STUCK,
    wrong,
)


def test_guards_are_asked_once_timed_and_logged() -> None:
    asked = list[str]()

    async def choose(turn: pxp.Turn) -> bool:
        asked.append(turn.state)
        return True

    actor = pxp.Actor(lambda turn: {"to": turn.tag}, guards={"G": choose, "H": lambda _turn: False})
    session = pxp.Session(STUCK, {"a": actor, "b": lambda _turn: None}).run_sync()
    (event,) = session.events
    assert (event.guard, asked) == ("G", ["S"])
    assert event.message is not None
    assert event.message.value == {"to": "X"}
    assert [(one.relation, one.outcome) for one in event.judgements] == [
        ("G", Outcome.YES),
        ("H", Outcome.NO),
    ]


async def slow(_turn: pxp.Turn) -> str:
    await asyncio.sleep(30)
    return "G"


@pytest.mark.parametrize(
    ("member", "ending", "cause", "raised"),
    [
        (pxp.Actor(slow, timeout=0.01), "late", "a: no answer within 0.01 s", None),
        (
            pxp.Actor(lambda _turn: 1, guards=slow, timeout=0.01),
            "late",
            "guard slow of a: no answer within 0.01 s",
            None,
        ),
        (
            lambda _turn: "X",
            "broken",
            "a: it wants 'X' in state S; possible there: G, H",
            WrongType,
        ),
        (lambda _turn: 7, "broken", "not an Intent, a name or None", WrongType),
        (lambda _turn: pxp.Intent("G", {1: 2}), "broken", "JSON values", WrongType),
        (lambda _turn: pxp.Intent("G", float("nan")), "broken", "JSON values", WrongType),
        (lambda _turn: 1 / 0, "no answer", "a: ZeroDivisionError", ZeroDivisionError),
        (
            pxp.Actor(lambda _turn: 1, guards=wrong(lambda _turn: 1 / 0)),
            "broken",
            "guard <lambda>",
            ZeroDivisionError,
        ),
        (
            pxp.Actor(lambda _turn: 1, guards={"G": lambda _t: True, "H": lambda _t: True}),
            "broken",
            "exactly one of G, H must hold, but G, H did",
            None,
        ),
        (
            pxp.Actor(lambda _turn: 1, guards=wrong({"G": lambda _t: 1})),
            "broken",
            "guard G returned 1, not True or False",
            WrongType,
        ),
        (pxp.Actor(lambda _turn: 1, guards={"H": lambda _t: True}), "broken", "no function", None),
    ],
)
def test_a_member_that_fails_ends_the_session_as_that(
    member: Any, ending: str, cause: str, raised: type[Exception] | None
) -> None:
    members = {"a": member, "b": lambda _turn: None}
    session = pxp.Session(STUCK, members, record_faults=True).run_sync()
    assert session.ending is not None
    assert session.ending.value == ending
    assert cause in session.cause
    assert session.events == ()
    if raised is not None:
        with pytest.raises(raised):
            pxp.Session(STUCK, members).run_sync()


def test_a_payload_must_fit_the_tables_of_both() -> None:
    rows = [{"from": "S", "to": "T", "send": "X"}]
    takes = [{"from": "S", "to": "T", "receive": "X"}]
    size = {"X": {"type": "object", "properties": {"size": {"type": "integer"}}}}
    left = pxp.build_automaton("a", rows, final=["T"], peer="b")
    right = pxp.build_automaton("b", takes, final=["T"], peer="a", payloads=size)
    system = pxp.System.load(left, right)

    def session(size: object) -> Session:
        sends = {"a": lambda _turn: pxp.Intent("X", {"size": size}), "b": lambda _turn: None}
        return pxp.Session(system, sends, record_faults=True).run_sync()

    assert session(3).ending is Ending.FINISHED
    refused = session("3")
    assert (refused.ending, refused.events) == (Ending.BROKEN, ())
    assert refused.cause == (
        "a: the payload of X does not fit b: $.size: '3' is not of type 'integer'"
    )


@pytest.mark.parametrize(
    ("payloads", "said"),
    [
        ({"Y": {}}, "payload of Y, which no row sends or receives; there are: X"),
        ({"X": {"type": "nothing"}}, "no JSON Schema"),
    ],
)
def test_a_schema_that_is_none_is_a_fault_of_the_table(payloads: Any, said: str) -> None:
    rows = [{"from": "S", "to": "T", "send": "X"}]
    with pytest.raises(TableError, match=said):
        pxp.build_automaton("a", rows, final=["T"], peer="b", payloads=payloads)


def test_a_schema_counts_in_the_fingerprint_only_where_there_is_one() -> None:
    rows = [{"from": "S", "to": "T", "send": "X"}]
    made = [
        pxp.build_automaton("a", rows, final=["T"], peer="b", payloads=payloads).fingerprint
        for payloads in ({}, {"X": {"type": "null"}}, {"X": {"type": "string"}})
    ]
    assert len(set(made)) == 3
    assert pxp.load_automaton("interact").payloads == {}
