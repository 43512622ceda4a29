"""What the last or the present run has come to, and the training, as a page shows them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from pxp_fsm.plugins.easylan.model.network import Network
from pxp_fsm.plugins.easylan.running.events import (
    Activation,
    CallBegun,
    CallEnded,
    Finished,
    Produced,
    RunBegun,
    TextWritten,
)
from pxp_fsm.plugins.easylan.running.execution import NetworkRun
from pxp_fsm.plugins.easylan.training.events import Told

MOST_TEXT = 4_000
"""The characters of a model's text under way that are shown, the latest ones."""


@dataclass
class AgentTurn:
    """An agent in a run: waiting, deciding, active, blocked, done or failed; and what it did."""

    state: str = "waiting"
    active: bool | None = None
    guard: str = ""
    control_thoughts: str = ""
    execution_thoughts: str = ""
    result: str | None = None
    received: dict[str, Any] | None = None


@dataclass
class LastRun:
    """The last run, or the present one: its input and why it began, its agents, its output.

    `text` is what a model writes now; `failure` says why there is no output.
    """

    external: str | None = None
    reason: str = ""
    version: int = 0
    running: bool = False
    output: str | None = None
    failure: str | None = None
    text: str = ""
    agents: dict[str, AgentTurn] = field(default_factory=dict)
    _calls: dict[int, str] = field(default_factory=dict)

    def take(self, event: Told, names: Iterable[str]) -> bool:
        """Take an event in; whether anything of it is shown. `names` are the network's agents."""
        match event:
            case RunBegun(external, version, reason):
                self.__init__(external, str(reason), version, running=True)  # type: ignore[misc]
                self.agents = {name: AgentTurn() for name in names}
            case CallBegun(call, purpose, agent) if self.running and agent:
                self._calls[call] = agent
                self._agent(agent).state = "deciding" if purpose == "control" else "active"
            case TextWritten(_, text) if self.running:
                self.text = (self.text + text)[-MOST_TEXT:]
            case CallEnded() if self.running:
                self.text = ""
                agent = self._calls.pop(event.call, "")
                if agent and event.failure:
                    self._agent(agent).state = "failed"
            case Activation(agent, active, guard, thoughts):
                turn = self._agent(agent)
                turn.active, turn.guard, turn.control_thoughts = active, guard, thoughts
                turn.state = "active" if active else "blocked"
            case Produced(agent, result, thoughts):
                turn = self._agent(agent)
                turn.result, turn.execution_thoughts, turn.state = result, thoughts, "done"
            case Finished(output):
                self.output, self.running = output, False
            case _:
                return False
        return True

    def _agent(self, name: str) -> AgentTurn:
        return self.agents.setdefault(name, AgentTurn())

    def complete(self, run: NetworkRun) -> None:
        """What a run came to, with what each agent received."""
        self.external, self.output, self.running = run.external, run.output, False
        if not run.active:
            self.output, self.failure = None, "No agent was active, so there is no output."
        self.agents = {
            name: AgentTurn(
                "done" if turn.active else "blocked",
                turn.active,
                turn.guard,
                turn.control_thoughts,
                turn.execution_thoughts,
                turn.result,
                asdict(turn.received),
            )
            for name, turn in run.turns.items()
        }

    def fail(self, why: str) -> None:
        """It has ended without an output."""
        self.running, self.failure = False, why
        for turn in self.agents.values():
            if turn.state in ("waiting", "deciding", "active"):
                turn.state = "failed" if turn.state != "waiting" else "waiting"

    def shown(self, network: Network | None) -> dict[str, Any]:
        """It as JSON, with the agents that the network has now."""
        names = () if network is None else network.names
        return {
            "external": self.external,
            "reason": self.reason,
            "version": self.version,
            "running": self.running,
            "output": self.output,
            "failure": self.failure,
            "text": self.text,
            "agents": {name: asdict(self.agents[name]) for name in names if name in self.agents},
        }
