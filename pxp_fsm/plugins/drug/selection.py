"""Rows of molecules, selected by what the molecules are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pxp_fsm.errors import DataError, UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import option
from pxp_fsm.plugins.drug.molecules import aromatic_rings, weight
from pxp_fsm.tasks.own_data import Record


@dataclass(frozen=True, kw_only=True)
class MoleculeFilter:
    """Options that keep rows by the weight and the rings of their molecules."""

    weight: str | None = option(
        "Molecules: keep those of this weight in g/mol, such as 150:300.", None, metavar="LOW:HIGH"
    )
    rings: int | None = option(
        "Molecules: keep those with at least N aromatic rings.", None, least=0
    )

    def keep(
        self, table: Path, rows: Sequence[Record], _seed: int, _say: Callable[[str], None]
    ) -> Sequence[Record]:
        """The rows whose molecule, in column x, is as wanted."""
        if self.weight is None and self.rings is None:
            return rows
        lowest, highest = _range(self.weight)
        kept = []
        for line, row in rows:
            smiles = row.get("x", "")
            try:
                heavy = lowest <= weight(smiles) <= highest
                if heavy and aromatic_rings(smiles) >= (self.rings or 0):
                    kept.append((line, row))
            except DataError as error:
                raise DataError.at(table, line, f"column x: {error}") from error
        return kept


def _range(text: str | None) -> tuple[float, float]:
    if text is None:
        return float("-inf"), float("inf")
    low, colon, high = text.partition(":")
    try:
        bounds = float(low), float(high)
    except ValueError:
        bounds = 1.0, 0.0
    if not colon or not bounds[0] <= bounds[1]:
        raise UsageError(f"{quoted(text)} is no range such as 150:300", "weight")
    return bounds
