"""The participants of a session: the task's own agents, or those that the plan names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path

from backends.models import registry
from backends.models.catalogue import catalogue, warnings
from backends.models.paper_settings import Preset
from backends.models.respondent import ModelRespondent
from backends.models.settings import Settings
from backends.people.browser import Desk, heard
from guards.relations.judge import GIVES, Judge, Scope
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.experiments.deviations import as_in, not_told, otherwise, paper_of
from pxp_fsm.experiments.guests import check_guests, unserved, with_assistant, with_person
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.prompting.model import Capability, Model
from pxp_fsm.prompting.prompts import Prompts
from pxp_fsm.protocol.interfaces import CopyableLearner, Learner, Respondent
from pxp_fsm.protocol.situation import Derived
from pxp_fsm.sessions.agent import Agent, Members
from pxp_fsm.sessions.functions import AnswerFunction, as_respondent
from pxp_fsm.sessions.session import Entry
from pxp_fsm.tasks import prompts as written
from pxp_fsm.tasks.task import HUMAN, MACHINE, DataSet, Task

Part = Agent | Respondent | AnswerFunction
"""What a program may put in an agent's place: an agent, a respondent, a function."""


def seated(task: Task, plan: Plan, machine: Part | None = None, human: Part | None = None) -> Task:
    """`task` with a program's own `machine` and `human`, which are fresh in each repetition.

    Raises `UsageError` for a part that the plan names already, or that learns and has no copy.
    """
    named = (("machine", machine, plan.machine or plan.preset), ("human", human, plan.human))
    for field, part, other in named:
        if part is not None and other is not None:
            raise UsageError(f"the plan names its {field} already; leave one of the two out", field)
        learner = part.respondent if isinstance(part, Agent) else part
        if isinstance(learner, Learner) and not isinstance(learner, CopyableLearner):
            raise UsageError(
                f"{quoted(learner)} learns and has no copy(), so that no repetition could begin "
                f"with one that has learned nothing",
                field,
            )
    if machine is None and human is None:
        return task

    def agents(data: DataSet, memo: bool) -> tuple[Agent, Agent]:
        own = task.agents(data, memo)
        first, second = map(_fresh, own, (machine, human))
        return replace(first, memo=memo), replace(second, memo=memo)

    notes = {
        role: said for role, said in task.role_notes.items() if role != "machine" or not machine
    }
    accuracy = task.accuracy if machine is None else lambda _data: ()
    check = task.check_machine if machine is None else None
    held = replace(task, agents=agents, at_once=1, accuracy=accuracy, role_notes=notes)
    return replace(held, check_machine=check)


def _fresh(own: Agent, part: Part | None) -> Agent:
    """The agent that `part` is, in the place of `own`, with nothing learned in this run."""
    if part is None:
        return own
    if isinstance(part, Agent):
        agent = part
    else:
        agent = replace(own, respondent=as_respondent(part), guards=Derived())
    respondent = agent.respondent
    if isinstance(respondent, CopyableLearner):
        respondent = respondent.copy()
    return replace(agent, respondent=respondent, query=agent.query or own.query)


@dataclass(frozen=True, slots=True)
class Selection:
    """The models that a plan selects, with their prompts; empty if it selects none.

    `deviations` say what of the plan's preset is not as in its paper, `notes` what else a reader
    must know of the models.
    """

    machine: str | None = None
    judge: str | None = None
    prompts: Prompts | None = None
    notes: tuple[str, ...] = ()
    deviations: tuple[str, ...] = ()
    human: str | None = None

    @property
    def roles(self) -> tuple[tuple[str, str | None], ...]:
        """Each role with its model, if it has one."""
        return ("machine", self.machine), ("human", self.human), ("judge", self.judge)

    @property
    def any(self) -> bool:
        return any(model is not None for _, model in self.roles)


def models(plan: Plan, task: Task, data: DataSet, settings: Settings | None = None) -> Selection:
    """The models that `plan` names, found able to do what it asks of them.

    Raises `UsageError` or `DataError` for a name that is none, a task that asks no models, prompts
    that cannot be used, and whatever a model cannot do; nothing is sent.
    """
    paper = paper_of(plan)
    machine, judge = plan.machine_model, plan.judge
    if paper is not None:
        machine, judge = machine or paper.machine.model, judge or paper.judge.model
    if machine is None and judge is None and plan.human_model is None:
        return _none(plan)
    for role, model in (("machine", machine), ("human", plan.human_model)):
        if model is not None and task.problem is None:
            raise UsageError(f"task {task.name} cannot be answered by a model", role)
    return _able(machine, judge, plan, task, data, paper, settings)


def _none(plan: Plan) -> Selection:
    prompts = None if plan.assistants else plan.prompts  # assistants are told the answer's
    given = ("prompts", prompts), ("effort", plan.effort), ("scope", plan.scope)
    for field, value in given:
        if value is not None:
            raise UsageError("this has no effect without a model as machine or as judge", field)
    if plan.votes != 1:
        raise UsageError("this has no effect without a model as judge", "votes")
    return Selection()


def _able(
    machine: str | None,
    judge: str | None,
    plan: Plan,
    task: Task,
    data: DataSet,
    paper: Preset | None,
    settings: Settings | None,
) -> Selection:
    settings = settings or Settings()
    prompts = prompts_of_plan(plan, task)[1]
    deviations: tuple[str, ...] = ()
    if paper is not None and machine is not None and judge is not None:
        answer, left = as_in(paper.machine, prompts.answer, machine, settings)
        verdict, also = as_in(paper.judge, prompts.judge, judge, settings)
        prompts = replace(prompts, answer=answer, judge=verdict)
        deviations = (
            *otherwise(plan, paper, data),
            *left,
            *also,
            *not_told(plan, paper, data),
        )
    if plan.effort is not None:
        answer, verdict = (replace(p, effort=plan.effort) for p in (prompts.answer, prompts.judge))
        prompts = replace(prompts, answer=answer, judge=verdict)
    wanted = (
        (plan.human_model, _asked(task, data, prompts), prompts.answer.effort),
        (machine, _asked(task, data, prompts), prompts.answer.effort),
        (judge, _judged(prompts), prompts.judge.effort),
    )
    for name, needs, effort in wanted:
        if name is None:
            continue
        registry.check_model(name, needs, settings)
        if effort is not None:
            registry.check_effort(name, effort, settings)
    table = catalogue(settings.catalogue)
    named = (table.facts(name) for name, _needs, _effort in wanted if name is not None)
    told = warnings(named, date.today())
    other = tuple(dict.fromkeys(deviations))
    return Selection(machine, judge, prompts, told, other, plan.human_model)


def prompts_of_plan(plan: Plan, task: Task) -> tuple[str, Prompts]:
    """The prompts that models are asked by, and whose they are, in words."""
    whose, text = prompts_text_of_plan(plan, task)
    return whose, written.prompts_of(plan.task, text)


def prompts_text_of_plan(plan: Plan, task: Task) -> tuple[str, str]:
    """Whose prompts models are asked by, in words, and their text."""
    if plan.prompts is not None:
        return "of a file", plan.prompts
    if plan.preset is not None:
        return "of the papers, in our words", written.bundled_prompts(plan.task, of_papers=True)
    if plan.materials is not None:
        return "of the task", written.bundled_prompts(f"{plan.task}{written.PATHWAYS}")
    return "of the task", task.prompts or written.bundled_prompts(plan.task)


def _asked(task: Task, data: DataSet, prompts: Prompts) -> Iterable[Capability]:
    """What a model must be able to do to answer `task`."""
    if prompts.answer.temperature is not None:
        yield Capability.TEMPERATURE
    shown = data.sessions[:1] if task.problem is not None else ()
    if any(task.problem and task.problem.picture(row.instance) for row in shown):
        yield Capability.IMAGES


def _judged(prompts: Prompts) -> Iterable[Capability]:
    if prompts.judge.temperature is not None:
        yield Capability.TEMPERATURE


def notes(plan: Plan, selection: Selection, task: Task) -> Sequence[str]:
    """Remarks on the participants that a reader of the results needs."""
    kept = [*selection.deviations, *selection.notes, *task.notes]
    if plan.materials is not None:
        part = (plan.match or "whole pathway").replace("-", " ")
        kept.append(f"Predictions are pathways; MATCH compares the {part}, and the target.")
    machine = selection.machine or plan.machine
    taken = {"human": plan.human, "judge": selection.judge, "machine": machine}
    for role, taker in taken.items():
        if taker is None:
            kept += task.role_notes.get(role, ())
    for role in plan.assistants:
        kept.append(
            f"The {role}'s role has an assistant over MCP: which model it is, and what it keeps "
            f"from one session to the next, is its user's choice, and not recorded here."
        )
    if selection.human is not None:
        kept.append(f"The human's role has {selection.human}, a model, which may REVISE.")
    if selection.judge is not None:
        scope = scope_of(plan)
        assumed = ", ".join(sorted(GIVES[scope])) or "nothing (noisy)"
        kept.append(
            f"AGREE is judged by {selection.judge}, scope {scope}. Assumed of it: {assumed}"
            + ("; within a session, that it remembers." if plan.memo else ".")
        )
    if selection.machine is not None:
        takes = "the conversations before it" if plan.goes_on else "nothing"
        kept.append(
            f"The machine is {selection.machine}: asked again, it may answer otherwise; it takes "
            f"{takes} from one session to the next."
        )
    return kept


def scope_of(plan: Plan) -> Scope:
    """How far a judge remembers where the plan does not say: as its relations do."""
    if plan.scope is not None:
        return Scope(plan.scope)
    return Scope.SESSION if plan.memo else Scope.CALL


Opened = Callable[[str], Model]
"""The model of a name; the same one each time."""


class Participants:
    """Who sits in the sessions of one run; judges live as long as it does.

    People are asked at the desk `where`, or at the terminal, and then what they look at and leave
    unsent is kept in the folder `where`; `opened` opens the models that `selection` names. Raises
    `UsageError`.
    """

    def __init__(
        self,
        plan: Plan,
        task: Task,
        data: DataSet,
        where: Path | Desk,
        selection: Selection,
        opened: Opened,
    ) -> None:
        check_guests(plan, task)
        if plan.is_served and isinstance(where, Path):
            raise unserved(plan)
        self._plan = plan
        self._task = task
        self._data = data
        self._where = where
        self._selection = selection
        self._opened = opened
        self._judges = self._make_judges()

    def agents(self, repetition: int) -> Members:
        """Fresh agents, the machine first, for one repetition, counted from 1."""
        machine, human = self._task.agents(self._data, self._plan.memo)
        selection, problem = self._selection, self._task.problem
        if selection.machine is not None:
            machine = self._model(machine, selection.machine, repetition)
        if selection.human is not None:
            human = self._model(human, selection.human, repetition)
            human = replace(human, guards=Derived())  # no oracle agent: it may REVISE
        if self._judges is not None:
            first, second = self._judges
            machine, human = replace(machine, agree=first), replace(human, agree=second)
        if self._plan.person is not None and problem is not None:
            why_not = self._task.why_not
            ask = None if why_not is None else partial(why_not, machine.respondent)
            human = with_person(human, self._plan, problem, self._where, ask)
        found = {"machine": (MACHINE, machine), "human": (HUMAN, human)}
        if not isinstance(self._where, Path):
            for role, way in self._plan.assistants.items():
                name, agent = found[role]
                found[role] = name, with_assistant(agent, way, name, self._where)
        return dict(found.values())

    def _model(self, agent: Agent, name: str, repetition: int) -> Agent:
        """`agent` with the model `name` as its respondent."""
        problem, prompts = self._task.problem, self._selection.prompts
        if problem is None or prompts is None:
            return agent
        model = self._opened(name)
        if not isinstance(self._where, Path):
            model = heard(model, self._where)
        respondent = ModelRespondent(model, problem, prompts, repetition=repetition)
        return replace(agent, respondent=respondent, query=agent.query or problem.query)

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
        if self._selection.judge is None or self._selection.prompts is None:
            return None
        model, scope = self._opened(self._selection.judge), scope_of(self._plan)
        votes, prompts = self._plan.votes, self._selection.prompts
        if scope in (Scope.RUN, Scope.PAIR):
            both = Judge(model, prompts, scope, votes=votes)
            return both, both
        first, second = (Judge(model, prompts, scope, votes=votes, owner=one) for one in "mh")
        return first, second
