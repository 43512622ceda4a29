"""Exhaustive exploration of `PackedSessions`: every state, every transition, no symmetry.

A second search, by a loop of its own, for tests to compare the explorer of `pxp check` with.

The reached states are a map with a byte for every packed integer, so that none is stored, hashed
or compared. Each transition is followed on its own, by one small loop. Python runs that loop as it
is for small models; large ones are followed by the same loop as WebAssembly.
Messages are counted in the state, so the order of the controls is breadth first, and the
predecessors of a state are found again by search: shortest traces need no memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from proofs.core.explore import Step, TooLarge, Trace
from proofs.core.kernels import Compiled, Interpreter
from proofs.core.webassembly import I32, U8
from proofs.sessions.explicit import (
    FIRST,
    OUTCOMES,
    OVER,
    RESPONDER,
    PackedSessions,
    Values,
    latest,
)
from proofs.sessions.model import SessionState
from pxp_fsm.errors import UsageError

COMPILE_FROM = 3_000_000
"""From which bound on transitions compiling pays: Python follows about 3 million a second, and a
model has about a quarter of its bound."""

LARGEST = 2**31
"""How many bytes the map of reached states may take."""


def sweep(
    follow: I32,
    kinds: U8,
    seen: U8,
    values: int,
    first: int,
    responder: int,
    over: int,
) -> int:
    """Mark in `seen` every state that can be reached; the number of transitions.

    `follow` and `kinds` are those of `Controls`, `first`, `responder` and `over` its bits.
    """
    pairs = values * values
    block = pairs * pairs
    transitions = 0
    seen[0] = 1
    for control in range(len(kinds)):
        kind = kinds[control]
        if kind & over:
            continue
        for data in range(block):
            if not seen[control * block + data]:
                continue
            initiator, responder_pair = data // pairs, data % pairs
            if kind & responder:
                own, received, stride = responder_pair, initiator, 1
                kept = initiator * pairs
            else:
                own, received, stride = initiator, responder_pair, pairs
                kept = responder_pair
            own_y, own_e = own // values, own % values
            received_y, received_e = received // values, received % values
            for y in range(values):
                for e in range(values):
                    if kind & first:
                        own_y, own_e = y, e
                    outcome = (
                        (8 if received_y == own_y else 0)
                        + (4 if received_e == own_e else 0)
                        + (2 if y == own_y else 0)
                        + (1 if e == own_e else 0)
                    )
                    target = follow[16 * control + outcome]
                    seen[target * block + kept + (y * values + e) * stride] = 1
                    transitions += 1
    return transitions


@dataclass(frozen=True)
class ReachedSessions:
    """Every state of a model that can be reached, with shortest traces.

    `seen` has a 1 at the packed integer of each state that can be reached.
    """

    model: PackedSessions
    seen: bytearray
    transitions: int

    @cached_property
    def states(self) -> int:
        return self.seen.count(1)

    @property
    def levels(self) -> tuple[int, ...]:
        """How many states there are after 0, 1, 2, ... messages."""
        counts: dict[int, int] = {}
        for control, state in enumerate(self.model.controls.states):
            counts[state.sent] = counts.get(state.sent, 0) + self._block(control).count(1)
        return tuple(counts.values())

    def find(
        self,
        control: Callable[[SessionState], bool],
        data: Callable[[Values], bool] | None = None,
    ) -> Trace[int] | None:
        """A shortest trace to a state where `control` and `data` both hold; None if none does.

        `control` is asked once a control, `data` once a combination of values.
        """
        allowed = self._data(data) if data else None
        for number, state in enumerate(self.model.controls.states):
            if control(state):
                block = bytes(self._block(number))
                if allowed is not None:
                    block = (int.from_bytes(block) & allowed).to_bytes(len(block))
                found = block.find(1)
                if found >= 0:
                    return self.trace_to(number * len(block) + found)
        return None

    def trace_to(self, state: int) -> Trace[int]:
        """A shortest trace to a state that can be reached."""
        if not (0 <= state < len(self.seen) and self.seen[state]):
            raise UsageError(f"{self.model.name}: state {state} cannot be reached")
        steps: list[Step[int]] = []
        while state:
            state, step = self._before(state)
            steps.append(step)
        return Trace(0, tuple(reversed(steps)))

    def _before(self, state: int) -> tuple[int, Step[int]]:
        """A state from which one step leads to `state`, and that step."""
        model, (number, values) = self.model, self.model.unpack(state)
        for control, kind in self._sources[number]:
            for earlier in model.earlier(kind, values):
                source = model.pack(control, earlier)
                if self.seen[source]:
                    step = model.step(control, earlier, *latest(kind, values))
                    if step.target == state:
                        return source, step
        raise AssertionError(f"{model.name}: nothing leads to state {state}")

    @cached_property
    def _sources(self) -> dict[int, dict[tuple[int, int], None]]:
        """For each control those that lead to it, with their kinds."""
        sources: dict[int, dict[tuple[int, int], None]] = {}
        controls = self.model.controls
        for control, kind in enumerate(controls.kinds):
            if not kind & OVER:
                for target in controls.follow[len(OUTCOMES) * control :][: len(OUTCOMES)]:
                    sources.setdefault(target, {})[control, kind] = None
        return sources

    def _block(self, control: int) -> bytearray:
        size = self.model.values**4
        return self.seen[control * size : (control + 1) * size]

    def _data(self, holds: Callable[[Values], bool]) -> int:
        every = (self.model.unpack(data)[1] for data in range(self.model.values**4))
        return int.from_bytes(bytes(map(holds, every)))


def reach(model: PackedSessions, compiled: bool | None = None) -> ReachedSessions:
    """Every state of `model` that can be reached.

    `compiled` says whether the loop is; by default where the model is large. Raises `TooLarge`
    where the map would take more than `LARGEST` bytes.
    """
    if model.size > LARGEST:
        raise TooLarge(f"{model.name}: a map of {model.size} bytes is more than {LARGEST}")
    if compiled is None:
        compiled = model.size * model.values**2 >= COMPILE_FROM
    runner = Compiled() if compiled else Interpreter()
    follow = runner.put("i", model.controls.follow)
    kinds, seen = runner.put("B", model.controls.kinds), runner.new("B", model.size)
    transitions = runner.run(sweep, follow, kinds, seen, model.values, FIRST, RESPONDER, OVER)
    return ReachedSessions(model, bytearray(seen), transitions)
