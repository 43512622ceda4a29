"""A score is 1 where all criteria hold, and nothing else; what nobody decided stays undecided."""

from __future__ import annotations

import asyncio
from typing import Any

from pxp_fsm.experiments.statistics import wilson
from pxp_fsm.plugins.easylan.distance.lmd import network_distance
from pxp_fsm.plugins.easylan.experiments.scoring import CriterionJudge, Score, naive, score, scored
from pxp_fsm.plugins.easylan.experiments.tasks import LanTask, load_task
from pxp_fsm.plugins.easylan.model.network import initial
from pxp_fsm.plugins.easylan.running.execution import NetworkRunner
from pxp_fsm.plugins.easylan.running.requests import Requester, bundled
from tests.plugins.easylan.scripted_models import Frames, Speaking

COUPLETS, GRAMMAR = load_task("couplets"), load_task("grammar")


def knows(task: LanTask, wrong: int = 0) -> Speaking:
    """A script: the truths of a task's examples, those of the first `wrong` left out."""
    truths = {one.input: one.truth for one in task.examples[wrong:]}

    def say(_purpose: str, frames: Frames) -> Any:
        found = truths.get(frames["input"])
        return "no JSON" if found is None else {"thoughts": "", "result": found}

    return Speaking(say)


def judge(says: str) -> tuple[CriterionJudge, Speaking]:
    model = Speaking(lambda _purpose, _frames: {"met": says})
    return CriterionJudge(model), model


def runner(model: Speaking) -> NetworkRunner:
    return NetworkRunner(Requester(model, bundled()))


def measured(
    model: Speaking, task: LanTask, by: CriterionJudge | None = None, **more: int
) -> Score:
    network = initial(task.task, output=task.output)
    return asyncio.run(score(network, task, task.examples, runner(model), by, **more))


def test_a_network_that_knows_all_but_four_scores_three_quarters() -> None:
    found = measured(knows(GRAMMAR, wrong=4), GRAMMAR)
    assert (found.mean, found.total, found.undecided) == (0.75, 16, 0)
    assert found.interval == wilson(12, 16)
    assert all("Solver" in one.failure for one in found.scored[:4])


def test_examples_at_once_score_the_same() -> None:
    alone, together = (measured(knows(GRAMMAR, 4), GRAMMAR, at_once=n) for n in (1, 5))
    assert alone == together


def test_without_a_judge_what_only_a_judge_decides_is_undecided_and_there_is_no_mean() -> None:
    found = measured(knows(COUPLETS), COUPLETS)
    assert (found.mean, found.interval, found.undecided) == (None, None, 16)
    assert found.met(COUPLETS.criteria[0]) == 16
    assert found.met(COUPLETS.criteria[1]) == 0


def test_one_criterion_that_is_not_met_is_enough_for_a_score_of_nothing() -> None:
    no, _model = judge("no")
    assert measured(knows(COUPLETS), COUPLETS, no).mean == 0
    yes, _model = judge("yes")
    assert measured(knows(COUPLETS), COUPLETS, yes).mean == 1


def test_a_judge_is_not_asked_where_a_program_has_decided_against_the_output() -> None:
    yes, model = judge("yes")
    example = COUPLETS.examples[0]
    bad = asyncio.run(scored(COUPLETS, example, example.input, yes))
    assert bad.passes is False
    assert not model.requests
    good = asyncio.run(scored(COUPLETS, example, example.truth, yes))
    assert good.passes is True
    assert len(model.requests) == 2


def test_a_judge_without_a_verdict_leaves_the_example_undecided() -> None:
    silent = CriterionJudge(Speaking(lambda _purpose, _frames: "hm"))
    found = asyncio.run(scored(COUPLETS, COUPLETS.examples[0], COUPLETS.examples[0].truth, silent))
    assert found.passes is None
    assert "no usable verdict" in found.verdicts[1].why


def test_the_naive_network_is_one_agent_that_knows_exactly_the_training_examples() -> None:
    split = GRAMMAR.split(0)
    network = naive(GRAMMAR, split.train)
    (agent,) = network.agents
    assert len(agent.knowledge) == 8
    assert all(
        one.input in text and one.truth in text
        for one, text in zip(split.train, agent.knowledge, strict=True)
    )
    assert not any(one.input in text for one in split.test for text in agent.knowledge)
    assert (agent.examples, agent.control.examples, network.edges) == ((), (), frozenset())
    assert network_distance(initial(GRAMMAR.task, output=GRAMMAR.output), network).exact
