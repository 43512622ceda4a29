"""Machines of the library `transitions`, read from a running `Machine`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

from pxp_fsm.errors import UsageError
from pxp_fsm.plugins.machines.machines import (
    ForeignMachine,
    ForeignState,
    ForeignTransition,
    Literal,
    first_match,
)
from pxp_fsm.plugins.machines.sources import TransitionPlaces, file_of

LIBRARY = "transitions"


def is_machine(value: Any) -> bool:
    """Whether `value` is a machine of `transitions`, which is loaded where one exists."""
    core = sys.modules.get("transitions.core")
    return core is not None and isinstance(value, core.Machine)


def read(machine: Any, name: str = "", file: str | None = None) -> ForeignMachine:
    """A machine as it is now: its own states, triggers and transitions in the order of trial.

    `name` is what it is called, by default its own name or its model's class; `file` is searched
    for places. Triggers `to_STATE` that the library adds by itself are left out. Raises
    `UsageError` for nested and parallel states, and for a machine without an initial state.
    """
    name = name or _name(machine)
    for feature, named in _with_states_inside(machine):
        raise UsageError(
            f"{name}, of {LIBRARY}, has {feature} states ({', '.join(named)}), which are not read; "
            f"check the machine of the states inside as one of its own"
        )
    if machine.initial is None or machine.initial not in machine.states:
        raise UsageError(
            f"{name}, of {LIBRARY}, has no initial state of its own; give Machine(initial=...)"
        )
    written = TransitionPlaces(file or _file(machine))
    own = [trigger for trigger in machine.events if not _is_automatic(machine, trigger)]
    transitions = [
        ForeignTransition(
            trigger,
            source,
            source if transition.dest is None else transition.dest,
            tuple(_literals(transition)),
            place=written.transition(trigger, source, transition.dest),
        )
        for trigger in own
        for source, tried in machine.events[trigger].transitions.items()
        for transition in tried
    ]
    alternatives, shadowed = first_match(transitions)
    places = {
        alternative.trigger: alternative.place
        for alternative in transitions
        if alternative.place is not None
    }
    return ForeignMachine(
        LIBRARY,
        name,
        tuple(
            ForeignState(
                state.name, bool(getattr(state, "final", False)), written.state(state.name)
            )
            for state in machine.states.values()
        ),
        machine.initial,
        tuple(alternatives),
        tuple(shadowed),
        tuple(own),
        notes=tuple(_notes(machine, own)),
        places=places,
    )


def _with_states_inside(machine: Any) -> Iterator[tuple[str, list[str]]]:
    """The states that have others inside, wherever they are: parallel ones, then nested ones.

    In a parallel state several states are initial.
    """
    outer = list[tuple[str, Any]]()
    left = [(state.name, state) for state in machine.states.values()]
    while left:
        path, state = left.pop(0)
        inside = getattr(state, "states", None) or {}
        if inside:
            outer.append((path, state))
        left += [(f"{path}{state.separator}{key}", child) for key, child in inside.items()]
    for feature, is_parallel in (("parallel", True), ("nested", False)):
        named = [path for path, state in outer if isinstance(state.initial, list) is is_parallel]
        if named:
            yield feature, named


def _name(machine: Any) -> str:
    if machine.name:
        return str(machine.name).removesuffix(": ")
    kinds = [type(model).__name__ for model in machine.models if model is not machine]
    return (kinds[0] if kinds else type(machine).__name__).lower()


def _file(machine: Any) -> str | None:
    """The file of the model's class, or of the machine's own where that is not the library's."""
    for kind in (*map(type, machine.models), type(machine)):
        if kind.__module__.partition(".")[0] != LIBRARY:
            return file_of(kind)
    return None


def _is_automatic(machine: Any, trigger: str) -> bool:
    """Whether the library added `trigger`: to_STATE, from every state, without a condition."""
    state = trigger.removeprefix("to_")
    if not machine.auto_transitions or state == trigger or state not in machine.states:
        return False
    tried = machine.events[trigger].transitions
    return all(
        len(some) == 1 and some[0].dest == state and not some[0].conditions
        for some in tried.values()
    ) and set(tried) == set(machine.states)


def _literals(transition: Any) -> Iterator[Literal]:
    for condition in transition.conditions:
        yield Literal(_named(condition.func), bool(condition.target))


def _named(function: Any) -> str:
    if isinstance(function, str):
        return function
    while isinstance(function, partial):
        function = function.func
    name = getattr(function, "__qualname__", "") or type(function).__name__
    plain = name.rpartition("<locals>.")[2]
    # Two lambdas are two conditions, though they have one name.
    code = getattr(function, "__code__", None)
    return plain if "<lambda>" not in plain or code is None else f"lambda_{code.co_firstlineno}"


def _notes(machine: Any, own: list[str]) -> Iterator[str]:
    automatic = [trigger for trigger in machine.events if trigger not in own]
    if automatic:
        yield (
            f"left out: the {len(automatic)} triggers that transitions adds by itself "
            f"({automatic[0]}, …), by which every state can be reached; "
            f"Machine(auto_transitions=False) has none"
        )
    if not machine.has_queue and _has_callbacks(machine):
        yield (
            "callbacks are not looked at; without queued=True a trigger inside one takes effect "
            "before the transition around it ends"
        )


def _has_callbacks(machine: Any) -> bool:
    kept = ("before", "after", "prepare")
    return any(
        getattr(transition, kind)
        for event in machine.events.values()
        for some in event.transitions.values()
        for transition in some
        for kind in kept
    ) or any(state.on_enter or state.on_exit for state in machine.states.values())
