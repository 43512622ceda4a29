"""Pictures of one's own: found from the folder of their table."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from pxp_fsm.errors import FileError
from pxp_fsm.plugins.rad.data import bundled_path
from pxp_fsm.tasks.task import find_task
from tests.tasks.test_own_data import row, run, written


def test_pictures_are_found_from_the_folder_of_the_table(tmp_path: Path) -> None:
    films = (
        sorted(bundled_path("").glob("phantom-sessions-*.png"))[:2]
        or sorted(bundled_path("").glob("*.png"))[:2]
    )
    (tmp_path / "films").mkdir()
    for number, film in enumerate(films):
        (tmp_path / "films" / f"{number}.png").write_bytes(film.read_bytes())
    rows = [row("films/0.png", "pneumonia"), row("films/1.png", "none", set="test")]
    data = find_task("rad").load(written(tmp_path, rows))
    assert data.sessions[0].answer.prediction == "Pneumonia"
    assert data.sessions[0].instance.x.startswith(f"{tmp_path / 'films' / '0.png'}#sha256=")
    assert len(data.test) == 1
    for x, says in (("../x.png", "in the folder of its table"), ("films/9.png", "there is no")):
        with pytest.raises(FileError, match=f"line 2: column x: .*{says}"):
            find_task("rad").load(written(tmp_path, [row(x, "none")]))


def test_four_rows_of_each_label_are_drawn(tmp_path: Path) -> None:
    labels = ["Pneumonia", "Cardiomegaly", "none", "Pneumonia, Cardiomegaly"]
    rows = [row(f"{label}-{n}", label) for label in labels for n in range(9)]
    out = tmp_path / "out.jsonl"
    folder = written(tmp_path, rows)
    assert run("select", folder, "-o", out, "--per-label", 4, "--normals", 2).exit_code == 0
    kept = Counter(json.loads(line)["prediction"] for line in out.read_text().splitlines())
    assert kept == {"Pneumonia": 4, "Cardiomegaly": 4, "none": 2}
    said = run("select", folder, "-o", out, "--per-label", 10)
    assert "--per-label: Cardiomegaly: 10 rows are wanted, and there are 9" in said.stderr


def test_a_table_of_pictures_stays_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"")
    (tmp_path / "elsewhere").mkdir()
    folder = written(tmp_path, [row("a.png")])
    said = run("split", folder, "-o", tmp_path / "elsewhere" / "o.csv", "--sessions", 1)
    assert said.exit_code == 2
    assert "pictures are found from the folder of the table" in said.stderr
    assert run("split", folder, "-o", tmp_path / "o.csv", "--sessions", 1).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-o", "out.csv", "--normals", "1"], "--normals: this requires --per-label"),
    ],
)
def test_what_cannot_be_selected_is_refused(
    tmp_path: Path, arguments: list[str], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    written(tmp_path / "data", [row("a b")])
    said = run("select", "data", *arguments)
    assert (said.exit_code, says in said.stderr) == (2, True), said.stderr
