"""Pictures of one's own: found from the folder of their table."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from pxp_fsm.errors import FileError
from pxp_fsm.plugins.rad.data import bundled_path
from pxp_fsm.tasks.own_data import read_records
from pxp_fsm.tasks.task import find_task
from tests.plugins.rad.test_rad import AUTHORS
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
    assert (
        run("select", folder, "-o", out, "--per-label", 4, "--per-label", "none=2").exit_code == 0
    )
    kept = Counter(json.loads(line)["prediction"] for line in out.read_text().splitlines())
    assert kept == {"Pneumonia": 4, "Cardiomegaly": 4, "none": 2}


def test_where_a_label_has_fewer_rows_they_are_all_taken_and_it_says_so(tmp_path: Path) -> None:
    rows = [row(f"p-{n}", "Pneumonia") for n in range(2)]
    rows += [row(f"c-{n}", "Cardiomegaly") for n in range(6)]
    out = tmp_path / "out.jsonl"
    said = run(
        "select", written(tmp_path, rows), "-o", out, "--per-label", 4, "--per-label", "none=1"
    )
    assert said.exit_code == 0
    kept = Counter(json.loads(line)["prediction"] for line in out.read_text().splitlines())
    assert kept == {"Pneumonia": 2, "Cardiomegaly": 4}
    assert said.stderr.splitlines() == [
        "Note: 4 rows of Pneumonia are wanted, and there are 2; all of them are taken",
        "Note: 1 rows of none are wanted, and there are 0; all of them are taken",
    ]


@pytest.mark.skipif(not AUTHORS.is_dir(), reason="the authors' data are not here")
def test_the_films_of_the_papers_are_drawn_from_the_authors_table(
    tmp_path: Path,
) -> None:
    (tmp_path / "films.csv").write_bytes((AUTHORS / "train_xray_data.csv").read_bytes())
    films = ["x=img_path", "prediction=label", "explanation=report"]
    columns = [word for column in films for word in ("--column", column)]
    out = tmp_path / "out.csv"
    said = run("select", tmp_path / "films.csv", "-o", out, *columns, "--per-label", 4)
    assert said.exit_code == 0, said.stderr
    kept = Counter(record["prediction"] for _, record in read_records(out))
    assert max(kept.values()) == 4
    short = {label for label, many in kept.items() if many < 4}
    assert {label for label in kept if f" rows of {label} are wanted" in said.stderr} == short


def test_a_table_of_pictures_stays_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"")
    (tmp_path / "elsewhere").mkdir()
    folder = written(tmp_path, [row("a.png")])
    said = run("split", folder, "-o", tmp_path / "elsewhere" / "o.csv", "sessions=1")
    assert said.exit_code == 2
    assert "pictures are found from the folder of the table" in said.stderr
    assert run("split", folder, "-o", tmp_path / "o.csv", "sessions=1").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["-o", "out.csv", "--per-label", "4", "--per-label", "5"],
            "N and none=N are each given once",
        ),
        (["-o", "out.csv", "--per-label", "no=1"], "--per-label: 'no=1' is neither N nor none=N"),
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
