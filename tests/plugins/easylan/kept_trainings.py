"""Trainings by scripts drawn from a seed, each as a record of all that was asked and done."""

from __future__ import annotations

import asyncio
import hashlib
import json
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model import files
from pxp_fsm.plugins.easylan.model.history import begun_as
from pxp_fsm.plugins.easylan.model.network import Control, LanAgent, Network
from pxp_fsm.plugins.easylan.training.events import Moved
from pxp_fsm.plugins.easylan.training.pipeline import Trainer
from pxp_fsm.plugins.easylan.training.progress import Example
from pxp_fsm.plugins.easylan.training.supervision import StepEnded
from pxp_fsm.prompting.model import ModelRequest
from tests.plugins.easylan.scripted_models import Frames, Speaking
from tests.plugins.easylan.test_random_updates import (
    LIMITS,
    NAMES,
    AnyOrSame,
    Chaos,
    Followed,
    Meddling,
)
from tests.plugins.easylan.trainings import forgets

RECORDS = Path(__file__).with_name("kept_trainings.json")
SEEDS = range(40)
"""Every second training has a developer, who meddles; agents of every fourth honour no example."""


class Teaching(Chaos):
    """Never teaches the same twice."""

    taught = 0

    def __init__(self, random: Random, honours: bool) -> None:
        super().__init__(random)
        self.honours = honours

    def __call__(self, purpose: str, frames: Frames) -> Any:
        if purpose in ("control", "execution") and not self.honours:
            return forgets(purpose, frames)
        return super().__call__(purpose, frames)

    def parameters(self, frames: Frames) -> dict[str, Any]:
        found = super().parameters(frames)
        if "knowledge" in found["parameters"]:
            self.taught += 1
            found["parameters"]["knowledge"] = f"rule {self.taught}"
        return found


def _start(random: Random) -> Network:
    names = random.sample(NAMES[:6], random.randint(1, 4))
    made = [
        LanAgent(name, f"do {name}", "text", Control(random.random() < 0.5), (f"k {name}",))
        for name in names
    ]
    edges = frozenset(pair for pair in combinations(names, 2) if random.random() < 0.5)
    return Network("a task", tuple(made), edges)


def record(seed: int) -> dict[str, Any]:
    """What a training does: its rows, sessions, requests in order, outcomes, and its log.

    Requests of agents that are asked at once are in the order of their texts.
    """
    random = Random(seed)
    model, lan = Speaking(Teaching(random, honours=seed % 4 != 3)), Lan(begun_as(_start(random)))
    developer = Meddling(random) if seed % 2 else None
    followed = Followed(attended=developer is not None)
    rows, tags = list[str](), list[str]()

    def told(event: Any) -> None:
        followed(event)
        if isinstance(event, Moved):
            rows.append(f"{event.guard or '!'} {event.label}")
        elif isinstance(event, StepEnded):
            tags.append(" ".join([*(one.tag for one in event.messages), event.ending]))

    examples = [Example(str(i), random.choice(["any", "any", "never"])) for i in range(6)]
    training = Trainer(lan, model, AnyOrSame(), developer, limits=LIMITS, on_event=told)
    outcomes = asyncio.run(training.train(examples))
    modules = [one for one in model.requests if one.purpose in ("control", "execution")]
    return {
        "rows": rows,
        "sessions": tags,
        "steps": [_shown(one) for one in model.requests if one not in modules],
        "modules": [len(modules), _digest(sorted(map(_shown, modules)))],
        "outcomes": [[one.handled, one.iterations, one.why] for one in outcomes],
        "log": [change.about for change in lan.history.changes],
        "file": _digest(files.of_history(lan.history)),
    }


def _shown(request: ModelRequest) -> str:
    return f"{request.purpose} {_digest(request.turns[-1].text)}"


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:12]


if __name__ == "__main__":
    lines = (f"{json.dumps(str(seed))}: {json.dumps(record(seed))}" for seed in SEEDS)
    RECORDS.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
