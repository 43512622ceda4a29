"""Circular environments of the atoms of many molecules at once, and their similarity.

After the extended-connectivity fingerprints of Rogers and Hahn (J. Chem. Inf. Model. 2010, 50,
742): an atom is known by its element and its number of bonds, and in each round by what it is
bonded to.
All molecules go through NumPy together, so that the fingerprints of 40,000 precedents need not be
stored: they are computed from the SMILES when the precedents are loaded.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TOKEN = re.compile(r"\[[^\]]*\]|Br|Cl|%\d\d|[A-Za-z]|\d|[-=#$:/\\().~]")
"""One token of a SMILES."""

RADIUS = 2
"""Bonds from the centre of an environment to its rim."""

SIZE = 1024
"""Bits of a fingerprint."""

END = "\n"
"""The token after each SMILES; its code is 0."""

Integers: TypeAlias = "NDArray[Any]"
Bits: TypeAlias = "NDArray[np.uint64]"
"""Fingerprints, one column each: `SIZE` bits in words of 64."""

_ORDERS = {"-": 1, "/": 1, "\\": 1, "=": 2, "#": 3, ":": 4, "$": 5}
_AROMATIC = 4
_KINDS = 6
_ATOM, _OPEN, _CLOSE, _BOND, _RING, _APART = range(_KINDS)
_MARKS = {END: _APART, ".": _APART, "(": _OPEN, ")": _CLOSE}


@dataclass(frozen=True, slots=True)
class Environments:
    """The environments of the atoms of some molecules.

    `molecule` is the number of each atom's molecule (ascending), and `rounds[r]` the environment of
    radius r of each atom, as a hash of 32 bits.
    """

    molecule: Integers
    rounds: tuple[Integers, ...]

    def sets(self, molecules: int, least: int = 0) -> list[frozenset[int]]:
        """The environments of each of so many molecules, from radius `least` on."""
        import numpy as np

        edges = np.searchsorted(self.molecule, np.arange(molecules + 1))
        rounds = np.stack(self.rounds[least:])
        return [frozenset(rounds[:, start:end].ravel().tolist()) for start, end in pairwise(edges)]

    def bits(self, molecules: int) -> Bits:
        """The fingerprint of each of so many molecules: environments of radius 1 and more."""
        import numpy as np

        found = np.zeros((molecules, SIZE), bool)
        for environment in self.rounds[1:]:
            found[self.molecule, (environment >> np.uint32(7)) % np.uint32(SIZE)] = True
        return np.ascontiguousarray(np.packbits(found, axis=1).view(np.uint64).T)


def encode(texts: Iterable[str], known: Sequence[str] = (END,)) -> tuple[Integers, list[str]]:
    """The tokens of SMILES as codes, an `END` after each, and the token of each code.

    The first codes are those of the tokens `known`.
    """
    import numpy as np

    code = {token: number for number, token in enumerate(known)}
    codes = [
        code.setdefault(token, len(code)) for text in texts for token in (*TOKEN.findall(text), END)
    ]
    return np.array(codes, np.uint16), list(code)


def environments(codes: Integers, tokens: Sequence[str], radius: int = RADIUS) -> Environments:
    """The environments of the molecules whose SMILES are `codes`, each ended by code 0.

    The SMILES must be valid and without explicit hydrogens. Stereochemistry does not count.
    """
    import numpy as np

    kinds = np.array([_kind(token) for token in tokens], np.uint8)
    kind = kinds.take(codes)
    atoms = np.flatnonzero(kind == _ATOM)
    ends = np.searchsorted(atoms, np.flatnonzero(codes == 0))
    molecule = np.repeat(np.arange(len(ends), dtype=np.int32), np.diff(ends, prepend=0))
    first, second, order = _bonds(codes, kind, atoms, tokens)
    if not len(atoms):
        return Environments(molecule, (molecule.astype(np.uint32),) * (radius + 1))
    aromatic = np.array([_invariant(token)[1] for token in tokens]).take(codes.take(atoms))
    ring = np.where(aromatic.take(first) & aromatic.take(second), _AROMATIC, 1)
    weight = _mixed(np.where(order == 0, ring, order).astype(np.uint32))
    bonds = np.bincount(first, minlength=len(atoms)) + np.bincount(second, minlength=len(atoms))
    elements = np.array([_invariant(token)[0] for token in tokens], np.uint32).take(
        codes.take(atoms)
    )
    found = [_mixed(elements + bonds.astype(np.uint32))]
    for _ in range(radius):
        around = np.zeros(len(atoms), np.uint32)
        np.add.at(around, second, _mixed(found[-1].take(first) ^ weight))
        np.add.at(around, first, _mixed(found[-1].take(second) ^ weight))
        found.append(_mixed(_mixed(found[-1] + np.uint32(len(found))) + around))
    return Environments(molecule, tuple(found))


def similarities(one: Bits, others: Bits, counts: Integers) -> NDArray[np.float32]:
    """The Tanimoto coefficient of `one` with each of `others`, which have so many bits (`counts`).

    Two fingerprints without bits have 0.
    """
    import numpy as np

    common = set_bits(others & one)
    union = counts + set_bits(one) - common
    shares: NDArray[np.float32] = (common / np.maximum(union, 1)).astype(np.float32)
    return shares


def set_bits(fingerprints: Bits) -> Integers:
    """How many bits are set in each of `fingerprints`."""
    import numpy as np

    counts: Integers = np.bitwise_count(fingerprints).sum(axis=0, dtype=np.int16)
    return counts


def _bonds(
    codes: Integers, kind: Integers, atoms: Integers, tokens: Sequence[str]
) -> tuple[Integers, Integers, Integers]:
    """The two atoms of each bond, as numbers within `atoms`, and its order: 0 if not written."""
    import numpy as np

    orders = np.array([_ORDERS.get(token, 0) for token in tokens], np.uint8)
    # The tokens before an atom: its bond, if written, and what the bond comes from.
    written = np.where(atoms > 0, kind.take(atoms - 1) == _BOND, False)
    origin = atoms - 1 - written
    before = np.where(origin >= 0, kind.take(origin), _APART)
    order = np.where(written, orders.take(codes.take(atoms - 1)), 0)
    deeper = np.array([(found == _OPEN) - (found == _CLOSE) for found in range(_KINDS)], np.int16)
    depth = np.cumsum(deeper.take(kind), dtype=np.int16).take(atoms)
    # An atom is bonded to the one before it, but after a branch to the last one at its own depth.
    parent = np.arange(-1, len(atoms) - 1)
    opened = np.flatnonzero(before == _OPEN)
    opened = opened[kind.take(origin.take(opened) - 1) == _CLOSE]
    for level in range(int(depth.max(initial=-1)) + 1):
        same = np.flatnonzero(depth == level)
        after = np.flatnonzero(before.take(same) == _CLOSE)
        parent[same.take(after)] = same.take(after - 1)
        branches = opened[depth.take(opened) == level + 1]
        parent[branches] = same.take(np.searchsorted(same, branches) - 1)
    bonded = np.flatnonzero(before != _APART)
    ends = [(parent.take(bonded), bonded, order.take(bonded))]
    rings = np.flatnonzero(kind == _RING)
    numbers, owner = codes.take(rings), np.searchsorted(atoms, rings) - 1
    order = np.where(kind.take(rings - 1) == _BOND, orders.take(codes.take(rings - 1)), 0)
    for code in np.flatnonzero(np.bincount(numbers)):  # a number opens and closes a ring by turns
        places = np.flatnonzero(numbers == code)
        owners, each = owner.take(places), order.take(places)
        ends.append((owners[::2], owners[1::2], np.maximum(each[::2], each[1::2])))
    first, second, written = (np.concatenate(column) for column in zip(*ends, strict=True))
    return first, second, written


@cache
def _kind(token: str) -> int:
    if token[0] == "%" or token.isdigit():
        return _RING
    if token[0] == "[" or token.isalpha():
        return _ATOM
    return _MARKS.get(token, _BOND)


@cache
def _invariant(token: str) -> tuple[int, bool]:
    """What an atom is before its bonds are seen, as a hash; and whether it is aromatic.

    Hydrogens count at aromatic atoms only: elsewhere the bonds tell them.
    """
    if _kind(token) != _ATOM:
        return 0, False
    symbol = re.sub(r"[@\[\]]|^\[\d+|:\d+", "", token)
    aromatic = symbol[0].islower()
    if not aromatic:
        symbol = re.sub(r"(?<=.)H\d*", "", symbol)
    return zlib.crc32(symbol.encode()), aromatic


def _mixed(values: Integers) -> Integers:
    """`values` (32 bits) scattered over all 32-bit numbers."""
    import numpy as np

    values = values * np.uint32(0x9E3779B1)
    values ^= values >> np.uint32(15)
    values *= np.uint32(0x85EBCA77)
    values ^= values >> np.uint32(13)
    return values
