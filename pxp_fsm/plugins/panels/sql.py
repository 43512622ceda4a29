"""Verdicts on a stored session of a panel, as SQL over its events and judgements.

They are those of `verdicts_of`, which has them in Python; the tests hold the two together. Nothing
but digests of texts is read, so that they are the same after an erasure.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

from backends.databases import SqlBlackboard
from pxp_fsm.plugins.panels.panel import WINDOW, Panel, PanelVerdict, Scheduling


def stored_verdicts(
    board: SqlBlackboard,
    session: str,
    panel: Panel,
    names: Sequence[str],
    *,
    window: int = WINDOW,
    upto: int | None = None,
) -> frozenset[PanelVerdict]:
    """What can be said of a stored session of `panel` between agents of these `names`.

    Only its messages `upto` a number count, by default all; of an impasse the last `window` answers
    of each channel.
    """
    links, rules = panel.links(names), panel.rules
    places = ", ".join(f"(:one{place}, :other{place})" for place in range(len(links)))
    values: dict[str, Any] = {"session": session, "n": rules.n, "reopen": int(panel.reopen)}
    values["upto"] = board.next_event(session) - 1 if upto is None else upto
    for place, (first, other) in enumerate(links):
        values |= {f"one{place}": first, f"other{place}": other}
    (row,) = board.query(_query("verdicts", places), window=window, **values)
    verdicts = {PanelVerdict(name) for name, holds in row.items() if holds}
    # The schedule decides whether the order of those that wait, and who spoke last, are state.
    (recurring,) = board.query(
        _query("oscillation", places),
        k=rules.k,
        limit=panel.limit or 0,
        queues=int(panel.schedule != Scheduling.FREE),
        turns=int(panel.schedule == Scheduling.ROUND_ROBIN),
        **values,
    )
    return frozenset(verdicts | {PanelVerdict.OSCILLATION} if any(recurring.values()) else verdicts)


def _query(name: str, links: str) -> str:
    return _text(name).replace("{links}", links)


@cache
def _text(name: str) -> str:
    return resources.files("pxp_fsm.plugins.panels").joinpath(f"{name}.sql").read_text("utf-8")
