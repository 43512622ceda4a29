"""The run of every mutant of what runs and of what checks it, and docs/mutants.md about it.

`python -m tests.proofs.mutation_page [NUMBER]` tries NUMBER of them (all, without it) in a random
order that is always the same, leaves out what was noticed before, and writes the page. What was
found is in `.mutants.jsonl`, a line a mutant; a function that has changed since is tried again, and
so is a mutant that nothing noticed. With `--module NAME` it tries those of one module or one room;
the page keeps the row of a module of which the log says less. With `--every N` it tries every Nth
change of each module, always the same ones, and with `--from M` every Nth that follows the Mth.
With `--sample` it tries afresh those of the modules of what runs that were once all tried, and only
prints them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from types import ModuleType

from pxp_fsm.sessions import policy
from tests.proofs.mutant_trials import NOTHING, UNREACHED, try_all
from tests.proofs.source_mutants import MODULES, OPERATORS, Mutant, mutants

ROOT = Path(__file__).parents[2]
FOUND = ROOT / ".mutants.jsonl"
PAGE = ROOT / "docs" / "mutants.md"

EQUIVALENT: Mapping[str, str] = {
    one["mutant"]: one["reason"]
    for one in tomllib.loads(
        Path(__file__).with_name("equivalent_mutants.toml").read_text("utf-8")
    )["equivalent"]
}
"""The mutants that change nothing, as they are shown, each with the reason."""

KINDS = ("machine", "sessions", "test", "error", "no end", "equivalent", "survives")
"""The columns of the page."""


def shuffled(*modules: ModuleType, every: int = 1, start: int = 0) -> list[Mutant]:
    """The mutants, in a random order in which each keeps its place whatever else changes."""
    found = mutants(*modules, every=every, start=start)
    return sorted(found, key=lambda mutant: hashlib.sha256(str(mutant).encode()).digest())


def kind(mutant: Mutant, by: str) -> str:
    """What `by` noticed the mutant, as one of `KINDS`."""
    match by:
        case "machine-agrees-with-table":
            return "machine"
        case "sessions-agree-with-model":
            return "sessions"
        case "it does not end" | "the process dies":
            return "no end"
    if by in (NOTHING, UNREACHED):
        return "equivalent" if str(mutant) in EQUIVALENT else "survives"
    return "error" if by.endswith("stops the check") else "test"


def known() -> dict[str, str]:
    """By what each mutant that was tried is noticed, by its key."""
    if not FOUND.exists():
        return {}
    lines = map(json.loads, FOUND.read_text("utf-8").splitlines())
    return {line["key"]: line["by"] for line in lines}


def finished(text: str) -> dict[str, dict[str, int]]:
    """The rows of a page, by their module: of the modules of which every mutant was tried, and none
    survives."""
    found = {}
    rows = re.findall(r"^\| `(\S+)` \| (\d+) \| (\d+) \| (.*) \|$", text, re.MULTILINE)
    for file, size, tried, numbers in rows:
        row = {
            one: int(number or 0) for one, number in zip(KINDS, numbers.split(" | "), strict=True)
        }
        if size == tried and not row["survives"]:
            found[file] = row
    return found


def page(found: Iterable[tuple[Mutant, str]], every: Collection[Mutant], before: str = "") -> str:
    """The page about the mutants that were tried, of `every` one.

    A row of the page `before` stays where its module has as many mutants, and more than `found`.
    """
    tried, sizes = list(found), Counter(mutant.file for mutant in every)
    counts: Counter[tuple[str, str]] = Counter(
        (mutant.file, kind(mutant, by)) for mutant, by in tried
    )
    left = {
        one: {str(m) for m, by in tried if kind(m, by) == one} for one in ("equivalent", "survives")
    }
    now = Counter(mutant.file for mutant, _ in tried)
    for file, row in finished(before).items():
        if now[file] < sizes[file] == sum(row.values()):
            counts |= {(file, one): number for one, number in row.items()}
            left["equivalent"] |= {one for one in EQUIVALENT if one.startswith(f"{file} ")}
            left["survives"] -= {one for one in left["survives"] if one.startswith(f"{file} ")}
    files = sorted({file for file, _ in counts})
    for (_, one), number in list(counts.items()):
        counts["all", one] += number
    total, done = len(every), counts.total() // 2
    rest = "" if done == total else " Where fewer were tried than there are, it is every Nth."
    lines = [
        "# Mutants",
        "",
        "Each change of one expression or statement between the table and the message, and in",
        f"what checks it, and what notices it: {done:,} of {total:,} were tried.{rest}",
        "The changes:",
        "",
        OPERATORS.rstrip(),
        "",
        "Texts of errors, documentation, annotations and what a class or a module says outside its",
        "functions stay as they are. A change is noticed by the comparison of machine and table;",
        "else by `--property running`, on small sessions; else by a test that runs the line. An",
        "*error* is one after which a comparison cannot go on; *no end* is one that runs until it",
        "is stopped. Changes of tables and of their rules: [proofs](proofs.md).",
        "",
        f"| module | changes | tried | {' | '.join(KINDS)} |",
        f"|---|--:|--:|{'--:|' * len(KINDS)}",
        *(_row(f"`{file}`", file, sizes[file], counts) for file in files),
        _row("all", "all", sum(sizes[file] for file in files), counts),
        "",
        "## Equivalent",
        "",
        "No call can tell these from the code as it is:",
        "",
        *(
            [f"- {_code(one)}: {EQUIVALENT[one]}" for one in sorted(left["equivalent"])]
            or ["None."]
        ),
        "",
        "## Surviving",
        "",
        *([f"- {_code(one)}" for one in sorted(left["survives"])] or ["None."]),
    ]
    return "\n".join(lines) + "\n"


def _row(title: str, place: str, size: int, counts: Mapping[tuple[str, str], int]) -> str:
    numbers = [counts[place, one] for one in KINDS]
    shown = (str(number or "") for number in numbers)
    return f"| {title} | {size} | {sum(numbers)} | {' | '.join(shown)} |"


def _code(text: str) -> str:
    """Without what Markdown would read as markup."""
    place, _, change = text.partition(": ")
    return f"`{place}`: {change}"


def main(arguments: list[str]) -> None:
    """Try some mutants, or all; write the page."""
    parser = argparse.ArgumentParser(prog="tests.proofs.mutation_page")
    parser.add_argument("number", nargs="?", type=int, help="of the mutants in their order; all")
    parser.add_argument("--module", metavar="NAME", help="only of this: proofs.systems, proofs")
    parser.add_argument("--every", type=int, metavar="N", help="every Nth change of each module")
    parser.add_argument(
        "--from", dest="start", type=int, default=0, metavar="M", help="after the Mth"
    )
    parser.add_argument("--sample", action="store_true", help="afresh, and without a page")
    given = parser.parse_args(arguments)
    chosen = [
        module
        for modules in MODULES.values()
        for module in modules
        if f"{module.__name__}.".startswith(f"{given.module or ''}.".lstrip("."))
    ]
    done = {} if given.sample else known()

    def note(mutant: Mutant, by: str) -> None:
        done[mutant.key] = by
        if not given.sample:
            with FOUND.open("a", encoding="utf-8") as file:
                line = {"key": mutant.key, "mutant": str(mutant), "by": by}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        print(f"{kind(mutant, by)} | {mutant} | {by}", file=sys.__stdout__, flush=True)

    if given.sample:
        chosen = [one for one in MODULES["what runs"] if one is not policy]
    wanted = shuffled(*chosen, every=given.every or 1, start=given.start)
    left = [
        mutant
        for mutant in wanted[: given.number]
        if mutant.key not in done or kind(mutant, done[mutant.key]) == "survives"
    ]
    if left:
        try_all(left, note, jobs=os.cpu_count() or 1)
    if not given.sample:
        every = shuffled()
        found = [(mutant, done[mutant.key]) for mutant in every if mutant.key in done]
        PAGE.write_text(page(found, every, PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
