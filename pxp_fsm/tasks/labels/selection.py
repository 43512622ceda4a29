"""Rows of reports, drawn by their labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from guards.labels import NONE
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import option
from pxp_fsm.tasks.own_data import Record, sample
from pxp_fsm.tasks.task import PredictionKind


@dataclass(frozen=True, kw_only=True)
class LabelFilter:
    """What draws rows of each label that stands alone in a prediction, and rows of none."""

    per_label: tuple[str, ...] = option(
        "Draw N rows of each label, of the rows whose prediction is that label alone; none=N draws "
        "N rows whose prediction is none; repeatable.",
        (),
        metavar="N|none=N",
    )

    def keep(
        self, _table: Path, rows: Sequence[Record], seed: int, say: Callable[[str], None]
    ) -> Sequence[Record]:
        """The rows that are drawn, in their order; all of them where nothing is asked for."""
        if not self.per_label:
            return rows
        wanted = dict(map(_wanted, self.per_label))
        if len(wanted) < len(self.per_label):
            raise UsageError(f"N and {NONE}=N are each given once", "per_label")
        by_label: dict[str, list[Record]] = {}
        for record in rows:
            by_label.setdefault(_prediction(record), []).append(record)
        alone = {label: own for label, own in by_label.items() if label and "," not in label}
        normal = alone.pop(NONE, [])
        drawn: list[Record] = []
        for label, own in sorted(alone.items() if "" in wanted else ()):
            drawn += sample(own, wanted[""], seed, say, f" of {label}")
        if NONE in wanted:
            drawn += sample(normal, wanted[NONE], seed, say, f" of {NONE}")
        return sorted(drawn, key=lambda record: record[0])


def _wanted(text: str) -> tuple[str, int]:
    """How many rows of what: of each label (""), or of none."""
    name, equals, number = text.rpartition("=")
    several = number.isascii() and number.isdigit() and len(number) < 10 and int(number) > 0
    if not several or (equals and name != NONE):
        raise UsageError(f"{quoted(text)} is neither N nor {NONE}=N, such as 4", "per_label")
    return name, int(number)


def _prediction(record: Record) -> str:
    """What stands for the row, by the name that its column has."""
    names = ("prediction", PredictionKind.LABELS, PredictionKind.LABEL)
    return next((record[1][name].strip() for name in names if name in record[1]), "")
