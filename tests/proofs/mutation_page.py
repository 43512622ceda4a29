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
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType

from pxp_fsm.sessions import policy
from tests.proofs.mutant_trials import NOTHING, UNREACHED, try_all
from tests.proofs.source_mutants import MODULES, OPERATORS, Mutant, mutants

ROOT = Path(__file__).parents[2]
FOUND = ROOT / ".mutants.jsonl"
PAGE = ROOT / "docs" / "mutants.md"
BY_MODULE = Path(__file__).with_name("mutants_by_module.md")
EQUIVALENTS = Path(__file__).with_name("equivalent_mutants.toml")

EQUIVALENT: Mapping[str, str] = {
    one["mutant"]: one["reason"]
    for one in tomllib.loads(EQUIVALENTS.read_text("utf-8"))["equivalent"]
}
"""The mutants that change nothing, as they are shown, each with the reason."""

KINDS = ("machine", "sessions", "test", "error", "no end", "equivalent", "survives")
"""The columns of the tables."""


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
    """The rows of a table, by their module: of the modules of which every mutant was tried, and
    none survives."""
    return {
        file: row
        for file, size, row in _rows(text)
        if size == sum(row.values()) and not row["survives"]
    }


def _rows(text: str) -> Iterator[tuple[str, int, dict[str, int]]]:
    """Of each module of a table its file, how many mutants it has, and what noticed how many."""
    for file, size, numbers in re.findall(
        r"^\| `(\S+)` \| (\d+) \| \d+ \| (.*) \|$", text, re.MULTILINE
    ):
        cells = zip(KINDS, numbers.split(" | "), strict=True)
        yield file, int(size), {one: int(number or 0) for one, number in cells}


def by_module(
    found: Iterable[tuple[Mutant, str]], every: Collection[Mutant], before: str = ""
) -> str:
    """A row for each module: how many of its mutants of `every` one were tried, and what noticed.

    A row of the table `before` stays where its module has as many mutants, and more than `found`.
    """
    tried, sizes = list(found), Counter(mutant.file for mutant in every)
    counts: Counter[tuple[str, str]] = Counter(
        (mutant.file, kind(mutant, by)) for mutant, by in tried
    )
    now = Counter(mutant.file for mutant, _ in tried)
    for file, row in finished(before).items():
        if now[file] < sizes[file] == sum(row.values()):
            counts |= {(file, one): number for one, number in row.items()}
    lines = [
        f"| module | changes | tried | {' | '.join(KINDS)} |",
        f"|---|--:|--:|{'--:|' * len(KINDS)}",
    ]
    for file in sorted({file for file, _ in counts}):
        row = {one: counts[file, one] for one in KINDS}
        lines.append(_row(f"`{file}`", sizes[file], row))
    return "\n".join(lines) + "\n"


def surviving(found: Iterable[tuple[Mutant, str]], table: str) -> str:
    """The mutants that survive, of modules that the `table` has them of."""
    files = {file for file, _, row in _rows(table) if row["survives"]}
    left = sorted(
        str(mutant)
        for mutant, by in found
        if mutant.file in files and kind(mutant, by) == "survives"
    )
    return (
        "\n".join(["## Surviving", "", *([f"- {_code(one)}" for one in left] or ["None."])]) + "\n"
    )


def page(table: str) -> str:
    """The page about the mutants that were tried: the `table` by module, summed by folder."""
    folders: dict[str, Counter[str]] = {}
    for file, size, row in _rows(table):
        counts = Counter({"changes": size, **row})
        for folder in (file.rpartition("/")[0], "all"):
            folders.setdefault(folder, Counter()).update(counts)
    every = folders.pop("all", Counter[str]())
    total, done = every["changes"], sum(every[one] for one in KINDS)
    rest = "" if done == total else " Where not all were tried, it is every Nth."
    lines = [
        "# Mutants",
        "",
        "Each change of one expression or statement between the table and the message, and in what",
        f"checks it, and what notices it: {done:,} of {total:,} were tried.{rest} Texts of errors,",
        "documentation, annotations and what stands outside functions stay. The changes:",
        "",
        OPERATORS.rstrip(),
        "",
        "A change is noticed by the comparison of *machine* and table; else by `--property",
        "running` on small *sessions*; else by a *test* that runs the line. An *error* stops a",
        "comparison; *no end* runs until it is stopped. No call can tell an *equivalent* change",
        "from the code;",
        f"`{EQUIVALENTS.relative_to(ROOT)}` has the reason for each, and",
        f"`{BY_MODULE.relative_to(ROOT)}` the table by module, and every change that survives.",
        "Of those that were not tried some 14 in 100 would survive: so many of the last sample",
        "did, before there was a test for each.",
        "Changes of tables and their rules: [proofs](proofs.md#what-the-checks-would-miss).",
        "",
        f"| folder | changes | tried | {' | '.join(KINDS)} |",
        f"|---|--:|--:|{'--:|' * len(KINDS)}",
        *(_row(f"`{folder}`", row["changes"], row) for folder, row in sorted(folders.items())),
        _row("all", total, every),
    ]
    return "\n".join(lines) + "\n"


def _row(title: str, size: int, counts: Mapping[str, int]) -> str:
    numbers = [counts[one] for one in KINDS]
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
        table = by_module(found, every, BY_MODULE.read_text("utf-8"))
        BY_MODULE.write_text(f"{table}\n{surviving(found, table)}", "utf-8")
        PAGE.write_text(page(table), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
