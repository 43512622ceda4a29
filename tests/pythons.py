"""The Pythons of this machine, beside the one that runs the tests."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

OTHERS = ("python3.12", "python3.13", "python3.14")


def find_python(version: str) -> Path:
    """The executable of that version, such as `python3.12`; the test is skipped without it."""
    found = _installed(version)
    if found is None:
        pytest.skip(f"{version} is not installed")
    return found


def newest_python() -> Path:
    """The newest of `OTHERS` that is installed; the test is skipped without any."""
    found = [one for one in map(_installed, OTHERS) if one is not None]
    if not found:
        pytest.skip(f"none of {', '.join(OTHERS)} is installed")
    return found[-1]


def _installed(version: str) -> Path | None:
    installed = sorted(Path.home().glob(f".pyenv/versions/{version[6:]}.*/bin/{version}"))
    found = next(iter(installed), None) or shutil.which(version)
    return None if found is None or (not installed and "shims" in str(found)) else Path(found)
