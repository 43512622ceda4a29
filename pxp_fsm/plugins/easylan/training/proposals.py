"""Proposals of the system in a step: the prompt, the model's result, its validation.

Source: EasyLAN (Pan, Yu, Li, Shi), section 5.2 and Table 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pxp_fsm.errors import DataError, UsageError, quoted
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.edits import applied
from pxp_fsm.plugins.easylan.model.network import Network
from pxp_fsm.plugins.easylan.model.soundness import Unsound
from pxp_fsm.plugins.easylan.running.execution import NetworkRun
from pxp_fsm.plugins.easylan.running.requests import Requester, text
from pxp_fsm.plugins.easylan.training.developer import StepView
from pxp_fsm.plugins.easylan.training.steps import Strategy, UpdateStep, form_of, problem_of
from pxp_fsm.plugins.easylan.training.strategies import Update, operations_of
from pxp_fsm.plugins.easylan.training.supervision import Propose
from pxp_fsm.plugins.easylan.training.wildcards import fits, value_of, written
from pxp_fsm.prompting.framing import encoded, framed
from pxp_fsm.prompting.model import Reply
from pxp_fsm.prompting.replies import strict_object, unfenced, whole_text
from pxp_fsm.protocol.messages import Answer, text_problem


def of_network(network: Network, run: NetworkRun, truth: str) -> dict[str, Any]:
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


def of_agent(network: Network, name: str, run: NetworkRun) -> dict[str, Any]:
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


@dataclass(frozen=True)
class StepContext:
    """A step with whatever it goes by: the earlier steps' results, the last run, the network.

    `refused` is a result of this step that could not be used, and why.
    """

    step: UpdateStep
    lan: Lan = field(repr=False)
    run: NetworkRun = field(repr=False)
    truth: str = ""
    strategy: Strategy | None = None
    agent: str = ""
    values: Mapping[UpdateStep, object] = field(default_factory=dict)
    refused: tuple[object, str] | None = None

    @property
    def view(self) -> StepView:
        """What the developer sees, without a proposal as yet."""
        earlier = (one for one in UpdateStep if one.number < self.step.number)
        back = tuple(one for one in earlier if one in self.values)
        return StepView(self.step, self.strategy, None, "", self.run, self.truth, back=back)

    def problem(self, value: object) -> str | None:
        """Why a result cannot be used for the network as it is, or None."""
        network = self.lan.network
        problem = problem_of(self.step, value, network, self.strategy)
        if problem is not None or self.strategy is None or not isinstance(value, dict):
            return problem
        try:
            update = Update(self.strategy, self.agent, value["parameters"])
            applied(network, operations_of(update, network))
        except (UsageError, Unsound) as error:
            return str(error)
        return None


@dataclass(frozen=True)
class Proposer:
    """Asks a model for the results of steps.

    If `attended`, a developer may ask again: what a step is told is then kept in prompt caches,
    which costs more at first and much less from then on. Unattended it is told once.
    """

    asker: Requester
    attended: bool

    def told(self, context: StepContext) -> str:
        """The step's context as JSON: what the model is shown, and the session is about.

        Raises `UsageError` where the agent that it is about is there no longer.
        """
        network, run, step = context.lan.network, context.run, context.step
        told: dict[str, Any] = {}
        if step is UpdateStep.REASON:
            told |= _object(context.values.get(UpdateStep.GAP))
        if step is UpdateStep.WEAKNESS:
            told["poor_performance"] = _object(context.values.get(UpdateStep.REASON)).get(
                "reason_content", ""
            )
        if step is UpdateStep.PARAMETERS:
            told["strategy"] = str(context.strategy)
            told["steps"] = [context.values[one] for one in UpdateStep if one in context.values]
        if step is not UpdateStep.WEAKNESS:
            told["network"] = of_network(network, run, context.truth)
        if step in (UpdateStep.WEAKNESS, UpdateStep.PARAMETERS) and context.agent:
            told["agent"] = of_agent(network, context.agent, run)
        if context.refused is not None:
            value, why = context.refused
            told["refused"] = {"result": value, "reason": why}
        return encoded(told)

    def propose(self, context: StepContext, session: str) -> Propose:
        """How results of the step are made in `session`; the function raises `NoAnswer`."""
        wanted = form_of(context.step, context.strategy)
        properties = {"rationale": text("why, in a few sentences"), **_properties(wanted)}
        schema = {**wanted, "properties": properties, "required": list(properties)}
        name = str(context.step).lower()
        prompt = self.asker.prompts[name]

        async def made(own: str, theirs: str, hint: str) -> Answer:
            told = prompt.fill("question", network=framed(_object(value_of(self.told(context)))))
            more = ""
            if own:
                shown = {
                    "last_result": value_of(own),
                    "developers_version": value_of(theirs),
                    "hint": hint,
                }
                more = prompt.fill("developer", edited=framed(shown))
            kept = value_of(theirs) if own and value_of(theirs) != value_of(own) else None

            def read(reply: Reply) -> Answer:
                return _read(reply, set(properties), context, kept)

            stable, texts = (told, (more,)) if self.attended else ("", (told, more))
            request = self.asker.request(name, schema, *texts, session=session, stable=stable)
            return await self.asker.ask(request, read)

        return made


def _read(reply: Reply, keys: set[str], context: StepContext, kept: object) -> Answer:
    """The result that `reply` holds, which fits what the developer `kept`; raises `DataError`."""
    found = strict_object(unfenced(whole_text(reply)), keys)
    rationale = found.pop("rationale")
    if not isinstance(rationale, str):
        raise DataError(f"rationale must be a text, not {quoted(rationale)}")
    problem = problem_of(context.step, found, context.lan.network, context.strategy)
    if problem is None and kept is not None and not fits(kept, found):
        problem = "it does not keep what the developer has written"
    said = written(found)
    problem = problem or text_problem(said) or text_problem(rationale)
    if problem is not None:
        raise DataError(problem)
    return Answer(said, rationale)


def _object(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}


def _properties(schema: Mapping[str, Any]) -> dict[str, object]:
    return dict(schema["properties"])
