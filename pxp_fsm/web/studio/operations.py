"""Operations that a page sends, read and checked before they reach a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from pxp_fsm.automata.documents import faults
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.networks.model import files
from pxp_fsm.networks.model.operations import MANUAL, Operation, Split

BY_HAND = (*MANUAL, Split)
"""What a page may do to a network; an update alone makes the others."""


def operations_of(raw: Sequence[Mapping[str, Any]]) -> tuple[Operation, ...]:
    """The operations that JSON means, of the form of those in a log. Raises `UsageError`."""
    found = faults({"operations": list(raw)}, _schema())
    if found:
        raise UsageError(f"{found[0].message}; the schema of network files has the form")
    operations = tuple(map(files.operation, raw))
    for one in operations:
        if not isinstance(one, BY_HAND):
            raise UsageError(f"{quoted(type(one).__name__.lower())} is no operation by hand")
    return operations


@cache
def _schema() -> Mapping[str, Any]:
    network = files.schema()
    return {
        "$schema": network["$schema"],
        "type": "object",
        "properties": {"operations": {"type": "array", "items": {"$ref": "#/$defs/operation"}}},
        "$defs": network["$defs"],
    }
