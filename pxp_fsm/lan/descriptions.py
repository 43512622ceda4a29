"""What the update's prompts say of a network and of an agent, after a run.

Source: EasyLAN (Pan, Yu, Li, Shi), section 5.2.
"""

from __future__ import annotations

from typing import Any

from pxp_fsm.lan.network import Network
from pxp_fsm.lan.running import Run


def of_network(network: Network, run: Run, truth: str) -> dict[str, Any]:
    """Names and tasks, the data flow of the run (what, from whom, to whom), input and output."""
    flow = [
        {"content": piece.text, "from": piece.author, "to": name}
        for name, turn in run.turns.items()
        for piece in turn.received.pieces
    ]
    return {
        "task": network.task,
        "agents": [{"name": one.name, "task": one.task} for one in network.agents],
        "edges": sorted(map(list, network.edges)),
        "active": [name for name, turn in run.turns.items() if turn.active],
        "data_flow": flow,
        "input": run.external,
        "output": run.output,
        "wanted_output": truth,
    }


def of_agent(network: Network, name: str, run: Run) -> dict[str, Any]:
    """What the agent is and knows; what it received, thought and put out in the run."""
    agent, turn = network.agent(name), run.turns.get(name)
    told: dict[str, Any] = {
        "name": agent.name,
        "task": agent.task,
        "output": agent.output,
        "control_knowledge": list(agent.control.knowledge),
        "knowledge": list(agent.knowledge),
        "examples": [one.received.shown({}, result=one.result) for one in agent.examples],
    }
    if turn is None:
        return told
    return told | {
        "received": turn.received.shown({}),
        "active": turn.active,
        "control_thoughts": turn.control_thoughts,
        "execution_thoughts": turn.execution_thoughts,
        "result": turn.result,
    }
