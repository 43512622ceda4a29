"""Weak steps: hidden steps, then an observed one, then hidden ones; or hidden ones alone, or none.

Two states are weakly bisimilar if and only if they are strongly bisimilar in the graph of weak
steps (Milner, Communication and Concurrency, 1989, section 5). That graph can have quadratically
many edges, and is refused beyond `MOST`.
"""

from __future__ import annotations

from collections.abc import Callable

from proofs.core.explore import TooLarge
from proofs.core.kernels import Array, Runner
from proofs.core.table_search import place_of, shift_for
from proofs.core.webassembly import I32, I64
from proofs.refinement.behaviour import HIDDEN_LABEL
from proofs.refinement.partition import Labelled, first_once, sort, unpack

Fill = Callable[[Array, Array, Array, Array], int]

MOST = 40_000_000
"""How many weak steps there may be."""


def saturated(graph: Labelled) -> Labelled:
    """The graph of the weak steps of `graph`; itself, where no step is hidden.

    Raises `TooLarge`.
    """
    runner, states = graph.runner, graph.states
    if not runner.run(has_hidden, graph.labels):
        return graph
    around, silent = _grown(
        runner,
        lambda offsets, keys, slots, used: runner.run(
            close, graph.offsets, graph.targets, graph.labels, offsets, keys, slots, used
        ),
        states,
    )
    offsets, keys = _grown(
        runner,
        lambda offsets, keys, slots, used: runner.run(
            *(combine, graph.offsets, graph.targets, graph.labels, around, silent),
            *(states, offsets, keys, slots, used),
        ),
        states,
    )
    count = offsets[states]
    targets, labels = runner.new("i", count), runner.new("i", count)
    runner.run(unpack, keys, states, targets, labels)
    return Labelled(runner, offsets, targets, labels)


def _grown(runner: Runner, fill: Fill, states: int) -> tuple[Array, Array]:
    """What a kernel fills, with as much room as it needs; it is called again with twice of it.

    The kernel answers 0, 1 where the keys have no room, or 2 where the table of slots is too small.
    """
    offsets, room, size = runner.new("i", states + 1), 4 * states + 64, 1 << 10
    while room <= 2 * MOST:
        keys, slots, used = runner.new("q", room), runner.new("q", size), runner.new("i", size)
        missing = fill(offsets, keys, slots, used)
        if not missing:
            return offsets, keys
        room, size = (4 * room, size) if missing == NO_ROOM else (room, 4 * size)
        for unused in (used, slots, keys):
            runner.release(unused)
    raise TooLarge(f"there are more than {MOST:,} weak steps; hide less")


NO_ROOM, NO_SLOTS = 1, 2


def has_hidden(labels: I32) -> int:
    """1 where some step is hidden."""
    for place in range(len(labels)):
        if labels[place] == HIDDEN_LABEL:
            return 1
    return 0


def close(
    offsets: I32, targets: I32, labels: I32, begins: I32, keys: I64, slots: I64, used: I32
) -> int:
    """For each state those that hidden steps lead to, itself among them, in `keys`.

    What is found of a state is the queue of its search, so each is followed once.
    """
    count, low = 0, len(slots) - 1
    shift = shift_for(len(slots))
    begins[0] = 0
    for state in range(len(begins) - 1):
        first, taken, done = count, 0, count
        if count == len(keys):
            return NO_ROOM
        keys[count] = state
        count += 1
        slot = place_of(state, shift, low)
        slots[slot] = state + 1
        used[taken] = slot
        taken += 1
        while done < count:
            at = keys[done]
            done += 1
            for place in range(offsets[at], offsets[at + 1]):
                if labels[place] == HIDDEN_LABEL:
                    target = targets[place]
                    slot = place_of(target, shift, low)
                    while slots[slot] != 0 and slots[slot] != target + 1:
                        slot = (slot + 1) & low
                    if slots[slot] == 0:
                        if count == len(keys):
                            return NO_ROOM
                        if 2 * taken >= len(slots):
                            return NO_SLOTS
                        slots[slot] = target + 1
                        used[taken] = slot
                        taken += 1
                        keys[count] = target
                        count += 1
        for number in range(taken):
            slots[used[number]] = 0
        begins[state + 1] = first_once(keys, first, sort(keys, first, count)) + first
    return 0


def combine(
    offsets: I32,
    targets: I32,
    labels: I32,
    around: I32,
    silent: I64,
    states: int,
    begins: I32,
    keys: I64,
    slots: I64,
    used: I32,
) -> int:
    """For each state its weak steps as keys, label * states + target.

    `silent` are the states that hidden steps lead to, from `around[state]` on.
    """
    count, low = 0, len(slots) - 1
    shift = shift_for(len(slots))
    begins[0] = 0
    for state in range(states):
        first, taken = count, 0
        for near in range(around[state], around[state + 1]):
            at = silent[near]
            if count == len(keys):
                return NO_ROOM
            # To hide is the label 0: this key is the state that hidden steps lead to.
            keys[count] = at
            count += 1
            for place in range(offsets[at], offsets[at + 1]):
                if labels[place] != HIDDEN_LABEL:
                    middle = targets[place]
                    for far in range(around[middle], around[middle + 1]):
                        key = labels[place] * states + silent[far]
                        slot = place_of(key, shift, low)
                        while slots[slot] != 0 and slots[slot] != key + 1:
                            slot = (slot + 1) & low
                        if slots[slot] == 0:
                            if count == len(keys):
                                return NO_ROOM
                            if 2 * taken >= len(slots):
                                return NO_SLOTS
                            slots[slot] = key + 1
                            used[taken] = slot
                            taken += 1
                            keys[count] = key
                            count += 1
        for number in range(taken):
            slots[used[number]] = 0
        sort(keys, first, count)
        begins[state + 1] = count
    return 0
