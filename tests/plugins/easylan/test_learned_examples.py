"""Examples that are hard to learn: no agent is active, or an earlier one would be lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pxp_fsm.errors import UsageError
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.history import begun_as
from pxp_fsm.plugins.easylan.model.network import Control, LanAgent, Network
from pxp_fsm.plugins.easylan.model.operations import Forget
from pxp_fsm.plugins.easylan.running.execution import NetworkRunner, NoneActive
from pxp_fsm.plugins.easylan.running.requests import Requester, bundled
from pxp_fsm.plugins.easylan.training.developer import RegressionChoice
from pxp_fsm.plugins.easylan.training.events import Moved
from pxp_fsm.plugins.easylan.training.pipeline import Trainer, TrainingLimits
from pxp_fsm.plugins.easylan.training.progress import Example
from pxp_fsm.plugins.easylan.training.regressions import replay
from tests.plugins.easylan.scripted_models import Frames, Speaking, module
from tests.plugins.easylan.trainings import (
    GAP,
    NOBODY,
    Same,
    Watching,
    forgets,
    labels,
    new_agent,
    parameters,
    poor,
    scripted,
    trained,
    weak,
)


def off(purpose: str, frames: Frames) -> Any:
    """A control module without knowledge keeps its agent off."""
    return module(purpose, frames, active=bool(frames.get("knowledge")))


QUIET = Network("t", (LanAgent("Solver", "solve", "text", Control(True)),))
TURN_ON = (poor("Solver"), weak("not_activated"), parameters(knowledge="on"))
ADD = (NOBODY, parameters(**{"agent": new_agent("Poet"), "from": [], "to": []}))


@pytest.mark.parametrize(
    ("steps", "wanted", "names"),
    [(TURN_ON, "Solver(x)", ("Solver",)), (ADD, "Poet(x)", ("Solver", "Poet"))],
)
def test_an_example_on_which_no_agent_is_active_is_learned(
    steps: tuple[Any, ...], wanted: str, names: tuple[str, ...]
) -> None:
    """The first step begins with the forwarded input as the output (section 3.1)."""
    model = scripted(GAP, *steps, say=off)
    trainer, told = trained(model, Example("x", wanted), start=QUIET)
    assert trainer.outcomes[0].handled
    assert trainer.lan.network.names == names
    shown = model.requests[1].turns[0].text
    assert '"active": []' in shown and '"output": "x", "wanted_output"' in shown
    began = next(one for one in told if isinstance(one, Moved) and one.label == "BEGIN")
    assert began.detail == "no agent was active: the output is the input"


def test_an_input_that_is_forwarded_is_never_what_was_asked_for() -> None:
    """A run without an active agent is an error: it is no way to handle an example."""
    trainer, _told = trained(
        scripted(GAP, *TURN_ON, say=off),
        Example("x", "x"),
        start=QUIET,
        limits=TrainingLimits(1, 0),
    )
    assert not trainer.outcomes[0].handled
    lan = Lan(begun_as(QUIET), Speaking(off))
    with pytest.raises(NoneActive):
        lan.run_sync("x")
    assert lan.last is not None and lan.last.turns["Solver"].guard == "OFF"


def teaching(text: str) -> list[Any]:
    return [GAP, poor("Solver"), weak("lack_of_knowledge"), parameters(knowledge=text)]


@pytest.mark.parametrize("choice", [RegressionChoice.ACCEPT, RegressionChoice.FORGET])
def test_a_regression_that_was_settled_is_not_asked_about_again(choice: RegressionChoice) -> None:
    developer = Watching(weigh=[choice, RegressionChoice.ACCEPT])
    trainer, told = trained(
        scripted(*teaching("k"), *teaching("l"), say=forgets),
        *(Example("a", "a"), Example("x", "kx"), Example("y", "kly")),
        developer=developer,
        limits=TrainingLimits(1, 0),
    )
    assert [one.handled for one in trainer.outcomes] == [True] * 3
    assert labels(told).count("SHOW") == 2
    asked = [[one.handled.external for one in lost] for lost in developer.lost]
    known = {one.external: one.output for one in trainer.lan.network.handled}
    examples = trainer.lan.network.agent("Solver").examples
    assert {one.received.external: one.result for one in examples} == known
    if choice is RegressionChoice.ACCEPT:
        assert asked == [["a"], ["a", "x"]]
        assert known == {"a": "kla", "x": "klx", "y": "kly"}
    else:
        assert asked == [["a"], ["x"]]
        assert known == {"x": "klx", "y": "kly"}


def test_an_accepted_output_is_right_from_then_on() -> None:
    developer = Watching(weigh=[RegressionChoice.ACCEPT])
    model = scripted(*teaching("k"), say=forgets)
    examples = Example("a", "a"), Example("x", "kx")
    trainer, _told = trained(model, *examples, developer=developer, limits=TrainingLimits(1, 0))
    network, runner = trainer.lan.network, NetworkRunner(Requester(model, bundled()))
    assert asyncio.run(replay(network, runner, Same())) == ()
    asking = model.asked["gap"]
    again = Trainer(trainer.lan, model, Same(), Watching(), limits=TrainingLimits(1, 0))
    outcomes = asyncio.run(again.train(examples))
    assert all(one.handled for one in outcomes) and model.asked["gap"] == asking
    assert trainer.lan.network == network


def test_an_example_is_forgotten_with_what_was_learned_from_it() -> None:
    trainer, _told = trained(Speaking(module), Example("a", "Solver(a)"), Example("b", "Solver(b)"))
    lan = trainer.lan
    lan.edit(Forget("a"))
    assert [one.external for one in lan.network.handled] == ["b"]
    (solver,) = lan.network.agents
    assert [one.received.external for one in solver.control.examples] == ["b"]
    assert [one.received.external for one in solver.examples] == ["b"]
    with pytest.raises(UsageError, match="no example with the input 'a' was handled"):
        lan.edit(Forget("a"))
    lan.undo()
    assert [one.external for one in lan.network.handled] == ["a", "b"]
