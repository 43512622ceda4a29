"""The setting of a paper in a run: its preset, and what is otherwise than in the paper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from backends.models import registry
from backends.models.paper_settings import ModelParameters, Preset, adapted, find_preset
from backends.models.settings import Settings
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.prompting.prompts import Prompt
from pxp_fsm.tasks.task import DataSet

_MESSAGES, _INSTANCES = 10, 20
"""The papers' bound n, and their instances of a repetition."""


def paper_of(plan: Plan) -> Preset | None:
    """The setting of a paper that the plan names; raises `UsageError` for one of another task."""
    if plan.preset is None:
        return None
    found = find_preset(plan.preset)
    if found.task != plan.task:
        raise UsageError(f"preset {found.name} belongs to {found.task}, not to {plan.task}")
    return found


def otherwise(plan: Plan, paper: Preset, data: DataSet) -> Iterator[str]:
    """What is not as the paper had it, beside what its models cannot be told any more."""
    pairs = (("machine", paper.machine.model), ("judge", paper.judge.model), *paper.plan.items())
    for name, then in pairs:
        now = plan.goes_on if name == "carry" else getattr(plan, name)
        if now is not None and now != then:
            what = "the number of repetitions" if name == "repetitions" else name
            yield f"Preset {paper.name}: {what} is {now}; in the paper it is {then}."
    bounds = (
        ("protocol", plan.protocol, "interact"),
        ("n", plan.rules().n, _MESSAGES),
        ("the number of instances", len(data.sessions), _INSTANCES),
    )
    for what, is_now, was in bounds:
        if is_now != was:
            yield f"Preset {paper.name}: {what} is {is_now}; in the paper it is {was}."
    if plan.data is None:
        source = "DrugBank" if paper.task == "drug" else "Radiopaedia"
        yield f"The instances are {data.origin}; in the paper they are of {source}."
    if paper.task == "drug" and plan.materials is None:
        yield (
            "Predictions are the reactants of one step, as in the authors' code and data; the "
            "paper tells of pathways (--materials)."
        )
    if paper.name == "B-rad" and plan.label is None:
        yield "All labels are asked for; the paper's Example 1 asks for one, yes or no (--label)."


def not_told(plan: Plan, paper: Preset, data: DataSet) -> Iterator[str]:
    """What the paper does not say, and what stands in its place."""
    if paper.chosen:
        yield f"Not in the paper, and chosen here: {', '.join(paper.chosen)}."
    yield f"No paper gives k; here it is {plan.rules().k} (in the authors' code, 3)."
    if plan.learn != "always":
        size = "all rows held back" if plan.validation is None else f"{plan.validation} rows"
        yield f"The paper does not give the size of its validation set; here it is {size}."
    tested = f"{len(data.test)} rows" if data.test else "none"
    yield f"The paper does not give the size of its test set; here it is {tested}."
    if plan.prompts is None:
        yield "The prompts say in our words what the paper's say; --prompts takes those of a file."


def as_in(
    asking: ModelParameters, prompt: Prompt, name: str, settings: Settings
) -> tuple[Prompt, tuple[str, ...]]:
    """`prompt` with a paper's settings, as the model `name` takes them, and what it does not."""
    taken, left = adapted(asking, name, registry.check_model(name, (), settings))
    asked = replace(
        prompt,
        max_tokens=taken.max_tokens,
        temperature=taken.temperature,
        effort=taken.effort or prompt.effort,
    )
    return asked, () if left is None else (f"{left}.",)
