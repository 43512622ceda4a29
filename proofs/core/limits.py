"""How much exploring is allowed, and how far it has come."""

from __future__ import annotations

import os
import sys
from dataclasses import field
from functools import cache
from pathlib import Path

from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass

UNLIMITED = sys.maxsize


@cache
def half_of_memory() -> int:
    """Half of the memory of this machine, or of the container that this runs in, in MB.

    `UNLIMITED` where the system does not say (Windows, a browser).
    """
    if sys.platform == "emscripten":
        return UNLIMITED
    amounts = list[int]()
    try:
        amounts.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        amounts.append(UNLIMITED)
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            amounts.append(int(Path("/sys/fs/cgroup", name).read_text("ascii")))
        except (OSError, ValueError):
            continue
    least = min(amounts)
    return UNLIMITED if least == UNLIMITED else max(1, least // 2 >> 20)


@dataclass
class Effort:
    """At most so many states, and so many MB of memory in all (the process, as it is): by default
    half of what there is.

    It remembers how far the latest exploration came, so that one that is interrupted can say so.
    """

    states: int = UNLIMITED
    memory: int = field(default_factory=half_of_memory)
    latest: str = field(default="", compare=False)

    def spent(self, states: int, depth: int, frontier: int) -> str:
        """Why exploring has to stop with so many states, of which `frontier` have not been looked
        at; "" where it may go on.
        """
        self.latest = (
            f"{states:,} states met, {frontier:,} of them not looked at yet, at depth {depth}"
        )
        if states > self.states:
            return f"more than {self.states:,} states: {self.latest}"
        if self.memory != UNLIMITED and used() > self.memory:
            half = ", half of what there is" if self.memory == half_of_memory() else ""
            return f"more than {self.memory:,} MB of memory{half}: {self.latest}"
        return ""


def used() -> int:
    """The memory of this process in MB: what it holds now where the system says, else its peak.

    Raises `UsageError` on Windows, where neither is known.
    """
    if sys.platform == "win32":
        raise UsageError("memory has no bound on Windows, where it is not measured", "memory")
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        import resource

        scale = 1 << 20 if sys.platform == "darwin" else 1 << 10
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // scale
    import resource

    return pages * resource.getpagesize() >> 20
