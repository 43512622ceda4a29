"""Random small systems of tables with rules, and claims about them."""

from __future__ import annotations

import random
from typing import Any

LABELS = ("A", "B")
STATES = ("S", "T", "U", "END")
COLOURS = ("RED", "GREEN", "BLUE")


def number(draw: random.Random, depth: int = 1) -> str:
    """An expression of whole numbers over the parameters and registers of a random table."""
    kind = draw.randrange(6 if depth else 4)
    if kind == 0:
        return str(draw.randint(0, 3))
    if kind < 3:
        return draw.choice(("c", "c", "n", "k"))
    if kind == 3:
        return f"{draw.randint(2, 3)} * {draw.choice(('c', 'n'))}"
    if kind == 4:
        return f"({number(draw, depth - 1)} {draw.choice('+-')} {number(draw, depth - 1)})"
    return f"({number(draw, 0)} if {condition(draw, 0)} else {number(draw, 0)})"


def condition(draw: random.Random, depth: int = 2, oracles: tuple[str, ...] = ()) -> str:
    """A condition over the parameters, registers and oracles of a random table."""
    kind = draw.randrange(8 if depth else 4)
    if kind < 2:
        return f"{number(draw)} {draw.choice(('<', '<=', '==', '!=', '>=', '>'))} {number(draw)}"
    if kind == 2:
        return draw.choice(("flag", *oracles))
    if kind == 3:
        colour = draw.choice(COLOURS)
        return draw.choice((f"hue == {colour}", f"hue != {colour}", f"hue in {{RED, {colour}}}"))
    if kind == 4:
        return f"not ({condition(draw, depth - 1, oracles)})"
    if kind == 5:
        return f"(true if {condition(draw, depth - 1, oracles)} else {condition(draw, 0, oracles)})"
    joined = draw.choice(("and", "or"))
    return f"({condition(draw, depth - 1, oracles)} {joined} {condition(draw, depth - 1, oracles)})"


def updates(draw: random.Random) -> dict[str, str]:
    """What a row does with registers; mostly it counts."""
    found = dict[str, str]()
    if draw.random() < 0.6:
        found["c"] = draw.choice(("c + 1", "c + 1", "0", number(draw), "n", "c + 1 if flag else c"))
    if draw.random() < 0.3:
        found["flag"] = draw.choice(("true", "false", "not flag", condition(draw, 1)))
    if draw.random() < 0.3:
        found["hue"] = draw.choice((*COLOURS, "RED if flag else hue"))
    return found


def table(draw: random.Random, sends: str, receives: str, partner: str) -> dict[str, Any]:
    """A table that sends one label and receives the other; T decides by rules."""
    rows = list[dict[str, Any]]()
    for source in ("S", "U"):
        row: dict[str, Any] = {"from": source, "to": draw.choice(("S", "T", "U", "END"))}
        match draw.randrange(4):
            case 0:
                row |= {"send": sends}
                if draw.random() < 0.6:
                    row["when"] = condition(draw)
            case 1:
                row |= {"receive": receives}
            case 2:
                row |= {"event": "TICK", "when": condition(draw)}
            case 3:
                row |= {"event": "TOCK", "when": condition(draw), "urgent": True}
        rows.append(row | ({"do": updates(draw)} if draw.random() < 0.7 else {}))
    near, far = draw.choice(("S", "U")), draw.choice(STATES)
    rows += [
        {"from": "T", "to": far, "guard": "YES", "send": sends, "do": updates(draw)},
        {"from": "T", "to": draw.choice(STATES), "guard": "NO", "event": "NOTHING"},
        {"from": draw.choice(("S", "U")), "to": "T", "receive": receives},
        {"from": near, "to": draw.choice(STATES), "event": "LEAVE", "when": condition(draw)},
    ]
    for row in rows:
        if "event" not in row:
            row["partner"] = partner
        if "event" in row and "guard" not in row:
            row["by"] = draw.choice(("self", "clock", "world"))
    found = {
        "format": 1,
        "name": f"of_{partner}",
        "title": "A random table",
        "initial": draw.choice(("S", "S", "T")),
        "final": ["END"],
        "states": [{"name": s} | ({"guards": ["YES", "NO"]} if s == "T" else {}) for s in STATES],
        "rows": rows,
        "parameters": {"n": {"min": draw.randint(0, 1)}, "k": {"min": 1}},
        "registers": {
            "c": {"init": 0},
            "flag": {"type": "bool", "init": False},
            "hue": {"of": [*COLOURS], "init": "RED"},
        },
        "oracles": {"asked": {}},
        "guards": {"YES": {"when": condition(draw, 1, ("asked",))}, "NO": {"when": "else"}},
    }
    if draw.random() < 0.4:
        found["each"] = {"message": {"c": "c + 1"}}
    return found


KEYS = ("key", "seen")
IDS: dict[str, Any] = {
    "type": "object",
    "required": ["x", "size"],
    "properties": {"x": {}, "size": {"type": "integer", "minimum": 0}},
}
"""What messages carry: an id and a number."""


def with_ids(
    draw: random.Random, raw: dict[str, Any], *, stores_answers: bool = True
) -> dict[str, Any]:
    """A random table, with ids that it remembers, is asked for, and compares."""
    registers = raw["registers"] | {key: {"type": "id"} for key in KEYS}
    rows = list[dict[str, Any]]()
    for row in raw["rows"]:
        more = dict[str, str]()
        of_message = () if "event" in row else ("msg.x", "msg.x", "msg", "msg.x if flag else key")
        asked = ("file",) if "guard" in row and stores_answers else ()
        for name in KEYS:
            if draw.random() < 0.5:
                more[name] = draw.choice((*KEYS, *of_message, *asked))
        if of_message and draw.random() < 0.3:
            more["c"] = draw.choice(("msg.size", "msg.size + 1", "c + 1 if msg.x == key else c"))
        rows.append(row | {"do": row.get("do", {}) | more})
    when = draw.choice(
        ("key == seen", "file == key", "not (key == seen or asked)", "file != seen and c < n")
    )
    return raw | {
        "registers": registers,
        "rows": rows,
        "oracles": raw["oracles"] | {"file": {"type": "id"}},
        "guards": raw["guards"] | {"YES": {"when": when}},
        "payloads": dict.fromkeys(LABELS, IDS),
    }


def claims_of_ids(draw: random.Random, members: tuple[str, ...]) -> list[dict[str, Any]]:
    """Claims about ids, some of which hold."""
    one, last = draw.choice(members), members[-1]
    texts = (
        f"{one}.at == END and {one}.key != {one}.seen",
        f"{one}.key == {last}.seen and {one}.c > n",
        f"over and {members[0]}.key != {last}.key",
    )
    steps = (
        f"tag == NONE or next.{one}.key == {one}.key or next.{one}.key == {one}.seen",
        f"tag != A or next.{one}.key == msg.x or next.{one}.key == {one}.key",
        f"tag != B or next.{one}.key == msg.x",
        f"tag == NONE or next.{one}.c == {one}.c or next.{one}.c == msg.size",
        f"kind != event or who != {one} or next.{one}.seen == {one}.seen",
    )
    return [
        *({"name": f"ids-{n}", "check": "never", "never": text} for n, text in enumerate(texts)),
        *({"name": f"moves-{n}", "check": "step", "step": text} for n, text in enumerate(steps)),
    ]


def claims(draw: random.Random, members: tuple[str, ...]) -> list[dict[str, Any]]:
    """Claims that are mostly plausible: some hold."""
    one = draw.choice(members)
    bound = draw.choice(("n", "k", "0", "1", "n + k", "2", "n + 1"))
    texts = (
        f"{one}.c > {bound}",
        f"{one}.c < 0",
        f"{one}.at == END and {one}.flag",
        f"{one}.hue == GREEN",
        f"{one}.at == U and {one}.c > {bound}",
        f"over and {members[0]}.c != {members[-1]}.c",
    )
    steps = (
        f"next.{one}.c >= {one}.c",
        f"tag != A or {one}.c <= {bound}",
        "kind == event or not over",
    )
    return [
        {"name": "ends", "check": "terminates"},
        {"name": "goes-on", "check": "never-stuck"},
        {"name": "decides", "check": "one-guard"},
        *({"name": f"never-{n}", "check": "never", "never": text} for n, text in enumerate(texts)),
        *({"name": f"step-{n}", "check": "step", "step": text} for n, text in enumerate(steps)),
    ]
