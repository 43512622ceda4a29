"""A database of an older version is refused as it is, and brought up to date whole."""

from __future__ import annotations

from typing import Any

import pytest
import version1
from sqlalchemy import Engine, inspect, text

from backends.databases import SqlBlackboard, schema
from backends.databases.engine import open_engine
from backends.databases.verify import verify
from backends.databases.versions import upgrade
from pxp_fsm.errors import BlackboardError
from pxp_fsm.messages import Answer, Message
from pxp_fsm.relations import Judgement, Outcome


@pytest.fixture
def old(database: str) -> str:
    engine = open_engine(database, create=True, current=False)
    version1.make(engine)
    engine.dispose()
    return database


def test_an_older_database_is_refused_with_the_remedy(old: str) -> None:
    with pytest.raises(BlackboardError, match=r"schema version 1, .* `pxp upgrade` brings it up"):
        SqlBlackboard(old)


def test_an_older_database_is_brought_up_to_date_and_nothing_is_lost(old: str) -> None:
    engine = open_engine(old, create=False, current=False)
    assert upgrade(engine, "it") == ("1", "2")
    assert upgrade(engine, "it") == ("2", "2")
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


def test_an_upgraded_database_is_as_a_new_one(old: str, dialect: str, tmp_path: Any) -> None:
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
    assert set(tables) == set(schema.metadata.tables)
    return {"tables": tables, "views": sorted(found.get_view_names()), "triggers": triggers}


def test_a_failed_upgrade_leaves_the_database_as_it_was(
    old: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = open_engine(old, create=False, current=False)
    before = set(inspect(engine).get_table_names())

    def fail(_connection: object) -> None:
        raise RuntimeError("power cut")

    with monkeypatch.context() as patched:
        patched.setattr("backends.databases.versions.furnish", fail)
        with pytest.raises(RuntimeError, match="power cut"):
            upgrade(engine, "it")
    assert set(inspect(engine).get_table_names()) == before
    assert upgrade(engine, "it") == ("1", "2")
    engine.dispose()


def test_what_is_no_blackboard_is_not_upgraded(database: str) -> None:
    engine = open_engine(database, create=True, current=False)
    with pytest.raises(BlackboardError, match="not a blackboard; nothing was changed"):
        upgrade(engine, "it")
    engine.dispose()
