"""Rows of reports, drawn by their labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from guards.labels import NONE
from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import option
from pxp_fsm.tasks.own_data import Record, sample
from pxp_fsm.tasks.task import PredictionKind


@dataclass(frozen=True, kw_only=True)
class LabelFilter:
    """Options that draw rows of each label that stands alone in a prediction, and rows of none."""

    per_label: int | None = option(
        "Draw N rows of each label, of the rows whose prediction is that label alone.",
        None,
        least=1,
    )
    normals: int | None = option(
        "With --per-label: draw N rows whose prediction is none.", None, least=1
    )

    def keep(
        self, _table: Path, rows: Sequence[Record], seed: int, say: Callable[[str], None]
    ) -> Sequence[Record]:
        """The rows that are drawn, in their order; all of them where nothing is asked for."""
        if self.per_label is None:
            if self.normals is not None:
                raise UsageError("this requires --per-label", "normals")
            return rows
        by_label: dict[str, list[Record]] = {}
        for record in rows:
            by_label.setdefault(_prediction(record), []).append(record)
        alone = {label: own for label, own in by_label.items() if label and "," not in label}
        normal = alone.pop(NONE, [])
        drawn: list[Record] = []
        for label, own in sorted(alone.items()):
            drawn += sample(own, self.per_label, seed, say, f" of {label}")
        if self.normals is not None:
            drawn += sample(normal, self.normals, seed, say, f" of {NONE}")
        return sorted(drawn, key=lambda record: record[0])


def _prediction(record: Record) -> str:
    """What stands for the row, by the name that its column has."""
    names = ("prediction", PredictionKind.LABELS, PredictionKind.LABEL)
    return next((record[1][name].strip() for name in names if name in record[1]), "")
