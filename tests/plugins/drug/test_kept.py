"""Files that were written once (`tests/kept`) are read, resumed and judged as they were then."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from backends.databases import SqlBlackboard
from backends.databases.verify import verify
from backends.models.scripts import read_script
from backends.models.settings import Settings
from proofs import recheck
from proofs.claims.certificates import coverage, filename_of
from pxp_fsm.automata.tables import builtin
from pxp_fsm.cli.main import main
from pxp_fsm.errors import DataError, UsageError
from pxp_fsm.experiments import accuracy, files, runs, statistics
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.history import replayed
from pxp_fsm.plugins.easylan.model.operations import AgentField, Edit
from pxp_fsm.prompting.model import LanguageModel
from pxp_fsm.protocol.rules import Pxp

ROOT = Path(__file__).parents[3]
KEPT = ROOT / "tests" / "kept"
WRITTEN_BY = "0.1.0"

EXPERIMENT = "drug@82062098475d"
MODEL = "openai:chemist@http://localhost:8765/v1"
PLAN = Plan("drug", instances="paracetamol,lidocaine", seed=3)
ASKING = Plan("drug", instances="paracetamol,lidocaine", seed=3, machine=MODEL, judge=MODEL)
MARKS = {
    "drug-1": "b7a91175952d53b134445c01b6664ab612da678cc843a8b260b4eadecdb79e69",
    "drug-2": "cddadc04ad2acf46a34bcf9551f23cb904b46642985a153745750a61f68ab4ce",
    "drug-3": "466ce6d8a8bda60724d7418fadf28454224d1c044c6f5b83b3e3aee47d3314a6",
    "drug-4": "1e205301d71072c03408df6ae7dbc0588b6d1d00a064e84c7fd1338c1cb57dd0",
    EXPERIMENT: "34e2c6543058235ccbb5ec397f4be92d6b6d687f73e5d887aee5236634cd3992",
    "lan-1": "a9a5ec100fb2ba2347b6c18fd8c068bc709a463d0358b243288f525130059e45",
}
FINGERPRINT = "fc7d7058c659136a4f1bad04426602ab7aa59020a90c22719925f20d2c02d870"
FEW = ("--sessions", "drug-1/1/1", "--no-test-set")
LAST = "Les fleurs sont par la pluie bercées, les herbes par le vent courbées."
RHYMED = "Rain rocks the flowers to and fro, wind bends the grasses, bowing low."


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the files, and the version that wrote them: a fingerprint depends on it."""
    monkeypatch.setattr(files, "__version__", WRITTEN_BY)
    monkeypatch.setattr(runs, "__version__", WRITTEN_BY)
    monkeypatch.chdir(shutil.copytree(KEPT, tmp_path / "kept"))
    return tmp_path / "kept"


@pytest.fixture
def database(folder: Path) -> str:
    """The database."""
    return str(folder / "runs.sqlite")


def pxp(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    printed = capsys.readouterr()
    assert not ended.value.code, printed.err
    return printed.out


def unopened(model: str) -> LanguageModel:
    raise AssertionError(f"{model} is not asked")


def content(board: SqlBlackboard, run: str) -> list[Any]:
    """All that a run holds but its name, times, and whether a judgement was asked for again."""
    return [
        (
            (record.repetition, record.position, record.instance, record.ending, record.cause),
            (record.agents, record.assumptions, record.fingerprint),
            [
                (
                    entry.carried.number,
                    entry.carried.sender,
                    entry.carried.tag,
                    entry.carried.answer,
                    [(j.relation, j.outcome, j.left, j.right) for j in entry.judgements],
                )
                for entry in board.events(record.session)
            ],
        )
        for record in sorted(board.sessions(run), key=lambda record: record.session)
    ]


def test_a_database_is_as_it_was_stored(database: str) -> None:
    report = verify(database)
    assert report.problems == ()
    assert {mark.run: mark.mark for mark in report.marks} == MARKS


def test_its_plans_are_what_they_were(database: str) -> None:
    with SqlBlackboard(database, create=False) as board:
        wanted = dict.fromkeys(("drug-1", "drug-2"), PLAN)
        wanted |= dict.fromkeys(("drug-3", "drug-4"), ASKING)
        for run, plan in wanted.items():
            resumed = runs.resume(run, board)
            assert (resumed.opening.plan, resumed.opening.plan.as_json()) == (
                plan,
                board.run(run).plan,
            )


@pytest.mark.deep
def test_its_statistics_are_what_they_were(
    database: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with SqlBlackboard(database, create=False) as board:
        of = statistics.statistics_of(board, "drug-1")
        assert of.repetitions == (statistics.Repetition(1, 2, (2, 2, 2, 1, 2, 0, 1)),)
        assert of.endings == {"ratified": 2}
    printed = pxp(capsys, "report", database, "-o", "page.html", *FEW)
    assert "Written: page.html" in printed
    table = (folder / "page-table1.csv").read_bytes()
    assert table == (KEPT / "runs-table1.csv").read_bytes()
    assert "ratified" in pxp(capsys, "show", "drug-1", "--database", database)
    assert "REFUTE" in pxp(capsys, "show", "drug-1/1/2", "--database", database)


def test_a_run_that_was_stopped_resumes_to_the_end_that_it_would_have_had(
    database: str, folder: Path
) -> None:
    replayed_calls = Settings(in_flight=1, replay=folder / "calls.jsonl")
    with SqlBlackboard(database, create=False) as board:
        assert [one.ending for one in board.sessions("drug-4")] == ["ratified", None]
        runs.resume("drug-4", board, replayed_calls).execute()
        assert content(board, "drug-4") == content(board, "drug-3")
        assert sum(one.calls for one in board.costs("drug-4")) == 22
    found = verify(database)
    assert found.problems == ()
    kept = {mark.run: mark.mark for mark in found.marks if mark.run != "drug-4"}
    assert kept == {name: mark for name, mark in MARKS.items() if name != "drug-4"}


def test_a_run_of_another_machine_is_not_carried_on(database: str) -> None:
    """DRUG's own machine and its AGREE answer otherwise since then."""
    with SqlBlackboard(database, create=False) as board:
        assert [one.ending for one in board.sessions("drug-2")] == ["ratified", None]
        with pytest.raises(
            UsageError, match=r"m was 'retrosynthesis guards=.* would now be 'retro"
        ):
            runs.resume("drug-2", board).execute()
        with pytest.raises(
            UsageError, match=r"the machine of run drug-1 was 'retrosynthesis guards"
        ):
            accuracy.of_run(board, "drug-1", Settings(), unopened)
    assert {mark.run: mark.mark for mark in verify(database).marks} == MARKS


def test_a_run_gives_today_what_it_gave_then(database: str, folder: Path) -> None:
    with SqlBlackboard(database, create=False) as board:
        settings = Settings(in_flight=1, replay=folder / "calls.jsonl")
        runs.start(ASKING, board, settings=settings, name="asked").execute()
        assert content(board, "asked") == content(board, "drug-3")


def test_an_experiment_has_the_fingerprint_that_it_had(folder: Path) -> None:
    assert files.load(folder / "pxp.toml").fingerprint == FINGERPRINT


def test_an_experiment_whose_validation_rows_have_changed_is_another(
    database: str, folder: Path
) -> None:
    """Its lessons are weighed on the bundled rows held back, of which there are more since then."""
    assert not files.load(folder / "experiment.toml").fingerprint.startswith("82062098475d")
    changed = f"the data of run {EXPERIMENT} have changed since"
    with SqlBlackboard(database, create=False) as board, pytest.raises(DataError, match=changed):
        runs.resume(EXPERIMENT, board)
    assert {mark.run: mark.mark for mark in verify(database).marks} == MARKS


def test_a_network_is_loaded_replayed_run_edited_and_saved(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = read_script(ROOT / "examples" / "lan_french" / "script.toml")
    lan = Lan.load(folder / "french.lan.json", model)
    assert replayed(lan.history.changes).network == lan.network
    assert (lan.version, lan.history.changes[-1].undoes, len(lan.network.handled)) == (16, 15, 6)
    assert lan.run_sync(LAST).output == RHYMED
    lan.save(folder / "same.lan.json")
    kept, saved = KEPT / "french.lan.json", folder / "same.lan.json"
    assert json.loads(saved.read_text("utf-8")) == json.loads(kept.read_text("utf-8"))
    lan.edit(Edit("Rhyming Polisher", AgentField.TASK, "Make it rhyme"))
    lan.save(folder / "other.lan.json")
    again = Lan.load(folder / "other.lan.json")
    assert (again.network, again.version) == (lan.network, 17)
    again.undo()
    assert again.network == Lan.load(folder / "french.lan.json").network
    assert "undo change 15: handled" in pxp(capsys, "lan", "history", "french.lan.json")


@pytest.mark.deep
def test_an_earlier_certificate_is_refused_with_what_to_do_and_one_made_anew_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was about functions of Python code."""
    certificate = folder / "pxp-d794fbf2247c.json"
    with resources.as_file(resources.files("pxp_fsm.automata") / "data" / "pxp.toml") as table:
        done = subprocess.run(
            [sys.executable, "-I", "-S", recheck.__file__, certificate, table],
            capture_output=True, text=True, check=False, cwd=ROOT,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines() == [
        "WRONG its format is another; write it anew with: pxp check --certificate FILE"
    ]
    assumed = ["deterministic", "reflexive", "shared", "symmetric"]
    assert coverage(Pxp(), assumed, [folder]) is None
    pxp(capsys, "check", "pxp", "--property", "never-stuck", "--certificate", str(folder))
    found = coverage(Pxp(3), assumed, [folder])
    assert found is not None
    assert found.path == folder / filename_of(builtin("pxp_k"))
    printed = pxp(capsys, "run", "drug", "-v", "--instances", "1", "--protocol", "pxp").splitlines()
    first = next(i for i, line in enumerate(printed) if line.startswith("Certificate: "))
    assert printed[first].endswith(f"{filename_of(builtin('pxp_k'))} (table pxp 9718d010705c)")
    assert printed[first + 1 : first + 3] == [
        "Assumed of MATCH and AGREE: deterministic, reflexive, shared, symmetric",
        f"Proved of these sessions: {', '.join(found.claims)}",
    ]
    assert {*found.claims} >= {"never-stuck", "silent-end", "terminates", "self-loops"}
