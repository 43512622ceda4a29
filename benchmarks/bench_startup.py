"""Start-up: the CPU seconds of an import and of commands that only look something up.

Each is a process of its own, run in turn with the others; the smallest of some runs is printed,
beside what it may take. Modules are compiled before, as pip does where it installs the package,
whatever the machine's variables say.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

RUNS = 7
PXP = (sys.executable, "-m", "pxp_fsm")
COMMANDS: dict[str, tuple[tuple[str, ...], float]] = {
    "python -c pass": ((sys.executable, "-c", "pass"), 0.02),
    "import pxp_fsm": ((sys.executable, "-c", "import pxp_fsm"), 0.04),
    "pxp --help": ((*PXP, "--help"), 0.2),
    "pxp list": ((*PXP, "list"), 0.4),
    "pxp list claims": ((*PXP, "list", "claims"), 0.4),
    "pxp list runs": ((*PXP, "list", "runs"), 0.4),
    "pxp show DATABASE": ((*PXP, "show", "runs/blackboard.sqlite"), 0.4),
    "pxp draw interact": ((*PXP, "draw", "interact"), 0.4),
    "pxp check interact": ((*PXP, "check", "interact"), 1.0),
}
"""Each with the seconds that it may take."""


def seconds(command: tuple[str, ...], folder: Path) -> float:
    """The CPU seconds of a process and its children."""
    kept = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    compiled = kept | {"PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder, env=compiled)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        run = ("run", "drug", "--instances", "paracetamol,sotalol", "--output", "runs")
        seconds((*PXP, *run), folder)
        for command, _most in COMMANDS.values():
            seconds(command, folder)
        times = {command_name: [float("inf")] for command_name in COMMANDS}
        for _ in range(RUNS):
            for command_name, (command, _most) in COMMANDS.items():
                times[command_name].append(seconds(command, folder))
    print(f"| start-up, the least of {RUNS} | CPU s | at most |")
    print("|---|--:|--:|")
    for command_name, (_command, most) in COMMANDS.items():
        print(f"| `{command_name}` | {min(times[command_name]):.3f} | {most} |")


if __name__ == "__main__":
    main()
