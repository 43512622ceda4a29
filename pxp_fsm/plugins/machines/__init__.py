"""Machines of transitions, python-statemachine and LangGraph: read as tables, checked and drawn."""

from typing import TYPE_CHECKING

from pxp_fsm.lazy import attach

if TYPE_CHECKING:
    from pxp_fsm.plugins.machines.machines import ForeignMachine as ForeignMachine
    from pxp_fsm.plugins.machines.reading import read_machine as read_machine

__getattr__, __dir__ = attach(
    globals(),
    {
        "pxp_fsm.plugins.machines.machines": "ForeignMachine",
        "pxp_fsm.plugins.machines.reading": "read_machine",
    },
)
