"""Simulated developers: one confirms, one edits at random, one follows a script, two edit by hand.

They are for measuring and for tests: what they do costs the least UED that leads to it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Protocol

from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.easylan.distance.lmd import cost, place_cost, text_cost
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.network import Network
from pxp_fsm.plugins.easylan.model.operations import AgentField, Edit, Operation
from pxp_fsm.plugins.easylan.running.execution import NetworkRun
from pxp_fsm.plugins.easylan.training.developer import (
    Act,
    Continuation,
    DeveloperChoice,
    RegressionChoice,
    StepView,
)
from pxp_fsm.plugins.easylan.training.regressions import Regression
from pxp_fsm.plugins.easylan.training.steps import HOLE

QUICK = "reason_type"
"""The field that buttons set."""

_SHORT = "\x01"
"""A hole within a text: one shortcut, where the cursor is."""


def act_cost(proposal: object, result: object | None, hint: str = "") -> int:
    """The least UED from a step's `proposal` to a developer's version and hint, sent by a button.

    `result` of None is the proposal as it is.
    """
    edited = 0 if result is None else value_cost(proposal, result)
    return edited + place_cost(0, len(hint)) + cost("answer")


def value_cost(before: object, after: object, key: str = "") -> int:
    """The least UED that turns one JSON value into another in an editor of JSON.

    Values are edited one by one where both have the same keys, else as the text that the editor
    shows.
    """
    if before == after and type(before) is type(after):
        return 0
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        return sum(value_cost(before[name], after[name], name) for name in before)
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return sum(map(value_cost, before, after))
    spent = text_cost(_shown(before), _shown(after))
    if after == HOLE:
        return min(spent, cost("hole"))
    return min(spent, cost("quick")) if key == QUICK else spent


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
    return text.replace(HOLE, _SHORT)


Satisfied = Callable[[NetworkRun, str], Awaitable[bool]]
"""Whether an output will do for the output that was asked for."""


async def equal(run: NetworkRun, truth: str) -> bool:
    """Whether the output is the one that was asked for, spaces around it apart."""
    return run.output.strip() == truth.strip()


def act(view: StepView, choice: DeveloperChoice, result: object = None, hint: str = "") -> Act:
    """An act with its least UED."""
    changed = None if result == view.proposal else result
    return Act(choice, changed, hint, act_cost(view.proposal, changed, hint))


@dataclass
class Confirming:
    """Confirms whatever the system proposes, and hands back what it cannot do."""

    will_do: Satisfied = equal
    name: str = "simulated: always confirms"

    async def satisfied(self, run: NetworkRun, truth: str, lan: Lan) -> bool:
        return await self.will_do(run, truth)

    async def review(self, view: StepView, lan: Lan) -> Act:
        return act(view, DeveloperChoice.CONFIRM)

    async def weigh(
        self, regressions: tuple[Regression, ...], copy: Network, lan: Lan
    ) -> RegressionChoice:
        return RegressionChoice.ACCEPT

    async def handed(self, why: str, lan: Lan) -> Continuation:
        return Continuation.SKIP


class Editing(Confirming):
    """Edits with a given probability, else confirms: by a hint, or by a hole where a text stood.

    What it does is decided by `seed` and by nothing else.
    """

    def __init__(self, probability: float, seed: int, will_do: Satisfied = equal) -> None:
        super().__init__(will_do, f"simulated: edits with probability {probability}, seed {seed}")
        self._probability = probability
        self._chance = random.Random(seed)

    async def review(self, view: StepView, lan: Lan) -> Act:
        if self._chance.random() >= self._probability:
            return act(view, DeveloperChoice.CONFIRM)
        if self._chance.random() < 0.5:
            return act(view, DeveloperChoice.RETRY, hint="Look at it once more.")
        paths = list(_texts(view.proposal))
        result = _with_hole(view.proposal, self._chance.choice(paths)) if paths else None
        return act(view, DeveloperChoice.RETRY, result)


@dataclass(frozen=True, slots=True)
class ScriptedAct:
    """One line of a developer's script: in this `step`, on inputs with the text `about`, it acts.

    `sets` are the values that it gives to fields of the result, by their names.
    """

    step: str
    choice: DeveloperChoice
    about: str = ""
    sets: Mapping[str, object] = field(default_factory=dict)
    hint: str = ""


class ScriptedDeveloper(Confirming):
    """Follows a script: each line once, the first that fits what is reviewed; else it confirms.

    `left` are the lines that it has not come to.
    """

    def __init__(self, lines: Sequence[ScriptedAct], will_do: Satisfied = equal) -> None:
        super().__init__(will_do, "simulated: follows a script")
        self.left = list(lines)

    async def review(self, view: StepView, lan: Lan) -> Act:
        for place, line in enumerate(self.left):
            if line.step == view.step and line.about in view.run.external:
                del self.left[place]
                return act(view, line.choice, _with(view.proposal, line.sets), line.hint)
        return act(view, DeveloperChoice.CONFIRM)


Path = tuple[str | int, ...]


def _texts(value: object, path: Path = ()) -> Iterator[Path]:
    """The paths of the texts in a JSON value."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, (*path, index))


def _with_hole(value: object, path: Path) -> object:
    copy = json.loads(json.dumps([value]))
    place = copy
    way: Path = (0, *path)
    for key in way[:-1]:
        place = place[key]
    place[way[-1]] = HOLE
    return copy[0]


def _with(proposal: object, sets: Mapping[str, object]) -> object:
    if not sets or not isinstance(proposal, dict):
        return None if not sets else dict(sets)
    return {**proposal, **sets}


class HandEditor(Protocol):
    """A developer without the pipeline: sees a run that will not do, and edits the network."""

    @property
    def name(self) -> str:
        """Who it is."""

    async def improve(self, run: NetworkRun | None, external: str, truth: str, lan: Lan) -> bool:
        """Edit `lan`; whether anything was edited. `run` is None where there was no output."""


@dataclass(frozen=True)
class AddsExamples:
    """A simulated developer: what goes wrong is added to the knowledge of an agent, as it is.

    So did many in the study: a third of the baseline's knowledge was training examples, or parts of
    them, "without any generalization" (section 6.7).
    """

    name: str = "simulated: adds the example as knowledge"

    async def improve(self, run: NetworkRun | None, external: str, truth: str, lan: Lan) -> bool:
        last = lan.network.agent(lan.network.order[-1])
        told = f"Input: {external}\nResult: {truth}"
        if told in last.knowledge:
            return False
        lan.edit(Edit(last.name, AgentField.KNOWLEDGE, (*last.knowledge, told)))
        return True


@dataclass(frozen=True, slots=True)
class HandEdit:
    """What is done by hand, at once, where the output on an input with `about` will not do."""

    operations: tuple[Operation, ...]
    about: str = ""


class FollowsEdits:
    """A simulated developer of the baseline: each edit once, the first that fits; `left` remain.

    An edit that the network refuses raises what `Lan.edit` does.
    """

    name = "simulated: follows a script by hand"

    def __init__(self, edits: Sequence[HandEdit]) -> None:
        self.left = list(edits)

    async def improve(self, run: NetworkRun | None, external: str, truth: str, lan: Lan) -> bool:
        for place, edit in enumerate(self.left):
            if edit.about in external:
                del self.left[place]
                lan.edit(*edit.operations)
                return True
        return False
