"""What pxp.toml and a models file set, and what is wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.databases import SqlBlackboard
from backends.models.files import read_settings
from backends.models.settings import Settings
from pxp_fsm.cli.configuration import models_file
from pxp_fsm.errors import FileError
from pxp_fsm.experiments import runs
from pxp_fsm.experiments.plans import Plan
from tests.command_line import pxp


def test_the_database_of_the_folder_is_read_where_none_is_named(tmp_path: Path) -> None:
    with SqlBlackboard(str(tmp_path / "lab.sqlite")) as board:
        runs.run(Plan("animals", instances="1"), board)
    assert "there is no database runs/blackboard.sqlite" in pxp("show", cwd=tmp_path).stderr
    (tmp_path / "pxp.toml").write_text('database = "lab.sqlite"\n')
    assert "animals-1/1/1" in pxp("show", cwd=tmp_path).stdout
    assert "animals-1/1/1" in pxp("show", "animals-1", cwd=tmp_path).stdout
    other = pxp("show", "--database", "other.sqlite", cwd=tmp_path)
    assert "there is no database other.sqlite" in other.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("databases = 1\n", "pxp.toml, line 1: unknown key databases"),
        ("database = 1\n", "pxp.toml, line 1: database"),
        ('[[server]]\nmodels = "x"\nkey = "K"\n', "pxp.toml, line 3: a server with a key stands"),
        ("[models\n", "pxp.toml, line 1: this is not TOML"),
    ],
)
def test_a_fault_of_the_folders_file_is_told_with_its_line(
    text: str, says: str, tmp_path: Path
) -> None:
    (tmp_path / "pxp.toml").write_text(text)
    done = pxp("show", cwd=tmp_path)
    assert (done.returncode, says in done.stderr) == (2, True), done.stderr


def test_a_models_file_is_the_one_that_is_named_or_that_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert models_file(None) is None
    Path("pxp.toml").write_text('database = "x.sqlite"\n')
    assert models_file(None) is None
    Path("pxp.toml").write_text("format = 1\n[agents]\n")  # a file of another kind
    assert models_file(None) is None
    Path("pxp.toml").write_text("[models]\nrequests = 3\n")
    assert models_file(None) == Path("pxp.toml")
    assert models_file(Path("own.toml")) == Path("own.toml")


def test_settings_are_read_with_paths_from_the_folder_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "models.toml"
    path.write_text('[models]\nrequests = 3\nin_flight = 2\ncache = "calls.jsonl"\n')
    cache = tmp_path / "calls.jsonl"
    assert read_settings(path) == Settings(requests=3, in_flight=2, cache=cache, catalogue=path)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ("in_flight = 0", "models.toml, line 2: models.in_flight: 0 is too small"),
        ("dollars = 3", "models.toml, line 2: models: unknown key dollars"),
        ('cache = "a"\nreplay = "b"', "cache and replay exclude each other"),
    ],
)
def test_a_fault_of_a_models_file_is_told_with_its_line(
    settings: str, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "models.toml"
    path.write_text(f"[models]\n{settings}\n")
    with pytest.raises(FileError) as raised:
        read_settings(path)
    assert says in str(raised.value)


def test_what_stands_in_a_models_file_is_no_option_and_that_is_said(tmp_path: Path) -> None:
    done = pxp("test", "animals-1", "--cache", "calls.jsonl", cwd=tmp_path)
    assert done.stderr == (
        "Error: --cache is no option: a models file (pxp help models) sets cache\n"
    )


def test_a_run_is_named_with_its_database_or_without(tmp_path: Path) -> None:
    """Without a database it is that of `pxp show`: of pxp.toml, or of --database."""
    for name in ("lab", "other"):
        with SqlBlackboard(str(tmp_path / f"{name}.sqlite")) as board:
            for _ in range(1 + (name == "other")):
                runs.run(Plan("animals", instances="1"), board)
    (tmp_path / "pxp.toml").write_text('database = "lab.sqlite"\n')
    for command in ("report", "audit"):
        for words in (
            ("animals-1",),
            ("other.sqlite", "animals-2"),
            ("--database", "other.sqlite", "animals-2"),
        ):
            done = pxp(command, *words, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            assert ("report.html" if command == "report" else "1 session,") in done.stdout
    for words, message in (
        (("animals-2",), "'animals-2' is no file and no name that pxp list shows"),
        (("animals-1/1/1",), "has no run 'animals-1/1/1'"),
        (("animals-1", "animals-2"), "has no run 'animals-2'"),
        (("none.sqlite", "animals-1"), "there is no database none.sqlite"),
    ):
        done = pxp("audit", *words, cwd=tmp_path)
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr
