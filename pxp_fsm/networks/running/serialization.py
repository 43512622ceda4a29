"""A run of a network as JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pxp_fsm.networks.model.files import received
from pxp_fsm.networks.running.execution import Run, Turn

TURN: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["received", "state", "guard", "result", "control_thoughts", "execution_thoughts"],
    "properties": {
        "received": {"$ref": "#/$defs/received"},
        "state": {"type": "string", "description": "Where the agent's machine ended."},
        "guard": {"type": "string", "description": "What activated it, or kept it off."},
        "result": {"type": ["string", "null"], "description": "Null: it was inactive."},
        "control_thoughts": {"type": "string"},
        "execution_thoughts": {"type": "string"},
    },
}
RUN: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["external", "output", "turns"],
    "properties": {
        "external": {"type": "string", "description": "The network's input."},
        "output": {"type": "string"},
        "turns": {"type": "object", "additionalProperties": TURN},
    },
}
"""JSON Schema of a run; `received` is defined as in a network's file."""


def of_run(run: Run) -> dict[str, Any]:
    """A run as JSON of the form `RUN`."""
    turns = {name: asdict(turn) for name, turn in run.turns.items()}
    return {"external": run.external, "output": run.output, "turns": turns}


def run_from_json(raw: Mapping[str, Any]) -> Run:
    """The run that JSON of the form `RUN` means."""
    turns = {
        name: Turn(**{**turn, "received": received(turn["received"])})
        for name, turn in raw["turns"].items()
    }
    return Run(raw["external"], raw["output"], turns)
