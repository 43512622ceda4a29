"""Random machines of `transitions` and python-statemachine, and what stepping them does.

The oracle is the library's own object: it is put into a state, its conditions are given values, and
it is triggered.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from typing import Any, NamedTuple

from statemachine import State, StateMachine
from statemachine.exceptions import TransitionNotAllowed
from transitions import Machine, MachineError

FLAGS = ("is_a", "is_b")


class Stepped(NamedTuple):
    """What triggers did: by state and trigger the targets, None where one was refused; and the
    numbers of the transitions that were taken."""

    outcomes: dict[tuple[str, str], set[str | None]]
    taken: set[int]


class Model:
    """A model with conditions that are set from outside; it notes which transition was taken."""

    def __init__(self) -> None:
        self.values = dict.fromkeys(FLAGS, False)
        self.latest: int | None = None

    def take(self, number: int, *_given: Any) -> None:
        self.latest = number

    def __getattr__(self, name: str) -> Any:
        if name in FLAGS:
            return partial(self.values.__getitem__, name)
        raise AttributeError(name)


class Built(NamedTuple):
    """A machine, what its transitions are called, and how it is stepped."""

    machine: Any
    written: list[tuple[str, str]]
    step: Callable[[str, str, Mapping[str, bool]], tuple[str | None, int | None]]


def conditions(rng: random.Random) -> dict[str, list[str]]:
    """Up to two conditions of a transition, each to be true or false."""
    chosen = rng.sample(FLAGS, rng.choice((0, 0, 1, 1, 2)))
    kinds = {flag: rng.choice(("conditions", "unless")) for flag in chosen}
    return {kind: [f for f, k in kinds.items() if k == kind] for kind in set(kinds.values())}


def transitions_machine(seed: int) -> Built:
    """A machine of `transitions` with all that its transitions can be."""
    rng, model = random.Random(seed), Model()
    states = [f"s{number}" for number in range(rng.randint(2, 5))]
    machine: Any = Machine(
        model=model,
        states=[{"name": s, "final": rng.random() < 0.2} for s in states],
        initial=rng.choice(states),
        auto_transitions=rng.random() < 0.5,
        queued=rng.random() < 0.5,
        ignore_invalid_triggers=rng.random() < 0.3,
    )
    written: list[tuple[str, str]] = []
    for _ in range(rng.randint(1, 7)):
        source = rng.choice(("*", *states, [*rng.sample(states, 2)]))
        dest = rng.choice((*states, *states, "=", None))
        trigger = rng.choice(("go", "stop", "turn"))
        before = partial(model.take, len(written))
        machine.add_transition(trigger, source, dest, before=before, **conditions(rng))
        written.append((trigger, str(dest)))
    if rng.random() < 0.3:
        before = partial(model.take, len(written))
        some = rng.sample(states, 2) if rng.random() < 0.5 else None
        machine.add_ordered_transitions(some, loop=rng.random() < 0.5, before=before)
        written.append(("next_state", ""))

    def step(state: str, trigger: str, values: Mapping[str, bool]) -> tuple[str | None, int | None]:
        machine.set_state(state)
        model.values, model.latest = dict(values), None
        try:
            model.trigger(trigger)
        except MachineError:
            return None, None
        return (None if model.latest is None else str(model.state)), model.latest

    return Built(machine, written, step)


def statemachine_class(seed: int) -> Built:
    """A class of python-statemachine with conditions, self-loops and internal transitions."""
    rng, latest, values = random.Random(seed), list[int | None]([None]), dict[str, bool]()
    count = rng.randint(2, 5)
    finals = [number > 0 and rng.random() < 0.2 for number in range(count)]
    states = [State(initial=n == 0, final=final) for n, final in enumerate(finals)]
    going = [state for state, final in zip(states, finals, strict=True) if not final]
    events: dict[str, Any] = {}
    written: list[tuple[str, str]] = []
    for number in range(rng.randint(1, 8)):
        source, target = rng.choice(going), rng.choice(states)
        event = rng.choice(("go", "stop", "turn"))
        named = {
            {"conditions": "cond", "unless": "unless"}[kind]: flags
            for kind, flags in conditions(rng).items()
        }
        own: dict[str, Any] = {**named, "before": partial(_note, latest, number)}
        if source is target and rng.random() < 0.5:
            own["internal"] = True
        one = source.to(target, **own)
        events[event] = events[event] | one if event in events else one
        written.append((event, ""))
    attributes: dict[str, Any] = {f"s{n}": state for n, state in enumerate(states)} | events
    attributes |= {flag: lambda _self, flag=flag: values[flag] for flag in FLAGS}
    attributes |= dict.fromkeys(
        ("validate_disconnected_states", "validate_trap_states", "validate_final_reachability"),
        False,
    )
    metaclass: Any = type(StateMachine)
    kind = metaclass("Random", (StateMachine,), attributes)
    running: list[Any] = [kind()]

    def step(state: str, trigger: str, given: Mapping[str, bool]) -> tuple[str | None, int | None]:
        machine = running[0]
        machine.current_state_value = state
        values.update(given)
        latest[0] = None
        try:
            machine.send(trigger)
        except TransitionNotAllowed:
            return None, None
        reached = str(machine.current_state_value)
        if finals[int(reached[1:])]:
            running[0] = kind()  # one that has ended takes no event, whatever its state
        return reached, latest[0]

    return Built(kind, written, step)


def _note(latest: list[int | None], number: int) -> None:
    latest[0] = number


def stepped(built: Built, states: list[str], triggers: list[str]) -> Stepped:
    """What every trigger does in every state, for all values of the conditions."""
    outcomes: dict[tuple[str, str], set[str | None]] = {}
    taken = set[int]()
    for state, trigger, values in product(states, triggers, _valuations()):
        target, number = built.step(state, trigger, values)
        outcomes.setdefault((state, trigger), set()).add(target)
        taken |= set() if number is None else {number}
    return Stepped(outcomes, taken)


def _valuations() -> Iterator[dict[str, bool]]:
    for values in product((False, True), repeat=len(FLAGS)):
        yield dict(zip(FLAGS, values, strict=True))
