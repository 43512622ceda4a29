"""A run of a network as JSON, and back; the file that holds a network's last run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pxp_fsm.artifacts import write_atomically
from pxp_fsm.errors import FileError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import Option
from pxp_fsm.plugins.easylan.model import files
from pxp_fsm.plugins.easylan.running.execution import NetworkRun
from pxp_fsm.schemas import FileKind, read_value, write_value


def of_run(run: NetworkRun) -> dict[str, Any]:
    """A run as JSON."""
    written: dict[str, Any] = write_value(NetworkRun, run)
    return written


def run_from_json(raw: Mapping[str, Any]) -> NetworkRun:
    """The run that such JSON means."""
    run: NetworkRun = read_value(NetworkRun, raw)[0]
    return run


FORMAT, VERSION = "pxp-fsm run", 1


def path_of(network: Path) -> Path:
    """The file in which the last run of the network in a file is kept."""
    return network.with_name(f"{network.name}.last")


def save(run: NetworkRun, version: int, path: Path) -> None:
    """Write the last run, of a network in its `version`. Raises as `write_atomically` does."""
    content = LAST_RUN.write(LastNetworkRun(version, run))
    write_atomically(path, json.dumps(content, ensure_ascii=False) + "\n")


@dataclass(frozen=True)
class LastNetworkRun:
    """The last run of a network, which then had this version."""

    version: Annotated[int, Option(least=1)]
    run: NetworkRun


LAST_RUN = FileKind(
    LastNetworkRun,
    "a run",
    "The last run of a network",
    header={"format": FORMAT, "format_version": VERSION},
    otherwise=" (run the network first)",
    most=files.MOST_BYTES,
    is_json=True,
)


def load(path: Path) -> tuple[NetworkRun, int]:
    """The last run, and the version of the network that ran. Raises `FileError`."""
    try:
        last = LAST_RUN.load(path).value
    except FileError as error:
        where = (f"{path}: " if fault.file else "" for fault in error.faults)
        messages = (fault.message for fault in error.faults)
        raise FileError(
            f"{there}{message}; run the network again"
            for there, message in zip(where, messages, strict=True)
        ) from error
    return last.run, last.version
