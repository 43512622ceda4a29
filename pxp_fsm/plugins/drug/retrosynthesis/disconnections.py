"""Disconnections of a product: every template at every site, as checked sets of reactants."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache, lru_cache
from typing import Any, NamedTuple

from pxp_fsm.errors import NoAnswer
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.drug.retrosynthesis.templates import Library, Template

MAX_TEXT = 2_000
"""The longest SMILES that is read, in characters."""

MAX_ATOMS = 150
"""The largest product that is taken apart, in heavy atoms."""

_MAX_PLACES = 60


@dataclass(frozen=True, slots=True, order=True)
class Fragment:
    """A reactant: canonical SMILES, and the molecule (RDKit)."""

    smiles: str
    molecule: Any = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Disconnection:
    """One template at one place of a product, with one leaving group.

    `parts` are the reactants, sorted by their SMILES. A product that is reached from the same
    reactants by two templates has two disconnections.
    """

    parts: tuple[Fragment, ...]
    template: Template
    leaving: str

    @property
    def reactants(self) -> tuple[str, ...]:
        """The canonical SMILES of the reactants, sorted."""
        return tuple(part.smiles for part in self.parts)


def product_of(smiles: str) -> Any:
    """The molecule to take apart (RDKit): the largest component, without atom maps.

    Raises `NoAnswer` for text that is too long, that RDKit cannot read, or for a molecule that is
    empty or too large.
    """
    from rdkit import Chem

    if len(smiles) > MAX_TEXT:
        raise NoAnswer(f"a SMILES of {len(smiles)} characters; at most {MAX_TEXT} are read")
    molecule = _read(smiles)
    if molecule is None or molecule.GetNumAtoms() == 0:
        raise NoAnswer(f"{smiles[:80]!r} is not a SMILES that RDKit can read")
    parts = Chem.GetMolFrags(molecule, asMols=True) if "." in smiles else (molecule,)
    heavy = max(part.GetNumHeavyAtoms() for part in parts)
    largest, *others = (part for part in parts if part.GetNumHeavyAtoms() == heavy)
    if others:
        largest = min((largest, *others), key=Chem.MolToSmiles)
    if largest.GetNumHeavyAtoms() > MAX_ATOMS:
        count = largest.GetNumHeavyAtoms()
        raise NoAnswer(f"{smiles[:80]!r} has {count} heavy atoms; at most {MAX_ATOMS} are handled")
    if ":" in smiles:
        for atom in largest.GetAtoms():
            atom.SetAtomMapNum(0)
    # Canonical atom order, so that the same molecule is taken apart alike however it is written.
    written = Chem.MolToSmiles(largest)
    return largest if written == smiles else Chem.MolFromSmiles(written)


def canonical_set(smiles: str) -> tuple[str, ...] | None:
    """The components of `smiles` as sorted canonical SMILES; None where RDKit cannot read it."""
    if len(smiles) > MAX_TEXT:
        return None
    parts = [_canonical(part) for part in smiles.strip().split(".")]
    if any(part is None for part in parts):
        return None
    return tuple(sorted(part.smiles for part in parts if part and part.smiles))


def cut_out(outcome: Any) -> tuple[str, ...] | None:
    """The molecules of what RDKit has just cut out, as `canonical_set` gives them."""
    from rdkit import Chem

    parts = [
        _sanitized(fragment)
        for fragment in Chem.GetMolFrags(outcome, asMols=True, sanitizeFrags=False)
    ]
    return None if None in parts else tuple(sorted(part.smiles for part in parts if part))


def disconnections(product: Any, library: Library) -> tuple[Disconnection, ...]:
    """Every disconnection of `product` (an RDKit molecule), each once, in a fixed order."""
    from rdkit import Chem, rdBase

    itself = Chem.MolToSmiles(product)
    steps_by_key: dict[tuple[tuple[str, ...], str, str], Disconnection] = {}
    with rdBase.BlockLogs():
        for template in library.templates:
            for leaving, parts in _applied(template, product):
                step = Disconnection(parts, template, leaving)
                if itself not in step.reactants:
                    steps_by_key.setdefault((step.reactants, template.id, leaving), step)
    return tuple(steps_by_key[key] for key in sorted(steps_by_key))


def deriving(product: Any, reactants: tuple[str, ...], library: Library) -> frozenset[str]:
    """The ids of the templates by which `product` (an RDKit molecule) is made of `reactants`.

    These are canonical SMILES, sorted. The answer is that of all `disconnections`; places whose
    atoms cannot be those of the reactants are not finished, which takes most of their time.
    """
    from rdkit import Chem, rdBase

    if Chem.MolToSmiles(product) in reactants:
        return frozenset()
    wanted = _Wanted.of(reactants)
    with rdBase.BlockLogs():
        return frozenset(
            template.id
            for template in library.templates
            if any(
                reactants == tuple(part.smiles for part in parts)
                for _, parts in _applied(template, product, wanted)
            )
        )


class _Wanted(NamedTuple):
    """The atoms of reactants: the elements of each, sorted; their numbers; how many of each."""

    parts: list[list[int]]
    sizes: list[int]
    elements: Counter[int]

    @classmethod
    def of(cls, reactants: Iterable[str]) -> _Wanted:
        molecules = map(_canonical, reactants)
        parts = sorted(molecule.elements for molecule in molecules if molecule)
        elements = Counter(itertools.chain.from_iterable(parts))
        return cls(parts, sorted(map(len, parts)), elements)

    def are(self, parts: Sequence[Any]) -> bool:
        """Whether molecules that were cut out have these atoms."""
        sizes = sorted(part.GetNumAtoms() for part in parts)
        return sizes == self.sizes and self.parts == sorted(map(_elements, parts))


def _elements(molecule: Any) -> list[int]:
    """The atomic numbers of a molecule's atoms, sorted."""
    atoms = map(molecule.GetAtomWithIdx, range(molecule.GetNumAtoms()))
    return sorted(atom.GetAtomicNum() for atom in atoms)


def _applied(
    template: Template, product: Any, wanted: _Wanted | None = None
) -> Iterator[tuple[str, tuple[Fragment, ...]]]:
    """Leaving group and reactants of every place where `template` can have made `product`.

    With `wanted`, of places alone whose reactants have these atoms.
    """
    # RDKit finds the places in the same order whatever leaving group is put there.
    places: list[int] | None = None
    outcomes: Sequence[Any] | None = None
    atoms = product.GetNumAtoms()
    missing = 0 if wanted is None else sum(wanted.sizes) - atoms + template.lost
    for way in _compiled(template):
        if wanted is not None and not way.can_give(wanted, missing):
            continue
        if outcomes is None and not way.reaction.IsMoleculeReactant(product):
            return
        outcomes = way.reaction.RunReactants((product,), maxProducts=_MAX_PLACES)
        if wanted is not None and not any(map(wanted.are, outcomes)):
            continue
        if places is None:
            places = list(_sound_places(template, outcomes, atoms))
        for place in places:
            if wanted is not None and not wanted.are(outcomes[place]):
                continue
            cut = zip(outcomes[place], way.sizes, strict=True)
            parts = [_finished(part, size, template.inverts) for part, size in cut]
            if None not in parts:
                yield way.leaving, tuple(sorted(part for part in parts if part))


def _sound_places(template: Template, outcomes: Sequence[Any], atoms: int) -> Iterator[int]:
    """The numbers of the outcomes in which every atom of the product has one source.

    An atom that is found in two reactants, or is lost on the way, means that the pattern met a
    ring that it was not written for.
    """
    seen: set[tuple[tuple[int, ...], ...]] = set()
    for number, outcome in enumerate(outcomes):
        sources = tuple(_sources(part) for part in outcome)
        kept = sum(len(part) for part in sources)
        once = kept == len({index for part in sources for index in part})
        # Two ways round one bond are one place; the mapped atoms come first, in their order.
        if once and kept == atoms - template.lost and sources not in seen:
            seen.add(sources)
            yield number


def _sources(part: Any) -> tuple[int, ...]:
    """The product's atoms that `part` is made of, in the order of its own atoms."""
    atoms = map(part.GetAtomWithIdx, range(part.GetNumAtoms()))
    return tuple(
        atom.GetIntProp("react_atom_idx") for atom in atoms if atom.HasProp("react_atom_idx")
    )


def _finished(part: Any, size: int, inverts: int | None) -> Fragment | None:
    """A reactant that RDKit has just cut out; None if it is no molecule.

    Its first `size` atoms are the template's.
    """
    from rdkit import Chem

    for atom in map(part.GetAtomWithIdx, range(size)):
        if not atom.HasProp("old_mapno"):
            continue
        if atom.GetAtomicNum() == 6:
            atom.SetNoImplicit(False)
            atom.SetNumExplicitHs(0)
            plain = atom.GetChiralTag() == Chem.ChiralType.CHI_UNSPECIFIED
            if not plain and any(
                bond.GetBondType() != Chem.BondType.SINGLE for bond in atom.GetBonds()
            ):
                atom.SetChiralTag(Chem.ChiralType.CHI_UNSPECIFIED)
        if inverts is not None and atom.GetIntProp("old_mapno") == inverts:
            atom.InvertChirality()
    return _sanitized(part)


def _sanitized(cut: Any) -> Fragment | None:
    """A molecule that RDKit has just cut out; None if it is none."""
    from rdkit.Chem import PropertyPickleOptions

    return _unpacked(cut.ToBinary(PropertyPickleOptions.NoProps))


@lru_cache(maxsize=2_000)
def _unpacked(binary: bytes) -> Fragment | None:
    """The molecule in RDKit's binary format, which need not be sanitized; None if it is none."""
    from rdkit import Chem

    read: Any = Chem.Mol  # its declaration says that it takes text alone
    molecule = read(binary)
    molecule.UpdatePropertyCache(strict=False)
    if molecule.HasSubstructMatch(_torn()) or Chem.SanitizeMol(molecule, catchErrors=True):
        return None
    molecule.SetIntProp("_StereochemDone", 1)  # where no text shows any, there is none to clean
    smiles = _plain(molecule)
    if smiles and any(mark in smiles for mark in "@/\\"):
        molecule.ClearProp("_StereochemDone")
        smiles = _plain(molecule)
    return Fragment(smiles, molecule) if smiles else None


@cache
def _torn() -> Any:
    """An aromatic atom with two hydrogens: a template was applied to a part of a ring."""
    from rdkit import Chem

    return Chem.MolFromSmarts("[a;!H0;!H1]")


class _Canonical(NamedTuple):
    """A molecule as canonical SMILES, and the atomic numbers of its atoms, sorted."""

    smiles: str
    elements: list[int]


@lru_cache(maxsize=20_000)
def _canonical(smiles: str) -> _Canonical | None:
    """None where RDKit cannot read it, and where it is empty or a radical."""
    molecule = _read(smiles)
    text = None if molecule is None else _plain(molecule)
    return None if text is None else _Canonical(text, _elements(molecule))


def _plain(molecule: Any) -> str | None:
    """The canonical SMILES of `molecule` without atom maps; None if empty or a radical."""
    from rdkit import Chem

    text = str(Chem.MolToSmiles(molecule))
    if "[" not in text:  # nowhere else are atom maps and radicals
        return text or None
    mapped = False
    for atom in map(molecule.GetAtomWithIdx, range(molecule.GetNumAtoms())):
        if atom.GetNumRadicalElectrons():
            return None
        if atom.GetAtomMapNum():
            atom.SetAtomMapNum(0)
            mapped = True
    return str(Chem.MolToSmiles(molecule)) if mapped else text


def _read(smiles: str) -> Any:
    """An RDKit molecule, or None; SMILES extensions and names after a blank are not read."""
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():
        return Chem.MolFromSmiles(smiles, _settings())


@cache
def _settings() -> Any:
    from rdkit import Chem

    settings: Any = Chem.SmilesParserParams()
    settings.allowCXSMILES = False
    settings.parseName = False
    return settings


class _Way(NamedTuple):
    """A template with one leaving group: the reaction, and what it does to atoms.

    `sizes` are the template's atoms in each reactant, `added` how many atoms of each element the
    reactants have more than the product, `more` how many of all.
    """

    leaving: str
    reaction: Any
    sizes: list[int]
    added: Mapping[int, int]
    more: int

    def can_give(self, wanted: _Wanted, missing: int) -> bool:
        """Whether the reactants may be those, which have so many atoms more than the product."""
        return (
            self.more == missing
            and len(self.sizes) == len(wanted.sizes)
            and all(many <= wanted.elements[element] for element, many in self.added.items())
        )


@cache
def _compiled(template: Template) -> Sequence[_Way]:
    """Each leaving group of `template`."""
    from rdkit.Chem.rdChemReactions import ReactionFromSmarts

    ways = []
    for name, smarts in template.retros.items():
        reaction = ReactionFromSmarts(smarts)
        reaction.Initialize()
        sizes = [part.GetNumAtoms() for part in reaction.GetProducts()]
        mapped = {atom.GetAtomMapNum() for atom in reaction.GetReactantTemplate(0).GetAtoms()} - {0}
        written = [atom for part in reaction.GetProducts() for atom in part.GetAtoms()]
        added = Counter(a.GetAtomicNum() for a in written if a.GetAtomMapNum() not in mapped)
        ways.append(_Way(name, reaction, sizes, added, added.total()))
    return ways
