"""Sessions whose tables count, on a blackboard: registers follow from what is stored."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

import pxp_fsm as pxp
from backends.databases import SqlBlackboard
from backends.databases.engine import open_engine
from backends.databases.records import stored_system
from backends.databases.transfer import export_rows, import_rows, read_jsonl, write_jsonl
from backends.databases.verify import verify, verify_engine
from pxp_fsm.automata.serialization import canonical_json
from pxp_fsm.automata.system import Member, System
from pxp_fsm.automata.tables import stored_automaton
from pxp_fsm.errors import TableError, UsageError
from pxp_fsm.sessions.pending import Chance
from pxp_fsm.sessions.session import Session
from tests.backends.test_system_sessions import Killed, plain
from tests.sampling import sampled
from tests.sessions.test_message_values import CALLED, GATEWAY, OTHER, approving

CLIENT = pxp.build_automaton(
    "client",
    [
        {"from": "START", "to": "WAITING", "send": "REQUEST"},
        {"from": "WAITING", "to": "DONE", "receive": "REPLY"},
        {
            "from": "WAITING",
            "to": "START",
            "event": "TIMEOUT",
            "when": "tries < most",
            "do": {"tries": "tries + 1"},
            "by": "clock",
        },
        {
            "from": "WAITING",
            "to": "GAVE_UP",
            "event": "LAST_TIMEOUT",
            "when": "tries >= most",
            "by": "clock",
        },
    ],
    final=["DONE", "GAVE_UP"],
    peer="server",
    parameters={"most": {"min": 0}},
    registers={"tries": {"init": 0, "min": 0}},
)
SERVER = pxp.build_automaton(
    "server",
    [
        {"from": ["IDLE", "BUSY"], "to": "BUSY", "receive": "REQUEST"},
        {"from": "BUSY", "to": "IDLE", "send": "REPLY"},
    ],
    final=["IDLE", "BUSY"],
    peer="client",
)
RETRIES = pxp.System.load(CLIENT, SERVER, channel="lossy:1")


def retrying(most: int = 3, name: str = "lab/1", **options: Any) -> Session:
    """A client that asks a server in vain: it counts its tries up to `most`, and gives up."""

    def silent(turn: pxp.Turn) -> None:
        return None

    return Session(
        RETRIES,
        {"client": lambda _turn: pxp.Intent("REQUEST"), "server": silent},
        name=name,
        parameters={"most": most},
        events={"TIMEOUT": Chance(1.0), "LAST_TIMEOUT": Chance(1.0)},
        seed=4,
        faults=pxp.Faults(loss=0.4),
        **options,
    )


def test_a_session_counts_and_stops_by_its_rules() -> None:
    for most in (0, 1, 3):
        session = retrying(most).run_sync()
        asked = [message for message in session.history if message.tag == "REQUEST"]
        assert len(asked) == most + 1
        assert session.states["client"] == f"GAVE_UP[tries={most}]"


@pytest.mark.parametrize("number", sampled(range(1, 11), 3))
def test_a_resumed_session_has_its_registers(empty: SqlBlackboard, number: int) -> None:
    whole = retrying().run_sync()
    assert len(whole.events) == 10

    def kill(event: pxp.Event) -> None:
        if event.number == number:
            raise Killed

    with pytest.raises(Killed):
        retrying(blackboard=empty, on_event=kill).run_sync()
    resumed = retrying(blackboard=empty)
    empty.resume(resumed)
    so_far = [one.label for one in whole.events[:number]].count("TIMEOUT")
    assert f"[tries={so_far}]" in resumed.states["client"]
    assert empty.session("lab/1").states == resumed.states
    resumed.run_sync()
    assert plain(empty.events("lab/1")) == plain(whole.events)
    assert resumed.states == whole.states
    assert verify_engine(empty.engine).problems == ()


@pytest.mark.parametrize("number", sampled(range(1, 5), 2))
def test_a_resumed_session_has_what_its_messages_carried(empty: SqlBlackboard, number: int) -> None:
    """Registers are not stored again: they follow from the messages and the table."""

    def kill(event: pxp.Event) -> None:
        if event.number == number:
            raise Killed

    whole = approving(OTHER, CALLED, name="lab/1").run_sync()
    assert len(whole.events) == 5
    with pytest.raises(Killed):
        approving(OTHER, CALLED, name="lab/1", blackboard=empty, on_event=kill).run_sync()
    resumed = approving(OTHER, CALLED, name="lab/1", blackboard=empty)
    empty.resume(resumed)
    assert empty.session("lab/1").states == resumed.states
    assert '{"amount":30,"to":"Ann"}' in resumed.states[GATEWAY]
    resumed.run_sync()
    assert plain(empty.events("lab/1")) == plain(whole.events)
    assert resumed.states == whole.states
    record = empty.session("lab/1").record
    assert stored_system(record.members, record.channel) == whole.system
    assert verify_engine(empty.engine).problems == ()


KILLER = """
import os, signal, sys
from backends.databases import SqlBlackboard
from tests.backends.test_counting_sessions import retrying
database, number = sys.argv[1], int(sys.argv[2])
def kill(event):
    if event.number == number:
        os.kill(os.getpid(), signal.SIGKILL)
with SqlBlackboard(database) as board:
    session = retrying(blackboard=board, on_event=kill)
    if number > 1:
        board.resume(session)
    session.run_sync()
"""


@pytest.mark.deep
def test_what_was_counted_survives_a_kill_between_any_two_events(database: str) -> None:
    whole = retrying().run_sync()
    root = Path(__file__).parents[2]
    for number in range(1, len(whole.events) + 1):
        command = [sys.executable, "-c", KILLER, database, str(number)]
        done = subprocess.run(command, cwd=root, env=os.environ, check=False)
        assert done.returncode == -signal.SIGKILL
    with SqlBlackboard(database) as board:
        resumed = retrying(blackboard=board)
        board.resume(resumed)
        resumed.run_sync()
        assert plain(board.events(resumed.name)) == plain(whole.events)
        assert resumed.states == whole.states
    assert verify(database).problems == ()


def test_what_is_stored_is_the_table_as_it_is_written_with_its_parameters(
    empty: SqlBlackboard,
) -> None:
    session = retrying(blackboard=empty).run_sync()
    record = empty.session("lab/1").record
    client, server = (json.loads(one.table) for one in record.members)
    assert client["given"] == {"most": 3}
    assert client["rows"][2]["when"] == "tries < most"
    assert server["given"] == {}
    assert record.members[0].automaton == "client(most=3)"
    again = stored_system(record.members, record.channel)
    assert again == session.system
    assert again.fingerprint == record.fingerprint


@pytest.mark.parametrize("given", [{"most": 3}, {"most": 0}])
def test_an_unfolded_table_is_stored_and_read_back_as_itself(given: Mapping[str, object]) -> None:
    system = RETRIES.with_parameters(given)
    again = tuple(
        Member(one.name, stored_automaton(canonical_json(one.automaton))) for one in system.members
    )
    assert System(again, system.channel) == system


def test_the_protocols_are_stored_with_what_they_count(empty: SqlBlackboard) -> None:
    def first(turn: pxp.Turn) -> Any:
        return pxp.Intent(turn.guards[0] if turn.guards else turn.tags[0])

    system = System.load("m=interact", "h=interact")
    session = Session(
        system,
        {"m": first, "h": first},
        parameters={"n": 4, "k": 2},
        name="lab/1",
        blackboard=empty,
    ).run_sync()
    stored = empty.session("lab/1")
    assert stored.states == session.states
    assert all("j=" in state for state in stored.states.values())
    assert verify_engine(empty.engine).problems == ()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("[]", "a mapping of parameters"),
        ('{"most": -1}', "most is at least 0, not -1"),
        ('{"most": true}', "most is a whole number"),
        ('{"most": 3.0}', "most is a whole number"),
        ("{}", "the parameter most has no value"),
        ('{"x": 1}', "no parameter x"),
    ],
)
def test_parameters_that_do_not_fit_are_refused_with_the_reason(given: str, reason: str) -> None:
    text = canonical_json(RETRIES.with_parameters({"most": 3}).members[0].automaton)
    changed = text.replace('"given":{"most":3}', f'"given":{given}')
    assert changed != text
    with pytest.raises(TableError, match=reason):
        stored_automaton(changed)


def test_a_session_is_not_resumed_with_other_parameters(empty: SqlBlackboard) -> None:
    def kill(event: pxp.Event) -> None:
        raise Killed

    with pytest.raises(Killed):
        retrying(3, blackboard=empty, on_event=kill).run_sync()
    with pytest.raises(UsageError, match=r"its system was .*\(most=3\).*\(most=4\)"):
        empty.resume(retrying(4, blackboard=empty))


def test_a_fork_has_the_parameters_of_its_session(empty: SqlBlackboard) -> None:
    whole = retrying(blackboard=empty).run_sync()
    members = {"client": lambda _turn: pxp.Intent("REQUEST"), "server": lambda _turn: None}
    timeouts = {"TIMEOUT": Chance(1.0), "LAST_TIMEOUT": Chance(1.0)}
    forked = pxp.experiments.fork(empty, "lab/1@5", members, name="fork/1", events=timeouts)
    so_far = [one.label for one in whole.events[:5]].count("TIMEOUT")
    assert f"[tries={so_far}]" in forked.states["client"]
    assert forked.run_sync().states["client"] == "GAVE_UP[tries=3]"
    assert verify_engine(empty.engine).problems == ()


def test_what_it_counted_with_cannot_be_changed_unseen(database: str) -> None:
    with SqlBlackboard(database) as board:
        retrying(blackboard=board).run_sync()
    assert verify(database).problems == ()
    engine = open_engine(database, create=False)
    change = """UPDATE texts SET text = REPLACE(text, '"given":{"most":3}', '"given":{"most":4}')"""
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            query = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
            for (name,) in connection.execute(text(query)).all():
                connection.exec_driver_sql(f'DROP TRIGGER "{name}"')
        else:
            connection.exec_driver_sql("SET session_replication_role = replica")
        connection.exec_driver_sql(change)
    engine.dispose()
    found = [f"{one.where}: {one.what}" for one in verify(database).problems]
    assert any("a table" in one for one in found), found


def test_what_goes_out_comes_in_with_what_was_counted(database: str, tmp_path: Path) -> None:
    with SqlBlackboard(database) as board:
        retrying(blackboard=board).run_sync()
        write_jsonl(export_rows(board.engine, "lab"), tmp_path / "run.jsonl")
        expected = board.session("lab/1")
    with SqlBlackboard(f"sqlite:///{tmp_path}/other.sqlite") as other:
        import_rows(other.engine, read_jsonl(tmp_path / "run.jsonl"), "it")
        assert other.session("lab/1") == expected
        assert other.session("lab/1").states == expected.states
