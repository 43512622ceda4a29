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
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from pxp_fsm.lazy_dataclasses import dataclass

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

_AT_ONCE = 256
"""Molecules whose bits are set together, which keeps them in the processor's cache."""

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

        rows = (self.molecule % _AT_ONCE).astype(np.intp) * SIZE
        places = [
            rows + ((codes_of_round >> np.uint32(7)) & np.uint32(SIZE - 1))
            for codes_of_round in self.rounds[1:]
        ]
        packed = np.empty((molecules, SIZE // 8), np.uint8)
        bitmap = np.empty((_AT_ONCE, SIZE), bool)
        batches = range(0, molecules, _AT_ONCE)
        edges = np.searchsorted(self.molecule, [*batches, molecules]).tolist()
        for batch, edge in zip(batches, pairwise(edges), strict=True):
            bitmap.fill(False)
            for place in places:
                bitmap.reshape(-1)[place[slice(*edge)]] = True
            part = packed[batch : batch + _AT_ONCE]
            part[:] = np.packbits(bitmap[: len(part)], axis=1)
        return np.ascontiguousarray(packed.view(np.uint64).T)


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

    kind = np.array([_kind(token) for token in tokens], np.uint8).take(codes)
    atoms = np.flatnonzero(kind == _ATOM)
    ends = np.searchsorted(atoms, np.flatnonzero(codes == 0))
    molecule = np.repeat(np.arange(len(ends), dtype=np.int32), np.diff(ends, prepend=0))
    if not len(atoms):
        return Environments(molecule, (molecule.astype(np.uint32),) * (radius + 1))
    first, second, order = _bonds(codes, kind, atoms, tokens)
    element, aromatic = zip(*map(_invariant, tokens), strict=True)
    code = codes.take(atoms)
    inside = np.array(aromatic).take(code)
    ring = np.where(inside.take(first) & inside.take(second), np.uint8(_AROMATIC), np.uint8(1))
    weights = _mixed(np.arange(1 + max(_ORDERS.values()), dtype=np.uint32))
    weight = weights.take(np.where(order == 0, ring, order))
    bonds = np.bincount(first, minlength=len(atoms)) + np.bincount(second, minlength=len(atoms))
    rounds = [_mixed(np.array(element, np.uint32).take(code) + bonds.astype(np.uint32))]
    for _ in range(radius):
        around = np.zeros(len(atoms), np.uint32)
        np.add.at(around, second, _mixed(rounds[-1].take(first) ^ weight))
        np.add.at(around, first, _mixed(rounds[-1].take(second) ^ weight))
        rounds.append(_mixed(_mixed(rounds[-1] + np.uint32(len(rounds))) + around))
    return Environments(molecule, tuple(rounds))


def similarities(fingerprint: Bits, others: Bits, counts: Integers) -> NDArray[np.float32]:
    """The Tanimoto coefficient of `fingerprint` with each of `others`.

    `counts` are the numbers of bits of the others.

    Two fingerprints without bits have 0.
    """
    import numpy as np

    common = set_bits(others & fingerprint)
    union = counts + set_bits(fingerprint) - common
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

    orders = np.array([_ORDERS.get(token, 0) for token in tokens], np.uint8).take(codes)
    number = np.cumsum(kind == _ATOM, dtype=np.intp) - 1
    # The tokens before an atom: its bond, if written, and what the bond comes from. The last token
    # is an end, and so stands before the first.
    origin = atoms - 1 - (kind.take(atoms - 1) == _BOND)
    bonded = np.flatnonzero(kind.take(origin) != _APART)
    parent = _branching(kind, number).take(origin.take(bonded))
    chain = (parent, bonded, orders.take(atoms.take(bonded) - 1))
    # A number opens and closes a ring by turns.
    rings = np.flatnonzero(kind == _RING)
    rings = rings.take(np.argsort(codes.take(rings), kind="stable"))
    owner, written = number.take(rings), orders.take(rings - 1)
    closure = (owner[::2], owner[1::2], np.maximum(written[::2], written[1::2]))
    first, second, order = map(np.concatenate, zip(chain, closure, strict=True))
    return first, second, order


def _branching(kind: Integers, number: Integers) -> Integers:
    """The number of the atom that a bond after each token comes from.

    That is the last atom so far (`number`), but at a bracket the one that bears the branch.
    """
    import numpy as np

    brackets = np.flatnonzero((kind == _OPEN) | (kind == _CLOSE))
    opening = kind.take(brackets) == _OPEN
    depth = np.cumsum(np.where(opening, 1, -1), dtype=np.int16) + ~opening
    opened, closed = brackets.take(np.argsort(depth, kind="stable")).reshape(-1, 2).T
    bearers = number.copy()
    bearers[closed] = number.take(opened)
    # A branch right after another one is of the same atom.
    follows = kind.take(opened - 1) == _CLOSE
    opened, closed = opened[follows], closed[follows]
    while (bearers.take(opened) != (bearer := bearers.take(opened - 1))).any():
        bearers[opened] = bearers[closed] = bearer
    return bearers


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
