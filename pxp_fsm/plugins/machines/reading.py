"""Values of other libraries as machines: which library it is, and its table."""

from __future__ import annotations

from typing import Any

from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.plugins.machines import langgraph_graphs, statemachine_classes, transitions_machines
from pxp_fsm.plugins.machines.machines import ForeignMachine


def is_foreign(value: Any) -> bool:
    """Whether `value` is a machine that can be read; no library is imported to find out."""
    return isinstance(value, ForeignMachine) or any(
        asked(value)
        for asked in (
            transitions_machines.is_machine,
            statemachine_classes.is_machine,
            langgraph_graphs.is_graph,
        )
    )


def read_machine(value: Any, name: str = "", file: str | None = None) -> ForeignMachine:
    """A machine of `transitions`, python-statemachine or LangGraph as plain data.

    `name` is what it is called, `file` where its source is looked for. Raises `UsageError` for what
    is not read: nested and parallel states, by their names.

    >>> from transitions import Machine
    >>> machine = Machine(
    ...     states=["CART", "PAID"],
    ...     transitions=[["pay", "CART", "PAID"]],
    ...     initial="CART",
    ...     auto_transitions=False,
    ... )
    >>> read_machine(machine, "order").table
    <Automaton order: 2 states, 1 transitions>
    """
    if isinstance(value, ForeignMachine):
        return value
    if transitions_machines.is_machine(value):
        return transitions_machines.read(value, name, file)
    if statemachine_classes.is_machine(value):
        return statemachine_classes.read(value, name)
    return langgraph_graphs.read(value, name)


def table_of(value: Any) -> Automaton | None:
    """The table of a machine of another library; None where `value` is none."""
    return read_machine(value).table if is_foreign(value) else None
