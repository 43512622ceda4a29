"""Writing a network's file again and again: the same text as JSON writes it, part by part."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from pxp_fsm.errors import PXPError
from pxp_fsm.networks.lan import Lan
from pxp_fsm.networks.model import files
from pxp_fsm.networks.model.history import begun_as
from pxp_fsm.networks.model.network import (
    ControlExample,
    ExecutionExample,
    HandledExample,
    Network,
    Piece,
    Received,
)
from pxp_fsm.networks.model.operations import Handle, Learn, Operation
from tests.networks.random_networks import OPERATIONS, networks

TEXT = 'é\n"\\ \u2028😀'


def _learned(network: Network) -> tuple[Operation, ...]:
    """Examples for the first agent, of both modules, and a handled one."""
    name = network.names[0]
    received = Received(TEXT, (Piece(name, TEXT),))
    decisions = (ControlExample(received, True), ControlExample(Received("b"), False, "made"))
    learn = Learn(name, decisions, (ExecutionExample(received, TEXT, "made"),))
    return learn, Handle(HandledExample(TEXT, "", TEXT, ((name, None),)))


@settings(max_examples=40, deadline=None)
@given(networks(4), st.lists(OPERATIONS, max_size=6))
def test_what_is_written_in_parts_is_what_is_written_at_once(
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
        document = files.of_history(lan.history)
        assert writer.text(lan.history) == json.dumps(document, indent=1, ensure_ascii=False) + "\n"
