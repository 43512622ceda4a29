"""The examples that a network handled before, run again as far as its agents have changed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from guards.text import NormalisedText
from pxp_fsm.errors import PXPError
from pxp_fsm.plugins.easylan.experiments import setup
from pxp_fsm.plugins.easylan.model.network import LanAgent
from pxp_fsm.plugins.easylan.running.execution import Memory, NetworkRunner
from pxp_fsm.plugins.easylan.running.requests import Requester, load_prompts
from pxp_fsm.plugins.easylan.studio.state import Message, Studio
from pxp_fsm.plugins.easylan.studio.work import StudioPlan
from pxp_fsm.plugins.easylan.training.regressions import Regression, remembered_by, replay

PAUSE = 0.3
"""Seconds after a change in which a further one puts the comparison off: it may cost money."""


class EarlierResults:
    """Compares the earlier results of a network with those of now, beside what else is done.

    Nobody waits for it, so that it counts as no time of the developer's.
    """

    def __init__(self, studio: Studio, plan: StudioPlan) -> None:
        self.studio = studio
        self.plan = plan
        self._task: asyncio.Task[None] | None = None
        self._memory: Memory = {}
        self._known: dict[str, LanAgent] = {}
        self._message: Message = {"type": "comparison", "comparison": None}
        studio.follow(lambda: [self._message])

    def start(self) -> None:
        """Run the earlier examples again.

        A comparison that is not over is begun anew. Raises `UsageError` without a model.
        """
        _ = self.plan.model_name, self.studio.lan
        if self._task is not None:
            self._task.cancel()
        self._task = asyncio.create_task(self._compare())

    def start_if_wanted(self) -> None:
        """Run them again after an edit, if the developer wants that and they may have changed."""
        wanted = self.studio.notes.compares and self.plan.model is not None
        if wanted and self.studio.lan.network.handled:
            self.start()

    async def close(self) -> None:
        """Stop what is under way."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])

    def _tell(self, done: int, lost: Sequence[Regression] = (), failure: str = "") -> None:
        lan = self.studio.lan
        found = {
            "version": lan.version,
            "done": done,
            "total": len(lan.network.handled),
            "regressions": [_shown(one) for one in lost],
            "failure": failure,
        }
        self._message = {"type": "comparison", "comparison": found}
        self.studio.listeners.tell(self._message)

    async def _compare(self) -> None:
        self._tell(0)
        await asyncio.sleep(PAUSE)
        network = self.studio.lan.network
        total = len(network.handled)
        for agent in network.agents:
            if self._known.get(agent.name) is not agent:
                self._memory |= remembered_by(agent)
                self._known[agent.name] = agent
                await asyncio.sleep(0)  # pages are answered meanwhile
        try:
            async with setup.model_of(self.plan.model_name, self.plan.settings) as model:
                runner = NetworkRunner(
                    Requester(model, load_prompts(self.plan.prompts)), self._memory
                )
                lost = await replay(
                    network,
                    runner,
                    NormalisedText(),
                    lambda done, _lost: self._tell(done) if done < total else None,
                )
        except PXPError as error:
            self._tell(0, failure=str(error))
        else:
            self._tell(total, lost)


def _shown(one: Regression) -> dict[str, Any]:
    """What a page shows of a regression: no agent's turn."""
    handled = {"external": one.handled.external, "output": one.handled.output}
    run = None if one.run is None else {"output": one.run.output}
    return {"handled": handled, "run": run, "why": one.why}
