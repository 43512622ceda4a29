"""Channels: what each does to messages, how it is written; classic protocols over them."""

from __future__ import annotations

import pytest

from proofs.core.explore import explore
from proofs.core.results import Status, Verdict
from proofs.logic import Formula, parse
from proofs.logic.fairness import demand
from proofs.systems import (
    SYNCHRONOUS,
    Channel,
    Composition,
    Member,
    System,
    check,
    decide_standard,
    parse_channel,
)
from proofs.systems.symmetry import interchangeable
from pxp_fsm.errors import TableError, UsageError
from tests.proofs.text_tables import table


def over(channel: str, **texts: str) -> Composition:
    members = tuple(Member(name, table(name, text)) for name, text in texts.items())
    return Composition(System(members).over(parse_channel(channel)))


def standing(composition: Composition) -> dict[str, Verdict]:
    return dict(decide_standard(composition))


def fails(composition: Composition) -> set[str]:
    return {name for name, one in standing(composition).items() if one.status is Status.FAILS}


def verdict(composition: Composition, formula: str) -> Status:
    return check(composition, parse(formula)).status


@pytest.mark.parametrize(
    ("text", "channel"),
    [
        ("sync", SYNCHRONOUS),
        ("fifo:1", Channel(1)),
        ("lossy:3", Channel(3, lossy=True)),
        ("fifo+lossy:3", Channel(3, lossy=True)),
        ("duplicating:2", Channel(2, duplicating=True)),
        ("reordering+lossy:2", Channel(2, lossy=True, reordering=True)),
        ("fifo:2, b:a=lossy:1", Channel(2, links=(("b", "a", Channel(1, lossy=True)),))),
        ("fifo:2,a:b=fifo:2", Channel(2)),
    ],
)
def test_a_channel_is_read_and_written(text: str, channel: Channel) -> None:
    assert parse_channel(text) == channel
    assert parse_channel(channel.name) == channel


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "there is no channel"),
        ("carrier-pigeon:2", "there is no channel"),
        ("FIFO:2", "there is no channel"),
        ("fifo:-1", "there is no channel"),
        ("fifo:1\n", "there is no channel"),
        ("fifo", "needs a capacity from 1: fifo:2"),
        ("lossy:0", "needs a capacity from 1"),
        ("fifo:65", "not 65"),
        ("fifo:999999999", "its capacity is 1 to 64"),
        ("lossy+lossy:1", "two things at once"),
        ("fifo+reordering:1", "two things at once"),
        ("fifo+lossy+duplicating+reordering:1", "two things at once"),
        ("sync:1", "there is no channel"),
        ("\x1b[2J", "there is no channel"),
        ("sync,a:b=lossy:1", "only where all have buffers"),
        ("fifo:1,a:b=sync", "only where all have buffers"),
        ("fifo:1,a:b=lossy:1,b:a=sync", "only where all have buffers"),
        ("fifo:1,", "write SENDER:RECEIVER=CHANNEL"),
        ("fifo:1,a:a=fifo:2", "write SENDER:RECEIVER=CHANNEL"),
        ("fifo:1,a:b=fifo:2,a:b=fifo:3", "says two things of one link"),
        ("fifo:1,a:b=fifo:2:3", "there is no channel"),
        ("fifo:1,a:b=\x1b[2J", "there is no channel"),
    ],
)
def test_what_is_no_channel_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_channel(text)
    assert said in str(raised.value)
    assert "\x1b" not in str(raised.value)


def test_a_link_may_have_a_channel_of_its_own() -> None:
    """What goes to b may be lost; what comes from it may not, and waits for room."""
    texts = {"a": "S -> S send X\nS -> S receive Y", "b": "S -> S send Y\nS -> S receive X"}
    asked = "fifo:2,a:b=lossy:1"
    composition = over(asked, **texts)
    verdicts = [verdict(composition, text) for text in ("G !lost", "G !(a:b@full & b:a@full)")]
    assert verdicts == [Status.FAILS, Status.FAILS]
    lost = {
        str(move.action)
        for state in explore(composition).parents
        for move in composition.moves(state)
    }
    assert "a>b +X lost" in lost and "b>a +Y lost" not in lost
    with pytest.raises(
        TableError, match="b:c=lossy:1: b sends nothing to c; the links are a:b, b:a"
    ):
        over("fifo:1,b:c=lossy:1", **texts)


def test_members_over_other_channels_are_not_interchangeable() -> None:
    hub = "S -> S send X to left\nS -> S send X to right"
    texts = {"hub": hub, "left": "S -> S receive X", "right": "S -> S receive X"}
    assert interchangeable(over("fifo:1", **texts).system)
    assert not interchangeable(over("fifo:1,hub:left=lossy:1", **texts).system)
    alike = "fifo:1,hub:left=lossy:1,hub:right=lossy:1"
    assert interchangeable(over(alike, **texts).system)


def test_links_of_one_channel_are_written_in_one_way() -> None:
    """In the order of their names; and a link's own channel has no links of its own."""
    lossy, fifo = Channel(1, lossy=True), Channel(3)
    found = Channel(2, links=(("b", "a", fifo), ("a", "c", lossy), ("a", "b", Channel(2))))
    assert found == Channel(2, links=(("a", "c", lossy), ("b", "a", fifo)))
    more = (("a", "c", lossy), ("a", "b", fifo))
    assert Channel(2, links=more) == Channel(2, links=more[::-1])
    assert found.name == "fifo:2,a:c=lossy:1,b:a=fifo:3"
    assert found.each == (Channel(2, links=found.links), lossy, fifo)
    assert (found.of("a", "c"), found.of("c", "a")) == (lossy, found)
    with pytest.raises(UsageError, match="only where all have buffers"):
        Channel(2, links=(("a", "c", lossy), ("b", "a", found)))


@pytest.mark.parametrize("capacity", [1, 2, 64])
def test_what_may_become_of_a_message_in_a_buffer(capacity: int) -> None:
    full = tuple("b" * capacity)
    assert list(Channel(capacity).after_sending((), "a")) == [(("a",), False)]
    assert list(Channel(capacity).after_sending(full, "a")) == []
    assert list(Channel(capacity, lossy=True).after_sending(full, "a")) == [(full, True)]
    reordering = Channel(capacity, reordering=True)
    if capacity > 1:
        assert list(reordering.after_sending(("b",), "a")) == [(("a", "b"), False)]
        assert list(Channel(capacity).after_sending(("b",), "a")) == [(("b", "a"), False)]
    assert list(reordering.offers(("a", "a", "b", "b"))) == [
        ("a", ("a", "b", "b"), False),
        ("b", ("a", "a", "b"), False),
    ]
    assert list(Channel(3, duplicating=True).offers(("a", "b"))) == [
        ("a", ("b",), False),
        ("a", ("a", "b"), True),
    ]
    for wrong in (-1, 65):
        with pytest.raises(UsageError, match=f"0 .synchronous. to 64, not {wrong}"):
            Channel(wrong)


@pytest.mark.parametrize("fault", ["lossy", "duplicating", "reordering"])
def test_a_synchronous_channel_has_no_fault(fault: str) -> None:
    with pytest.raises(UsageError, match="no buffer"):
        Channel(**{fault: True})  # type: ignore[arg-type] # each of them is a truth value


def test_a_synchronous_channel_loses_nothing() -> None:
    with pytest.raises(UsageError, match="no buffer"):
        Channel(lossy=True)


def test_what_becomes_of_a_message() -> None:
    full = ("A", "B")
    assert list(Channel(2).after_sending(full, "C")) == []
    assert list(Channel(3).after_sending(full, "C")) == [(("A", "B", "C"), False)]
    assert list(Channel(2, lossy=True).after_sending(full, "C")) == [(full, True)]
    assert [sent.lost for sent in Channel(3, lossy=True).after_sending(full, "C")] == [False, True]
    assert list(Channel(2, reordering=True).after_sending(("B",), "A")) == [(("A", "B"), False)]
    assert list(Channel(2).offers(("B", "A"))) == [("B", ("A",), False)]
    assert [one.tag for one in Channel(2, reordering=True).offers(("A", "B"))] == ["A", "B"]
    twice = list(Channel(2, duplicating=True).offers(full))
    assert twice == [("A", ("B",), False), ("A", full, True)]


HELLO = {
    "one": "A -> B send HI\nB -> [C] receive HI",
    "other": "A -> B send HI\nB -> [C] receive HI",
}


def test_both_send_first() -> None:
    assert "no-deadlock" in fails(over("sync", **HELLO))
    assert fails(over("fifo:1", **HELLO)) == set()
    assert verdict(over("fifo:1", **HELLO), "F ended") is Status.HOLDS
    assert verdict(over("lossy:1", **HELLO), "F ended") is Status.FAILS


def test_what_overtakes_is_not_expected_any_more() -> None:
    sums = {
        "source": "A -> B send DATA\nB -> C send LAST\nC -> [D] send SUM",
        "sink": "A -> A receive DATA\nA -> B receive LAST\nB -> [C] receive SUM",
    }
    assert fails(over("fifo:2", **sums)) == set()
    found = standing(over("reordering:2", **sums))["no-unspecified-reception"]
    assert found.status is Status.FAILS
    assert found.trace is not None
    assert found.trace.labels == (
        "source>sink +DATA",
        "source>sink +LAST",
        "source>sink -LAST",
    )


ONCE = {
    "sender": "NEW -> WAIT send MESSAGE\nWAIT -> [DONE] receive ACK",
    "receiver": "READY -> GOT receive MESSAGE\nGOT -> [DONE] send ACK",
}
BITS = {
    "sender": """
        [NEW0] -> WAIT0 send MESSAGE0
        WAIT0 -> WAIT0 send MESSAGE0
        WAIT0 -> WAIT0 receive ACK1
        WAIT0 -> [NEW1] receive ACK0
        [NEW1] -> WAIT1 send MESSAGE1
        [NEW1] -> [NEW1] receive ACK0
        WAIT1 -> WAIT1 send MESSAGE1
        WAIT1 -> WAIT1 receive ACK0
        WAIT1 -> [NEW0] receive ACK1
        [NEW0] -> [NEW0] receive ACK1""",
    "receiver": """
        [READY0] -> GOT0 receive MESSAGE0
        [READY0] -> AGAIN1 receive MESSAGE1
        GOT0 -> [READY1] send ACK0
        AGAIN1 -> [READY0] send ACK1
        [READY1] -> GOT1 receive MESSAGE1
        [READY1] -> AGAIN0 receive MESSAGE0
        GOT1 -> [READY0] send ACK1
        AGAIN0 -> [READY1] send ACK0""",
}
NO_BITS = {
    "sender": BITS["sender"].replace("MESSAGE0", "MESSAGE").replace("MESSAGE1", "MESSAGE"),
    "receiver": """
        [READY0] -> GOT0 receive MESSAGE
        GOT0 -> [READY1] send ACK0
        [READY1] -> GOT1 receive MESSAGE
        GOT1 -> [READY0] send ACK1""",
}
IN_ORDER = "!receiver@GOT1 W (sender@NEW1 | sender@WAIT1)"


def test_one_message_and_one_answer_do_not_survive_a_loss() -> None:
    assert fails(over("fifo:1", **ONCE)) == set()
    lossy = standing(over("lossy:1", **ONCE))
    assert lossy["no-deadlock"].trace is not None
    assert lossy["no-deadlock"].trace.labels == ("sender>receiver +MESSAGE lost",)


@pytest.mark.parametrize("channel", ["fifo:1", "lossy:1", "lossy:2", "lossy+duplicating:2"])
def test_the_alternating_bit_protocol_delivers_once_and_in_order(channel: str) -> None:
    composition = over(channel, **BITS)
    found = standing(composition)
    assert found["no-deadlock"].status is Status.HOLDS
    assert found["no-unspecified-reception"].status is Status.HOLDS
    assert verdict(composition, IN_ORDER) is Status.HOLDS
    assert verdict(composition, "AG EF receiver@GOT1") is Status.HOLDS


def test_without_the_bit_a_repetition_is_taken_for_news() -> None:
    assert verdict(over("lossy:1", **NO_BITS), IN_ORDER) is Status.FAILS


def test_bits_do_not_help_where_messages_are_reordered() -> None:
    assert verdict(over("lossy+duplicating+reordering:2", **BITS), IN_ORDER) is Status.HOLDS
    second = "G (receiver@GOT1 -> (sender@WAIT1 | sender@NEW1))"
    assert verdict(over("lossy+duplicating:2", **BITS), second) is Status.HOLDS
    assert verdict(over("lossy+duplicating+reordering:2", **BITS), second) is Status.FAILS


def test_the_alternating_bit_protocol_goes_on_if_not_everything_is_lost() -> None:
    composition = over("lossy:1", **BITS)
    for_ever: Formula = parse("G F receiver@GOT1")
    assert check(composition, for_ever).status is Status.FAILS
    fair = [
        demand(f"strong:{what}")
        for bit in "01"
        for what in (
            f"sender.MESSAGE{bit} & !lost",
            f"receiver?MESSAGE{bit}",
            f"receiver.ACK{bit} & !lost",
            f"sender?ACK{bit}",
        )
    ]
    assert check(composition, for_ever, demands=fair).status is Status.HOLDS
    assert check(composition, for_ever, demands=[demand("strong:rows")]).status is Status.FAILS
