"""Sessions whose tables remember what messages carry: values by name, ids for equality alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import pxp_fsm as pxp
from proofs.audit.findings import AuditedSession, FindingKind
from proofs.audit.systems import SystemTables
from proofs.rules.certificates import prove_table
from pxp_fsm.automata.actions import Exchange
from pxp_fsm.automata.serialization import canonical_json
from pxp_fsm.automata.system import Member
from pxp_fsm.automata.tables import stored_automaton
from pxp_fsm.errors import Refused, UsageError, WrongType
from pxp_fsm.prompting.members import options_of
from pxp_fsm.protocol.messages import Json
from pxp_fsm.protocol.rules import Ending
from pxp_fsm.sessions.live import LiveSystem
from pxp_fsm.sessions.machine import Machine

GATEWAY = "approval_gateway"
FILE = Path(__file__).parents[2] / "examples" / "with_rules" / f"{GATEWAY}.toml"
CLIENT = pxp.build_automaton(
    "client",
    [{"from": "IDLE", "to": "DONE", "send": "CALL", "partner": GATEWAY}],
    final=["DONE"],
)
PERSON = pxp.build_automaton(
    "person",
    [
        {"from": "IDLE", "to": "SAID", "send": ["APPROVE", "REFUSE"], "partner": GATEWAY},
        {"from": "SAID", "to": "IDLE", "receive": "ASK_AGAIN", "partner": GATEWAY},
    ],
    final=["IDLE", "SAID"],
)
TOOL = pxp.build_automaton(
    "tool",
    [{"from": "IDLE", "to": "DONE", "receive": "TRANSFER", "partner": GATEWAY}],
    final=["IDLE", "DONE"],
)
SYSTEM = pxp.System.load(str(FILE), CLIENT, PERSON, TOOL)
CALLED = {"to": "Ann", "amount": 30}
OTHER = {"to": "Ann", "amount": 300}


def approving(
    *approved: object, called: object = CALLED, call: object = CALLED, **options: Any
) -> pxp.Session:
    """A client calls once; the person approves these arguments, one after the other.

    `call` is all that the call carries, where that is not the arguments that are `called`.
    """
    payload = {"arguments": called} if call is CALLED else call

    def person(turn: pxp.Turn) -> pxp.Intent | None:
        given = sum(message.tag == "APPROVE" for message in turn.messages)
        heard = "APPROVE" in turn.tags and given < len(approved)
        return pxp.Intent("APPROVE", {"arguments": approved[given]}) if heard else None

    return pxp.Session(
        SYSTEM,
        {
            GATEWAY: lambda turn: turn.guards[0] if turn.guards else None,
            "client": lambda turn: pxp.Intent("CALL", payload),
            "person": person,
            "tool": lambda turn: None,
        },
        **options,
    )


def tags(session: pxp.Session) -> list[str]:
    return [message.tag for message in session.history]


@pytest.mark.parametrize("channel", ["sync", "fifo:1"])
def test_a_gateway_transfers_only_what_was_approved_in_these_very_words(channel: str) -> None:
    other_order = dict(reversed(CALLED.items()))
    session = approving(OTHER, other_order, channel=channel).run_sync()
    assert session.ending is Ending.FINISHED
    said = tags(session)
    said.remove("CALL")  # which may come before or after the person has thought
    assert said == ["APPROVE", "ASK_AGAIN", "APPROVE", "TRANSFER"]
    same = '{"amount":30,"to":"Ann"}'
    assert session.states[GATEWAY] == f"IDLE[called={same}, approved={same}]"
    never = approving(OTHER, channel=channel).run_sync()
    assert "TRANSFER" not in tags(never)
    assert never.states[GATEWAY].startswith("ASKING[called={")
    assert str(OTHER["amount"]) in never.states[GATEWAY]


def test_one_is_not_true_and_no_text() -> None:
    for approved in (True, "1", 1.0, [1], None):
        assert "TRANSFER" not in tags(approving(approved, called=1).run_sync())
    assert "TRANSFER" in tags(approving(1, called=1).run_sync())


def test_of_a_long_value_its_digest_is_kept() -> None:
    """Two that differ at the end alone have two, and no value has that of another as its text."""
    long = "x" * 1000
    state = approving(long + "a", called=long + "b").run_sync().states[GATEWAY]
    called, approved = state.removeprefix("ASKING[called=").split(", approved=")
    assert called.startswith("sha256:")
    assert len(called) == len("sha256:") + 64
    assert called != approved.rstrip("]")
    assert "TRANSFER" not in tags(approving(called, called=long + "b").run_sync())
    assert "TRANSFER" in tags(approving(long, called=long).run_sync())


@pytest.mark.parametrize("channel", ["sync", "fifo:1"])
@pytest.mark.parametrize("payload", [None, {"argument": 1}, [1], "arguments"])
def test_a_message_without_what_a_rule_reads_is_its_senders_fault(
    channel: str, payload: object
) -> None:
    """Nothing is stored of it, and no machine has moved."""
    broken = approving(call=payload, channel=channel)
    with pytest.raises(WrongType, match=r"client: the payload of CALL does not fit approval_gat"):
        broken.run_sync()
    assert broken.events == ()
    assert broken.states == approving(channel=channel).states
    assert broken.states[GATEWAY] == "IDLE[called=, approved=]"


COUNTER = pxp.build_automaton(
    "counter",
    [{"from": "IDLE", "to": "IDLE", "receive": "ADD", "do": {"sum": "sum + msg.size"}}],
    final=["IDLE"],
    peer="adder",
    registers={"sum": {"init": 0}},
    payloads={
        "ADD": {
            "type": "object",
            "required": ["size"],
            "properties": {"size": {"type": "integer"}},
        }
    },
)
ADDER = pxp.build_automaton(
    "adder",
    [
        {
            "from": "IDLE",
            "to": "IDLE",
            "send": "ADD",
            "when": "left > 0",
            "do": {"left": "left - 1"},
        }
    ],
    final=["IDLE"],
    peer="counter",
    parameters={"most": {"min": 0}},
    registers={"left": {"init": 2}},
)


def adding(size: object) -> pxp.Session:
    return pxp.Session(
        pxp.System.load(COUNTER, ADDER, channel="fifo:1"),
        {"counter": lambda turn: None, "adder": lambda turn: pxp.Intent("ADD", {"size": size})},
        parameters={"most": 7},
    )


def test_numbers_are_counted_beside_a_table_whose_registers_are_in_its_states() -> None:
    session = adding(10**20).run_sync()
    assert session.states == {
        "counter": f"IDLE[sum={2 * 10**20}]",
        "adder": "IDLE[left=0]",
    }


def test_a_number_that_a_schema_takes_and_a_rule_does_not_is_a_fault() -> None:
    with pytest.raises(WrongType, match=r"msg.size is a whole number \(an int\), not 2.0"):
        adding(2.0).run_sync()


def test_urgent_events_whens_and_guards_follow_what_was_read() -> None:
    """A row of one's own is taken by itself, and while it is urgent no message is."""
    reader = pxp.build_automaton(
        "reader",
        [
            {"from": "IDLE", "to": "IDLE", "receive": "ADD", "do": {"sum": "sum + msg.size"}},
            {
                "from": "IDLE",
                "to": "FULL",
                "event": "CLOSE",
                "when": "sum >= most",
                "urgent": True,
                "by": "self",
            },
        ],
        final=["FULL"],
        peer="adder",
        parameters={"most": {"min": 1}},
        registers={"sum": {"init": 0}},
        payloads=dict(COUNTER.payloads),
        properties=[
            {"name": "adds", "step": "tag != ADD or next.reader.sum == reader.sum + msg.size"}
        ],
    )
    adder = pxp.build_automaton(
        "adder",
        [{"from": "IDLE", "to": "IDLE", "send": "ADD"}],
        final=["IDLE"],
        peer="reader",
    )
    system = pxp.System.load(reader, adder)
    session = pxp.Session(
        system,
        {
            "reader": lambda turn: turn.guards[0] if turn.guards else None,
            "adder": lambda turn: pxp.Intent("ADD", {"size": 3}),
        },
        parameters={"most": 7},
    ).run_sync()
    assert [str(event.action) for event in session.events] == ["adder>reader ADD"] * 3 + [
        "reader CLOSE/!CLOSE"
    ]
    assert session.states["reader"] == "FULL[sum=9]"
    assert session.system.by_rules() == session.system
    for one in (system, session.system):  # what is proved of what runs is proved of the table
        (result,), certificate = prove_table(one.members[0].automaton)
        assert str(result.status) == "HOLDS", result
        assert certificate is not None
    with pytest.raises(UsageError, match=r"reader\(most=7\) has its parameters; most belongs"):
        session.system.by_rules({"most": 2})
    other = system.by_rules({"most": 2}).members[0].automaton
    assert other.name == "reader(most=2)"
    assert other.fingerprint != session.system.members[0].automaton.fingerprint


def test_a_replayed_session_has_the_same_registers_and_an_audit_finds_nothing() -> None:
    session = approving(OTHER, CALLED).run_sync()
    stored = tuple(
        Member(one.name, stored_automaton(canonical_json(one.automaton)))
        for one in session.system.members
    )
    assert pxp.System(stored, session.system.channel) == session.system
    for length in range(len(session.events) + 1):
        again = approving(OTHER, CALLED)
        again.replay(session.events[:length])
        assert again.run_sync().states == session.states
    assert audited(session, session.events) == []


def audited(session: pxp.Session, events: tuple[pxp.Event, ...]) -> list[tuple[Any, Any]]:
    ending = None if session.ending is None else session.ending.value
    recorded = AuditedSession("own/1", (), ending, events=events)
    found = SystemTables(session.system).follow(recorded).findings
    return [(one.kind, one.number) for one in found]


def carrying(event: pxp.Event, text: str) -> pxp.Event:
    return replace(event, message=replace(event.carried, payload=Json(text)))


def test_what_was_stored_otherwise_is_found_and_refused() -> None:
    """A changed approval would not have led to the transfer; one without arguments is none."""
    session = approving(CALLED).run_sync()
    call, approve, transfer = session.events
    changed = (call, carrying(approve, '{"arguments":7}'), transfer)
    assert audited(session, changed) == [(FindingKind.MESSAGE, 3)]
    again = approving()
    with pytest.raises(Refused, match=r"stored event 3 .*TRANSFER.* was refused"):
        again.replay(changed)
    empty = (call, carrying(approve, "{}"), transfer)
    assert audited(session, empty) == [(FindingKind.PAYLOAD, 2)]
    again = approving()
    with pytest.raises(Refused, match=r"payload does not fit approval_gateway.*arguments"):
        again.replay(empty)
    assert again.states[GATEWAY] == 'ASKING[called={"amount":30,"to":"Ann"}, approved=]'
    assert again.states["person"] == "IDLE"


def test_a_session_is_taken_back_with_its_registers() -> None:
    session = approving(CALLED)
    session.replay(approving(CALLED).run_sync().events[:1])
    before, back = session.states, session.withdrawing()
    session.run_sync()
    assert session.states != before
    back()
    assert session.states == before
    assert "TRANSFER" in tags(session.run_sync())


def test_a_trace_is_followed_as_far_as_what_is_said_allows() -> None:
    trace = [
        Exchange("client", GATEWAY, "CALL"),
        Exchange("person", GATEWAY, "APPROVE"),
        Exchange(GATEWAY, "tool", "TRANSFER"),
    ]
    assert approving(CALLED, follow=trace).run_sync().ending is Ending.FINISHED
    session = approving(OTHER, follow=trace).run_sync()
    assert session.ending is Ending.DIVERGED
    assert "approval_gateway>tool TRANSFER, which cannot happen" in session.cause


def test_a_machine_moves_by_what_is_carried_and_stays_where_that_is_missing() -> None:
    machine = Machine(SYSTEM.by_rules().members[0].automaton)
    with pytest.raises(UsageError, match=r"msg.arguments: the message carries no arguments"):
        machine.receive("CALL", "client", {})
    assert machine.described == "IDLE[called=, approved=]"
    machine.receive("CALL", "client", {"arguments": 1})
    machine.receive("APPROVE", "person", {"arguments": 2})
    assert [row.guard for row in machine.enabled()] == ["OTHER"]
    machine.return_to("ANSWERED", ("1", "1"))
    assert [row.guard for row in machine.enabled()] == ["SAME"]
    assert machine.decide({"SAME": True}).label == "TRANSFER"


def test_a_member_is_offered_what_its_rules_allow_and_nothing_else() -> None:
    offered = list[list[str]]()

    def gateway(turn: pxp.Turn) -> str | None:
        offered.append([option.name for option in options_of(turn, table)])
        return turn.guards[0] if turn.guards else None

    table = SYSTEM.by_rules().members[0].automaton
    session = approving(OTHER, CALLED)
    members: dict[str, Any] = {**session.members, GATEWAY: gateway}
    pxp.Session(SYSTEM, members).run_sync()
    assert offered == [["OTHER"], ["SAME"]]


def test_a_message_that_is_not_given_carries_nothing() -> None:
    live = LiveSystem(SYSTEM.by_rules())
    before = dict(live.states)
    with pytest.raises(Refused, match="its payload does not fit"):
        live.move(Exchange("person", GATEWAY, "APPROVE"))
    assert dict(live.states) == before
