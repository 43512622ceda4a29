"""Who sits in a session: the task's own agents, or those that the plan names in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from backends.models.answering import ModelRespondent
from guards.judge import Judge, Scope
from pxp_fsm.agent import Members
from pxp_fsm.models import Model
from pxp_fsm.session import Entry
from pxp_fsm.workbench import person
from pxp_fsm.workbench.named import Named, scope_of
from pxp_fsm.workbench.plans import Plan
from pxp_fsm.workbench.tasks import HUMAN, MACHINE, DataSet, Task

Opened = Callable[[str], Model]
"""The model of a name; the same one each time."""


class Seats:
    """Who sits in the sessions of one run; judges live as long as it does.

    What people look at, and what they leave unsent, is kept in `folder`; `opened` opens the models
    that `named` names. Raises `UsageError`.
    """

    def __init__(
        self,
        plan: Plan,
        task: Task,
        data: DataSet,
        folder: Path,
        named: Named,
        opened: Opened,
    ) -> None:
        person.check_person(plan.human, task)
        self._plan = plan
        self._task = task
        self._data = data
        self._folder = folder
        self._named = named
        self._opened = opened
        self._judges = self._make_judges()

    def agents(self, repetition: int) -> Members:
        """Fresh agents, the machine first, for one repetition, counted from 1."""
        machine, human = self._task.agents(self._data, self._plan.memo)
        named, problem = self._named, self._task.problem
        if named.machine is not None and named.prompts is not None and problem is not None:
            respondent = ModelRespondent(
                self._opened(named.machine), problem, named.prompts, repetition=repetition
            )
            machine = replace(machine, respondent=respondent, query=machine.query or problem.query)
        if self._judges is not None:
            first, second = self._judges
            machine, human = replace(machine, agree=first), replace(human, agree=second)
        if self._plan.human is not None and problem is not None:
            human = person.seated(human, self._plan.human, problem, self._folder)
        return {MACHINE: machine, HUMAN: human}

    def remember(self, session: str, initiator: str, entries: Iterable[Entry]) -> None:
        """Tell the judges what they were asked in a stored session, before the run goes on."""
        if self._judges is None:
            return
        first, second = self._judges
        for entry in entries:
            judge = first if entry.message.sender == initiator else second
            judge.remember(entry.judgements, session)

    def _make_judges(self) -> tuple[Judge, Judge] | None:
        """The judges of the two agents: one and the same where they share its memory."""
        if self._named.judge is None or self._named.prompts is None:
            return None
        model, scope = self._opened(self._named.judge), scope_of(self._plan)
        votes, prompts = self._plan.votes, self._named.prompts
        if scope in (Scope.RUN, Scope.PAIR):
            both = Judge(model, prompts, scope, votes=votes)
            return both, both
        first, second = (Judge(model, prompts, scope, votes=votes, owner=one) for one in "mh")
        return first, second
