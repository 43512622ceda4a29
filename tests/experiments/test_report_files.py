"""What stands beside the page: CSV that spreadsheets do not run, LaTeX that compiles, JSON."""

from __future__ import annotations

import csv
import io
import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.databases import SqlBlackboard
from pxp_fsm.diagrams.latex import Table, as_latex, latex
from pxp_fsm.diagrams.style import PAPERS
from pxp_fsm.experiments import runs
from pxp_fsm.experiments.outcomes import estimates, outcomes_of
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.reports import contents
from pxp_fsm.experiments.reports.write import MOST_COLUMNS, as_csv, table1, tables1, write
from pxp_fsm.experiments.statistics import statistics_of
from pxp_fsm.protocol.messages import Instance
from tests.experiments.report_pages import Made

CELLS = st.one_of(st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.integers())


@given(st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=5))
def test_csv_reads_back_and_no_cell_is_a_formula(rows: list[list[str | int]]) -> None:
    text = as_csv(("a", "b"), rows)
    assert text.endswith("\r\n")
    header, *read = csv.reader(io.StringIO(text, newline=""))
    assert header == ["a", "b"]
    for row, got in zip(rows, read, strict=True):
        for cell, shown in zip(row, got, strict=True):
            assert shown in (str(cell), f"'{cell}")
            if isinstance(cell, str):
                assert not shown.startswith(("=", "+", "-", "@", "\t", "\r"))


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_latex_has_no_special_character_left(text: str) -> None:
    shown = latex(text)
    for command in (
        r"\\text(backslash|asciitilde|asciicircum|asciigrave|less|greater|bar|quotedbl)\{\}",
        r"\\(ldots|textquote(dbl)?(left|right))\{\}",
        r"\\[{}$&#_%]",
        r"\$(\\(times|rightarrow|leq|geq|top|bot)|-)\$",
        r"\\texttt\{U\+[0-9A-F]{4,6}\}",
    ):
        shown = re.sub(command, "", shown)
    assert not re.search(r'[\\{}$&#_%~^<>|"]', shown)
    assert all(character.isascii() or character <= "ÿ" for character in shown)
    assert "\n" not in shown


def test_a_latex_table_is_whole() -> None:
    made = as_latex(Table("a b", "50 % & more", ("x_1", "n"), (("[2pt]", 3), ("*", None))))
    assert made.count(r"\begin{") == made.count(r"\end{") == 2
    assert r"\begin{tabular}{@{}lr@{}}" in made
    assert r"\caption{50 \% \& more}" in made
    assert "x\\_1 & n \\\\" in made
    assert "{[2pt]} & 3 \\\\" in made
    assert "{*} &  \\\\" in made
    assert [made.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [1, 1, 1]


def test_numbers_stand_below_each_other_at_their_points() -> None:
    cells = ("20", "4.5 (0.23)", "19 (1)", "–")
    made = as_latex(Table("t", "", ("", "n"), tuple(("", cell) for cell in cells)))
    column = [line.removeprefix(" & ").removesuffix(r" \\") for line in made.splitlines()]
    assert r"20\phantom{.5}\phantom{~(0.23)}" in column
    assert "4.5~(0.23)" in column
    assert r"19\phantom{.5}~(1\phantom{.23})" in column
    assert "--" in column


@pytest.mark.parametrize("paper", PAPERS)
def test_a_table_that_is_too_wide_breaks_lines_then_stands_in_blocks(paper: str) -> None:
    words = Table("w", "c", ("name", "text", "n"), (("a", "word " * 60, 1),) * 3)
    made = as_latex(words, PAPERS[paper])
    assert r"\begin{tabularx}" in made
    assert made.count(r"\toprule") == 1
    headings = ("name", *(f"column{number}" for number in range(20)))
    wide = as_latex(Table("b", "c", headings, (("row", *range(20)),)), PAPERS[paper])
    blocks = wide.count(r"\toprule")
    assert blocks > 1
    assert wide.count("row &") == wide.count("name &") == blocks
    assert all(wide.count(f"column{number} ") <= 1 for number in range(20))
    assert wide.count(r"\label{") == 1
    high = as_latex(Table("h", "c", ("name", "n"), (("row", 1),) * 150), PAPERS[paper])
    labels = re.findall(r"\\label\{([^}]*)\}", high)
    assert labels == ["tab:h", *(f"tab:h-part{n}" for n in range(2, len(labels) + 1))]
    assert len(labels) > 1
    assert high.count("row & 1") == 150


def test_two_keys_are_two_labels() -> None:
    keys = ["run 1", "run-1", "run_1", "Run-1", "run:1", "run:5f:1"]
    labels = [
        re.findall(r"\\label\{(tab:[A-Za-z0-9:-]+)\}", as_latex(Table(key, "", ("a",), ())))
        for key in keys
    ]
    assert len({label for (label,) in labels}) == len(keys)


@pytest.mark.deep
def test_a_report_of_several_runs_has_files_of_every_figure_and_tables_with_room(
    tmp_path: Path,
) -> None:
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        for number in (1, 2, 3):
            made = Made(board, f"animals-{number}")
            made.add(1, "INIT RATIFY RATIFY")
            made.add(2, "INIT REFUTE REVISE RATIFY RATIFY")
        reports, written = write(
            board, (), tmp_path / "r.html", test_set=False, figures=tmp_path / "new" / "figures"
        )
        tables = tables1(reports)
    drawn = {file.name for file in written if file.parent.name == "figures"}
    assert drawn == {
        f"animals-{number}-{name}.{suffix}"
        for number in (1, 2, 3)
        for name in ("curves", "measured", "flow")
        for suffix in ("svg", "pdf", "pgf")
    }
    for file in (tmp_path / "new" / "figures").iterdir():
        start = {".pdf": b"%PDF-", ".svg": b"<?xml", ".pgf": b"% \\input"}[file.suffix]
        assert file.read_bytes().startswith(start)
    assert b"one-way, human" in (tmp_path / "new/figures/animals-1-curves.svg").read_bytes()
    assert all(len(table.headings) <= MOST_COLUMNS for table in tables)
    shown = [heading for table in tables for heading in table.headings]
    assert all(shown.count(f"animals-{number} (uncontrolled)") == 1 for number in (1, 2, 3))
    source = "".join(file.read_text("utf-8") for file in sorted(tmp_path.glob("r-*.tex")))
    labels = re.findall(r"\\label\{([^}]*)\}", source)
    assert len(labels) == len(set(labels)) == len(tables) + 2 * 3
    assert {"tab:categories-animals-1", "tab:sequences-animals-3"} <= set(labels)


def schema() -> dict[str, Any]:
    resource = resources.files("pxp_fsm.experiments.reports").joinpath("schema.json")
    loaded: dict[str, Any] = json.loads(resource.read_text("utf-8"))
    return loaded


def test_the_files_of_a_real_run_say_what_its_statistics_say(tmp_path: Path) -> None:
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        plan = Plan("animals", instances="sparrow,trout", repetitions=2, n=4)
        run = runs.start(plan, board)
        run.execute()
        (report,), _ = write(board, [run.name], tmp_path / "r.html")
        statistics = statistics_of(board, run.name)
    data = json.loads((tmp_path / "r.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema()).validate(data)
    (found,) = data["runs"]
    assert found["sessions"] == {"planned": 4, "begun": 4}
    assert found["missing"] == []
    assert [row["median"] for row in found["table1"]] == [
        float(row.median) for row in statistics.classes()
    ]
    last = {kind: points[-1] for kind, points in found["curves"].items()}
    by_class = {row["class"]: row for row in found["table1"]}
    for kind, row in {"human": "one-way, human", "two-way": "two-way"}.items():
        assert (last[kind]["message"], last[kind]["median"]) == (4, by_class[row]["median"])
    assert sum(row["machine"] + row["human"] for row in found["categories"]) == sum(
        count for (_, tag), count in statistics.tags.items() if tag != "INIT"
    )
    tested = found["performance"]["on_test_set"]
    assert [point["message"] for point in tested] == [0, 2, 4]
    assert all(0 <= point["min"] <= point["median"] <= point["max"] <= 1 for point in tested)
    assert isinstance(report.performance.in_sessions, tuple)
    lines = list(csv.DictReader(io.StringIO((tmp_path / "r-sessions.csv").read_text("utf-8"))))
    assert [line["session"] for line in lines] == [
        f"{run.name}/{r}/{p}" for r in (1, 2) for p in (1, 2)
    ]
    assert sum(int(line["messages"]) for line in lines) == statistics.tags.total()


def test_an_instance_that_is_a_formula_is_text_in_the_list_of_sessions(tmp_path: Path) -> None:
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        made = Made(board)
        made.add(1, "INIT RATIFY RATIFY", instance=Instance('=HYPERLINK("http://e.org")', "C"))
        write(board, (), tmp_path / "r.html", test_set=False)
    (line,) = csv.DictReader(io.StringIO((tmp_path / "r-sessions.csv").read_text("utf-8")))
    assert line["instance"].startswith("'=HYPERLINK")


def test_intervals_stand_beside_the_numbers_and_two_runs_are_paired(tmp_path: Path) -> None:
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        for k in (1, 3):
            runs.start(Plan("animals", instances="8", k=k, n=4, repetitions=2), board).execute()
        reports, _ = write(board, (), tmp_path / "r.html", test_set=False)
        expected = [estimates(outcomes_of(board, run.run)) for run in board.runs()]
    data = json.loads((tmp_path / "r.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema()).validate(data)
    for run, found in zip(data["runs"], expected, strict=True):
        of = {row["class"]: row["estimate"] for row in run["table1"]}
        assert of.pop("in all") is None
        assert {name: (row["low"], row["high"]) for name, row in of.items()} == {
            name: (each.interval.low, each.interval.high) for name, each in found.items()
        }
    table = table1(reports)
    shown = table.rows[1][table.headings.index("animals-1 (uncontrolled)") + 2]
    interval = expected[0]["one-way, human"].interval
    assert shown == f"{interval.low:.2f}–{interval.high:.2f}"
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "animals-1 (uncontrolled) and animals-2 (uncontrolled), paired" in page
    assert "Sessions are paired by repetition and instance: 16 pairs." in page


def test_a_machine_that_carries_nothing_is_measured_on_request(tmp_path: Path) -> None:
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        runs.start(Plan("animals", instances="sparrow", n=2, carry=False), board).execute()
        report = contents.gather(board, board.runs()[0])
        wanted = contents.gather(board, board.runs()[0], test_set=True)
    assert isinstance(report.performance.on_test_set, str)
    assert "the machine carries nothing from session to session" in report.performance.on_test_set
    assert not isinstance(wanted.performance.on_test_set, str)
    assert [j for j, _ in wanted.performance.on_test_set] == [0, 2]


@pytest.mark.parametrize("learn", ["never", "better"])
def test_what_was_not_learned_is_not_learned_again(tmp_path: Path, learn: str) -> None:
    """Under NEVER the test set says the same at every length; a gated run goes by its records."""
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        plan = Plan("animals", instances="frog,trout", n=4, learn=learn, gate="context")
        runs.start(plan, board).execute()
        report = contents.gather(board, board.runs()[0])
    assert report.missing == ()
    points = report.performance.on_test_set
    assert not isinstance(points, str)
    assert learn == "better" or len({point.median for _, point in points}) == 1


@pytest.mark.parametrize("repetitions", [1, 3])
def test_ranges_stand_only_beside_medians_of_several(tmp_path: Path, repetitions: int) -> None:
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        runs.start(Plan("animals", instances="sparrow", repetitions=repetitions), board).execute()
        table = table1([contents.gather(board, board.runs()[0], test_set=False)])
    assert ("range" in table.headings) == (repetitions > 1)
    assert {len(row) for row in table.rows} == {len(table.headings)}
    assert table.numeric == (False, *[True] * (len(table.headings) - 1))
