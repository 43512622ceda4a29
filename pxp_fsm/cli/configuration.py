"""What `pxp.toml` of the current folder sets for every command: the database, and models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pxp_fsm.registry import load

FILE = Path("pxp.toml")


def configured() -> Mapping[str, Any]:
    """Defaults of options by their fields; empty where there is no file."""
    settings = _read()
    return {"database": settings.database} if settings is not None and settings.database else {}


def models_file(named: Path | None) -> Path | None:
    """The models file: the one that is `named`, or pxp.toml where it says something of models."""
    if named is not None:
        return named
    settings = _read()
    if settings is None:
        return None
    says = (settings.models.settings, settings.server, settings.price, settings.retirement)
    return FILE if any(says) else None


def _read() -> Any:
    """What the file says; None where there is none, as nearly always: its reader is not loaded."""
    return load("backends.models.files:read_unnamed")(FILE) if FILE.is_file() else None
