"""The run of every mutant of what runs, and docs/mutants.md about it.

`python -m tests.proofs.mutation_page [NUMBER]` tries NUMBER of them (all, without it) in a random
order that is always the same, leaves out what was tried before, and writes the page. What was found
is in `.mutants.jsonl`, a line a mutant; a function that has changed since is tried again.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.proofs.source_mutants import OPERATORS, Mutant, mutants, tried

ROOT = Path(__file__).parents[2]
FOUND = ROOT / ".mutants.jsonl"
PAGE = ROOT / "docs" / "mutants.md"
NOTHING = "nothing"

EQUIVALENT: Mapping[str, str] = {
    "pxp_fsm/protocol/rules.py Pxp.asks_each_time: `return False` becomes `nothing`": (
        "it returns None then, which is as false"
    ),
    "pxp_fsm/sessions/agent.py Participant.learn: `if self._learns:` becomes `if True:`": (
        "`_teach` asks again whether the respondent is a `Learner`, and else does nothing"
    ),
}
"""The mutants that change nothing, as they are shown, each with the reason."""

KINDS = ("machine", "sessions", "test", "error", "no end", "equivalent", "survives")
"""The columns of the page."""


def shuffled() -> list[Mutant]:
    """Every mutant, in a random order that is always the same."""
    return random.Random(14).sample(mutants(), len(mutants()))


def kind(mutant: Mutant, by: str) -> str:
    """What `by` noticed the mutant, as one of `KINDS`."""
    match by:
        case "machine-agrees-with-table":
            return "machine"
        case "sessions-agree-with-model":
            return "sessions"
        case "nothing":
            return "equivalent" if str(mutant) in EQUIVALENT else "survives"
        case "it does not end" | "the process dies":
            return "no end"
    return "error" if by.endswith("stops the check") else "test"


def known() -> dict[str, str]:
    """By what each mutant that was tried is noticed, by its key."""
    if not FOUND.exists():
        return {}
    lines = map(json.loads, FOUND.read_text("utf-8").splitlines())
    return {line["key"]: line["by"] for line in lines}


def page(found: Iterable[tuple[Mutant, str]], total: int) -> str:
    """The page about the mutants that were tried, of `total`."""
    tried_ones = list(found)
    counts: Counter[tuple[str, str]] = Counter()
    for mutant, by in tried_ones:
        counts[mutant.file, kind(mutant, by)] += 1
    files = sorted({mutant.file for mutant, _ in tried_ones})
    rows = [
        f"| `{file}` | {sum(counts[file, one] for one in KINDS)} | "
        + " | ".join(f"{counts[file, one] or ''}" for one in KINDS)
        + " |"
        for file in files
    ]
    left = {
        one: [str(m) for m, by in tried_ones if kind(m, by) == one]
        for one in ("equivalent", "survives")
    }
    lines = [
        "# Mutants",
        "",
        "Each change of one expression or statement between the table and the message, and what",
        f"notices it. {len(tried_ones):,} of {total:,} were tried, in a random order;",
        "`make mutants` goes on. The changes:",
        "",
        OPERATORS.rstrip(),
        "",
        "Columns: noticed by the comparison of machine and table; by `pxp check --running`; by a",
        "test of the rooms `automata`, `protocol` and `sessions`; by an error that stops the",
        "check; by no end of it. Changes of tables and of decision functions: [proofs](proofs.md).",
        "",
        f"| module | tried | {' | '.join(KINDS)} |",
        f"|---|--:|{'--:|' * len(KINDS)}",
        *rows,
        "",
        "## Equivalent",
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


def _code(text: str) -> str:
    """Without what Markdown would read as markup."""
    return text.replace("|", "\\|").replace("_", "\\_") if "`" not in text else text


def main(arguments: list[str]) -> None:
    """Try some mutants, or all; write the page."""
    every, done = shuffled(), known()
    most = int(arguments[0]) if arguments else len(every)
    chosen = every[:most]
    for mutant in chosen:
        if mutant.key not in done:
            done[mutant.key] = tried(mutant)
            with FOUND.open("a", encoding="utf-8") as file:
                line = {"key": mutant.key, "mutant": str(mutant), "by": done[mutant.key]}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
            print(f"{mutant} | {done[mutant.key]}", flush=True)
    PAGE.write_text(page([(m, done[m.key]) for m in every if m.key in done], len(every)), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
