"""MATCH of the DRUG task: two predictions are the same if they name the same molecules.

RDKit (rdkit.org) is loaded at the first question, not with this module.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain, islice
from typing import Any

from guards.lexicon import WEIGHTS, Lexicon, PatternMatch, smiles_like
from pxp_fsm.artifacts import package_fingerprint
from pxp_fsm.errors import DataError, require_extra
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.relations import EQUIVALENCE, Assumption, Outcome

RDKIT = {"rdkit": "RDKit"}
"""The module that chemistry needs, and its package's name."""

LONGEST_SMILES = 5_000
"""Characters read in one text; RDKit can take seconds for more, and nothing interrupts it."""

MOST_CHARGE, MOST_ISOTOPE = 15, 999
"""What an atom may have (OpenSMILES, section 3.1); RDKit reads [C+256] as [C], without a word."""

SHOWN = 80
"""Characters of an untrusted text that an error repeats."""

LONGEST_REASON = 160
"""Characters of RDKit's own reason (it may list every atom)."""


SMALLEST = 5
"""Heavy atoms of the smallest molecule whose size counts where explanations are compared."""

MOST_SMILES = 20
"""How many SMILES are read in one explanation."""

LONGEST_STATED = 300
"""Characters of the longest SMILES that is read in an explanation."""

_FILES = ("reactions.toml", "relations.py")
_BRACKETS = re.compile(r"\[(?P<isotope>[0-9]*)[^\[\]0-9+-][^\[\]+-]*(?:[+-]+(?P<charge>[0-9]+))?")
_HEAVY_ATOMS = re.compile(r"compound of (\d{1,3}) heavy atom")


class InvalidSmiles(DataError):
    """A text that is no SMILES: `molecule` (counted from 1) of `text` is wrong, for `reason`."""

    def __init__(self, text: str, reason: str, molecule: int = 1, molecules: int = 1) -> None:
        self.text = text
        self.reason = reason
        self.molecule = molecule
        which = f"molecule {molecule} of {molecules} in " if molecules > 1 else ""
        super().__init__(f"{which}{_shown(text)} is not a valid SMILES: {reason}")


@dataclass(frozen=True)
class Reactants:
    """Two texts are the same if their molecules, joined with ".", are the same set.

    Order, spelling (canonical SMILES), atom maps and explicit hydrogens do not count, nor how
    often a molecule is named; stereochemistry, isotopes, charges, salts and tautomers do.
    """

    name = "chemistry"
    assumptions: frozenset[Assumption] = EQUIVALENCE

    async def holds(self, left: str, right: str) -> Outcome:
        same = canonical_reactants(left) == canonical_reactants(right)
        return Outcome.YES if same else Outcome.NO


def canonical_reactants(smiles: str) -> frozenset[str]:
    """The set of canonical SMILES of the molecules in `smiles`; raises `InvalidSmiles`."""
    return frozenset(canonical_smiles(smiles).split("."))


@lru_cache(maxsize=1024)
def canonical_smiles(smiles: str) -> str:
    """The molecules of `smiles`, each spelled canonically, in order; raises `InvalidSmiles`.

    Each molecule must stand by itself: ring bonds across a "." are refused.
    """
    if len(smiles) > LONGEST_SMILES:
        reason = f"it has {len(smiles):,} characters, and at most {LONGEST_SMILES:,} are read"
        raise InvalidSmiles(smiles, reason)
    parts = [part.strip() for part in smiles.split(".")]
    molecules = []
    for number, part in enumerate(parts, start=1):
        try:
            molecules.append(_canonical_molecule(part))
        except ValueError as error:
            whose = f" (it is {_shown(part)})" if part and len(parts) > 1 else ""
            raise InvalidSmiles(smiles, f"{error}{whose}", number, len(parts)) from None
    return ".".join(sorted(molecules))


def _canonical_molecule(smiles: str) -> str:
    """One molecule's canonical SMILES; a `ValueError` says why there is none."""
    _require_rdkit()
    from rdkit import Chem, rdBase

    if not smiles:
        raise ValueError("it is empty")
    for place, character in enumerate(smiles, start=1):
        if not "!" <= character <= "~":
            raise ValueError(f"{_shown(character)} at position {place} is not allowed in a SMILES")
    for atom in _BRACKETS.finditer(smiles):
        for quantity, most in (("charge", MOST_CHARGE), ("isotope", MOST_ISOTOPE)):
            if int((atom[quantity] or "0")[:4]) > most:
                raise ValueError(f"the {quantity} of {_shown(atom[0])} is above {most}")
    with rdBase.BlockLogs():
        try:
            molecule = Chem.MolFromSmiles(smiles)
            if molecule is None:
                raise ValueError(_reason(smiles)[:LONGEST_REASON])
        except RuntimeError as error:  # a precondition of RDKit's that it does not check itself
            raise ValueError(f"RDKit fails on it: {str(error).splitlines()[0]}") from error
        for atom in molecule.GetAtoms():
            atom.SetAtomMapNum(0)
        # Read anew: what stereochemistry is left without the maps, RDKit sees only when reading.
        plain = Chem.MolFromSmiles(Chem.MolToSmiles(molecule))
        if plain is None:
            raise ValueError("RDKit cannot read its own canonical form of it")
        return str(Chem.MolToSmiles(plain))


@cache
def _require_rdkit() -> None:
    require_extra("drug", "reading molecules", RDKIT)


def _reason(smiles: str) -> str:
    """Why RDKit refuses `smiles`, in its own words as far as they can be had."""
    from rdkit import Chem, rdBase

    raw = Chem.MolFromSmiles(smiles, sanitize=False)
    if raw is not None:
        problems = Chem.DetectChemistryProblems(raw)
        return problems[0].Message() if problems else "RDKit gives no reason"
    capture = getattr(rdBase, "CaptureErrorLog", None)  # not in RDKit 2025.9
    if capture is None:
        return "it cannot be parsed"
    with capture() as log:
        Chem.MolFromSmiles(smiles)
    lines = [line.split("SMILES Parse Error: ", 1)[-1] for line in log.messages.splitlines()]
    reason = lines[0].split(" while parsing")[0].split(" for input")[0] if lines else ""
    where = [line.removeprefix("check for mistakes ").rstrip(":") for line in lines[1:2]]
    return " ".join([reason or "it cannot be parsed", *where])


def _shown(text: str) -> str:
    """`text` as an error may repeat it: quoted, bounded, nothing that moves a cursor."""
    start = text[:SHOWN]
    safe = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in start)
    return f"'{safe}'" + (" …" if len(text) > SHOWN else "")


@dataclass(frozen=True, slots=True)
class ReactionReading:
    """A class of reaction read in a text, and the words that it was read from."""

    name: str
    score: int
    evidence: tuple[str, ...]


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(
        files("pxp_fsm.plugins.drug").joinpath("reactions.toml").read_text("utf-8")
    )


@cache
def lexicon() -> Lexicon:
    """The lexicon of classes that comes with this package."""
    return Lexicon(_table())


@cache
def _statements() -> Lexicon:
    """The lexicon of what a text states of any reaction: bonds and functional groups."""
    return Lexicon(_table() | {"classes": _table()["statements"]})


@lru_cache(maxsize=256)
def statements(text: str) -> frozenset[str]:
    """The bonds and functional groups that `text` states, by their names in `reactions.toml`."""
    return frozenset(match.pattern.name for match in _statements().find(text))


@lru_cache(maxsize=256)
def read_classes(text: str) -> tuple[ReactionReading, ...]:
    """The classes of reaction that `text` tells of, highest score first.

    A class scores the weights of its patterns that do not overlap. What speaks for a general
    class speaks for each narrower one that is read as well, and the general one is left out.
    """
    matches: dict[str, list[PatternMatch]] = defaultdict(list)
    for match in sorted(lexicon().find(text), key=_order):
        taken = matches[match.pattern.name]
        if not any(match.overlaps(other) for other in taken):
            taken.append(match)
    general = set(chain.from_iterable(map(lexicon().ancestors, matches)))
    narrow = [pattern_match for name in matches.keys() - general for pattern_match in matches[name]]
    readings = []
    for name in matches.keys() - general:
        wider = chain.from_iterable(
            matches.get(ancestor, ()) for ancestor in lexicon().ancestors(name)
        )
        mine = matches[name] + [
            pattern_match for pattern_match in wider if not any(map(pattern_match.overlaps, narrow))
        ]
        score = sum(pattern_match.pattern.weight for pattern_match in mine)
        readings.append(
            ReactionReading(name, score, tuple(pattern_match.evidence for pattern_match in mine))
        )
    return tuple(sorted(readings, key=lambda reading: (-reading.score, reading.name)))


def best_classes(text: str) -> frozenset[str]:
    """The classes that `read_classes` scores highest; where it reads none, that of its structures.

    A general class (one that others lie within) counts only where no narrow one is named or
    described.
    """
    readings = read_classes(text)
    if not readings:
        stated = statements(text)
        fitting = (
            structure["class"]
            for structure in _table()["structures"]
            if stated.issuperset(structure["states"])
        )
        return frozenset(islice(fitting, 1))
    general = set(lexicon().parents.values())
    sure = [
        reading
        for reading in readings
        if reading.name not in general and reading.score > WEIGHTS["hinted"]
    ]
    rivals = sure or readings
    return frozenset(rival.name for rival in rivals if rival.score == rivals[0].score)


def contradict(left: str, right: str) -> bool:
    """Whether no one reaction is what both texts state.

    Either they state only different ones of what a reaction has one of (the element whose bond is
    made, an aldehyde or a ketone, the kind of ester), or each states the sizes of two molecules or
    more, and none of them is of one size.
    """
    left_statements, other = statements(left), statements(right)
    for family in map(frozenset, _table()["contradictions"]):
        if left_statements & family and other & family and not left_statements & other & family:
            return True
    sizes, others = stated_sizes(left), stated_sizes(right)
    return len(sizes) > 1 and len(others) > 1 and not sizes & others


@lru_cache(maxsize=256)
def stated_sizes(text: str) -> frozenset[int]:
    """The heavy atoms of the molecules that `text` states as SMILES or by their number of atoms.

    Molecules of fewer than `SMALLEST` do not count, as they may be groups.
    """
    _require_rdkit()
    from rdkit import Chem, rdBase

    sizes = {int(number) for number in _HEAVY_ATOMS.findall(text)}
    with rdBase.BlockLogs():
        for smiles in islice(smiles_like(text), MOST_SMILES):
            bare = smiles[1:-1] if smiles.startswith("(") and smiles.endswith(")") else smiles
            molecule = Chem.MolFromSmiles(bare) if len(bare) <= LONGEST_STATED else None
            sizes |= {molecule.GetNumHeavyAtoms()} if molecule is not None else set()
    return frozenset(size for size in sizes if size >= SMALLEST)


def _order(match: PatternMatch) -> tuple[int, int, int, int]:
    return -match.pattern.weight, match.sentence, match.first, match.last


@dataclass(frozen=True)
class SameReaction:
    """Two explanations agree if their best readings share a class, or one's lies within another's.

    Unsure where a text names no class, so a text may be unsure of itself; and not transitive: a
    "nucleophilic substitution" agrees with an SNAr and with an N-alkylation.

    Nor do they agree where they `contradict` each other: in what is stated beside the class.

    An approximation: it takes the words for what they say, knows one sentence at a time, and
    denies coarsely. Measured on 200 pairs of bundled explanations and the machine's, labelled by
    one reader, no chemist: 49 agree by the labels; it finds all of them, and 2 others. The lexicon
    was revised on these pairs (before: 38 of the 49, and 8 others). On 100 pairs of explanations
    by a language model and the machine's, 37 agree by the labels; it finds 33, and 5 others.
    Compared with no model judge so far.
    """

    assumptions = frozenset({Assumption.DETERMINISTIC, Assumption.SYMMETRIC})

    @property
    def name(self) -> str:
        """With a fingerprint of what the answers depend on: the lexicon and the code."""
        files = package_fingerprint(
            __package__, _FILES, package_fingerprint("guards", ("lexicon.py",))
        )
        return f"same reaction class (approximation {files})"

    async def holds(self, left: str, right: str) -> Outcome:
        first, second = best_classes(left), best_classes(right)
        if not first or not second:
            return Outcome.UNSURE
        known = lexicon()
        first_wide = first.union(*map(known.ancestors, first))
        second_wide = second.union(*map(known.ancestors, second))
        same = first & second_wide or second & first_wide
        return Outcome.YES if same and not contradict(left, right) else Outcome.NO
