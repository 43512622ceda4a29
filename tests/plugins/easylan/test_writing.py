"""Writing a network's file again and again: part by part, each example and change on a line."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from pxp_fsm.errors import PXPError
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model import files
from pxp_fsm.plugins.easylan.model.history import begun_as
from pxp_fsm.plugins.easylan.model.network import (
    AgentInput,
    ControlExample,
    ExecutionExample,
    HandledExample,
    Network,
    Piece,
)
from pxp_fsm.plugins.easylan.model.operations import Handle, Learn, Operation
from tests.plugins.easylan.random_networks import OPERATIONS, networks

TEXT = 'é\n"\\ \u2028😀'


def _learned(network: Network) -> tuple[Operation, ...]:
    """Examples for the first agent, of both modules, and a handled one."""
    name = network.names[0]
    received = AgentInput(TEXT, (Piece(name, TEXT),))
    decisions = (ControlExample(received, True), ControlExample(AgentInput("b"), False, "made"))
    learn = Learn(name, decisions, (ExecutionExample(received, TEXT, "made"),))
    return learn, Handle(HandledExample(TEXT, "", TEXT, ((name, None),)))


@settings(max_examples=40, deadline=None)
@given(networks(4), st.lists(OPERATIONS, max_size=6))
def test_what_is_written_in_parts_is_the_whole_with_a_line_for_each_example_and_change(
    start: Network, operations: list[Operation]
) -> None:
    lan, writer = Lan(begun_as(start)), files.Writer()
    lan.edit(*_learned(start))
    for operation in (None, *operations):
        try:
            if operation is not None:
                lan.edit(operation)
        except PXPError:
            lan.undo()
            lan.redo()
        text, document = writer.text(lan.history), files.of_history(lan.history)
        assert text == files.Writer().text(lan.history)
        assert json.loads(text) == document
        assert files.parse(text) == lan.history
        lines = {line.strip().rstrip(",") for line in text.split("\n")}
        for part in (*document["log"], *document["handled"]):
            assert json.dumps(part, ensure_ascii=False) in lines
