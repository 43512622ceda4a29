"""Precedents: published reactions, and those that are most similar to a product.

`precedents.zip` has the training reactions of USPTO-50k; `PROVENANCE` in it says where they come
from, and `build.py` how they were packed.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Sequence
from dataclasses import field
from functools import cache, cached_property
from hashlib import sha256
from importlib import resources
from itertools import pairwise

from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.drug.retrosynthesis.disconnections import canonical_set
from pxp_fsm.plugins.drug.retrosynthesis.environments import (
    Bits,
    Integers,
    encode,
    environments,
    set_bits,
    similarities,
)

_AT_ONCE = 2048
"""Molecules whose fingerprints are computed together, which keeps them in the processor's cache."""


@dataclass(frozen=True, slots=True)
class Precedent:
    """A published reaction, by its number in a library; its texts are read when asked for."""

    among: Precedents = field(repr=False)
    number: int

    @property
    def product(self) -> str:
        """Canonical SMILES."""
        return self.among.products[self.number]

    @property
    def reactants(self) -> str:
        """Canonical SMILES, sorted and joined with dots."""
        return self.among.reactants[self.number]

    @property
    def template(self) -> int:
        """The number of its template."""
        return int(self.among.template[self.number])

    @property
    def patent(self) -> str:
        """The patent's number."""
        return self.among.patents[int(self.among.patent[self.number])]


@dataclass(frozen=True, eq=False)
class Precedents:
    """All published reactions, by number; a library is equal only to itself.

    `templates` are reaction SMARTS (product >> reactants), the most frequent first; `frequency`
    counts the reactions of each. By the number of the reaction, `template` has the number of its
    template, `patent` that of its patent within `patents`, and `products` and `reactants` have its
    SMILES. What searches need is computed by the first of them.
    """

    templates: tuple[str, ...]
    frequency: Integers
    template: Integers
    patent: Integers
    patents: tuple[str, ...]
    products: Texts
    reactants: Texts

    @cached_property
    def _bits(self) -> Bits:
        return _bits(self.products.codes, self.products.ends, self.products.tokens)

    @cached_property
    def _counts(self) -> Integers:
        return set_bits(self._bits)

    @cached_property
    def _order(self) -> Integers:
        import numpy as np

        return np.argsort(self.template, kind="stable")

    @cached_property
    def _compositions(self) -> Integers:
        return composition(self.products.codes, self.products.tokens)

    def __len__(self) -> int:
        return len(self.template)

    def __getitem__(self, number: int) -> Precedent:
        if not 0 <= number < len(self):
            raise IndexError(number)
        return Precedent(self, number)

    def having(self, template: int) -> Integers:
        """The numbers of the reactions that have the template of that number."""
        end = int(self.frequency[: template + 1].sum())
        return self._order[end - int(self.frequency[template]) : end]

    def similarity(self, product: str) -> Integers:
        """The Tanimoto coefficient of each reaction's product with `product` (SMILES)."""
        return similarities(fingerprints([product]), self._bits, self._counts)

    def of_product(self, product: str) -> list[int]:
        """The numbers of the reactions whose product is the molecule `product` (SMILES).

        Molecules are compared, not texts: some of the SMILES here are not what the installed
        version of RDKit writes for their molecule.
        """
        import numpy as np

        wanted = canonical_set(product)
        composed = self._compositions == composition(*encode([product]))[0]
        return [
            number
            for number in np.flatnonzero(composed).tolist()
            if canonical_set(self.products[number]) == wanted
        ]


@dataclass(frozen=True, slots=True)
class Texts:
    """SMILES in one array of codes of `tokens`, each ended by code 0; `ends` are their places."""

    codes: Integers
    ends: Integers
    tokens: tuple[str, ...]

    def __getitem__(self, number: int) -> str:
        return "".join(map(self.tokens.__getitem__, self.coded(number)[:-1].tolist()))

    def coded(self, number: int) -> Integers:
        """The codes of the SMILES of that number, with the 0 that ends it."""
        start = self.ends[number - 1] + 1 if number else 0
        return self.codes[start : self.ends[number] + 1]


def fingerprints(smiles: list[str]) -> Bits:
    """The fingerprints of `smiles` (valid SMILES), one column each."""
    return environments(*encode(smiles)).bits(len(smiles))


@cache
def builtin() -> Precedents:
    """The precedents that come with the package."""
    path = resources.files(__package__).joinpath("precedents.zip")
    return unpacked(path.read_bytes())


def unpacked(content: bytes) -> Precedents:
    """The precedents in the bytes of `precedents.zip`."""
    import numpy as np

    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        meta = json.loads(archive.read("meta.json"))
        codes = {name: _codes(archive, name) for name in ("products", "reactants")}
        template, patent = (
            np.frombuffer(archive.read(name), "<u2") for name in ("template", "patent")
        )
    tokens = tuple(meta["tokens"])
    texts = {
        name: Texts(array, np.flatnonzero(array == 0), tokens) for name, array in codes.items()
    }
    frequency = np.bincount(template, minlength=len(meta["templates"]))
    return Precedents(
        tuple(meta["templates"]),
        frequency,
        template,
        patent,
        tuple(meta["patents"]),
        texts["products"],
        texts["reactants"],
    )


def composition(codes: Integers, tokens: Sequence[str]) -> Integers:
    """A number for each molecule of `codes` (each ended by code 0) by its heavy atoms' elements.

    Molecules of the same elements have the same number, however they are written: the sum (modulo
    2^64) of a number of 64 bits for each atom, by its element. Hydrogens do not count.
    """
    import numpy as np

    value = np.array([_worth(token) for token in tokens], np.uint64)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(value[codes], dtype=np.uint64)])
    ends = np.flatnonzero(codes == 0) + 1
    starts = np.concatenate([np.zeros(1, np.intp), ends[:-1]])
    sums_of_molecules: Integers = sums[ends] - sums[starts]
    return sums_of_molecules


_ELEMENT = re.compile(r"\[\d*([A-Z][a-z]?|[a-z][a-z]?)|(Br|Cl|[A-Za-z])")


def _worth(token: str) -> int:
    """The number of an atom's element; 0 for a token that is no heavy atom."""
    match = _ELEMENT.match(token)
    element = (match.group(1) or match.group(2)).capitalize() if match else "H"
    return 0 if element == "H" else int.from_bytes(sha256(element.encode()).digest()[:8])


def _bits(codes: Integers, ends: Integers, tokens: tuple[str, ...]) -> Bits:
    """The fingerprints of the molecules whose SMILES end at `ends` in `codes`."""
    import numpy as np

    starts = [0, *(ends[_AT_ONCE - 1 :: _AT_ONCE] + 1), len(codes)]
    parts = [codes[start:end] for start, end in pairwise(starts) if start < end]
    return np.concatenate(
        [environments(part, tokens).bits(int(np.count_nonzero(part == 0))) for part in parts],
        axis=1,
    )


def _codes(archive: zipfile.ZipFile, name: str) -> Integers:
    import numpy as np

    return np.frombuffer(archive.read(name), np.uint8)
