"""Nobody supervises: every result of a step is confirmed as it is."""

from __future__ import annotations

from pxp_fsm.lan.developer import Act, Choice, Onward, RegressionChoice, StepView
from pxp_fsm.lan.lan import Lan
from pxp_fsm.lan.network import Network
from pxp_fsm.lan.replaying import Regression
from pxp_fsm.lan.running import Run


class Confirms:
    """A developer who confirms whatever is shown, and accepts no regression."""

    name = "nobody"

    async def satisfied(self, run: Run, truth: str, lan: Lan) -> bool:
        return run.output == truth

    async def review(self, view: StepView) -> Act:
        return Act(Choice.CONFIRM)

    async def weigh(
        self, regressions: tuple[Regression, ...], copy: Network, lan: Lan
    ) -> RegressionChoice:
        return RegressionChoice.RETRY

    async def handed(self, why: str, lan: Lan) -> Onward:
        return Onward.SKIP
