"""Explanations: the reaction, the bond, the reactants' functional groups, and the precedents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from pxp_fsm.plugins.drug.retrosynthesis.disconnections import canonical_set
from pxp_fsm.plugins.drug.retrosynthesis.proposals import Proposal, compiled
from pxp_fsm.plugins.drug.retrosynthesis.ranking import Candidate, Named, occurrences
from pxp_fsm.plugins.drug.retrosynthesis.templates import Library

CITED = 2
"""How many precedents an explanation names."""

_NUMBERS = {2: "two", 3: "three", 4: "four"}
_ELEMENTS = {
    5: "boron", 6: "carbon", 7: "nitrogen", 8: "oxygen", 9: "fluorine", 14: "silicon",
    15: "phosphorus", 16: "sulfur", 17: "chlorine", 35: "bromine", 50: "tin", 53: "iodine",
}  # fmt: skip
_ORDERS = {"SINGLE": "single", "DOUBLE": "double", "TRIPLE": "triple", "AROMATIC": "aromatic"}


def explained(candidate: Candidate, library: Library) -> str:
    """The pathway of `candidate` in whole sentences."""
    if candidate.named:
        first = _reaction(candidate.named[0])
    elif candidate.proposal is not None:
        first = f"The step {_change(candidate.proposal)}."
    else:
        raise ValueError("a candidate has a named reaction or precedents")
    reactants = _fragments(candidate.reactants.split("."), library)
    are = "reactant is" if len(reactants) == 1 else "reactants are"
    sentences = [first, f"The {are} {_listed(reactants)}."]
    support = () if candidate.proposal is None else candidate.proposal.support
    cited = [
        (neighbour.precedent.patent, neighbour.similarity) for neighbour in support
    ] or candidate.cited
    if cited:
        sentences.append(_cited(cited))
    return " ".join(sentences)


def _reaction(named: Named) -> str:
    """The named reaction and the bond that it makes."""
    template = named.template
    starting = [words.format(leaving=named.leaving) for words in template.starting]
    verb = "gives" if len(starting) == 1 and not starting[0].startswith("two ") else "give"
    name = template.name[0].upper() + template.name[1:]
    return f"{name} makes {template.bond}: {_listed(starting)} {verb} {template.gives}."


def _cited(precedents: Sequence[tuple[str, float]]) -> str:
    """The most similar precedents (patent and similarity, best first), each patent once."""
    patents: dict[str, float] = {}
    for patent, similarity in precedents:
        patents.setdefault(patent, similarity)
    cited = [
        f"{patent} (similarity {value:.2f})" for patent, value in list(patents.items())[:CITED]
    ]
    if len(cited) == 1:
        return f"The nearest precedent is in patent {cited[0]}."
    return f"The nearest precedents are in patents {_listed(cited)}."


def _change(proposal: Proposal) -> str:
    """What the extracted template does, in words, read forwards."""
    made, changed, lost = changes(proposal.template)
    parts = []
    if made:
        parts.append(f"makes {_listed(dict.fromkeys(made))}")
    if changed:
        parts.append(f"changes {_listed(dict.fromkeys(changed))}")
    if not parts and lost:
        parts.append(f"takes a group off {_listed(dict.fromkeys(lost))}")
    return " and ".join(parts) or "changes hydrogens or charges only"


@cache
def changes(template: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """What `template` (product >> reactants) makes of its reactants, in words.

    The bonds that are made, the bonds whose order changes, and the atoms that lose a group.
    """
    reaction = compiled(template)
    (product,), (reactants,) = reaction.GetReactants(), reaction.GetProducts()
    before = _bonds(reactants)
    atoms = {atom.GetAtomMapNum(): atom for atom in product.GetAtoms()}
    kept = {atom.GetAtomMapNum(): atom for atom in reactants.GetAtoms() if atom.GetAtomMapNum()}
    made, changed, lost = [], [], []
    for pair, order in sorted(_bonds(product).items()):
        first, other = (_element(atoms[number]) for number in pair)
        if pair not in before:
            made.append(f"the bond between {_a(first)} and {_a(other)}")
        elif before[pair] != order:
            made_of = (
                f"{_ORDERS.get(before[pair], 'other')} bond between {_a(first)} and {_a(other)}"
            )
            changed.append(f"the {made_of} into a {_ORDERS.get(order, 'different')} one")
    for number, atom in sorted(kept.items()):
        if any(not neighbour.GetAtomMapNum() for neighbour in atom.GetNeighbors()):
            lost.append(f"{_a(_element(atoms[number]))}" if number in atoms else "an atom")
    return tuple(made), tuple(changed), tuple(lost)


def _bonds(molecule: Any) -> dict[tuple[int, int], str]:
    """The order of each bond between numbered atoms, by their numbers."""
    orders = {}
    for bond in molecule.GetBonds():
        numbers = sorted((bond.GetBeginAtom().GetAtomMapNum(), bond.GetEndAtom().GetAtomMapNum()))
        if numbers[0]:
            orders[numbers[0], numbers[1]] = str(bond.GetBondType())
    return orders


def _element(atom: Any) -> str:
    name = _ELEMENTS.get(atom.GetAtomicNum(), "atom")
    return f"aromatic {name}" if atom.GetIsAromatic() else name


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def _fragments(reactants: Sequence[str], library: Library) -> list[str]:
    """Each different reactant in words, the largest first."""
    names = _names(tuple(library.reagents.items()))
    words = []
    by_size = sorted(Counter(reactants).items(), key=lambda item: (-_size(item[0]), item[0]))
    for smiles, count in by_size:
        name = names.get((smiles,)) or _described(smiles, library)
        words.append(name if count == 1 else f"{_NUMBERS.get(count, count)} equivalents of {name}")
    return words


@cache
def _names(reagents: tuple[tuple[str, str], ...]) -> dict[tuple[str, ...] | None, str]:
    return {canonical_set(smiles): name for smiles, name in reagents}


def _described(smiles: str, library: Library) -> str:
    """An unnamed reactant: its size, its most telling ring and up to two functional groups."""
    size = _size(smiles)
    rings = [name for name, smarts in library.rings.items() if occurrences(smiles, smarts)][:1]
    groups = [name for name, smarts in library.groups.items() if occurrences(smiles, smarts)][:2]
    compound = f"a compound of {size} heavy atom{'' if size == 1 else 's'}"
    return f"{compound} ({', '.join([*rings, *groups])})" if rings or groups else compound


def _size(smiles: str) -> int:
    return occurrences(smiles, "[!#1]")


def _listed(words: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
