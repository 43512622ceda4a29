"""Symmetry and partial order: the same verdicts with fewer states, and refusals with reasons."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from proofs.core.limits import Effort
from proofs.core.results import Status, Verdict
from proofs.logic import Formula, Runs, parse
from proofs.logic.formulas import And, Atom, Or, Since, Triggered, WeakYesterday, Yesterday
from proofs.systems import (
    Composition,
    Member,
    NotReducible,
    Reduction,
    System,
    check,
    decide_standard,
    parse_channel,
    system_of,
)
from proofs.systems.partial_order import PartialOrder, for_check
from proofs.systems.propositions import named, of_steps, vocabulary
from proofs.systems.reachability import Reached, reach
from proofs.systems.standard_checks import STANDARD
from proofs.systems.symmetry import Symmetry, interchangeable, moved
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.tables import load_automaton
from pxp_fsm.errors import UsageError
from tests.proofs.random_systems import (
    joined,
    random_channel,
    random_formula,
    random_system,
    symmetric_system,
)
from tests.proofs.text_tables import table
from tests.sampling import swept

MOST = 120
"""States of the random systems that are compared."""


def alike(composition: Composition, name: str) -> list[str]:
    """`name` and what it becomes when interchangeable members change places."""
    known = named(composition)
    names = {one: name for name, one in known.items()}
    return sorted({names[moved(known[name], one)] for one in Symmetry(composition)._renamings()})


def compared(
    composition: Composition, formula: Formula, runs: Runs, reduction: Reduction
) -> Status | None:
    try:
        full = check(composition, formula, runs)
    except UsageError as error:
        assert "temporal operators" in str(error)
        return None
    reduced = check(composition, formula, runs, reduction=reduction)
    assert reduced.status is full.status, (composition, formula, runs)
    return full.status


def statuses(found: dict[str, Verdict]) -> dict[str, Status]:
    return {name: verdict.status for name, verdict in found.items()}


@pytest.mark.deep
@pytest.mark.parametrize(
    ("seeds", "least_met"),
    [(range(60), 8), pytest.param(range(60, 240), 20, marks=pytest.mark.deep)],
    ids=["few", "many"],
)
def test_symmetry_changes_no_verdict(seeds: range, least_met: int) -> None:
    met: dict[Status | None, int] = {}
    full_states = reduced_states = 0
    for seed in seeds:
        chance = random.Random(seed)
        system = symmetric_system(chance, guards=0.7 * (seed % 2))
        channel = random_channel(chance, system)
        composition = Composition(system.over(channel))
        full = reach(composition, Effort(MOST))
        if full.cut or not interchangeable(composition.system):
            continue
        symmetry = Symmetry(composition)
        reduced = reach(composition, reduction=symmetry)
        standing_for = {symmetry.standing_for(state)[0] for state in full.states}
        assert standing_for == set(reduced.states)
        full_states += len(full.states)
        reduced_states += len(reduced.states)
        every = frozenset(STANDARD)
        before = dict(decide_standard(composition, names=every))
        after = dict(decide_standard(composition, reduction=Reduction.SYMMETRY, names=every))
        assert statuses(before) == statuses(after), seed
        assert before["no-dead-row"].detail == after["no-dead-row"].detail
        for name, verdict in before.items():
            lengths = [one.trace and len(one.trace.steps) for one in (verdict, after[name])]
            assert lengths[0] == lengths[1], (seed, name)
        names = sorted(vocabulary(composition))

        def atom(names: list[str] = names, chance: random.Random = chance) -> Formula:
            orbit = alike(composition, chance.choice(names))  # noqa: B023 - used up before the loop goes on
            return joined(chance.choice((And, Or)), orbit)

        for _ in range(2):
            branching = chance.random() < 0.5
            formula = random_formula(chance, atom, 2, branching=branching, nexts=True)
            status = compared(composition, formula, chance.choice([*Runs]), Reduction.SYMMETRY)
            met[status] = met.get(status, 0) + 1
    assert reduced_states < full_states * 0.7
    assert min(met[Status.HOLDS], met[Status.FAILS]) > least_met


@pytest.mark.deep
def test_partial_order_changes_no_verdict() -> None:
    met: dict[Status | None, int] = {}
    full_states = reduced_states = 0
    for seed in range(130):
        chance = random.Random(seed)
        system = random_system(chance, guards=0.7 * (seed % 2))
        channel = random_channel(chance, system, buffered=True)
        composition = Composition(system.over(channel))
        full = reach(composition, Effort(MOST))
        if full.cut:
            continue
        reduced = reach(composition, reduction=PartialOrder(composition))
        full_states += len(full.states)
        reduced_states += len(reduced.states)
        assert set(reduced.states) <= set(full.states)
        assert dead(reduced) == dead(full), seed
        atom = some_of(sorted(vocabulary(composition) - of_steps(composition)), chance)
        for _ in range(2):
            branching = chance.random() < 0.5
            formula = random_formula(chance, atom, 2, branching=branching, nexts=False)
            status = compared(composition, formula, chance.choice([*Runs]), Reduction.PARTIAL_ORDER)
            met[status] = met.get(status, 0) + 1
    assert reduced_states < full_states
    assert min(met[Status.HOLDS], met[Status.FAILS]) > 20


@pytest.mark.deep
@pytest.mark.parametrize("seeds", [100, pytest.param(swept(1_500), marks=pytest.mark.deep)])
def test_partial_order_changes_no_standing_check(seeds: int) -> None:
    met: dict[tuple[str, Status], int] = {}
    full_states, reduced_states = 0, dict.fromkeys(STANDARD, 0)
    for seed in range(seeds):
        chance = random.Random(seed)
        system = random_system(chance, guards=0.7 * (seed % 2))
        composition = Composition(system.over(random_channel(chance, system, buffered=True)))
        full = reach(composition, Effort(MOST))
        if full.cut:
            continue
        full_states += len(full.states)
        names, order = frozenset(STANDARD), Reduction.PARTIAL_ORDER
        before = dict(decide_standard(composition, names=names))
        after = dict(decide_standard(composition, reduction=order, names=names))
        assert statuses(before) == statuses(after), seed
        assert before["no-dead-row"].detail == after["no-dead-row"].detail, seed
        for name, verdict in before.items():
            met[name, verdict.status] = met.get((name, verdict.status), 0) + 1
            reduced = reach(composition, None, for_check(composition, name))
            reduced_states[name] += len(reduced.states)
    for name in STANDARD:
        assert min(met[name, Status.HOLDS], met[name, Status.FAILS]) >= 3
        assert reduced_states[name] < full_states


@pytest.mark.deep
@pytest.mark.parametrize("seeds", [25, pytest.param(swept(300), marks=pytest.mark.deep)])
def test_reductions_change_no_verdict_of_formulas_with_past(seeds: int) -> None:
    met: dict[Status | None, int] = {}
    for seed in range(seeds):
        chance = random.Random(seed)
        symmetric = seed % 2 == 0
        system = symmetric_system(chance) if symmetric else random_system(chance)
        composition = Composition(system.over(random_channel(chance, system, buffered=True)))
        if reach(composition, Effort(MOST)).cut or (
            symmetric and not interchangeable(composition.system)
        ):
            continue
        names = sorted(vocabulary(composition) - (set() if symmetric else of_steps(composition)))

        def atom(names: list[str] = names, chance: random.Random = chance) -> Formula:
            return joined(Or, alike(composition, chance.choice(names)))  # noqa: B023 - used at once

        def past(atom: Callable[[], Formula] = atom, chance: random.Random = chance) -> Formula:
            kinds = (*((Yesterday, WeakYesterday) if symmetric else ()), Since, Triggered)  # noqa: B023 - used at once
            kind = chance.choice(kinds)
            many = 1 if kind in (Yesterday, WeakYesterday) else 2
            found: Formula = kind(*(atom() for _ in range(many)))
            return found

        reduction = Reduction.SYMMETRY if symmetric else Reduction.PARTIAL_ORDER
        for _ in range(3):
            formula = random_formula(chance, past, 2, branching=False, nexts=symmetric)
            status = compared(composition, formula, chance.choice([*Runs]), reduction)
            met[status] = met.get(status, 0) + 1
    assert min(met[Status.HOLDS], met[Status.FAILS]) > seeds // 20, met


@pytest.mark.deep
def test_reductions_change_no_verdict_of_larger_formulas() -> None:
    for seed in range(1_000, 1_150):
        chance = random.Random(seed)
        composition = Composition(random_system(chance).over(random_channel(chance, buffered=True)))
        if reach(composition, Effort(200)).cut:
            continue
        atom = some_of(sorted(vocabulary(composition) - of_steps(composition)), chance)
        for _ in range(3):
            formula = random_formula(chance, atom, 3, branching=chance.random() < 0.5, nexts=False)
            compared(composition, formula, chance.choice([*Runs]), Reduction.PARTIAL_ORDER)


def some_of(names: list[str], chance: random.Random) -> Callable[[], Formula]:
    return lambda: Atom(chance.choice(names))


def dead(reached: Reached) -> set[int]:
    return {reached.states[number] for number in reached.ends}


def pipes(count: int, capacity: int) -> Composition:
    """Pairs of a sender and a receiver that have nothing to do with each other."""
    members = []
    for number in range(count):
        sends = f"A -> B send X to c{number}\nB -> [C] send Y to c{number}"
        takes = f"A -> B receive X from p{number}\nB -> [C] receive Y from p{number}"
        members += [
            Member(f"p{number}", table("p", sends)),
            Member(f"c{number}", table("c", takes)),
        ]
    return Composition(System(tuple(members)).over(parse_channel(f"fifo:{capacity}")))


def test_members_that_do_not_meet_are_taken_one_after_the_other() -> None:
    composition = pipes(4, 2)
    full = reach(composition)
    reduced = reach(composition, reduction=PartialOrder(composition))
    assert len(full.states) == 6**4
    assert len(reduced.states) == 4 * 4 + 1
    assert check(composition, parse("F ended"), reduction=Reduction.PARTIAL_ORDER).status == "HOLDS"


def test_who_has_a_letter_to_receive_in_order_is_taken_alone() -> None:
    """Whatever else it could receive in its place."""
    members = [
        member
        for n in "12"
        for member in (
            table(f"p{n}", f"A -> [B] send X to q{n}"),
            table(f"q{n}", f"A -> [B] receive X from p{n}\nA -> [C] receive Y from p{n}"),
        )
    ]
    composition = Composition(System.load(*members, channel="fifo:1"))
    assert len(reach(composition, reduction=PartialOrder(composition)).states) == 5
    assert len(reach(composition).states) == 9


def test_who_goes_from_one_end_to_another_is_not_seen_to_end() -> None:
    members = [table(f"p{n}", f"[A] -> [B] event X{n}") for n in "123"]
    composition = Composition(System.load(*members, channel="fifo:1"))
    order = PartialOrder(composition, may_end=True)
    assert len(reach(composition, reduction=order).states) == 3 + 1
    assert len(reach(composition).states) == 2**3


WORKER = table("worker", "[IDLE] -> BUSY receive TASK\nBUSY -> [IDLE] send RESULT")
HUB = table("hub", "[READY] -> [READY] send TASK\n[READY] -> [READY] receive RESULT")


def workers(count: int, channel: str = "fifo:1") -> Composition:
    members = [Member(f"w{number}", WORKER) for number in range(count)]
    return Composition(System((Member("hub", HUB), *members)).over(parse_channel(channel)))


def test_how_much_symmetry_saves() -> None:
    composition = workers(4)
    full = reach(composition)
    reduced = reach(composition, reduction=Symmetry(composition))
    assert len(full.states) == 8**4  # a task or not on its way, a result or not, busy or not
    assert len(reduced.states) == 330  # multisets of 4 out of 8
    assert interchangeable(composition.system) == ((1, 2, 3, 4),)


def test_members_that_talk_to_each_other_are_interchangeable_too() -> None:
    peers = ("a", "b", "c")
    system = system_of([(n, table("peer", "[A] -> B send X\nB -> [A] receive X")) for n in peers])
    assert interchangeable(system) == ((0, 1, 2),)
    composition = Composition(system.over(parse_channel("fifo:2")))
    full, symmetry = reach(composition), Symmetry(composition)
    reduced = reach(composition, reduction=symmetry)
    assert {symmetry.standing_for(s)[0] for s in full.states} == set(reduced.states)
    assert len(reduced.states) * 3 < len(full.states)


def test_an_endless_run_is_unfolded_to_one_of_real_members() -> None:
    composition = workers(3)
    verdict = check(
        composition,
        parse("F G (w0@IDLE & w1@IDLE & w2@IDLE)"),
        Runs.INFINITE,
        reduction=Reduction.SYMMETRY,
    )
    assert verdict.status is Status.FAILS
    assert verdict.trace is not None
    states = [verdict.trace.start, *(step.target for step in verdict.trace.steps)]
    assert verdict.cycle > 0
    assert states[-1] == states[-1 - verdict.cycle]


@pytest.mark.parametrize(
    ("reduction", "channel", "formula", "reason"),
    [
        ("symmetry", "fifo:1", "F w0@BUSY", "w0@BUSY tells w0 and w1 apart"),
        ("symmetry", "fifo:1", "G (w0@BUSY -> !w1@BUSY)", "tells w1 and w2 apart"),
        ("symmetry", "fifo:1", "F w0@BUSY & F w1@BUSY & F w2@BUSY", "w0@BUSY tells"),
        ("symmetry", "fifo:1", "G hub:w0@empty", "hub:w0@empty tells w0 and w1 apart"),
        ("partial-order", "fifo:1", "X ended", "X, N, Y and Z count"),
        ("partial-order", "fifo:1", "G N ended", "X, N, Y and Z count"),
        ("partial-order", "fifo:1", "F hub.TASK", "hub.TASK speaks of single steps"),
        ("partial-order", "sync", "F ended", "needs buffers"),
    ],
)
def test_what_a_reduction_does_not_keep_is_refused(
    reduction: str, channel: str, formula: str, reason: str
) -> None:
    with pytest.raises(NotReducible) as raised:
        check(workers(3, channel), parse(formula), reduction=Reduction(reduction))
    assert raised.value.reduction == reduction
    assert reason in raised.value.reason
    assert f"{reduction} cannot be used here" in str(raised.value)
    assert reason in str(raised.value)


@pytest.mark.parametrize(
    "formula",
    ["G !(w0@BUSY & w1@BUSY & w2@BUSY)", "F (w0?TASK | w1?TASK | w2?TASK)", "G F hub@READY"],
)
def test_what_speaks_of_equal_members_alike_is_not_refused(formula: str) -> None:
    full = check(workers(3), parse(formula))
    assert check(workers(3), parse(formula), reduction=Reduction.SYMMETRY).status is full.status


VOTER = """
format = 1
name = "voter"
title = "Voter"
peer = "clerk"
initial = "IDLE"
final = ["GONE"]
states = [
  { name = "IDLE" },
  { name = "VOTE", guards = ["FOR", "AGAINST"], exclusive = true, complete = true },
  { name = "GONE" },
]
rows = [
  { from = "IDLE", to = "VOTE", receive = "ASK", partner = "clerk" },
  { from = "VOTE", to = "GONE", guard = "FOR", send = "AYE", partner = "clerk" },
  { from = "VOTE", to = "GONE", guard = "AGAINST", send = "NAY", partner = "clerk" },
]
[guards]
FOR = "it is good"
AGAINST = "it is not"
"""


def ballot(voter: Automaton, other: Automaton) -> Composition:
    asks = (
        "A -> B send ASK to w1\nA -> B send ASK to w2\nB -> [C] receive AYE\nB -> [C] receive NAY"
    )
    members = (Member("clerk", table("clerk", asks)), Member("w1", voter), Member("w2", other))
    return Composition(System(members).over(parse_channel("fifo:1")))


def test_guards_of_equal_members_are_exchanged_with_them(tmp_path: Path) -> None:
    (tmp_path / "voter.toml").write_text(VOTER, "utf-8")
    voter = load_automaton(tmp_path / "voter.toml")
    for text, expected in (
        ("F (w1:FOR | w2:FOR)", Status.FAILS),
        ("F (w1:FOR | w2:FOR | w1:AGAINST | w2:AGAINST)", Status.HOLDS),
        ("G ((w1:FOR | w2:FOR) -> (w1.AYE | w2.AYE))", Status.HOLDS),
    ):
        for reduction in (None, Reduction.SYMMETRY):
            found = check(ballot(voter, voter), parse(text), reduction=reduction)
            assert found.status is expected, (text, reduction)
    with pytest.raises(UsageError, match="w1:FOR tells w1 and w2 apart"):
        check(ballot(voter, voter), parse("F w1:FOR"), reduction=Reduction.SYMMETRY)


def test_members_that_differ_in_their_guards_alone_are_not_equal(tmp_path: Path) -> None:
    for name, text in (("one", VOTER), ("other", VOTER.replace("FOR", "YES"))):
        (tmp_path / f"{name}.toml").write_text(text, "utf-8")
    one, other = (load_automaton(tmp_path / f"{name}.toml") for name in ("one", "other"))
    assert interchangeable(ballot(one, one).system) == ((1, 2),)
    assert interchangeable(ballot(one, other).system) == ()


def test_where_nothing_is_equal_symmetry_says_so() -> None:
    system = system_of(
        [("", table("a", "A -> [B] send X")), ("", table("b", "A -> [B] receive X"))]
    )
    with pytest.raises(UsageError, match="no two members are interchangeable"):
        list(decide_standard(Composition(system), reduction=Reduction.SYMMETRY))


def test_members_that_somebody_tells_apart_are_not_equal() -> None:
    hub = table("hub", "A -> B send TASK to w0\nB -> [C] send TASK to w1")
    members = [("hub", hub), ("w0", WORKER), ("w1", WORKER)]
    worker = table("worker", "[IDLE] -> [BUSY] receive TASK")
    system = system_of([(name, worker if one is WORKER else one) for name, one in members])
    assert interchangeable(system) == ()


def test_a_row_that_an_equal_member_takes_is_not_dead() -> None:
    """One worker at a time is busy: of the states that stand for others it is always the same."""
    hub = table("hub", "[FREE] -> TAKEN receive BEGIN\nTAKEN -> [FREE] receive END")
    worker = table("worker", "[IDLE] -> BUSY send BEGIN\nBUSY -> [IDLE] send END")
    members = (Member("hub", hub), Member("left", worker), Member("right", worker))
    for channel in ("sync", "fifo:1"):
        composition = Composition(System(members).over(parse_channel(channel)))
        found = dict(decide_standard(composition, reduction=Reduction.SYMMETRY))
        assert found["no-dead-row"] == dict(decide_standard(composition))["no-dead-row"]
        assert found["no-dead-row"].status is Status.HOLDS
