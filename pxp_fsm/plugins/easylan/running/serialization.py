"""A run of a network as JSON, and back; the file that holds a network's last run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pxp_fsm.artifacts import write_atomically
from pxp_fsm.documents import faults, read, text_of
from pxp_fsm.errors import FileError
from pxp_fsm.plugins.easylan.model import files
from pxp_fsm.plugins.easylan.model.files import received
from pxp_fsm.plugins.easylan.running.execution import LanTurn, NetworkRun

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


def of_run(run: NetworkRun) -> dict[str, Any]:
    """A run as JSON of the form `RUN`."""
    turns = {name: asdict(turn) for name, turn in run.turns.items()}
    return {"external": run.external, "output": run.output, "turns": turns}


def run_from_json(raw: Mapping[str, Any]) -> NetworkRun:
    """The run that JSON of the form `RUN` means."""
    turns = {
        name: LanTurn(**{**turn, "received": received(turn["received"])})
        for name, turn in raw["turns"].items()
    }
    return NetworkRun(raw["external"], raw["output"], turns)


FORMAT, VERSION = "pxp-fsm run", 1


def path_of(network: Path) -> Path:
    """The file in which the last run of the network in a file is kept."""
    return network.with_name(f"{network.name}.last")


def save(run: NetworkRun, version: int, path: Path) -> None:
    """Write the last run, of a network in its `version`. Raises as `write_atomically` does."""
    said = {"format": FORMAT, "format_version": VERSION, "version": version, "run": of_run(run)}
    write_atomically(path, json.dumps(said, ensure_ascii=False) + "\n")


def load(path: Path) -> tuple[NetworkRun, int]:
    """The last run, and the version of the network that ran. Raises `FileError`."""
    text = text_of(path, "a run", " (run the network first)", most=files.MOST_BYTES)
    raw = read(text, str(path), is_json=True)
    found = faults(raw, _schema())
    if found:
        raise FileError(f"{path}: {fault.message}; run the network again" for fault in found)
    return run_from_json(raw["run"]), raw["version"]


def _schema() -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["format", "format_version", "version", "run"],
        "properties": {
            "format": {"const": FORMAT},
            "format_version": {"const": VERSION},
            "version": {"type": "integer", "minimum": 1},
            "run": RUN,
        },
        "$defs": files.schema()["$defs"],
    }
