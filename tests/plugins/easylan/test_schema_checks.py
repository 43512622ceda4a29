"""Networks as documents: the reader takes what the published schema allows, and nothing else."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from pxp_fsm.plugins.easylan.model import files
from pxp_fsm.plugins.easylan.model.history import begun_as
from pxp_fsm.plugins.easylan.model.network import (
    AgentInput,
    Control,
    ControlExample,
    LanAgent,
    Network,
)

SCHEMA = files.NETWORK.schema()
NETWORK = Network(
    "a task",
    (
        LanAgent(
            "A", "do", "text", Control(True, (), ("now",), (ControlExample(AgentInput("x"), True),))
        ),
    ),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(1.5) | st.text() | st.just(10**400),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container of a document with each of its keys."""
    for key, one in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(one, dict | list):
            yield from _places(one)


@settings(max_examples=60, deadline=None)
@given(st.data(), VALUES)
def test_a_document_has_no_fault_where_and_only_where_its_schema_takes_it(
    data: st.DataObject, value: Any
) -> None:
    document = copy.deepcopy(files.of_history(begun_as(NETWORK)))
    inside, key = data.draw(st.sampled_from(list(_places(document))))
    inside[key] = value
    valid = Draft202012Validator(SCHEMA).is_valid(document)
    assert bool(files.NETWORK.read(document)[1]) is not valid
