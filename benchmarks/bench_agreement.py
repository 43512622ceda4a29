"""How often AGREE, offline, decides as a reader does, on pairs of explanations.

    python benchmarks/bench_agreement.py [--authors DIR]

`agreement.csv` has 200 pairs of a bundled explanation and one of the machine's: its first, and one
drawn from its next nine. `agreement_authors.csv` has 100 pairs for the explanations in DIR, the
authors' data folder: there the machine's text is made anew for the reactants. The labels were given
by reading the two texts before the relation's answers were seen, and no chemist gave them. Yes
means the same reaction at the same bond; how an acid is activated and which halogen leaves do not
count. `unsure` counts as not agreeing. Intervals are Wilson's, 95 %.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from pxp_fsm.experiments.statistics import wilson
from pxp_fsm.plugins.drug import SameReaction
from pxp_fsm.plugins.drug.data import published
from pxp_fsm.plugins.drug.retrosynthesis import Retrosynthesis
from pxp_fsm.plugins.drug.retrosynthesis.explanation import explained
from pxp_fsm.plugins.drug.retrosynthesis.predictor import MOST
from pxp_fsm.plugins.drug.retrosynthesis.templates import builtin
from pxp_fsm.protocol.relations import Outcome

HERE = Path(__file__).parent
Pair = tuple[bool, str, str]
"""Whether the two agree, by the label, and their texts."""


def labelled(name: str) -> list[dict[str, str]]:
    with (HERE / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def bundled_pairs() -> list[Pair]:
    rows = labelled("agreement.csv")
    return [(row["agree"] == "yes", row["bundled"], row["machine"]) for row in rows]


def authors_pairs(folder: Path) -> Iterator[Pair]:
    """Without those whose reactants the machine no longer derives."""
    rows = {row.instance.key: row for row in published(folder).sessions}
    machine = Retrosynthesis()
    for label in labelled("agreement_authors.csv"):
        row = rows[label["instance"]]
        for candidate in machine.rank(row.instance.x, MOST):
            if candidate.reactants == label["reactants"]:
                text = explained(candidate, builtin())
                yield label["agree"] == "yes", row.answer.explanation, text


def outcomes(pairs: Sequence[Pair]) -> list[tuple[bool, Outcome]]:
    """The label of each pair and the answer of AGREE."""
    agree = SameReaction()
    return [(same, asyncio.run(agree.holds(left, right))) for same, left, right in pairs]


def share(hits: int, of: int) -> str:
    interval = wilson(hits, of)
    return f"{hits} of {of}, {hits / of:.0%} ({interval.low:.0%}-{interval.high:.0%})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--authors", type=Path)
    arguments = parser.parse_args()
    sets = {"bundled": bundled_pairs()}
    if arguments.authors is not None:
        sets["the authors'"] = list(authors_pairs(arguments.authors))
    print(
        "| explanations | pairs | agree by label | right of those found | found of those | unsure |"
    )
    print("|---|--:|--:|--:|--:|--:|")
    for title, pairs in sets.items():
        judged = outcomes(pairs)
        both = sum(same and outcome is Outcome.YES for same, outcome in judged)
        same = sum(same for same, _ in judged)
        yes = sum(outcome is Outcome.YES for _, outcome in judged)
        unsure = sum(outcome is Outcome.UNSURE for _, outcome in judged)
        cells = (title, len(pairs), same, share(both, yes), share(both, same), unsure)
        print(f"| {' | '.join(map(str, cells))} |")


if __name__ == "__main__":
    main()
