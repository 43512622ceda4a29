"""Grows the corpus of hostile messages: those that reach what none before them has reached.

    python -m tests.backends.corpus_growth FIRST LAST

Goes through the numbers from FIRST to LAST, at the channel and at the blackboard alone. A message
is kept if it runs through a pair of lines of ours that no kept one has run through, is refused for
another reason, or is stored with another kind of odd text. Writes `corpus/hostile.json`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from backends.databases import SqlBlackboard
from tests.backends import hostile_messages
from tests.backends.test_hostile import CORPUS, Target

OURS = re.compile(r"/(pxp_fsm/(channel|messages|automaton|machine)|backends/databases/\w+)\.py$")


class Reached:
    """Which line of ours was run after which, as a trace function of the interpreter."""

    def __init__(self) -> None:
        self.pairs: set[object] = set()

    def __call__(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        name = frame.f_code.co_filename
        if not OURS.search(name):
            return None
        before = frame.f_lineno

        def line(frame: FrameType, event: str, _argument: Any) -> Any:
            nonlocal before
            if event == "line":
                self.pairs.add((name, before, frame.f_lineno))
                before = frame.f_lineno
            return line

        return line


def reached(target: Target, number: int) -> tuple[str, set[object]]:
    """What the target says of a message, and what it reached."""
    found = Reached()
    sys.settrace(found)
    try:
        said = target.send(number)
    finally:
        sys.settrace(None)
    if said:
        reason = re.sub(r"'[^']*'|0x[0-9a-f]+|[0-9]+", "…", said.partition("refused")[2] or said)
        return said, found.pairs | {reason}
    answer = target.accepted[-1].answer
    odd = {
        f"stored {text!r}" for text in hostile_messages.TEXTS if text and text in answer.prediction
    }
    return said, found.pairs | odd


def main() -> None:
    kept: list[dict[str, Any]] = []
    for checked in (True, False):
        known: set[object] = set()
        with SqlBlackboard(":memory:") as board:
            target, after, length = Target(board, checked=checked), list[int](), 0
            for number in range(int(sys.argv[1]), int(sys.argv[2])):
                said, found = reached(target, number)
                if len(target.accepted) <= length and not said:
                    after = []  # a new session began with this message
                if found - known:
                    known |= found
                    says = re.split(r" at 0x|drug-1/", said.partition("refused")[2][:80])[0]
                    entry = {"checked": checked, "after": list(after), "number": number}
                    kept.append({**entry, "says": says})
                if not said:
                    after.append(number)
                length = len(target.accepted)
                if length >= 4:  # what is kept shall be short
                    target.renew()
                    after, length = [], 0
    Path(CORPUS).write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    print(
        len(kept), "messages are kept,", sum(not entry["says"] for entry in kept), "of them stored"
    )


if __name__ == "__main__":
    main()
