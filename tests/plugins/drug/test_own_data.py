"""Molecules of one's own: the bundled ones in this form, faults by line, selections."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from rdkit.Chem import MolFromSmiles, rdMolDescriptors

from pxp_fsm.errors import FileError
from pxp_fsm.experiments.plan_data import read_plan
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.plugins.drug.data import bundled
from pxp_fsm.tasks.task import find_task
from tests.tasks.test_own_data import as_rows, checked, row, run, written


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


def test_molecules_are_selected_by_weight_and_rings(tmp_path: Path) -> None:
    folder = written(tmp_path, [{"SMILES": one["x"], "Name": "a"} for one in as_rows(bundled())])
    out = tmp_path / "out.csv"
    wanted = ["select", folder, "-o", out, "--column", "x=SMILES", "--where", "weight=160:220"]
    said = run(*wanted, "--where", "rings=1")
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


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([row("CCO", "CO"), row("OCC", "CO")], "line 3: column x: the same instance is on line 2"),
        ([row("CCO", "C1")], "line 2: column prediction: 'C1' is not a valid SMILES"),
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
    folder = written(tmp_path, [row("C1", "C") for _ in range(30)])
    said = checked(folder, "drug")
    assert said.exit_code == 2
    assert said.stderr.count("column x:") == 20
    assert "and 10 more faults" in said.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-o", "out.csv", "--where", "rings=1", "--where", "rings=2"], "'rings' is given twice"),
        (["-o", "out.csv", "--where", "weight=3:1"], "--where: '3:1' is no range"),
        (["-o", "out.csv", "--where", "weight=nan:1"], "--where: 'nan:1' is no range"),
        (
            ["-o", "out.csv", "--where", "rings=1"],
            "data, line 2: column x: 'a b' is not a valid SMILES",
        ),
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
