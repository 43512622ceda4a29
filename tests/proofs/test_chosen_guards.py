"""A guard that has been chosen and whose message cannot be received: every question sees it."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner

from proofs.core.explore import explore
from proofs.core.results import Status
from proofs.logic import Runs, parse
from proofs.systems import (
    Composition,
    Member,
    System,
    check,
    check_standard,
    check_termination,
    decide_standard,
    parse_channel,
)
from pxp_fsm.automata.actions import Choose, Unreceived
from pxp_fsm.automata.serialization import to_toml
from pxp_fsm.cli.main import commands
from pxp_fsm.cli.presentation import results
from pxp_fsm.diagrams import render
from tests.oracles.system_explorer import Found, Place, explored
from tests.proofs.random_systems import random_channel, random_system
from tests.proofs.text_tables import table
from tests.sampling import first_and_rest

AUTHOR = table(
    "author",
    """
    IDLE -> WAIT send PROPOSE
    WAIT -> DECIDE receive COUNTER
    WAIT -> DECIDE receive ACCEPT
    DECIDE -> [DONE] send CONFIRM if TAKE
    DECIDE -> [DONE] send WITHDRAW if LEAVE""",
)
REVIEWER = table(
    "reviewer",
    """
    IDLE -> JUDGE receive PROPOSE
    JUDGE -> HOLD send COUNTER if WORSE
    JUDGE -> OPEN send ACCEPT if FINE
    HOLD -> [DONE] receive WITHDRAW
    OPEN -> [DONE] receive CONFIRM
    OPEN -> [DONE] receive WITHDRAW""",
)
REVIEW = System((Member("author", AUTHOR), Member("reviewer", REVIEWER)))
STOPS = ("author>reviewer PROPOSE", "reviewer>author COUNTER", "author TAKE/+CONFIRM")


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("AG EF ended", Status.FAILS),
        ("F ended", Status.FAILS),
        ("AG (reviewer@HOLD -> EF ended)", Status.FAILS),
        ("AG (reviewer@OPEN -> AF ended)", Status.HOLDS),
        ("G (author:TAKE -> author.CONFIRM & reviewer?CONFIRM)", Status.HOLDS),
        ("G (author.CONFIRM -> reviewer@DONE)", Status.HOLDS),
        ("AG (author@DECIDE -> EX ended)", Status.FAILS),
        ("F author.WITHDRAW | F author.CONFIRM", Status.FAILS),
        ("F 1.WITHDRAW | F 1.CONFIRM", Status.FAILS),
        ("EF author.WITHDRAW", Status.HOLDS),
    ],
)
def test_every_formula_sees_the_deadlock(formula: str, expected: Status) -> None:
    verdict = check(Composition(REVIEW), parse(formula))
    assert verdict.status is expected
    if formula == "F ended":
        assert verdict.trace is not None
        assert verdict.trace.labels == STOPS


def test_finite_runs_that_end_there_count() -> None:
    assert check(Composition(REVIEW), parse("F ended"), Runs.FINITE).status is Status.FAILS
    assert check(Composition(REVIEW), parse("F ended"), Runs.INFINITE).status is Status.VACUOUS


def test_every_question_of_termination_sees_it() -> None:
    assert {result.status for result in check_termination(REVIEW)} == {Status.FAILS}


def test_the_standard_checks_show_the_message_that_nobody_receives() -> None:
    found = {result.name: result for result in check_standard(REVIEW)}
    failing = {name for name, result in found.items() if result.status is Status.FAILS}
    told = "author sends CONFIRM; reviewer in HOLD does not receive it"
    assert failing == {"no-deadlock", "no-unspecified-reception", "end-reachable-from-everywhere"}
    for name, labels in (("no-deadlock", STOPS), ("no-unspecified-reception", STOPS[:2])):
        trace = found[name].trace
        assert trace is not None
        assert trace.labels == labels
        waits = "; reviewer waits in HOLD for WITHDRAW: author sends CONFIRM first"
        assert found[name].verdict.detail == told + waits * (name == "no-deadlock")


def test_over_a_buffer_it_is_sent_and_never_received() -> None:
    over = REVIEW.over(parse_channel("fifo:1"))
    found = {result.name: result.status for result in check_standard(over)}
    assert found["no-deadlock"] is found["no-unspecified-reception"] is Status.FAILS
    assert check(Composition(over), parse("AG EF ended")).status is Status.FAILS


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for automaton in (AUTHOR, REVIEWER):
        peer = {"author": "reviewer", "reviewer": "author"}[automaton.name]
        text = to_toml(automaton).replace("initial", f'peer = "{peer}"\ninitial', 1)
        (tmp_path / f"{automaton.name}.toml").write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("channel", [(), ("--channel", "sync")])
def test_the_command_says_the_same_with_and_without_a_channel(channel: tuple[str, ...]) -> None:
    done = CliRunner().invoke(
        commands, ["check", "author.toml", "reviewer.toml", *channel, "--formula", "F ended"]
    )
    assert done.exit_code == 1
    assert done.output.splitlines()[1].startswith("! author; reviewer  F ended ")
    assert ", ".join(STOPS) in done.output


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("name", ["no-unspecified-reception", "no-deadlock", "F ended"])
def test_the_drawing_shows_the_message_that_nobody_receives(name: str) -> None:
    done = CliRunner().invoke(
        commands,
        ["draw", "author.toml", "reviewer.toml", "--counterexample", name, "-o", "stops.mmd"],
    )
    assert done.exit_code == 0, done.output
    lines = Path("stops.mmd").read_text("utf-8").splitlines()
    (fatal,) = (line for line in lines if "--x" in line)
    assert fatal.endswith("CONFIRM<br/>not received")
    assert any("author sends CONFIRM#59; reviewer in HOLD" in line for line in lines)
    sender, receiver = (
        Path(f"stops-{one}.mmd").read_text("utf-8") for one in ("author", "reviewer")
    )
    assert "note right of" not in sender
    (not_received,) = (line for line in receiver.splitlines() if "note right of" in line)
    assert not_received.endswith("−CONFIRM is not received")


@pytest.mark.parametrize("name", ["no-unspecified-reception", "no-deadlock"])
@pytest.mark.parametrize("channel", ["sync", "fifo:1"])
def test_a_result_names_the_message_that_nobody_receives_as_data(name: str, channel: str) -> None:
    (result,) = check_standard(REVIEW.over(parse_channel(channel)), [name])
    fatal = Unreceived("author", "reviewer", "CONFIRM", "HOLD")
    assert result.verdict.unreceived == (fatal,)
    [record] = json.loads(results.as_json([result]))
    assert record["unreceived"] == [
        {"sender": "author", "receiver": "reviewer", "tag": "CONFIRM", "state": "HOLD"}
    ]
    (arrow,) = (arrow for arrow in result.diagram().arrows if arrow.refused)
    assert (arrow.sender, arrow.receiver, arrow.tag) == ("author", "reviewer", "CONFIRM")
    ways = result.member_diagrams()
    receiving = [edge for edge in ways["reviewer"].edges if edge.refused]
    assert [(edge.source, edge.target) for edge in receiving] == [("HOLD", "")]
    sending = [edge for edge in ways["author"].edges if edge.refused]
    assert bool(sending) is (channel == "sync")
    assert all("+CONFIRM" in edge.rows[0].text for edge in sending)
    svg = render(ways["reviewer"], "svg").decode()
    assert "CONFIRM is not received" in svg.replace("&#45;", "-")


def test_of_three_members_the_one_that_does_not_receive_is_named() -> None:
    found = {result.name: result for result in check_standard(three(LOOPS, ROUND))}
    failed = found["no-unspecified-reception"]
    assert failed.verdict.unreceived == (Unreceived("patient", "busy", "X", "A"),)
    refusing = {
        name: [edge.source for edge in way.edges if edge.refused]
        for name, way in failed.member_diagrams().items()
    }
    assert refusing == {"patient": ["A"], "busy": ["A"], "other": []}


def test_a_row_without_a_guard_that_nobody_takes_is_not_taken() -> None:
    shy = table("shy", "A -> B send X\nA -> [C] receive Y")
    deaf = table("deaf", "A -> [B] send Y\nC -> [B] receive X\nB -> C event LATER")
    found = Composition(System((Member("shy", shy), Member("deaf", deaf))))
    assert check(found, parse("G !(shy@B & deaf@A)")).status is Status.HOLDS
    steps = (step for one in explore(found).steps.values() for step in one)
    assert not any(isinstance(step.action, Choose) for step in steps)


@pytest.mark.parametrize("channel", ["sync", "fifo:2"])
def test_who_has_chosen_and_is_not_heard_is_named_by_each_check(channel: str) -> None:
    """Where messages are not sent but met, a row that was chosen is not drawn as taken."""
    found = {one.name: one for one in check_standard(REVIEW.over(parse_channel(channel)))}
    waits = (Unreceived("author", "reviewer", "CONFIRM", "HOLD"),)
    for name in ("no-deadlock", "no-unspecified-reception", "end-reachable-from-everywhere"):
        assert found[name].verdict.unreceived == waits
    deadlock = found["no-deadlock"]
    assert deadlock.ways is not None
    drawn = deadlock.ways(deadlock)["author"]
    taken = {row.number: row.taken for edge in drawn.edges for row in edge.rows}
    assert taken == {1: 1, 2: 1, 3: 0, 4: int(channel != "sync"), 5: 0}


def test_a_message_to_who_has_ended_is_told_by_the_check_of_those_alone() -> None:
    one = table("one", "A -> B send GO\nB -> [C] send X")
    other = table("other", "D -> [E] receive GO\nF -> [E] receive X")
    found = check_standard(System((Member("one", one), Member("other", other))))
    told = {result.name: result.verdict.unreceived for result in found}
    assert told.pop("no-orphan-message") == (Unreceived("one", "other", "X", "E"),)
    assert {*told.values()} == {()}


PATIENT = table("patient", "A -> [B] send X to busy if NOW")
BUSY = table("busy", "A -> B receive GO from other\nB -> [C] receive X from patient")
OTHER = table("other", "A -> [B] send GO to busy")
ROUND = table("other", "[A] -> [A] send GO to busy")
LOOPS = table("busy", "[A] -> [A] receive GO from other\nB -> [A] receive X from patient")


def three(busy: object, other: object) -> System:
    members = (("patient", PATIENT), ("busy", busy), ("other", other))
    return System(tuple(Member(name, one) for name, one in members))  # type: ignore[arg-type] # tables


def test_a_chosen_message_waits_for_a_receiver_that_comes_to_take_it() -> None:
    system = three(BUSY, OTHER)
    assert {result.status for result in check_standard(system)} == {Status.HOLDS}
    found = check(Composition(system), parse("!(patient.X)"))
    assert found.status is Status.HOLDS
    assert check(Composition(system), parse("F patient.X")).status is Status.HOLDS
    labels = {step.label for steps in explore(Composition(system)).steps.values() for step in steps}
    assert "patient NOW/+X" in labels


def test_one_that_waits_for_ever_while_others_go_on_is_reported() -> None:
    found = {result.name: result for result in check_standard(three(LOOPS, ROUND))}
    assert found["no-deadlock"].status is Status.HOLDS
    failed = found["no-unspecified-reception"]
    assert failed.status is Status.FAILS
    assert "patient sends X; busy in A does not receive it" in failed.verdict.detail
    assert check(Composition(three(LOOPS, ROUND)), parse("AG EF ended")).status is Status.FAILS


def test_over_full_buffers_a_choice_among_receivers_is_settled_first() -> None:
    """With room for LEFT alone, who chose RIGHT waits; and for ever where right never receives."""
    hub = table("hub", "[A] -> [A] send X to left if LEFT\n[A] -> [A] send X to right if RIGHT")
    left = table("left", "[A] -> [A] receive X")
    right = table("right", "[A] -> [B] receive X")
    system = System((Member("hub", hub), Member("left", left), Member("right", right)))
    found = {one.name: one for one in check_standard(system.over(parse_channel("fifo:1")))}
    failed = found["no-deadlock"]
    assert failed.status is Status.FAILS
    assert failed.trace is not None
    assert failed.trace.labels[-1] == "hub RIGHT/+X"


def waiting_for_ever(found: Found) -> set[Place]:
    """The places from which some member never sends what it has chosen."""
    members = range(len(next(iter(found.places)).at))
    lost = set[Place]()
    for i in members:
        can = {place for place in found.places if not place.chosen[i]}
        while True:
            more = {p for p in found.places - can if can.intersection(found.steps[p])}
            if not more:
                break
            can |= more
        lost |= found.places - can
    return lost


@pytest.mark.deep
@pytest.mark.parametrize("seeds", first_and_rest(50, 300))
def test_who_waits_for_ever_is_found_as_a_plain_explorer_does(seeds: range) -> None:
    met = {True: 0, False: 0}
    for seed in seeds:
        chance = random.Random(seed)
        system = random_system(chance, guards=0.8)
        channel = random_channel(chance, system)
        expected = explored(system, channel, most=200)
        if expected is None:
            continue
        composition = Composition(system.over(channel))
        found = dict(decide_standard(composition))
        lost = bool(waiting_for_ever(expected))
        assert (found["no-deadlock"].status is Status.FAILS) == bool(expected.deadlocks), seed
        if lost:
            assert found["no-unspecified-reception"].status is Status.FAILS, seed
        met[lost] += 1
    assert min(met.values()) > len(seeds) // 20


def test_an_event_under_a_guard_is_the_members_own() -> None:
    """It moves that member alone, and its machine by a decision; formulas say that it happened."""
    alone = table("alone", "A -> B event TICK if NOW\nB -> [C] send X\nA -> [C] event TICK")
    other = table("other", "A -> B event TICK\nB -> [C] receive X\nA -> [C] receive X")
    found = Composition(System((Member("alone", alone), Member("other", other))))
    (start,) = found.initial()
    assert sorted(str(move.action) for move in found.moves(start)) == ["! TICK", "alone NOW/!TICK"]
    verdict = check(found, parse("G (event.TICK -> other@B)"))
    assert verdict.trace is not None
    assert verdict.trace.labels == ("alone NOW/!TICK",)
    assert check(found, parse("AG (alone@B & other@A -> EF ended)")).status is Status.HOLDS
