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
    """What keeps rows by the weight and the rings of their molecules."""

    where: tuple[str, ...] = option(
        "Molecules: keep those of this weight in g/mol, or with at least so many aromatic rings; "
        "repeatable.",
        (),
        metavar="weight=LOW:HIGH|rings=N",
    )

    def keep(
        self, table: Path, rows: Sequence[Record], _seed: int, _say: Callable[[str], None]
    ) -> Sequence[Record]:
        """The rows whose molecule, in column x, is as wanted."""
        if not self.where:
            return rows
        lowest, highest, fewest = float("-inf"), float("inf"), 0
        names = [condition.partition("=")[0] for condition in self.where]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise UsageError(f"{quoted(twice[0])} is given twice", "where")
        for condition in self.where:
            name, _, value = condition.partition("=")
            if name == "weight":
                lowest, highest = _range(value)
            elif name == "rings" and value.isascii() and value.isdigit() and len(value) < 10:
                fewest = int(value)
            else:
                raise UsageError(
                    f"{quoted(condition)} is neither weight=LOW:HIGH nor rings=N", "where"
                )
        kept = []
        for line, row in rows:
            smiles = row.get("x", "")
            try:
                heavy = lowest <= weight(smiles) <= highest
                if heavy and (not fewest or aromatic_rings(smiles) >= fewest):
                    kept.append((line, row))
            except DataError as error:
                raise DataError.at(table, line, f"column x: {error}") from error
        return kept


def _range(text: str) -> tuple[float, float]:
    low, colon, high = text.partition(":")
    try:
        bounds = float(low), float(high)
    except ValueError:
        bounds = 1.0, 0.0
    if not colon or not bounds[0] <= bounds[1]:
        raise UsageError(f"{quoted(text)} is no range such as 150:300", "where")
    return bounds
