"""Three hundred scripted sessions go as they always went: `tests/kept/sessions.json`."""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from backends.databases.blackboard import open_blackboard
from tests.sessions.scripts import Script, played, script

KEPT = Path(__file__).parents[1] / "kept" / "sessions.json"
MANY = 300


def summary(given: Script, found: dict[str, Any]) -> str:
    """A session in one line."""
    rules, said = given.rules, found["said"]
    bounds = "".join(f" {name}={getattr(rules, name)}" for name in ("n", "k"))
    stop = "" if given.stop is None else f", resumed after {given.stop}"
    tags = " ".join(message[3] for message in said["history"])
    return (
        f"{rules.name}{bounds}, capacity {given.capacity}{stop}: {tags or 'nothing'}; "
        f"{said['ending']}"
    )


def outcomes(folder: Path, numbers: range) -> list[dict[str, str]]:
    """Each script with a line on it, and a digest of each part of what came of it."""
    found = []
    with open_blackboard(folder / "scripts.sqlite") as board:
        for given in map(script, numbers):
            parts = played(given, board)
            digests = {name: _digest(part) for name, part in parts.items()}
            found.append({"session": summary(given, parts), **digests})
    return found


def _digest(part: object) -> str:
    text = json.dumps(part, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


# A session is stored with its place among those before it: sessions are played from the first on.
@pytest.mark.parametrize(
    "numbers", [range(100), pytest.param(range(MANY), marks=pytest.mark.deep)], ids=len
)
def test_scripted_sessions_go_as_they_were_kept(numbers: range, tmp_path: Path) -> None:
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    assert len(kept) == MANY
    found = outcomes(tmp_path, numbers)
    differing = {
        number: {name: (was[name], now[name]) for name in was if was[name] != now[name]}
        for number, was, now in zip(
            numbers, (kept[number] for number in numbers), found, strict=True
        )
        if was != now
    }
    assert not differing


def write() -> None:
    """Keep what the sessions do now: `python -m tests.sessions.test_scripts`."""
    with tempfile.TemporaryDirectory() as folder:
        lines = (json.dumps(one, ensure_ascii=False) for one in outcomes(Path(folder), range(MANY)))
        KEPT.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    write()
