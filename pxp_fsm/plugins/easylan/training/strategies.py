"""Strategies: operations from their parameters, and protection of earlier examples.

Source: EasyLAN (Pan, Li, Yu, Shi), sections 4.1.3 and 4.1.4. Where it is silent: a new agent's
control module is on as soon as there are earlier examples, or it could not be kept off; the parts
of an agent all receive what it received.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pxp_fsm.errors import DataError, UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.easylan.model.network import (
    Control,
    ControlExample,
    ExecutionExample,
    HandledExample,
    LanAgent,
    Network,
)
from pxp_fsm.plugins.easylan.model.operations import (
    Connect,
    Create,
    Handle,
    Learn,
    Operation,
    Split,
    SplitKind,
    Teach,
    applied,
)
from pxp_fsm.plugins.easylan.running.execution import Flow, NetworkRunner, flowed
from pxp_fsm.plugins.easylan.running.requests import Requester, form, object_of
from pxp_fsm.plugins.easylan.training.steps import Strategy
from pxp_fsm.prompting.framing import framed
from pxp_fsm.prompting.model import Reply


@dataclass(frozen=True)
class Update:
    """A strategy with its parameters, about an agent (empty where it is about none)."""

    strategy: Strategy
    agent: str
    parameters: Mapping[str, Any]


def operations_of(update: Update, network: Network) -> tuple[Operation, ...]:
    """What the update does to the network, earlier examples apart. Raises `UsageError`."""
    parameters = update.parameters
    match update.strategy:
        case Strategy.ADD_AGENT:
            added = _agent(parameters["agent"], network)
            edges = [Connect(source, added.name) for source in parameters["from"]]
            edges += [Connect(added.name, target) for target in parameters["to"]]
            return (Create(added), *edges)
        case Strategy.SPLIT:
            network.agent(update.agent)
            parts = tuple(_plain_agent(part) for part in parameters["agents"])
            between = tuple((edge["from"], edge["to"]) for edge in parameters.get("edges", ()))
            return (Split(update.agent, SplitKind(parameters["kind"]), parts, (), between),)
        case Strategy.ADD_INPUTS:
            return tuple(_inputs(update, network))
        case strategy:
            control = strategy is not Strategy.ADD_KNOWLEDGE
            return (Teach(network.agent(update.agent).name, parameters["knowledge"], control),)


def _inputs(update: Update, network: Network) -> Iterator[Operation]:
    target = network.agent(update.agent).name
    required = _required(update, target, network)
    new = [(_agent(raw, network), raw["from"]) for raw in update.parameters["new_agents"]]
    yield from (Create(agent) for agent, _sources in new)
    for agent, sources in new:
        yield from (Connect(source, agent.name) for source in sources)
        yield Connect(agent.name, target, agent.name in required)
    made = {agent.name for agent, _sources in new}
    for source in update.parameters["from"]:
        if source not in made and (source, target) not in network.edges:
            yield Connect(source, target, source in required)


def _required(update: Update, target: str, network: Network) -> frozenset[str]:
    """The new inputs that the agent requires. Raises `UsageError` for one that is no new input."""
    parameters = update.parameters
    new = {*parameters["from"], *(raw["name"] for raw in parameters["new_agents"])}
    required = frozenset[str](parameters.get("required", ()))
    for name in sorted(required - new - set(network.agent(target).control.required)):
        raise UsageError(f"{quoted(name)} is required, but is none of the new inputs")
    return required


def _plain_agent(raw: Mapping[str, Any]) -> LanAgent:
    required = tuple(raw.get("required", ()))
    control = Control(raw["enabled"], required, tuple(raw["control_knowledge"]))
    return LanAgent(raw["name"], raw["task"], raw["output"], control, tuple(raw["knowledge"]))


def _agent(raw: Mapping[str, Any], network: Network) -> LanAgent:
    """A new agent, whose control module decides as soon as it has to be kept off."""
    agent = _plain_agent(raw)
    enabled = agent.control.enabled or bool(network.handled)
    return replace(agent, control=replace(agent.control, enabled=enabled))


async def protected(
    update: Update, network: Network, runner: NetworkRunner, asker: Requester
) -> tuple[tuple[Operation, ...], Network]:
    """All operations of the update, with the examples that protect earlier inputs; and the copy.

    `runner` runs the parts of a split; `asker` asks which of parallel parts is for an input.

    Raises `UsageError` or `Unsound` where the copy could not be saved, and `NoAnswer`.
    """
    operations = operations_of(update, network)
    split = next((operation for operation in operations if isinstance(operation, Split)), None)
    if split is not None and split.kind is SplitKind.PARALLEL:
        chosen = await _chosen(split, network, asker)
        split = replace(split, chosen=chosen)
        operations = (split,)
    copy = applied(network, operations)
    if split is None:
        added = [operation.agent.name for operation in operations if isinstance(operation, Create)]
        more = tuple(_kept_off(added, copy))
    elif split.kind is SplitKind.PARALLEL:
        more = tuple(_by_condition(split, network, copy))
    else:
        more = tuple(await _in_sequence(split, network, copy, runner))
    return (*operations, *more), applied(copy, more)


def _kept_off(added: Iterable[str], copy: Network) -> Iterator[Operation]:
    """Negative examples for new agents, for every earlier input."""
    flows = [flowed(copy, example.external, dict(example.results)) for example in copy.handled]
    for name in added:
        decisions = tuple(ControlExample(flow.received(name), active=False) for flow in flows)
        if decisions:
            yield Learn(name, decisions)


def _by_condition(split: Split, network: Network, copy: Network) -> Iterator[Operation]:
    """Only the chosen part is active where the agent was, and its result is the agent's."""
    for before, after in zip(network.handled, copy.handled, strict=True):
        old, flow = dict(before.results).get(split.name), _flow(after, copy)
        for part in split.parts:
            received, result = flow.received(part.name), dict(after.results)[part.name]
            results: tuple[ExecutionExample, ...] = ()
            if old is not None and result is not None:
                results = (ExecutionExample(received, old),)
            yield Learn(part.name, (ControlExample(received, result is not None),), results)


async def _in_sequence(
    split: Split, network: Network, copy: Network, runner: NetworkRunner
) -> list[Operation]:
    """The parts run on the earlier inputs; the last one's result is the agent's."""
    learned: list[Operation] = []
    for before, after in zip(network.handled, copy.handled, strict=True):
        old = dict(before.results).get(split.name)
        results = dict(after.results)
        flow = Flow(copy, after.external)
        names = {part.name for part in split.parts}
        last = split.parts[-1].name
        for name in copy.order:
            if name not in names:
                flow.put(name, results.get(name))
                continue
            received, result = flow.received(name), old if name == last else None
            if old is not None and name != last:
                result = (await runner.turn(copy, copy.agent(name), received)).result
            decision = ControlExample(received, result is not None)
            executions = () if result is None else (ExecutionExample(received, result),)
            learned.append(Learn(name, (decision,), executions))
            results[name] = result
            flow.put(name, result)
        kept = tuple((name, results[name]) for name, _result in after.results)
        learned.append(Handle(replace(after, results=kept)))
    return learned


async def _chosen(split: Split, network: Network, asker: Requester) -> tuple[tuple[str, str], ...]:
    """For each earlier input on which the agent was active, the part that a model picks."""
    names = [part.name for part in split.parts]
    asked = form(agent={"type": "string", "enum": names})

    def read(reply: Reply) -> str:
        name = object_of(reply, {"agent"})["agent"]
        if not isinstance(name, str) or name not in names:
            raise DataError(f"agent must be one of {', '.join(names)}")
        return name

    shown = [
        {
            "name": part.name,
            "task": part.task,
            "control_knowledge": list(part.control.knowledge),
        }
        for part in split.parts
    ]
    picked = []
    for example in network.handled:
        if dict(example.results).get(split.name) is None:
            continue
        received = _flow(example, network).received(split.name).shown({})
        told = asker.prompts["part"].fill("question", network=framed({"agents": shown, **received}))
        request = asker.request("part", asked, told)
        picked.append((example.external, await asker.ask(request, read)))
    return tuple(picked)


def _flow(handled: HandledExample, network: Network) -> Flow:
    return flowed(network, handled.external, dict(handled.results))
