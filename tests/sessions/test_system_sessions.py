"""A system's session: who is asked, what may happen, what is refused, and how it ends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import pxp_fsm as pxp
from proofs.export.itf import actions_of, to_itf
from proofs.systems import Member, check_standard, parse_channel
from pxp_fsm.automata.actions import Deliver, Exchange, External, Send
from pxp_fsm.diagrams import SequenceChart
from pxp_fsm.diagrams.notebook import diagram_of
from pxp_fsm.errors import PXPError, Refused, TableError, UsageError, WrongType
from pxp_fsm.protocol.relations import Outcome
from pxp_fsm.protocol.rules import Ending
from pxp_fsm.sessions.system_session import SystemSession
from tests.proofs.text_tables import table

HUB = table(
    "hub",
    "IDLE -> ASKED1 send TASK to left\n"
    "ASKED1 -> ASKED2 send TASK to right\n"
    "ASKED2 -> HALF receive BID\n"
    "HALF -> CHOOSE receive BID\n"
    "CHOOSE -> [OVER] send TAKE to left if LEFT\n"
    "CHOOSE -> [OVER] send TAKE to right if RIGHT",
)
BIDDER = table(
    "bidder",
    "IDLE -> BID receive TASK\nBID -> [OVER] send BID to hub\n[OVER] -> [DONE] receive TAKE",
)


def bids(price: int) -> Any:
    async def bid(turn: pxp.Turn) -> pxp.Intent:
        await asyncio.sleep(0)
        return pxp.Intent("BID", {"price": price, "of": turn.value["of"]})

    return bid


def hub(turn: pxp.Turn) -> pxp.Intent:
    """Asks both, and takes the cheaper one."""
    if turn.state == "CHOOSE":
        prices = {one.sender: one.value["price"] for one in turn.received}
        return pxp.Intent(min(prices, key=lambda name: prices[name]).upper())
    return pxp.Intent("TASK", {"of": "a lamp"})


def contract(channel: str = "sync", **options: Any) -> SystemSession:
    system = system_over(channel)
    members = {"hub": hub, "left": bids(7), "right": bids(5)}
    return pxp.Session(system, {**members, **options.pop("members", {})}, **options)


def system_over(channel: str) -> pxp.System:
    members = (Member("hub", HUB), Member("left", BIDDER), Member("right", BIDDER))
    return pxp.System(members, parse_channel(channel))


@pytest.mark.parametrize("channel", ["sync", "fifo:1", "reordering:2", "duplicating:1"])
def test_three_members_come_to_an_end_over_any_channel(channel: str) -> None:
    session = contract(channel, seed=3)
    session.run_sync()
    taken = [one for one in session.actions if str(one.action).endswith("+TAKE")]
    if channel == "sync":
        assert [str(one.action) for one in session.actions][-1] == "hub>right TAKE"
        assert session.ending is Ending.FINISHED
        assert session.states == {"hub": "OVER", "left": "OVER", "right": "DONE"}
    elif channel != "duplicating:1":
        assert [str(one.action) for one in taken] == ["hub>right +TAKE"]
        assert session.ending is Ending.FINISHED
    assert session.actions[0].letter is not None
    assert session.actions[0].letter.value == {"of": "a lamp"}


def test_a_lost_message_is_seen_in_the_run() -> None:
    endings = {contract("lossy:1", seed=seed).run_sync().ending for seed in range(10)}
    assert {Ending.FINISHED, Ending.DEADLOCK} == endings
    certain = contract("lossy:1", faults=pxp.Faults(loss=1)).run_sync()
    assert str(certain.actions[0].action) == "hub>left +TASK lost"
    assert certain.ending is Ending.DEADLOCK


def test_a_seed_determines_what_happens() -> None:
    def actions(seed: int) -> list[Any]:
        return [one.action for one in contract("lossy:2", seed=seed).run_sync().actions]

    assert [actions(seed) for seed in range(8)] == [actions(seed) for seed in range(8)]
    assert len({str(actions(seed)) for seed in range(8)}) > 1


def wrong(value: Any) -> Any:
    """What no type checker lets through."""
    return value


def two(left: str, right: str, channel: str = "sync") -> pxp.System:
    return pxp.System.load(table("a", left), table("b", right), channel=channel)


STUCK = two(
    "S -> [T] send X if G\nS -> [U] send Y if H",
    "S -> [T] receive X\nU -> [T] receive Y\nS -> U event NEVER",
)


def test_a_chosen_guard_whose_message_nobody_takes_is_a_deadlock_as_in_the_checker() -> None:
    session = pxp.Session(STUCK, {"a": lambda _turn: "H", "b": lambda _turn: None}).run_sync()
    assert session.ending is Ending.DEADLOCK
    assert session.cause == "a in S has chosen H and cannot send Y: b is in S, which takes -X"
    assert [str(one.action) for one in session.actions] == ["a H/+Y"]
    (found,) = check_standard(STUCK, ["no-deadlock"])
    assert found.verdict.trace is not None
    assert found.verdict.trace.labels == ("a H/+Y",)


def test_guards_are_asked_once_timed_and_logged() -> None:
    asked = list[str]()

    async def choose(turn: pxp.Turn) -> bool:
        asked.append(turn.state)
        return True

    actor = pxp.Actor(lambda turn: {"to": turn.tag}, guards={"G": choose, "H": lambda _turn: False})
    session = pxp.Session(STUCK, {"a": actor, "b": lambda _turn: None}).run_sync()
    (occurrence,) = session.actions
    assert (occurrence.guard, asked) == ("G", ["S"])
    assert occurrence.letter is not None
    assert occurrence.letter.value == {"to": "X"}
    assert [(one.relation, one.outcome) for one in occurrence.judgements] == [
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
    assert session.actions == ()
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

    def session(size: object) -> SystemSession:
        sends = {"a": lambda _turn: pxp.Intent("X", {"size": size}), "b": lambda _turn: None}
        return pxp.Session(system, sends, record_faults=True).run_sync()

    assert session(3).ending is Ending.FINISHED
    refused = session("3")
    assert (refused.ending, refused.actions) == (Ending.BROKEN, ())
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


WAITING = two(
    "S -> [T] event APPROVE\nS -> [U] event CANCEL\n[T] -> [U] send X if NEVER",
    "S -> [T] event APPROVE\nS -> [T] event CANCEL\nS -> [T] receive X",
)
SILENT = {"a": lambda _turn: None, "b": lambda _turn: None}


def test_events_come_from_timers_functions_and_callers() -> None:
    asked = list[int]()

    async def person() -> bool:
        asked.append(1)
        return True

    by_person = pxp.Session(WAITING, SILENT, events={"APPROVE": person}).run_sync()
    assert [one.action for one in by_person.actions] == [External("APPROVE")]
    assert (by_person.states, asked) == ({"a": "T", "b": "T"}, [1])
    by_timer = pxp.Session(WAITING, SILENT, events={"APPROVE": 60, "CANCEL": 0.01}).run_sync()
    assert [one.action for one in by_timer.actions] == [External("CANCEL")]

    async def by_caller() -> SystemSession:
        session = pxp.Session(WAITING, SILENT, events={"APPROVE": None})
        running = asyncio.create_task(session.run())
        await asyncio.sleep(0.01)
        with pytest.raises(Refused, match="! NONE was refused, with a in S, b in S: possible now"):
            session.raise_event("NONE")
        assert session.actions == ()
        session.raise_event("APPROVE")
        return await running

    assert asyncio.run(by_caller()).ending is Ending.FINISHED


def test_nobody_does_what_is_possible() -> None:
    session = pxp.Session(WAITING, SILENT).run_sync()
    assert session.ending is Ending.IDLE
    assert session.cause == "nobody does what is possible: ! APPROVE, ! CANCEL"


def test_a_message_interrupts_who_thinks() -> None:
    """It is asked anew where the message has led it, and what it thought is void."""
    told = list[str]()

    async def thinks(turn: pxp.Turn) -> str | None:
        told.append(turn.state)
        if turn.state == "S":
            await asyncio.sleep(60)
        return "BYE"

    system = two(
        "S -> T send X if G\nS -> U receive STOP\nU -> [T] send BYE",
        "S -> T send STOP\nT -> [U] receive BYE\nT -> [V] receive X",
        "fifo:1",
    )

    async def stops(turn: pxp.Turn) -> str:
        await asyncio.sleep(0.01)
        return "STOP"

    session = pxp.Session(system, {"a": thinks, "b": stops}).run_sync()
    assert (session.ending, told) == (Ending.FINISHED, ["S", "U"])


def test_what_a_member_remembers_is_its_own_and_is_kept() -> None:
    def counts(turn: pxp.Turn) -> pxp.Intent:
        turn.memory["sent"] = turn.memory.get("sent", 0) + 1
        return pxp.Intent("X", turn.memory["sent"])

    system = two("[S] -> [S] send X", "[S] -> [S] receive X")
    session = pxp.Session(system, {"a": counts, "b": lambda _turn: None}, limit=3).run_sync()
    assert [one.letter.value for one in session.actions if one.letter] == [1, 2, 3]
    assert session.actions[-1].memory == '{"sent":3}'
    assert (session.ending, session.cause) == (Ending.LIMIT, "stopped after 3 actions")


def test_a_counterexample_is_run_with_live_members() -> None:
    (found,) = check_standard(STUCK, ["no-deadlock"])
    assert found.verdict.trace is not None
    trace = [step.action for step in found.verdict.trace.steps]
    obedient = pxp.Session(STUCK, {}, follow=trace).run_sync()
    assert (obedient.ending, len(obedient.actions)) == (Ending.DEADLOCK, len(trace))
    same = pxp.Session(STUCK, {}, follow=found.verdict.trace).run_sync()
    assert [one.action for one in same.actions] == trace
    with pytest.raises(UsageError, match="step 1 of the trace is 'a', no system's action"):
        pxp.Session(STUCK, {}, follow=["a"])
    other = pxp.Session(STUCK, {"a": lambda _turn: "G"}, follow=trace).run_sync()
    assert other.ending is Ending.DIVERGED
    assert other.cause == "action 1 of the trace is a H/+Y, but a chose G"
    with pytest.raises(UsageError, match="the trace is none of this system: a>b Y was refused"):
        pxp.Session(STUCK, {}, follow=[Exchange("a", "b", "Y")])


def test_a_trace_is_read_back_from_its_file() -> None:
    system = system_over("lossy:1")
    (found,) = check_standard(system, ["no-deadlock"])
    assert found.verdict.trace is not None
    written = to_itf(found.name, "contract", found.verdict)
    trace = actions_of(written)
    assert trace == tuple(step.action for step in found.verdict.trace.steps)
    assert pxp.Session(system, {}, follow=trace).run_sync().ending is Ending.DEADLOCK
    for wrong, said in (
        ("[]", "not a list"),
        ("{}", "no trace of a system"),
        (written.replace('"lose"', '"loose"').replace('"send"', '"sent"'), "there is no action"),
        (written.replace('"kind"', '"sort"'), "does not say by which action"),
    ):
        with pytest.raises(PXPError, match=said):
            actions_of(wrong)


def test_a_session_is_drawn_with_all_its_members() -> None:
    session = contract("lossy:1", seed=1, faults=pxp.Faults(loss=0.3)).run_sync()
    chart = diagram_of(session)
    assert isinstance(chart, SequenceChart)
    assert [one.name for one in chart.lifelines] == ["hub", "left", "right"]
    sent = [one for one in session.actions if isinstance(one.action, Send)]
    assert [arrow.number for arrow in chart.arrows] == [one.number for one in sent]
    for arrow, one in zip(chart.arrows, sent, strict=True):
        delivered = [
            other.number
            for other in session.actions
            if isinstance(other.action, Deliver) and other.letter == one.letter
        ]
        fate = f"received in step {delivered[0]}" if delivered else "not received"
        assert isinstance(one.action, Send)
        assert arrow.texts[-1] == ("lost" if one.action.lost else fate)


def test_a_trace_says_what_the_channel_does() -> None:
    system = system_over("lossy:1")
    trace = [
        Send("hub", "left", "TASK", lost=True),
        Send("hub", "right", "TASK"),
        Deliver("hub", "right", "TASK"),
    ]
    session = pxp.Session(
        system, {"hub": hub, "right": bids(5)}, follow=trace, faults=pxp.Faults(loss=0)
    ).run_sync()
    assert [one.action for one in session.actions[:3]] == trace
    assert session.ending is Ending.DEADLOCK


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: pxp.Session(STUCK, {"a": hub}), "nobody answers for b"),
        (lambda: pxp.Session(STUCK, {"c": hub}), "no member 'c'; its members are a, b"),
        (
            lambda: pxp.Session(STUCK, {"a": wrong(1), "b": hub}),
            "member a is 1; a member is a function",
        ),
        (lambda: pxp.Session(STUCK, SILENT, limit=0), "at least 1 action"),
        (lambda: pxp.Session(STUCK, SILENT, events={"X": 1}), "no event 'X' from outside|has an"),
        (
            lambda: pxp.Session(WAITING, SILENT, events={"CANCEL": wrong("now")}),
            "event CANCEL is raised",
        ),
        (lambda: pxp.Faults(loss=2), "loss is a probability"),
        (lambda: pxp.Actor(hub, timeout=0), "a timeout is a number"),
        (lambda: pxp.Actor(hub, guards=wrong("G")), "guards are functions"),
    ],
)
def test_what_does_not_fit_is_refused_when_it_is_given(make: Any, said: str) -> None:
    with pytest.raises(PXPError, match=said):
        make()


def test_what_is_refused_leaves_everything_as_it_was() -> None:
    session = contract("fifo:1")
    with pytest.raises(Refused, match=r"possible now is hub>left \+TASK"):
        session.live.take(Send("hub", "right", "TASK"))
    assert session.states == {"hub": "IDLE", "left": "IDLE", "right": "IDLE"}


def letters(channel: str, seed: int) -> tuple[list[int], list[int]]:
    """The payloads that were sent at once, and those that arrived, each in their order."""
    system = two(
        "A -> B send X\nB -> C send Y\nC -> D send X\n[D] -> [D] receive NOTHING",
        "S -> T event OPEN\n[T] -> [T] receive X\n[T] -> [T] receive Y\n[T] -> [T] send NOTHING",
        channel,
    )
    numbers = iter((1, 2, 3))

    def sends(turn: pxp.Turn) -> pxp.Intent | None:
        return pxp.Intent(turn.tags[0], next(numbers)) if turn.tags else None

    session = pxp.Session(
        system,
        {"a": sends, "b": lambda _turn: None},
        seed=seed,
        faults=pxp.Faults(loss=0),
        events={"OPEN": 0.02},
    ).run_sync()
    assert session.ending is Ending.FINISHED
    sent = [one for one in session.actions if isinstance(one.action, Send)]
    came = [one for one in session.actions if isinstance(one.action, Deliver)]
    lost = {one.number for one in sent if isinstance(one.action, Send) and one.action.lost}
    assert {one.letter.number for one in came if one.letter} == {
        one.number for one in sent if one.number not in lost
    }
    return (
        [one.letter.value for one in sent if one.letter],
        [one.letter.value for one in came if one.letter],
    )


def test_letters_arrive_in_the_order_of_their_channel_each_with_its_payload() -> None:
    assert letters("fifo:3", 1) == ([1, 2, 3], [1, 2, 3])
    orders = {tuple(letters("reordering:3", seed)[1]) for seed in range(12)}
    assert {tuple(sorted(order)) for order in orders} == {(1, 2, 3)}
    assert (3, 2, 1) in orders or (3, 1, 2) in orders  # of one tag, the later may come first
    assert len(orders) > 2


def test_what_finds_the_buffer_of_a_lossy_channel_full_is_lost() -> None:
    assert letters("lossy:1", 1) == ([1, 2, 3], [1])
    assert letters("lossy:2", 1) == ([1, 2, 3], [1, 2])
