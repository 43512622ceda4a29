"""The registry of our own plug-ins: found at once, skipped where they are absent, typed."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from importlib.metadata import EntryPoint
from typing import Any

import pytest

import pxp_fsm
from pxp_fsm import registry
from pxp_fsm.errors import UsageError
from pxp_fsm.registry import Plugin
from pxp_fsm.tasks.task import find_task, task_names

MINE = Plugin(
    name="mine",
    about="a plug-in of a test",
    tasks={"mine": "pxp_fsm.plugins.drug.task:DRUG", "rad": "nowhere:NOTHING"},
)


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The groups that were looked for; one plug-in is installed, with a name of one of ours."""
    asked: list[str] = []

    real = metadata.entry_points

    def entry_points(*, group: str) -> Any:
        if group != registry.GROUP:  # what other libraries look for
            return real(group=group)
        asked.append(group)
        return (EntryPoint("mine", f"{__name__}:MINE", group),)

    monkeypatch.setattr(metadata, "entry_points", entry_points)
    monkeypatch.setattr(registry, "_announced", lambda _path: True)
    registry._installed.cache_clear()
    yield asked
    registry._installed.cache_clear()


def test_a_task_of_the_package_is_found_without_looking_for_plug_ins(scans: list[str]) -> None:
    assert find_task("rad").name == "rad"
    assert scans == []


def test_plug_ins_are_looked_for_once_until_the_path_changes(
    scans: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        assert find_task("mine").name == "drug"
        assert task_names() == ("drug", "labels", "mine", "rad")
    assert scans == [registry.GROUP]
    with pytest.raises(UsageError, match="mine"):
        find_task("min")
    assert scans == [registry.GROUP]
    monkeypatch.syspath_prepend("somewhere")
    find_task("mine")
    assert scans == [registry.GROUP] * 2


def test_a_built_in_plug_in_that_is_absent_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "BUILTIN", ("absent", "odds"))
    registry._builtin.cache_clear()
    assert [plugin.name for plugin in registry._builtin()] == ["odds"]
    registry._builtin.cache_clear()


def test_the_face_has_the_names_of_plug_ins() -> None:
    named = {name for plugin in registry._builtin() for name in plugin.names}
    assert named < {*pxp_fsm.__all__}
    for name in named:
        assert getattr(pxp_fsm, name) is not None
