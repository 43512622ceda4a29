"""Systems of communicating automata that others wrote, and generated families: verdicts and times.

`python benchmarks/bench_foreign_systems.py FOLDER` reads every system of a folder (KMC's text,
Aldebaran, SCXML, system files) and prints what is expected, what is found, seconds and the reason,
as a Markdown table. A file `verdicts.csv` there says what is expected: `file`, `k`, `exhaustive`
and `safe` as KMC answered. `--families` adds pipelines and rings of 2 to 40 members.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pxp_fsm as pxp
from proofs.core.explore import TooLarge
from proofs.core.results import Status, Verdict
from proofs.systems import System
from proofs.systems.compatibility import check_unbounded, within
from pxp_fsm.automata.system import Member
from pxp_fsm.automata.tables import format_of
from pxp_fsm.errors import PXPError

SIZES = (2, 4, 10, 20, 40)


@dataclass(frozen=True)
class Row:
    """One system: what is expected, what is found, and why."""

    name: str
    members: int
    expected: str
    found: str
    same: str
    seconds: float
    reason: str

    def __str__(self) -> str:
        cells = (self.name, self.members, self.expected, self.found, self.same)
        return "| " + " | ".join(map(str, (*cells, f"{self.seconds:.2f}", self.reason))) + " |"


HEAD = """\
| system | members | expected | found | same | CPU s | verdict |
|---|--:|---|---|---|--:|---|"""


def rows_of(folder: Path) -> Iterator[Row]:
    """A row for each system file of `folder`, by name."""
    expected = dict[str, dict[str, str]]()
    if (folder / "verdicts.csv").is_file():
        with (folder / "verdicts.csv").open(encoding="utf-8") as file:
            expected = {row["file"]: row for row in csv.DictReader(file)}
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.suffix != ".csv" and (path.name in expected or _is_read(path)):
            yield _row(path, expected.get(path.name, {}))


def _is_read(path: Path) -> bool:
    return path.suffix == ".toml" or format_of(path) is not None


def _row(path: Path, due: dict[str, str]) -> Row:
    wanted = {key: due[key] for key in ("exhaustive", "safe") if due.get(key)}
    shown = ", ".join(f"{key} {value}" for key, value in wanted.items())
    expected = f"k = {due['k']}: {shown}" if wanted else "none"
    try:
        system = System.load(str(path))
    except PXPError as error:
        return Row(path.stem, 0, expected, "not read", "", 0, str(error).splitlines()[0])
    outcome, same = "", ""
    if wanted:
        try:
            bounded = within(system, int(due["k"]))
        except TooLarge as error:
            outcome = str(error)
        else:
            ours = {"exhaustive": bounded.exhaustive, "safe": bounded.safe}
            told = {key: str(value).lower() for key, value in ours.items()}
            outcome = ", ".join(f"{key} {value}" for key, value in told.items())
            same = (
                "yes"
                if all(told.get(k) == v or v == "timeout" for k, v in wanted.items())
                else "**no**"
            )
    started = time.process_time()
    verdicts = check_unbounded(system)
    seconds = time.process_time() - started
    return Row(path.stem, len(system.members), expected, outcome, same, seconds, _words(verdicts))


def _words(verdicts: dict[str, Verdict]) -> str:
    """Both verdicts in short."""
    parts = []
    for name, verdict in verdicts.items():
        summary = verdict.status.value
        if verdict.bound is not None and verdict.bound.capacities_from is not None:
            summary += f" from {verdict.bound.capacities_from}"
        elif verdict.status is Status.UNKNOWN:
            summary += f" ({verdict.reason})"
        elif verdict.trace is not None:
            summary += f" after {len(verdict.trace.steps)} steps"
        parts.append(f"{name} {summary}")
    return "; ".join(parts).replace("|", "/")


def pipeline(size: int) -> System:
    """A source, which sends for ever, members that pass on what they receive, and a sink."""

    def rows(place: int) -> Iterator[dict[str, str]]:
        back, on = f"m{place - 1}", f"m{place + 1}"
        if place == 0:
            yield {"from": "S0", "to": "S0", "send": "ITEM", "partner": on}
        elif place == size - 1:
            yield {"from": "S0", "to": "S0", "receive": "ITEM", "partner": back}
        else:
            yield {"from": "S0", "to": "S1", "receive": "ITEM", "partner": back}
            yield {"from": "S1", "to": "S0", "send": "ITEM", "partner": on}

    return _system(size, rows)


def ring(size: int, tokens: int = 1) -> System:
    """Members in a ring; each of the first `tokens` begins by sending, then all pass on."""

    def rows(place: int) -> Iterator[dict[str, str]]:
        back, on = f"m{(place - 1) % size}", f"m{(place + 1) % size}"
        send = {"from": "HAS", "to": "WAITS", "send": "TOKEN", "partner": on}
        receive = {"from": "WAITS", "to": "HAS", "receive": "TOKEN", "partner": back}
        yield from (send, receive) if place < tokens else (receive, send)

    return _system(size, rows)


def crossing(size: int, depth: int) -> System:
    """Pairs that both send `depth` messages before they receive any: a family of KMC's authors."""

    def rows(place: int) -> Iterator[dict[str, str]]:
        other = f"m{place ^ 1}"
        for number in range(depth):
            yield {"from": f"S{number}", "to": f"S{number + 1}", "send": "A", "partner": other}
        for number in range(depth, 2 * depth):
            yield {"from": f"S{number}", "to": f"S{number + 1}", "receive": "A", "partner": other}

    return _system(size, rows)


def _system(size: int, rows: Callable[[int], Iterator[dict[str, str]]]) -> System:
    tables = (pxp.build_automaton(f"m{place}", list(rows(place))) for place in range(size))
    return System(tuple(Member(table.name, table) for table in tables))


def family_rows() -> Iterator[Row]:
    """Each family at each size."""
    for size in SIZES:
        for name, system in (
            (f"pipeline {size}", pipeline(size)),
            (f"ring {size}", ring(size)),
            (f"ring {size}, half of them begin", ring(size, size // 2)),
            *((f"pairs {size}, {depth} cross", crossing(size, depth)) for depth in (3, 5)),
        ):
            started = time.process_time()
            verdicts = check_unbounded(system)
            seconds = time.process_time() - started
            yield Row(name, size, "none", "", "", seconds, _words(verdicts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--families", action="store_true")
    arguments = parser.parse_args()
    print(HEAD)
    for row in rows_of(arguments.folder) if arguments.folder else ():
        print(row, flush=True)
    for row in family_rows() if arguments.families else ():
        print(row, flush=True)


if __name__ == "__main__":
    main()
