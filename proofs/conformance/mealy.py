"""Mealy machines: run, minimised, and compared; what a table looks like from outside."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pxp_fsm.errors import UsageError

I_co = TypeVar("I_co", covariant=True)
O_co = TypeVar("O_co", covariant=True)
O = TypeVar("O")  # noqa: E741 - the field's letter for an output

Word = tuple[int, ...]
"""A sequence of inputs, each by its place in the machine's `inputs`."""


@dataclass(frozen=True)
class Mealy(Generic[I_co, O_co]):
    """A complete deterministic Mealy machine; states and inputs are numbers from 0.

    `successors[s][i]` and `outputs[s][i]` are what input i does in state s; `inputs[i]` is what i
    stands for. Raises `UsageError` where a row is missing or leads nowhere.
    """

    inputs: tuple[I_co, ...]
    successors: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[O_co, ...], ...]
    initial: int = 0

    def __post_init__(self) -> None:
        states, width = len(self.successors), len(self.inputs)
        known = set(range(states))
        if self.initial not in known:
            raise UsageError(f"a machine of {states} states has no state {self.initial}")
        if len(self.outputs) != states or {len(r) for r in (*self.successors, *self.outputs)} != {
            width
        }:
            raise UsageError(f"each of {states} states has a row for each of {width} inputs")
        if not known.issuperset(s for row in self.successors for s in row):
            raise UsageError("a successor is no state of the machine")

    @property
    def size(self) -> int:
        """The number of states."""
        return len(self.successors)

    def after(self, word: Sequence[int], state: int | None = None) -> int:
        """The state that `word` leads to from `state` (by default the initial one)."""
        at = self.initial if state is None else state
        for given in word:
            at = self.successors[at][given]
        return at

    def answers(self, word: Sequence[int], state: int | None = None) -> tuple[O_co, ...]:
        """What the machine answers to `word`, an output for each input."""
        at = self.initial if state is None else state
        said = []
        for given in word:
            said.append(self.outputs[at][given])
            at = self.successors[at][given]
        return tuple(said)


def access_words(machine: Mealy[I_co, O_co]) -> dict[int, Word]:
    """A shortest word to each reachable state, the initial one first."""
    words: dict[int, Word] = {machine.initial: ()}
    waiting = deque([machine.initial])
    while waiting:
        state = waiting.popleft()
        for given, target in enumerate(machine.successors[state]):
            if target not in words:
                words[target] = (*words[state], given)
                waiting.append(target)
    return words


def minimal(machine: Mealy[I_co, O_co]) -> Mealy[I_co, O_co]:
    """The smallest machine that answers alike; its states in the order of their access words.

    Two machines answer alike exactly if their minimal forms are equal.
    """
    reachable = list(access_words(machine))
    block = _numbered({s: machine.outputs[s] for s in reachable})
    while True:
        finer = _numbered(
            {s: (block[s], *(block[t] for t in machine.successors[s])) for s in reachable}
        )
        if len(set(finer.values())) == len(set(block.values())):
            break
        block = finer
    one: dict[int, int] = {}  # a state of each block, the first that is reached
    for state in reachable:
        one.setdefault(block[state], state)
    number = {name: place for place, name in enumerate(one)}
    return Mealy(
        machine.inputs,
        tuple(tuple(number[block[t]] for t in machine.successors[s]) for s in one.values()),
        tuple(machine.outputs[s] for s in one.values()),
    )


def _numbered(keys: dict[int, tuple[object, ...]]) -> dict[int, int]:
    numbers: dict[tuple[object, ...], int] = {}
    return {state: numbers.setdefault(key, len(numbers)) for state, key in keys.items()}


def difference(one: Mealy[I_co, O], other: Mealy[I_co, O]) -> Word | None:
    """A shortest word to which the two answer differently, or None if there is none.

    Of several it is the first in the order of the inputs. Raises `UsageError` where the two have
    not the same inputs.
    """
    if one.inputs != other.inputs:
        raise UsageError("two machines are compared over the same inputs, in the same order")
    start = (one.initial, other.initial)
    words: dict[tuple[int, int], Word] = {start: ()}
    waiting = deque([start])
    while waiting:
        pair = waiting.popleft()
        left, right = pair
        for given in range(len(one.inputs)):
            if one.outputs[left][given] != other.outputs[right][given]:
                return (*words[pair], given)
            target = (one.successors[left][given], other.successors[right][given])
            if target not in words:
                words[target] = (*words[pair], given)
                waiting.append(target)
    return None
