"""A step in words: which bond it makes, by which reaction, from which functional groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from backends.models.retrosynthesis.disconnections import canonical_set
from backends.models.retrosynthesis.ranking import Candidate, occurrences
from backends.models.retrosynthesis.templates import Library

_NUMBERS = {2: "two", 3: "three", 4: "four"}


def explained(candidate: Candidate, library: Library) -> str:
    """Two sentences on `candidate`: the reaction and its bond, then the reactants."""
    template = candidate.template
    starting = [words.format(leaving=candidate.leaving) for words in template.starting]
    verb = "gives" if len(starting) == 1 and not starting[0].startswith("two ") else "give"
    name = template.name[0].upper() + template.name[1:]
    fragments = _fragments(candidate.reactants.split("."), library)
    are = "reactant is" if len(fragments) == 1 else "reactants are"
    return (
        f"{name} makes {template.bond}: {_listed(starting)} {verb} {template.gives}. "
        f"The {are} {_listed(fragments)}."
    )


def _fragments(reactants: Sequence[str], library: Library) -> list[str]:
    """Each different reactant in words, the largest first."""
    names = {canonical_set(smiles): name for smiles, name in library.reagents.items()}
    words = []
    by_size = sorted(Counter(reactants).items(), key=lambda item: (-_size(item[0]), item[0]))
    for smiles, count in by_size:
        name = names.get((smiles,)) or _described(smiles, library)
        words.append(name if count == 1 else f"{_NUMBERS.get(count, count)} equivalents of {name}")
    return words


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
