"""The least cost of editing a text equals that of an editor in which every gesture is tried."""

from __future__ import annotations

from heapq import heappop, heappush

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pxp_fsm.plugins.easylan.distance.lmd import (
    cost,
    gestures,
    operations,
    place_cost,
    text_cost,
    text_costs,
)

SHORT = st.text("ab", max_size=4)


def by_an_editor(before: str, after: str) -> int:
    """Dijkstra over what a field can show: its text and what of it is selected, if anything.

    Gestures: click anywhere, drag over anything, press a key (arrow, Delete, Backspace, letter).
    """
    letters = sorted(set(after))
    start = (before, -1, -1)
    queue, best = [(0, start)], {start: 0}
    while queue:
        spent, (text, low, high) = heappop(queue)
        if text == after:
            return spent
        if spent > best[text, low, high]:
            continue
        for price, state in steps(text, low, high, letters):
            if len(state[0]) > len(before) + len(after):
                continue
            if spent + price < best.get(state, 1 << 30):
                best[state] = spent + price
                heappush(queue, (spent + price, state))
    raise AssertionError("every text can be reached")


State = tuple[str, int, int]


def steps(text: str, low: int, high: int, letters: list[str]) -> list[tuple[int, State]]:
    ends = range(len(text) + 1)
    found: list[tuple[int, State]] = [(1, (text, at, at)) for at in ends]
    found += [(2, (text, a, b)) for a in ends for b in ends if a < b]
    if low < 0:
        return found
    found += [(1, (text[:low] + x + text[high:], low + 1, low + 1)) for x in letters]
    if low < high:
        found.append((1, (text[:low] + text[high:], low, low)))
    else:
        found += [(1, (text, at, at)) for at in (low - 1, low + 1) if at in ends]
        if low < len(text):
            found.append((1, (text[:low] + text[low + 1 :], low, low)))
        if low > 0:
            found.append((1, (text[: low - 1] + text[low:], low - 1, low - 1)))
    return found


@pytest.mark.deep
@settings(max_examples=40)
@given(SHORT, st.text("abc", max_size=5))
def test_the_cost_is_the_least_of_an_editor_where_everything_is_tried(
    before: str, after: str
) -> None:
    assert text_cost(before, after) == by_an_editor(before, after)


def by_cells(before: str, after: str) -> int:
    """All ways to keep characters, told apart by where the last kept pair stands."""
    best = {(0, 0): 0}
    least = place_cost(len(before), len(after))
    for i, left in enumerate(before, start=1):
        for j, right in enumerate(after, start=1):
            if left == right:
                best[i, j] = min(
                    spent + place_cost(i - 1 - a, j - 1 - b)
                    for (a, b), spent in best.items()
                    if a < i and b < j
                )
                rest = place_cost(len(before) - i, len(after) - j)
                least = min(least, best[i, j] + rest)
    return least


@given(st.text("abcd ", max_size=14), st.text("abcd ", max_size=14))
def test_the_cost_is_the_least_over_all_alignments(before: str, after: str) -> None:
    assert text_cost(before, after) == by_cells(before, after)


@given(st.lists(st.text("abc\x00\u4e2d", max_size=6), max_size=4), st.text("abc\u4e2d", max_size=6))
def test_many_texts_at_once_cost_what_each_costs_alone(befores: list[str], after: str) -> None:
    assert text_costs(befores, after) == [text_cost(before, after) for before in befores]


@given(st.text(max_size=30), st.text(max_size=30))
def test_a_text_alone_costs_nothing_to_keep(before: str, after: str) -> None:
    assert (text_cost(before, after) == 0) == (before == after)


@pytest.mark.parametrize(
    ("before", "after", "spent"),
    [
        ("one two three", "one three", 3),  # a piece of text: selected, Delete
        ("cat", "at", 2),  # one character: click, Delete
        ("", "abc", 4),  # click, three keys
        ("one two three", "one 2 three", 3),  # selected, typed over
        ("rime", "ryme", 3),  # click, type, Delete
        ("词语", "词", 2),
        ("same", "same", 0),
    ],
)
def test_the_papers_gestures_cost_what_it_says(before: str, after: str, spent: int) -> None:
    assert text_cost(before, after) == spent


def test_the_table_is_the_papers() -> None:
    assert dict(gestures()) == {"click": 1, "key": 1, "drag": 2, "select": 2}
    assert cost("mark") + cost("press") == 3
    assert cost("create") == 1
    assert all(operation.why for operation in operations())
