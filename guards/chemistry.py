"""MATCH of the DRUG task: two predictions are the same if they name the same molecules.

RDKit (rdkit.org) is loaded at the first question, not with this module.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from pxp_fsm.errors import DataError
from pxp_fsm.relations import EQUIVALENCE, Assumption, Outcome

LONGEST_SMILES = 5_000
"""Characters read in one text; RDKit can take seconds for more, and nothing interrupts it."""

SHOWN = 80
"""Characters of an untrusted text that an error repeats."""

LONGEST_REASON = 160
"""Characters of RDKit's own reason (it may list every atom)."""


class InvalidSmiles(DataError):
    """A text that is no SMILES: `molecule` (counted from 1) of `text` is wrong, for `reason`."""

    def __init__(self, text: str, reason: str, molecule: int = 1, molecules: int = 1) -> None:
        self.text = text
        self.reason = reason
        self.molecule = molecule
        which = f"molecule {molecule} of {molecules} in " if molecules > 1 else ""
        super().__init__(f"{which}{_shown(text)} is no valid SMILES: {reason}")


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
    found = []
    for number, part in enumerate(parts, start=1):
        try:
            found.append(_canonical_molecule(part))
        except ValueError as error:
            whose = f" (it is {_shown(part)})" if part and len(parts) > 1 else ""
            raise InvalidSmiles(smiles, f"{error}{whose}", number, len(parts)) from None
    return ".".join(sorted(found))


def _canonical_molecule(smiles: str) -> str:
    """One molecule's canonical SMILES; a `ValueError` says why there is none."""
    from rdkit import Chem, rdBase

    if not smiles:
        raise ValueError("it is empty")
    for place, character in enumerate(smiles, start=1):
        if not "!" <= character <= "~":
            raise ValueError(f"{_shown(character)} at position {place} has no place in a SMILES")
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
            raise ValueError("RDKit cannot read its own spelling of it")
        return str(Chem.MolToSmiles(plain))


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
    what = lines[0].split(" while parsing")[0].split(" for input")[0] if lines else ""
    where = [line.removeprefix("check for mistakes ").rstrip(":") for line in lines[1:2]]
    return " ".join([what or "it cannot be parsed", *where])


def _shown(text: str) -> str:
    """`text` as an error may repeat it: quoted, bounded, nothing that moves a cursor."""
    start = text[:SHOWN]
    safe = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in start)
    return f"'{safe}'" + (" …" if len(text) > SHOWN else "")
