"""Edits while a step is under way: what does not depend on them stands, and nothing is spent."""

from __future__ import annotations

import asyncio
from typing import Any

from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.network import LanAgent, Network
from pxp_fsm.plugins.easylan.model.operations import AgentField, Delete, Edit
from pxp_fsm.plugins.easylan.running.execution import NetworkRun
from pxp_fsm.plugins.easylan.training.developer import Act, DeveloperChoice, StepView
from pxp_fsm.plugins.easylan.training.events import Kept, Moved
from pxp_fsm.plugins.easylan.training.pipeline import Trainer, TrainingLimits
from pxp_fsm.plugins.easylan.training.progress import Example
from tests.plugins.easylan.scripted_models import Frames, module
from tests.plugins.easylan.trainings import (
    FIRST,
    GAP,
    NOBODY,
    POET,
    Same,
    Watching,
    labels,
    parameters,
    poor,
    scripted,
    sessions,
    trained,
    weak,
)


def rewords(_view: StepView, lan: Lan) -> Act:
    """They edit the agent's output description, and then confirm."""
    lan.edit(Edit("Solver", AgentField.OUTPUT, "verse"))
    return Act(DeveloperChoice.CONFIRM)


def test_an_edit_that_changes_no_context_leaves_every_result_standing() -> None:
    """Nothing is asked again, and neither a retry nor an iteration is spent: their act counts."""
    developer = Watching(Act(DeveloperChoice.CONFIRM), Act(DeveloperChoice.CONFIRM), rewords)
    model = scripted(GAP, NOBODY, POET)
    trainer, told = trained(model, FIRST, developer=developer, limits=TrainingLimits(1, 0))
    assert labels(told)[6:10] == ["ADD_AGENT", "RESTART", "RAN", "BEGIN"]
    assert [one.step for one in told if isinstance(one, Kept)] == ["GAP", "REASON"]
    assert sessions(told)[-1] == ["INIT", "RATIFY", "RATIFY"] and len(developer.views) == 3
    assert trainer.lan.network.agent("Solver").output == "verse"
    assert (trainer.outcomes[0].handled, trainer.outcomes[0].iterations) == (True, 1)
    details = [one.detail for one in told if isinstance(one, Moved) and one.label == "RESTART"]
    assert details == ["the network changed"]


def test_an_edit_makes_anew_the_steps_whose_context_it_changes() -> None:
    """The agent's output description is in the context of the last two steps alone."""
    developer = Watching(
        Act(DeveloperChoice.CONFIRM),
        Act(DeveloperChoice.CONFIRM),
        Act(DeveloperChoice.CONFIRM),
        rewords,
    )
    weakness, know = weak("lack_of_knowledge"), parameters(knowledge="k")
    model = scripted(GAP, poor("Solver"), weakness, know, weakness, know)
    trainer, told = trained(
        model, Example("x", "never"), developer=developer, limits=TrainingLimits(1, 0)
    )
    assert [one.step for one in told if isinstance(one, Kept)] == ["GAP", "REASON"]
    assert model.asked["gap"] == model.asked["reason"] == 1
    assert model.asked["weakness"] == model.asked["parameters"] == 2
    assert trainer.lan.network.agent("Solver").knowledge == ("k",)


def test_nobody_is_asked_again_about_an_output_that_an_edit_did_not_change() -> None:
    class Counting(Watching):
        asked = 0

        async def satisfied(self, run: NetworkRun, truth: str, lan: Lan) -> bool:
            self.asked += 1
            return run.output == truth

    developer = Counting(rewords)
    trainer, _told = trained(scripted(GAP, NOBODY, POET), FIRST, developer=developer)
    assert trainer.outcomes[0].handled and developer.asked == 2


def test_an_edit_that_makes_the_output_right_ends_the_iteration() -> None:
    def names(_view: StepView, lan: Lan) -> Act:
        lan.edit(Edit("Solver", AgentField.NAME, "Mine"))
        return Act(DeveloperChoice.CONFIRM)

    trainer, told = trained(scripted(GAP), Example("x", "Mine(x)"), developer=Watching(names))
    assert labels(told) == ["EXAMPLE", "RAN", "BEGIN", "RESTART", "RAN", "RECORD", "FINISH"]
    assert trainer.outcomes[0].handled


def test_an_edit_in_the_last_moment_is_not_overwritten() -> None:
    """They edit while the copy is replayed: the update is applied again, to what is there."""
    lan = Lan.new("translate")

    def say(purpose: str, frames: Frames) -> Any:
        if purpose == "control" and lan.network.agent("Solver").output != "verse":
            lan.edit(Edit("Solver", AgentField.OUTPUT, "verse"))
        return module(purpose, frames)

    told: list[Any] = []
    trainer = Trainer(
        lan, scripted(GAP, NOBODY, POET, say=say), Same(), Watching(), on_event=told.append
    )
    asyncio.run(trainer.train([Example("a", "Solver(a)"), FIRST]))
    assert labels(told).count("RESTART") == 1 and "REPEAT" not in labels(told)
    assert lan.network.agent("Solver").output == "verse" and lan.network.names[1] == "Poet"


def test_an_agent_that_was_deleted_under_the_pipeline_is_not_updated() -> None:
    start = Network(
        "t", (LanAgent("A", "a", "t"), LanAgent("B", "b", "t")), frozenset({("A", "B")})
    )

    def deletes(_view: StepView, lan: Lan) -> Act:
        lan.edit(Delete("A"))
        return Act(DeveloperChoice.CONFIRM)

    developer = Watching(Act(DeveloperChoice.CONFIRM), Act(DeveloperChoice.CONFIRM), deletes)
    lacks, know = weak("lack_of_knowledge"), parameters(knowledge="k")
    model = scripted(GAP, poor("A"), lacks, GAP, poor("B"), lacks, know)
    trainer, told = trained(
        model, Example("x", "never"), start=start, developer=developer, limits=TrainingLimits(1, 0)
    )
    assert labels(told).count("RESTART") == 1
    (left,) = trainer.lan.network.agents
    assert (left.name, left.knowledge) == ("B", ("k",))
