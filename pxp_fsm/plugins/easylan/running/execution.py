"""Execution of a network: each agent's turn is a session of the table `lan_agent`, all at once.

Source: EasyLAN (Pan, Li, Yu, Shi), sections 3 and 5.1, Figure 7.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, field
from enum import StrEnum
from functools import cache, cached_property, partial

from pxp_fsm.automata.system import Member, System
from pxp_fsm.automata.tables import builtin
from pxp_fsm.errors import DataError, NoAnswer, PXPError, UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.easylan.decisions import AGENT, Inputs, gate_guard, reply_guard, returned_after
from pxp_fsm.plugins.easylan.model.network import (
    AgentInput,
    LanAgent,
    Network,
    Piece,
    check_network,
)
from pxp_fsm.plugins.easylan.running.events import Activation, Finished, Listener, Produced
from pxp_fsm.plugins.easylan.running.requests import Requester, form, object_of, text
from pxp_fsm.prompting.attempts import Attempts
from pxp_fsm.prompting.framing import framed
from pxp_fsm.prompting.model import ModelRequest, Reply
from pxp_fsm.prompting.prompts import Prompt
from pxp_fsm.protocol.messages import Instance, text_problem
from pxp_fsm.sessions.actors import Actor, Turn
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.policy import Alone
from pxp_fsm.sessions.session import Session


class Module(StrEnum):
    """The two modules of an agent that ask a model."""

    CONTROL = "control"
    EXECUTION = "execution"


CONTROL_FORM = form(
    thoughts=text("the reasoning, step by step"),
    active={"type": "boolean", "description": "whether the agent is to be active"},
)
EXECUTION_FORM = form(
    thoughts=text("the reasoning, step by step"), result=text("the result of the subtask")
)


@dataclass(frozen=True, slots=True)
class ModuleOutput:
    """What a module said: the control module true or false, the execution module a text."""

    value: bool | str
    thoughts: str = ""


Known = tuple[str, str]
"""The version of a module and the digest of what the agent received."""


def known_as(agent: LanAgent, module: Module, received: AgentInput) -> Known:
    """Under what a call is remembered: the module's version, and the input."""
    version = agent.control_version if module is Module.CONTROL else agent.execution_version
    encoded = json.dumps([agent.name, asdict(received)])
    return version, hashlib.sha256(encoded.encode()).hexdigest()


def question(
    asker: Requester, network: Network, agent: LanAgent, module: Module, received: AgentInput
) -> ModelRequest:
    """What the module of `agent` is asked about what it `received`."""
    prompt = asker.prompts[module]
    about = {"name": agent.name, "subtask": agent.task}
    if module is Module.EXECUTION:
        about["output"] = agent.output
    tasks = {piece.author: network.agent(piece.author).task for piece in received.pieces}
    inputs = received.shown(tasks)
    return asker.request(
        module,
        CONTROL_FORM if module is Module.CONTROL else EXECUTION_FORM,
        prompt.fill("question", agent=framed(about), inputs=framed(inputs)),
        prompt.fill("think"),
        stable=_known(prompt, agent, module),
    )


def read_reply(module: Module, reply: Reply) -> ModuleOutput:
    """What the module said; raises `DataError` for a reply that is not of the form."""
    key = "active" if module is Module.CONTROL else "result"
    fields = object_of(reply, {"thoughts", key})
    thoughts, value = fields["thoughts"], fields[key]
    if not isinstance(thoughts, str):
        raise DataError(f"thoughts must be a text, not {quoted(thoughts)}")
    if module is Module.CONTROL:
        if not isinstance(value, bool):
            raise DataError(f"active must be true or false, not {quoted(value)}")
    elif not isinstance(value, str):
        raise DataError(f"result must be a text, not {quoted(value)}")
    wrong = text_problem(thoughts) or text_problem(str(value))
    if wrong is not None:
        raise DataError(wrong)
    return ModuleOutput(value, thoughts)


def _known(prompt: Prompt, agent: LanAgent, module: Module) -> str:
    """Knowledge and examples, where there are any."""
    if module is Module.CONTROL:
        knowledge, examples = agent.control.knowledge, agent.shown_decisions
    else:
        knowledge, examples = agent.knowledge, agent.shown_results
    parts = []
    if knowledge:
        parts.append(prompt.fill("knowledge", knowledge=framed({"knowledge": knowledge})))
    if examples:
        parts.append(prompt.fill("examples", examples=examples))
    return "\n\n".join(parts)


class Flow:
    """The texts of one run on the input `external`.

    Agents put out their results in an order that keeps to the edges. An inactive agent (None) puts
    out what it received, each piece still under its author's name (EasyLAN, section 3.1).
    """

    def __init__(self, network: Network, external: str) -> None:
        self.external = external
        self.results: dict[str, str | None] = {}
        self._network = network
        self._sent: dict[str, frozenset[str]] = {}

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {name: place for place, name in enumerate(self._network.order)}

    def received(self, name: str) -> AgentInput:
        """What agent `name` receives, once its predecessors have put out theirs."""
        authors = sorted(self._reaching(name), key=self._places.__getitem__)
        pieces = tuple(Piece(author, self.results[author] or "") for author in authors)
        return AgentInput(self.external, pieces)

    def put(self, name: str, result: str | None) -> None:
        """Agent `name` puts out its `result`, or as inactive what it received."""
        self.results[name] = result
        self._sent[name] = self._reaching(name) if result is None else frozenset({name})

    def output(self) -> str | None:
        """The result of the last active agent in the network's order; None where none is."""
        results = (self.results[name] for name in reversed(self._network.order))
        return next((result for result in results if result is not None), None)

    def _reaching(self, name: str) -> frozenset[str]:
        """Whose results reach `name`."""
        return frozenset[str]().union(
            *(self._sent[before] for before in self._network.predecessors(name))
        )


def flowed(network: Network, external: str, results: Mapping[str, str | None]) -> Flow:
    """The flow of a run that is over; an agent that `results` does not name was inactive."""
    flow = Flow(network, external)
    for name in network.order:
        flow.put(name, results.get(name))
    return flow


Memory = dict[Known, ModuleOutput]
"""What modules said, by their version and what they received: not asked again."""


@dataclass(frozen=True, slots=True)
class LanTurn:
    """What an agent did in a run: what it received, whether it was active, its result, thoughts.

    `state` is where its machine ended, `guard` what activated it or kept it off.
    """

    received: AgentInput
    state: str
    guard: str
    result: str | None = None
    control_thoughts: str = ""
    execution_thoughts: str = ""

    @property
    def active(self) -> bool:
        return self.result is not None


@dataclass(frozen=True, slots=True)
class NetworkRun:
    """A network's run on the input `external`; `turns` are by the agents' names, in its order."""

    external: str
    output: str
    turns: Mapping[str, LanTurn]

    @property
    def active(self) -> frozenset[str]:
        """The agents that were active."""
        return frozenset(name for name, turn in self.turns.items() if turn.active)

    @property
    def results(self) -> tuple[tuple[str, str | None], ...]:
        """What each agent put out itself; None where it was inactive."""
        return tuple((name, turn.result) for name, turn in self.turns.items())


class AgentFailed(NoAnswer):
    """An agent of a network has no usable answer; `agent` names it."""

    def __init__(self, agent: str, cause: str) -> None:
        self.agent = agent
        super().__init__(f"agent {quoted(agent)}: {cause}")


class NoneActive(NoAnswer):
    """No agent was active on an input, so that the network has no output.

    In `run` the output is the network's input, which every agent has forwarded.
    """

    def __init__(self, run: NetworkRun) -> None:
        self.run = run
        turns = ", ".join(f"{name} ({turn.guard})" for name, turn in run.turns.items())
        super().__init__(
            f"no agent was active on {quoted(run.external)}, so there is no output: {turns}"
        )


@dataclass
class NetworkRunner:
    """Runs networks by asking models through `asker`.

    What `memory` holds is not asked again, and what is asked is kept there; None remembers nothing.
    `calls` counts how often a model was asked. In each round of the event loop one turn is begun at
    most, whatever runs at once: a server that runs a network answers its pages meanwhile.
    """

    asker: Requester
    memory: Memory | None = None
    calls: int = field(default=0, init=False)
    _rounds: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = field(default=None, init=False)

    async def _next_round(self) -> None:
        """Wait for a round of the event loop in which no other turn is begun."""
        loop = asyncio.get_running_loop()
        if self._rounds is None or self._rounds[0] is not loop:
            self._rounds = loop, asyncio.Lock()
        async with self._rounds[1]:
            await asyncio.sleep(0)

    async def run(
        self, network: Network, external: str, on_event: Listener = lambda _event: None
    ) -> NetworkRun:
        """Run `network` on `external`.

        Raises `Unsound` for a network with a fault, `UsageError` for an input that is no text,
        `AgentFailed` naming the agent that has no usable answer, and `NoneActive`.
        """
        await self._next_round()
        check_network(network)
        problem = text_problem(external) if isinstance(external, str) else "it is not a text"
        if problem is not None:
            raise UsageError(f"an input cannot be {quoted(external)}: {problem}")
        flow, turns = Flow(network, external), dict[str, LanTurn]()
        done = {name: asyncio.Event() for name in network.order}

        async def take(name: str) -> None:
            for before in network.predecessors(name):
                await done[before].wait()
            agent = network.agent(name)
            blocked = any(flow.results[name] is None for name in agent.control.required)
            received = flow.received(name)
            await self._next_round()
            turn = await self.turn(network, agent, received, blocked, on_event)
            turns[name] = turn
            flow.put(name, turn.result)
            done[name].set()

        await _together(take(name) for name in network.order)
        output, ordered = flow.output(), {name: turns[name] for name in network.order}
        if output is None:
            raise NoneActive(NetworkRun(external, external, ordered))
        on_event(Finished(output))
        return NetworkRun(external, output, ordered)

    async def turn(
        self,
        network: Network,
        agent: LanAgent,
        received: AgentInput,
        blocked: bool = False,
        on_event: Listener = lambda _event: None,
    ) -> LanTurn:
        """One agent's turn, as a session of its table. Raises `AgentFailed`."""
        taking = _AgentTurn(self, network, agent, received, blocked, on_event)
        session = Session(
            _system(),
            {AGENT: Actor(taking.decides, guards=taking.decides)},
            instance=Instance(agent.name, received.external),
            name=agent.name,
            policy=Alone(taking.happens),
            on_event=taking.took,
        )
        await session.run()
        return taking.outcome(session.states[AGENT])


@dataclass
class _AgentTurn:
    """What an agent's session asks, and what has come of it so far; `guard` activated it or not."""

    runner: NetworkRunner
    network: Network
    agent: LanAgent
    received: AgentInput
    blocked: bool
    on_event: Listener
    guard: str = ""
    said: dict[Module, ModuleOutput] = field(default_factory=dict)
    failure: NoAnswer | None = None
    _asking: Module = Module.CONTROL
    _attempts: Attempts[ModuleOutput] | None = None
    _returned: int = 0

    async def happens(self, state: str) -> str:
        """The inputs come; a module replies, or has no answer."""
        if state == "WAIT":
            return "INPUTS"
        self._asking = module = _MODULES[state]
        memory, key = self.runner.memory, known_as(self.agent, module, self.received)
        known = None if memory is None else memory.get(key)
        if known is None:
            if self._attempts is None:
                self._attempts = self._question(module)
            try:
                usable = await self._attempts.once()
            except NoAnswer as error:
                self.failure = error
                return "NO_ANSWER"
            known = None if usable is None else usable.value
            if memory is not None and known is not None:
                memory[key] = known
        if known is not None:
            self.said[module] = known
        return "REPLY"

    def _question(self, module: Module) -> Attempts[ModuleOutput]:
        asker = self.runner.asker

        async def ask(request: ModelRequest) -> Reply:
            self.runner.calls += 1
            return await asker.reply(request, self.agent.name)

        return Attempts(
            ask,
            question(asker, self.network, self.agent, module, self.received),
            partial(read_reply, module),
            asker.prompts["malformed"],
            attempts=asker.attempts,
        )

    def decides(self, turn: Turn) -> str:
        """The guard that is true: of the inputs, or of a module's reply."""
        if turn.state == "GATE":
            return gate_guard(Inputs(self.blocked, self.agent.control.enabled))
        output = self.said.get(self._asking)
        return reply_guard(
            turn.state,
            usable=output is not None,
            active=output is not None and bool(output.value),
            returned=self._returned,
            returns=self.runner.asker.attempts - 1,
        )

    def took(self, event: Event) -> None:
        """Tell what a row of its table means for the run."""
        self._returned = returned_after(self._returned, event.label)
        match event.label:
            case "ACTIVATE" | "FORWARD":
                self.guard, self._attempts = event.guard, None
                active = event.label == "ACTIVATE"
                self.on_event(Activation(self.agent.name, active, self.guard, self._thoughts()))
            case "PRODUCE":
                output = self.said[Module.EXECUTION]
                self.on_event(Produced(self.agent.name, str(output.value), output.thoughts))
            case "FAIL" if self._attempts is not None:
                self.failure = self._attempts.failure

    def _thoughts(self, module: Module = Module.CONTROL) -> str:
        return self.said[module].thoughts if module in self.said else ""

    def outcome(self, state: str) -> LanTurn:
        """What has come of it in the table's last `state`. Raises `AgentFailed`."""
        if self.failure is not None:
            why = f"its {self._asking} module: {self.failure}"
            raise AgentFailed(self.agent.name, why) from self.failure
        output = self.said.get(Module.EXECUTION)
        return LanTurn(
            self.received,
            state,
            self.guard,
            None if output is None else str(output.value),
            self._thoughts(),
            self._thoughts(Module.EXECUTION),
        )


@cache
def _system() -> System:
    return System((Member(AGENT, builtin(AGENT)),), free_names=True)


_MODULES = {"CONTROL": Module.CONTROL, "EXECUTE": Module.EXECUTION}
"""The module that is asked in a state of an agent's table."""


async def _together(turns: Iterable[object]) -> None:
    """Carry all turns; the first that fails ends the others, and is what is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            for turn in turns:
                group.create_task(turn)  # type: ignore[arg-type] # coroutines
    except BaseExceptionGroup as failed:
        first = failed.exceptions[0]
        if isinstance(first, PXPError):
            raise first from None
        raise first from failed
