"""A model as the judge of a training by examples: of outputs, and of rationales against hints."""

from __future__ import annotations

from guards.judge import Judge, Scope
from pxp_fsm.models import Model
from pxp_fsm.prompts import SLOTS, Prompt, Prompts, read_each
from pxp_fsm.workbench.lan_tasks.reading import bundled_text

_FILE = "training_judge.toml"


def of_outputs(model: Model) -> Judge:
    """MATCH of an output (left) and the one that was asked for; asked once about each pair."""
    return Judge(model, _prompts("output"), Scope.RUN)


def of_hints(model: Model) -> Judge:
    """AGREE of a rationale and a hint, in either order; asked once about each pair."""
    return Judge(model, _prompts("hint"), Scope.PAIR)


def _prompts(name: str) -> Prompts:
    wanted = dict.fromkeys(("output", "hint"), SLOTS["judge"])
    prompt: Prompt = read_each(bundled_text(_FILE), _FILE, wanted)[name]
    return Prompts(answer=prompt, judge=prompt, tags={})
