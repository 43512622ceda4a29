"""What a developer's act on the result of a step costs, in UED (arXiv 2309.15943, section 4.2.1).

For simulated developers, and for whatever counts no keys itself: the least that leads to the act.
"""

from __future__ import annotations

import json

from pxp_fsm.lan.costs import cost
from pxp_fsm.lan.keystrokes import place_cost, text_cost
from pxp_fsm.lan.wildcards import HOLE

QUICK = "reason_type"
"""The field that buttons set."""

_SHORT = "\x01"
"""A hole within a text: one shortcut, where the cursor is."""


def act_cost(proposal: object, result: object | None, hint: str = "") -> int:
    """The least UED from a step's `proposal` to a developer's version and hint, sent by a button.

    `result` of None is the proposal as it is.
    """
    edited = 0 if result is None else value_cost(proposal, result)
    return edited + place_cost(0, len(hint)) + cost("answer")


def value_cost(before: object, after: object, key: str = "") -> int:
    """The least UED that turns one JSON value into another in an editor of JSON.

    Values are edited one by one where both have the same keys, else as the text that the editor
    shows.
    """
    if before == after and type(before) is type(after):
        return 0
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        return sum(value_cost(before[name], after[name], name) for name in before)
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return sum(map(value_cost, before, after))
    spent = text_cost(_shown(before), _shown(after))
    if after == HOLE:
        return min(spent, cost("hole"))
    return min(spent, cost("quick")) if key == QUICK else spent


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
    return text.replace(HOLE, _SHORT)
