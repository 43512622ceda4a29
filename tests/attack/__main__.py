"""`python -m tests.attack ROUNDS [ATTACK ...] [--on DIALECT] [--write]`: attack, print what struck.

ROUNDS is a number N (the rounds 0 to N - 1) or FIRST:LAST; a round makes each ATTACK (all, where
none is named) once on each database that it takes. All that is drawn is drawn from the number of
the round. One that fails is printed with how to make it again; the exit code is 1 then. `--write`
writes docs/reliability.md, where none failed; it takes all attacks and both databases.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from unittest.mock import patch

from tests.attack.attacks import ATTACKS, BOTH, POSTGRESQL
from tests.backends.postgresql_servers import fresh_schema, running
from tests.command_line import INSTALLED, PLACES

PAGE = Path("docs/reliability.md")
TEXT = """\
# Reliability

What is stored survives whatever stops a run, what is spent stays within its caps, and nobody comes
in without a right. One command attacks all of it:

    make attack ROUNDS=1000                # all attacks
    python -m tests.attack 17:18 caps      # one round of one attack

Everything in a round is drawn from its number. `make test-deep` makes the first round, beside kills
at exact system calls, a PostgreSQL restarted under a run, full disks, and workers whose parent is
killed.

| attack | what is done |
|---|---|
{attacks}

A simulated lab is a few sessions with models behind HTTP, some with a judge, a cap, or a person at
the terminal. The process is killed at any await, statement, commit or billed request; the disk or
the connection fails at any statement; servers reply with errors, cut or invalid JSON, or bill
nothing; a person leaves in mid-sentence, or never answers. The lab is resumed until it is done.
Then messages, judgements and endings are those of the same lab undisturbed, but for a session that
ended as late, which holds the first of them; no more was billed than is stored, within the caps;
the hash chain verifies; export and import give the same database.

`python -m tests.attack ROUNDS` prints what struck; with `--write` it writes this page.
Its last run had {rounds} rounds, and struck {struck}. Nothing was lost,
no cap was passed, nobody was admitted, and every change was noticed.
"""


def attack(
    rounds: Sequence[int], names: Sequence[str], dialect: str
) -> tuple[Counter[str], list[tuple[str, int]]]:
    """How often what struck on `dialect`, and which attacks failed in which round."""
    struck, failed = Counter[str](), list[tuple[str, int]]()
    chosen = [name for name in names if dialect in ATTACKS[name].dialects]
    with ExitStack() as stack:
        server = stack.enter_context(running()) if dialect == POSTGRESQL and chosen else None
        for number in rounds:
            for name in chosen:
                with tempfile.TemporaryDirectory() as folder:
                    own = f"sqlite:///{folder}/attacked.sqlite"
                    try:
                        database = own if server is None else fresh_schema(server)
                        struck.update(ATTACKS[name].strike(number, Path(folder), database))
                    except Exception:  # noqa: BLE001 - however one fails, the others go on
                        traceback.print_exc()
                        failed.append((name, number))
    return struck, failed


def main(arguments: Sequence[str] | None = None) -> int:
    """Attack, print, and say with the exit code whether anything failed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.attack",
        formatter_class=partial(argparse.RawDescriptionHelpFormatter, width=100),
        epilog="\n".join(f"{name:<11} {one.about}" for name, one in ATTACKS.items()),
    )
    parser.add_argument("rounds", type=_rounds, help="N (the rounds 0 to N - 1), or FIRST:LAST")
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help="all, where none is named")
    parser.add_argument("--on", choices=BOTH, help="the databases; both, where none is given")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE}")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.attacks if name not in ATTACKS]
    if unknown:
        parser.error(f"there is no attack {unknown[0]!r}; there are: {', '.join(ATTACKS)}")
    if given.write and (given.on or given.attacks):
        parser.error("--write takes all attacks on both databases")
    names, dialects = given.attacks or list(ATTACKS), [given.on] if given.on else BOTH
    struck, failed = dict[str, Counter[str]](), 0
    for dialect in dialects:
        with _installed():
            struck[dialect], broken = attack(given.rounds, names, dialect)
        print(f"{len(given.rounds)} rounds on {dialect}; struck {struck[dialect].total()} times:")
        for what, times in sorted(struck[dialect].items()):
            print(f"  {what:34}{times:7}")
        for name, number in broken:
            again = f"python -m tests.attack {number}:{number + 1} {name} --on {dialect}"
            print(f"FAILED: make it again with {again}")
        failed += len(broken)
    if given.write and not failed:
        PAGE.write_text(page(len(given.rounds), struck), "utf-8")
    return bool(failed)


@contextmanager
def _installed() -> Iterator[None]:
    """The tests' own task is there, in this process and in those that it starts."""
    with (
        patch.object(sys, "path", [str(INSTALLED), *sys.path]),
        patch.dict(os.environ, {"PYTHONPATH": PLACES}),
    ):
        yield


def _rounds(wanted: str) -> range:
    found = re.fullmatch(r"(?:(\d+):)?(\d+)", wanted, re.ASCII)
    if found is None or not (rounds := range(int(found[1] or 0), int(found[2]))):
        raise argparse.ArgumentTypeError("rounds are N (0 to N - 1) or FIRST:LAST, at least one")
    return rounds


def page(rounds: int, struck: Mapping[str, Counter[str]]) -> str:
    """docs/reliability.md."""
    attacks = "\n".join(f"| `{name}` | {one.about} |" for name, one in ATTACKS.items())
    times = " and ".join(
        f"{counts.total():,} times on {dialect}" for dialect, counts in struck.items()
    )
    return TEXT.format(attacks=attacks, rounds=rounds, struck=times)


if __name__ == "__main__":
    sys.exit(main())
