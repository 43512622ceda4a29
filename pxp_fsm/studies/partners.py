"""The other sides of tasks: their table is moved by what is stored of a run, as far as released."""

from __future__ import annotations

from collections.abc import Callable

from backends.databases import SqlBlackboard
from pxp_fsm.experiments.plan_data import read_plan
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.studies.assignment import Assigned
from pxp_fsm.studies.files import Study
from pxp_fsm.studies.lifecycles import PARTICIPANT, PARTNER
from pxp_fsm.studies.participations import Participation, began, run_name
from pxp_fsm.studies.tasks import Sessions, Standing


class Partners:
    """The partners of the participants of `study`, whose runs are on `board`."""

    def __init__(self, study: Study, board: SqlBlackboard, clock: Callable[[], float]) -> None:
        self._study, self._board, self._clock = study, board, clock
        self._noticed: dict[str, float] = {}
        self._totals: dict[object, int] = {}
        self._began: dict[str, float] = {}
        self._lost: set[str] = set()

    def standing(self, one: Participation, does: Assigned) -> Standing:
        """How the task `does` stands, as far as its participant may know it now."""
        if does.task.network:
            return Standing(is_theirs=True)
        run = run_name(self._study, one.subject, does.place)
        total = self._total(self._study.plan(does.arm, does.task, one.subject))
        if run not in self._began:
            self._began[run] = began(self._board, one, does.place)
        sessions = Sessions(
            self._study, self._board, one.subject, does, run, total, self._began[run]
        )
        return sessions.standing(self._clock(), self._noticed, is_lost=run in self._lost)

    def lose(self, one: Participation) -> None:
        """The run of the present task cannot go on."""
        self._lost.add(run_name(self._study, one.subject, len(one.letters("TASK"))))

    def move(self, one: Participation, found: Standing) -> bool:
        """Let the table of the partner say what was found; whether it moved."""
        listening = one.state(PARTNER) == "LISTENING"
        if found.is_over:
            if listening:
                one.send(PARTICIPANT, "ANSWER")
            if found.is_lost:
                self._leave(one)
            else:
                one.send(PARTNER, "OVER")
        elif found.is_theirs and not listening:
            one.send(PARTNER, "TURN")
        elif not found.is_theirs and listening:
            one.send(PARTICIPANT, "ANSWER")
        else:
            return False
        return True

    def _leave(self, one: Participation) -> None:
        if one.state(PARTNER) != "LEAVING":
            one.happen("LOST")
        one.send(PARTNER, "GONE")

    def _total(self, plan: Plan) -> int:
        """How many sessions a run of `plan` has."""
        about = plan.task, plan.data, plan.instances, plan.label, plan.repetitions
        if about not in self._totals:
            self._totals[about] = len(read_plan(plan)[1].sessions) * plan.repetitions
        return self._totals[about]
