"""Data of one's own: read by every task in one form, refused by line, selected, split."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit.Chem import MolFromSmiles, rdMolDescriptors

from pxp_fsm.cli.main import commands
from pxp_fsm.errors import DataError, FileError, UsageError
from pxp_fsm.experiments.plan_data import read_plan
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.tasks import own_data
from pxp_fsm.tasks.drug.data import bundled
from pxp_fsm.tasks.own_data import read_data, read_records, sample, split, write_records
from pxp_fsm.tasks.rad.data import bundled_path
from pxp_fsm.tasks.registry import find_task
from pxp_fsm.tasks.task import DataSet, Row

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
RECORDS = st.lists(
    st.fixed_dictionaries({"x": TEXTS, "prediction": TEXTS, "explanation": TEXTS}), min_size=1
)


def written(folder: Path, rows: list[dict[str, str]], name: str = "data.csv") -> Path:
    write_records(folder / name, rows)
    return folder


def row(x: str, y: str = "a", e: str = "because", **more: str) -> dict[str, str]:
    return {"x": x, "prediction": y, "explanation": e, **more}


def run(*arguments: object) -> Result:
    return CliRunner().invoke(commands, ["data", *map(str, arguments)])


def as_rows(data: DataSet) -> list[dict[str, str]]:
    sets = {"sessions": data.sessions, "validation": data.validation, "test": data.test}

    def one(name: str, each: Row) -> dict[str, str]:
        answer = each.answer
        about = {"set": name, "key": each.instance.key}
        return row(each.instance.x, answer.prediction, answer.explanation, **about)

    return [one(name, each) for name, rows in sets.items() for each in rows]


@settings(max_examples=25)
@given(RECORDS, st.sampled_from(["data.csv", "data.jsonl"]))
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, str]], name: str
) -> None:
    table = tmp_path_factory.mktemp("own") / name
    write_records(table, rows)
    assert [record for _, record in read_records(table)] == rows


@pytest.mark.parametrize("name", ["data.csv", "data.jsonl"])
def test_the_bundled_molecules_in_this_form_are_the_same_data(tmp_path: Path, name: str) -> None:
    folder = written(tmp_path, as_rows(bundled()), name)
    plain, own = Plan("drug"), Plan("drug", data=str(folder))
    (_, there), (_, here) = read_plan(plain), read_plan(own)
    assert [len(one) for one in (here.sessions, here.validation, here.test)] == [
        len(one) for one in (there.sessions, there.validation, there.test)
    ]
    for ours, theirs in zip(here.test, there.test, strict=True):
        assert (ours.instance.key, ours.answer) == (theirs.instance.key, theirs.answer)


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


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([row("CCO", "CO"), row("OCC", "CO")], "line 3: column x: the same instance is on line 2"),
        ([row("CCO", "C1")], "line 2: column prediction: 'C1' is not a valid SMILES"),
        ([row("CCO", "CO", " ")], "line 2: column explanation is empty or missing"),
        ([row("CCO", "CO", set="train")], "line 2: column set: 'train' is none of sessions,"),
        ([row("CCO", "CO", key="a,b")], "line 2: column key: 'a,b' is no name"),
        ([row("CCO", "CO", key="a"), row("CO", "C", key="a")], "line 3: column key: 'a' is on"),
        ([row("CCO", "CO", set="test")], "no row is for sessions"),
        ([{"x": "CCO"}], "line 2: column prediction is empty or missing"),
    ],
)
def test_each_fault_is_named_with_its_line(
    tmp_path: Path, rows: list[dict[str, str]], says: str
) -> None:
    with pytest.raises(FileError) as caught:
        find_task("drug").load(written(tmp_path, rows))
    assert says in str(caught.value)
    assert str(tmp_path / "data.csv") in str(caught.value)


def test_all_faults_are_named_up_to_a_bound(tmp_path: Path) -> None:
    said = run("check", "drug", written(tmp_path, [row("C1", "C") for _ in range(30)]))
    assert said.exit_code == 2
    assert said.stderr.count("column x:") == 20
    assert "and 10 more faults" in said.stderr


@pytest.mark.parametrize("text", ["[1]", "{", '{"x": 1}', "[" * 9999])
def test_lines_that_are_no_objects_of_texts_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "data.jsonl").write_text(f'{{"x": "a"}}\n{text}\n')
    with pytest.raises(DataError, match=r"data.jsonl, line 2: this is not"):
        read_data(tmp_path)


def test_a_folder_without_a_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no data.csv or data.jsonl in it"):
        read_data(tmp_path)


def test_molecules_are_selected_by_weight_and_rings(tmp_path: Path) -> None:
    folder = written(tmp_path, [{"SMILES": one["x"], "Name": "a"} for one in as_rows(bundled())])
    out = tmp_path / "out.csv"
    wanted = ["select", folder, "-o", out, "--column", "x=SMILES", "--weight", "160:220"]
    said = run(*wanted, "--rings", 1)
    assert said.exit_code == 0, said.output
    with out.open() as file:
        kept = [each["x"] for each in csv.DictReader(file)]
    everything = [one["x"] for one in as_rows(bundled())]
    assert 5 < len(kept) < len(everything)

    def fits(smiles: str) -> bool:
        """A second way: exact masses are within 1 g/mol here, aromatic atoms stand in rings."""
        molecule = MolFromSmiles(smiles)
        aromatic = any(atom.GetIsAromatic() for atom in molecule.GetAtoms())
        return 159 < rdMolDescriptors.CalcExactMolWt(molecule) < 221 and aromatic

    assert set(kept) <= {smiles for smiles in everything if fits(smiles)}
    assert run(*wanted, "--sample", 5, "--seed", 3).exit_code == 0
    first = out.read_text()
    assert run(*wanted, "--sample", 5, "--seed", 3).exit_code == 0
    assert out.read_text() == first
    assert run(*wanted, "--sample", 5, "--seed", 4).exit_code == 0
    assert out.read_text() != first


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
    if wanted > number:
        with pytest.raises(UsageError):
            sample(rows, wanted, seed)
        return
    found = sample(rows, wanted, seed)
    assert len(found) == wanted
    assert [line for line, _ in found] == sorted({line for line, _ in found})


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-o", "out.txt"], "--output: a table is .csv or .jsonl"),
        (["-o", "out.csv", "--weight", "3:1"], "--weight: '3:1' is no range"),
        (["-o", "out.csv", "--weight", "nan:1"], "--weight: 'nan:1' is no range"),
        (["-o", "out.csv", "--column", "x"], "--column: 'x' must be NAME=COLUMN"),
        (["-o", "out.csv", "--column", "x=SMILES"], "--column: there is no column 'SMILES'"),
        (["-o", "out.csv", "--normals", "1"], "--normals: this requires --per-label"),
        (["-o", "out.csv", "--rings", "1"], "data, line 2: column x: 'a b' is not a valid SMILES"),
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


def test_a_table_of_pictures_stays_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"")
    (tmp_path / "elsewhere").mkdir()
    folder = written(tmp_path, [row("a.png")])
    said = run("split", folder, "-o", tmp_path / "elsewhere" / "o.csv", "--sessions", 1)
    assert said.exit_code == 2
    assert "pictures are found from the folder of the table" in said.stderr
    assert run("split", folder, "-o", tmp_path / "o.csv", "--sessions", 1).exit_code == 0
