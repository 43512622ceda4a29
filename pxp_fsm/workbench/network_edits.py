"""Manual operations on a network as words of a command line."""

from __future__ import annotations

from pxp_fsm.errors import UsageError
from pxp_fsm.lan.network import Agent
from pxp_fsm.lan.operations import (
    Connect,
    Create,
    Delete,
    Disconnect,
    Edit,
    Field,
    Operation,
)
from pxp_fsm.messages import quoted

_TEXTS = (Field.NAME, Field.TASK, Field.OUTPUT)
_SWITCH = {"yes": True, "no": False}


def operation(words: tuple[str, ...]) -> Operation:
    """The operation that the words mean; raises `UsageError` where they mean none."""
    match words:
        case ("create", name, task, output):
            return Create(Agent(name, task, output))
        case ("delete", name):
            return Delete(name)
        case ("connect", source, target):
            return Connect(source, target)
        case ("disconnect", source, target):
            return Disconnect(source, target)
        case ("set", name, field, *values):
            return _edit(name, field, tuple(values))
    raise UsageError(
        f"{quoted(' '.join(words))} is no operation; there are: create NAME TASK OUTPUT, delete "
        f"NAME, connect NAME NAME, disconnect NAME NAME, set NAME FIELD VALUE..."
    )


def _edit(name: str, named: str, values: tuple[str, ...]) -> Edit:
    if named not in list(Field):
        raise UsageError(f"an agent has no field {quoted(named)}; it has: {', '.join(Field)}")
    field = Field(named)
    if field in _TEXTS or field is Field.ENABLED:
        if len(values) != 1:
            raise UsageError(f"{field} is one text; put it in quotes")
        if field is not Field.ENABLED:
            return Edit(name, field, values[0])
        if values[0] not in _SWITCH:
            raise UsageError(f"enabled is yes or no, not {quoted(values[0])}")
        return Edit(name, field, _SWITCH[values[0]])
    return Edit(name, field, values)
