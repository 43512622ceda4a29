"""Messages as an enemy would send them, each made from a number alone so that it can be kept.

`message(n)` is the same on every machine; most of them are right in everything but one part.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from pxp_fsm.protocol.messages import Answer, Message, Tag

SESSION = "s-1/1/1"

TEXTS: Sequence[str] = (
    "",
    "y",
    "fish",
    "\x00",
    "a\x00b",
    "\ud800",
    "a\udfffb",
    "\udcff",
    "'; DROP TABLE entries; --",
    '"; DELETE FROM texts; --',
    "%s %(x)s :x ? $1 {} {0} %%",
    "\\",
    "\\x00 \\u0000",
    "../../../etc/passwd",
    "/dev/null",
    "C:\\CON",
    "file:///etc/passwd",
    "<script>alert(1)</script>",
    "[bold red]x[/]",
    "\x1b[2J\x1b]0;x\x07",
    "\r\n\r\n",
    "\u2028\u2029\x85\x0b\x0c",
    "\ufeff",
    "\u202egnirts",
    "e\u0301 \u00e9",
    "\U0001f9ea\U0010ffff\ufffe\uffff",
    "\x7f\x80\x9f",
    "NULL",
    "None",
    "nan",
    "-0",
    "1e309",
    '{"learned": true}',
    "[" * 1000,
    "RATIFY",
    "=cmd|' /C calc'!A0",
    "${jndi:ldap://x}",
    "x" * 10_000,
)
ODDITIES: Sequence[Any] = (None, 0, 1, True, 1.0, b"bytes", (), [], {}, float("nan"), object())
NUMBERS: Sequence[Any] = (
    -1,
    0,
    2**31,
    2**63,
    2**64,
    10**30,
    True,
    1.0,
    2.0,
    "1",
    None,
    float("inf"),
)
TAGS: Sequence[Any] = (*map(str, Tag), "init", "SHOUT", " INIT", "INIT\x00", "ＩＮＩＴ", "")
AGENTS: Sequence[Any] = ("m", "h", "x", "M", "m ", "", "m\x00", "'; --")
SESSIONS: Sequence[Any] = (SESSION, "s-1/1/2", "s-1", "", "s-1/1/1\x00", "s-1/1/1'; --", "../1")
HUGE = 10_000_000
"""The size of the largest texts, in characters."""


def message(number: int, next_number: int, turn: str, tags: Sequence[str]) -> Message:
    """The hostile message `number` where the next one is `next_number`, `turn` speaks, in `tags`.

    Of twenty, twelve have one wrong part, seven several, one none (but its texts may be odd).
    """
    chosen = random.Random(number)
    other, rare = "h" if turn == "m" else "m", chosen.random() < 0.05
    parts: dict[str, Any] = {
        "session": SESSION,
        "number": next_number,
        "sender": turn,
        "tag": chosen.choice([tag for tag in tags if tag != "TERM" or rare] or ["TERM"]),
        "prediction": _text(chosen),
        "explanation": _text(chosen),
        "receiver": other,
    }
    wrong = chosen.choice((0, *[1] * 12, *[chosen.randint(2, 7)] * 7))
    for part in chosen.sample(sorted(parts), wrong):
        parts[part] = _wrong(chosen, part, next_number)
    answer: Any = Answer(parts.pop("prediction"), parts.pop("explanation"))
    if wrong and chosen.random() < 0.02:
        answer = chosen.choice(ODDITIES)
    return Message(payload=answer, **parts)


def _text(chosen: random.Random) -> str:
    kind = chosen.random()
    if kind < 0.8:
        return f"{chosen.choice(('', 'y', chosen.choice(TEXTS)))}{chosen.randrange(50)}"
    if kind < 0.99996:
        return "".join(chosen.choices(TEXTS, k=chosen.randint(1, 3)))
    return chr(chosen.randint(1, 0xD7FF)) * HUGE


def _wrong(chosen: random.Random, part: str, next_number: int) -> Any:
    if chosen.random() < 0.1:
        return chosen.choice(ODDITIES)
    if part == "number":
        near = (next_number - 1, next_number + 1, float(next_number), str(next_number))
        return chosen.choice((*NUMBERS, *near))
    choices = {"tag": TAGS, "sender": AGENTS, "receiver": AGENTS, "session": SESSIONS}
    return chosen.choice((*choices.get(part, TEXTS), chosen.choice(TEXTS)))
