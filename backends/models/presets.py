"""The papers' settings, and what of them a model of today takes."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from pxp_fsm.errors import UsageError
from pxp_fsm.messages import quoted
from pxp_fsm.models import Capability

TOO_FEW = 16
"""Fewer tokens than this do not hold a verdict as JSON: such a judge is asked in plain text."""


@dataclass(frozen=True, slots=True)
class Asking:
    """How a model is asked: which one, how freely it draws, how long its reply may be."""

    model: str
    max_tokens: int
    temperature: float | None = None

    @property
    def plain(self) -> bool:
        """Whether the reply is too short for anything but plain text."""
        return self.max_tokens < TOO_FEW


@dataclass(frozen=True, slots=True)
class Preset:
    """A paper's settings for a task; `chosen` names those that the paper does not give."""

    name: str
    task: str
    source: str
    machine: Asking
    judge: Asking
    repetitions: int
    chosen: tuple[str, ...] = ()


@cache
def presets() -> tuple[Preset, ...]:
    """Every preset there is."""
    text = files("backends.models").joinpath("presets.toml").read_text("utf-8")
    return tuple(
        Preset(
            **{
                **raw,
                "machine": Asking(**raw["machine"]),
                "judge": Asking(**raw["judge"]),
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


def adapted(asking: Asking, model: str, can: frozenset[Capability]) -> tuple[Asking, str | None]:
    """`asking` with the `model` of today, and in words what it does not take of it."""
    asking = replace(asking, model=model)
    if asking.temperature is None or Capability.TEMPERATURE in can:
        return asking, None
    said = (
        f"{model} takes no temperature (the paper's is {asking.temperature:g}): it draws as freely "
        f"as its server decides, so that the same question may get another answer"
    )
    return replace(asking, temperature=None), said
