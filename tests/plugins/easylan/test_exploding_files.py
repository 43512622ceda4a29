"""Small files of networks that would explode: refused with their limit."""

from __future__ import annotations

import json

import pytest

from pxp_fsm.errors import FileError
from pxp_fsm.plugins.easylan.model import files
from pxp_fsm.plugins.easylan.model.network import MOST_EDGES


@pytest.mark.deep
def test_a_network_with_too_many_edges_is_refused() -> None:
    names = [f"A{number}" for number in range(400)]
    agents = [{"name": name, "task": "t", "output": "o"} for name in names]
    edges = [[one, other] for place, one in enumerate(names) for other in names[place + 1 :]]
    raw = {"format": "pxp-fsm lan", "version": 1, "task": "t", "agents": agents, "edges": edges}
    with pytest.raises(FileError, match=f"79,800 edges; a network has at most {MOST_EDGES:,}"):
        files.parse(json.dumps(raw))
    few = {**raw, "agents": agents[:45], "edges": [e for e in edges if set(e) <= set(names[:45])]}
    assert len(files.parse(json.dumps(few)).network.edges) == 990


def test_a_key_that_stands_twice_is_refused() -> None:
    with pytest.raises(FileError, match="the key 'task' stands twice"):
        files.parse(
            '{"format": "pxp-fsm lan", "version": 1, "task": "a", "task": "b", "agents": []}'
        )
