"""Verdicts on global protocols whose folders say what Scribble's are.

    python benchmarks/bench_scribble.py FOLDER

FOLDER has the protocols that Scribble accepts below `good`, and the others below `bad`: such are
the test resources of scribble-java (github.com/scribble/scribble-java, Apache-2.0). Without
fairness, a protocol is accepted here if it passes every check; with fairness, if it passes all but
progress-without-fairness.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pxp_fsm.errors import TableError
from pxp_fsm.plugins.scribble.protocols import check_fair, check_unfair, load


class Judged(NamedTuple):
    """What is said of a protocol: accepted, accepted under fairness, and why not."""

    path: str
    expected: bool
    accepted: bool
    fair: bool
    reason: str
    seconds: float

    @property
    def agrees(self) -> bool:
        return self.accepted == self.expected


def judge(path: Path) -> tuple[bool, bool, str]:
    """Whether a protocol is accepted, whether it is under fairness, and why not."""
    try:
        system = load(path)
    except TableError as error:
        return False, False, error.faults[0].message
    for result in check_fair(system):
        if not result.verdict.holds:
            return False, False, f"{result.name}: {result.verdict.explanation}"
    unfair = check_unfair(system)
    if not unfair.verdict.holds:
        return False, True, f"{unfair.name}: {unfair.verdict.explanation}"
    return True, True, ""


def judged(folder: Path) -> Iterator[Judged]:
    """Every protocol of the folder."""
    for path in sorted(folder.rglob("*.scr")):
        started = time.process_time()
        judgement = judge(path)
        relative = path.relative_to(folder)
        seconds = time.process_time() - started
        yield Judged(str(relative), relative.parts[0] == "good", *judgement, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", nargs="?", type=Path, help="protocols below good and bad")
    folder: Path | None = parser.parse_args().folder
    if folder is None:
        sys.stdout.write("Name a folder of Scribble's test protocols\n")
        return
    protocols = list(judged(folder))
    counts = Counter(
        (protocol.expected, protocol.accepted, protocol.fair) for protocol in protocols
    )
    words = {True: "accepted", False: "refused"}
    sys.stdout.write("| Scribble | here | here, under fairness | protocols |\n|--|--|--|--:|\n")
    for (expected, accepted, fair), count in sorted(counts.items(), reverse=True):
        cells = (words[expected], words[accepted], words[fair], str(count))
        sys.stdout.write(f"| {' | '.join(cells)} |\n")
    agreeing, seconds = (
        sum(protocol.agrees for protocol in protocols),
        sum(protocol.seconds for protocol in protocols),
    )
    sys.stdout.write(f"\n{agreeing} of {len(protocols)} agree; {seconds:.1f} s in all\n")
    for protocol in protocols:
        if not protocol.agrees:
            under = ", accepted under fairness" if protocol.fair and not protocol.accepted else ""
            sys.stdout.write(
                f"{protocol.path}: {words[protocol.accepted]} here{under}; {protocol.reason}\n"
            )


if __name__ == "__main__":
    main()
