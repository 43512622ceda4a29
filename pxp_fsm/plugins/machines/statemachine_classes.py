"""Classes of python-statemachine, read without making an instance."""

from __future__ import annotations

import sys
from typing import Any

from pxp_fsm.errors import UsageError
from pxp_fsm.plugins.machines.machines import (
    ForeignMachine,
    ForeignState,
    ForeignTransition,
    Literal,
    first_match,
)
from pxp_fsm.plugins.machines.sources import class_attributes

LIBRARY = "python-statemachine"


def is_machine(value: Any) -> bool:
    """Whether `value` is a class of python-statemachine with states, or an object of one."""
    loaded = sys.modules.get("statemachine.statemachine")
    chart = getattr(loaded, "StateChart", None) or getattr(loaded, "StateMachine", None)
    kind = value if isinstance(value, type) else type(value)
    return chart is not None and issubclass(kind, chart) and bool(getattr(kind, "states", ()))


def read(value: Any, name: str = "") -> ForeignMachine:
    """The machine of a class, or of an object's class; `name` is by default the class's.

    Raises `UsageError` for nested, parallel and history states, for transitions without an event,
    and for events that match by a pattern.
    """
    kind: Any = value if isinstance(value, type) else type(value)
    name = name or kind.__name__.lower()
    _refuse(kind, name)
    places = class_attributes(kind, "statemachine")
    transitions = []
    for state in kind.states:
        for transition in state.transitions:
            target = state.id if transition.target is None else transition.target.id
            literals = tuple(
                Literal(_named(spec), spec.expected_value is not False) for spec in transition.cond
            )
            validators = tuple(_named(spec) for spec in transition.validators)
            for event in transition.events:
                place = places.get(str(event))
                transitions.append(
                    ForeignTransition(str(event), state.id, target, literals, validators, place)
                )
    alternatives, shadowed = first_match(transitions)
    triggers = tuple(dict.fromkeys(alternative.trigger for alternative in transitions))
    return ForeignMachine(
        LIBRARY,
        name,
        tuple(ForeignState(s.id, bool(s.final), places.get(s.id)) for s in kind.states),
        kind.initial_state.id,
        tuple(alternatives),
        tuple(shadowed),
        triggers,
        place=places.get(""),
        places={trigger: places[trigger] for trigger in triggers if trigger in places},
    )


def _named(spec: Any) -> str:
    return str(spec.attr_name or spec.func)


def _refuse(kind: Any, name: str) -> None:
    """Raise `UsageError`, with their names, for what is not read."""
    inside = [
        s.id for s in kind.states if getattr(s, "states", None) or getattr(s, "history", None)
    ]
    parallel = [s.id for s in kind.states if getattr(s, "parallel", False)]
    rows = [transition for state in kind.states for transition in state.transitions]
    empty = [
        f"{transition.source.id} → {transition.target and transition.target.id}"
        for transition in rows
        if not [*transition.events]
    ]
    events = {str(event) for transition in rows for event in transition.events}
    # An event of several words is one that the library itself raises (done.state.X, error.X).
    patterns = [event for event in sorted(events) if "*" in event or "." in event]
    several = [
        transition.source.id for transition in rows if len(getattr(transition, "targets", ())) > 1
    ]
    for feature, named in (
        ("parallel states", parallel),
        ("states with states inside", inside),
        ("transitions without an event", empty),
        ("events that it raises itself or that match by a pattern", patterns),
        ("transitions to several states at once", several),
    ):
        if named:
            raise UsageError(
                f"{name}, of {LIBRARY}, has {feature} ({', '.join(named)}), which are not read"
            )
