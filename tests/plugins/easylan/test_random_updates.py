"""Random networks under random updates: what must never happen does not; the model is followed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pxp_fsm.automata.tables import builtin
from pxp_fsm.errors import PXPError
from pxp_fsm.plugins.easylan.decisions import PIPELINE
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.history import Change, History, begun_as
from pxp_fsm.plugins.easylan.model.network import LanAgent, Network
from pxp_fsm.plugins.easylan.model.operations import (
    AUTOMATIC,
    AgentField,
    Connect,
    Create,
    Delete,
    Edit,
    Operation,
    Split,
)
from pxp_fsm.plugins.easylan.proofs import EDIT, Pipeline, PipelineBounds
from pxp_fsm.plugins.easylan.proofs import PipelineState as Abstract
from pxp_fsm.plugins.easylan.running.execution import NetworkRun, NetworkRunner
from pxp_fsm.plugins.easylan.running.requests import Requester, bundled
from pxp_fsm.plugins.easylan.training.developer import (
    Act,
    Confirms,
    Continuation,
    Developer,
    DeveloperChoice,
    RegressionChoice,
    StepView,
)
from pxp_fsm.plugins.easylan.training.events import Moved
from pxp_fsm.plugins.easylan.training.pipeline import Trainer, TrainingLimits
from pxp_fsm.plugins.easylan.training.progress import Example
from pxp_fsm.plugins.easylan.training.steps import HOLE
from pxp_fsm.protocol.relations import TOLERANCE, Assumption, Outcome
from tests.plugins.easylan.random_networks import networks
from tests.plugins.easylan.scripted_models import Frames, Speaking, module

LIMITS = TrainingLimits(iterations=2, retries=2)
NAMES = [f"agent {letter}" for letter in "ABCDEFGHIJKLMN"]


class AnyOrSame:
    """For the truth `any` every output will do."""

    name = "any or same"
    assumptions: frozenset[Assumption] = TOLERANCE

    async def holds(self, left: str, right: str) -> Outcome:
        return Outcome.YES if right in ("any", left) else Outcome.NO


class Chaos:
    """Steps at random, right or wrong; agents honour their examples, and are active otherwise."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def __call__(self, purpose: str, frames: Frames) -> Any:
        if purpose in ("control", "execution"):
            return module(purpose, frames)
        if self.random.random() < 0.05:
            return "no JSON"
        return (
            {"rationale": "", **getattr(self, purpose)(frames)}
            if purpose != "part"
            else {"agent": self.random.choice(frames["agents"])["name"]}
        )

    def gap(self, _frames: Frames) -> dict[str, Any]:
        return {"gap": "it is not what was asked for"}

    def reason(self, frames: Frames) -> dict[str, Any]:
        kinds = ["lack_of_agent", "unexpected_execution_of_agent", "poor_performance_of_agent"]
        kind = self.random.choice([*kinds, kinds[2], kinds[2]])
        name = "" if kind == kinds[0] else self.some(frames)
        return {"reason_type": kind, "agent_name": name, "reason_content": "so"}

    def weakness(self, _frames: Frames) -> dict[str, Any]:
        kinds = ["not_activated", "lack_of_knowledge", "need_finer_structure", "need_inputs"]
        return {"reason_type": self.random.choice(kinds), "reason_content": "so"}

    def parameters(self, frames: Frames) -> dict[str, Any]:
        match frames["strategy"]:
            case "ADD_AGENT":
                given: dict[str, Any] = {
                    "agent": self.agent(),
                    "from": self.several(frames),
                    "to": self.several(frames),
                }
            case "SPLIT":
                kind = self.random.choice(["sequential", "parallel"])
                agents = [self.agent() for _ in range(self.random.randint(2, 3))]
                given = {"kind": kind, "agents": agents}
            case "ADD_INPUTS":
                new = [self.agent() | {"from": self.several(frames)}]
                given = {
                    "from": self.several(frames),
                    "new_agents": new[: self.random.randint(0, 1)],
                }
            case _:
                given = {"knowledge": self.random.choice(["k6", "k7"])}
        return {"parameters": given}

    def agent(self) -> dict[str, Any]:
        return {
            "name": self.random.choice(NAMES),
            "task": "do it",
            "output": "text",
            "enabled": self.random.random() < 0.5,
            "control_knowledge": [],
            "knowledge": self.random.sample(["k1", "k8"], self.random.randint(0, 2)),
        }

    def some(self, frames: Frames) -> str:
        name: str = self.random.choice(frames["network"]["agents"])["name"]
        return name

    def several(self, frames: Frames) -> list[str]:
        return sorted({self.some(frames) for _ in range(self.random.randint(0, 2))})


class Meddling(Confirms):
    """A developer who does whatever can be done, at random, and edits meanwhile."""

    name = "meddling"

    def __init__(self, random: Random) -> None:
        self.random = random

    async def satisfied(self, run: NetworkRun, truth: str, lan: Lan) -> bool:
        self.meddle(lan)
        return truth == "any" or self.random.random() < 0.2

    async def review(self, view: StepView, lan: Lan) -> Act:
        self.meddle(lan)
        choices = [*DeveloperChoice, DeveloperChoice.CONFIRM, DeveloperChoice.CONFIRM]
        choice = self.random.choice(
            [one for one in choices if view.back or one != DeveloperChoice.BACK]
        )
        result: Any = None
        if self.random.random() < 0.3 and isinstance(view.proposal, dict):
            key = self.random.choice(list(view.proposal))
            result = view.proposal | {key: self.random.choice([HOLE, "else", 3])}
        return Act(choice, result, self.random.choice(["", "a hint"]))

    async def weigh(self, *given: Any) -> RegressionChoice:
        self.meddle(given[-1])
        return self.random.choice(list(RegressionChoice))

    async def handed(self, why: str, lan: Lan) -> Continuation:
        self.meddle(lan)
        return Continuation.SKIP if self.random.random() < 0.6 else Continuation.RESUME

    def meddle(self, lan: Lan) -> None:
        if self.random.random() > 0.1:
            return
        one, other = (self.random.choice(lan.network.names) for _ in range(2))
        operation = self.random.choice(
            list[Operation](
                [
                    Connect(one, other),
                    Delete(one),
                    Edit(one, AgentField.NAME, self.random.choice(NAMES)),
                    Edit(one, AgentField.OUTPUT, "verse"),
                    Create(LanAgent(self.random.choice(NAMES), "do it", "text")),
                ]
            )
        )
        with suppress(PXPError):
            lan.edit(operation)


class Followed:
    """Follows a pipeline's rows in the model that is checked: some run of it does the same."""

    def __init__(self, attended: bool) -> None:
        self.model = Pipeline(builtin(PIPELINE), PipelineBounds(LIMITS.iterations, LIMITS.retries))
        self.places = {place for place in self.model.initial() if place.attended is attended}

    def __call__(self, told: Any) -> None:
        if not isinstance(told, Moved):
            return
        said = f"{told.guard or '!'} {told.label}"
        before = self.places | self.after(str(EDIT), self.places)
        self.places = self.after(said, before)
        assert self.places, f"the model cannot take {said}"

    def after(self, label: str, places: set[Abstract]) -> set[Abstract]:
        steps = (step for place in places for step in self.model.successors(place))
        return {step.target for step in steps if step.label == label}


def trained(start: Network, random: Random, developer: Developer | None = None) -> Lan:
    lan = Lan(begun_as(start))
    trainer = Trainer(
        lan,
        Speaking(Chaos(random)),
        AnyOrSame(),
        developer,
        limits=LIMITS,
        on_event=Followed(attended=developer is not None),
    )
    examples = [Example(str(i), random.choice(["any", "any", "never"])) for i in range(6)]
    asyncio.run(trainer.train(examples))
    return lan


def versions(history: History) -> Iterator[tuple[Change, Network]]:
    """Every change with the network after it."""
    found = History((), Network(""))
    for change in history.changes:
        found = found.after(change)
        yield change, found.network


def sound(history: History) -> None:
    """Every version of the network: a DAG, and no two agents of a name."""
    for _change, network in versions(history):
        assert nx.is_directed_acyclic_graph(nx.DiGraph(sorted(network.edges)))
        assert len(set(network.names)) == len(network.names) > 0


def kept(before: Network, after: Network, split: Split | None) -> None:
    """Nothing is lost: agents, edges, knowledge, tasks; a split agent lives on in its parts."""
    parts = {split.name: [part.name for part in split.parts]} if split is not None else {}
    for agent in before.agents:
        found = [after.agent(name) for name in parts.get(agent.name, [agent.name])]
        known = {text for one in found for text in one.knowledge}
        decided = {text for one in found for text in one.control.knowledge}
        assert set(agent.knowledge) <= known and set(agent.control.knowledge) <= decided
        if agent.name not in parts:
            assert (found[0].task, found[0].output) == (agent.task, agent.output)
    for one, other in before.edges:
        ways = [(a, b) for a in parts.get(one, [one]) for b in parts.get(other, [other])]
        assert after.edges & set(ways)


@pytest.mark.deep
@settings(max_examples=15, deadline=None)
@given(networks(most=4), st.randoms(use_true_random=False))
def test_unattended_nothing_is_lost_and_earlier_inputs_keep_their_active_agents(
    start: Network, random: Random
) -> None:
    lan = trained(start, random)
    sound(lan.history)
    before = start
    for change, after in list(versions(lan.history))[1:]:
        assert all(isinstance(operation, AUTOMATIC) for operation in change.operations)
        split = next((one for one in change.operations if isinstance(one, Split)), None)
        kept(before, after, split)
        before = after
    runner = NetworkRunner(Requester(Speaking(Chaos(random)), bundled()))
    for handled in lan.network.handled:
        run = asyncio.run(runner.run(lan.network, handled.external))
        active = {name for name, turn in run.turns.items() if turn.active}
        assert active == handled.active


@settings(max_examples=15, deadline=None)
@given(networks(most=4), st.randoms(use_true_random=False))
def test_whatever_a_developer_does_the_network_stays_sound_and_the_model_is_followed(
    start: Network, random: Random
) -> None:
    sound(trained(start, random, Meddling(random)).history)
