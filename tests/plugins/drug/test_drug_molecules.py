"""The textbook molecules of the DRUG task: every row is sound chemistry, checked atom by atom."""

import csv
import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.resources import files

import pytest
from rdkit import Chem
from rdkit.Chem import Descriptors

from pxp_fsm.plugins.drug.pictures import draw_molecules
from pxp_fsm.plugins.drug.retrosynthesis import precedents_of
from tests.sampling import sampled

LEAST = {"sessions": 20, "validation": 36, "test": 36}
HELD_OUT = {"phenylephrine": "US07745665B2"}
"""References of steps that stand in the test part of USPTO-50k, not among the precedents."""
QUERY_BOND = {
    Chem.BondType.SINGLE: "-",
    Chem.BondType.DOUBLE: "=",
    Chem.BondType.TRIPLE: "#",
    Chem.BondType.AROMATIC: ":",
}


@dataclass(frozen=True)
class Row:
    """One line of the table; the fields are its columns."""

    set: str
    name: str
    smiles: str
    reactants: str
    reagents: str
    byproducts: str
    reaction: str
    bond: str
    pathway: str
    reference: str


def read_rows() -> list[Row]:
    """Return the table's rows, as packaged."""
    table = files("pxp_fsm.plugins.drug").joinpath("molecules.csv")
    lines = csv.DictReader(io.StringIO(table.read_text(encoding="utf-8"), newline=""))
    return [Row(**line) for line in lines]


ROWS = read_rows()
every_row = pytest.mark.parametrize("row", sampled(ROWS, 3), ids=lambda row: row.name)


def molecule(smiles: str) -> Chem.Mol:
    """Return the molecule, or fail with the SMILES that could not be read."""
    mol = Chem.MolFromSmiles(smiles)
    assert mol is not None, f"unreadable SMILES {smiles!r}"
    return mol


def canonical(smiles: str) -> str:
    """Return the canonical SMILES of one molecule or ion."""
    return Chem.MolToSmiles(molecule(smiles))


def formula(smiles: str) -> Counter[str]:
    """Count the atoms, hydrogens included, and the net charge of a dotted SMILES."""
    counts: Counter[str] = Counter()
    for part in filter(None, smiles.split(".")):
        mol = Chem.AddHs(molecule(part))
        counts.update(atom.GetSymbol() for atom in mol.GetAtoms())
        counts["charge"] += Chem.GetFormalCharge(mol)
    return counts


def balance_fault(row: Row) -> str:
    """Say how reactants + reagents differ from product + byproducts; empty if they do not."""
    left = formula(row.reactants)
    left.update(formula(row.reagents))
    right = formula(row.smiles)
    right.update(formula(row.byproducts))
    off = {
        key: left[key] - right[key] for key in left.keys() | right.keys() if left[key] != right[key]
    }
    return f"{row.name}: left minus right is {off}" if off else ""


def bond_choices(product: Chem.Mol, smarts: str) -> set[int]:
    """Return the indices of the product bonds that one SMARTS names by :1 and :2."""
    query = Chem.MolFromSmarts(smarts)
    assert query is not None, f"unreadable SMARTS {smarts!r}"
    maps = [atom.GetAtomMapNum() for atom in query.GetAtoms()]
    assert sorted(filter(None, maps)) == [1, 2], f"{smarts!r} needs :1 and :2, each once"
    first, second = maps.index(1), maps.index(2)
    found = set()
    for match in product.GetSubstructMatches(query, uniquify=False):
        bond = product.GetBondBetweenAtoms(match[first], match[second])
        assert bond is not None, f"{smarts!r}: :1 and :2 are not bonded"
        found.add(bond.GetIdx())
    return found


def namings(product: Chem.Mol, smarts: list[str]) -> Iterator[frozenset[int]]:
    """Yield every way to take one bond per SMARTS, no bond twice."""
    if not smarts:
        yield frozenset()
        return
    for rest in namings(product, smarts[1:]):
        for bond in bond_choices(product, smarts[0]) - rest:
            yield rest | {bond}


def fragments(product: Chem.Mol, named: frozenset[int]) -> list[Chem.Mol]:
    """Cut the named bonds; return the pieces as queries, the largest first.

    Bond orders are exact, but open in a ring that holds a named bond, as that ring is formed.
    """
    rings = product.GetRingInfo().BondRings()
    loose = {bond for ring in rings if named & set(ring) for bond in ring}
    query = Chem.RWMol()
    for atom in product.GetAtoms():
        query.AddAtom(Chem.AtomFromSmarts(f"[#{atom.GetAtomicNum()}]"))
    for bond in product.GetBonds():
        if bond.GetIdx() not in named:
            ends = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
            query.AddBond(*ends, Chem.BondType.SINGLE)
            order = "~" if bond.GetIdx() in loose else QUERY_BOND[bond.GetBondType()]
            index = query.GetBondBetweenAtoms(*ends).GetIdx()
            query.ReplaceBond(index, Chem.BondFromSmarts(order))
    pieces = Chem.GetMolFrags(query.GetMol(), asMols=True, sanitizeFrags=False)
    return sorted(pieces, key=lambda piece: -piece.GetNumAtoms())


def placed(row: Row, named: frozenset[int], need_all: bool = True) -> bool:
    """Say whether the fragments fit disjointly into the reactants, leaving (if asked) none unused.

    A lone atom, such as the oxygen of water, may come from a reagent instead.
    """
    reactants, reagents = molecule(row.reactants), molecule(row.reagents)
    parts = [frozenset(part) for part in Chem.GetMolFrags(reactants)]
    size = reactants.GetNumAtoms()
    host = Chem.CombineMols(reactants, reagents)
    options: list[list[frozenset[int]]] = []
    for piece in fragments(molecule(row.smiles), named):
        sites = map(frozenset, host.GetSubstructMatches(piece, maxMatches=100_000))
        lone = piece.GetNumAtoms() == 1
        options.append([site for site in sites if lone or max(site) < size])

    def fits(rest: list[list[frozenset[int]]], used: frozenset[int]) -> bool:
        if not rest:
            return not need_all or all(part & used for part in parts)
        return any(fits(rest[1:], used | site) for site in rest[0] if not site & used)

    return fits(options, frozenset())


def bond_fault(row: Row) -> str:
    """Say why the named bonds do not account for the product; empty if they do."""
    product, smarts = molecule(row.smiles), row.bond.split()
    unmatched = [one for one in smarts if not bond_choices(product, one)]
    if unmatched or not smarts:
        return f"{row.name}: no bond of the product matches {unmatched or row.bond!r}"
    if any(placed(row, named) for named in namings(product, smarts)):
        return ""
    return f"{row.name}: cut at {row.bond}, the product does not come from {row.reactants}"


def by_name(name: str) -> Row:
    """Return the row of one drug."""
    return next(row for row in ROWS if row.name == name)


def test_sets_are_large_enough() -> None:
    sizes = Counter(row.set for row in ROWS)
    assert sizes.keys() == LEAST.keys()
    assert sizes["sessions"] == LEAST["sessions"]
    assert all(sizes[key] >= least for key, least in LEAST.items()), sizes


def test_no_molecule_and_no_name_comes_twice() -> None:
    flat = [Chem.MolToSmiles(molecule(row.smiles), isomericSmiles=False) for row in ROWS]
    assert not [smiles for smiles, count in Counter(flat).items() if count > 1]
    assert not [name for name, count in Counter(row.name for row in ROWS).items() if count > 1]


def test_no_reaction_crowds_out_the_others() -> None:
    for key in LEAST:
        reactions = Counter(row.reaction for row in ROWS if row.set == key)
        assert max(reactions.values()) <= reactions.total() / 5


@every_row
def test_molecule_is_small_and_aromatic(row: Row) -> None:
    mol = molecule(row.smiles)
    assert 150 <= Descriptors.MolWt(mol) <= 300  # type: ignore[attr-defined]  # rdkit adds it at import
    assert any(atom.GetIsAromatic() for atom in mol.GetAtoms())


@every_row
def test_smiles_are_canonical_and_sorted(row: Row) -> None:
    assert row.smiles == canonical(row.smiles)
    for column in (row.reactants, row.reagents, row.byproducts):
        parts = [part for part in column.split(".") if part]
        assert parts == sorted(map(canonical, parts))
    assert row.reactants


@every_row
def test_words_are_filled_in(row: Row) -> None:
    assert row.name == row.name.lower() and row.reaction and row.pathway.endswith(".")


@every_row
def test_a_reference_is_the_patent_that_has_this_very_step(row: Row) -> None:
    """Every molecule that the precedents have stands with a step of theirs and its patent."""
    published = precedents_of(row.smiles)
    patents = {one.patent for one in published if one.reactants == row.reactants}
    held_out = HELD_OUT.get(row.name)
    assert row.reference in patents if published else row.reference == (held_out or "")


@every_row
def test_atoms_and_charge_balance(row: Row) -> None:
    assert balance_fault(row) == ""


@every_row
def test_named_bonds_account_for_the_product(row: Row) -> None:
    assert bond_fault(row) == ""


@every_row
def test_no_named_bond_is_idle(row: Row) -> None:
    if placed(row, frozenset(), need_all=False):
        return  # the step only takes a group off; the bond says where
    smarts = row.bond.split()
    for skip in range(len(smarts)):
        fewer = namings(molecule(row.smiles), smarts[:skip] + smarts[skip + 1 :])
        assert not any(placed(row, named) for named in fewer), f"{smarts[skip]} is not needed"


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("paracetamol", {"reactants": "CC(=O)OC(C)=O.Nc1cccc(O)c1"}),  # meta isomer
        ("paracetamol", {"bond": "[c:1]-[OH:2]"}),  # a bond that the step does not make
        ("paracetamol", {"bond": "[C:1]#[N:2]"}),  # a bond that the product does not have
        ("lidocaine", {"reactants": "CCCNC.Cc1cccc(C)c1NC(=O)CCl"}),  # isomeric amine
        ("sotalol", {"bond": "[CH2:1]-[NH:2]"}),  # the ketone is left unexplained
        ("phenytoin", {"bond": "[C:1](c)(c)-[NH:2]"}),  # two more bonds are made
        ("hymecromone", {"reactants": "CCOC(=O)CC(C)=O.Oc1ccc(O)cc1"}),  # para isomer
        ("primaquine", {"reactants": by_name("primaquine").reactants + ".C"}),  # idle reactant
    ],
)
def test_a_wrong_row_is_rejected(name: str, change: dict[str, str]) -> None:
    assert bond_fault(replace(by_name(name), **change))


def test_a_missing_byproduct_is_noticed() -> None:
    assert "'O': 2" in balance_fault(replace(by_name("paracetamol"), byproducts=""))


def test_what_is_no_molecule_is_not_drawn() -> None:
    for text in ("", "not a molecule", "C |$x$|", "C name", "C" * 2000, "[Zz]", "C1CC"):
        assert draw_molecules(text) == ()
    (drawing,) = draw_molecules("CC(=O)Nc1ccc(O)cc1.CCO")
    assert "<svg" in drawing.svg
