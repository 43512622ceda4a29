"""Merging two agents into one by hand, as the operations that do it."""

from __future__ import annotations

from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.plugins.easylan.model.network import Network
from pxp_fsm.plugins.easylan.model.operations import (
    AgentField,
    Connect,
    Delete,
    Disconnect,
    Edit,
    Operation,
)


def merging(network: Network, name: str, into: str) -> tuple[Operation, ...]:
    """The operations by which the agent `into` takes over what the agent `name` does.

    It has both subtasks and all their knowledge, and the edges of both; what only `name` requires
    it requires too, where it decides whether it is active. Raises `UsageError` where one of them is
    not there, or both are the same. Whether there would be a cycle, applying them says.
    """
    gone, kept = network.agent(name), network.agent(into)
    if name == into:
        raise UsageError(f"{quoted(name)} cannot be merged into itself; name another agent")
    found: list[Operation] = []
    sources = [one for one in network.predecessors(name) if one != into]
    targets = [one for one in network.successors(name) if one != into]
    found += [Connect(one, into) for one in sources if one not in network.predecessors(into)]
    found += [Connect(into, one) for one in targets if one not in network.successors(into)]
    if (into, name) in network.edges:
        found.append(Disconnect(into, name))
    found.append(Delete(name))

    def edit(field: AgentField, value: str | tuple[str, ...], before: object) -> None:
        if value != before:
            found.append(Edit(into, field, value))

    edit(AgentField.TASK, "\n".join(dict.fromkeys((gone.task, kept.task))), kept.task)
    known = tuple(dict.fromkeys((*gone.knowledge, *kept.knowledge)))
    edit(AgentField.KNOWLEDGE, known, kept.knowledge)
    decided = tuple(dict.fromkeys((*gone.control.knowledge, *kept.control.knowledge)))
    edit(AgentField.CONTROL_KNOWLEDGE, decided, kept.control.knowledge)
    required = tuple(
        dict.fromkeys(
            one
            for one in (*gone.control.required, *kept.control.required)
            if one not in (name, into)
        )
    )
    left = tuple(one for one in kept.control.required if one != name)
    edit(AgentField.REQUIRED, required, left)
    return tuple(found)
