"""A classification of one's own: tables as spreadsheets write them, and what is wrong in them."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner
from PIL import Image as Pillow

from pxp_fsm.cli.main import commands
from pxp_fsm.errors import DataError, FileError, UsageError
from pxp_fsm.tasks.labels.table import load_labels
from pxp_fsm.tasks.task import DataSet, PredictionKind

HEADER = ("id", "text", "label", "explanation")
ROWS = [
    ("m1", "It weighs 3,5 kg; too much", "product", "The weight is 3,5 kg."),
    ("m2", 'They said "no", twice', "service", "They refuse."),
    ("m3", "The box\nis open", "product", "It is open."),
]


def table(*rows: tuple[str, ...], header: tuple[str, ...] = HEADER, separator: str = ",") -> str:
    import csv

    made = io.StringIO()
    writer = csv.writer(made, delimiter=separator, lineterminator="\r\n")
    writer.writerows([header, *rows])
    return made.getvalue()


def loaded(folder: Path, text: str, name: str = "data.csv", encoding: str = "utf-8") -> DataSet:
    (folder / name).write_bytes(text.encode(encoding))
    return load_labels(folder)


def refused(folder: Path, text: str) -> str:
    with pytest.raises((DataError, FileError)) as caught:
        loaded(folder, text)
    return str(caught.value)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_table_is_read_as_any_spreadsheet_writes_it(
    tmp_path: Path, separator: str, encoding: str
) -> None:
    data = loaded(tmp_path, table(*ROWS, separator=separator), encoding=encoding)
    rows = {row.instance.key: row for row in (*data.sessions, *data.test, *data.examples)}
    found = [
        (key, row.instance.x, row.answer.prediction, row.answer.explanation)
        for key, row in sorted(rows.items())
    ]
    assert found == ROWS
    assert (data.kind, data.labels, data.pictures) == (
        PredictionKind.LABEL,
        ("product", "service"),
        False,
    )


def test_columns_have_any_order_case_and_space_and_empty_ends_are_left_out(tmp_path: Path) -> None:
    data = loaded(
        tmp_path,
        "Explanation ; LABEL;Text;Set;;\r\n"
        "It is so.;a;one;sessions;;\r\n;;;;;\r\nIt is not.;b;two;examples;;\r\n;;;;;\r\n",
    )
    assert [row.instance.x for row in data.sessions] == ["one"]
    assert [row.answer.prediction for row in data.examples] == ["b"]


@pytest.mark.parametrize("name", ["mine.tsv", "mine.csv"])
def test_the_table_itself_may_be_given(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(table(*ROWS, separator="\t"))
    assert load_labels(tmp_path / name).labels == ("product", "service")
    with pytest.raises(DataError, match=f"there is {name}: rename it, or give its path"):
        load_labels(tmp_path)


PLAIN = ("m1", "a text", "a", "Because.")
OTHER = ("m2", "another text", "b", "Because.")


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([PLAIN, ("m2", "b", " ", "x")], "line 3: column label is empty or missing; fill it in"),
        ([PLAIN, ("m2", "b", "b", "")], "line 3: column explanation is empty or missing"),
        ([PLAIN, ("m1", "b", "b", "x")], "line 3: column id: 'm1' is on line 2 too; give each row"),
        ([PLAIN, ("m2", "a text", "b", "x")], "line 3: column text: the same instance is on line"),
        ([PLAIN, (*OTHER, "more")], "line 3: 5 fields, but the header names 4; quote the commas"),
        ([PLAIN, OTHER[:3]], "line 3: 3 fields, but the header names 4"),
        ([PLAIN, ("m2", "b", "b, c", "x")], "line 3: column label: 'b, c' are several; name the"),
        ([PLAIN, ("m2", "b", "none", "x")], "line 3: column label: none is no label; name the"),
        ([PLAIN, ("m2", "b", "</x>", "x")], "line 3: column label: a label is up to 60 letters"),
        ([PLAIN, ("m,2", "b", "b", "x")], "line 3: column id: 'm,2' is no name"),
        ([PLAIN, ("m2", "b\0", "b", "x")], "line 3: column text: a text holds the character NUL"),
        ([PLAIN], "every row has the label a; two are needed"),
        ([], "there is no row; write one per instance (pxp help labels)"),
        (
            [(f"m{n}", f"text {n}", f"l{n}", "x") for n in range(101)],
            "there are 101 different labels, and at most 100 can be asked about; where answers are",
        ),
    ],
)
def test_a_fault_of_a_row_is_told_with_file_line_column_and_remedy(
    tmp_path: Path, rows: list[tuple[str, ...]], says: str
) -> None:
    said = refused(tmp_path, table(*rows))
    assert str(tmp_path / "data.csv") in said
    assert says in said


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (("id", "text", "tag", "explanation"), "line 1: column 'tag' is unknown; the columns are"),
        (("id", "text", "label", "why"), "line 1: column 'why' is unknown; the columns are id"),
        (("id", "set", "label", "explanation"), "line 1: column text or picture is missing"),
        (("id", "text", "picture", "explanation"), "columns text and picture cannot both be"),
        (("label", "text", "labels", "explanation"), "columns labels and label cannot both be"),
        (("id", "text", "set", "explanation"), "column labels or label or answer is missing"),
        (("id", "text", "label", "label"), "line 1: column label is named more than once; give"),
        (("id", "text", "label", ""), "line 2: 4 fields, but the header names 3"),
    ],
)
def test_a_fault_of_the_heading_is_told_with_the_columns_that_there_are(
    tmp_path: Path, header: tuple[str, ...], says: str
) -> None:
    said = refused(tmp_path, table(PLAIN, OTHER, header=header))
    assert str(tmp_path / "data.csv") in said
    assert says in said


def test_what_is_no_text_of_utf_8_is_told_with_what_to_save_it_as(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_bytes(table(("m1", "Gruß", "a", "x")).encode("latin-1"))
    with pytest.raises(DataError, match=r"data.csv, line 2: not UTF-8; save the file as UTF-8"):
        load_labels(tmp_path)


@pytest.mark.parametrize("path", ["nowhere", "table.xlsx"])
def test_what_is_no_table_is_told_with_what_to_give(tmp_path: Path, path: str) -> None:
    (tmp_path / "table.xlsx").write_bytes(b"PK")
    with pytest.raises(DataError, match=r"give one that holds|save it as CSV"):
        load_labels(tmp_path / path)


def test_several_labels_are_a_set_spelled_in_one_way_and_none_is_empty(tmp_path: Path) -> None:
    header = ("id", "text", "labels", "explanation")
    rows = [
        ("m1", "a", "late, Broken", "x"),
        ("m2", "b", "none", "x"),
        ("m3", "c", "broken,Late", "x"),
    ]
    data = loaded(tmp_path, table(*rows, header=header))
    every = (*data.sessions, *data.validation, *data.test, *data.examples)
    said = {row.instance.key: row.answer.prediction for row in every}
    assert said["m1"] == said["m3"]
    assert said["m2"] == "none"
    assert (data.kind, len(data.labels)) == (PredictionKind.LABELS, 2)
    empty = table(("m1", "a", "", "x"), header=header)
    assert "column labels is empty or missing; where no label fits, write none" in refused(
        tmp_path, empty
    )


def test_answers_may_be_any_text(tmp_path: Path) -> None:
    header = ("id", "text", "answer", "explanation")
    data = loaded(tmp_path, table(("m1", "Two and two?", "It is\n4,0.", "x"), header=header))
    assert data.sessions[0].answer.prediction == "It is 4,0."
    assert (data.kind, data.labels) == (PredictionKind.TEXT, ())
    wrong = table(("m1", "a", "x" * 1001, "x"), header=header)
    assert "line 2: column answer: an answer has at most 1000" in refused(tmp_path, wrong)


def test_rows_without_sets_are_dealt_so_that_each_label_is_in_each_set(tmp_path: Path) -> None:
    rows = [(f"m{n}", f"text {n}", "abc"[n % 3], "x") for n in range(60)]
    data = loaded(tmp_path, table(*rows))
    sets = {
        name: Counter(row.answer.prediction for row in getattr(data, name))
        for name in ("sessions", "validation", "test", "examples")
    }
    sizes = {name: counts.total() for name, counts in sets.items()}
    assert sizes == {"sessions": 20, "validation": 15, "test": 15, "examples": 10}
    assert all(set(counts) == {"a", "b", "c"} for counts in sets.values())
    assert data == loaded(tmp_path, table(*rows))
    assert "drawn" in data.origin
    one = loaded(tmp_path, table(PLAIN, OTHER, header=HEADER).replace("Because.", "x"))
    assert [len(one.sessions), len(one.examples)] == [1, 1]


def picture(folder: Path, name: str) -> str:
    Pillow.new("RGB", (40, 40), "red").save(folder / name)
    return name


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("no.png", "there is no "),
        ("../outside.png", "an image must be in the folder of its table; put it there"),
        ("deep/../../outside.png", "an image must be in the folder of its table"),
        ("link.png", "an image must be in the folder of its table"),
        ("/etc/passwd", "an image must be in the folder of its table"),
        ("loop.png", "line 3: column picture: "),
        ("text.png", "it is neither a PNG nor a JPEG image"),
        ("deep", "there is no "),
    ],
)
def test_a_picture_that_is_not_in_the_folder_is_told_with_its_line(
    tmp_path: Path, path: str, says: str
) -> None:
    folder = tmp_path / "mine"
    (folder / "deep").mkdir(parents=True)
    picture(tmp_path, "outside.png")
    (folder / "link.png").symlink_to(tmp_path / "outside.png")
    (folder / "loop.png").symlink_to(folder / "loop.png")
    (folder / "text.png").write_text("no picture")
    header = ("id", "picture", "label", "explanation")
    rows = [("m1", picture(folder, "one.png"), "a", "x"), ("m2", path, "b", "x")]
    said = refused(folder, table(*rows, header=header))
    assert f"{folder / 'data.csv'}, line 3: column picture: " in said
    assert says in said


def test_a_table_of_pictures_names_them_from_its_folder(tmp_path: Path) -> None:
    (tmp_path / "films").mkdir()
    names = [picture(tmp_path, f"films/{n}.png") for n in range(2)]
    Pillow.new("RGB", (40, 40), "blue").save(tmp_path / names[1])
    rows = [("m1", names[0], "red", "x"), ("m2", names[1], "blue", "x")]
    data = loaded(tmp_path, table(*rows, header=("id", "picture", "label", "explanation")))
    assert data.pictures
    assert "films/" in data.sessions[0].instance.x


def test_pictures_without_the_extra_say_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pxp_fsm.errors.find_spec", lambda _name: None)
    text = table(("m1", "a.png", "a", "x"), header=("id", "picture", "label", "explanation"))
    with pytest.raises(UsageError, match=r"pxp-fsm\[pictures\]"):
        loaded(tmp_path, text)


def test_key_terms_are_those_of_the_file_beside_the_table_or_typical_words(tmp_path: Path) -> None:
    rows = [(f"m{n}", f"text {n}", "ab"[n % 2], f"It is {'ab'[n % 2] * 4}.") for n in range(8)]
    assert loaded(tmp_path, table(*rows)).terms == (("aaaa",), ("bbbb",))
    (tmp_path / "terms.txt").write_text("refund*, money back\n\nlate\n")
    assert loaded(tmp_path, table(*rows)).terms == (("refund*", "money back"), ("late",))
    said = CliRunner().invoke(commands, ["check", str(tmp_path), "labels"])
    assert "AGREE by 2 key terms: refund*, late" in said.stdout
    for text, says in (
        ("late\n!?\n", "terms.txt, line 2: '!?' has no word; write one"),
        ("\n", "terms.txt: there is no term; write one a line, or remove the file"),
    ):
        (tmp_path / "terms.txt").write_text(text)
        assert says in refused(tmp_path, table(*rows))


def test_rows_are_selected_and_split_by_the_names_of_ones_own_columns(tmp_path: Path) -> None:
    rows = [(f"m{n}", f"text {n}", "ab"[n % 2], "x") for n in range(12)]
    loaded(tmp_path, table(*rows, separator=";"))

    def done(*arguments: object) -> str:
        said = CliRunner().invoke(commands, ["data", *map(str, arguments)])
        assert said.exit_code == 0, said.stderr
        return said.stdout

    drawn, dealt = tmp_path / "drawn.csv", tmp_path / "dealt.csv"
    assert "4 of 12 rows" in done("select", tmp_path, "-o", drawn, "--per-label", 2)
    assert Counter(row.answer.prediction for row in load_labels(drawn).sessions) <= Counter("aabb")
    done("split", tmp_path, "-o", dealt, "sessions=6", "examples=4", "test=2")
    data = load_labels(dealt)
    assert (len(data.sessions), len(data.examples), len(data.test)) == (6, 4, 2)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("test=2",), "a task needs rows for its sessions; write sessions=N, too"),
        (("sessions=0",), "sessions: 0 is too small; it is at least 1"),
        (("session=3",), "there is no key 'session'"),
        (("sessions=1", "sessions=2"), "sessions is set twice"),
        (("sessions=9",), "9 rows are wanted, and there are 2"),
        (("--sessions", "2"), "--sessions is no option: write sessions=N"),
    ],
)
def test_sizes_of_sets_that_cannot_be_are_refused(
    tmp_path: Path, given: tuple[str, ...], told: str
) -> None:
    loaded(tmp_path, table(("m1", "text", "a", "x"), ("m2", "more", "b", "y")))
    command = ["data", "split", str(tmp_path), "-o", str(tmp_path / "out.csv"), *given]
    said = CliRunner().invoke(commands, command)
    assert said.exit_code == 2 and told in said.stderr
    assert not (tmp_path / "out.csv").exists()
