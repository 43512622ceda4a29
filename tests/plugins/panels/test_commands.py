"""Commands on runs of panels: tables by direction, and refusals of what is of two agents."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

from backends.databases import SqlBlackboard
from proofs.systems import Composition
from proofs.systems.paths import states_along
from pxp_fsm.protocol.messages import Message
from pxp_fsm.web.recordings import Recording
from tests import command_line
from tests.experiments.test_report_files import schema

TABLE = Path(__file__).parents[3] / "examples" / "labels"
PANEL, PAIR = "labels-1", "labels-2"
LABELS = ("run", "labels", "--data", str(TABLE), "--instances", "2")
DIRECTIONS = [f"{a} to {b}" for a in ("m1", "m2", "m3") for b in ("m1", "m2", "m3") if a != b]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with a run of a panel and one of two about the same; what the panel's printed."""
    folder = tmp_path_factory.mktemp("panels")
    panel = command_line.pxp(
        *LABELS, "--agents", "3", "--set", "panel.stop=consensus", "-v", cwd=folder
    )
    pair = command_line.pxp(*LABELS, cwd=folder)
    assert (panel.returncode, pair.returncode) == (0, 0), panel.stderr + pair.stderr
    return folder, panel.stdout


def test_what_a_run_prints_is_of_its_machines_alone(ran: tuple[Path, str]) -> None:
    said = ran[1]
    assert "Sessions ended: finished (consensus) 2" in said
    assert "The machines begin alike" in said
    assert "human" not in said


def test_the_files_of_a_run_have_its_directions(ran: tuple[Path, str]) -> None:
    runs = ran[0] / "runs"
    page = (runs / f"{PANEL}-table.md").read_text()
    assert page.startswith("# Intelligibility by direction")
    assert all(f"| {each} | 2 |" in page for each in DIRECTIONS)
    with (runs / f"{PANEL}-table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["tags sent by"] for row in rows] == DIRECTIONS


def test_the_list_of_a_run_ends_with_its_directions(ran: tuple[Path, str]) -> None:
    folder, _ = ran
    assert "m3 to m1" in command_line.pxp("show", PANEL, cwd=folder).stdout
    assert "direction" not in command_line.pxp("show", PAIR, cwd=folder).stdout


def test_a_session_is_shown_with_its_board(ran: tuple[Path, str]) -> None:
    shown = command_line.pxp("show", f"{PANEL}/1/1", cwd=ran[0]).stdout
    board = shown.partition("The board")[2]
    assert "owes" in board
    assert [line.split()[0] for line in board.splitlines() if line.startswith(" m")] == [
        "m1",
        "m2",
        "m3",
    ]
    assert "The board" not in command_line.pxp("show", f"{PAIR}/1/1", cwd=ran[0]).stdout


@pytest.mark.deep
def test_a_run_as_json_has_directions_and_no_classes(tmp_path: Path) -> None:
    done = command_line.pxp(*LABELS, "--agents", "3", "--json", cwd=tmp_path)
    (document,) = json.loads(done.stdout)
    assert document["classes"] == {}
    assert [f"{row['from']} to {row['to']}" for row in document["directions"]] == DIRECTIONS


@pytest.mark.parametrize(
    "command",
    [
        ("test", PANEL),
    ],
)
def test_what_is_of_a_machine_and_a_human_is_refused(
    ran: tuple[Path, str], command: tuple[str, ...]
) -> None:
    done = command_line.pxp(*command, cwd=ran[0])
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert f" {PANEL} is of a panel" in done.stderr.replace("/1/1", "")
    assert f"pxp show {PANEL}" in done.stderr


def test_the_explorer_begins_with_a_stored_session_of_a_panel(ran: tuple[Path, str]) -> None:
    database = str(ran[0] / "runs" / "blackboard.sqlite")
    recording = Recording(f"{PANEL}/1/1", database)
    ends = [f"{a}_to_{b}" for a, b in (("m1", "m2"), ("m2", "m1"), ("m1", "m3"))]
    assert [name for name, _ in recording.subject.members][:3] == ends
    assert len(recording.subject.members) == 6
    view = recording.latest
    assert (view.happened, view.ending, view.cause) == (9, "finished", "consensus")
    composition = Composition(recording.subject.system())
    last = states_along(composition, recording.subject.choices)[-1]
    assert not list(composition.moves(last))  # every member is at its end
    recording.close()
    monitored = Recording(f"{PANEL}/1/1", database, ["F m3_to_m1.RATIFY"])
    (row,) = monitored.latest.monitors
    monitored.close()
    sent = [(one.sender, one.receiver) for one in monitored_messages(ran[0])]
    assert row.verdicts.index("true") == 1 + sent.index(("m3", "m1"), sent.index(("m1", "m3")))


def test_formulas_are_monitored_over_the_stored_sessions_of_a_panel(
    ran: tuple[Path, str],
) -> None:
    formulas = ("F m3_to_m1.RATIFY", "G !m1_to_m2.RATIFY")
    done = command_line.pxp("monitor", PANEL, *formulas, cwd=ran[0])
    assert done.returncode == 1, done.stderr
    assert "Monitor F m3_to_m1.RATIFY: true in 2" in done.stdout
    assert "Monitor G !m1_to_m2.RATIFY: false in 2: false in labels-1/1/1" in done.stdout


def monitored_messages(folder: Path) -> Sequence[Message]:
    with SqlBlackboard(str(folder / "runs" / "blackboard.sqlite"), create=False) as board:
        return board.session(f"{PANEL}/1/1").history


def test_a_report_has_tables_of_two_and_of_panels(ran: tuple[Path, str]) -> None:
    folder, _ = ran
    done = command_line.pxp("report", "-o", "all.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Left out" not in done.stderr
    document = json.loads((folder / "all.json").read_text())
    jsonschema.Draft202012Validator(schema()).validate(document)
    assert [one["run"] for one in document["runs"]] == [PAIR]
    (panel,) = document["panels"]
    own = resources.files("pxp_fsm.plugins.panels").joinpath("report.schema.json").read_text()
    jsonschema.Draft202012Validator(json.loads(own)).validate(panel)
    assert panel["run"] == PANEL
    assert panel["verdicts"][0] == {"verdict": "consensus", "sessions": "2", "share": "1.00"}
    assert [row["agent"] for row in panel["agents"]] == ["m1", "m2", "m3", "all of them"]
    assert {row["strong"] for row in panel["agents"]} == {"2"}
    assert [row["tags sent by"] for row in panel["directions"]] == DIRECTIONS
    page = (folder / "all.html").read_text()
    assert f"Run {PANEL}" in page
    assert "Intelligibility by direction" in page
    with (folder / "all-directions.csv").open() as file:
        assert [row["tags sent by"] for row in csv.DictReader(file)] == DIRECTIONS


def test_a_panel_is_archived_and_the_archive_verified(ran: tuple[Path, str]) -> None:
    for command in (("export", PANEL, "-o", "p.zip"), ("verify", "p.zip")):
        done = command_line.pxp(*command, cwd=ran[0])
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_sessions_of_a_panel_are_exported_and_imported(ran: tuple[Path, str]) -> None:
    folder, _ = ran
    for command in (
        ("export", PANEL, "-o", "p.jsonl"),
        ("import", "p.jsonl", "--database", "other.sqlite"),
        ("verify", "other.sqlite"),
    ):
        done = command_line.pxp(*command, cwd=folder)
        assert done.returncode == 0, done.stderr


def test_an_audit_follows_sessions_of_panels_too(ran: tuple[Path, str]) -> None:
    done = command_line.pxp("audit", cwd=ran[0])
    assert done.returncode == 0
    assert "4  possible for equivalence" in done.stdout
    assert "not audited" not in done.stdout
    assert "0  possible for no correct agents" in done.stdout
    assert "impossible" not in done.stdout


def test_a_language_is_of_sessions_of_two(ran: tuple[Path, str]) -> None:
    folder, _ = ran

    def counted(*of: str) -> list[str]:
        done = command_line.pxp("language", "runs/blackboard.sqlite", *of, cwd=folder)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()[1:]

    assert counted() == counted("--run", PAIR)
    refused = command_line.pxp("language", "runs/blackboard.sqlite", "--run", PANEL, cwd=folder)
    assert refused.returncode == 2
    assert f"run '{PANEL}' is of a panel" in refused.stderr


@pytest.mark.deep
def test_a_later_session_is_forked_without_an_agent_and_shown(tmp_path: Path) -> None:
    command_line.pxp(*LABELS, "--agents", "3", cwd=tmp_path)
    fork = command_line.pxp("run", f"{PANEL}/1/2@4", "--without", "m2", cwd=tmp_path)
    assert fork.returncode == 0, fork.stderr
    look = fork.stdout.splitlines()[-1].partition("pxp show ")[2].split()
    shown = command_line.pxp("show", *look, cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert f"{PANEL}/1/2, from message 3" in shown.stdout


def test_a_panel_is_not_monitored(tmp_path: Path) -> None:
    done = command_line.pxp(*LABELS, "--agents", "3", "--monitor", "F h.RATIFY", cwd=tmp_path)
    assert done.returncode == 2
    assert "a panel has 3" in done.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((f"{PANEL}/1/1@3", "labels"), "leave out labels"),
        (("labels", "--without", "m2"), "give SESSION@MESSAGE"),
        ((f"{PANEL}/1/1", "--skip"), "pxp run SESSION@MESSAGE"),
        ((f"{PANEL}/1/1@x", "--skip"), "is no message of a session"),
        (("--fork", f"{PANEL}/1/1@3"), "--fork is no option: write SESSION@MESSAGE alone"),
        ((f"{PAIR}/1/1@1", "--skip"), "is one of two agents"),
        ((f"{PANEL}/1/1@3", "--without", "m9"), "no agent 'm9'; there are: m1"),
        ((f"{PANEL}/1/1@3", "--without", "m2", "--skip"), "of without and skip only one"),
        ((f"{PANEL}/1/1@99", "--skip"), "no message 99"),
        ((f"{PANEL}/1/1@0", "--skip"), "no message 0 to be made anew"),
        (("nothing/1/1@1", "--skip"), "nothing/1/1"),
    ],
)
def test_what_is_no_other_continuation_is_refused(
    ran: tuple[Path, str], given: tuple[str, ...], said: str
) -> None:
    listed = command_line.pxp("list", "runs", cwd=ran[0]).stdout
    done = command_line.pxp("run", *given, cwd=ran[0])
    assert done.returncode == 2, done.stderr
    assert said in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr
    assert command_line.pxp("list", "runs", cwd=ran[0]).stdout == listed


@pytest.mark.deep
def test_a_message_is_replaced_and_what_comes_after_it_is_made_anew(
    ran: tuple[Path, str], tmp_path: Path
) -> None:
    folder, _ = ran
    (tmp_path / "answer.json").write_text('{"prediction": "payment", "explanation": "Money."}')
    given = (f"{PANEL}/1/1@4", "--answer", str(tmp_path / "answer.json"))
    done = command_line.pxp("run", *given, cwd=folder)
    assert done.returncode == 0, done.stderr
    look = done.stdout.splitlines()[-1].partition("pxp show ")[2].split()
    shown = json.loads(command_line.pxp("show", *look, "--json", cwd=folder).stdout)
    stored = json.loads(command_line.pxp("show", f"{PANEL}/1/1", "--json", cwd=folder).stdout)
    assert shown["messages"][:3] == stored["messages"][:3]
    replaced = shown["messages"][3]
    assert (replaced["prediction"], replaced["explanation"]) == ("payment", "Money.")
    assert len(shown["messages"]) > 4
    (tmp_path / "answer.json").write_text('{"prediction": "payment"}')
    refused = command_line.pxp("run", *given, cwd=folder)
    assert refused.returncode == 2
    assert "an answer is a JSON object" in refused.stderr
    (tmp_path / "answer.json").write_text('{"prediction": ["payment"], "explanation": "Money."}')
    refused = command_line.pxp("run", *given, cwd=folder)
    assert refused.returncode == 2
    assert "this is no answer: prediction and explanation are text" in refused.stderr


@pytest.mark.deep
def test_a_run_is_compared_with_the_runs_that_carry_its_sessions_on(tmp_path: Path) -> None:
    run = (*LABELS, "--agents", "3", "--n", "4", "--set", "learning.keep=never")
    assert command_line.pxp(*run, cwd=tmp_path).returncode == 0
    alone = command_line.pxp("compare", PANEL, cwd=tmp_path)
    assert alone.returncode == 2
    assert f"no run carries sessions of {PANEL} on" in alone.stderr
    (tmp_path / "answer.json").write_text('{"prediction": "product", "explanation": "Broken."}')
    for number, how in enumerate((("--without", "m3"), ("--answer", "answer.json")), 1):
        given = ("run", f"{PANEL}/1/{number}@4", *how)
        assert command_line.pxp(*given, cwd=tmp_path).returncode == 0
    done = command_line.pxp("compare", PANEL, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    rows = {row["row"]: row for row in found["sessions"]}
    assert found["runs"] == [PANEL, "labels-2", "labels-3"]
    assert [*rows][:5] == ["consensus", "agreement", "split", "impasse", "oscillation"]
    assert rows["messages"]["first"] == 9.0 != rows["messages"]["second"]
    assert any(line.startswith("Endings that differ") for line in found["remarks"])
    each = command_line.pxp("compare", PANEL, "labels-2", cwd=tmp_path)
    assert each.returncode == 0, each.stderr
    assert "Sessions are paired by repetition and instance: 1 pair" in each.stdout


def test_a_panel_is_not_compared_with_two_nor_a_session_with_itself(
    ran: tuple[Path, str],
) -> None:
    for names, said in (
        ((PANEL, PAIR), "have no classes in common"),
        ((PANEL, PANEL), "both names are the run"),
    ):
        done = command_line.pxp("compare", *names, cwd=ran[0])
        assert done.returncode == 2
        assert said in done.stderr.replace("\n", " ")
