"""How often the retrosynthesis predictor names the very reactants of a row, and how fast.

    python benchmarks/bench_retrosynthesis.py [DIR]

DIR is the authors' data folder. Its rows were not seen when the templates were written; the bundled
sets are in-sample, since the same hands wrote templates and sets. A row counts as found where the
sets of canonical SMILES are equal. The machine has learned nothing.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from backends.models.local.retrosynthesis import Retrosynthesis
from pxp_fsm.tasks.drug.data import bundled, published
from pxp_fsm.tasks.drug.task import rank_of

TOPS = (1, 3, 5, 10)


def main() -> None:
    data = bundled()
    sets = {
        "bundled, sessions (in-sample)": data.sessions,
        "bundled, validation (in-sample)": data.validation,
        "bundled, test (in-sample)": data.test,
    }
    if len(sys.argv) > 1:
        sets = {"authors' reactions": published(Path(sys.argv[1])).sessions, **sets}
    print("| set | molecules |", " | ".join(f"top {top}" for top in TOPS), "| ms a molecule |")
    print("|---|--:|" + "--:|" * (len(TOPS) + 1))
    for name, rows in sets.items():
        machine = Retrosynthesis()
        started = time.perf_counter()
        places = [rank_of(machine, row) for row in rows]
        each = 1000 * (time.perf_counter() - started) / len(rows)
        shares = (sum(found <= top for found in places) / len(rows) for top in TOPS)
        print(
            f"| {name} | {len(rows)} |", " | ".join(f"{s:.0%}" for s in shares), f"| {each:.0f} |"
        )


if __name__ == "__main__":
    main()
