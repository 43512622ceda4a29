"""How much exploring is allowed, and how far it has come."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

UNLIMITED = sys.maxsize


@dataclass
class Effort:
    """At most so many states, and so many MB of memory in all (the process, as it is).

    It remembers how far the latest exploration came, so that one that is interrupted can say so.
    """

    states: int = UNLIMITED
    memory: int = UNLIMITED
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
            return f"more than {self.memory:,} MB of memory: {self.latest}"
        return ""


def used() -> int:
    """The memory of this process in MB: what it holds now where the system says, else its peak."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        import resource

        scale = 1 << 20 if sys.platform == "darwin" else 1 << 10
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // scale
    import resource

    return pages * resource.getpagesize() >> 20
