"""The papers' settings of their models and of their runs."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.model import Capability

TOO_FEW = 16
"""Fewer tokens than this do not hold a verdict as JSON: such a judge is asked in plain text."""


@dataclass(frozen=True, slots=True)
class ModelParameters:
    """How a model is asked: which one, how freely it draws, how long its reply may be."""

    model: str
    max_tokens: int
    temperature: float | None = None
    effort: str | None = None

    @property
    def plain(self) -> bool:
        """Whether the reply is too short for anything but plain text."""
        return self.max_tokens < TOO_FEW


@dataclass(frozen=True, slots=True)
class Preset:
    """A paper's settings for a task; `chosen` names those that the paper does not give.

    `plan` says how the experiment was run: repetitions, and what the machine keeps of lessons.
    """

    name: str
    task: str
    source: str
    machine: ModelParameters
    judge: ModelParameters
    plan: Mapping[str, Any]
    chosen: tuple[str, ...] = ()


@cache
def presets() -> tuple[Preset, ...]:
    """Every preset there is."""
    text = files("backends.models").joinpath("presets.toml").read_text("utf-8")
    return tuple(
        Preset(
            **{
                **raw,
                "machine": ModelParameters(**raw["machine"]),
                "judge": ModelParameters(**raw["judge"]),
                "chosen": tuple(raw.get("chosen", ())),
            }
        )
        for raw in tomllib.loads(text)["preset"]
    )


def find_preset(name: str) -> Preset:
    """The preset `name`; raises `UsageError` where there is none."""
    for preset in presets():
        if preset.name == name:
            return preset
    known = ", ".join(preset.name for preset in presets())
    raise UsageError(f"there is no preset {quoted(name)}; there are: {known}")


def adapted(
    asking: ModelParameters, model: str, can: frozenset[Capability]
) -> tuple[ModelParameters, str | None]:
    """`asking` with the `model` of today, and in words what it does not take of it."""
    asking = replace(asking, model=model)
    if asking.temperature is None or Capability.TEMPERATURE in can:
        return asking, None
    deviation = (
        f"{model} takes no temperature (the paper's is {asking.temperature:g}): it draws as freely "
        f"as its server decides, so that the same question may get another answer"
    )
    return replace(asking, temperature=None), deviation
