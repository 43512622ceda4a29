"""Table 6 from the blackboard: steps modified, confirmed and taken over, with UED and time."""

from __future__ import annotations

import asyncio
import runpy
from pathlib import Path
from typing import Any

import pytest

from backends.databases import SqlBlackboard
from backends.models.scripts import read_script
from guards import Exact
from pxp_fsm.plugins.easylan.distance.measures import (
    Action,
    ActionTally,
    Stopwatch,
    effort_of,
    in_steps,
    tallied,
    timed,
    ued,
)
from pxp_fsm.plugins.easylan.experiments.comparison import stored
from pxp_fsm.plugins.easylan.experiments.setup import Training
from pxp_fsm.plugins.easylan.training.developer import DeveloperChoice
from pxp_fsm.plugins.easylan.training.simulated import Confirming, ScriptedAct, ScriptedDeveloper
from pxp_fsm.prompting.model import Capability, ModelRequest, Reply, layered
from pxp_fsm.protocol.messages import Tag

FRENCH = Path(__file__).parents[3] / "examples" / "lan_french"


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    return runpy.run_path(str(FRENCH / "train.py"))


def trained(
    example: dict[str, Any], developer: Confirming, board: SqlBlackboard, folder: Path
) -> None:
    lan, model = example["translator"](), read_script(FRENCH / "script.toml")
    examples = tuple(example["EXAMPLES"][:1])
    training = Training(folder / "x.lan.json", examples, model, developer, same=Exact(), lan=lan)
    asyncio.run(training.on(board).carry(folder))


def test_confirming_all_four_steps_is_four_clicks_that_table_6_does_not_count(
    example: dict[str, Any], tmp_path: Path
) -> None:
    with SqlBlackboard(str(tmp_path / "board.db")) as board:
        trained(example, Confirming(), board, tmp_path)
        actions = list(in_steps(stored(board, "lan-1")))
        assert tallied(actions)[Action.CONFIRM] == ActionTally(4, 4)
        assert (ued(actions), ued(actions, set(Action))) == (0, 4)
        assert board.runs()[0].task == "lan"


def test_edits_and_hints_are_counted_for_their_step_with_their_distance(
    example: dict[str, Any], tmp_path: Path
) -> None:
    gap = "The rhyme is lost."
    script = [
        ScriptedAct("GAP", DeveloperChoice.CONFIRM, sets={"gap": gap}),
        ScriptedAct("WEAKNESS", DeveloperChoice.RETRY, hint="two steps"),
        ScriptedAct("PARAMETERS", DeveloperChoice.REJECT),
    ]
    with SqlBlackboard(str(tmp_path / "board.db")) as board:
        trained(example, ScriptedDeveloper(script), board, tmp_path)
        sessions = list(stored(board, "lan-1"))
        found = tallied(in_steps(sessions))
        first = sessions[0][1]
        assert [entry.carried.tag for entry in first] == [
            Tag.INIT,
            Tag.REFUTE,
            Tag.REVISE,
            Tag.RATIFY,
            Tag.RATIFY,
        ]
        assert found[Action.STEP_1].count == 1
        assert 3 < found[Action.STEP_1].ued <= 2 + len(gap) + 1
        assert found[Action.STEP_3] == ActionTally(1, (1 + len("two steps")) + 1)
        assert found[Action.STEP_2] == ActionTally()
        assert found[Action.TAKE_OVER] == ActionTally(1, 1)
        assert all(effort_of(entry).seconds >= 0 for _x, entries in sessions for entry in entries)


class Slow:
    """A model that takes as long as a clock is put forward."""

    name, capabilities = "slow", frozenset[Capability]()

    def __init__(self) -> None:
        self.now = 0.0

    async def reply(self, request: ModelRequest) -> Reply:
        await asyncio.sleep(0)
        self.now += 3
        return Reply("x")


def test_interaction_time_is_the_total_less_the_time_of_models_asked_at_once_or_apart() -> None:
    model = Slow()
    watch = Stopwatch(lambda: model.now)
    measured = layered(model, timed(watch))
    request = ModelRequest("", ())

    async def both() -> None:
        await asyncio.gather(measured.reply(request), measured.reply(request))

    model.now += 5
    asyncio.run(measured.reply(request))
    model.now += 2
    asyncio.run(both())
    assert (watch.total, watch.models, watch.interaction, watch.calls) == (16.0, 9.0, 7.0, 3)
    assert (measured.name, measured.capabilities) == (model.name, model.capabilities)
