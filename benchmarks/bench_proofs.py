"""The proofs for all n and k, from a cold start, beside rechecking their certificates.

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
from proofs.claims.certificates import certify
from proofs.claims.theorems import TABLES
for protocol in TABLES:
    certify(protocol)
"""
RECHECK = """
from proofs.claims.certificates import shipped_proofs
from pxp_fsm.protocol.rules import Interact, Pxp
for rules in (Interact(), Pxp(), Pxp(3)):
    shipped_proofs(rules)
"""
COMMANDS = {
    "python -c pass": "pass",
    "their certificates rechecked": RECHECK,
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
    print(f"| median of {RUNS} | CPU s | wall-clock s | times rechecking, CPU |")
    print("|---|--:|--:|--:|")
    base = statistics.median(cpu for cpu, _ in times["their certificates rechecked"])
    for name, timings in times.items():
        cpu, wall = (statistics.median(timing[i] for timing in timings) for i in (0, 1))
        print(f"| {name} | {cpu:.3f} | {wall:.3f} | {cpu / base:.1f} |")


if __name__ == "__main__":
    main()
