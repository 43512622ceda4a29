"""MATCH of the DRUG task: the same molecules, however they are spelled, and nothing else."""

import asyncio
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdkit import Chem, rdBase

from pxp_fsm.plugins.drug import InvalidSmiles, Reactants
from pxp_fsm.plugins.drug.relations import LONGEST_SMILES, canonical_reactants, canonical_smiles
from pxp_fsm.protocol.relations import EQUIVALENCE, Outcome
from tests.command_line import pxp

MOLECULES = [
    "CCO",
    "CC(=O)O",
    "O",
    "Nc1ccccc1",
    "O=C(Cl)c1ccccc1",
    "C[C@H](N)C(=O)O",
    "C[C@@H](N)C(=O)O",
    "CC(N)C(=O)O",
    "C/C=C/C",
    r"C/C=C\C",
    "CC=CC",
    "[2H]C",
    "C",
    "[Na+]",
    "[Cl-]",
    "[Na]",
    "c1cc[nH]c1",
    "Oc1ccccn1",
    "O=c1cccc[nH]1",
    "[H][H]",
    "O=[N+]([O-])c1ccccc1",
    "OB(O)c1ccoc1",
    "C1CC2CCC1C2",
    "[O-]C(=O)C",
    "CC#N",
    "S(=O)(=O)(N)C",
    "CN1[C@H]2CC[C@@H]1[C@H]([C@H](C2)OC(=O)c3ccccc3)C(=O)OC",
]
DRAWN = st.lists(st.sampled_from(MOLECULES), min_size=1, max_size=4)


def match(left: str, right: str) -> Outcome:
    return asyncio.run(Reactants().holds(left, right))


def respelled(smiles: str, seed: int) -> str:
    """Another spelling of the same molecule."""
    rdBase.SeedRandomNumberGenerator(seed)
    return str(Chem.MolToSmiles(Chem.MolFromSmiles(smiles), doRandom=True))


@given(DRAWN, st.randoms(use_true_random=False), st.sampled_from(["", " ", "\n"]))
def test_order_spelling_and_surrounding_space_do_not_matter(
    molecules: list[str], random: Random, space: str
) -> None:
    other = [respelled(one, random.randrange(1, 2**31)) for one in molecules]
    random.shuffle(other)
    text = space + f"{space}.{space}".join(other) + space
    assert match(".".join(molecules), text) is Outcome.YES


@given(DRAWN)
def test_the_canonical_spelling_is_its_own(molecules: list[str]) -> None:
    spelled = canonical_smiles(".".join(molecules))
    assert canonical_smiles(spelled) == spelled


def test_molecules_that_differ_do_not_match() -> None:
    for left, right in product(MOLECULES, repeat=2):
        assert match(left, right) is (Outcome.YES if left == right else Outcome.NO)


@given(DRAWN, DRAWN, DRAWN)
def test_equivalence(first: list[str], second: list[str], third: list[str]) -> None:
    one, two, three = map(".".join, (first, second, third))
    assert Reactants.assumptions == EQUIVALENCE
    assert match(one, one) is Outcome.YES
    assert match(one, two) is match(two, one)
    if match(one, two) is match(two, three) is Outcome.YES:
        assert match(one, three) is Outcome.YES


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("[CH3:1][OH:2].[CH4:7]", "CO.C"),  # atom maps
        ("[CH3:1][C@H:2]([CH3:3])O", "CC(C)O"),  # a centre that only the maps made one
        ("[H]OC([H])([H])[H]", "CO"),
        ("C1=CC=CC=C1", "c1ccccc1"),
        ("O.O.C", "C.O"),  # a set
        ("[Fe++]", "[Fe+2]"),
    ],
)
def test_maps_hydrogens_kekule_forms_and_repetition_do_not_matter(left: str, right: str) -> None:
    assert match(left, right) is Outcome.YES


@pytest.mark.parametrize(
    ("text", "molecule", "reason"),
    [
        ("", 1, "it is empty"),
        (" \t", 1, "it is empty"),
        ("C..O", 2, "it is empty"),
        ("CCO.O.CC(C)(C)(C)C", 3, "Explicit valence for atom # 1 C, 5"),
        ("c1cccc1", 1, "kekulize"),
        ("ethanol.O", 1, "it is 'ethanol'"),
        ("C.CC O", 2, "' ' at position 3"),
        ("C\x1b[2J", 1, r"'\x1b' at position 2"),
        ("C.\ud800", 2, "is not allowed in a SMILES"),
        ("C1.C1", 1, "it is 'C1'"),
        ("[CH200]", 1, "RDKit fails on it"),
        ("C.[C+9999999]", 2, "the charge of '[C+9999999' is above 15"),
        ("[C-256]", 1, "above 15"),
        ("[C@H+" + "9" * 4900 + "]", 1, "above 15"),
        ("[65548C]", 1, "the isotope of '[65548C' is above 999"),
        ("C" * (LONGEST_SMILES + 1), 1, f"at most {LONGEST_SMILES:,}"),
    ],
)
def test_an_invalid_smiles_is_named(text: str, molecule: int, reason: str) -> None:
    with pytest.raises(InvalidSmiles) as caught:
        canonical_reactants(text)
    assert caught.value.molecule == molecule
    assert reason in str(caught.value)


LONG = {
    "chain": "C" * LONGEST_SMILES,
    "branches": "C(" * 1665 + "C" + ")" * 1665,
    "rings": "C1CC1" * 1000,
    "rings that stay open": "".join(f"C%{10 + number % 90}" for number in range(1250)),
    "molecules": "C." * 2499 + "C",
    "centres": "[C@H](F)(Cl)" * 416,
    "brackets": "[" * LONGEST_SMILES,
}


@pytest.mark.deep
@pytest.mark.parametrize("smiles", LONG.values(), ids=LONG)
def test_the_longest_smiles_are_read_or_refused_in_seconds(smiles: str) -> None:
    began = time.process_time()
    try:
        once = canonical_reactants(smiles)
    except InvalidSmiles as error:
        assert len(str(error)) < 500
    else:
        assert smiles in (LONG["chain"], LONG["branches"], LONG["rings"], LONG["molecules"])
        assert once == canonical_reactants(smiles)
    assert time.process_time() - began < 20


@pytest.mark.deep
def test_smiles_that_are_too_long_end_commands_with_a_sentence(tmp_path: Path) -> None:
    long = "C" * 100_000
    (tmp_path / "data.csv").write_text(
        f"x,prediction,explanation\nCCO,{long},why\n{long},CC.O,why\n"
    )
    done = pxp("check", "data.csv", "drug", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "100,000 characters, and at most 5,000 are read" in done.stderr
    assert "line 2" in done.stderr and len(done.stderr) < 5_000
    assert "Traceback" not in done.stderr


@given(st.text(max_size=200))
def test_whatever_is_no_smiles_is_refused_in_few_printable_characters(text: str) -> None:
    try:
        canonical_reactants(text)
    except InvalidSmiles as error:
        assert str(error).isprintable()
        assert len(str(error)) < 2_000


def test_rdkit_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InvalidSmiles):
        canonical_reactants("C1CC.nonsense")
    assert capfd.readouterr() == ("", "")


def test_rdkit_is_not_imported_with_the_package() -> None:
    program = "import sys, pxp_fsm.plugins.drug.relations; sys.exit('rdkit' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
