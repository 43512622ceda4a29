"""The databases that tests run on, an SQLite file and a real PostgreSQL, and keys of models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from backends.databases import SqlBlackboard
from tests.backends.model_servers import KEY
from tests.backends.postgresql_servers import fresh_schema


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.deep)])
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def database(dialect: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """The URL of an empty database."""
    if dialect == "sqlite":
        return f"sqlite:///{tmp_path}/blackboard.sqlite"
    return fresh_schema(request.getfixturevalue("postgresql"))


@pytest.fixture
def empty(database: str) -> Iterator[SqlBlackboard]:
    """A blackboard without runs."""
    with SqlBlackboard(database, patience=0) as board:
        yield board


@pytest.fixture
def model_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of both vendors, in the environment."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
