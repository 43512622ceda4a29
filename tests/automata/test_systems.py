"""Systems of tables: names, partners, links and events, and every fault in its place."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

import pxp_fsm as pxp
from pxp_fsm.automata.channels import parse_channel
from pxp_fsm.automata.system import Member, System, is_named, system_in, system_of
from pxp_fsm.automata.system_files import read_system
from pxp_fsm.errors import TableError, UsageError
from tests.automata.test_system_files import CLIENT, SERVER, SYSTEM, written
from tests.proofs.text_tables import table

HUB = table(
    "hub",
    "S -> A send ASK to left\nA -> B send ASK to right\nB -> C receive BID\n"
    "C -> D receive BID from right\nD -> [E] send DONE\nD -> [E] event STOP\nB -> B event TICK",
)
BIDDER = table(
    "bidder",
    "S -> A receive ASK from hub\nA -> B send BID\nB -> [E] receive DONE\nB -> [E] event TICK\n"
    "B -> [E] event OWN if TIRED",
)
LOGGER = table("logger", "[S] -> [S] receive DONE\n[S] -> [S] receive NOTE from left")
STAR = system_of([("hub", HUB), ("left", BIDDER), ("right", BIDDER), ("", LOGGER)])


def rows(system: System, name: str) -> dict[str, tuple[str, ...]]:
    """The partners of each row of a member, by the row's action."""
    place = system.places[name]
    return {
        row.action: tuple(system.members[one].name for one in system.partners(place, row))
        for row in system.members[place].automaton.transitions
    }


def test_a_row_without_a_partner_is_of_whoever_takes_or_sends_its_tag() -> None:
    assert rows(STAR, "hub") == {
        "+ASK to left": ("left",),
        "+ASK to right": ("right",),
        "-BID": ("left", "right"),
        "-BID from right": ("right",),
        "+DONE": ("left", "right", "logger"),
        "!STOP": (),
        "!TICK": (),
    }
    assert rows(STAR, "left") == {
        "-ASK from hub": ("hub",),
        "+BID": ("hub",),
        "-DONE": ("hub",),
        "!TICK": (),
        "!OWN": (),
    }
    assert rows(STAR, "logger") == {"-DONE": ("hub",), "-NOTE from left": ("left",)}


def test_who_names_another_sender_is_no_partner() -> None:
    """A row that receives from one member alone takes nothing from another."""
    asks = table("asks", "S -> [T] send X")
    system = system_of(
        [
            ("a", asks),
            ("b", table("b", "S -> [T] receive X")),
            ("c", table("c", "S -> [T] receive X from d")),
            ("d", asks),
        ]
    )
    assert rows(system, "a") == {"+X": ("b",)}
    assert rows(system, "d") == {"+X": ("b", "c")}
    assert rows(system, "b") == {"-X": ("a", "d")}


def test_links_are_the_pairs_between_which_something_is_sent() -> None:
    assert STAR.links == ((0, 1), (0, 2), (0, 3), (1, 0), (2, 0))
    over = STAR.over("fifo:2,left:hub=lossy:1")
    assert [over.channel_of(link).capacity for link in over.links] == [2, 2, 2, 1, 2]


def test_events_from_outside_are_those_without_a_guard_each_once() -> None:
    assert STAR.events == ("STOP", "TICK")
    assert STAR.event_problem("TICK") is None
    assert STAR.event_problem("OWN") == (
        "no member has an event 'OWN' from outside; there are: STOP, TICK"
    )
    assert System.load("pxp").event_problem("TICK") == (
        "no member has an event 'TICK' from outside; there are: none"
    )


def test_what_a_receiver_takes_depends_on_its_state_and_on_the_sender() -> None:
    def taken(sender: str, receiver: str, state: str, tag: str) -> str | None:
        row = STAR.taken(STAR.places[sender], STAR.places[receiver], state, tag)
        return None if row is None else row.target

    assert taken("left", "hub", "B", "BID") == "C"
    assert taken("right", "hub", "C", "BID") == "D"
    assert taken("left", "hub", "C", "BID") is None
    assert taken("left", "hub", "S", "BID") is None
    assert taken("hub", "left", "S", "ASK") == "A"


def test_a_system_is_what_its_members_and_channel_are() -> None:
    assert STAR.name == "hub; left, right: bidder; logger"
    assert repr(STAR.over("lossy:2")) == "<System hub; left, right: bidder; logger over lossy:2>"
    assert STAR.over(parse_channel("lossy:2")) == STAR.over("lossy:2") != STAR
    assert System.load("pxp").name == "pxp1, pxp2"
    http2 = table("http2", "S -> [T] send X\nS -> [T] receive X")
    assert system_of([("http2", http2), ("b", TELLS), ("c", TELLS)]).name == "http2; b, c: tells"
    assert System.load("m=pxp", "pxp1=pxp").name == "m, pxp1: pxp"
    assert STAR.places == {"hub": 0, "left": 1, "right": 2, "logger": 3}
    text = "channel fifo:1\n" + "".join(
        f"{one.name} {one.automaton.fingerprint}\n" for one in STAR.members
    )
    assert STAR.over("fifo:1").fingerprint == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (["", ""], ["pxp1", "pxp2"]),
        (["m", ""], ["m", "pxp"]),
        (["pxp", ""], ["pxp", "pxp1"]),
        (["", "pxp"], ["pxp1", "pxp"]),
        (["", "m", ""], ["pxp1", "m", "pxp2"]),
    ],
)
def test_a_member_without_a_name_has_that_of_its_table(given: list[str], names: list[str]) -> None:
    one = pxp.load_automaton("pxp")
    assert [member.name for member in system_of([(name, one) for name in given]).members] == names


def choosable(text: str, other: str, channel: str, member: str = "a") -> list[str | None]:
    system = system_of([("a", table("a", text)), ("b", table("b", other))]).over(channel)
    return [row.guard for row in system.choosable(system.places[member])]


TAKES = "S -> [T] receive X\nS -> [T] receive Y\nS -> [T] event NEVER"


@pytest.mark.parametrize(
    ("text", "channel", "guards"),
    [
        ("S -> [T] send X if G\nS -> [T] send Y if H", "sync", ["G", "H"]),
        ("S -> [T] send X if G\nS -> [T] send Y if H", "fifo:1", []),
        ("S -> [T] send X if G\nS -> [T] send Y if H\nS -> [T] event E", "fifo:1", ["G", "H"]),
        ("S -> [T] send X if G\nS -> [T] event OWN if H", "fifo:1", ["G"]),
        ("S -> [T] send X if G\nS -> [T] send Y if H\nS -> [T] event E", "lossy:1", []),
        ("S -> [T] send X\nS -> [T] event OWN if H", "sync", []),
    ],
)
def test_a_guard_is_settled_ahead_where_waiting_is_another_choice(
    text: str, channel: str, guards: list[str]
) -> None:
    assert choosable(text, TAKES, channel) == guards
    assert choosable(text, TAKES, channel, "b") == []


def test_a_guard_is_settled_ahead_where_the_buffers_differ() -> None:
    """Of two messages to different members, one may have to wait and the other not."""
    a = table("a", "S -> [T] send X to b if G\nS -> [T] send X to c if H")
    takes = table("b", "S -> [T] receive X")
    for channel, guards in (
        ("fifo:1", ["G", "H"]),
        ("fifo:1,a:c=lossy:1", ["G"]),
        ("lossy:1", []),
    ):
        system = system_of([("a", a), ("b", takes), ("c", takes)]).over(channel)
        assert [row.guard for row in system.choosable(0)] == guards


def test_a_message_that_some_partner_may_lose_is_not_waited_with() -> None:
    a = table("a", "S -> [T] send X if G\nS -> [T] event E")
    takes = table("b", "S -> [T] receive X")
    system = system_of([("a", a), ("b", takes), ("c", takes)])
    assert [row.guard for row in system.over("fifo:1").choosable(0)] == ["G"]
    assert system.over("fifo:1,a:c=lossy:1").choosable(0) == ()


def test_only_two_members_that_meet_stop_where_a_choice_cannot_be_sent() -> None:
    pair = System.load("pxp")
    assert pair.stops
    assert not pair.over("fifo:1").stops
    assert not STAR.stops


@pytest.mark.parametrize(
    ("text", "named"),
    [("m=pxp", True), ("m=a b=c.toml", True), ("m=", False), ("pxp", False), ("1=pxp", False),
     ("m=line\nbreak.toml", True), ("./m=pxp", False)],
)  # fmt: skip
def test_a_table_is_given_with_a_name_before_an_equals_sign(text: str, named: bool) -> None:
    assert is_named(text) is named


def test_a_system_is_loaded_from_automata_names_and_files(tmp_path: Path) -> None:
    written(tmp_path)
    client, server = tmp_path / "client.toml", tmp_path / "server.toml"
    loaded = System.load(client, server)
    assert loaded == System.load(pxp.load_automaton(client), pxp.load_automaton(server))
    assert loaded == System.load(f"client={client}", str(server))
    assert loaded.channel.synchronous
    assert System.load(pxp.load_automaton("pxp"), channel="fifo:2") == System.load(
        "pxp", channel="fifo:2"
    )
    assert len(System.load("pxp", "pxp", "pxp").members) == 3
    with pytest.raises(UsageError, match="there is no channel 'slow'"):
        System.load("pxp", channel="slow")


def faults(make: Any) -> list[Any]:
    with pytest.raises(TableError) as raised:
        make()
    return list(raised.value.faults)


ASKS, TELLS = table("asks", "S -> [T] send X"), table("tells", "S -> [T] receive X")


def test_a_system_is_made_of_members() -> None:
    for wrong in ((ASKS, TELLS), [Member("a", ASKS), Member("b", TELLS)], "ab"):
        with pytest.raises(UsageError, match=r"a system is made of tables by System\.load"):
            System(wrong)  # type: ignore[arg-type]
    pair = (Member("a", ASKS), Member("b", TELLS))
    assert System(pair) == system_of([("a", ASKS), ("b", TELLS)])


def test_names_are_of_members_and_each_is_used_once() -> None:
    assert [(one.path, one.message) for one in faults(lambda: system_of([]))] == [
        (("members",), "a system has two members or more, not 0")
    ]
    assert [one.path for one in faults(lambda: system_of([("a b", ASKS)]))] == [
        ("members",),
        ("members", 0, "name"),
    ]
    found = faults(lambda: system_of([("a", ASKS), ("b", TELLS), ("a", TELLS), ("a", ASKS)]))
    assert [(one.path, one.message) for one in found] == [
        (("members", 3, "name"), "3 members are called a; name each once (NAME=TABLE)")
    ]
    long = "m" * 64
    assert system_of([(long, ASKS), ("b", TELLS)]).members[0].name == long
    for name in (long + "m", "_m", "1", "m-n", "a\u0308", "m²"):
        (one,) = faults(lambda name=name: system_of([(name, ASKS), ("b", TELLS)]))
        assert one.path == ("members", 0, "name")
        assert one.message == (
            f"a member cannot be called {name!r}; use letters, digits and _, a letter first"
        )


def test_a_partner_is_another_member() -> None:
    one = table("one", "S -> [T] send X to nobody\nS -> [U] receive Y from a")
    found = faults(lambda: system_of([("a", one), ("b", TELLS)]))
    assert [(each.path, each.kind, each.value, each.message) for each in found] == [
        (
            ("members", 0, "rows", 1),
            "no-member",
            "nobody",
            "row 1 of one (S +X to nobody): there is no member nobody; the members are a, b; "
            "write one of them, or name the table so (NAME=TABLE)",
        ),
        (
            ("members", 0, "rows", 2),
            "",
            None,
            "row 2 of one (S -Y from a): a cannot be its own partner; write another member",
        ),
    ]


def test_what_is_sent_is_received_by_some_partner() -> None:
    """To whom it goes is an error where nobody says so, a finding where somebody does."""
    asks = table("asks", "S -> [T] send X\nS -> [U] send Y\nS -> [V] send Y to c")
    deaf = table("deaf", "S -> [T] receive X from c\nS -> [T] receive Y from c")
    members = [("a", asks), ("b", deaf), ("c", TELLS), ("d", deaf)]
    (one,) = faults(lambda: system_of(members))
    assert (one.path, one.message) == (
        ("members", 0, "rows", 2),
        "row 2 of asks (S +Y): asks sends Y, which deaf or tells receives in no state; add a row "
        'with receive = "Y" to deaf or tells, or drop the one that sends it, or name the one to '
        "whom it is sent",
    )
    named = table("asks", "S -> [T] send X\nS -> [V] send Y to c")
    (one,) = system_of([("a", named), *members[1:]]).findings
    assert (one.path, one.message) == (
        ("members", 0, "rows", 2),
        'asks sends Y to c, which tells receives in no state; add a row with receive = "Y" to '
        "tells, or drop the one that sends it",
    )
    (one,) = system_of([("a", table("asks", "S -> [U] send Y")), ("b", TELLS)]).findings
    assert (one.path, one.value) == (("members", 0, "rows", 1), "Y")


def test_who_sends_a_tag_does_not_receive_it() -> None:
    both = table("both", "S -> [T] send X to b\nS -> [T] event X")
    says = table("says", "S -> [T] send X to a\nS -> [T] event X")
    found = system_of([("a", both), ("b", says)]).findings
    assert [each.path for each in found] == [
        ("members", 0, "rows", 1),
        ("members", 1, "rows", 1),
    ]


def test_one_fault_of_a_table_of_several_members_is_told_once() -> None:
    (one,) = system_of([("a", ASKS), ("b", ASKS)]).findings
    assert one.message == (
        'asks sends X, which asks receives in no state; add a row with receive = "X" to asks, '
        "or drop the one that sends it"
    )


def test_a_peer_that_a_table_names_is_beside_it() -> None:
    rows = [{"from": "S", "to": "T", "send": "X"}]
    asks = pxp.build_automaton("asks", rows, final=["T"], peer="tells")
    assert system_of([("a", asks), ("b", TELLS)]).links == ((0, 1),)
    others = [("b", table("z", "S -> [T] event E")), ("c", table("k", "S -> [T] event E"))]
    tells = table("loud", "S -> [T] send Z")
    one, other = faults(lambda: system_of([("a", asks), *others, ("d", tells)]))
    assert other.path == ("members", 3, "rows", 1)
    (one,) = faults(lambda: system_of([("a", asks), *others]))
    assert (one.path, one.kind, one.value) == (("members", 0, "table"), "other-peer", "tells")
    assert one.message == (
        "asks names tells as its peer, but is joined with k, z; give the table of tells beside it"
    )


def test_a_link_with_a_channel_of_its_own_carries_something() -> None:
    pair = system_of([("a", ASKS), ("b", TELLS)])
    assert pair.over("fifo:1,a:b=lossy:1").channel_of((0, 1)).lossy
    (one,) = faults(lambda: pair.over("fifo:1,b:a=lossy:1"))
    assert (one.path, one.message) == (
        ("channel",),
        "b:a=lossy:1: b sends nothing to a; the links are a:b",
    )


def test_a_file_of_a_system_is_joined_and_its_faults_are_located(tmp_path: Path) -> None:
    path = written(tmp_path)
    file = read_system(path)
    assert system_in(file).channel.name == "fifo:1"
    assert system_in(file, parse_channel("sync")).channel.synchronous
    (one,) = faults(lambda: system_in(file, parse_channel("fifo:1,server:server2=lossy:1")))
    assert one.file.endswith("asking.toml")
    path = written(tmp_path, SYSTEM + '[events]\nREADY = "after:1"\nSTEADY = "after:1"\n')
    found = faults(lambda: System.load(path))
    assert [(each.path, each.line) for each in found] == [
        (("events", "READY"), 18),
        (("events", "STEADY"), 19),
    ]
    assert found[0].message == "no member has an event 'READY' from outside; there are: none"


def test_faults_of_tables_are_located_in_their_files(tmp_path: Path) -> None:
    """By line where the member is a file, of the table and of its peer; else in words alone."""
    written(tmp_path, client=CLIENT.replace('partner = "server"', 'partner = "nobody"', 1))
    client, server = tmp_path / "client.toml", tmp_path / "server.toml"
    (one,) = faults(lambda: System.load(client, server))
    assert (one.file, one.line, one.path) == (str(client), 8, ("rows", 0))
    assert one.message.endswith("or name the table so (NAME=TABLE)")
    (one,) = faults(lambda: System.load(pxp.load_automaton(client), server))
    assert (one.file, one.line, one.path) == ("", None, ("members", 0, "rows", 1))
    found = faults(lambda: System.load(server, pxp.load_automaton(client), f"c={server}"))
    assert [(each.file, each.line) for each in found] == [("", None)]
    written(tmp_path)
    (one,) = System.load(server, client, f"c={server}").findings
    assert (one.file, one.line, one.path) == (str(server), 9, ("rows", 1))
    found = faults(lambda: System.load(f"x={client}", f"x={server}"))
    assert [(each.file, each.path, each.message) for each in found] == [
        ("", ("members", 1, "name"), "2 members are called x; name each once (NAME=TABLE)")
    ]
    written(tmp_path)
    (one,) = faults(lambda: System.load(client, server, channel="fifo:1,server:x=lossy:1"))
    assert (one.file, one.path) == ("", ("channel",))
    assert faults(System.load)[0].message == "a system has two members or more, not 0"
    with pytest.raises(TableError, match="unknown key channel"):
        System.load(tmp_path / "asking.toml", server)


def test_a_peer_that_lacks_is_located_and_its_file_suggested(tmp_path: Path) -> None:
    for name, text, peer in (("client", CLIENT, "server"), ("server", SERVER, "client")):
        plain = text.replace(f', partner = "{peer}"', "")
        named = plain.replace("initial", f'peer = "{peer}"\ninitial')
        (tmp_path / f"{name}.toml").write_text(named, "utf-8")
    client, server = tmp_path / "client.toml", tmp_path / "server.toml"
    assert System.load(client, server).links == ((0, 1), (1, 0))
    one, *_ = faults(lambda: System.load(client, "m=pxp"))
    assert (one.file, one.line, one.kind, one.value) == (str(client), 4, "other-peer", "server")
    assert one.message.startswith(
        "client names server as its peer, but is joined with pxp; give the table of server beside "
        "it; "
    )
    assert "server.toml" in one.message
    server.unlink()
    (one,) = faults(lambda: System.load(client))
    assert one.message == (
        "client names server as its peer, but is joined with client; give the table of server "
        "beside it"
    )


def test_what_nobody_takes_goes_to_the_only_other_and_what_nobody_sends_comes_from_none() -> None:
    one = table("one", "[S] -> [S] receive YES\n[S] -> [S] send NO")
    two = system_of([("a", one), ("b", table("two", "[S] -> [S] event TICK"))])
    assert rows(two, "a") == {"-YES": (), "+NO": ("b",)}
