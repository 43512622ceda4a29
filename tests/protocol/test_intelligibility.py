"""Each definition of intelligibility: as code, as an automaton, and as the papers use it."""

from __future__ import annotations

from collections import deque
from itertools import combinations

import pytest

from pxp_fsm.protocol.intelligibility import (
    ALPHABET,
    DEFINITIONS,
    ONE_WAY,
    ONE_WAY_ANY,
    STRONG,
    ULTRA_STRONG,
    Definition,
    holds_for,
    sent_tags,
    two_way,
    two_way_automaton,
)
from pxp_fsm.protocol.messages import Answer, Message, Tag


def session(*sent: str) -> tuple[Message, ...]:
    """Messages from `TAG_sender` words, such as `INIT_m`."""
    words = (word.split("_") for word in sent)
    return tuple(
        Message("s", number, sender, tag, Answer("", ""), "h" if sender == "m" else "m")
        for number, (tag, sender) in enumerate(words, start=1)
    )


@pytest.mark.parametrize("definition", DEFINITIONS.values(), ids=lambda d: d.name)
def test_code_and_automaton_are_equal_for_all_lengths(definition: Definition) -> None:
    """The code sees only the set of tags sent, so a product with that set is finite and complete.

    Every reachable pair (set of tags so far, state of the automaton) is visited; acceptance must
    be what the code says of the set.
    """
    automaton = definition.automaton()
    start = (frozenset[str](), automaton.initial_state)
    seen, left = {start}, deque([start])
    while left:
        tags, state = left.popleft()
        counted = tags - {Tag.INIT, Tag.TERM}
        assert (state in automaton.final_states) == definition.holds(counted), sorted(tags)
        for tag in ALPHABET:
            following = (tags | {tag}, automaton.transitions[state][tag])
            if following not in seen:
                seen.add(following)
                left.append(following)
    assert {tags for tags, _ in seen} == {
        frozenset(chosen) for size in range(7) for chosen in combinations(ALPHABET, size)
    }


@pytest.mark.parametrize("definition", DEFINITIONS.values(), ids=lambda d: d.name)
def test_a_wrong_automaton_would_be_told_apart(definition: Definition) -> None:
    others = [other for other in DEFINITIONS.values() if other is not definition]
    assert all(other.automaton() != definition.automaton() for other in others)


def test_two_way_is_one_way_for_both_for_all_lengths() -> None:
    """The product automaton accepts exactly where both one-way automata do."""
    both = two_way_automaton("m", "h")
    parts = [ONE_WAY.automaton_for(agent, ("m", "h")) for agent in ("m", "h")]
    start = (both.initial_state, *(part.initial_state for part in parts))
    seen, left = {start}, deque([start])
    while left:
        state, *halves = left.popleft()
        accepted = [half in part.final_states for half, part in zip(halves, parts, strict=True)]
        assert (state in both.final_states) == all(accepted)
        for symbol in both.input_symbols:
            moved = (part.transitions[h][symbol] for h, part in zip(halves, parts, strict=True))
            following = (both.transitions[state][symbol], *moved)
            if following not in seen:
                seen.add(following)
                left.append(following)
    assert len(seen) == 9


def test_strength_implies_what_it_should_and_no_more() -> None:
    one_way, any_way = ONE_WAY.automaton(), ONE_WAY_ANY.automaton()
    strong, ultra = STRONG.automaton(), ULTRA_STRONG.automaton()
    assert ultra < strong < one_way < any_way


def test_an_agent_that_sent_none_of_the_four_tags_is_in_no_class() -> None:
    silent = session("INIT_m", "TERM_h")
    for definition in DEFINITIONS.values():
        assert not holds_for(definition, silent, "m")
        assert not holds_for(definition, silent, "h")
        assert not holds_for(definition, (), "m")


def test_the_papers_immediate_ratification_is_strong_for_both_and_ultra_strong_for_none() -> None:
    ratified = session("INIT_m", "RATIFY_h", "RATIFY_m")
    assert sent_tags(ratified, "m") == {"RATIFY"}
    for agent in ("m", "h"):
        assert holds_for(STRONG, ratified, agent)
        assert not holds_for(ULTRA_STRONG, ratified, agent)


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (("INIT_m", "REFUTE_h", "TERM_h"), False),
        (("INIT_m", "REJECT_h", "TERM_h"), False),
        (("INIT_m", "REFUTE_h", "REFUTE_m", "REFUTE_h", "TERM_h"), False),
        (("INIT_m", "REVISE_h", "RATIFY_m", "TERM_h"), True),
        (("INIT_m", "REFUTE_h", "REVISE_m", "RATIFY_h", "TERM_h"), True),
    ],
)
def test_the_worked_examples_of_the_protocols_first_paper(
    sent: tuple[str, ...], expected: bool
) -> None:
    assert two_way(session(*sent), "m", "h") is expected


def test_a_reject_ends_one_way_but_not_its_named_variant() -> None:
    rejected = session("INIT_m", "RATIFY_h", "REFUTE_m", "REJECT_h")
    assert not holds_for(ONE_WAY, rejected, "h")
    assert holds_for(ONE_WAY_ANY, rejected, "h")
