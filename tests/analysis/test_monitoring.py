"""Formulas watched over runs: told at once, summed up at the end, and read from recordings."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from backends.databases import SqlBlackboard
from proofs.logic.monitor import MonitorVerdict
from pxp_fsm.analysis.monitoring import LiveMonitors, Monitors, foregone, monitored
from pxp_fsm.cli.main import commands
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments import runs
from pxp_fsm.experiments.plans import Plan

ALWAYS, SOMETIMES = "G (1.REJECT -> number>3)", "F ended.ratified"


def pxp(*arguments: str) -> Result:
    return CliRunner().invoke(commands, arguments)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """A folder with a run that was watched, and what the command said."""
    folder = tmp_path_factory.mktemp("watched")
    watched = ("--monitor", ALWAYS, "--monitor", SOMETIMES)
    four = "sparrow,trout,dog,frog"  # the last is not ratified
    return folder, pxp("run", "animals", "--instances", four, "--output", str(folder), *watched)


def database(folder: Path) -> str:
    return str(folder / "blackboard.sqlite")


def test_a_violation_is_told_at_once_and_all_sessions_are_summed_up(
    ran: tuple[Path, Result],
) -> None:
    folder, done = ran
    assert done.exit_code == 0, done.output
    assert f"Monitor {ALWAYS}: true of every session that interact allows" in done.stdout
    told = [line for line in done.stderr.splitlines() if line.startswith("Monitor")]
    with SqlBlackboard(database(folder)) as board:
        false = [s.session for s in board.sessions("animals-1") if s.ending != "ratified"]
    assert false
    assert [line.split(" in ")[1].split(" at ")[0] for line in told] == false
    counts = f"true in {4 - len(false)}, false in {len(false)}: false in {false[0]} at message"
    assert f"Monitor {SOMETIMES}: {counts}" in done.stdout
    assert f"Monitor {ALWAYS}: true in 4\n" in done.stdout


def test_a_recording_has_the_verdicts_that_the_run_told(ran: tuple[Path, Result]) -> None:
    folder, done = ran
    again = pxp("monitor", "animals-1", ALWAYS, SOMETIMES, "--database", database(folder))
    assert again.exit_code == 1
    lines = again.stdout.splitlines()
    assert len(lines) == 2
    assert all(line in done.stdout.splitlines() for line in lines)
    fine = pxp("monitor", "animals-1", ALWAYS, "--database", database(folder))
    assert fine.exit_code == 0
    raw = pxp("monitor", "animals-1", SOMETIMES, "--json", "--database", database(folder))
    with SqlBlackboard(database(folder)) as board:
        endings = {record.session: record.ending for record in board.sessions("animals-1")}
    for record in json.loads(raw.stdout)["verdicts"]:
        expected = "true" if endings[record["session"]] == "ratified" else "false"
        assert (record["formula"], record["verdict"]) == (SOMETIMES, expected)


def test_a_session_is_told_message_by_message(ran: tuple[Path, Result]) -> None:
    folder, _ = ran
    where = ("--database", database(folder))
    done = pxp("monitor", "animals-1/1/3", "G !1.INIT", "F 2.RATIFY", *where)
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert lines[:2] == ["Monitor G !1.INIT", "Monitor F 2.RATIFY"]
    assert lines[2].split("  ")[-1].strip().endswith("false")
    assert lines[3].split() == ["1", "m", "INIT", "false", "presumably", "false"]
    raw = pxp("monitor", "animals-1/1/3", "F 1.INIT", "--json", *where)
    found = json.loads(raw.stdout)
    assert found["verdicts"][1] == {"message": 1, "verdicts": {"F 1.INIT": "true"}}
    assert found["not_monitored"] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "animals", "--monitor", "F"), "ends too early"),
        (("run", "animals", "--monitor", "F 1.RATFY"), "did you mean 1.RATIFY"),
        (("run", "animals", "--monitor", "AG EF ended"), "leave them out"),
        (("monitor", "animals-1", "F ended"), "nowhere"),
        (("monitor", "animals-1"), "Missing argument"),
    ],
)
def test_what_cannot_be_watched_is_refused_before_anything_is_stored(
    tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    output = tmp_path / "nowhere"
    to = "--output" if arguments[0] == "run" else "--database"
    done = pxp(*arguments, to, str(output))
    assert done.exit_code == 2, done.output
    assert said in done.output
    assert not output.exists()


def test_a_run_that_is_not_there_and_a_table_that_is_not_here(ran: tuple[Path, Result]) -> None:
    folder, _ = ran
    done = pxp("monitor", "animals-7", "F ended", "--database", database(folder))
    assert (done.exit_code, "runs: animals-1" in done.output) == (2, True)
    with SqlBlackboard(database(folder)) as board:
        record = board.sessions("animals-1")[0]
    own = replace(record, automaton="mine", fingerprint="f")
    with pytest.raises(UsageError, match="followed the table 'mine'"):
        Monitors(["F ended"]).of_record(own, board)


def test_a_resumed_session_is_watched_from_its_first_message(tmp_path: Path) -> None:
    formula = "G (1.INIT -> X 2.RATIFY)"
    plan, told, sent = Plan("animals", instances="3"), list[str](), list[str]()

    def stop(step: runs.Progress) -> None:
        sent.append(step.session)
        if step.position == 2 and step.event is not None:
            raise KeyboardInterrupt

    with SqlBlackboard(database(tmp_path)) as board:
        run = runs.start(plan, board)
        with pytest.raises(KeyboardInterrupt):
            run.execute(stop)
        monitors = Monitors([formula])
        live = LiveMonitors(monitors, plan.rules(), board, told.append)
        runs.resume(run.name, board).execute(live.beside(lambda _step: None))
        (tally,) = monitored(monitors, board, run.name).tallies
        second = board.session("animals-1/1/2").events[1].carried.tag
    false = [one.session for one in tally.heard if one.outlook is MonitorVerdict.FALSE]
    assert ("animals-1/1/2" in false) is (second != "RATIFY")
    assert [line.split(" in ")[1].split(" at ")[0] for line in told] == [
        session for session in false if session != "animals-1/1/1"
    ]


def test_a_session_that_is_not_over_is_presumed(tmp_path: Path) -> None:
    def stop(step: runs.Progress) -> None:
        raise KeyboardInterrupt

    with SqlBlackboard(database(tmp_path)) as board:
        run = runs.start(Plan("animals", instances="1"), board)
        with pytest.raises(KeyboardInterrupt):
            run.execute(stop)
        (tally,) = monitored(Monitors(["F ended.ratified"]), board, run.name).tallies
    assert tally.line == "Monitor F ended.ratified: presumably false in 1"
    assert not tally.violated


@pytest.mark.deep
def test_pxp_is_watched_too_and_what_is_decided_by_itself_is_said(tmp_path: Path) -> None:
    done = pxp(
        *("run", "animals", "--instances", "2", "--protocol", "pxp", "--output", str(tmp_path)),
        *("--monitor", "F ended.term"),
    )
    assert done.exit_code == 0, done.output
    assert "Monitor F ended.term: true in 2" in done.stdout
    rules = Plan("animals", n=10**6).rules()
    (line,) = foregone(Monitors(["F ended"]), rules)
    assert "by itself" in line
