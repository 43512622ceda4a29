"""A database of an older version is refused as it is, and brought up to date whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, inspect, text

from backends.databases import SqlBlackboard, schema
from backends.databases.engine import open_engine
from backends.databases.verify import verify
from backends.databases.versions import plan_upgrade, upgrade
from pxp_fsm.errors import BlackboardError
from pxp_fsm.protocol.messages import Answer, Message
from pxp_fsm.protocol.relations import Judgement, Outcome
from tests.backends import schema_version1, schema_version2


@pytest.fixture(params=["1", "2"])
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def old(database: str, version: str) -> str:
    engine = open_engine(database, create=True, current=False)
    {"1": schema_version1, "2": schema_version2}[version].make(engine)
    engine.dispose()
    return database


def test_an_older_database_is_refused_with_the_remedy(old: str, version: str) -> None:
    with pytest.raises(
        BlackboardError, match=rf"schema version {version}, .* `pxp upgrade` brings it up"
    ):
        SqlBlackboard(old)


def test_what_an_upgrade_would_do_is_said_without_doing_it(
    old: str, version: str, dialect: str
) -> None:
    path = Path(old.removeprefix("sqlite:///"))
    before = path.read_bytes() if dialect == "sqlite" else b""
    engine = open_engine(old, create=False, current=False, reading=True)
    found = plan_upgrade(engine, "it")
    assert (found.before, found.after) == (version, "8")
    said = [step.partition(":")[0] for step in found.steps]
    assert said == [f"Version {number}" for number in range(int(version) + 1, 9)]
    engine.dispose()
    if dialect == "sqlite":
        assert path.read_bytes() == before
        assert [file.name for file in path.parent.iterdir()] == [path.name]
    with pytest.raises(BlackboardError, match=f"schema version {version}"):
        SqlBlackboard(old)


def test_an_older_database_is_brought_up_to_date_and_nothing_is_lost(
    old: str, version: str
) -> None:
    engine = open_engine(old, create=False, current=False)
    assert upgrade(engine, "it") == (version, "8")
    assert upgrade(engine, "it") == ("8", "8")
    assert plan_upgrade(engine, "it").steps == ()
    engine.dispose()
    with SqlBlackboard(old) as board:
        first, second = board.sessions("drug-1")
        assert (first.ending, first.cause, first.messages, first.instance.x) == (
            "late",
            "why",
            2,
            "CC",
        )
        assert (second.ending, second.n, second.k, second.memo) == (None, None, 2, False)
        assert second.agents == (("m", "a machine"), ("h", "a human"))
        entry = board.entries("drug-1/1/1")[1]
        assert entry.message == Message("drug-1/1/1", 2, "h", "REFUTE", Answer("z", "e"), "m")
        assert entry.judgements == (Judgement("MATCH", "l", "r", Outcome.NO, True, 0.25),)
        board.append(Message("drug-1/1/2", 3, "m", "REFUTE", Answer("y", "e"), "h"), "c", [])
    assert verify(old).problems == ()


def test_an_upgraded_database_is_as_a_new_one(old: str, dialect: str, tmp_path: Path) -> None:
    engine = open_engine(old, create=False, current=False)
    upgrade(engine, "it")
    upgraded = described(engine)
    with engine.begin() as connection:  # a new one in the same place
        if dialect == "postgresql":
            name = connection.scalar(text("SELECT current_schema()"))
            connection.exec_driver_sql(f"DROP SCHEMA {name} CASCADE; CREATE SCHEMA {name}")
    engine.dispose()
    new = old if dialect == "postgresql" else f"sqlite:///{tmp_path}/new.sqlite"
    with SqlBlackboard(new) as board:
        assert described(board.engine) == upgraded


def described(engine: Engine) -> dict[str, Any]:
    found = inspect(engine)
    tables = {
        name: (
            [
                (c["name"], str(c["type"]).split("(")[0], c["nullable"])
                for c in found.get_columns(name)
            ],
            found.get_pk_constraint(name)["constrained_columns"],
            sorted(
                (k["constrained_columns"], k["referred_table"])
                for k in found.get_foreign_keys(name)
            ),
            sorted(k["column_names"] for k in found.get_unique_constraints(name)),
            sorted(str(k["name"]) for k in found.get_check_constraints(name)),
        )
        for name in found.get_table_names()
    }
    with engine.connect() as connection:
        query = (
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name"
            if engine.dialect.name == "sqlite"
            else "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal ORDER BY tgname"
        )
        triggers = [tuple(row) for row in connection.execute(text(query))]
        keyed: set[str] = set()  # of SQLite, which tables keep their rows with their keys
        if engine.dialect.name == "sqlite":
            kinds = text("SELECT name FROM pragma_table_list WHERE wr")
            keyed = set(connection.scalars(kinds))
            assert connection.scalar(text("PRAGMA foreign_keys")) == 1
    views = {name: found.get_view_definition(name) for name in found.get_view_names()}
    assert set(tables) == set(schema.metadata.tables)
    return {"tables": tables, "views": views, "triggers": triggers, "keyed": keyed}


def test_a_failed_upgrade_leaves_the_database_as_it_was(
    old: str, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = open_engine(old, create=False, current=False)
    before = set(inspect(engine).get_table_names())

    def fail(_connection: object) -> None:
        raise RuntimeError("power cut")

    with monkeypatch.context() as patched:
        patched.setattr("backends.databases.versions.create_views_and_triggers", fail)
        with pytest.raises(RuntimeError, match="power cut"):
            upgrade(engine, "it")
    assert set(inspect(engine).get_table_names()) == before
    assert upgrade(engine, "it") == (version, "8")
    engine.dispose()


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_rows_that_refer_to_nothing_are_not_upgraded(old: str) -> None:
    """Foreign keys are off while SQLite's tables are made anew: they are looked at at the end."""
    engine = open_engine(old, create=False, current=False)
    with engine.connect() as connection:
        connection.connection.cursor().execute("PRAGMA foreign_keys=OFF")
        table = "entries" if "entries" in inspect(connection).get_table_names() else "messages"
        for (name,) in connection.execute(
            text("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = :of"),
            {"of": table},
        ).all():
            connection.exec_driver_sql(f'DROP TRIGGER "{name}"')
        connection.exec_driver_sql(f"UPDATE {table} SET tag = 'NONE' WHERE number = 1")
        connection.commit()
        connection.connection.cursor().execute("PRAGMA foreign_keys=ON")
    with pytest.raises(BlackboardError, match="entries the first, refer to what is not in tags"):
        upgrade(engine, "it")
    assert plan_upgrade(engine, "it").steps != ()
    engine.dispose()


def test_what_is_no_blackboard_is_not_upgraded(database: str) -> None:
    engine = open_engine(database, create=True, current=False)
    with pytest.raises(BlackboardError, match="not a blackboard; nothing was changed"):
        upgrade(engine, "it")
    engine.dispose()
