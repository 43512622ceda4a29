"""How good RAD's machine is, and how long it takes: `python benchmarks/bench_radiograph.py [DIR]`.

DIR is the authors' data folder; without it the bundled phantoms alone are measured.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from pxp_fsm.plugins.rad.task import accuracy, load, untaught
from pxp_fsm.protocol.messages import Message, Tag


def main() -> None:
    for folder in (None, *map(Path, sys.argv[1:2])):
        print("\n".join(accuracy(load(folder))), end="\n\n")
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
