"""The Pythons of this machine, beside the one that runs the tests."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

OTHERS = ("python3.12", "python3.13", "python3.14")


def find_python(version: str) -> Path:
    """The executable of that version, such as `python3.12`; the test is skipped without it."""
    installed = sorted(Path.home().glob(f".pyenv/versions/{version[6:]}.*/bin/{version}"))
    found = next(iter(installed), None) or shutil.which(version)
    if found is None or (not installed and "shims" in str(found)):
        pytest.skip(f"{version} is not installed")
    return Path(found)
