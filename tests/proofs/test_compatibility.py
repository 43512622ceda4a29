"""k-multiparty compatibility: the paper's examples, and brute force at larger capacities."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from proofs.core.explore import Step, TooLarge, explore
from proofs.core.limits import Effort
from proofs.core.results import Status
from proofs.systems import Channel, Composition, Member, System
from proofs.systems import check_unbounded as results_of
from proofs.systems.compatibility import check_unbounded, leaving, outside_the_class, still, within
from pxp_fsm.automata.automaton import Automaton, Kind, State, Transition
from pxp_fsm.automata.tables import builtin
from pxp_fsm.errors import TableError


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
    assert [arrow.texts for arrow in chart.arrows][-1] == ("not received",)


@pytest.mark.parametrize(
    ("member", "said"),
    [
        ("0 b!x 1; 0 b?y 1", "state 0 of a both sends and receives"),
        ("0 b!x 1; 0 c!z 1; 1 b?y 0", "state 0 of a does not deal with one partner alone"),
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


def test_who_is_said_to_stand_still_does_so_at_larger_capacities() -> None:
    """In random systems of any class, from every state that is reached with capacity 1."""
    seen = 0
    for seed in range(600):
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
    assert seen > 100


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
                    larger = within(found, k, Effort(20_000))
                except TooLarge:
                    break
                lost = larger.fails[name] is not None
                if verdict.status is Status.FAILS and verdict.trace is not None:
                    on_way = [len(b) for step in verdict.trace.steps for b in step.target.buffers]
                    assert lost or max(on_way, default=0) > k, (seed, name, k)
                elif k >= int(verdict.detail.partition("-")[0]):
                    assert not lost, (seed, name, k)
                    assert larger.exhaustive, (seed, k)


def test_random_systems_do_at_larger_capacities_what_was_said() -> None:
    statuses = list(compared(range(400)))
    assert {statuses.count(status) > 20 for status in (Status.HOLDS, Status.FAILS)} == {True}


@pytest.mark.deep
def test_many_random_systems_do_at_larger_capacities_what_was_said() -> None:
    statuses = list(compared(range(400, 2000)))
    assert {statuses.count(s) > 10 for s in (Status.HOLDS, Status.FAILS, Status.UNKNOWN)} == {True}
