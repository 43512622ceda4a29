"""Random valid tables, with prose that tries to break out of whatever it is written in."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.tables import parse_automaton

NAMES = ("A", "end", "state", "ON", "G", "If", "x_1", "module", "Next", "TRUE", "q", "len")
TAGS = ("ASK", "TELL", "init", "run", "F", "U", "EXTENDS", "chan", "c", "d", "next", "None")
GUARDS = ("G1", "G2", "G3")
NASTY = ("*/", "-->", "]]>", '"', "'", "\\", "\n", "\r", "\t", "\x00", "\x7f", "\\u0041", "&lt;")
PROSE = st.lists(st.one_of(st.sampled_from(NASTY), st.text(max_size=4)), max_size=3).map("".join)


@st.composite
def tables(draw: st.DrawFn, *, closed: bool = False) -> Automaton:
    """A table that the loader takes; `closed` ones need no peer and have no partners."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=5, unique=True))
    guarded = {name: draw(st.integers(0, 3)) for name in names[:-1]}
    used = {name: GUARDS[:count] for name, count in guarded.items()}
    rows = [row for place in range(len(names) - 1) for row in _leaving(draw, names, place, used)]
    rows += _backwards(draw, names, closed=closed)
    if closed:
        heard = {label for row in rows for label in row.get("receive", ())}
        rows += _listening(names, [r["send"][0] for r in rows if "send" in r], heard)
    _number(draw, rows)
    raw: dict[str, Any] = {
        "format": 1,
        "name": draw(st.sampled_from(("mine", "a_1", "module"))),
        "title": "t" + draw(PROSE),
        **({"note": draw(PROSE)} if draw(st.booleans()) else {}),
        **({"source": draw(PROSE)} if draw(st.booleans()) else {}),
        **({} if closed else {"peer": "other"}),
        "initial": names[0],
        "final": [names[-1], *draw(st.lists(st.sampled_from(names), max_size=1))],
        "states": [_state(draw, name, used.get(name, ())) for name in names],
        "rows": rows,
    }
    guards = dict.fromkeys(guard for state in raw["states"] for guard in state.get("guards", ()))
    if guards:
        raw["guards"] = {guard: draw(PROSE) for guard in guards}
    return parse_automaton(json.dumps(raw), "random.json")


def _state(draw: st.DrawFn, name: str, guards: tuple[str, ...]) -> dict[str, Any]:
    about = {"about": draw(PROSE)} if draw(st.booleans()) else {}
    deciding = {"guards": list(guards), "exclusive": True, "complete": True} if guards else {}
    return {"name": name, **about, **deciding}


def _leaving(
    draw: st.DrawFn, names: list[str], place: int, used: dict[str, tuple[str, ...]]
) -> list[dict[str, Any]]:
    """Rows to the next state, so that all are reached and none is a trap; one for each guard."""
    source, target = names[place], names[place + 1]
    tags = draw(st.permutations(TAGS[:6]))
    guards = used[source] or (None,)
    return [
        {"from": source, "to": target, "send": [tag], **({"guard": guard} if guard else {})}
        for guard, tag in zip(guards, tags, strict=False)
    ]


def _backwards(draw: st.DrawFn, names: list[str], *, closed: bool) -> list[dict[str, Any]]:
    """Rows anywhere that receive or happen, each of a label of its own."""
    kinds = draw(st.lists(st.sampled_from(("receive", "event")), max_size=3))
    rows = []
    for kind, labels in zip(kinds, (TAGS[6:8], TAGS[8:10], TAGS[10:12]), strict=False):
        sources = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
        chosen = list(labels[: draw(st.integers(1, 2))])
        partner = not closed and kind == "receive" and draw(st.booleans())
        rows.append(
            {
                "from": sources,
                "to": draw(st.sampled_from(names)),
                kind: chosen,
                **({"partner": draw(st.sampled_from(("hub", "parent")))} if partner else {}),
            }
        )
    return rows


def _listening(names: list[str], sent: list[str], heard: set[str]) -> list[dict[str, Any]]:
    """Whatever is sent can be taken in the first state and after it."""
    left = [tag for tag in dict.fromkeys(sent) if tag not in heard]
    return [{"from": names[:2], "to": names[1], "receive": left}] if left else []


def _number(draw: st.DrawFn, rows: list[dict[str, Any]]) -> None:
    numbers = draw(st.permutations(range(1, 2 * len(rows) + 1)))
    for row, number in zip(rows, numbers, strict=False):
        if draw(st.integers(0, 3)) == 0:
            row["number"] = number
