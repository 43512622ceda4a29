"""The compiled search of a model that is laid out in tables, by one core or two.

`proofs.core.kernel` expands states; here its arrays grow, and the limits are kept. For each state
there are eight bytes of its own, one that says how many were met first from it, and eight for each
slot of the table, of which a quarter, and from 2^23 slots on three quarters, are filled.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from proofs.core.kernel import (
    ALONE,
    BATCH,
    COUNT,
    DEPTH,
    DONE,
    ENDS,
    FIRST,
    LEVEL,
    SECOND,
    STEPS,
    Tables,
    compiled_search,
    compiled_settling,
)
from proofs.core.limits import UNLIMITED, Effort

_CHUNK = 1 << 19
"""After how many states the loop returns, so that limits and interrupts are seen."""

_SHARED = 1 << 12
"""From how many states of a level on two share it."""

_TARGETS = 1 << 21
"""How many states two may meet before what they have met is put together."""

_FIRST_SLOTS = 1 << 16
"""How many slots a search begins with: a page of them that holds no state is not touched."""

_LARGE = 1 << 19
"""From how many entries on an array is in huge pages and grows where it stands."""

_HUGE = 1 << 23
"""From how many slots on memory counts for more than the length of searches in them."""

_PIECE = 1 << 22
"""How many slots are moved to a larger table before their memory is given back."""

_MOST = (1 << 31) - 1
"""How many states can be numbered."""

_BLOCK = 1 << 20
"""How many states are looked at together."""


@dataclass(frozen=True)
class Visited:
    """What a search has found: the states in breadth-first order.

    `children` says how many states were met first from each. `ends` are the numbers of states
    without a step. States from number `expanded` on have not been looked at, since the search was
    `cut` for this reason.
    """

    tables: Tables
    states: Any
    children: Any
    ends: Any
    expanded: int
    transitions: int
    depth: int
    cut: str

    @cached_property
    def parents(self) -> Any:
        """The number of the state from which each was met first; -1 for the first state."""
        import numpy as np

        parents, count = np.full(len(self.states), -1, np.int32), 1
        for begin in range(0, self.expanded, _BLOCK):
            children = self.children[begin : begin + _BLOCK]
            found = np.repeat(np.arange(begin, begin + len(children), dtype=np.int32), children)
            parents[count : count + len(found)] = found
            count += len(found)
        return parents

    def edges(self) -> tuple[Any, Any]:
        """Where each step leads: the targets of state i are `targets[offsets[i]:offsets[i + 1]]`.

        They are computed again, since few questions need them.
        """
        import numpy as np

        offsets = np.empty(self.expanded + 1, np.int64)
        targets = np.empty(self.transitions + BATCH * (self.tables.widest + 1), np.int32)
        progress = np.array([len(self.states), 0, 0, 0, 0, 0], np.int64)
        slots, nothing = np.zeros(_slots_for(len(self.states)), np.int64), np.empty(0, np.int64)
        index = np.empty(len(slots), np.int32)
        compiled_search()(
            self.states, self.children, self.ends, slots, nothing, index, offsets, targets,
            nothing, nothing, *_room(self.tables), progress, ALONE, 0, 0, UNLIMITED, self.expanded,
            self.tables.keep, *self.tables.arrays,
        )  # fmt: skip
        return offsets, targets[: self.transitions]


def cores() -> int:
    """How many cores a search uses: those that this process may use, at most two."""
    allowed = getattr(os, "sched_getaffinity", None)
    return min(2, len(allowed(0)) if allowed else os.cpu_count() or 1)


def explore_tables(tables: Tables, effort: Effort, workers: int | None = None) -> Visited:
    """Every state that can be reached, breadth first, or as many as `effort` allows.

    `workers` are one or two; by default `cores()`. The answer is the same.
    """
    with ThreadPoolExecutor(1) as second:
        search = _Search(tables, second if (workers or cores()) > 1 else None)
        return search.run(effort)


class _Search:
    """The arrays of a search, which grow."""

    def __init__(self, tables: Tables, second: ThreadPoolExecutor | None) -> None:
        import numpy as np

        self._tables, self._second, self._most = tables, second, BATCH * (tables.widest + 1)
        self._scratch, self._nothing = _room(tables), np.empty(0, np.int64)
        self._others = _room(tables)
        self._unused = np.empty(0, np.int32)
        self._slots = np.zeros(_slots_for(2 * self._most), np.int64)
        room = _holds(len(self._slots))
        self._states = np.empty(room, np.int64)
        self._children = np.empty(room, np.uint8 if tables.widest < 256 else np.int32)
        self._ends = np.empty(2 * BATCH, np.int32)
        self._states[0] = tables.start
        self._slots[_place(tables.start, len(self._slots))] = tables.start + 1
        self._progress = np.array([1, 0, 0, 0, 0, 1], np.int64)
        self._share = _TARGETS // (tables.widest + 1)
        self._met, self._spots, self._ended = self._nothing, self._nothing, self._unused

    def run(self, effort: Effort) -> Visited:
        progress, cut = self._progress, ""
        while progress[DONE] < progress[COUNT]:
            count, done = int(progress[COUNT]), int(progress[DONE])
            cut = effort.spent(count, int(progress[DEPTH]), count - done)
            if cut:
                break
            if self._second is None or not self._both(self._second, effort.states):
                until = done + (_CHUNK if self._second is None else 4 * _SHARED)
                room = min(len(self._states), _holds(len(self._slots)))
                whole = self._states, self._ends, self._scratch, progress, ALONE, 0
                self._search(whole, room, effort.states, until)
            cut = self._grow()
            if cut:
                break
        count, ended = int(progress[COUNT]), int(progress[ENDS])
        done, steps, depth = int(progress[DONE]), int(progress[STEPS]), int(progress[DEPTH])
        found = self._states[:count], self._children[:done], self._ends[:ended]
        return Visited(self._tables, *found, done, steps, depth, cut)

    def _both(self, second: ThreadPoolExecutor, limit: int) -> bool:
        """Expand a part of a level, each a half; False where it is narrow, or room is scarce."""
        import numpy as np

        progress, most = self._progress, self._most
        count, done, steps, ended, _, level = map(int, progress)
        room = min(len(self._states), _holds(len(self._slots)), limit) - count - 2 * most
        size = min(level - done, self._share, room // (self._tables.widest + 1))
        if size < _SHARED:
            return False
        if not len(self._met):
            self._met = np.empty(_TARGETS // 2 + most, np.int64)
            self._spots, self._ended = np.empty_like(self._met), np.empty(self._share, np.int32)
        if ended + size > len(self._ends):
            self._ends.resize(2 * (ended + size), refcheck=False)
        middle, beyond = done + size // 2, done + size
        mine = np.array([count, done, steps, ended, 0, -1], np.int64)
        others = np.array([count, middle, 0, 0, 0, -1], np.int64)
        theirs = self._met, self._ended, self._others, others, SECOND, count
        job = second.submit(self._search, theirs, UNLIMITED, UNLIMITED, beyond)
        own = self._states, self._ends, self._scratch, mine, FIRST, 0
        self._search(own, UNLIMITED, UNLIMITED, middle)
        job.result()
        count = compiled_settling()(
            self._states, self._children, self._slots, self._met, self._spots, middle, beyond,
            int(mine[COUNT]),
        )  # fmt: skip
        ended, more = int(mine[ENDS]), int(others[ENDS])
        self._ends[ended : ended + more] = self._ended[:more]
        progress[:4] = count, beyond, mine[STEPS] + others[STEPS], ended + more
        if beyond == level and beyond < count:
            progress[DEPTH], progress[LEVEL] = progress[DEPTH] + 1, count
        return True

    def _search(
        self, which: tuple[Any, ...], room: int, limit: int, until: int, old: Any = None
    ) -> None:
        found, ends, scratch, progress, who, base = which
        compiled_search()(
            self._states, self._children, ends, self._slots, self._nothing if old is None else old,
            self._unused, self._nothing, self._unused, found, self._spots, *scratch, progress, who,
            base, room, limit, until, self._tables.keep, *self._tables.arrays,
        )  # fmt: skip

    def _grow(self) -> str:
        """Make room for a batch; why it cannot be, where the states cannot be numbered."""
        import numpy as np

        count, holds = int(self._progress[COUNT]), _holds(len(self._slots))
        needed = count + self._most
        if self._progress[ENDS] + BATCH > len(self._ends):
            self._ends.resize(2 * len(self._ends), refcheck=False)
        if needed > holds:
            wide = len(self._slots) << (2 if len(self._slots) < _LARGE else 1)
            old = self._slots
            self._slots = np.zeros(max(wide, _slots_for(needed)), np.int64)
            holds = _holds(len(self._slots))
            while len(old):
                self._move(old[-_PIECE:])
                old.resize(max(0, len(old) - _PIECE), refcheck=False)
        if needed > _MOST:
            return f"more than {_MOST:,} states, which is all that can be numbered"
        needed = min(needed if self._second is None else count + _TARGETS, holds)
        if needed > len(self._states):
            size = min(_MOST, holds, needed + self._most + (len(self._states) >> 2))
            self._states = _larger(self._states, size)
            self._children = _larger(self._children, size)
        return ""

    def _move(self, old: Any) -> None:
        """Enter these slots of a smaller table, on one core: two wait for each other's pages."""
        nobody = self._states, self._ends, self._scratch, self._progress, ALONE, 0
        self._search(nobody, 0, 0, 0, old)


def _larger(array: Any, size: int) -> Any:
    """The array with room for so many entries."""
    import numpy as np

    if len(array) >= 2 * _LARGE:
        array.resize(size, refcheck=False)
        return array
    larger = np.empty(max(size, 2 * len(array)), array.dtype)
    larger[: len(array)] = array
    return larger


def _holds(slots: int) -> int:
    """How many states so many slots hold: a quarter is faster, three quarters take less memory."""
    return slots // 4 if slots < _HUGE else slots * 3 // 4


def _slots_for(states: int) -> int:
    """How many slots hold so many states; a power of two."""
    slots = _FIRST_SLOTS
    while _holds(slots) < states:
        slots *= 2
    return slots


def _room(tables: Tables) -> tuple[Any, Any, Any]:
    """Where a batch puts its targets, their places, and where those of each state begin."""
    import numpy as np

    most = BATCH * (tables.widest + 1)
    return np.empty(most, np.int64), np.empty(most, np.int64), np.empty(BATCH + 1, np.int64)


def _place(state: int, slots: int) -> int:
    """Where a state belongs among so many slots: `_hash` for Python's integers."""
    most = (1 << 64) - 1
    mixed = state * 0x9E3779B97F4A7C15 & most
    mixed ^= mixed >> 32
    mixed = mixed * 0xD6E8FEB86659FD93 & most
    return mixed >> 65 - slots.bit_length()
