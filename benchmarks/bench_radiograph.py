"""How good RAD's machine is, and how long it takes: `python benchmarks/bench_radiograph.py [DIR]`.

DIR is the authors' data folder; without it the bundled phantoms alone are measured.
"""

from __future__ import annotations

import operator
import sys
import time
from collections import Counter
from pathlib import Path

from pxp_fsm.plugins.rad.task import accuracy, load, reader, untaught
from pxp_fsm.protocol.messages import Message, Tag
from pxp_fsm.tasks.labels.neighbours import predictions, right, taught
from pxp_fsm.tasks.task import DataSet


def told_all_others(data: DataSet) -> str:
    """About how many films the machine is right that has been told the labels of all others."""
    films = (*data.sessions, *data.validation)
    machine, counts = untaught(), Counter[str]()
    for film in films:
        others = [another for another in films if another is not film]
        counts["with phantoms"] += right(taught(machine, others), [film])
        counts["without"] += right(reader(others), [film])
    commonest = Counter(film.answer.prediction for film in films).most_common(1)[0][1]
    return (
        f"Told the labels of all other films, with phantoms and without: {counts['with phantoms']} "
        f"and {counts['without']} of {len(films)}; always the commonest answer: {commonest}"
    )


def lesson_by_lesson(data: DataSet) -> str:
    """What each true lesson alone does to first answers on the films held back."""
    machine = untaught()
    before = predictions(machine, data.validation)
    changed, more, fewer = list[int](), 0, 0
    for film in data.sessions:
        told = taught(machine, [film])
        after = predictions(told, data.validation)
        changed.append(sum(map(operator.ne, before, after)))
        gain = right(told, data.validation) - right(machine, data.validation)
        more, fewer = more + (gain > 0), fewer + (gain < 0)
    return (
        f"Each of {len(changed)} true lessons alone changes {min(changed)} to {max(changed)} of "
        f"{len(before)} first answers; {more} make more right, {fewer} fewer"
    )


def main() -> None:
    for folder in (None, *map(Path, sys.argv[1:2])):
        print("\n".join(accuracy(load(folder))), end="\n\n")
    for folder in map(Path, sys.argv[1:2]):
        data = load(folder)
        print(f"{lesson_by_lesson(data)}\n{told_all_others(data)}", end="\n\n")
    started = time.process_time()
    machine, rows = untaught(), load(None).sessions
    for row in rows:
        machine.prediction(row.instance)
    asked = time.process_time()
    for row in rows:
        machine.learn(row.instance, Message("s", 2, "h", Tag.REFUTE, row.answer, "m"))
        machine.prediction(row.instance)
    learned = time.process_time()
    print(f"a measured picture is classified in {(asked - started) / len(rows):.3f} s of CPU,")
    print(f"a lesson and the answer to it take {(learned - asked) / len(rows):.3f} s")


if __name__ == "__main__":
    main()
