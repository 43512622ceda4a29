"""Files of networks (`*.lan.json`): read strictly, every fault with its line; written whole."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from pxp_fsm.artifacts import write_atomically
from pxp_fsm.errors import Fault, FileError, PXPError, written
from pxp_fsm.forms import faults, read, text_of
from pxp_fsm.lan import json_form
from pxp_fsm.lan.history import History, begun_as, replayed
from pxp_fsm.lan.soundness import faults_of
from pxp_fsm.positions import json_line_of

MOST_BYTES = 100_000_000


def schema() -> dict[str, Any]:
    """The JSON Schema of such files, as published with the package."""
    text = resources.files("pxp_fsm.lan").joinpath("schema.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def load(path: Path) -> History:
    """The network in the file `path`, with its log. Raises `FileError`."""
    text = text_of(path, "a network", " (pxp lan new makes one)", most=MOST_BYTES)
    return parse(text, str(path))


def parse(text: str, filename: str = "network.lan.json") -> History:
    """The network that a JSON text holds, with its log. Raises `FileError`."""
    raw = read(text, filename, is_json=True)
    found = faults(raw, schema())
    if found:
        raise FileError(_located(text, filename, fault) for fault in found)
    network = json_form.network(raw)
    unsound = list(faults_of(network))
    if unsound:
        raise FileError(_located(text, filename, fault) for fault in unsound)
    try:
        if "log" not in raw:
            return begun_as(network)
        history = replayed(map(json_form.change, raw["log"]))
    except PXPError as error:
        raise FileError((_located(text, filename, Fault(("log",), str(error))),)) from error
    if history.network != network:
        said = (
            "the log does not lead to the network that the file holds; undo what was changed by "
            "hand, and use pxp lan edit, or take the log out: the network then begins as it is"
        )
        raise FileError((_located(text, filename, Fault(("log",), said)),))
    return history


def save(history: History, path: Path) -> None:
    """Write the network with its log into the file `path`; raises as `write_atomically` does."""
    text = json.dumps(json_form.of_history(history), indent=1, ensure_ascii=False)
    write_atomically(path, text + "\n")


def _located(text: str, filename: str, fault: Fault) -> Fault:
    named = f"{written(fault.path)}: "
    known = fault.message.startswith(named) or not fault.path
    message = fault.message if known else named + fault.message
    line = json_line_of(text, fault.path)
    return replace(fault, message=message, file=filename, line=line)
