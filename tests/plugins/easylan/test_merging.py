"""Merging two agents by hand: what comes of it, by a naive second description."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pxp_fsm.errors import UsageError
from pxp_fsm.plugins.easylan.model.network import Control, LanAgent, Network, Unsound, cycle_of
from pxp_fsm.plugins.easylan.model.operations import MANUAL, applied, merging
from tests.plugins.easylan.random_networks import networks


@given(networks(), st.data())
def test_the_agent_that_stays_has_what_both_had(network: Network, data: st.DataObject) -> None:
    if len(network.names) < 2:
        return
    name, into = data.draw(st.permutations(network.names))[:2]
    operations = merging(network, name, into)
    assert all(isinstance(one, MANUAL) for one in operations)
    renamed = {
        (into if a == name else a, into if b == name else b)
        for a, b in network.edges
        if {a, b} != {name, into}
    }
    if cycle_of(frozenset(renamed)):
        with pytest.raises(Unsound, match="cycle"):
            applied(network, operations)
        return
    found = applied(network, operations)
    assert set(found.names) == set(network.names) - {name}
    assert found.edges == renamed
    gone, kept, merged = network.agent(name), network.agent(into), found.agent(into)
    assert set(merged.knowledge) == {*gone.knowledge, *kept.knowledge}
    assert set(merged.control.knowledge) == {*gone.control.knowledge, *kept.control.knowledge}
    assert all(text in merged.task for text in (gone.task, kept.task))
    assert (merged.output, merged.control.enabled) == (kept.output, kept.control.enabled)
    untouched = {one for one in network.agents if one.name not in (name, into)}
    assert untouched <= set(found.agents)


def test_what_one_requires_both_require_and_neither_requires_itself() -> None:
    def agent(name: str, *required: str) -> LanAgent:
        return LanAgent(name, name, "text", Control(required=required))

    edges = {("a", "b"), ("a", "c"), ("b", "c"), ("x", "c")}
    some = (agent("a"), agent("x"), agent("b", "a"), agent("c", "b", "x"))
    network = Network("task", some, frozenset(edges))
    found = applied(network, merging(network, "b", "c"))
    assert found.edges == {("a", "c"), ("x", "c")}
    assert set(found.agent("c").control.required) == {"a", "x"}
    found = applied(network, merging(network, "c", "b"))
    assert set(found.agent("b").control.required) == {"a", "x"}


def test_an_agent_is_not_merged_into_itself_or_nobody() -> None:
    network = Network("task", (LanAgent("a", "do", "text"),))
    with pytest.raises(UsageError, match="into itself"):
        merging(network, "a", "a")
    with pytest.raises(UsageError, match="no agent"):
        merging(network, "a", "b")
