"""Panels as they are explored: counts of two, bounds, what fails and what survives."""

from __future__ import annotations

import random
from dataclasses import replace
from math import factorial
from typing import Any

import pytest

import pxp_fsm as pxp
from proofs.core.explore import Space, explore
from proofs.core.kernels import Interpreter
from proofs.core.properties import complete_words, longest_run, terminates
from pxp_fsm.automata.actions import Exchange
from pxp_fsm.errors import UsageError
from pxp_fsm.plugins.panels.answers import answers, completed
from pxp_fsm.plugins.panels.board import PanelBoard
from pxp_fsm.plugins.panels.exploration import (
    REPLIES,
    AssumedRelations,
    ChannelModel,
    PanelModel,
)
from pxp_fsm.plugins.panels.packed import PackedSpace, packed, search_packed
from pxp_fsm.plugins.panels.whole import FACTS, WholePanel, WholeSpace, search_whole
from tests.sampling import sampled

SCHEDULES = ("free", "fifo", "round-robin")


def model(k: int = 1, schedule: str = "free", agents: int = 3, **rules: Any) -> PanelModel:
    return PanelModel(pxp.Panel(pxp.Pxp(k=k), schedule, **rules), agents)


def words(n: int, k: int, agents: int, schedule: str) -> int:
    panel = pxp.Panel(pxp.Interact(n=n, k=k), schedule)
    noisy = PanelModel(panel, agents, AssumedRelations.NOISY, (1, 1))
    return len(complete_words(explore(noisy)))


@pytest.mark.parametrize(
    ("n", "k", "counts"),
    [
        pytest.param(3, 1, (4, 4, 13), id="3,1"),
        pytest.param(4, 2, (8, 10, 36), id="4,2", marks=pytest.mark.deep),
    ],
)
def test_two_agents_have_the_tag_sequences_of_two(n: int, k: int, counts: tuple[int, ...]) -> None:
    panel = pxp.Panel(pxp.Interact(n=n, k=k))
    found = []
    for relations, values in (("equivalence", 3), ("tolerance", 3), ("noisy", 2)):
        two = PanelModel(panel, 2, AssumedRelations(relations), (values, values))
        found.append(len(complete_words(explore(two))))
    assert tuple(found) == counts


@pytest.mark.parametrize("k", [1, 2, 3])
def test_two_agents_of_pxp_k_send_at_most_2k_and_5_messages(k: int) -> None:
    two = PanelModel(pxp.Panel(pxp.Pxp(k=k)), 2, free_term=True)
    assert len(longest_run(explore(two)).steps) == 2 * k + 5


@pytest.mark.parametrize("schedule", ["fifo", "round-robin"])
def test_the_labels_of_interact_in_three_channels_are_those_of_two_each(schedule: str) -> None:
    for n, k in ((2, 1), (3, 1)):
        assert words(n, k, 3, schedule) == words(n, k, 2, schedule) ** 3


def test_free_labels_of_interact_are_all_shuffles() -> None:
    shuffles = factorial(6) // factorial(2) ** 3
    assert words(2, 1, 3, "free") == words(2, 1, 2, "free") ** 3 * shuffles


@pytest.mark.parametrize("schedule", [pytest.param("free", marks=pytest.mark.deep), *SCHEDULES[1:]])
def test_interact_ends_within_n_messages_in_each_channel(schedule: str) -> None:
    panel = pxp.Panel(pxp.Interact(n=3, k=1), schedule)
    noisy = PanelModel(panel, 3, AssumedRelations.NOISY, (1, 1))
    bound = terminates(explore(noisy)).bound
    assert bound is not None
    assert bound.steps == 9


@pytest.mark.parametrize(
    ("schedule", "rule"),
    [
        *(pytest.param("free", rule, marks=pytest.mark.deep) for rule in ("call", "alone")),
        *((schedule, rule) for schedule in SCHEDULES[1:] for rule in ("call", "alone")),
    ],
)
def test_call_and_alone_end_and_keep_the_replies_of_two(schedule: str, rule: str) -> None:
    found = answers(model(schedule=schedule, **{rule: True}))
    assert (found.is_whole, found.ends, found.replies, found.unstable) == (True, True, {}, None)
    assert found.longest is not None
    assert found.longest <= 7 * 3
    assert (found.longest == 7 * 3) == (schedule == "free")


@pytest.mark.parametrize("schedule", [pytest.param("free", marks=pytest.mark.deep), *SCHEDULES[1:]])
def test_nobody_who_never_changes_goes_on_for_ever(schedule: str) -> None:
    found = answers(model(schedule=schedule, limit=0))
    assert (found.is_whole, found.longest, found.stale, found.replies) == (True, 12, None, {})


@pytest.mark.deep
def test_pxp_k_bounds_no_panel() -> None:
    found = answers(model(channels=(("a", "b"), ("b", "c"))), 2_500)
    assert found.lasso is not None
    assert (len(found.lasso.cycle), found.lasso.changing) == (4, ("b",))
    assert found.stale is not None
    assert len(found.stale) == 4
    assert {received for received, _ in found.replies} == {"RATIFY", "REVISE", "REJECT"}
    assert not found.idle_cycle


@pytest.mark.deep
def test_in_a_fair_triangle_everybody_changes_for_ever() -> None:
    found = answers(model(schedule="fifo"), 12_000)
    assert found.all_change is not None
    assert found.all_change.is_fair
    assert found.all_change.changing == ("a", "b", "c")
    assert not found.idle_cycle


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("rule", [{}, {"call": True}, {"reopen": True}, {"limit": 1}])
@pytest.mark.parametrize("free_term", [False, True])
def test_what_is_kept_of_a_board_goes_on_as_the_board_does(
    schedule: str, rule: dict[str, Any], free_term: bool
) -> None:
    """Sessions whose boards forget nothing are runs of the model, whose states forget much.

    Who has not spoken in a channel may hang up there, however often it has changed elsewhere.
    """
    explored = replace(model(schedule=schedule, agents=4, **rule), free_term=free_term)
    for seed in range(6):
        drawn = random.Random(seed)
        board = explored.layout.start()
        (kept,) = explored.initial()
        while board.number < 40 and (due := explored.layout.due(board)):
            owed = drawn.choice(due)
            replies = sorted(explored.replies(board, owed))
            board = explored.after(board, owed, *drawn.choice(replies))
            after = explored.kept(board)
            assert after in {step.target for step in explored.successors(kept)}
            kept = after


@pytest.mark.parametrize("rule", ["call", "alone"])
def test_a_channel_among_any_number_is_a_session_of_two(rule: str) -> None:
    rules: Any = {rule: True}
    for k in (1, 2):
        space = explore(ChannelModel(pxp.Panel(pxp.Pxp(k=k), **rules)))
        assert len(longest_run(space).steps) == 2 * k + 5
        assert replies_of(space) == set(REPLIES.items())


@pytest.mark.parametrize(
    ("k", "c"), [(1, 0), (2, 0), (1, 1), pytest.param(2, 1, marks=pytest.mark.deep)]
)
def test_a_limit_of_changes_bounds_a_channel_among_any_number(k: int, c: int) -> None:
    found = len(longest_run(explore(ChannelModel(pxp.Panel(pxp.Pxp(k=k), limit=c)))).steps)
    assert found <= (4 * k + 3 + 4 * c if c else k + 3)
    assert (found == k + 3) == (c == 0)


def test_interact_in_a_channel_among_any_number_says_what_two_say() -> None:
    for n, k, many in ((3, 1, 13), (4, 2, 36)):
        panel = pxp.Panel(pxp.Interact(n=n, k=k))
        noisy = ChannelModel(panel, AssumedRelations.NOISY, (1, 1))
        assert len(complete_words(explore(noisy))) == many


@pytest.mark.deep
def test_commit_does_not_keep_the_replies_of_two() -> None:
    space = explore(ChannelModel(pxp.Panel(pxp.Pxp(k=1), limit=1, commit=True)))
    assert replies_of(space) > set(REPLIES.items())


@pytest.mark.deep
@pytest.mark.parametrize(
    ("agents", "k", "rule"),
    [
        *((2, k, {}) for k in (1, 2)),
        (3, 1, {"limit": 0}),
        pytest.param(3, 1, {"call": True}, marks=pytest.mark.deep),
        pytest.param(3, 1, {"alone": True}, marks=pytest.mark.deep),
        pytest.param(3, 1, {"alone": True, "limit": 1}, marks=pytest.mark.deep),
        pytest.param(3, 1, {"call": True, "limit": 1}, marks=pytest.mark.deep),
    ],
)
def test_a_reduced_model_ends_and_answers_as_the_whole_one(
    agents: int, k: int, rule: dict[str, Any]
) -> None:
    links = [("a", "b"), ("a", "c"), ("b", "c")]
    round_about = [("a", "b"), ("b", "c"), ("c", "a")]  # who begins: the only other way among three
    begins = [None] if agents == 2 else [links, round_about]
    few = replace(model(k, "free", agents, **rule), reduced=True)
    whole = [model(k, "free", agents, channels=channels, **rule) for channels in begins]
    found, others = answers(few), list(map(answers, whole))
    assert found.is_whole
    assert found.longest == max(other.longest or 0 for other in others)
    assert [other.ends for other in others] == [found.ends] * len(others)
    assert sum(other.states for other in others) > found.states
    assert _replied(few) == set().union(*map(_replied, whole))


def _replied(of: PanelModel) -> set[tuple[str, str]]:
    """All that is answered with what, whoever does."""
    found = set[tuple[str, str]]()
    for state, steps in explore(of).steps.items():
        for step in steps:
            action = step.action
            assert isinstance(action, Exchange)
            ends = tuple(map(of.layout.names.index, (action.sender, action.receiver)))
            number = of.layout.channels[ends[0], ends[1]]
            talk = state.talks[number]
            found.add((talk.said[of.layout.links[number].index(ends[1])], action.tag))
    return {(received, tag) for received, tag in found if received in REPLIES}


@pytest.mark.deep
@pytest.mark.parametrize(
    ("agents", "k", "rule", "free_term"),
    [
        (2, 2, {"alone": True}, True),
        (3, 1, {"call": True}, False),
        (3, 2, {"call": True}, True),
        (3, 1, {"call": True, "limit": 0}, True),
        pytest.param(3, 1, {"alone": True}, True, marks=pytest.mark.deep),
        pytest.param(4, 1, {"call": True}, False, marks=pytest.mark.deep),
    ],
)
def test_a_packed_panel_is_the_reduced_model(
    agents: int, k: int, rule: dict[str, Any], free_term: bool
) -> None:
    """Where no choice of an order is left to who is whom, to the state and to the step."""
    few = replace(model(k, "free", agents, **rule), reduced=True, free_term=free_term)
    space, tables = explore(few), packed(few)
    assert tables is not None
    longest = len(longest_run(space).steps)
    expected = PackedSpace(space.states, space.transitions, True, longest)
    assert search_packed(tables, 10_000) == expected
    if agents < 4:
        assert search_packed(tables, 10_000, Interpreter()) == expected


def test_a_packed_search_is_cut_and_says_so() -> None:
    tables = packed(replace(model(alone=True), reduced=True))
    assert tables is not None
    found = search_packed(tables, 100)
    assert (found.is_whole, found.longest) == (False, None)
    assert found.states > 100


@pytest.mark.parametrize("rule", [{"limit": 1}, {"alone": True, "limit": 1}, {}])
def test_what_depends_on_changes_elsewhere_is_not_packed(rule: dict[str, Any]) -> None:
    assert packed(replace(model(**rule), reduced=True)) is None
    assert packed(model(alone=True)) is None


@pytest.mark.parametrize(
    ("rule", "states"),
    sampled([({"limit": 0}, 2_580), ({"alone": True}, 896_077), ({"call": True}, 4_584)], 3),
)
def test_four_agents_end_within_the_messages_of_six_sessions_of_two(
    rule: dict[str, Any], states: int
) -> None:
    found = answers(replace(model(agents=4, **rule), reduced=True), 1_000_000)
    assert (found.is_whole, found.states, found.replies) == (True, states, {})
    assert found.longest == (4 if "limit" in rule else 7) * 6


@pytest.mark.parametrize(
    ("schedule", "rule"),
    [
        ("fifo", {"limit": 1, "reopen": True}),
        pytest.param("round-robin", {"limit": 1, "commit": True}, marks=pytest.mark.deep),
        pytest.param("free", {"call": True}, marks=pytest.mark.deep),
        pytest.param("round-robin", {"alone": True, "reopen": True}, marks=pytest.mark.deep),
    ],
)
def test_a_whole_panel_is_the_model(schedule: str, rule: dict[str, Any]) -> None:
    """To the state, the step, the longest session and the shortest run to each fault."""
    explored = replace(model(schedule=schedule, **rule), values=(2, 1))
    space, tables, found = explore(explored), WholePanel(explored), answers(explored)
    expected = WholeSpace(
        space.states,
        space.transitions,
        is_whole=True,
        ends=found.ends,
        longest=found.longest,
        idle_cycle=found.idle_cycle,
        runs={},
    )
    for runner in (None, Interpreter()):
        searched = search_whole(tables, 10_000, runner)
        lengths = {fact: len(run) for fact, run in searched.runs.items()}
        told = {fact: getattr(found, fact) for fact in FACTS}
        assert replace(searched, runs={}) == expected
        assert lengths == {fact: len(run) for fact, run in told.items() if run is not None}
    assert len({tables.number(state) for state in space.steps}) == space.states


@pytest.mark.deep
def test_what_was_cut_is_completed() -> None:
    cut = answers(model(schedule="fifo", limit=1), 1_000)
    assert (cut.ends, cut.longest, cut.closed_apart) == (None, None, None)
    whole = completed(cut, 10_000)
    assert (whole.states, whole.ends, whole.longest, whole.stale) == (8_387, True, 23, cut.stale)


def test_a_whole_panel_that_has_no_tables_is_refused() -> None:
    with pytest.raises(UsageError, match="bits, more than 62"):
        WholePanel(replace(model(schedule="fifo", agents=5), values=(2, 1)))
    with pytest.raises(UsageError, match="with an equivalence, not reduced"):
        WholePanel(PanelModel(pxp.Panel(pxp.Interact(n=3, k=1))))


def test_a_model_that_cannot_be_reduced_is_refused() -> None:
    for wrong in (model(schedule="fifo"), model(commit=True), model(reopen=True)):
        with pytest.raises(UsageError, match="reduced is the free schedule"):
            replace(wrong, reduced=True)


@pytest.mark.deep
def test_a_consensus_of_stale_ratifys_is_lost_with_the_twelfth_message() -> None:
    found = answers(PanelModel(pxp.Panel(pxp.Pxp(k=1), "free"), values=(2, 1)), 15_000)
    assert found.unstable is None
    assert found.unstable_unless_fresh is not None
    assert len(found.unstable_unless_fresh) == 12


def replies_of(space: Space[PanelBoard]) -> set[tuple[str, str]]:
    """What answers RATIFY, REVISE and REJECT."""
    found = set[tuple[str, str]]()
    for state, steps in space.steps.items():
        for step in steps:
            action = step.action
            assert isinstance(action, Exchange)
            received = state.talks[0].said["ba".index(action.sender)]
            if action.tag not in ("INIT", "TERM") and received in REPLIES:
                found.add((received, action.tag))
    return found
