"""A run that was stopped goes on only with the machine and the judge that it began with."""

from __future__ import annotations

import pytest

from backends.databases.blackboard import open_blackboard
from guards.text import normalised_text
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments import runs
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.runs import Progress
from tests.tasks.animals import Naturalist

PLAN = Plan("animals", instances="1")


@pytest.mark.parametrize(
    ("changed", "who"), [(Naturalist, "m was 'naturalist"), (type(normalised_text), "AGREE=")]
)
def test_a_stopped_run_is_not_carried_on_by_another_machine_or_judge(
    changed: type, who: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(_progress: Progress) -> None:
        raise KeyboardInterrupt

    with open_blackboard(":memory:") as board:
        run = runs.start(PLAN, board)
        with pytest.raises(KeyboardInterrupt):
            run.execute(stop)
        with monkeypatch.context() as patched:
            patched.setattr(changed, "name", "another")
            with pytest.raises(UsageError, match=f"{who}.* would now be .*another"):
                runs.resume(run.name, board).execute()
        resumed = runs.resume(run.name, board)
        resumed.execute()
        assert resumed.finished == 1
