"""Random networks and operations, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from pxp_fsm.plugins.easylan.model.network import Control, LanAgent, Network
from pxp_fsm.plugins.easylan.model.operations import (
    AgentField,
    Connect,
    Create,
    Delete,
    Disconnect,
    Edit,
    Operation,
    Split,
    SplitKind,
    Teach,
)

NAMES = [f"agent {letter}" for letter in "ABCDEFGH"]
TEXTS = st.text(min_size=0, max_size=6)


@st.composite
def agents(draw: st.DrawFn, name: str | None = None) -> LanAgent:
    named = draw(st.sampled_from(NAMES)) if name is None else name
    knowledge = draw(st.lists(st.sampled_from(["k1", "k2", "k3"]), max_size=2, unique=True))
    control = Control(draw(st.booleans()), (), tuple(draw(st.sampled_from([(), ("c1",)]))))
    return LanAgent(named, f"do {named}", "text", control, tuple(knowledge))


@st.composite
def networks(draw: st.DrawFn, most: int = 6) -> Network:
    """A sound network."""
    names = draw(st.permutations(NAMES))[: draw(st.integers(1, most))]
    made = [draw(agents(name)) for name in names]
    pairs = [(a, b) for at, a in enumerate(names) for b in names[at + 1 :]]
    edges = frozenset(draw(st.lists(st.sampled_from(pairs), unique=True))) if pairs else frozenset()
    return Network("a task", tuple(made), edges)


_NAME = st.sampled_from(NAMES)
OPERATIONS: st.SearchStrategy[Operation] = st.one_of(
    st.builds(Create, agents()),
    st.builds(Delete, _NAME),
    st.builds(Connect, _NAME, _NAME),
    st.builds(Disconnect, _NAME, _NAME),
    st.builds(Edit, _NAME, st.just(AgentField.NAME), st.sampled_from([*NAMES, "", "a\nb"])),
    st.builds(Edit, _NAME, st.sampled_from([AgentField.TASK, AgentField.OUTPUT]), TEXTS),
    st.builds(Edit, _NAME, st.just(AgentField.KNOWLEDGE), st.lists(TEXTS, max_size=2).map(tuple)),
    st.builds(
        Edit,
        _NAME,
        st.just(AgentField.REQUIRED),
        st.lists(_NAME, max_size=2, unique=True).map(tuple),
    ),
    st.builds(Edit, _NAME, st.just(AgentField.ENABLED), st.booleans()),
    st.builds(Teach, _NAME, st.sampled_from(["k4", "k5"]), st.booleans()),
    st.builds(
        Split,
        _NAME,
        st.sampled_from(list(SplitKind)),
        st.lists(agents(), min_size=1, max_size=3).map(tuple),
    ),
)
