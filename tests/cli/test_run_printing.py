"""What `pxp run` prints: one screen, both settings side by side, and the rest with `-v`."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from pxp_fsm.cli.main import main

Ran = tuple[int, str, str]


def pxp(capsys: pytest.CaptureFixture[str], *arguments: str) -> Ran:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


def screen(text: str) -> list[str]:
    """The lines as a terminal of 80 columns shows them."""
    return [part for line in text.splitlines() for part in textwrap.wrap(line, 80) or [""]]


def test_a_run_prints_one_screen_and_the_rest_where_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, said, _ = pxp(capsys, "run", "animals", "--instances", "2", "--repetitions", "2")
    assert code == 0
    assert len(screen(said)) <= 24
    assert all(len(line) <= 80 for line in said.splitlines() if not line.startswith("Run "))
    for part in ("two-way intelligible", "runs/blackboard.sqlite", "animals-1-*", "pxp show"):
        assert part in said
    assert re.search(r"of 4 sessions are .*\(95%: [0-9.]+ to [0-9.]+, of 2 instances\)", said)
    assert "How sure" not in said
    code, whole, _ = pxp(capsys, "run", "animals", "animals-1", "-v")
    for part in ("How sure", "AGREE is the same reason", "Proved of these sessions: term"):
        assert part in whole


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--set", "learning.keep=equal"), "no effect beside learning.keep"),
        (("--human", "terminal"), "no effect beside a person"),
        (("animals-1",), "a resumed run keeps its own plan; leave out --both"),
    ],
)
def test_both_settings_are_refused_where_the_setting_is_said(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = pxp(capsys, "run", "animals", "--both", *arguments)
    assert code == 2
    assert says in err
    assert not list(tmp_path.iterdir())


def test_both_settings_without_validation_rows_are_refused_by_what_was_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("x,prediction,explanation\nfur,mammal,It has fur.\n")
    code, _, err = pxp(capsys, "run", "animals", "--data", ".", "--both")
    assert code == 2
    assert err.startswith("Error: --both: its controlled setting weighs lessons on a validation")
    assert "pxp data split" in err
    code, _, err = pxp(capsys, "run", "animals", "--data", ".", "--both", "--instances", "9")
    assert err.startswith("Error: --instances: ")
