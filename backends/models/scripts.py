"""A model that replays a script from a file: for examples and tests, with no server to be asked.

A script is JSON, one object a line: `reply` is what is said (JSON, or a text as it is) to a request
of that `purpose` whose framed data hold everything in `where`; `times` is how often, without it any
number of times. The first line that fits, and is not used up, answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pxp_fsm.errors import DataError, NoAnswer
from pxp_fsm.framing import unframed
from pxp_fsm.messages import quoted
from pxp_fsm.models import Capability, Reply, Request

PREFIX = "script:"
"""What the name of such a model begins with; the path of its file follows."""

_KEYS = {"purpose", "where", "reply", "times"}


@dataclass(frozen=True, slots=True)
class Line:
    """What is said to which requests, and how often (None: always)."""

    purpose: str
    where: Mapping[str, object]
    reply: str
    times: int | None = None

    def fits(self, purpose: str, told: Mapping[str, object]) -> bool:
        """Whether it answers a request of that purpose which holds these data."""
        return self.purpose == purpose and all(
            key in told and told[key] == value for key, value in self.where.items()
        )


class Script:
    """Replies by the `lines` of a script; raises `NoAnswer` where none fits."""

    capabilities = frozenset(Capability)

    def __init__(self, lines: tuple[Line, ...], name: str = "script") -> None:
        self._lines = lines
        self._name = name
        self._used = [0] * len(lines)

    @property
    def name(self) -> str:
        return self._name

    async def reply(self, request: Request) -> Reply:
        told: dict[str, object] = {}
        for turn in request.turns:
            for frame in unframed(turn.text):
                told |= frame
        for place, line in enumerate(self._lines):
            left = line.times is None or self._used[place] < line.times
            if left and line.fits(request.purpose, told):
                self._used[place] += 1
                return Reply(line.reply)
        about = {key: told[key] for key in ("name", "input", "strategy") if key in told}
        raise NoAnswer(
            f"{self._name} has no reply left to a request of purpose {quoted(request.purpose)} "
            f"about {quoted(json.dumps(about, ensure_ascii=False), 200)}"
        )


def read(path: Path) -> Script:
    """The script in the file `path`. Raises `DataError`, with file and line."""
    try:
        written = path.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: the script cannot be read ({error})") from error
    lines = tuple(
        _line(path, number, text) for number, text in enumerate(written, start=1) if text.strip()
    )
    return Script(lines, f"{PREFIX}{path.name}")


def _line(path: Path, number: int, text: str) -> Line:
    try:
        raw: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError.at(path, number, f"this is no JSON: {error}") from error
    if not isinstance(raw, dict) or not {"purpose", "reply"} <= set(raw) <= _KEYS:
        raise DataError.at(
            path, number, "a line has purpose and reply, and may have where and times; no more"
        )
    purpose, where, times = raw["purpose"], raw.get("where", {}), raw.get("times")
    if not isinstance(purpose, str) or not isinstance(where, dict):
        raise DataError.at(path, number, "purpose is a text, and where an object")
    if times is not None and (type(times) is not int or times < 1):
        raise DataError.at(path, number, f"times is a whole number from 1, not {quoted(times)}")
    reply = raw["reply"]
    said = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
    return Line(purpose, where, said, times)
