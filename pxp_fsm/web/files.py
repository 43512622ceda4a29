"""The explorer as one file that needs no server and no network: page, system, pictures, verdicts.

A state is the numbers of its parts: where each member is, and what is on its way on each link.
What can happen, and why something cannot, depends on few parts at a time; the file has these
answers in tables, from which the page puts each state together without knowing what a system is.
So the file grows with the tables of a system, and not with its states. Verdicts are those that were
computed when the file was written.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict
from itertools import accumulate
from operator import or_
from typing import Any, Generic, TypeVar

from proofs.logic import parse
from proofs.systems.encoding import Encoding, Local
from proofs.systems.folding import Fold, ReachedStates, folds, reach
from proofs.systems.options import Options, RowReason
from proofs.systems.product import Move
from pxp_fsm.artifacts import policy_digest
from pxp_fsm.web import verdicts
from pxp_fsm.web.bundles import static
from pxp_fsm.web.subjects import SystemSubject
from pxp_fsm.web.views import MOST_STATES, MoveView, ResultView, StatePicture, Views

T = TypeVar("T", bound=Hashable)
A = TypeVar("A")

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
    subject: SystemSubject, formulas: Sequence[str] = (), limit: int = verdicts.MOST_STATES
) -> str:
    """The explorer of a system as HTML, with the verdicts, each after at most `limit` states.

    Raises `UsageError` for a formula that cannot be read.
    """
    for formula in formulas:
        parse(formula)
    views = Views(subject.system())
    results = tuple(verdicts.standard_results(subject, formulas, limit))
    text = json.dumps(
        embedded(views, results, subject.choices), separators=(",", ":"), ensure_ascii=False
    )
    data = base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), mtime=0)).decode()
    script, style = static("explorer.js"), static("base.css") + static("explorer.css")
    policy = (
        f"default-src 'none'; script-src {policy_digest(script)}; "
        f"style-src {policy_digest(style)}; img-src data: blob:; "
        f"base-uri 'none'; form-action 'none'"
    )
    return _PAGE.format(policy=policy, style=style, data=data, script=script)


class _Table(Generic[T]):
    """Values that are written once, and then by their number."""

    def __init__(self) -> None:
        self.numbers: dict[T, int] = {}

    def number(self, value: T) -> int:
        return self.numbers.setdefault(value, len(self.numbers))


def embedded(
    views: Views, results: Sequence[ResultView], begin: Sequence[int] = ()
) -> dict[str, Any]:
    """What a page reads from a file; `begin` is the trace with which it begins.

    `start` has the numbers of the first state's parts. `parts` say by these numbers where a member
    is, [state, settled guard, whether it may end there], or what is on a link's way, and which
    propositions that makes true. `happens` are tables of moves, each for the numbers of the parts
    `on` which it depends: the number of a move, and what the parts are then. `reasons` are those
    why rows can do nothing, by member. `deadlocks` are words on states as a whole. Numbers that
    none of the nearest `MOST_STATES` states has are left out, and the page says so there.
    """
    composition = views.composition
    reached, options = reach(composition, MOST_STATES), Options(composition)
    encoding, states = composition.encoding, reached.parents
    moves, texts = _Table[MoveView](), _Table[str]()

    def happening(state: int, parts: Sequence[int], available: list[Move]) -> list[list[Any]]:
        return [
            [moves.number(views.move(move)), _numbers(encoding, state + move.difference, parts)]
            for move in available
        ]

    def reasoned(_: int, parts: Sequence[int], row_reasons: list[RowReason]) -> list[list[int]]:
        rows = views.rows[parts[0]]
        return [[rows[row], texts.number(str(reason))] for row, reason in row_reasons]

    happens = [_by_parts(encoding, states, local, happening) for local in composition.local_moves]
    reasons = [
        [_by_parts(encoding, states, local, reasoned) for local in locals_]
        for locals_ in options.local_reasons
    ]
    return {
        "system": asdict(views.system()),
        "start": _numbers(encoding, views.start),
        "parts": _parts(views, states, happens),
        "happens": happens,
        "reasons": reasons,
        "moves": [asdict(move) for move in moves.numbers],
        "texts": list(texts.numbers),
        "deadlocks": [
            [_numbers(encoding, state), asdict(deadlock)]
            for state in states
            if state in reached.deadlocks and (deadlock := views.deadlock(state)) is not None
        ],
        "graphs": {fold: _graph(reached, fold) for fold in folds(composition)},
        "results": [asdict(result) for result in results],
        "complete": reached.complete,
        "begin": list(begin),
    }


def _numbers(encoding: Encoding, state: int, parts: Iterable[int] | None = None) -> list[int]:
    """The numbers of these parts of a state, or of all."""
    all_parts = encoding.parts
    places = range(len(all_parts)) if parts is None else parts
    return [all_parts[place].of(state) for place in places]


def _mask(encoding: Encoding, parts: Iterable[int]) -> int:
    *_, mask = accumulate((encoding.parts[place].bits for place in parts), or_, initial=0)
    return mask


def _by_parts(
    encoding: Encoding,
    states: Iterable[int],
    local: Local[A],
    written: Callable[[int, Sequence[int], A], list[Any]],
) -> dict[str, Any]:
    """What depends on parts of a state alone, for each combination of their numbers."""
    mask = _mask(encoding, local.parts)
    keys = sorted({state & mask for state in states})
    table = {
        ",".join(map(str, _numbers(encoding, key, local.parts))): written(
            key, local.parts, local.of(key)
        )
        for key in keys
    }
    return {"on": local.parts, "table": table}


def _parts(
    views: Views, states: Iterable[int], happens: Iterable[dict[str, Any]]
) -> list[dict[int, list[Any]]]:
    """What the numbers of each part mean, and the propositions that are true then."""
    composition, by_part = views.composition, []
    met = [set(map(part.of, states)) for part in composition.encoding.parts]
    for local in happens:  # these lead to states beyond the ones that were reached
        for moves in local["table"].values():
            for _, numbers in moves:
                for place, number in zip(local["on"], numbers, strict=True):
                    met[place].add(number)
    for place, part in enumerate(composition.encoding.parts):
        meanings = dict[int, list[Any]]()
        for number in sorted(met[place]):
            key = number << part.shift
            here = composition.encoding.configuration(key)
            true = sorted(views.propositions(key, place))
            if place < len(here.at):
                settled = here.chosen[place] if here.chosen else ""
                ended = number in composition.finals[place]
                meanings[number] = [here.at[place], settled, ended, true]
            else:
                meanings[number] = [here.buffers[place - len(here.at)], true]
        by_part.append(meanings)
    return by_part


def _graph(reached: ReachedStates, fold: Fold) -> dict[str, Any]:
    """The picture of the reachable states, and the number of the node of each state in it."""
    picture, encoding = StatePicture(reached, fold), reached.composition.encoding
    of = range(len(encoding.fields)) if fold is Fold.CONTROL else range(len(encoding.parts))
    numbers = {
        ",".join(map(str, _numbers(encoding, state, of))): number
        for state in reached.parents
        if (number := picture.number(state)) is not None
    }
    return {**asdict(picture.view(())), "on": list(of), "numbers": numbers}
