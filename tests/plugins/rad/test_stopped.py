"""A run that was stopped goes on only with the machine and the judge that it began with."""

from __future__ import annotations

from types import ModuleType

import pytest

from backends.databases.blackboard import open_blackboard
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments import runs
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.runs import Progress
from pxp_fsm.plugins.rad import relations as radiology
from pxp_fsm.tasks.labels import neighbours

RAD = Plan("rad", instances="1")
PNEUMONIA = Plan("rad", instances="1", label="Pneumonia")


@pytest.mark.parametrize(
    ("plan", "changed", "who"),
    [
        pytest.param(RAD, neighbours, "m was 'radiograph", id="rad-machine"),
        pytest.param(PNEUMONIA, radiology, "AGREE=same findings", id="rad-judge"),
    ],
)
def test_a_stopped_run_is_not_carried_on_by_another_machine_or_judge(
    plan: Plan, changed: ModuleType, who: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(_progress: Progress) -> None:
        raise KeyboardInterrupt

    with open_blackboard(":memory:") as board:
        run = runs.start(plan, board)
        with pytest.raises(KeyboardInterrupt):
            run.execute(stop)
        with monkeypatch.context() as patched:
            patched.setattr(changed, "package_fingerprint", lambda *_: "0" * 12)
            with pytest.raises(UsageError, match=f"{who}.* would now be .* {'0' * 12}"):
                runs.resume(run.name, board).execute()
        resumed = runs.resume(run.name, board)
        resumed.execute()
        assert resumed.finished == 1
