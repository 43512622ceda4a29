"""MATCH with holes and AGREE with hints; networks as diagrams."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pxp_fsm.diagrams import render
from pxp_fsm.errors import DataError
from pxp_fsm.plugins.easylan.lan import diagram
from pxp_fsm.plugins.easylan.model.network import LanAgent, Network
from pxp_fsm.plugins.easylan.training.steps import (
    HOLE,
    HintFollowed,
    SameJson,
    fits,
    holes,
    value_of,
    written,
)
from pxp_fsm.protocol.relations import NOISY, Assumption, Outcome

LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.text(max_size=5))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


def holed(value: Any, draw: Callable[[st.SearchStrategy[Any]], Any]) -> Any:
    """`value` with some of it, whole or inside a text, replaced by holes."""
    if draw(st.integers(0, 3)) == 0:
        return HOLE
    if isinstance(value, str):
        start, end = sorted(draw(st.tuples(*[st.integers(0, len(value))] * 2)))
        return value[:start] + HOLE + value[end:]
    if isinstance(value, dict):
        return {key: holed(one, draw) for key, one in value.items()}
    return [holed(one, draw) for one in value] if isinstance(value, list) else value


@given(VALUES, st.data())
def test_a_value_fits_itself_and_whatever_holes_are_made_in_it(
    value: Any, data: st.DataObject
) -> None:
    pattern = holed(value, data.draw)
    assert fits(value, value) and fits(pattern, value)
    texts = written(pattern), written(value)
    for one, other in (texts, texts[::-1]):
        assert asyncio.run(SameJson().holds(one, other)) is Outcome.YES
    assert value_of(written(value)) == value


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        ({"a": HOLE}, {"b": "x"}),
        ({"a": f"{HOLE} rhyme"}, {"a": "it rhymes"}),
        ({"a": f"{HOLE} rhyme"}, {"a": 3}),
        ([HOLE], []),
        ({"a": 1}, {"a": True}),
        ({"a": "x.y"}, {"a": "xzy"}),
        ({"a": f"x.y{HOLE}"}, {"a": "xzy"}),
    ],
)
def test_what_does_not_fit(pattern: Any, value: Any) -> None:
    assert not fits(pattern, value)
    assert asyncio.run(SameJson().holds(written(pattern), written(value))) is Outcome.NO


def test_holes_are_found_where_they_are() -> None:
    value = {"a": [HOLE, "x"], "b": f"the {HOLE}", "c": 3}
    assert list(holes(value)) == [("a", 0), ("b",)]
    with pytest.raises(DataError, match="a step's result must be JSON"):
        value_of("{")


class Never:
    name = "never"
    assumptions: frozenset[Assumption] = NOISY

    async def holds(self, left: str, right: str) -> Outcome:
        return Outcome.NO


def test_no_hint_is_agreed_with_and_another_is_judged() -> None:
    async def said(relation: HintFollowed, left: str, right: str) -> Any:
        return await relation.holds(left, right)

    for relation in (HintFollowed(), HintFollowed(Never())):
        assert asyncio.run(said(relation, "  ", "why")) is Outcome.YES
        assert asyncio.run(said(relation, "why", "")) is Outcome.YES
        assert asyncio.run(said(relation, "a hint", "why")) is Outcome.NO
        assert Assumption.TRANSITIVE not in relation.assumptions
    assert HintFollowed(Never()).assumptions == NOISY


def test_a_network_is_drawn_with_its_active_agents_marked() -> None:
    agents = (LanAgent("A", "a", "t"), LanAgent('B"<b>', "b", "t"))
    drawn = diagram(Network("task", agents, frozenset({("A", 'B"<b>')})), active=["A"])
    assert [node.marked for node in drawn.nodes] == [True, False]
    for form in ("mermaid", "svg"):
        assert b"<b>" not in render(drawn, form)
