"""Comparison of EasyLAN, the baseline and the naive network, with one scripted model."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from backends.databases import SqlBlackboard
from pxp_fsm.plugins.easylan.distance.measures import Action, tallied, ued
from pxp_fsm.plugins.easylan.experiments import comparison
from pxp_fsm.plugins.easylan.experiments.comparison import (
    Condition,
    Measured,
    MeetsCriteria,
    TrainingSetting,
    baseline,
    easylan,
    naive_lan,
)
from pxp_fsm.plugins.easylan.experiments.tasks import LanTask, load_task
from pxp_fsm.plugins.easylan.model.operations import AgentField, Edit
from pxp_fsm.plugins.easylan.training.developer import Developer
from pxp_fsm.plugins.easylan.training.simulated import (
    AddsExamples,
    Confirming,
    Editing,
    FollowsEdits,
    HandEdit,
)
from tests.plugins.easylan.scripted_models import Frames, Speaking

TASK = load_task("grammar")
TRUTHS = {example.input: example.truth for example in TASK.examples}


def says(purpose: str, frames: Frames) -> Any:
    """A script: right where it knows the very sentence, or a rule for each kind of error in it.

    Asked for an update, it gives a rule for the kinds that the present sentence needs.
    """
    if purpose == "execution":
        known = "\n".join(frames.get("knowledge", []))
        truth, sentence = TRUTHS[frames["input"]], frames["input"]
        right = sentence in known or all(f"rule: {kind}" in known for kind in truth.split(", "))
        return {"thoughts": "", "result": truth if right else "I see nothing wrong."}
    if purpose == "gap":
        return {"rationale": "", "gap": "a kind of error is not seen"}
    if purpose == "reason":
        reason = {"reason_type": "poor_performance_of_agent", "agent_name": "Solver"}
        return {"rationale": "", **reason, "reason_content": "it does not know the kind"}
    if purpose == "weakness":
        return {"rationale": "", "reason_type": "lack_of_knowledge", "reason_content": "no rule"}
    kinds = frames["network"]["wanted_output"].split(", ")
    told = "; ".join(f"rule: {kind}, as in this example" for kind in kinds)
    return {"rationale": "", "parameters": {"knowledge": told}}


def compared(
    seed: int, board: SqlBlackboard, folder: Path, developer: Developer | None
) -> list[Measured]:
    split, model = TASK.split(seed), Speaking(says)
    setting = TrainingSetting(TASK, split, model, board=board, folder=folder)

    async def all_three() -> list[Measured]:
        return [
            await easylan(setting, developer),
            await baseline(setting, AddsExamples()),
            await naive_lan(setting),
        ]

    return asyncio.run(all_three())


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> list[Measured]:
    folder = tmp_path_factory.mktemp("board")
    with SqlBlackboard(str(folder / "board.db")) as board:
        return [
            one
            for seed in (1, 2)
            for one in compared(
                seed, board, folder, Confirming(MeetsCriteria(TASK, TASK.examples).will_do)
            )
        ]


@pytest.mark.deep
def test_all_handle_what_they_are_trained_with_and_only_rules_carry_over(
    measured: list[Measured],
) -> None:
    easy, base, naive = measured[:3]
    assert [one.condition for one in measured[:3]] == list(Condition)
    assert (easy.train.mean, base.train.mean, naive.train.mean) == (1, 1, 1)
    assert (base.test.mean, naive.test.mean) == (0, 0)
    assert easy.test.mean is not None
    assert easy.test.mean > 0.5


def test_training_and_testing_examples_are_those_of_the_split_and_apart(
    measured: list[Measured],
) -> None:
    for one in measured:
        split = TASK.split(one.seed)
        assert tuple(scored.example for scored in one.train.scored) == split.train
        assert tuple(scored.example for scored in one.test.scored) == split.test


def test_who_only_confirms_edits_nothing_and_who_types_by_hand_spends_at_least_the_distance(
    measured: list[Measured],
) -> None:
    easy, base, naive = measured[:3]
    assert ued(easy.actions) == 0
    assert tallied(easy.actions)[Action.CONFIRM].count == 4 * easy.modifications
    assert base.lmd.exact
    assert ued(base.actions) >= base.lmd.upper > 0
    assert (naive.actions, naive.modifications) == ((), 0)
    assert base.lmd.upper == naive.lmd.upper


@pytest.mark.deep
def test_who_edits_by_chance_spends_more_than_who_confirms(tmp_path: Path) -> None:
    meets = MeetsCriteria(TASK, TASK.examples)
    with SqlBlackboard(":memory:") as board:
        (easy, *_others) = compared(1, board, tmp_path, Editing(0.5, seed=1, will_do=meets.will_do))
    assert ued(easy.actions) > 0
    assert easy.train.mean == 1


def test_the_tables_hold_our_numbers_and_the_published_ones_plainly_apart(
    measured: list[Measured],
) -> None:
    table = comparison.measures(TASK, measured)
    assert table.headings[1:4] == ("EasyLAN", "baseline", "naive")
    assert all("published" in column for column in table.headings[4:])
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["score, test"][3:] == ("0.583", "0.417", "0.29")
    assert rows["score, test"][1].startswith("0.00 (")
    assert rows["user editing distance"][3:] == ("374", "947", "-")
    assert rows["modification distance"][3:5] == ("2424", "825")
    assert rows["agents"] == ("1", "1", "1", "2.89", "2.33", "1")
    six = {row[0]: row[1:] for row in comparison.actions(measured).rows}
    assert six["modify step 1"][2:] == ("3.33 x 82.4", "-")
    assert six["modify agent"][2:] == ("1.67 x 41.9", "11.6 x 80.8")
    assert six["confirm a step"][2:] == ("-", "-")


def test_the_criteria_say_who_decides_them(measured: list[Measured]) -> None:
    table = comparison.criteria(TASK, measured)
    assert [row[1] for row in table.rows] == ["program"] * 4
    assert all(row[3].endswith("/16") for row in table.rows)


def test_without_a_judge_the_score_is_a_range() -> None:
    task: LanTask = load_task("couplets")
    truths = {example.input: example.truth for example in task.examples}
    model = Speaking(lambda _p, frames: {"thoughts": "", "result": truths[frames["input"]]})
    found = asyncio.run(naive_lan(TrainingSetting(task, task.split(1), model)))
    assert comparison.format_score([found.test]) == "0.00 to 1.00, not all judged"
    assert "no judge's verdict" in comparison.notes([found])[-1]


def test_an_output_must_do_for_each_example_of_the_same_good_output(tmp_path: Path) -> None:
    meets = MeetsCriteria(TASK, TASK.examples)
    assert asyncio.run(meets.holds("agreement", "agreement")) == "yes"
    assert asyncio.run(meets.holds("missing", "agreement")) == "no"
    assert asyncio.run(meets.holds("agreement", "unknown")) == "no"


def test_a_script_edits_the_baseline_by_hand() -> None:
    split = TASK.split(1)
    told = tuple(f"{example.input} {example.truth}" for example in split.train)
    edits = [HandEdit((Edit("Solver", AgentField.KNOWLEDGE, told),))]
    setting = TrainingSetting(TASK, split, Speaking(says))
    found = asyncio.run(baseline(setting, FollowsEdits(edits)))
    assert (found.handled, found.modifications, found.train.mean) == (8, 1, 1)
    assert ued(found.actions) == found.lmd.upper
