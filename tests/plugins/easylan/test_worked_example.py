"""Figure 4 of the paper, steps 0 to 6: how a Translator becomes a network."""

from __future__ import annotations

import asyncio
from typing import Any

from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.network import Network
from pxp_fsm.plugins.easylan.running.execution import NetworkRun
from pxp_fsm.plugins.easylan.training.developer import Confirms, RegressionChoice
from pxp_fsm.plugins.easylan.training.events import Moved
from pxp_fsm.plugins.easylan.training.pipeline import Trainer
from pxp_fsm.plugins.easylan.training.progress import Example
from pxp_fsm.plugins.easylan.training.regressions import Regression
from tests.plugins.easylan.scripted_models import Frames, Speaking, module
from tests.plugins.easylan.trainings import GAP, Same, new_agent, parameters, poor, weak

TRANSLATOR, LITERAL, POLISHER = "Translator", "Literal Translator", "Rhyming Polisher"
REFINER, SPOKEN, LITERARY = (
    "Structure Refiner",
    "Spoken Text Translator",
    "Literary Text Translator",
)


class Accepting(Confirms):
    """Each example's output will do after one update; a regression is accepted, and noted."""

    name = "accepting"

    def __init__(self) -> None:
        self.asked = 0
        self.lost: list[tuple[Regression, ...]] = []

    async def satisfied(self, run: NetworkRun, truth: str, lan: Lan) -> bool:
        self.asked += 1
        return self.asked % 2 == 0

    async def weigh(
        self, regressions: tuple[Regression, ...], copy: Network, lan: Lan
    ) -> RegressionChoice:
        self.lost.append(regressions)
        return RegressionChoice.ACCEPT


STEPS: list[list[Any]] = [
    [
        *(poor(TRANSLATOR), weak("need_finer_structure")),
        parameters(kind="sequential", agents=[new_agent(LITERAL), new_agent(POLISHER)]),
    ],
    [
        {
            "rationale": "",
            "reason_type": "lack_of_agent",
            "agent_name": "",
            "reason_content": "nobody minds the voice",
        },
        parameters(**{"agent": new_agent(REFINER), "from": [LITERAL], "to": []}),
    ],
    [
        {**poor(POLISHER), "reason_type": "unexpected_execution_of_agent"},
        parameters(knowledge="do not run if the original does not rhyme"),
    ],
    [
        *(poor(POLISHER), weak("not_activated")),
        parameters(knowledge="repos and châteaux rhyme"),
    ],
    [
        *(poor(LITERAL), weak("lack_of_knowledge")),
        parameters(knowledge="one must not trust appearances"),
    ],
    [
        *(poor(LITERAL), weak("need_finer_structure")),
        parameters(kind="parallel", agents=[new_agent(SPOKEN), new_agent(LITERARY)]),
        *[{"agent": LITERARY}] * 5,
    ],
    [
        *(poor(POLISHER), weak("need_inputs")),
        parameters(**{"from": [REFINER], "new_agents": []}),
    ],
]


def test_the_translator_becomes_the_papers_network() -> None:
    steps = iter([said for step in STEPS for said in (GAP, *step)])

    def say(purpose: str, frames: Frames) -> Any:
        if purpose in ("control", "execution"):
            return module(purpose, frames)
        return next(steps)

    labels: list[str] = []

    def told(event: Any) -> None:
        if isinstance(event, Moved):
            labels.append(event.label)

    lan = Lan.new("translate French into English", name=TRANSLATOR)
    developer = Accepting()
    trainer = Trainer(lan, Speaking(say), Same(), developer, on_event=told)
    lines = [f"line {number}" for number in range(len(STEPS))]
    outcomes = asyncio.run(trainer.train(Example(line, "") for line in lines))
    assert all(outcome.handled and outcome.iterations == 1 for outcome in outcomes)
    assert next(steps, None) is None
    assert [label for label in labels if label in _STRATEGIES] == [
        *("SPLIT", "ADD_AGENT", "KEEP_OFF", "TURN_ON", "ADD_KNOWLEDGE", "SPLIT", "ADD_INPUTS")
    ]
    network = lan.network
    assert network.edges == {
        (SPOKEN, POLISHER),
        (LITERARY, POLISHER),
        (SPOKEN, REFINER),
        (LITERARY, REFINER),
        (REFINER, POLISHER),
    }
    assert network.agent(POLISHER).control.knowledge == (
        "do not run if the original does not rhyme",
        "repos and châteaux rhyme",
    )
    for part in (SPOKEN, LITERARY):
        assert network.agent(part).knowledge == ("one must not trust appearances",)
    assert [one.external for one in network.handled] == lines
    # The last edge makes the Polisher, and no longer the Refiner, the last agent of the order: of
    # the lines on which both are active, the output is another one, and the developer is asked.
    (lost,) = developer.lost
    assert [one.handled.external for one in lost] == lines[1:6]
    active = [part in one.active for one in network.handled[:5] for part in (SPOKEN, LITERARY)]
    assert active == [False, True] * 5  # as the model chose for each earlier line


_STRATEGIES = ("SPLIT", "ADD_AGENT", "KEEP_OFF", "TURN_ON", "ADD_KNOWLEDGE", "ADD_INPUTS")
