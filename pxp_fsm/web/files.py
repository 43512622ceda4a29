"""The explorer as one file that needs no server and no network: page, system and states.

The states are embedded, so that the page follows moves without knowing what a system is; verdicts
are those that were computed when the file was written.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict
from typing import Any, Generic, TypeVar

from proofs.logic import parse
from proofs.systems import Composition
from proofs.systems.folding import Fold, folds
from pxp_fsm.web.checks import standard_results
from pxp_fsm.web.guard import digest
from pxp_fsm.web.pages import static
from pxp_fsm.web.subjects import SystemSubject
from pxp_fsm.web.views import BlockedView, MoveView, ResultView, StatePicture, StateView, Views

T = TypeVar("T", bound=Hashable)

MOST_STATES = 20_000
"""The states that are embedded if nothing else is said."""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>pxp serve</title>
<style>{style}</style>
</head>
<body>
<div id="app"></div>
<script type="application/octet-stream" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def explorer_file(
    subject: SystemSubject, limit: int = MOST_STATES, formulas: Sequence[str] = ()
) -> str:
    """The explorer of a system as HTML, with at most `limit` states and the verdicts.

    Raises `UsageError` for a formula that cannot be read.
    """
    for formula in formulas:
        parse(formula)
    views = Views(subject.system())
    results = tuple(standard_results(subject, formulas=formulas))
    text = json.dumps(
        embedded(views, results, limit, subject.choices), separators=(",", ":"), ensure_ascii=False
    )
    data = base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), mtime=0)).decode()
    script, style = static("explorer.js"), static("base.css") + static("explorer.css")
    policy = (
        f"default-src 'none'; script-src {digest(script)}; style-src {digest(style)}; "
        f"img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return _PAGE.format(policy=policy, style=style, data=data, script=script)


class _Table(Generic[T]):
    """Values that are written once, and then by their number."""

    def __init__(self) -> None:
        self.numbers: dict[T, int] = {}

    def number(self, value: T) -> int:
        return self.numbers.setdefault(value, len(self.numbers))

    def all(self, values: Iterable[T]) -> list[int]:
        return list(map(self.number, values))


def embedded(
    views: Views, results: Sequence[ResultView], limit: int, begin: Sequence[int] = ()
) -> dict[str, Any]:
    """The reachable states of a system, breadth first, as a page reads them from a file.

    A state is `at`, `settled` and `buffers` by numbers of `texts`, `moves` and their `targets`,
    `blocked`, `propositions`, whether it has `ended`, and its `deadlock`; `cut` are those whose
    moves are left out, since there are more than `limit` states. `begin` is the trace with which
    the page begins.
    """
    composition = views.composition
    numbers, order = {views.start: 0}, [views.start]
    moves, blocked, texts = _Table[MoveView](), _Table[BlockedView](), _Table[str]()
    states = list[dict[str, Any]]()
    for state in order:  # grows while it is read
        view = views.state(state)
        targets = [state + move.difference for move in composition.moves(state)]
        new = [target for target in dict.fromkeys(targets) if target not in numbers]
        cut = len(order) + len(new) > limit
        for target in () if cut else new:
            numbers[target] = len(order)
            order.append(target)
        states.append(
            {
                **_state(view, texts),
                "moves": [] if cut else moves.all(view.moves),
                "targets": [] if cut else [numbers[target] for target in targets],
                "blocked": blocked.all(view.blocked),
                **({"cut": True} if cut else {}),
            }
        )
    return {
        "system": asdict(views.system()),
        "moves": [asdict(move) for move in moves.numbers],
        "blocked": [asdict(move) for move in blocked.numbers],
        "texts": list(texts.numbers),
        "states": states,
        "graphs": {fold: _graph(composition, fold, order) for fold in folds(composition)},
        "results": [asdict(result) for result in results],
        "limit": limit,
        "begin": list(begin),
    }


def _graph(composition: Composition, fold: Fold, states: Sequence[int]) -> dict[str, Any]:
    """The picture of the reachable states, and the number of the node of each state."""
    picture = StatePicture(composition, fold)
    view = asdict(picture.view(()))
    return {**view, "numbers": list(map(picture.number, states))}


def _state(view: StateView, texts: _Table[str]) -> dict[str, Any]:
    return {
        "at": texts.all(view.at),
        "settled": texts.all(view.settled),
        "buffers": [texts.all(buffer) for buffer in view.buffers],
        "propositions": texts.all(view.propositions),
        **({"ended": True} if view.ended else {}),
        **({"deadlock": asdict(view.deadlock)} if view.deadlock else {}),
    }
