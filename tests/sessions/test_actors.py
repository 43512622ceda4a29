"""What a member decides: its rows, its guards, payloads, memory, and what is no decision."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from types import MappingProxyType
from typing import Any
from unittest.mock import ANY

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pxp_fsm as pxp
from pxp_fsm.automata.automaton import Kind
from pxp_fsm.errors import GuardError, NoAnswer, UsageError, WrongType
from pxp_fsm.protocol.messages import NOTHING, Instance, Json, Message
from pxp_fsm.protocol.relations import OracleFailed, Outcome
from pxp_fsm.sessions.actors import Actor, Decision, as_actor
from tests.proofs.text_tables import table
from tests.sessions.small_systems import wrong

TABLE = table(
    "seller",
    "S -> [A] send YES if FREE\nS -> [A] send NO if TAKEN\nS -> [A] event IDLE if TIRED\n"
    "M -> [A] send OFFER to left\nM -> [A] send OFFER to right\nM -> [A] send BYE to left\n"
    "M -> [A] receive STOP\nM -> [A] event TIMEOUT\nM -> [A] send CALL\n"
    "N -> [A] send YES to left if FREE\nN -> [A] send NO if TAKEN",
)
ABOUT = Instance("lamp", "a lamp")


def turn(state: str, **known: Any) -> pxp.Turn:
    rows = TABLE.own_rows(state)
    tags = tuple(dict.fromkeys(row.label for row in rows if row.guard is None))
    found = pxp.Turn("auction", ABOUT, "seller", state, TABLE.guards_of(state), tags)
    return replace(found, **known)


def decided(actor: Actor, at: pxp.Turn) -> Decision | None:
    return asyncio.run(actor.decide(at, TABLE))


def decision(actor: Actor, at: pxp.Turn) -> Decision:
    found = decided(actor, at)
    assert found is not None
    return found


def says(value: object) -> Actor:
    return Actor(wrong(lambda _turn: value))


def test_own_rows_are_those_that_send_and_those_of_its_own_events() -> None:
    assert [row.action for row in TABLE.own_rows("S")] == ["+YES", "+NO", "!IDLE"]
    assert [row.action for row in TABLE.own_rows("M")] == [
        "+OFFER to left",
        "+OFFER to right",
        "+BYE to left",
        "+CALL",
    ]
    assert TABLE.own_rows("A") == ()


@pytest.mark.parametrize(
    ("state", "intent", "action", "to", "text"),
    [
        ("S", "FREE", "+YES", "", "null"),
        ("S", pxp.Intent("TAKEN", [1, "two"]), "+NO", "", '[1,"two"]'),
        ("S", pxp.Intent("TAKEN", to="right"), "+NO", "right", "null"),
        ("S", "TIRED", "!IDLE", "", "null"),
        ("M", "BYE", "+BYE to left", "left", "null"),
        ("M", pxp.Intent("OFFER", {"ä": None}, "right"), "+OFFER to right", "right", '{"ä":null}'),
        ("M", pxp.Intent("OFFER", to="left"), "+OFFER to left", "left", "null"),
        ("M", "CALL", "+CALL", "", "null"),
        ("M", pxp.Intent("CALL", to="right"), "+CALL", "right", "null"),
        ("N", "FREE", "+YES to left", "left", "null"),
        ("N", pxp.Intent("FREE", to="left"), "+YES to left", "left", "null"),
    ],
)
def test_an_intent_means_one_row(
    state: str, intent: object, action: str, to: str, text: str
) -> None:
    found = decision(says(intent), turn(state))
    assert (found.row.action, found.to, found.payload, found.memory) == (action, to, text, "")
    judged = [(one.relation, one.outcome, one.asked) for one in found.judgements]
    guard = found.row.guard
    assert judged == ([] if guard is None else [(guard, Outcome.YES, True)])


def test_none_is_to_wait() -> None:
    assert decided(says(None), turn("S")) is None


@pytest.mark.parametrize(
    ("state", "intent", "said"),
    [
        ("S", 7, "it returned 7, not an Intent, a name or None; "
         "there it has guards: FREE, TAKEN, TIRED"),
        ("M", 7, "it returned 7, not an Intent, a name or None; "
         "there it has tags: OFFER, BYE, CALL"),
        ("A", 7, "it returned 7, not an Intent, a name or None; "
         "there it has nothing to decide"),
        ("S", wrong(pxp.Intent)(7), "it returned Intent(name=7, value=None, to=''), not an"),
        ("S", "YES", "it wants 'YES' in state S; possible there: FREE, TAKEN, TIRED"),
        ("M", "STOP", "it wants 'STOP' in state M; possible there: +OFFER to left, +OFFER to "
         "right, +BYE to left, +CALL"),
        ("M", "TIMEOUT", "it wants 'TIMEOUT' in state M; possible there: +OFFER"),
        ("M", pxp.Intent("OFFER", to="hub"), "it wants 'OFFER' to hub in state M; possible"),
        ("M", "OFFER", "OFFER goes to left, right; say to whom: Intent(to=...)"),
        ("N", pxp.Intent("FREE", to="right"), "FREE goes to left, not to 'right'"),
        ("S", pxp.Intent("FREE", {1: 2}), "a payload and a memory are JSON values, not {1: 2} "
         "(keys are text, and lists are no tuples)"),
        ("S", pxp.Intent("FREE", float("nan")), "a payload and a memory are JSON values, not nan"),
        ("S", pxp.Intent("FREE", {1, 2}), "a payload and a memory are JSON values, not {1, 2}"),
        ("S", pxp.Intent("FREE", [(1,)]), "(keys are text, and lists are no tuples)"),
        ("S", pxp.Intent("FREE", "\0"), None),
        ("S", pxp.Intent("FREE", "\ud800"), "half a character"),
    ],
)  # fmt: skip
def test_what_means_no_row_is_a_fault_of_the_member(
    state: str, intent: object, said: str | None
) -> None:
    if said is None:  # JSON writes NUL as an escape
        assert json.loads(str(decision(says(intent), turn(state)).payload)) == "\0"
        return
    with pytest.raises(OracleFailed) as raised:
        decided(says(intent), turn(state))
    assert raised.value.outcome is Outcome.BROKEN
    assert isinstance(raised.value.fault, WrongType)
    assert str(raised.value) == str(raised.value.fault)
    assert str(raised.value).startswith("seller: ")
    assert said in str(raised.value)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=5,
)


@settings(max_examples=40)
@given(JSON)
def test_every_json_value_is_carried_exactly(value: Any) -> None:
    text = decision(says(pxp.Intent("FREE", value)), turn("S")).payload
    assert json.loads(str(text)) == value
    assert Message("s", 1, "a", "X", Json(text), "b").value == value


def test_a_tuple_is_carried_as_a_list() -> None:
    assert decision(says(pxp.Intent("FREE", (1, 2))), turn("S")).payload == "[1,2]"


def test_what_only_equals_an_empty_object_is_no_json() -> None:
    assert decision(says(pxp.Intent("FREE", {})), turn("S")).payload == "{}"
    with pytest.raises(OracleFailed, match="JSON values, not "):
        decided(says(pxp.Intent("FREE", MappingProxyType({}))), turn("S"))


def test_a_value_that_is_too_deep_is_refused() -> None:
    deep: list[Any] = []
    for depth in range(1, 10_000):
        deep = [deep]
        if depth in (500, 800, 990, 9_999):
            try:
                assert decision(says(pxp.Intent("FREE", deep)), turn("S")).payload == str(deep)
            except OracleFailed as error:
                assert "JSON values, not " in str(error)
                assert isinstance(error.fault, WrongType)
    for _ in range(500_000):  # Python 3.14 takes more than the recursion limit says
        deep = [deep]
    with pytest.raises(OracleFailed, match="not a list that is nested too deeply"):
        decided(says(pxp.Intent("FREE", deep)), turn("S"))


def test_memory_is_kept_only_where_it_changed() -> None:
    def remembers(at: pxp.Turn) -> str:
        at.memory["seen"] = at.memory.get("seen", 0) + 1
        return "FREE"

    def forgets(at: pxp.Turn) -> str:
        at.memory.clear()
        return "FREE"

    assert decision(Actor(remembers), turn("S")).memory == '{"seen":1}'
    assert decision(Actor(remembers), turn("S", memory={"seen": 1})).memory == '{"seen":2}'
    assert decision(says("FREE"), turn("S", memory={"seen": 1})).memory == ""
    assert decision(Actor(forgets), turn("S", memory={"seen": 1})).memory == "{}"
    with pytest.raises(OracleFailed, match="seller: a payload and a memory are JSON values"):
        decided(says("FREE"), turn("S", memory={"seen": {1}}))


def test_what_a_judgement_was_of_is_known_by_state_letters_and_memory() -> None:
    def known(**given: Any) -> tuple[str, str]:
        (one,) = decision(says("FREE"), turn(given.pop("state", "S"), **given)).judgements
        assert 0 <= one.seconds < 60
        return one.left, one.right

    messages = (
        Message("s", 1, "seller", "X", NOTHING, "left"),
        Message("s", 3, "left", "Y", NOTHING, "seller"),
    )
    first = known(messages=messages, memory={"a": 1, "b": 2})
    assert known(messages=messages, memory={"b": 2, "a": 1}) == first
    assert known(messages=messages[:1], memory={"a": 1, "b": 2})[0] != first[0]
    assert known(messages=messages, memory={"a": 1, "b": 2}, state="N")[0] != first[0]
    assert known(messages=messages)[1] != first[1]
    assert first[0] != first[1]


def test_the_payload_is_asked_for_once_the_guards_are_settled() -> None:
    asked = list[pxp.Turn]()

    def payload(at: pxp.Turn) -> Any:
        asked.append(at)
        return {"of": at.tag}

    def guards(at: pxp.Turn) -> str:
        assert (at.tag, at.to) == ("", "")
        return str(at.memory["guard"])

    for guard, tag, to in (("FREE", "YES", "left"), ("TAKEN", "NO", "")):
        found = decision(Actor(payload, guards=guards), turn("N", memory={"guard": guard}))
        assert (found.row.guard, found.row.label, found.to) == (guard, tag, to)
        assert json.loads(str(found.payload)) == {"of": tag}
        assert (asked[-1].tag, asked[-1].to) == (tag, to)
        (one,) = found.judgements
        assert (one.relation, one.outcome) == (guard, Outcome.YES)
        assert 0 <= one.seconds < 60
    tired = decision(Actor(payload, guards=lambda _turn: "TIRED"), turn("S"))
    assert (tired.row.kind, tired.payload, tired.to) == (Kind.EVENT, "null", "")
    assert len(asked) == 2  # of an event of its own there is no payload


def test_of_each_state_only_its_own_guards_are_asked_in_their_order() -> None:
    asked = list[str]()

    def asking(name: str, holds: bool) -> Any:
        async def guard(_turn: pxp.Turn) -> bool:
            asked.append(name)
            return holds

        return guard

    guards = {"TAKEN": asking("TAKEN", True), "FREE": asking("FREE", False)}
    found = decision(Actor(lambda _turn: None, guards=guards), turn("N"))
    assert (found.row.action, asked) == ("+NO", ["FREE", "TAKEN"])
    assert [(one.relation, one.outcome) for one in found.judgements] == [
        ("FREE", Outcome.NO),
        ("TAKEN", Outcome.YES),
    ]
    assert all(0 <= one.seconds < 60 for one in found.judgements)


def test_where_no_guard_decides_the_respondent_does() -> None:
    actor = Actor(lambda at: pxp.Intent("BYE", at.tag), guards=wrong(lambda _turn: 1 / 0))
    found = decision(actor, turn("M"))
    assert (found.row.label, found.to, found.payload, found.judgements) == ("BYE", "left", '""', ())


@pytest.mark.parametrize(
    ("guards", "error", "said"),
    [
        (lambda _t: "YES", OracleFailed, "seller: guards returned 'YES'; there it has guards: FR"),
        (lambda _t: None, OracleFailed, "seller: guards returned None; there it has guards: FREE"),
        (lambda _t: ["FREE"], OracleFailed, "seller: guards returned ['FREE']"),
        (lambda _t: ANY, OracleFailed, "seller: guards returned <ANY>"),
        ({"FREE": lambda _t: True}, GuardError, "seller has no function for its guard TAKEN"),
        (
            dict.fromkeys(("FREE", "TAKEN", "TIRED"), lambda _t: False),
            GuardError,
            "exactly one of FREE, TAKEN, TIRED must hold",
        ),
        (
            dict.fromkeys(("FREE", "TAKEN", "TIRED"), lambda _t: 0),
            OracleFailed,
            "seller: guard FREE returned 0, not True or False",
        ),
    ],
)
def test_guards_that_do_not_settle_are_a_fault(guards: Any, error: Any, said: str) -> None:
    with pytest.raises(error) as raised:
        decided(Actor(lambda _turn: 1, guards=guards), turn("S"))
    assert said in str(raised.value)


def test_a_fault_in_a_guard_is_broken_and_one_in_the_respondent_no_answer() -> None:
    async def fails(_turn: pxp.Turn) -> bool:
        raise LookupError("nowhere")

    with pytest.raises(OracleFailed, match="guard fails of seller: LookupError: nowhere") as one:
        decided(Actor(lambda _turn: 1, guards=wrong(fails)), turn("S"))
    assert one.value.outcome is Outcome.BROKEN
    assert isinstance(one.value.fault, LookupError)
    each = {"FREE": fails, "TAKEN": fails, "TIRED": fails}
    with pytest.raises(OracleFailed, match="guard FREE of seller: LookupError: nowhere"):
        decided(Actor(lambda _turn: 1, guards=each), turn("S"))
    with pytest.raises(NoAnswer, match="seller: LookupError: nowhere") as other:
        decided(Actor(fails), turn("S"))
    assert isinstance(other.value.fault, LookupError)


def test_a_timeout_bounds_each_question() -> None:
    async def slow(_turn: pxp.Turn) -> Any:
        await asyncio.sleep(30)

    for actor, who in (
        (Actor(slow, timeout=0.01), "seller"),
        (Actor(lambda _turn: 1, guards=slow, timeout=0.01), "guard slow of seller"),
        (Actor(slow, guards=lambda _turn: "FREE", timeout=0.01), "seller"),
    ):
        with pytest.raises(OracleFailed, match=f"^{who}: no answer within 0.01 s") as raised:
            decided(actor, turn("S"))
        assert raised.value.outcome is Outcome.LATE


class Named:
    name = "a seller"

    def __call__(self, _turn: pxp.Turn) -> str:
        return "FREE"


class Numbered(Named):
    name = wrong(7)


def test_an_actor_is_described_by_its_functions() -> None:
    def settle(_turn: pxp.Turn) -> str:
        return "FREE"

    each = {"FREE": lambda _t: True, "TAKEN": lambda _t: False}
    assert Actor(settle).describe() == Actor(settle).name == "settle"
    assert Actor(settle, guards=settle).describe() == "settle guards=settle"
    assert Actor(Named(), guards=each).describe() == "a seller guards=FREE,TAKEN"
    assert Actor(Numbered()).name == "Numbered"
    assert Actor(settle, timeout=3).timeout == 3


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_timeout_is_above_zero(timeout: float) -> None:
    with pytest.raises(UsageError, match="a timeout is a number of seconds above 0, or None"):
        Actor(Named(), timeout=timeout)


@pytest.mark.parametrize("given", [7, "FREE", None, Named])
def test_what_is_no_function_is_no_member(given: Any) -> None:
    with pytest.raises(UsageError, match=r"is not a member; a member is a function of a Turn, or"):
        Actor(given)
    with pytest.raises(UsageError, match=r"member left is .*; a member is a function of a Turn th"):
        as_actor("left", given)


def test_guards_are_functions() -> None:
    for guards in (7, {"FREE": Named(), "TAKEN": 7}, {"FREE": 7, "TAKEN": Named()}):
        with pytest.raises(UsageError, match="guards are functions of a Turn, not 7"):
            Actor(Named(), guards=wrong(guards))
    given = Actor(Named())
    assert as_actor("left", given) is given
    function = Named()
    assert as_actor("left", function) == Actor(function)


def test_a_turn_shows_what_was_received_last() -> None:
    messages = (
        Message("s", 1, "left", "X", Json("1"), "seller"),
        Message("s", 2, "right", "X", Json("2"), "seller"),
        Message("s", 3, "seller", "X", Json("3"), "left"),
    )
    at = turn("S", messages=messages)
    assert (at.received, at.value) == (messages[:2], 2)
    assert turn("S", messages=messages[2:]).value is None
