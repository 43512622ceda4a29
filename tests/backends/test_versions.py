"""A database of an older version is refused as it is, and brought up to date whole.

There is one version so far: the next is invented here, with `next_version/v2_invented.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, Engine, ForeignKey, Integer, Table, Text, inspect, text

from backends.databases import SqlBlackboard, schema, versions
from backends.databases.engine import open_engine
from backends.databases.locks import RunLocked
from backends.databases.verify import verify
from backends.databases.versions import plan_upgrade, upgrade
from pxp_fsm.cli.main import main
from pxp_fsm.errors import BlackboardError
from pxp_fsm.protocol.relations import Judgement, Outcome
from tests.backends.records import NAME, RUN, as_stored, message, record


@pytest.fixture
def old(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A database of version 1, with a session that is over and one that is not.

    The program is that of version 2 then: it has one more table.
    """
    judged = Judgement("MATCH", "l", "r", Outcome.NO, True, 0.25, "as they said")
    with SqlBlackboard(database) as board:
        board.start_run(RUN)
        for position in (1, 2):
            name = f"drug-1/1/{position}"
            board.start_session(record(name, position))
            board.append(*as_stored(message(1, session=name), "noted", [judged]))
        board.end(NAME, "late", "why", [])
    folder = Path(__file__).with_name("next_version")
    monkeypatch.setattr(schema, "SCHEMA_VERSION", "2")
    monkeypatch.setattr(versions, "MIGRATIONS", (*versions.MIGRATIONS, str(folder)))
    notes = Table(
        "notes",
        schema.metadata,
        Column("run", Text, ForeignKey("runs.run"), primary_key=True),
        Column("number", Integer, primary_key=True),
        Column("note", Text, nullable=False),
    )
    versions._definitions.cache_clear()
    yield database
    schema.metadata.remove(notes)
    versions._definitions.cache_clear()


def test_an_older_database_is_refused_with_the_remedy(old: str) -> None:
    with pytest.raises(BlackboardError, match=r"schema version 1, .* `pxp upgrade` brings it up"):
        SqlBlackboard(old)


def test_what_an_upgrade_would_do_is_said_without_doing_it(old: str, dialect: str) -> None:
    path = Path(old.removeprefix("sqlite:///"))
    before = path.read_bytes() if dialect == "sqlite" else b""
    engine = open_engine(old, create=False, current=False, reading=True)
    found = plan_upgrade(engine, "it")
    assert (found.before, found.after) == ("1", "2")
    assert [step.partition(":")[0] for step in found.steps] == ["Version 2"]
    engine.dispose()
    if dialect == "sqlite":
        assert path.read_bytes() == before
        assert [file.name for file in path.parent.iterdir()] == [path.name]
    with pytest.raises(BlackboardError, match="schema version 1"):
        SqlBlackboard(old)


def test_an_older_database_is_brought_up_to_date_and_nothing_is_lost(old: str) -> None:
    engine = open_engine(old, create=False, current=False)
    assert upgrade(engine, "it") == ("1", "2")
    assert upgrade(engine, "it") == ("2", "2")
    assert plan_upgrade(engine, "it").steps == ()
    engine.dispose()
    with SqlBlackboard(old) as board:
        first, second = board.sessions("drug-1")
        assert (first.ending, first.cause, first.messages) == ("late", "why", 1)
        assert first.instance == record().instance
        assert (second.ending, second.n, second.k, second.memo) == (None, 10, 3, True)
        (event,) = board.events(NAME)
        assert (event.carried, event.addition) == (message(1), "noted")
        assert event.judgements[0].detail == "as they said"
        board.append(*as_stored(message(2, session="drug-1/1/2"), "c", []))
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
    old: str, monkeypatch: pytest.MonkeyPatch
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
    assert upgrade(engine, "it") == ("1", "2")
    engine.dispose()


def test_two_versions_of_the_program_do_not_write_at_once(
    database: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    with SqlBlackboard(database) as board:
        board.start_run(replace(RUN, run="drug-2"))
        board.lock("drug-2")
        request.getfixturevalue("old")
        engine = open_engine(database, create=False, current=False)
        with pytest.raises(RunLocked, match="is working on run drug-2; nothing was changed"):
            upgrade(engine, "it")
        board.unlock("drug-2")
        assert upgrade(engine, "it") == ("1", "2")
        engine.dispose()
        monkeypatch.setattr(schema, "SCHEMA_VERSION", "1")  # the one that had it open all the time
        with pytest.raises(BlackboardError, match=r"upgraded to schema version 2 .* reads 1"):
            board.start_run(replace(RUN, run="drug-3"))


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_rows_that_refer_to_nothing_are_not_upgraded(old: str) -> None:
    """Foreign keys are off while SQLite's tables are made anew: they are looked at at the end."""
    engine = open_engine(old, create=False, current=False)
    with engine.connect() as connection:
        connection.connection.cursor().execute("PRAGMA foreign_keys=OFF")
        connection.exec_driver_sql("DROP TRIGGER events_unchanged")
        connection.exec_driver_sql("UPDATE events SET payload_digest = 'none' WHERE number = 1")
        connection.commit()
        connection.connection.cursor().execute("PRAGMA foreign_keys=ON")
    with pytest.raises(BlackboardError, match="events the first, refer to what is not in texts"):
        upgrade(engine, "it")
    assert plan_upgrade(engine, "it").steps != ()
    engine.dispose()


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_the_command_says_what_it_does(old: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = old.removeprefix("sqlite:///")
    before = Path(path).read_bytes()

    def pxp(*arguments: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert not ended.value.code
        return capsys.readouterr().out

    shown = pxp("upgrade", "--dry-run", path)
    assert "schema version 1; an upgrade to 2 would do" in shown
    assert "Version 2: a table of notes" in shown
    assert Path(path).read_bytes() == before
    assert "schema version 2, upgraded from version 1" in pxp("upgrade", path)
    assert "Nothing was changed." in pxp("verify", path)


def test_what_is_no_blackboard_is_not_upgraded(database: str) -> None:
    engine = open_engine(database, create=True, current=False)
    with pytest.raises(BlackboardError, match="not a blackboard; nothing was changed"):
        upgrade(engine, "it")
    engine.dispose()
