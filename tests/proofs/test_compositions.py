"""Systems over channels: counts against a plain explorer, verdicts, traces by real machines."""

from __future__ import annotations

import random

import pytest

from proofs.core.explore import Step, Trace, explore
from proofs.core.limits import Effort
from proofs.core.results import NotReplayed, Status, stopped
from proofs.logic import parse
from proofs.systems import (
    Channel,
    Composition,
    Member,
    System,
    check,
    decide_standard,
    parse_channel,
    system_of,
)
from proofs.systems.checking import invariant
from proofs.systems.propositions import (
    OfStep,
    guard_of,
    named,
    of_steps,
    test_of,
    told_by,
    vocabulary,
)
from proofs.systems.reachability import reach
from proofs.systems.replay import shown
from pxp_fsm.automata.actions import Deliver
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.tables import builtin
from pxp_fsm.errors import TableError, UsageError
from tests.oracles.system_explorer import Place, explored
from tests.proofs.random_systems import random_channel, random_system
from tests.proofs.text_tables import table
from tests.sampling import first_and_rest

test_of.__test__ = False  # type: ignore[attr-defined] # it is no test, whatever its name says

HUB = table(
    "hub",
    """
    START -> ONE send TASK to left
    ONE -> BOTH send TASK to right
    BOTH -> LAST receive RESULT
    LAST -> [DONE] receive RESULT""",
)
WORKER = table("worker", "IDLE -> BUSY receive TASK from hub\nBUSY -> [GONE] send RESULT to hub")


def hub(channel: str) -> Composition:
    members = (Member("hub", HUB), Member("left", WORKER), Member("right", WORKER))
    return Composition(System(members).over(parse_channel(channel)))


def as_place(composition: Composition, state: int) -> Place:
    at, buffers, chosen = composition.encoding.configuration(state)
    links = zip(composition.encoding.links, buffers, strict=True)
    on_way = tuple(sorted((link, tags) for link, tags in links if tags))
    return Place(at, on_way, chosen or ("",) * len(at))


@pytest.mark.deep
@pytest.mark.parametrize("guards", [0, 0.6])
@pytest.mark.parametrize("seeds", first_and_rest(30, 250))
def test_as_many_states_as_a_plain_explorer_finds(guards: float, seeds: range) -> None:
    compared = 0
    for seed in seeds:
        chance = random.Random(seed)
        system = random_system(chance, guards=guards)
        channel = random_channel(chance, system)
        expected = explored(system, channel, most=400)
        if expected is None:
            continue
        compared += 1
        composition = Composition(system.over(channel))
        found = reach(composition)
        places = frozenset(as_place(composition, state) for state in found.states)
        dead = [number for number in found.ends if not composition.ended(found.states[number])]
        assert places == expected.places, seed
        assert (len(found.states), found.transitions) == (expected.states, expected.transitions)
        assert len(dead) == expected.deadlocks, seed
        space = explore(composition)
        assert (space.states, space.transitions) == (expected.states, expected.transitions)
        assert [
            composition.encoding.state(composition.encoding.configuration(s)) for s in found.states
        ] == list(found.states)
    assert compared > len(seeds) // 2


@pytest.mark.parametrize("seeds", first_and_rest(25, 120))
def test_every_trace_is_shortest_and_taken_by_real_machines(seeds: range) -> None:
    for seed in seeds:
        chance = random.Random(seed)
        system = random_system(chance, guards=0.6 * (seed % 2))
        composition = Composition(system.over(random_channel(chance, system)))
        found, space = reach(composition, Effort(60)), None
        if not found.cut:
            space = explore(composition)
        for number, state in enumerate(found.states):
            trace = found.trace_to(number)
            assert shown(composition, trace).steps[-1:] == tuple(
                Step(step.action, composition.encoding.configuration(step.target))
                for step in trace.steps[-1:]
            )
            assert space is None or len(trace.steps) == space.depth(state)


def test_a_trace_that_the_machines_do_not_take_is_not_shown() -> None:
    composition = hub("fifo:1")
    (start,) = composition.initial()
    space = explore(composition)
    (step,) = space.steps[start]
    wrong = Trace(start, (Step(step.action, start),))
    with pytest.raises(NotReplayed, match="the machines are at") as refused:
        shown(composition, wrong)
    verdict = stopped(refused.value)
    assert verdict.status is Status.UNKNOWN
    assert verdict.explanation.endswith(": hub>left +TASK")
    with pytest.raises(NotReplayed, match="was refused"):
        shown(composition, Trace(start, (Step(Deliver("hub", "left", "TASK"), start),)))


@pytest.mark.parametrize(
    ("channel", "states", "transitions"),
    [("sync", 6, 6), ("fifo:1", 20, 30), ("fifo:2", 20, 30), ("lossy:1", 41, 63)],
)
def test_the_states_of_a_hub(channel: str, states: int, transitions: int) -> None:
    found = explored(hub(channel).system, hub(channel).channel, most=1_000)
    assert found is not None
    reached = reach(hub(channel))
    assert (len(reached.states), reached.transitions) == (states, transitions)
    assert (found.states, found.transitions) == (states, transitions)


@pytest.mark.parametrize(
    ("channel", "formula", "expected"),
    [
        ("sync", "F ended", Status.HOLDS),
        ("fifo:1", "F ended", Status.HOLDS),
        ("lossy:1", "F ended", Status.FAILS),
        ("sync", "G (hub.TASK -> (left?TASK | right?TASK))", Status.HOLDS),
        ("fifo:1", "G (hub.TASK -> (left?TASK | right?TASK))", Status.FAILS),
        ("fifo:1", "G (hub:left.TASK -> F hub:left?TASK)", Status.HOLDS),
        ("lossy:1", "G (hub:left.TASK & !lost -> F left?TASK)", Status.HOLDS),
        ("fifo:1", "!right@BUSY W hub:right.TASK", Status.HOLDS),
        ("fifo:1", "G (left:hub@has.RESULT -> left:hub@full)", Status.HOLDS),
        ("fifo:2", "G (left:hub@has.RESULT -> left:hub@full)", Status.FAILS),
        ("fifo:2", "F (left:hub@empty & 1@DONE & 3@GONE)", Status.HOLDS),
        ("fifo:2", "!left?TASK W 1.TASK", Status.HOLDS),
        ("fifo:2", "2?TASK -> X 2.RESULT", Status.HOLDS),
        ("fifo:2", "G !lost", Status.HOLDS),
        ("sync", "F lost", Status.FAILS),
    ],
)
def test_what_is_true_of_a_hub(channel: str, formula: str, expected: Status) -> None:
    assert check(hub(channel), parse(formula)).status is expected


def test_propositions_of_states_one_by_one_and_all_together() -> None:
    for seed in range(40):
        chance = random.Random(seed)
        system = random_system(chance)
        composition = Composition(system.over(random_channel(chance, system)))
        known = named(composition)
        of_states = {name: one for name, one in known.items() if not isinstance(one, OfStep)}
        assert known.keys() - of_states.keys() == of_steps(composition)
        for state in reach(composition, Effort(30)).states[:30]:
            there = {name for name, one in of_states.items() if test_of(composition, one)(state)}
            assert there == composition.propositions(state)
            for move in composition.moves(state):
                assert told_by(composition, move.action, guard_of(move)) <= {*known.values()}


def test_an_unknown_proposition_is_refused() -> None:
    for name in ("middle@IDLE", "hub@GONE", "hub:hub@empty", "left.TASK", "4@IDLE", "hub:TASK"):
        with pytest.raises(UsageError, match="no reachable state has"):
            check(hub("fifo:1"), parse(f"G !{name}"))
    with pytest.raises(UsageError, match="no reachable state has"):
        check(hub("sync"), parse("G hub:left@empty"))


def test_a_sender_waits_for_who_is_busy_with_somebody_else() -> None:
    slow = table("hub", "A -> B receive X from one\nB -> [C] receive X from other")
    sender = table("sender", "A -> [B] send X")
    system = System((Member("hub", slow), Member("one", sender), Member("other", sender)))
    found = {name: one.status for name, one in decide_standard(Composition(system))}
    assert set(found.values()) == {Status.HOLDS}


def test_a_free_choice_of_partner_goes_to_anybody_who_takes_it() -> None:
    giver = table("giver", "A -> [B] send X")
    taker = table("taker", "A -> [B] receive X")
    deaf = table("deaf", "A -> [B] event TICK")
    members = [("", giver), ("", taker), ("", taker), ("", deaf)]
    composition = Composition(system_of(members))
    assert composition.system.links == ((0, 1), (0, 2))
    (start,) = composition.initial()
    assert sorted(str(move.action) for move in composition.moves(start)) == [
        "! TICK",
        "giver>taker1 X",
        "giver>taker2 X",
    ]


def test_what_is_left_at_the_end_and_what_is_said_after_it() -> None:
    found = dict(
        decide_standard(
            Composition(
                system_of(
                    [
                        ("", table("early", "A -> [B] send X\n[B] -> [C] send X")),
                        ("", table("late", "A -> [B] receive X")),
                    ]
                ).over(Channel(2))
            )
        )
    )
    assert found["no-orphan-message"].status is Status.FAILS
    assert found["nothing-sent-after-the-end"].status is Status.FAILS
    assert found["no-unspecified-reception"].status is Status.HOLDS


def test_a_row_that_nothing_takes_is_named() -> None:
    idle = table("idle", "A -> [B] receive X\nA -> [B] receive Y")
    giver = table("giver", "A -> [B] send X\n[B] -> [B] receive X")
    found = dict(decide_standard(Composition(system_of([("", giver), ("", idle)]))))
    assert "row 2 of idle (A -Y)" in found["no-dead-row"].detail


@pytest.mark.parametrize("effort", [Effort(states=10), Effort(memory=1)])
def test_what_is_not_explored_is_unknown_but_what_was_met_counts(effort: Effort) -> None:
    found = dict(decide_standard(hub("lossy:1"), effort))
    assert found["end-reachable-from-everywhere"].status is Status.UNKNOWN
    assert "states met" in found["end-reachable-from-everywhere"].detail
    assert check(hub("lossy:1"), parse("F ended"), effort=effort).status is Status.UNKNOWN
    silent = table("loud", "[A] -> [A] send X\n[A] -> [A] receive X")
    two = Composition(system_of([("", silent), ("", silent)]).over(Channel(64)))
    wrong = dict(decide_standard(two, Effort(states=10)))
    assert wrong["nothing-sent-after-the-end"].status is Status.FAILS
    assert wrong["no-deadlock"].status is Status.UNKNOWN


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ([("", HUB)], "two members or more, not 1"),
        ([("hub", HUB), ("left", WORKER)], "there is no member right; the members are hub, left"),
        ([("hub", HUB), ("left", WORKER), ("left", WORKER)], "2 members are called left"),
        ([("hub", HUB), ("left", WORKER), ("right ", WORKER)], "cannot be called 'right '"),
        ([("left", HUB), ("right", WORKER)], "left cannot be its own partner"),
        (
            [
                ("", table("a", "A -> [B] send X")),
                ("", table("b", "A -> [B] receive Y")),
                ("", table("c", "A -> [B] receive Y")),
            ],
            'a sends X, which b or c receives in no state; add a row with receive = "X" to b or c',
        ),
    ],
)
def test_a_system_that_cannot_be_is_refused(
    members: list[tuple[str, Automaton]], said: str
) -> None:
    with pytest.raises(TableError) as raised:
        system_of(members)
    assert said in str(raised.value)


def test_members_of_one_table_are_numbered() -> None:
    pxp = builtin("pxp")
    assert [one.name for one in system_of([("", pxp), ("", pxp)]).members] == ["pxp1", "pxp2"]
    assert [one.name for one in system_of([("pxp", pxp), ("", pxp)]).members] == ["pxp", "pxp1"]
    assert system_of([("", pxp), ("", pxp)]).name == "pxp1, pxp2"
    assert system_of([("a", pxp), ("b", pxp)]).name == "a, b: pxp"


def test_many_states_are_explored_in_a_compiled_loop_and_cut_where_it_is_said() -> None:
    loud = table("loud", "[A] -> B send X\nB -> [A] send Y\n[A] -> [A] receive X\nB -> B receive Y")
    system = system_of([("", loud), ("", loud), ("", loud)])
    composition = Composition(system.over(Channel(2)))
    found = reach(composition, Effort(states=60_000))
    assert found.visited is not None
    assert found.cut.startswith("more than 60,000 states: ")
    assert len(found.states) > 60_000
    verdicts = dict(decide_standard(composition, Effort(states=60_000)))
    assert verdicts["no-deadlock"].status is Status.UNKNOWN


@pytest.mark.deep
@pytest.mark.parametrize("operator", ["G", "AG"])
def test_what_holds_in_every_state_is_decided_as_other_formulas_are(operator: str) -> None:
    met: dict[Status, int] = {}
    for seed in range(60):
        chance = random.Random(seed)
        composition = Composition(random_system(chance).over(random_channel(chance)))
        if reach(composition, Effort(300)).cut:
            continue
        names = chance.sample(sorted(vocabulary(composition) - of_steps(composition)), 2)
        said = f'!"{names[0]}" | !"{names[1]}"'
        assert invariant(composition, parse(f"{operator} ({said})")) is not None
        quick = check(composition, parse(f"{operator} ({said})"))
        slow = check(composition, parse(f"({operator} ({said})) & true"))
        assert quick.status is slow.status, (seed, said)
        lengths = [len(one.trace.steps) if one.trace else None for one in (quick, slow)]
        assert lengths[0] == lengths[1] or operator == "AG"
        met[quick.status] = met.get(quick.status, 0) + 1
    assert min(met[Status.HOLDS], met[Status.FAILS]) > 5
    assert invariant(hub("fifo:1"), parse("G (hub.TASK -> F ended)")) is None
    assert invariant(hub("fifo:1"), parse("G !hub.TASK")) is None
    assert check(hub("lossy:1"), parse("G !hub@ONE"), effort=Effort(10)).status is Status.FAILS
