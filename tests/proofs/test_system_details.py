"""What checks of systems do where no verdict of another test tells it: changes that lived."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

import pxp_fsm as pxp
from proofs.core.explore import TooLarge, Trace, explore
from proofs.core.limits import Effort
from proofs.core.results import NotReplayed, Result, Status, Verdict
from proofs.logic.parsing import parse
from proofs.systems import (
    Composition,
    Interrupted,
    System,
    check,
    checking,
    compatibility,
    encoding,
    parse_channel,
    reachability,
    results,
)
from proofs.systems.checking import Reduction, home_space, invariant
from proofs.systems.coloring import text_of
from proofs.systems.compatibility import outside_the_class
from proofs.systems.options import ChannelFull, NotFirst, NotSent
from proofs.systems.partial_order import for_check
from proofs.systems.paths import nearest
from proofs.systems.pictures import product_diagram
from proofs.systems.propositions import describe, named, vocabulary
from proofs.systems.reachability import reach
from proofs.systems.symmetry import Symmetry, why_not
from pxp_fsm.automata.automaton import Automaton, Kind
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
@pytest.mark.parametrize("name", ["workers", "pxp"])
def test_what_can_happen_is_what_can_happen_by_its_parts(name: str, channel: str) -> None:
    """Each part reads of a state only what it says that it reads; who has guards may choose."""
    system = workers() if name == "workers" else System.load(name)
    composition = Composition(system.over(channel))
    fields, known = composition.encoding.parts, dict[tuple[int, ...], list[str]]()
    states = [*composition.initial()]
    for state in states:
        moves = composition.moves(state)
        by_parts = list[str]()
        for place, local in enumerate(composition.local_moves):
            read = place, *(fields[part].of(state) for part in local.parts)
            here = [*map(repr, local.of(state))]
            assert known.setdefault(read, here) == here
            by_parts += here
        assert sorted(by_parts) == sorted(map(repr, moves))
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


def test_a_register_is_compared_with_numbers_that_it_never_has_by_the_number_of_its_member() -> (
    None
):
    """A first member counts to 1, a second one to 3; no number below is among those met."""

    def counts(name: str, most: int) -> Automaton:
        row = {"from": "A", "to": "A", "event": f"ONE_{name}", "when": f"c < {most}", "by": "self"}
        rows = [row | {"do": {"c": "c + 1"}}]
        return pxp.build_automaton(name, rows, final=["A"], registers={"c": {"init": 0, "min": 0}})

    system = System.load(counts("a", 1), counts("b", 3)).with_parameters({})
    for formula, status in (
        ("G 1.c<=70", "HOLDS"),
        ("G 2.c<=70", "HOLDS"),
        ("F 2.c>70", "FAILS"),
        ("EF 1.c>=3", "FAILS"),
        ("EF 2.c>=3", "HOLDS"),
    ):
        assert str(pxp.check(system, formula)[0].status) == status, formula
    offered = vocabulary(Composition(system))
    for place, most in ((1, 1), (2, 3)):
        numbers = {name for name in offered if name.startswith(f"{place}.c=")}
        assert numbers == {f"{place}.c={number}" for number in range(most + 2)}


def test_a_path_leads_to_the_nearest_state_where_a_goal_holds() -> None:
    composition = Composition(System.load("pxp", channel="fifo:1"))
    (start,) = composition.initial()
    space = explore(composition)
    for goal in ("1@WAIT", "!1@IDLE", "!1@IDLE & !2@IDLE", "!(1@IDLE | 2@IDLE)", "!true"):
        choices = nearest(composition, start, parse(goal), Effort())
        names = [part.strip("!() ") for part in goal.replace("|", "&").split("&")]
        wanted = {
            state
            for state in space.steps
            if goal != "!true"
            and all(
                (name in composition.propositions(state)) is ("!" not in goal) for name in names
            )
        }
        if not wanted:
            assert choices is None
            continue
        assert choices is not None
        state = start
        for choice in choices:
            state += composition.moves(state)[choice].difference
        assert state in wanted, goal
        assert len(choices) == min(map(space.depth, wanted)), goal


def test_what_stops_where_others_go_on_is_no_deadlock() -> None:
    """hub does not take X, but another pair can go on: nothing is told to be refused for good."""
    hub = table("hub", "W -> [END] receive Y from left")
    left = table("left", "A -> [B] send X to hub")
    pair = [table("p", "[A] -> [A] send GO to q"), table("q", "[A] -> [A] receive GO from p")]
    system = System.load(hub, left, *pair, channel="fifo:1")
    [result] = pxp.check(system, "G !left@B")
    assert result.trace is not None
    assert result.trace.labels == ("left>hub +X",)
    assert result.verdict.unreceived == ()
    [alone] = pxp.check(System.load(hub, left, channel="fifo:1"), "G !left@B")
    assert [one.tag for one in alone.verdict.unreceived] == ["X"]


@pytest.mark.parametrize("most", [1, 5, 20_000])
def test_from_where_something_is_impossible_all_states_are_counted(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "MOST_IN_REGION", most)
    lost = table("lost", "A -> [B] event OFF")
    turns = table("turns", "[A] -> B event ONE\nB -> C event TWO\nC -> [A] event THREE")
    system = System.load(lost, turns)
    [result] = pxp.check(system, "AG EF lost@A")
    assert result.verdict.impossible
    note = result.diagram().note
    assert ("from there on 3 states can be reached" in note) is (most > 3), note
    assert ("from there on at least 1 state" in note or "1 state " in note) is (most == 1), note
    [alone] = pxp.check(System.load(lost, table("idle", "[A] -> [A] event ONE")), "AG EF lost@A")
    assert "from there on 1 state can be reached" in alone.diagram().note


def test_a_check_that_is_interrupted_is_called_as_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_: object) -> Iterator[tuple[str, Verdict]]:
        yield from ()
        raise KeyboardInterrupt

    system = System.load("pxp")
    [asked] = results.check_standard(system, ["no-deadlock"])
    monkeypatch.setattr(results, "decide_standard", interrupted)
    with pytest.raises(Interrupted) as raised:
        list(results.check_standard(system, ["no-deadlock"]))
    cut_off = raised.value.result
    assert (cut_off.name, cut_off.title) == (asked.name, asked.title)
    assert cut_off.status is Status.UNKNOWN


def test_what_holds_at_any_capacity_says_of_which_system_and_how_long_it_took() -> None:
    for result in results.check_unbounded(System.load("pxp"), most=1):
        assert (result.model, type(result.seconds)) == ("pxp1, pxp2 over fifo", float)


def test_what_comes_about_beyond_what_was_explored_is_unknown() -> None:
    names = ["progress", "eventual-reception"]
    sender = table("a", "A -> A0 send STOP\nA0 -> A1 send STOP\nA1 -> A send STOP")
    receiver = table(
        "b", "B -> C event ONE\nC -> D event TWO\nD -> E event THREE\nE -> B receive STOP"
    )
    system = System.load(sender, receiver, channel="fifo:1")
    whole = [one.status for one in results.check_standard(system, names)]
    assert whole == [Status.HOLDS, Status.HOLDS]
    for most in (1, 2, 3, 4):
        for one in results.check_standard(system, names, Effort(most)):
            assert one.status is Status.UNKNOWN, (most, one.name)


@pytest.mark.parametrize("name", ["pxp", "interact"])
def test_no_verdict_of_a_search_that_is_cut_short_is_another(name: str) -> None:
    system = System.load(name, channel="fifo:1")
    whole = {one.name: one.status for one in results.check_standard(system)}
    for most in (1, 2, 4, 8, 16):
        for one in results.check_standard(system, effort=Effort(most)):
            assert one.status in (Status.UNKNOWN, whole[one.name]), (most, one.name)


def test_what_is_always_possible_again_is_answered_by_what_is_reached() -> None:
    composition = Composition(System.load("pxp"))
    for formula, reached in (("AG EF ended", True), ("AG !ended", True), ("AF ended", False)):
        answered = checking._of_reached(composition, parse(formula))
        assert (answered is not None) is reached, formula


def test_memory_that_is_used_up_makes_a_verdict_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def used_up(*_: object) -> Iterator[tuple[Any, Any]]:
        yield from ()
        raise MemoryError

    system = System.load("pxp")
    monkeypatch.setattr(results, "terminates", used_up)
    monkeypatch.setattr(results, "decide_standard", used_up)
    monkeypatch.setattr(compatibility, "search_unbounded", used_up)
    found = [
        *results.check_termination(system),
        *results.check_standard(system, ["no-deadlock", "no-orphan-message"]),
        *results.check_unbounded(system),
    ]
    assert len(found) == 5
    assert {(one.status, one.reason) for one in found} == {
        (Status.UNKNOWN, "the memory is used up: at once")
    }


def test_without_an_effort_systems_of_any_class_are_explored_up_to_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compatibility, "MOST_STATES", 4)
    for verdict in compatibility.check_unbounded(System.load(HUB, WORKER)).values():
        assert verdict.status is Status.UNKNOWN
        assert "with capacity 1 more than 4 states" in verdict.detail


def test_contents_that_a_state_has_no_room_for_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Their number would be read as that of another part of the state."""
    monkeypatch.setattr(encoding, "MET_BITS", 2)
    contents = encoding.Contents(parse_channel("fifo:12"), ("X", "Y"))
    assert not contents.complete
    assert [contents.number(("X",) * length) for length in (1, 0, 2, 3, 2)] == [1, 0, 2, 3, 2]
    with pytest.raises(TooLarge, match="a buffer has more than 4 contents"):
        contents.number(("Y",))


@pytest.mark.parametrize("most", [6, 7, 8])
def test_contents_are_numbered_beforehand_up_to_the_most(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two tags have 1 + 2 + 4 contents."""
    monkeypatch.setattr(encoding, "MOST_CONTENTS", most)
    contents = encoding.Contents(parse_channel("fifo:2"), ("X", "Y"))
    assert contents.complete is (most >= 7)


def test_events_from_outside_have_no_partner() -> None:
    rows = "A -> B send X to p\nB -> C receive Y from q\nC -> [D] event Z"
    events = results._events(table("two", rows))
    assert {event.partner for event in events if event.kind is Kind.EVENT} == {""}
    assert {event.partner for event in events if event.kind is Kind.SEND} >= {"", "p", "q"}


@pytest.mark.parametrize("spare", [1, 0, -1])
def test_states_as_wide_as_there_is_room_for_are_searched_in_tables(
    spare: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    composition = Composition(workers())
    monkeypatch.setattr(reachability, "WIDEST", composition.encoding.bits + spare)
    found = reach(composition, compiled=True)
    assert (found.visited is not None) is (spare >= 0)
    assert [*found.states] == [*reach(composition, compiled=False).states]


def test_what_can_always_be_reached_again_is_read_off_the_formula() -> None:
    composition = Composition(System.load("pxp"))
    assert home_space(composition, parse("AG EF ended")) == parse("ended")
    assert home_space(composition, parse("AG EF (1@END | !2@WAIT)")) == parse("1@END | !2@WAIT")
    for other in ("AG ended", "AG EF 1.INIT", "AG AF ended", "EF ended", "G ended"):
        assert home_space(composition, parse(other)) is None, other
    assert invariant(composition, parse("AG ended")) == parse("ended")
    assert invariant(composition, parse("AG EF ended")) is None


def test_every_proposition_is_said_in_words_of_its_own() -> None:
    composition = Composition(System.load("machine=pxp", "human=pxp", channel="lossy:1"))
    known = named(composition)
    words = {name: describe(known, composition, name) for name in known}
    plain = {name for name in known if words[name] == name}
    assert not plain, plain
    assert words["machine:human@has.INIT"] == "INIT is on the way from machine to human"
    assert words["machine:human@full"] == "there is no room on the way from machine to human"


def test_an_order_that_keeps_deadlocks_alone_needs_fewer_states() -> None:
    """Elsewhere on each cycle some state has to be looked at whole; a deadlock is on none."""
    turns = ("[A] -> B {0} X {1}\nB -> [A] {0} Y {1}", ("send", "to q"), ("receive", "from p"))
    members = [
        table(f"{name}{n}", turns[0].format(kind, f"{other}{n}"))
        for name, (kind, other) in zip("pq", turns[1:], strict=True)
        for n in range(2)
    ]
    composition = Composition(System.load(*members, channel="fifo:1"))
    sizes = [
        len(reach(composition, reduction=for_check(composition, name)).states)
        for name in ("no-deadlock", "no-dead-row", "no-orphan-message")
    ]
    assert sizes == [6, 12, 14]
    assert len(reach(composition).states) == 16


def test_what_is_found_in_every_state_is_read_off_in_all_its_forms() -> None:
    composition = Composition(System.load("pxp"))
    for text, holds in (
        ("A G !ended", "!ended"),
        ("!E F ended", "!ended"),
        ("!E F !ended", "ended"),
    ):
        assert invariant(composition, parse(text)) == parse(holds), text


def test_parts_of_states_are_those_of_the_states() -> None:
    composition = Composition(System.load("pxp", channel="fifo:2"))
    tables, plain = (reach(composition, compiled=compiled) for compiled in (True, False))
    for field in composition.encoding.parts:
        for reached in (tables, plain):
            assert {*reached.parts(field.bits)} == {state & field.bits for state in plain.states}


def test_with_symmetry_a_trace_without_a_cycle_has_none() -> None:
    wrong = parse("ended & X (worker1@IDLE & worker2@IDLE)")
    verdict = check(Composition(workers()), wrong, reduction=Reduction.SYMMETRY)
    assert (verdict.status, verdict.cycle) == (Status.FAILS, 0)
    assert verdict.trace is not None and len(verdict.trace.steps) == 1


def test_where_a_path_is_too_long_its_depth_is_told() -> None:
    composition = Composition(System.load("pxp", channel="fifo:1"))
    (start,) = composition.initial()
    space = explore(composition)
    with pytest.raises(TooLarge) as error:
        nearest(composition, start, parse("!true"), Effort(states=10))
    depths = [space.depth(state) for state in space.steps]
    assert str(error.value).endswith(f"at depth {depths[10] - 1}")


def test_of_a_table_that_values_split_a_trace_shows_what_it_passed() -> None:
    split = table("split", "A -> B send X[1]\n A -> C send X[2]\n B -> [D] receive Y[1]")
    first, other, last = split.transitions
    shown = results._along(split, "B", [first], [last])
    assert [state.name for state in shown.states] == ["A", "B", "D"]
    assert shown.transitions == (first, last)
    whole = table("whole", "A -> B send X\n A -> C send Y")
    assert results._along(whole, "B", [whole.transitions[0]], []) is whole
    assert other.target == "C"
