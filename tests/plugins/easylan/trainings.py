"""Trainings for the tests: what a script proposes at each step, and who watches."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.history import begun_as
from pxp_fsm.plugins.easylan.model.network import Network
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
from pxp_fsm.plugins.easylan.training.supervision import StepEnded
from pxp_fsm.protocol.relations import EQUIVALENCE, Assumption, Outcome
from tests.plugins.easylan.scripted_models import Frames, Speaking, module


class Same:
    """Outputs are the same if they are equal."""

    name = "equal"
    assumptions: frozenset[Assumption] = EQUIVALENCE

    async def holds(self, left: str, right: str) -> Outcome:
        return Outcome.YES if left == right else Outcome.NO


GAP = {"rationale": "look", "gap": "it does not rhyme"}
NOBODY = {
    "rationale": "nobody rhymes",
    "reason_type": "lack_of_agent",
    "agent_name": "",
    "reason_content": "no poet",
}


def poor(name: str) -> dict[str, str]:
    said = {"reason_type": "poor_performance_of_agent", "agent_name": name, "reason_content": "bad"}
    return {"rationale": "poor", **said}


def weak(kind: str) -> dict[str, str]:
    return {"rationale": "weak", "reason_type": kind, "reason_content": "so"}


def new_agent(name: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "task": f"do {name}",
        "output": "text",
        "enabled": False,
        "control_knowledge": [],
        "knowledge": [],
        **more,
    }


def parameters(**given: Any) -> dict[str, Any]:
    return {"rationale": "thus", "parameters": given}


POET = parameters(**{"agent": new_agent("Poet"), "from": ["Solver"], "to": []})


def forgets(purpose: str, frames: Frames) -> Any:
    """An agent that honours nothing: what it is taught changes every output."""
    said = "".join(frames.get("knowledge", [])) + frames["input"]
    return {"thoughts": "", **({"active": True} if purpose == "control" else {"result": said})}


def scripted(*steps: Any, **modules: Any) -> Speaking:
    """A model whose steps say `steps` in turn; agents honour their examples."""
    left = iter(steps)

    def say(purpose: str, frames: Frames) -> Any:
        if purpose in ("control", "execution"):
            return modules.get("say", module)(purpose, frames)
        return next(left)

    return Speaking(say)


class Watching(Confirms):
    """A developer who plays acts in turn, and then confirms."""

    name = "script"

    def __init__(self, *acts: Any, **onward: Any) -> None:
        self.acts = list(acts)
        self.views: list[StepView] = []
        self.told: list[str] = []
        self.onward = onward
        self.lost: list[Any] = []

    async def review(self, view: StepView, lan: Lan) -> Act:
        self.views.append(view)
        act = self.acts.pop(0) if self.acts else Act(DeveloperChoice.CONFIRM)
        return act(view, lan) if callable(act) else act

    async def handed(self, why: str, lan: Lan) -> Continuation:
        self.told.append(why)
        edit = self.onward.get("edit")
        if edit is not None and len(self.told) == 1:
            lan.edit(*edit)
            return Continuation.RESUME
        return Continuation.SKIP

    async def weigh(self, *given: Any) -> RegressionChoice:
        self.lost.append(given[0])
        found: RegressionChoice = self.onward["weigh"].pop(0)
        return found


def trained(
    model: Speaking,
    *examples: Example,
    start: Network | None = None,
    developer: Developer | None = None,
    limits: TrainingLimits | None = None,
) -> tuple[Trainer, list[Any]]:
    told: list[Any] = []
    lan = Lan.new("translate") if start is None else Lan(begun_as(start))
    trainer = Trainer(
        lan, model, Same(), developer, limits=limits or TrainingLimits(), on_event=told.append
    )
    asyncio.run(trainer.train(examples))
    return trainer, told


def labels(told: Iterable[Any]) -> list[str]:
    return [one.label for one in told if isinstance(one, Moved)]


def sessions(told: Iterable[Any]) -> list[list[str]]:
    return [[m.tag for m in one.messages] for one in told if isinstance(one, StepEnded)]


FIRST = Example("x", "Poet(Solver(x))")


def poet_script(plain: str, verse: str, *gaps: dict[str, Any]) -> str:
    """The lines of a script by which a training adds a poet, whose output is `verse`."""
    lines: list[dict[str, Any]] = [
        {
            "purpose": "execution",
            "where": {"name": name},
            "reply": {"thoughts": "", "result": result},
        }
        for name, result in (("Poet", verse), ("Solver", plain))
    ]
    lines += [{"purpose": "gap", "reply": one, "times": 1} for one in gaps[:-1]]
    lines.append({"purpose": "gap", "reply": gaps[-1] if gaps else GAP})
    lines += [{"purpose": "reason", "reply": NOBODY}, {"purpose": "parameters", "reply": POET}]
    return "".join(f"{json.dumps(line)}\n" for line in lines)
