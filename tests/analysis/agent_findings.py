"""The verdicts of the life cycles of agents' protocols, over channels, and the pictures of traces.

`python -m tests.analysis.agent_findings` writes `agent_verdicts.json` and the pictures of
docs/findings-agents.md anew; tests hold both to what a run gives.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from proofs.core.explore import explore
from proofs.core.results import Result, Status
from proofs.systems import Composition, check_formulas, check_standard
from proofs.systems.results import MACHINE, titles_for
from pxp_fsm.automata.channels import parse_channel
from pxp_fsm.automata.system import System, system_in
from pxp_fsm.automata.system_files import SystemFile, read_system
from pxp_fsm.diagrams import SequenceChart, write

ROOT = Path(__file__).parents[2]
HERE = ROOT / "examples" / "agent_protocols"
VERDICTS = Path(__file__).with_name("agent_verdicts.json")
PICTURES = ROOT / "docs" / "pictures" / "agents"

SYSTEMS = tuple(
    str(path.relative_to(HERE))
    for path in sorted(HERE.rglob("*.toml"))
    if "[[members]]" in path.read_text("utf-8")
)
TABLES = tuple(
    str(path.relative_to(HERE))
    for path in sorted(HERE.rglob("*.toml"))
    if "[[members]]" not in path.read_text("utf-8")
)

ORDINARY = ("sync", "fifo:2", "lossy:1")
NOTIFIED = (
    "fifo:1",
    "fifo:1,server:webhook=lossy:1",
    "fifo:1,server:webhook=duplicating:1",
    "fifo:2,server:webhook=reordering:2",
)
DRAWN: Mapping[str, tuple[str, str]] = {
    "stopped-and-done": (
        "together/stop.toml",
        "what the person was told is stopped is not done later",
    ),
    "never-told": ("together/stop_waits.toml", "a person who stops it can be told how it ended"),
    "notification-lost": ("a2a/push.toml", "a client can come to know of the end"),
    "answered-twice": ("a2a/push_trusts.toml", "each question is answered once"),
    "stream-open": (
        "a2a/stream_closing_reader.toml",
        "they do not wait for each other",
    ),
    "two-tasks": ("a2a/retry.toml", "what is reported as canceled is not done later"),
    "canceled-and-not": ("a2a/retry.toml", "what cannot be canceled is not canceled"),
    "acts-twice": ("mrtr/call_again.toml", "the server acts once at most"),
    "refused-and-done": ("mrtr/call_again_once.toml", "what is refused is not done"),
}
"""The counterexamples that the page shows: file name, system file, what fails."""


def channels_of(path: str) -> tuple[str, ...]:
    """The channels over which a system is checked.

    Where a table has the event that the connection breaks there is but one: a buffer would keep
    what a broken connection loses.
    """
    system = file_of(path)[1]
    if "BREAKS" in system.events:
        return ("sync",)
    return NOTIFIED if "webhook" in system.places else ORDINARY


@cache
def file_of(path: str) -> tuple[SystemFile, System]:
    """A system file, and its system."""
    file = read_system(HERE / path)
    return file, system_in(file)


@dataclass(frozen=True, slots=True)
class Found:
    """What is found of a system over a channel: sizes, and what fails, by its title."""

    states: int
    transitions: int
    fails: tuple[str, ...]


def found(path: str, channel: str) -> Found:
    """Explore, and check every property of the file over `channel`."""
    file, system = file_of(path)
    over = system.over(parse_channel(channel))
    graph = explore(Composition(over))
    fails = [one for one, result in results(file, over) if result.status is Status.FAILS]
    return Found(graph.states, graph.transitions, tuple(fails))


def results(file: SystemFile, system: System) -> Iterator[tuple[str, Result]]:
    """The standard checks by name, without the machines, and the formulas by what they are about.

    Every verdict is HOLDS or FAILS.
    """
    asked = [name for name in titles_for(system, ()) if name != MACHINE]
    checks = check_standard(system, asked)
    given = [one for one in file.properties if one.formula]
    formulas = check_formulas(system, [one.formula for one in given])
    titles = [one.about for one in given]
    named = [(one.name, one) for one in checks]
    for title, result in (*named, *zip(titles, formulas, strict=True)):
        assert result.status in (Status.HOLDS, Status.FAILS), (title, result.status)
        yield title, result


@cache
def drawn(name: str) -> Result:
    """The result whose trace is drawn under `name`, over the channel of its file."""
    path, title = DRAWN[name]
    file, system = file_of(path)
    (formula,) = [one.formula for one in file.properties if one.about == title]
    (result,) = check_formulas(system, [formula])
    return result


def picture(name: str) -> SequenceChart:
    """The chart of the trace that is drawn under `name`, titled by what fails."""
    return replace(drawn(name).diagram(), title=f"Fails: {DRAWN[name][1]}")


def pinned() -> dict[str, dict[str, Any]]:
    """The verdicts as they stand in the repository."""
    loaded: dict[str, dict[str, Any]] = json.loads(VERDICTS.read_text("utf-8"))
    return loaded


def main() -> None:
    """Write the verdicts and the pictures anew."""
    verdicts: dict[str, dict[str, Any]] = {}
    for path in SYSTEMS:
        for channel in channels_of(path):
            one = found(path, channel)
            verdicts.setdefault(path, {})[channel] = {
                "states": one.states,
                "transitions": one.transitions,
                "fails": list(one.fails),
            }
    VERDICTS.write_text(json.dumps(verdicts, indent=1) + "\n", "utf-8")
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name in DRAWN:
        write(picture(name), PICTURES / f"{name}.svg")


if __name__ == "__main__":
    main()
