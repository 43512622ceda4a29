"""The registry of tasks: built-in ones are found at once, plug-ins are looked for once."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint

import pytest

from pxp_fsm.errors import UsageError
from pxp_fsm.tasks import registry


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The groups that were looked for; one plug-in is installed, and one with a built-in's name."""
    asked: list[str] = []

    def entry_points(*, group: str) -> tuple[EntryPoint, ...]:
        asked.append(group)
        mine = EntryPoint("mine", "pxp_fsm.tasks.drug.task:DRUG", group)
        return mine, EntryPoint("rad", "nowhere:NOTHING", group)

    monkeypatch.setattr(registry, "entry_points", entry_points)
    registry._plugins.cache_clear()
    yield asked
    registry._plugins.cache_clear()


def test_a_task_of_the_package_is_found_without_looking_for_plug_ins(scans: list[str]) -> None:
    assert registry.find_task("rad").name == "rad"
    assert scans == []


def test_plug_ins_are_looked_for_once_until_the_path_changes(
    scans: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        assert registry.find_task("mine").name == "drug"
        assert registry.task_names() == ("drug", "mine", "rad")
    assert scans == [registry.GROUP]
    with pytest.raises(UsageError, match="mine"):
        registry.find_task("min")
    assert scans == [registry.GROUP]
    monkeypatch.syspath_prepend("somewhere")
    registry.find_task("mine")
    assert scans == [registry.GROUP] * 2
