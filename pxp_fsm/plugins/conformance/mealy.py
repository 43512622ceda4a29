"""Mealy machines: execution, minimisation, comparison; the external behaviour of a table."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Generic, TypeVar

from pxp_fsm.automata.automaton import (
    DECIDE,
    Automaton,
    Kind,
    Trigger,
    happening,
    one_hot,
    receiving,
    sending,
)
from pxp_fsm.errors import PXPError, UsageError
from pxp_fsm.lazy_dataclasses import dataclass

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
            raise UsageError("a successor is not a state of the machine")

    @property
    def size(self) -> int:
        """The number of states."""
        return len(self.successors)

    def after(self, word: Sequence[int], state: int | None = None) -> int:
        """The state that `word` leads to from `state` (by default the initial one)."""
        at = self.initial if state is None else state
        for letter in word:
            at = self.successors[at][letter]
        return at

    def answers(self, word: Sequence[int], state: int | None = None) -> tuple[O_co, ...]:
        """What the machine answers to `word`, an output for each input."""
        at = self.initial if state is None else state
        outputs = []
        for letter in word:
            outputs.append(self.outputs[at][letter])
            at = self.successors[at][letter]
        return tuple(outputs)


def access_words(machine: Mealy[I_co, O_co]) -> dict[int, Word]:
    """A shortest word to each reachable state, the initial one first."""
    words: dict[int, Word] = {machine.initial: ()}
    waiting = deque([machine.initial])
    while waiting:
        state = waiting.popleft()
        for letter, target in enumerate(machine.successors[state]):
            if target not in words:
                words[target] = (*words[state], letter)
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
    representative: dict[int, int] = {}  # a state of each block, the first that is reached
    for state in reachable:
        representative.setdefault(block[state], state)
    number = {name: place for place, name in enumerate(representative)}
    return Mealy(
        machine.inputs,
        tuple(
            tuple(number[block[t]] for t in machine.successors[s]) for s in representative.values()
        ),
        tuple(machine.outputs[s] for s in representative.values()),
    )


def _numbered(keys: dict[int, tuple[object, ...]]) -> dict[int, int]:
    numbers: dict[tuple[object, ...], int] = {}
    return {state: numbers.setdefault(key, len(numbers)) for state, key in keys.items()}


def difference(machine: Mealy[I_co, O], other: Mealy[I_co, O]) -> Word | None:
    """A shortest word to which the two answer differently, or None if there is none.

    Of several it is the first in the order of the inputs. Raises `UsageError` where the two have
    not the same inputs.
    """
    if machine.inputs != other.inputs:
        raise UsageError("two machines are compared over the same inputs, in the same order")
    start = (machine.initial, other.initial)
    words: dict[tuple[int, int], Word] = {start: ()}
    waiting = deque([start])
    while waiting:
        pair = waiting.popleft()
        left, right = pair
        for letter in range(len(machine.inputs)):
            if machine.outputs[left][letter] != other.outputs[right][letter]:
                return (*words[pair], letter)
            target = (machine.successors[left][letter], other.successors[right][letter])
            if target not in words:
                words[target] = (*words[pair], letter)
                waiting.append(target)
    return None


UNHEARD = "SOMETHING_UNHEARD_OF"
"""A tag, event and guard that no built-in table has; lengthened where another table has it."""

_WORDS = {Kind.SEND: "send", Kind.RECEIVE: "receive", Kind.EVENT: "event"}


@dataclass(frozen=True, slots=True)
class Stimulus:
    """An event and, where guards are to decide, what they say.

    What they say may be no valuation: a guard is missing, one is unknown, a value is no boolean.
    `unusual` is then how people read it; it also tells 1 from True, which Python takes for equal.
    """

    event: Trigger
    truths: tuple[tuple[str, bool | int | str | None], ...] | None = None
    unusual: str = ""

    @property
    def valuation(self) -> dict[str, Any] | None:
        """What the guards say; None where the event is not a decision."""
        return None if self.truths is None else dict(self.truths)

    def __str__(self) -> str:
        if self.event.kind is not None:
            between = " to " if self.event.kind is Kind.SEND else " from "
            whom = f"{between}{self.event.partner}" if self.event.partner else ""
            return f"{_WORDS[self.event.kind]} {self.event.label}{whom}"
        if self.unusual:
            return f"decide {self.unusual}"
        true = [name for name, holds in self.truths or () if holds]
        if true:
            return "decide " + "+".join(true)
        return "decide none of " + " ".join(name for name, _ in self.truths or ())


Answer = str | None
"""What an agent does: the action as at a table's arrow (`+RATIFY`), or None: it refuses."""


def stimuli(automaton: Automaton) -> tuple[Stimulus, ...]:
    """Everything that a test of `automaton` may do to an agent, in a fixed order.

    Each event of the table, those under guards also without a decision; each tag as received; a tag
    and an event unheard of. For each set of guards that decides in some state: each valuation (of
    more than four guards not every one, see `_valuations`), then what is no valuation of them and
    is to be refused, and a valuation in another order, which changes nothing.
    """
    unheard = UNHEARD
    while unheard in {row.label for row in automaton.transitions} | set(automaton.guards):
        unheard += "_"
    tags = dict.fromkeys(t.label for t in automaton.transitions if t.kind is not Kind.EVENT)
    rows = sorted(automaton.transitions, key=lambda row: row.guard is not None)
    events = [Trigger(row.kind, row.label, row.partner) for row in rows]
    events += [receiving(tag) for tag in (*tags, unheard)]
    events += [sending(unheard), happening(unheard)]
    plain = tuple(map(Stimulus, dict.fromkeys(events)))
    sets = {frozenset(state.guards): state.guards for state in automaton.states if state.guards}
    proper = [
        Stimulus(DECIDE, valuation) for guards in sets.values() for valuation in _valuations(guards)
    ]
    unusual = [stimulus for guards in sets.values() for stimulus in _unusual(guards, unheard)]
    return (*plain, *proper, *unusual)


Truths = tuple[tuple[str, bool], ...]


def _valuations(guards: tuple[str, ...]) -> Iterator[Truths]:
    """Each guard true alone, none true; then two, three and four true.

    Of more than four guards two and three true stand beside each other, and all but one and all
    take the place of four.
    """
    count = len(guards)
    every = count <= 4
    sizes = range(2, count + 1) if every else (2, 3, count - 1, count)
    chosen: list[tuple[str, ...]] = [*((guard,) for guard in guards), ()]
    for size in sizes:
        if every:
            chosen += combinations(guards, size)
        else:
            chosen += ((guards * 2)[first : first + size] for first in range(count))
    seen = dict.fromkeys(frozenset(true) for true in chosen)
    return (tuple((guard, guard in true) for guard in guards) for true in seen)


def _unusual(guards: tuple[str, ...], unheard: str) -> Iterator[Stimulus]:
    """Guards are missing, unknown or no booleans, which is refused; or come in another order."""

    def decide(truths: Mapping[str, bool | int | str | None], words: str) -> Stimulus:
        return Stimulus(DECIDE, tuple(truths.items()), words)

    first, last = guards[0], guards[-1]
    alone = one_hot(first, guards)
    for place, missing in enumerate(guards):
        true = guards[place - 1]
        left = {name: name == true for name in guards if name != missing}
        yield decide(left, f"{true if left else 'nothing'} without {missing}")
    if len(guards) > 1:
        yield decide({}, "nothing without a guard")
    yield decide(alone | {unheard: False}, f"{first} of {' '.join(guards)} {unheard}")
    yield decide(dict.fromkeys(guards, False) | {unheard: True}, unheard)
    yield decide(alone | {first: 1}, f"{first}=1")
    yield decide(alone | {first: "true"}, f'{first}="true"')
    if len(guards) > 1:
        yield decide(alone | {last: 0}, f"{first}, {last}=0")
        yield decide(alone | {last: None}, f"{first}, {last}=null")
        yield decide(dict(reversed(alone.items())), f"{first} of {' '.join(reversed(guards))}")


def answer_of(automaton: Automaton, state: str, stimulus: Stimulus) -> tuple[Answer, str]:
    """What the table answers to `stimulus` in `state`, and where it leads."""
    try:
        taken = automaton.step(state, stimulus.event, stimulus.valuation)
    except PXPError:
        return None, state
    return taken.action, taken.target


def as_mealy(
    automaton: Automaton, inputs: tuple[Stimulus, ...] | None = None
) -> Mealy[Stimulus, Answer]:
    """`automaton` as seen from outside: a state for each of its states, complete and deterministic.

    What the table refuses is answered by None and does not move it. `inputs` are by default all
    that its tests may do (see `stimuli`); those of another table show how it would fare there.
    """
    inputs = stimuli(automaton) if inputs is None else inputs
    names = [state.name for state in automaton.states]
    steps = [[answer_of(automaton, name, stimulus) for stimulus in inputs] for name in names]
    return Mealy(
        inputs,
        tuple(tuple(names.index(target) for _, target in row) for row in steps),
        tuple(tuple(answer for answer, _ in row) for row in steps),
        names.index(automaton.initial),
    )
