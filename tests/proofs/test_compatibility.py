"""k-multiparty compatibility: the paper's examples, and brute force at larger capacities."""

from __future__ import annotations

import csv
import random
from collections.abc import Iterator
from typing import Any

import pytest

from proofs.core.explore import Step, TooLarge, explore
from proofs.core.limits import Effort
from proofs.core.results import Status
from proofs.systems import Channel, Composition, Member, System, compatibility
from proofs.systems import check_unbounded as results_of
from proofs.systems.compatibility import (
    DependenceChain,
    Link,
    TakenStep,
    WithinCapacity,
    check_unbounded,
    is_directed,
    leaving,
    outside_the_class,
    still,
    within,
)
from pxp_fsm.automata.automaton import Automaton, Kind, State, Transition
from pxp_fsm.automata.tables import builtin
from pxp_fsm.errors import TableError, UsageError
from tests.oracles.compatibility import Bounded
from tests.outside_data import FOLDER
from tests.sampling import first_and_rest


def table(name: str, text: str) -> Automaton:
    """A table from lines such as `q0 s!ask q1`; where nothing leaves a state, it is an end."""
    rows = []
    for number, line in enumerate(filter(None, map(str.strip, text.split(";"))), start=1):
        source, action, target = line.split()
        partner, sign, label = action.partition("!") if "!" in action else action.partition("?")
        kind = Kind.SEND if sign == "!" else Kind.RECEIVE
        rows.append(Transition(number, source, target, None, kind, label, partner))
    names = dict.fromkeys(name for row in rows for name in (row.source, row.target))
    ends = frozenset(names) - {row.source for row in rows}
    return Automaton(name, name, tuple(map(State, names)), rows[0].source, ends, {}, tuple(rows))


def system(**members: str) -> System:
    return System(tuple(Member(name, table(name, text)) for name, text in members.items()))


CLIENT_SERVER_LOGGER = system(
    c="0 s!req 1; 1 s!data 2; 2 s?ko 0; 2 s?error 3; 2 s?ok 4",
    s="0 c?req 1; 1 c!ko 2; 2 c?data 0; 1 c!ok 3; 3 c?data 4; 4 l!log 4",
    l="0 s?log 0",
)
FOUR_PLAYER_GAME = system(
    a="0 b!bwin 1; 0 b!cwin 1; 1 b?sig 2; 2 c?msg 3; 3 d!free 0",
    b="0 a?bwin 1; 1 c!lose 2; 0 a?cwin 3; 3 c!win 2; 2 a!sig 0",
    c="0 d!busy 1; 1 b?lose 2; 1 b?win 2; 2 a!msg 0",
    d="0 c?busy 1; 1 a?free 0",
)
BARGAIN = system(
    a="0 b!haggle 1; 1 b?price 0; 0 b!happy 2; 2 i!info 3",
    b="0 a?haggle 1; 1 a!price 0; 0 a?happy 2",
    i="0 a?info 1",
)
ALTERNATING_BIT = system(
    s="1 r!d0 3; 3 r?a1 7; 7 r!d0 3; 3 r?a0 4; 4 r!d1 6; 6 r?a0 8; 8 r!d1 6; 6 r?a1 1",
    r="1 s?d1 8; 8 s!a1 1; 1 s?d0 2; 2 s!a0 4; 4 s?d0 7; 7 s!a0 4; 4 s?d1 6; 6 s!a1 1",
)
COMMIT = system(
    m="0 c?update 1; 1 n!update 2; 2 o!update 3; 3 n?ok 4; 4 o?ok 5; 5 c!ok 0",
    c="0 m!update 1; 1 m?ok 0",
    n="0 m?update 1; 1 m!ok 0",
    o="0 m?update 1; 1 m!ok 0",
)
ELEVATOR = system(
    u="0 e!openDoor 0; 0 e!closeDoor 0",
    d="i e?reset i; i e?stop i; i e?open o; i e?close c; o e!doorOpened r; c e!doorClosed r; "
    "r e?open r; r e?close r; r e?stop r; r e?reset i",
    e="1 d!reset 2; 2 u?closeDoor 2; 2 u?openDoor 3; 3 d!open 4; 4 d?doorOpened 5; 5 d!reset 6; "
    "6 d!close 7; 7 d!stop 8; 8 d?doorStopped 3; 8 d?doorOpened 5; 8 d?doorClosed 1",
)
PAPERS = {
    "client-server-logger": CLIENT_SERVER_LOGGER,
    "four-player-game": FOUR_PLAYER_GAME,
    "bargain": BARGAIN,
    "alternating-bit": ALTERNATING_BIT,
    "commit-protocol": COMMIT,
    "elevator-directed": ELEVATOR,
}
"""Examples of the paper's Table 1 that are directed; it reports that each is 1-MC."""


@pytest.mark.parametrize("name", PAPERS)
def test_the_papers_examples_are_1_multiparty_compatible(name: str) -> None:
    for verdict in check_unbounded(PAPERS[name]).values():
        assert (verdict.status, verdict.detail[:2]) == (Status.HOLDS, "1-"), verdict


def test_too_many_states_are_unknown() -> None:
    for verdict in check_unbounded(FOUR_PLAYER_GAME, effort=Effort(5)).values():
        assert (verdict.status, verdict.detail) == (
            Status.UNKNOWN,
            "with capacity 1 more than 5 states: 6 states met, 4 of them not looked at yet, "
            "at depth 1",
        )


@pytest.mark.parametrize("k", [2, 3])
def test_messages_that_cross_need_as_much_room_as_there_are_of_them(k: int) -> None:
    """Both send k messages before they receive any: exhaustive from k, not before."""
    both = {
        "a": [*(f"b!x{i}" for i in range(k)), *(f"b?y{i}" for i in range(k))],
        "b": [*(f"a!y{i}" for i in range(k)), *(f"a?x{i}" for i in range(k))],
    }
    texts = {
        name: "; ".join(f"{n} {action} {n + 1}" for n, action in enumerate(actions))
        for name, actions in both.items()
    }
    crossing = system(**texts)
    assert [within(crossing, room).exhaustive for room in range(1, k + 2)] == [
        room >= k for room in range(1, k + 2)
    ]
    for verdict in check_unbounded(crossing).values():
        assert (verdict.status, verdict.detail[:2]) == (Status.HOLDS, f"{k}-")
    for verdict in check_unbounded(crossing, most=k - 1).values():
        assert verdict.status is Status.UNKNOWN
        assert "not k-exhaustive for any k up to" in verdict.detail


@pytest.mark.parametrize(
    ("members", "name", "labels"),
    [
        (
            {
                "a": "0 b!ask 1; 1 b?ok 2; 2 b?bye 3",
                "b": "0 a?ask 1; 1 a!bye 2; 2 a!ok 3",
            },
            "eventual-reception",
            ("a>b +ask", "a>b -ask", "b>a +bye"),
        ),
        ({"a": "0 b?x 1; 1 b!y 2", "b": "0 a?y 1; 1 a!x 2"}, "progress", ()),
        (
            {"a": "0 b!x 1; 1 b!x 2", "b": "0 a?x 1"},
            "eventual-reception",
            ("a>b +x", "a>b -x", "a>b +x"),
        ),
        (
            {
                "a": "0 b!go 1; 0 b!stop 2; 1 b!stop 2",
                "b": "0 a?go 1; 1 c!go 2; 0 a?stop 2; 2 a?stop 3",
                "c": "0 b?go 1",
            },
            "progress",
            ("a>b +stop",),
        ),
    ],
    ids=["out-of-turn", "circular-wait", "orphan", "forgotten"],
)
def test_a_violation_is_one_for_every_capacity(
    members: dict[str, str], name: str, labels: tuple[str, ...]
) -> None:
    found = check_unbounded(system(**members))[name]
    assert found.status is Status.FAILS
    assert found.trace is not None
    assert found.trace.labels[: len(labels)] == labels
    for k in (1, 2, 4):
        assert within(system(**members), k).fails[name] is not None


def test_a_violation_over_any_capacity_is_drawn() -> None:
    orphan = system(a="0 b!x 1; 1 b!x 2", b="0 a?x 1")
    results = {result.name: result for result in results_of(orphan)}
    chart = results["eventual-reception"].diagram()
    assert chart.title == "eventual-reception fails"
    assert chart.note.startswith("over fifo of any capacity: reached in 3 steps")
    assert [arrow.fate for arrow in chart.arrows][-1] == "not received"


@pytest.mark.parametrize(
    ("member", "said"),
    [
        ("0 b!x 1; 0 b?y 1", "state 0 of a both sends and receives"),
        ("0 b!x 1; 0 b!x 2; 1 b?y 0", "state 0 of a has two rows for one tag"),
    ],
)
def test_systems_of_another_class_are_unknown_with_the_reason(member: str, said: str) -> None:
    other = system(a=member, b="0 a?x 1; 1 a!y 2; 2 c?w 0", c="0 a?z 1; 1 b!w 0")
    assert said in tuple(outside_the_class(other))


def test_what_is_of_another_class_and_never_stuck_is_unknown() -> None:
    talk = system(a="0 b!x 0; 0 b?y 0", b="0 a?x 0; 0 a!y 0")
    told = "k-MC is about other systems: state 0 of a both sends and receives"
    for verdict in check_unbounded(talk).values():
        assert (verdict.status, verdict.detail) == (Status.UNKNOWN, told)
    odd = system(a="0 b!x 1; 0 b!x 2; 1 b?y 0", b="0 a?x 1; 1 a!y 0")
    for verdict in check_unbounded(odd).values():
        assert "two rows for one tag" in verdict.detail


def test_pxp_itself_is_of_another_class_since_both_may_begin_and_that_fails() -> None:
    pxp = builtin("pxp")
    both = System((Member("m", pxp), Member("h", pxp)))
    assert "state IDLE of m both sends and receives" in tuple(outside_the_class(both))
    for verdict in check_unbounded(both).values():
        assert verdict.trace is not None
        assert verdict.trace.labels == ("m>h +INIT", "h>m +INIT")
    interact = builtin("interact")
    timed = System((Member("m", interact), Member("h", interact)))
    assert "state WAIT of m takes an event from outside" in tuple(outside_the_class(timed))


def test_what_nothing_can_mend_fails_in_systems_of_any_class() -> None:
    """Both may begin, and when both do, each waits for an answer that cannot come."""
    deal = (
        "0 {0}!offer 1; 0 {0}?offer 2; 2 {0}!accept 3; 2 {0}!more 1; 1 {0}?more 2; 1 {0}?accept 3"
    )
    both = system(a=deal.format("b"), b=deal.format("a"))
    assert "state 0 of a both sends and receives" in tuple(outside_the_class(both))
    for verdict in check_unbounded(both).values():
        assert verdict.status is Status.FAILS
        assert verdict.trace is not None
        assert verdict.trace.labels == ("a>b +offer", "b>a +offer")


CHAINED = system(
    a="0 c!x 1; 1 c?z 0", b="0 c?go 1; 1 c!y 0", c="0 a?x 1; 0 b?y 2; 1 b!go 0; 2 a!z 0"
)


def random_system(seed: int, *, mixed: bool = False) -> System | None:
    """Two or three members of up to four states, each with one partner and one direction.

    With `mixed` a row may have another of both than the other rows of its state.
    """
    rng = random.Random(seed)
    names = "abc"[: rng.choice((2, 2, 3))]
    texts = {}
    for name in names:
        rows = []
        for state in range(rng.randint(1, 4)):
            others = [other for other in names if other != name]
            partner, sign = rng.choice(others), rng.choice("!?")
            for tag in rng.sample("xyz", rng.randint(1, 2)):
                if mixed and rng.random() < 0.5:
                    partner, sign = rng.choice(others), rng.choice("!?")
                rows.append(f"{state} {partner}{sign}{tag} {rng.randint(0, 4)}")
        texts[name] = "; ".join(rows)
    try:
        return system(**texts)
    except TableError:
        return None


class Onwards:
    """A composition that starts anywhere."""

    def __init__(self, model: Composition, start: int) -> None:
        self.model, self.start, self.name = model, start, model.name

    def initial(self) -> Iterator[int]:
        yield self.start

    def successors(self, state: int) -> Iterator[Step[int]]:
        return self.model.successors(state)

    def propositions(self, state: int) -> frozenset[str]:
        return self.model.propositions(state)


@pytest.mark.parametrize("seeds", first_and_rest(100, 600))
def test_who_is_said_to_stand_still_does_so_at_larger_capacities(seeds: range) -> None:
    """In random systems of any class, from every state that is reached with capacity 1."""
    seen = 0
    for seed in seeds:
        found = random_system(seed, mixed=True)
        if found is None:
            continue
        small, large = Composition(found.over(Channel(1))), Composition(found.over(Channel(3)))
        for state in list(explore(small).steps)[:40]:
            here = small.encoding.configuration(state)
            stuck = still(found, here)
            if not stuck or all(not rows for rows in leaving(found, here)):
                continue
            seen += 1
            for later in explore(Onwards(large, large.encoding.state(here)), 20_000).steps:
                at = large.encoding.configuration(later).at
                assert [at[place] for place in stuck] == [here.at[place] for place in stuck], seed
    assert seen > len(seeds) // 10


def compared(seeds: range) -> Iterator[Status]:
    """The answers for random systems, each compared with what larger capacities show."""
    for seed in seeds:
        found = random_system(seed)
        if found is None:
            continue
        verdicts = check_unbounded(found, most=3)
        for name, verdict in verdicts.items():
            yield verdict.status
            if verdict.status is Status.UNKNOWN:
                continue
            for k in range(1, 7):
                try:
                    larger = explored_within(found, k)
                except TooLarge:
                    break
                lost = larger.fails[name] is not None
                if verdict.status is Status.FAILS and verdict.trace is not None:
                    on_way = [len(b) for step in verdict.trace.steps for b in step.target.buffers]
                    assert lost or max(on_way, default=0) > k, (seed, name, k)
                elif k >= int(verdict.detail.partition("-")[0]):
                    assert not lost, (seed, name, k)
                    assert larger.exhaustive, (seed, k)


@pytest.mark.deep
@pytest.mark.parametrize("seeds", first_and_rest(50, 1_000))
def test_random_systems_do_at_larger_capacities_what_was_said(seeds: range) -> None:
    statuses = list(compared(seeds))
    assert {statuses.count(status) > 3 for status in (Status.HOLDS, Status.FAILS)} == {True}


def wide_system(seed: int) -> System | None:
    """Two to four members; a state sends or receives, to or from several partners, with end states
    or without.
    """
    rng = random.Random(seed)
    names = "abcd"[: rng.choice((2, 3, 3, 4))]
    texts = {}
    for name in names:
        rows = list[str]()
        size = rng.randint(1, 3)
        for state in range(size):
            others = [other for other in names if other != name]
            sign = rng.choice("!?")
            several = rng.random() < (0.9 if sign == "?" else 0.4)
            partner = rng.choice(others)
            for tag in rng.sample("xyz", rng.randint(1, 2)):
                rows.append(f"{state} {partner}{sign}{tag} {rng.randint(0, size)}")
                partner = rng.choice(others) if several else partner
        texts[name] = "; ".join(rows)
    try:
        return system(**texts)
    except TableError:
        return None


@pytest.mark.deep
@pytest.mark.parametrize("seeds", first_and_rest(120, 3_000))
def test_what_is_known_within_a_capacity_is_what_the_definitions_say(seeds: range) -> None:
    met: dict[tuple[str, bool], int] = {}
    known = (*PAPERS.values(), CHAINED)
    for seed, drawn in [*enumerate(known), *((n, wide_system(n)) for n in seeds)]:
        if drawn is None or next(outside_the_class(drawn), None) is not None:
            continue
        for k in (1, 2):
            plain = Bounded(drawn, k, 400)
            if not plain.complete:
                continue
            found = explored_within(drawn, k)
            due = {
                "exhaustive": plain.exhaustive(),
                "eventual-reception": plain.eventual_reception(),
                "progress": plain.progress(),
            }
            ours = {name: found.fails[name] is None for name in found.fails}
            ours["exhaustive"] = found.conditions["exhaustive"]
            if not is_directed(drawn):
                due |= {"obi": plain.outputs(), "sibi": plain.strong_inputs()}
                ours |= {"obi": found.conditions["obi"], "sibi": "sibi" in found.conditions}
                if not due["sibi"]:
                    due["cibi"] = plain.chained_inputs()
                    ours["cibi"] = found.conditions["cibi"]
            assert ours == due, (seed, k)
            for one in due.items():
                met[one] = met.get(one, 0) + 1
    assert len(met) == 12
    assert min(met.values()) > 0, met


@pytest.mark.deep
@pytest.mark.parametrize("seeds", first_and_rest(60, 2_000))
def test_what_is_said_of_every_capacity_is_so_at_larger_ones(seeds: range) -> None:
    """Of systems whose states deal with several partners; by all states and in turns."""
    met = dict.fromkeys([*Status], 0)
    for seed in seeds:
        drawn = wide_system(seed)
        if drawn is None or next(outside_the_class(drawn), None) is not None:
            continue
        for name, verdict in check_unbounded(drawn, most=3).items():
            met[verdict.status] += not is_directed(drawn)
            least = verdict.bound.capacities_from if verdict.bound else None
            for k in (1, 2, 3, 4):
                plain = Bounded(drawn, k, 600)
                if not plain.complete:
                    break
                safe = plain.progress() if name == "progress" else plain.eventual_reception()
                if least is not None and k >= least:
                    assert safe, (seed, name, k)
                elif verdict.status is Status.FAILS and verdict.trace is not None:
                    on_way = [len(b) for step in verdict.trace.steps for b in step.target.buffers]
                    assert not safe or max(on_way, default=0) > k, (seed, name, k)
    assert min(met[Status.HOLDS], met[Status.FAILS], met[Status.UNKNOWN]) > 1, met


@pytest.mark.deep
@pytest.mark.parametrize("seeds", first_and_rest(150, 4_000))
def test_members_that_take_turns_are_as_safe_as_in_any_order(seeds: range) -> None:
    """Where the conditions hold in turns, what holds or fails there is what does in all states."""
    met = dict.fromkeys((True, False), 0)
    for seed in seeds:
        drawn = wide_system(seed) if seed % 2 else random_system(seed)
        if drawn is None or next(outside_the_class(drawn), None) is not None:
            continue
        for k in (1, 2):
            turns = in_turns_within(drawn, k)
            plain = Bounded(drawn, k, 600)
            if turns.unmet is not None or not plain.complete:
                continue
            assert plain.exhaustive(), (seed, k)
            safe = plain.progress() and plain.eventual_reception()
            assert turns.safe is safe, (seed, k)
            met[safe] += 1
    assert min(met.values()) > 3, met


def explored_within(drawn: System, k: int) -> WithinCapacity:
    return compatibility._within(drawn, k, Effort(MOST), reduced=False)


def in_turns_within(drawn: System, k: int) -> WithinCapacity:
    return compatibility._within(drawn, k, Effort(MOST), reduced=True)


MOST = 3_000


def test_a_condition_that_fails_is_told_with_a_trace() -> None:
    """Two senders race for one receiver, which goes on in two ways."""
    race = system(a="0 c!x 0", b="0 c!y 0", c="0 a?x 0; 0 b?y 1; 1 b?y 0")
    for verdict in check_unbounded(race, most=2).values():
        assert verdict.status is Status.UNKNOWN
        assert verdict.reason == (
            "not k-CIBI for any k up to 2; with 2, c receives x from a, while b may send it y"
        )
        assert verdict.remedy == "check one capacity: --channel fifo:2"
        assert verdict.trace is not None
        assert verdict.trace.labels == ("a>c +x",)


def test_what_is_sent_because_of_what_is_received_is_no_race() -> None:
    """k-CIBI: c hears of b only after b has heard of c."""
    bounded = within(CHAINED, 1)
    assert bounded.conditions["cibi"]
    for verdict in check_unbounded(CHAINED).values():
        assert (verdict.status, verdict.detail[:2]) == (Status.HOLDS, "1-")


def test_a_pipeline_of_many_members_takes_turns() -> None:
    size = 12
    texts = {"p0": "0 p1!x 0"}
    texts |= {f"p{n}": f"0 p{n - 1}?x 1; 1 p{n + 1}!x 0" for n in range(1, size - 1)}
    texts[f"p{size - 1}"] = f"0 p{size - 2}?x 0"
    pipeline = system(**texts)
    bounded = within(pipeline, 1)
    assert bounded.reduced
    assert bounded.space.states < 1_000
    for verdict in check_unbounded(pipeline).values():
        assert (verdict.status, verdict.detail[:2]) == (Status.HOLDS, "1-")


KMC = FOLDER / "kmc"

CONDITION_DIFFERS = {
    "synthesis-abc-dir.txt": "not 3-OBI, so that its reduced states do not tell of all states; "
    "in all of them whatever is about to be sent can be sent",
}
"""Where KMC, which explores reduced states alone, says otherwise, and why it may."""


def kmc_rows() -> list[dict[str, str]]:
    if not (KMC / "verdicts.csv").is_file():
        return []
    with (KMC / "verdicts.csv").open(encoding="utf-8") as file:
        return [*csv.DictReader(file)]


@pytest.mark.skipif(not kmc_rows(), reason="the systems of KMC are not there (shared/data/kmc)")
@pytest.mark.parametrize("row", kmc_rows(), ids=lambda row: row["file"])
def test_an_independent_tool_says_the_same(row: dict[str, str]) -> None:
    """KMC's `exhaustive` and `safe` at its k, wherever it answered."""
    pytest.importorskip("pxp_fsm.plugins.exports")  # it reads their format
    known, k = System.load(str(KMC / row["file"])), int(row["k"])
    found = within(known, k)
    said = {"true": True, "false": False}
    if row["exhaustive"] in said and row["file"] not in CONDITION_DIFFERS:
        assert found.exhaustive is said[row["exhaustive"]]
    if row["safe"] in said:
        assert found.safe is said[row["safe"]]
    for name, failing in found.fails.items():
        if failing is not None:  # which real machines have taken
            assert found.trace_to(failing).start, name


@pytest.mark.skipif(not kmc_rows(), reason="the systems of KMC are not there (shared/data/kmc)")
def test_where_it_differs_the_definition_decides() -> None:
    pytest.importorskip("pxp_fsm.plugins.exports")
    plain = Bounded(System.load(str(KMC / "synthesis-abc-dir.txt")), 3)
    assert (plain.complete, plain.exhaustive(), plain.outputs()) == (True, True, False)
    answered = System.load(str(KMC / "philo-bad-directed-simp.txt"))
    for verdict in check_unbounded(answered).values():
        assert verdict.status is Status.FAILS


def test_messages_that_wait_side_by_side_are_a_race_though_none_is_sent_any_more() -> None:
    """c listens to a and b once d says so, which it says after both have sent."""
    raced = system(
        a="0 c!x 1; 1 b!n 2",
        b="0 a?n 1; 1 c!y 2; 2 d!n 3",
        c="0 d?ok 1; 1 a?x 2; 1 b?y 3",
        d="0 b?n 1; 1 c!ok 2",
    )
    bounded = within(raced, 1)
    assert (bounded.conditions["exhaustive"], bounded.conditions["cibi"]) == (True, False)
    assert str(bounded.unmet) == "not 1-IBI: c receives x from a, while b may send it y"


def test_who_waits_for_each_other_stands_still() -> None:
    """Each would send what the other waits for, and has to receive first."""
    both = system(a="0 b?x 1; 1 b!y 0", b="0 a?y 1; 1 a!x 0")
    (start,) = Composition(both.over(Channel(1))).initial()
    encoding = Composition(both.over(Channel(1))).encoding
    assert still(both, encoding.configuration(start)) == {0, 1}
    (first,) = Composition(PAIR.over(Channel(1))).initial()
    assert not still(PAIR, Composition(PAIR.over(Channel(1))).encoding.configuration(first))


PAIR = system(a="0 b!x 0", b="0 a?x 0")


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ({"a": "0 b!x 1; 0 b?y 1", "b": "0 a?x 0"}, "state 0 of a both sends and receives"),
        ({"a": "0 b!x 1; 0 b!x 0", "b": "0 a?x 0"}, "state 0 of a has two rows for one tag"),
    ],
)
def test_of_other_systems_nothing_is_said(texts: dict[str, str], reason: str) -> None:
    with pytest.raises(UsageError, match=f"k-MC is about other systems: {reason}"):
        within(system(**texts), 1)


def test_who_waits_for_its_turn_gets_it() -> None:
    """Two pairs that go on for ever; what the second one sends is never received."""
    pairs = system(a="0 b!x 0", b="0 a?x 0", c="0 d!y 0", d="0 c?z 0")
    turns = in_turns_within(pairs, 1)
    assert turns.fails["eventual-reception"] is not None
    for verdict in check_unbounded(pairs, most=2).values():
        assert verdict.status is Status.FAILS, "no capacity is exhaustive, and none mends it"
    safe = system(a="0 b!x 0", b="0 a?x 0", c="0 d!y 0", d="0 c?y 0")
    seen = {str(s.action) for steps in in_turns_within(safe, 1).space.steps.values() for s in steps}
    assert len(seen) == 4, "all send and receive"


def test_what_no_capacity_mends_fails() -> None:
    """c is stuck for good once b has heard y."""
    stuck = system(a="0 b!x 1; 0 b!y 1", b="0 a?x 1; 0 a?y 2; 1 c!go 3", c="0 b?go 1")
    found = check_unbounded(stuck, most=2)
    assert found["progress"].status is Status.FAILS


def test_in_a_round_each_member_acts_once_so_that_buffers_stay_short() -> None:
    """However much room there is, what has been sent is received before more is."""
    pairs = system(a="0 b!x 0", b="0 a?x 0", c="0 d!y 0", d="0 c?y 0")
    turns = in_turns_within(pairs, 5)
    states = [turns.model.encoding.configuration(node.state) for node in turns.space.steps]
    assert max(len(buffer) for state in states for buffer in state.buffers) == 1
    assert turns.safe


@pytest.mark.parametrize(("most", "known"), [(0, False), (1, False), (2, True), (3, True)])
def test_where_too_much_depends_on_a_message_nothing_is_known(
    most: int, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a's message comes what it asks for, and what that asks for: two more to look at."""
    monkeypatch.setattr(compatibility, "MOST_CHAINS", most)
    chained = system(
        a="0 c!x 1; 1 c?z 0", b="0 c?go 1; 1 c!y 0", c="0 a?x 1; 0 b?y 2; 1 b!go 0; 2 a!z 0"
    )
    statuses = {verdict.status for verdict in check_unbounded(chained, most=1).values()}
    assert statuses == {Status.HOLDS if known else Status.UNKNOWN}


def test_what_a_message_makes_depend_on_the_first_action() -> None:
    """A link that carries no dependence, and what a dependent member sends, change nothing."""
    to, back = Link(0, 1), Link(1, 0)
    node: Any = "node"

    def after(kind: Kind, actor: int, link: Link, members: set[int], free: int) -> DependenceChain:
        row = Transition(1, "A", "B", None, kind, "X")
        chain = DependenceChain(node, frozenset(members), frozenset({(to, free)}))
        return chain.after(TakenStep(actor, row, link, node))

    def chain(members: set[int], free: int) -> DependenceChain:
        return DependenceChain(node, frozenset(members), frozenset({(to, free)}))

    assert after(Kind.SEND, 0, to, {1}, 2) == chain({1}, 3)
    assert after(Kind.SEND, 0, to, {0}, 2) == chain({0}, 2)
    assert after(Kind.RECEIVE, 1, to, {0}, 2) == chain({0}, 1)
    assert after(Kind.RECEIVE, 1, to, {0}, 0) == chain({0, 1}, 0)
    assert after(Kind.RECEIVE, 1, back, {0}, 0) == chain({0}, 0)
    assert after(Kind.SEND, 1, back, {0}, 2) == chain({0}, 2)
