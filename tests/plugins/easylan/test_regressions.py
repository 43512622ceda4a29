"""Earlier examples run again: an undecided judgement is reported, and ends nothing."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from pxp_fsm.errors import NoAnswer
from pxp_fsm.plugins.easylan.model.network import HandledExample, initial
from pxp_fsm.plugins.easylan.running.execution import NetworkRunner
from pxp_fsm.plugins.easylan.running.requests import Requester, bundled
from pxp_fsm.plugins.easylan.training.regressions import replay
from pxp_fsm.protocol.relations import NOISY, Outcome
from tests.plugins.easylan.scripted_models import Speaking, module


class Away:
    """A judge that gives no verdict."""

    name = "away"
    assumptions = NOISY

    async def holds(self, left: str, right: str) -> Outcome:
        raise NoAnswer("the judge is away")


def test_an_earlier_example_that_nobody_can_judge_is_a_regression_that_says_so() -> None:
    handled = (
        HandledExample("a", "A", "it was another", ()),
        HandledExample("b", "B", "Solver(b)", ()),
    )
    network = replace(initial("x"), handled=handled)
    runner = NetworkRunner(Requester(Speaking(module), bundled()))
    (lost,) = asyncio.run(replay(network, runner, Away()))
    assert (lost.handled, lost.output, lost.why) == (handled[0], "Solver(a)", "the judge is away")
