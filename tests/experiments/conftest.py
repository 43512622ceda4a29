"""What tests of runs need: servers for models and for databases, and the command in a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from pytest_httpserver import HTTPServer

from pxp_fsm.cli.main import commands
from tests.backends.postgresql_servers import fresh_schema
from tests.experiments.scripted_server import (
    Table,
    agrees_when_convinced,
    stubborn_then_convinced,
)


@pytest.fixture
def dialect() -> str:
    """The kind of database that `database` is, unless a test has others."""
    return "postgresql"


@pytest.fixture
def database(dialect: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """An empty database: a file, or a schema of its own on the PostgreSQL server."""
    if dialect == "sqlite":
        return str(tmp_path / "blackboard.sqlite")
    return fresh_schema(request.getfixturevalue("postgresql"))


@pytest.fixture
def table(httpserver: HTTPServer) -> Table:
    return Table(httpserver, stubborn_then_convinced, agrees_when_convinced)


@pytest.fixture
def pxp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """The command in a folder of its own; what it prints."""
    monkeypatch.chdir(tmp_path)

    def called(*arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(commands, arguments)
        assert done.exit_code == code, done.output
        return done.output

    yield called
