"""LMD is the least over everything that could be done, or its bounds enclose that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from pxp_fsm.plugins.easylan.distance.lmd import (
    FIELDS,
    Pair,
    Pairable,
    best,
    cost,
    network_distance,
    place_cost,
    text_cost,
)
from pxp_fsm.plugins.easylan.model.network import AgentInput, Control, LanAgent, Network, Piece
from pxp_fsm.plugins.easylan.model.network import ControlExample as Turned

TEXT = st.text("ab ", min_size=1, max_size=5)


@st.composite
def networks(draw: st.DrawFn, most: int = 4) -> Network:
    names = draw(st.lists(st.sampled_from("ABCDEF"), min_size=1, max_size=most, unique=True))
    agents = tuple(
        LanAgent(
            name,
            draw(TEXT),
            draw(TEXT),
            Control(draw(st.booleans()), knowledge=tuple(draw(st.lists(TEXT, max_size=2)))),
            tuple(draw(st.lists(TEXT, max_size=2))),
        )
        for name in names
    )
    forward = [(a, b) for place, a in enumerate(names) for b in names[place + 1 :]]
    edges = draw(st.sets(st.sampled_from(forward))) if forward else set()
    marked = draw(st.sets(st.sampled_from(sorted(edges)))) if edges else set()
    agents = tuple(
        replace(
            agent,
            control=replace(
                agent.control, required=tuple(sorted(a for a, b in marked if b == agent.name))
            ),
        )
        for agent in agents
    )
    return Network("t", agents, frozenset(edges))


def marks(network: Network) -> set[tuple[str, str]]:
    return {(name, agent.name) for agent in network.agents for name in agent.control.required}


def matchings(allowed: dict[str, list[str]]) -> Iterator[dict[str, str]]:
    """Every partial matching of the names with those that each may become."""
    if not allowed:
        yield {}
        return
    first, *others = allowed
    for rest in matchings({name: allowed[name] for name in others}):
        yield rest
        yield from ({first: b, **rest} for b in allowed[first] if b not in rest.values())


def by_brute_force(before: Network, after: Network) -> int:
    only_after = [name for name in after.names if name not in before.names]
    allowed = {name: [name] if name in after.names else only_after for name in before.names}
    return min(spent(before, after, pairs) for pairs in matchings(allowed))


def spent(before: Network, after: Network, pairs: dict[str, str]) -> int:
    total = 2 * (len(before.names) - len(pairs))
    for agent in after.agents:
        if agent.name not in pairs.values():
            total += 2 + sum(place_cost(0, len(shown(agent))) for shown in FIELDS.values())
            total += agent.control.enabled
    for a, b in pairs.items():
        one, other = before.agent(a), after.agent(b)
        typed = sum(text_cost(shown(one), shown(other)) for shown in FIELDS.values())
        typed += one.control.enabled != other.control.enabled
        total += typed + 2 if typed else 0
    kept = {(pairs[a], pairs[b]) for a, b in before.edges if a in pairs and b in pairs}
    still = {(a, b) for a, b in marks(before) if a in pairs and b in pairs}
    marked = {(pairs[a], pairs[b]) for a, b in still} & after.edges
    return total + 2 * len(kept ^ after.edges) + 2 * len(marked ^ marks(after))


@settings(max_examples=80)
@given(networks(), networks())
def test_it_is_the_least_over_all_correspondences(before: Network, after: Network) -> None:
    found = network_distance(before, after)
    assert found.exact
    assert found.upper == sum(step.ued for step in found.steps) == by_brute_force(before, after)


@settings(max_examples=60)
@given(networks(), networks())
def test_a_search_that_is_cut_short_encloses_it(before: Network, after: Network) -> None:
    cut, whole = network_distance(before, after, most_steps=0), network_distance(before, after)
    assert 0 <= cut.lower <= whole.upper <= cut.upper


@given(networks())
def test_to_itself_it_is_nothing(network: Network) -> None:
    assert network_distance(network, network).upper == 0
    assert network_distance(network, network).steps == ()


def everything(pairs: list[Pair]) -> Iterator[list[Pair]]:
    if not pairs:
        yield []
        return
    first, *others = pairs
    for rest in everything(others):
        yield rest
        if all(first[0] != a and first[1] != b for a, b in rest):
            yield [first, *rest]


@settings(max_examples=60)
@given(st.data())
def test_the_matching_saves_most_for_any_savings_and_edges(data: st.DataObject) -> None:
    allowed = [(a, b) for a in "abc" for b in "xyz"]
    edges = st.frozensets(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), max_size=5)
    others = st.frozensets(st.tuples(st.sampled_from("xyz"), st.sampled_from("xyz")), max_size=5)
    drawn = data.draw(st.dictionaries(st.sampled_from(allowed), st.integers(-6, 6)))
    loops = {(name, name) for name in "abcxyz"}
    first, second = data.draw(edges) - loops, data.draw(others) - loops
    marked = data.draw(edges) & first, data.draw(others) & second
    choice = Pairable(drawn, first, second, 2, 2, marked, 2)
    most = max(choice.total(pairs) for pairs in everything(list(drawn)))
    found = best(choice)
    assert found.saved == choice.total(found.pairs) == found.bound == most
    cut = best(choice, most_steps=1)
    assert cut.saved <= most <= cut.bound


def thirty(shift: int) -> Network:
    agents = tuple(
        LanAgent(
            f"agent {number}",
            f"the {number + shift}th part of the work, which is done with care " * 3,
            "a text",
            knowledge=tuple(f"fact {fact} of {number * shift}" for fact in range(8)),
        )
        for number in range(30)
    )
    edges = frozenset(
        (agents[a].name, agents[b].name)
        for a in range(30)
        for b in range(a + 1, 30)
        if (a * b + shift) % 5 == 0
    )
    return Network("work", agents, edges)


def test_thirty_agents_of_the_same_names_are_exact() -> None:
    found = network_distance(thirty(1), thirty(2))
    assert found.exact
    assert dict(found.pairs) == {name: name for name in thirty(1).names}


def test_an_agent_with_many_wrong_edges_is_rather_made_anew() -> None:
    leaves = tuple(LanAgent(f"leaf {number}", "t", "o") for number in range(20))
    hub = LanAgent("hub", "t", "o")
    before = Network("x", (hub, *leaves), frozenset(("hub", leaf.name) for leaf in leaves))
    after = replace(before, edges=frozenset())
    found = network_distance(before, after)
    made = cost("create") + (1 + 3) + (1 + 1) + (1 + 1) + cost("save")
    assert found.exact
    assert found.upper == cost("delete") + made < 20 * cost("disconnect")


def test_a_renamed_agent_is_renamed() -> None:
    before = Network("x", (LanAgent("Translator", "translate the text", "a translation"),))
    after = Network("x", (LanAgent("Literal Translator", "translate the text", "a translation"),))
    found = network_distance(before, after)
    assert (found.upper, found.pairs) == (
        cost("open") + 1 + len("Literal ") + cost("save"),
        (("Translator", "Literal Translator"),),
    )


def test_what_no_hand_can_do_is_said_and_costs_nothing() -> None:
    agent = LanAgent("A", "t", "o")
    learned = replace(
        agent,
        control=Control(examples=(Turned(AgentInput("in", (Piece("B", "x"),)), active=True),)),
    )
    found = network_distance(Network("x", (agent,)), Network("x", (learned,)))
    assert (found.upper, found.beyond) == (0, ("A: control examples",))


def test_two_pieces_of_knowledge_are_not_one_of_two_lines() -> None:
    one, two = (
        Network("x", (LanAgent("A", "t", "o", knowledge=knowledge),))
        for knowledge in (("a\nb",), ("a", "b"))
    )
    assert network_distance(one, two).upper > 0
