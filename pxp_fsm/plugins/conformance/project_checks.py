"""What `[tool.pxp]` in pyproject.toml has checked with the tests of a project."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from proofs.check import answer
from proofs.core.results import table
from proofs.requests import Request
from pxp_fsm.documents import text_of
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass

_KEYS = {
    "what": "subjects",
    "formulas": "formulas",
    "properties": "names",
    "channels": "channels",
    "with": "parameters",
}
"""The keys of a check, and the fields of the request that they set."""

_MACHINE = re.compile(r"(\w+=)?[\w./]+:[\w.]+")
"""How `pxp check` is given a machine of a module."""


@dataclass(frozen=True)
class ProjectCheck:
    """What is checked together: tables or a system, and what of them."""

    name: str
    request: Request

    def failure(self) -> str:
        """What is not as expected, as `pxp check` prints it; "" where all is."""
        results = tuple(answer(self.request))
        wrong = [result for result in results if not result.as_expected]
        return "\n".join(table(results)) if wrong else ""


def checks_in(path: Path) -> Iterator[ProjectCheck]:
    """The checks of a pyproject.toml: `[tool.pxp]`, `check = ["table.toml", {what = ...}]`.

    A check is a table or a system by its name or file, from the folder of `path` on, or a mapping
    of `what`, `formulas`, `properties`, `channels` and `with`. Nothing that is named is imported.
    Raises `FileError` where it cannot be read, `UsageError` where it is written in another way.
    """
    text = text_of(path, "a pyproject.toml")
    try:
        tool = tomllib.loads(text).get("tool", {})
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    listed = tool.get("pxp", {}).get("check", [])
    if not isinstance(listed, list):
        raise UsageError(f"{path}: tool.pxp.check is a list of tables and systems")
    for place, entry in enumerate(listed, start=1):
        yield _check(entry, path.parent, f"{path}: check {place} of tool.pxp")


def _check(entry: Any, folder: Path, where: str) -> ProjectCheck:
    wanted = {"what": entry} if isinstance(entry, str) else entry
    if not isinstance(wanted, dict) or "what" not in wanted:
        raise UsageError(f"{where} is a name, a file, or has the key what, not {quoted(entry)}")
    fields: dict[str, tuple[str, ...]] = {}
    for key, value in wanted.items():
        texts = [value] if isinstance(value, str) else value
        if key not in _KEYS:
            raise UsageError(f"{where} has no key {quoted(key)}; there are: {', '.join(_KEYS)}")
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise UsageError(f"{where}: {key} is a text, or a list of texts, not {quoted(value)}")
        fields[_KEYS[key]] = tuple(texts)
    for text in fields["subjects"]:
        if _MACHINE.fullmatch(text) and not (folder / text).exists():
            raise UsageError(
                f"{where}: {quoted(text)} names code, and nothing that a file names is imported; "
                f"name the file of a table, or check it in a test: pxp.check(MACHINE), or in a "
                f"shell: pxp check {text}"
            )
    name = " ".join(fields["subjects"])
    fields["subjects"] = tuple(_file(text, folder) for text in fields["subjects"])
    return ProjectCheck(name, Request(**fields))  # type: ignore[arg-type] # by the names above


def _file(text: str, folder: Path) -> str:
    """A file from the project's folder on, whatever the current one is."""
    name, equals, path = text.rpartition("=")
    there = folder / path
    return f"{name}{equals}{there}" if there.is_file() else text
