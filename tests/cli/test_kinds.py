"""What an argument is, whichever command takes it, and what commands say of others."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest
from click.testing import CliRunner

from backends.databases import SqlBlackboard
from pxp_fsm.cli.kinds import kind_of
from pxp_fsm.cli.main import commands
from pxp_fsm.errors import NotThere, PXPError, UsageError
from pxp_fsm.experiments import runs
from pxp_fsm.experiments.plans import Plan
from tests.command_line import PLACES, pxp

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a database: one run of two sessions."""
    made = tmp_path_factory.mktemp("stored")
    with SqlBlackboard(str(made / "b.sqlite")) as board:
        runs.run(Plan("animals", instances="2"), board)
    return made


@pytest.mark.parametrize(
    ("what", "about"),
    [
        ("interact", "a table"),
        ("asking.toml", "a table"),
        ("m=own_protocol/buyer.toml", "a table"),
        ("two_phase_commit/two_phase.toml", "a system"),
        ("postgresql://localhost/x", "a database"),
        ("controlled.toml", "an experiment"),
        ("lan_french/examples.jsonl", "data"),
    ],
)
def test_names_and_files_are_known_for_what_they_are(
    what: str, about: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXAMPLES)
    assert kind_of(what).about == about


def test_what_a_database_holds_is_known(folder: Path) -> None:
    database = str(folder / "b.sqlite")
    assert kind_of(database).about == "a database"
    assert kind_of("animals-1", database).about == "a run"
    assert kind_of("animals-1/1/1", database).about == "a session"
    with pytest.raises(NotThere, match=r"'animals-9' is no file .*did you mean animals-1"):
        kind_of("animals-9", database)
    with pytest.raises(NotThere, match=r"there is no database nowhere\.sqlite"):
        kind_of("animals-1", "nowhere.sqlite")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("x.toml", "a = 1\n", "x.toml is none of what is known"),
        ("x.log", "rows", "x.log is neither TOML"),
        ("x.png", "rows", "x.png is a picture, which no command reads"),
        ("x.py", "rows", r"x.py is Python; a machine in it is given as x:NAME"),
        ("x.toml", "a = [", "this is not TOML"),
    ],
)
def test_a_file_of_no_kind_is_refused(name: str, text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(PXPError, match=says):
        kind_of(str(tmp_path / name))


def test_what_a_verb_does_not_take_is_told_for_what_it_is(folder: Path) -> None:
    database = str(folder / "b.sqlite")
    for verb in ("check", "run", "show", "draw", "serve"):
        claim = kind_of("never-stuck", database, verb)
        assert claim.about == "a property or claim"
        assert "check --property NAME" in claim.others
        assert kind_of("animals-1/1/1@2", database, verb).about == "a message of a session"
        with pytest.raises(UsageError, match="X is empty"):
            kind_of(" ", database, verb)
        known = "is read as data|there is no file gone.csv"
        done = CliRunner().invoke(commands, [verb, "gone.csv"])
        assert done.exit_code == 2 and re.search(known, done.stderr)
    done = CliRunner().invoke(commands, ["check", str(EXAMPLES / "labels")])
    assert "labels is read as data; name the task that reads them after it: " in done.stderr


def test_a_folder_is_data_of_the_task_that_reads_it(tmp_path: Path) -> None:
    assert kind_of(str(tmp_path)).about == "data"
    done = pxp("draw", ".", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert ". is data; pxp draw takes a table, " in done.stderr


def test_a_file_with_a_fault_is_still_known_for_what_it_is(tmp_path: Path) -> None:
    broken = tmp_path / "mine.toml"
    broken.write_text('format = 1\ninitial = "A"\n[[rows]\n')
    assert kind_of(str(broken)).about == "a table"
    assert "mine.toml, line 3" in pxp("draw", "mine.toml", cwd=tmp_path).stderr


def test_a_command_says_what_it_is_that_it_does_not_take(folder: Path) -> None:
    done = pxp("draw", "b.sqlite", cwd=folder)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: b.sqlite is a database; pxp draw takes a table, ")
    assert "For a database there are pxp show, pxp verify" in done.stderr


def test_a_run_that_is_to_be_run_says_how_it_goes_on(folder: Path) -> None:
    done = pxp("run", "animals-1", "--database", "b.sqlite", cwd=folder)
    assert done.returncode == 2
    assert "It goes on with pxp run X animals-1, where X is its task or file" in done.stderr


def test_what_is_in_a_database_is_verified_with_it(folder: Path) -> None:
    for word in ("animals-1", "animals-1/1/1"):
        done = pxp("verify", word, "--database", "b.sqlite", cwd=folder)
        assert done.returncode == 2
        assert "for all of its database, pxp verify b.sqlite\n" in done.stderr


def test_runs_are_exported_one_by_one_or_packed_together(folder: Path) -> None:
    asked = ("export", "animals-1", "animals-1", "--database", "b.sqlite")
    assert "one run is exported at a time" in pxp(*asked, cwd=folder).stderr
    alone = pxp(*asked[:2], "--key", "k.pem", *asked[3:], cwd=folder)
    assert "--key: this has no effect but for an archive" in alone.stderr


def test_an_option_of_another_kind_is_refused(folder: Path) -> None:
    done = pxp("show", "animals-1/1/1", "--limit", "3", "--database", "b.sqlite", cwd=folder)
    assert done.stderr == (
        "Error: --limit has no effect: animals-1/1/1 is a session; leave it out\n"
    )
    done = pxp("serve", "animals-1/1/1", "-o", "x.html", "--database", "b.sqlite", cwd=folder)
    assert "leave it out (pxp draw has it for a session)\n" in done.stderr


def test_lists_and_sessions_are_json_where_that_is_asked_for(folder: Path) -> None:
    listed = json.loads(pxp("show", "b.sqlite", "--json", cwd=folder).stdout)
    assert [line["session"] for line in listed] == ["animals-1/1/1", "animals-1/1/2"]
    shown = pxp("show", "animals-1/1/1", "--json", "--database", "b.sqlite", cwd=folder)
    document = json.loads(shown.stdout)
    assert document["session"]["name"] == "animals-1/1/1"
    assert document["messages"][0]["tag"] == "INIT"


def test_a_word_that_is_no_command_is_answered_with_the_one_that_is(tmp_path: Path) -> None:
    done = pxp("sessions", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        2, "Error: there is no command sessions; use pxp show\n"
    )  # fmt: skip
    assert "did you mean show" in pxp("shwo", cwd=tmp_path).stderr
    assert "--limit" in pxp("show", "--limits", "3", cwd=tmp_path).stderr


def completions(words: str, folder: Path) -> list[str]:
    """What a shell is offered for the last of the words."""
    done = subprocess.run(
        [sys.executable, "-m", "pxp_fsm.cli"],
        env={
            **os.environ,
            "PYTHONPATH": PLACES,
            "_PXP_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split(" ")) - 1),
        },
        capture_output=True, text=True, check=True, cwd=folder,
    )  # fmt: skip
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("pxp show --lim", "--limit"),
        ("pxp show --database b.sqlite anim", "animals-1"),
        pytest.param("pxp sh", "show", marks=pytest.mark.deep),
        pytest.param("pxp check --property strong-on", "strong-once", marks=pytest.mark.deep),
        pytest.param("pxp draw inter", "interact", marks=pytest.mark.deep),
        ("pxp run animals --machine anthropic:claude-haiku", "anthropic:claude-haiku-*"),
    ],
)
def test_a_shell_completes_commands_options_and_names(
    words: str, offered: str, folder: Path
) -> None:
    assert any(fnmatch(one, offered) for one in completions(words, folder))


def test_exit_codes_are_the_last_paragraph_of_a_help(tmp_path: Path) -> None:
    for command in ("", "check", "verify", "audit"):
        shown = pxp(*command.split(), "--help", cwd=tmp_path).stdout
        assert shown.rstrip().split("\n\n")[-1].strip().startswith("Exit code")


def test_the_help_of_run_fits_two_screens() -> None:
    shown = CliRunner().invoke(commands, ["run", "--help"], terminal_width=100).stdout
    assert len(shown.splitlines()) <= 2 * 40
    headings = [line for line in shown.splitlines() if line.endswith(":") and line[0] != " "]
    assert headings == [
        *("X can be:", "Protocol:", "Who takes part:", "Data:"),
        *("Another continuation:", "Limits:", "Output:", "Common options:"),
    ]
