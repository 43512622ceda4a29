"""The plug-in of pytest: agents against tables, recorded traces, and the checks of a project.

It is loaded by every pytest where pxp-fsm is installed, and loads nothing else until it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pxp_fsm as pxp
from pxp_fsm.plugins import conformance

HOW = {"extra_states", "by", "timeout"}
"""What the marker takes beside the table."""


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers",
        "conforms(table, extra_states=0, by=None, timeout=5): the agent that the test returns (a "
        "function, a class, a command, a URL) must conform to the table of pxp-fsm",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a marked test, and test the agent that it returns."""
    marker = pyfuncitem.get_closest_marker("conforms")
    if marker is None:
        return None
    names = pyfuncitem._fixtureinfo.argnames  # as pytest itself calls a test
    agent = pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
    if agent is None:
        pytest.fail("a test that is marked with conforms returns the agent", pytrace=False)
    if len(marker.args) != 1 or not marker.kwargs.keys() <= HOW:
        pytest.fail(f"conforms takes a table, and of {', '.join(sorted(HOW))}", pytrace=False)
    _check(pyfuncitem.path.parent, agent, *marker.args, **marker.kwargs)
    return True


@pytest.fixture
def conforms(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Test an agent against a table: `conforms(agent, "table.toml")`, as with the marker."""

    def check(agent: Any, table: Any, **how: Any) -> None:
        _check(request.path.parent, agent, table, **how)

    return check


def _check(folder: Path, agent: Any, table: Any, **how: Any) -> None:
    """Test the agent; a table of that name beside the test is meant before any other."""
    __tracebackhide__ = True
    beside = folder / table if isinstance(table, str) else None
    subject = beside if beside is not None and beside.is_file() else table
    try:
        conformance.assert_conforms(agent, subject, **how)
    except (AssertionError, pxp.PXPError) as error:
        failure = str(error)
    else:
        return
    pytest.fail(failure, pytrace=False)


_MOST_BYTES = 1_000_000
"""Bytes of a pyproject.toml that are searched for our section."""


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The checks of a pyproject.toml that has [tool.pxp]."""
    if file_path.name != "pyproject.toml" or not file_path.is_file():
        return None
    with file_path.open("rb") as file:
        if b"[tool.pxp]" not in file.read(_MOST_BYTES):
            return None
    checks: pytest.Collector = ProjectFile.from_parent(parent, path=file_path)
    return checks


class ProjectFile(pytest.File):
    """A pyproject.toml with checks."""

    def collect(self) -> Iterator[pytest.Item]:
        try:
            for check in conformance.checks_in(self.path):
                item: CheckItem = CheckItem.from_parent(self, name=f"check {check.name}")
                item.check = check
                yield item
        except pxp.PXPError as error:
            raise self.CollectError(str(error)) from error


class CheckItem(pytest.Item):
    """`pxp check` of a table or a system."""

    check: conformance.ProjectCheck

    def runtest(self) -> None:
        try:
            failure = self.check.failure()
        except pxp.PXPError as error:
            failure = str(error)
        if failure:
            pytest.fail(failure, pytrace=False)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name
