"""Start-up: how long `pxp --help` and `import pxp_fsm` take, beside an empty interpreter.

Each is a process of its own, run in turn with the others; the medians are printed. The aim for
`pxp --help` is 0.3 s.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

RUNS = 15
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import pxp_fsm": [sys.executable, "-c", "import pxp_fsm"],
    "import click": [sys.executable, "-c", "import click"],
    "pxp --help": [sys.executable, "-m", "pxp_fsm.cli", "--help"],
}


def seconds(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    for command in COMMANDS.values():
        seconds(command)
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(RUNS):
        for name, command in COMMANDS.items():
            times[name].append(seconds(command))
    base = statistics.median(times["python -c pass"])
    print(f"| start-up, median of {RUNS} | seconds | times an empty interpreter |")
    print("|---|--:|--:|")
    for name, values in times.items():
        middle = statistics.median(values)
        print(f"| `{name}` | {middle:.3f} | {middle / base:.1f} |")


if __name__ == "__main__":
    main()
