"""Data of one's own: read by every task in one form, refused by line, selected, split."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from pxp_fsm.cli.main import commands
from pxp_fsm.errors import DataError, FileError, UsageError
from pxp_fsm.experiments.plan_data import read_plan
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.tasks import own_data
from pxp_fsm.tasks.own_data import read_data, read_records, sample, split, write_records
from pxp_fsm.tasks.task import DataRow, DataSet, find_task
from tests.tasks import animals

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
RECORDS = st.lists(
    st.fixed_dictionaries({"x": TEXTS, "prediction": TEXTS, "explanation": TEXTS}), min_size=1
)


def written(folder: Path, rows: list[dict[str, str]], name: str = "data.csv") -> Path:
    write_records(folder / name, rows)
    return folder


def row(x: str, y: str = "a", e: str = "because", **more: str) -> dict[str, str]:
    return {"x": x, "prediction": y, "explanation": e, **more}


def as_rows(data: DataSet) -> list[dict[str, str]]:
    sets = {"sessions": data.sessions, "validation": data.validation, "test": data.test}

    def one(name: str, each: DataRow) -> dict[str, str]:
        answer = each.answer
        about = {"set": name, "key": each.instance.key}
        return row(each.instance.x, answer.prediction, answer.explanation, **about)

    return [one(name, each) for name, rows in sets.items() for each in rows]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(commands, ["data", *map(str, arguments)])


def checked(folder: Path, task: str) -> Result:
    return CliRunner().invoke(commands, ["check", str(folder), task])


@settings(max_examples=25)
@given(RECORDS, st.sampled_from(["data.csv", "data.jsonl"]))
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, str]], name: str
) -> None:
    table = tmp_path_factory.mktemp("own") / name
    write_records(table, rows)
    assert [record for _, record in read_records(table)] == rows


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([row("fur"), row("fur")], "line 3: column x: the same instance is on line 2"),
        ([row("fur", "a cat")], "line 2: column prediction: a class is one word, not 'a cat'"),
        ([row("fur", "a", " ")], "line 2: column explanation is empty or missing"),
        ([row("fur", set="train")], "line 2: column set: 'train' is none of sessions,"),
        ([row("fur", key="a,b")], "line 2: column key: 'a,b' is no name"),
        ([row("fur", key="a"), row("fins", key="a")], "line 3: column key: 'a' is on"),
        ([row("fur", set="test")], "no row is for sessions"),
        (
            [{"x": "fur", "Prediction": "a"}],
            "line 1: columns prediction, explanation are missing; there are x, Prediction: add "
            "them, or rename columns: pxp data select",
        ),
        ([{"x": "fur", "Prediction": "a"}], "--column prediction=Prediction --column explanation="),
        ([{"smiles": "C", "prediction": "a", "explanation": "b"}], "--column x=smiles -o"),
        ([{"x": "fur", "prediction": "a"}], "column explanation is missing; there are x, predict"),
    ],
)
def test_each_fault_is_named_with_its_line(
    tmp_path: Path, rows: list[dict[str, str]], says: str
) -> None:
    with pytest.raises(FileError) as caught:
        find_task("animals").load(written(tmp_path, rows))
    assert says in str(caught.value)
    assert str(tmp_path / "data.csv") in str(caught.value)


def test_all_faults_are_named_up_to_a_bound(tmp_path: Path) -> None:
    folder = written(tmp_path, [row(f"x{n}", "1") for n in range(30)])
    said = checked(folder, "animals")
    assert said.exit_code == 2
    assert said.stderr.count("column prediction:") == 20
    assert "and 10 more faults" in said.stderr


@pytest.mark.parametrize("name", ["data.csv", "data.jsonl"])
def test_the_bundled_animals_in_this_form_are_the_same_data(tmp_path: Path, name: str) -> None:
    folder = written(tmp_path, as_rows(animals.bundled()), name)
    plain, own = Plan("animals"), Plan("animals", data=str(folder))
    (_, there), (_, here) = read_plan(plain), read_plan(own)
    assert (here.sessions, here.validation, here.test) == (
        there.sessions,
        there.validation,
        there.test,
    )


@pytest.mark.parametrize("text", ["[1]", "{", '{"x": 1}', "[" * 9999])
def test_lines_that_are_no_objects_of_texts_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "data.jsonl").write_text(f'{{"x": "a"}}\n{text}\n')
    with pytest.raises(DataError, match=r"data.jsonl, line 2: this is not"):
        read_data(tmp_path)


def test_a_folder_without_a_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no data.csv or data.jsonl in it"):
        read_data(tmp_path)


@given(
    st.integers(0, 30),
    st.fixed_dictionaries({name: st.integers(0, 12) for name in own_data.SETS}),
    st.integers(0, 99),
)
def test_a_split_draws_each_row_once(number: int, sizes: dict[str, int], seed: int) -> None:
    rows = [(line, {"x": str(line)}) for line in range(number)]
    if sum(sizes.values()) > number:
        with pytest.raises(UsageError):
            split(rows, sizes, seed)
        return
    found = split(rows, sizes, seed)
    assert Counter(one["set"] for one in found) == {k: v for k, v in sizes.items() if v}
    drawn = [int(one["x"]) for one in found]
    assert drawn == sorted(set(drawn))
    assert split(rows, sizes, seed) == found


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 99))
def test_a_sample_keeps_the_order(number: int, wanted: int, seed: int) -> None:
    rows = [(line, {"x": str(line)}) for line in range(number)]
    told: list[str] = []
    found = sample(rows, wanted, seed, told.append)
    assert len(found) == min(wanted, number)
    more = f"{wanted} rows are wanted, and there are {number}; all of them are taken"
    assert told == ([more] if wanted > number else [])
    assert [line for line, _ in found] == sorted({line for line, _ in found})


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-o", "out.txt"], "--output: a table is .csv or .jsonl"),
        (["-o", "out.csv", "--column", "x"], "--column: 'x' must be NAME=COLUMN"),
        (["-o", "out.csv", "--column", "x=FEATURES"], "--column: there is no column 'FEATURES'"),
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


@pytest.mark.parametrize(
    ("sets", "sizes"),
    [
        (("sessions", "examples"), "1 session, 1 example"),
        (("sessions", "sessions", "validation", "test"), "2 sessions, 1 validation, 1 test"),
    ],
)
def test_one_row_is_one_session(tmp_path: Path, sets: tuple[str, ...], sizes: str) -> None:
    rows = [
        {"set": name, "x": f"x{place}", "prediction": "y", "explanation": "e"}
        for place, name in enumerate(sets)
    ]
    write_records(tmp_path / "data.csv", rows)
    assert read_data(tmp_path).origin == f"data.csv ({sizes})"
