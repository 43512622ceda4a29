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


def paper_of(plan: Plan) -> Preset | None:
    """The setting of a paper that the plan names; raises `UsageError` for one of another task."""
    if plan.preset is None:
        return None
    found = find_preset(plan.preset)
    if found.task != plan.task:
        raise UsageError(f"preset {found.name} belongs to {found.task}, not to {plan.task}")
    return found


def otherwise(plan: Plan, paper: Preset) -> Iterator[str]:
    """What is not as the paper had it, beside what its models cannot be told any more."""
    pairs = (("machine", paper.machine.model), ("judge", paper.judge.model), *paper.plan.items())
    for name, then in pairs:
        now = plan.goes_on if name == "carry" else getattr(plan, name)
        if now is not None and now != then:
            yield f"Preset {paper.name}: {name} is {now}; in the paper it is {then}."


def not_told(plan: Plan, paper: Preset) -> Iterator[str]:
    """What the paper does not say, and what stands in its place."""
    if paper.chosen:
        yield f"Not in the paper, and chosen here: {', '.join(paper.chosen)}."
    if plan.learn != "always":
        size = "all rows held back" if plan.validation is None else f"{plan.validation} rows"
        yield f"The paper does not give the size of its validation set; here it is {size}."
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
