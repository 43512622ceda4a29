"""The models that a plan names: found able to do what is asked of them before anything is run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from backends.models import serving
from backends.models.presets import Asking, Preset, adapted, find_preset
from backends.models.settings import Settings
from guards.judge import GIVES, Scope
from pxp_fsm.errors import UsageError
from pxp_fsm.models import Capability
from pxp_fsm.prompts import Prompt, Prompts
from pxp_fsm.workbench import prompts as written
from pxp_fsm.workbench.plans import Plan
from pxp_fsm.workbench.tasks import DataSet, Task


@dataclass(frozen=True, slots=True)
class Named:
    """The models that a plan names, and how they are asked; empty where it names none.

    `notes` say what of the plan's preset they do not take.
    """

    machine: str | None = None
    judge: str | None = None
    prompts: Prompts | None = None
    notes: tuple[str, ...] = ()

    @property
    def seats(self) -> tuple[tuple[str, str | None], ...]:
        """Each seat with the model that sits there, if one does."""
        return ("machine", self.machine), ("judge", self.judge)

    @property
    def any(self) -> bool:
        return self.machine is not None or self.judge is not None


def models(plan: Plan, task: Task, data: DataSet, settings: Settings | None = None) -> Named:
    """The models that `plan` names, found able to do what it asks of them.

    Raises `UsageError` or `DataError` for a name that is none, a task that asks no models, prompts
    that cannot be used, and whatever a model cannot do; nothing is sent.
    """
    paper = _paper(plan)
    machine, judge = plan.machine, plan.judge
    if paper is not None:
        machine, judge = machine or paper.machine.model, judge or paper.judge.model
    if machine is None and judge is None:
        return _none(plan)
    if machine is not None and task.problem is None:
        raise UsageError(f"task {task.name} is answered by its own agents only, not by a model")
    return _able(machine, judge, plan, task, data, paper, settings)


def _none(plan: Plan) -> Named:
    for option, value in (("--prompts", plan.prompts), ("--judge-scope", plan.scope)):
        if value is not None:
            raise UsageError(f"{option} is of models; name one with --machine or --judge")
    if plan.votes != 1:
        raise UsageError("--votes is of a judge; name one with --judge")
    return Named()


def _able(
    machine: str | None,
    judge: str | None,
    plan: Plan,
    task: Task,
    data: DataSet,
    paper: Preset | None,
    settings: Settings | None,
) -> Named:
    settings = settings or Settings()
    prompts = written.prompts(plan.task, plan.prompts)
    notes: tuple[str, ...] = ()
    if paper is not None and machine is not None and judge is not None:
        answer, left = _as_in(paper.machine, prompts.answer, machine, settings)
        verdict, also = _as_in(paper.judge, prompts.judge, judge, settings)
        prompts, notes = replace(prompts, answer=answer, judge=verdict), (*left, *also)
    for name, needs in ((machine, _asked(task, data, prompts)), (judge, _judged(prompts))):
        if name is not None:
            serving.check_model(name, needs, settings)
    return Named(machine, judge, prompts, notes)


def _paper(plan: Plan) -> Preset | None:
    if plan.preset is None:
        return None

    found = find_preset(plan.preset)
    if found.task != plan.task:
        raise UsageError(f"preset {found.name} is of {found.task}, not of {plan.task}")
    return found


def _as_in(
    asking: Asking, prompt: Prompt, name: str, settings: Settings
) -> tuple[Prompt, tuple[str, ...]]:
    """`prompt` with a paper's settings, as the model `name` takes them, and what it does not."""

    taken, left = adapted(asking, name, serving.check_model(name, (), settings))
    asked = replace(prompt, max_tokens=taken.max_tokens, temperature=taken.temperature)
    return asked, () if left is None else (f"{left}.",)


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


def notes(plan: Plan, named: Named, task: Task) -> Sequence[str]:
    """What a reader must know of who sat there."""
    kept = [*named.notes, *task.notes]
    for seat, model in (("judge", named.judge), ("machine", named.machine)):
        if model is None:
            kept += task.seat_notes.get(seat, ())
    if named.judge is not None:
        scope = scope_of(plan)
        assumed = ", ".join(sorted(GIVES[scope])) or "nothing (noisy)"
        kept.append(
            f"AGREE is judged by {named.judge}, scope {scope}. Assumed of it: {assumed}"
            + ("; within a session, that it remembers." if plan.memo else ".")
        )
    if named.machine is not None:
        takes = "the conversations before it" if plan.goes_on else "nothing"
        kept.append(
            f"The machine is {named.machine}: asked again, it may answer otherwise; it takes "
            f"{takes} from one session to the next."
        )
    return kept


def scope_of(plan: Plan) -> Scope:
    """How far a judge remembers where the plan does not say: as its relations do."""
    if plan.scope is not None:
        return Scope(plan.scope)
    return Scope.SESSION if plan.memo else Scope.CALL
