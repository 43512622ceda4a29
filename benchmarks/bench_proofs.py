"""The proofs for all n and k of both protocols, from a cold start, beside starting Z3 alone.

Each is a process of its own, run in turn with the others; medians of CPU and wall-clock seconds
are printed.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

RUNS = 7
PROVE = """
from proofs.claims.certificates import PROTOCOLS, certify
from proofs.induction.numbers import Numbers
numbers = Numbers()
for protocol in PROTOCOLS:
    certify(protocol, numbers=numbers)
"""
COMMANDS = {
    "python -c pass": "pass",
    "import z3": "import z3; z3.Solver().check()",
    "all proofs of INTERACT, PXP and PXP(k)": PROVE,
}


def measured(code: str) -> tuple[float, float]:
    """CPU and wall-clock seconds of one process."""
    started = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-c", code])
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, code)
    return used.ru_utime + used.ru_stime, time.perf_counter() - started


def main() -> None:
    for code in COMMANDS.values():
        measured(code)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    for _ in range(RUNS):
        for name, code in COMMANDS.items():
            times[name].append(measured(code))
    print(f"| median of {RUNS} | CPU s | wall-clock s | times `import z3`, CPU |")
    print("|---|--:|--:|--:|")
    base = statistics.median(cpu for cpu, _ in times["import z3"])
    for name, found in times.items():
        cpu, wall = (statistics.median(one[i] for one in found) for i in (0, 1))
        print(f"| {name} | {cpu:.3f} | {wall:.3f} | {cpu / base:.1f} |")


if __name__ == "__main__":
    main()
