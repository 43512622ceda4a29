"""The members of sessions: a task's own agents, whom a plan names, and whom a system file names."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path

from backends.models import registry
from backends.models.catalogue import catalogue, warnings
from backends.models.member import ModelMember, RandomMember
from backends.models.paper_settings import ModelParameters, Preset, adapted, find_preset
from backends.models.registry import check_model
from backends.models.respondent import ModelRespondent
from backends.models.scripts import PREFIX, read_script
from backends.models.settings import Settings
from backends.people import PersonsRelation, TerminalPerson
from backends.people.browser import (
    Assistant,
    BrowserPerson,
    Desk,
    DeskRelation,
    QuestionKind,
    heard,
)
from backends.people.choices import WhyNot
from backends.people.terminal import PersonMember
from backends.programs import PREFIX as PROGRAM
from backends.programs import ProgramMember
from guards.decisions import AskPerson
from guards.judge import GIVES, Judge, Scope
from pxp_fsm.artifacts import write_atomically
from pxp_fsm.automata.system_files import (
    MCP,
    PYTHON,
    RANDOM,
    RESPONDENTS,
    TERMINAL,
    MemberLine,
    SystemFile,
    respondent_problem,
)
from pxp_fsm.errors import Fault, FileError, PXPError, UsageError, quoted, unknown_name
from pxp_fsm.experiments.plan_data import draw_of
from pxp_fsm.experiments.plans import RELATIONS, Plan, models_named
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.model import Capability, Image, LanguageModel
from pxp_fsm.prompting.prompts import Problem, Prompt, Prompts
from pxp_fsm.protocol.interfaces import CopyableLearner, Learner, Respondent
from pxp_fsm.protocol.messages import Instance
from pxp_fsm.protocol.situation import Derived, Guards
from pxp_fsm.sessions.actors import Actor, Intent, MemberFunction, Turn
from pxp_fsm.sessions.agent import Agent, Members
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.functions import AnswerFunction, as_respondent
from pxp_fsm.tasks import prompts as written
from pxp_fsm.tasks.task import HUMAN, MACHINE, DataSet, Task

_MESSAGES, _INSTANCES = 10, 20
"""The papers' bound n, and their instances of a repetition."""


def paper_of(plan: Plan) -> Preset | None:
    """The setting of a paper that the plan names; raises `UsageError` for one of another task."""
    if plan.preset is None:
        return None
    preset = find_preset(plan.preset)
    if preset.task != plan.task:
        raise UsageError(f"preset {preset.name} belongs to {preset.task}, not to {plan.task}")
    return preset


def otherwise(plan: Plan, paper: Preset, data: DataSet) -> Iterator[str]:
    """What is not as the paper had it, beside what its models cannot be told any more."""
    pairs = (("machine", paper.machine.model), ("judge", paper.judge.model), *paper.plan.items())
    for name, then in pairs:
        now = plan.goes_on if name == "carry" else getattr(plan, name)
        if now is not None and now != then:
            aspect = "the number of repetitions" if name == "repetitions" else name
            yield f"Preset {paper.name}: {aspect} is {now}; in the paper it is {then}."
    bounds = (
        ("protocol", plan.protocol, "interact"),
        ("n", plan.rules().n, _MESSAGES),
        ("the number of instances", len(data.sessions), _INSTANCES),
    )
    for aspect, is_now, was in bounds:
        if is_now != was:
            yield f"Preset {paper.name}: {aspect} is {is_now}; in the paper it is {was}."
    if plan.data is None:
        source = "DrugBank" if paper.task == "drug" else "Radiopaedia"
        yield f"The instances are {data.origin}; in the paper they are of {source}."
    if paper.task == "drug" and plan.materials is None:
        yield (
            "Predictions are the reactants of one step, as in the authors' code and data; the "
            "paper tells of pathways (--set materials=FILE)."
        )
    if paper.name == "B-rad" and plan.label is None:
        yield (
            "All labels are asked for; the paper's Example 1 asks for one, yes or no (--set "
            "label=NAME)."
        )


def not_told(plan: Plan, paper: Preset, data: DataSet) -> Iterator[str]:
    """What the paper does not say, and what stands in its place."""
    if paper.chosen:
        yield f"Not in the paper, and chosen here: {', '.join(paper.chosen)}."
    yield f"No paper gives k; here it is {plan.rules().k} (in the authors' code, 3)."
    if plan.learn != "always":
        size = "all rows held back" if plan.validation is None else f"{plan.validation} rows"
        yield f"The paper does not give the size of its validation set; here it is {size}."
    tested = f"{len(data.test)} rows" if data.test else "none"
    yield f"The paper does not give the size of its test set; here it is {tested}."
    if plan.prompts is None:
        yield (
            "The prompts say in our words what the paper's say; --set agents.prompts=FILE takes "
            "others."
        )


def as_in(
    asking: ModelParameters, prompt: Prompt, name: str, settings: Settings
) -> tuple[Prompt, tuple[str, ...]]:
    """`prompt` with a paper's settings, as the model `name` takes them, and what it does not."""
    taken, left = adapted(asking, name, registry.check_model(name, (), settings))
    asked = replace(
        prompt,
        max_tokens=taken.max_tokens,
        temperature=taken.temperature,
        effort=taken.effort or prompt.effort,
    )
    return asked, () if left is None else (f"{left}.",)


_SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg"}


@dataclass(frozen=True)
class Pictures:
    """The pictures of instances, left in `folder` for people to look at.

    A file's name is a digest of the instance, so that no text becomes a path.
    """

    problem: Problem
    folder: Path

    def __call__(self, instance: Instance) -> Path | None:
        """The file with the picture of `instance`, or None where there is none."""
        image: Image | None = self.problem.drawing(instance) or self.problem.picture(instance)
        if image is None:
            return None
        name = hashlib.sha256(f"{instance.key}\x00{instance.x}".encode()).hexdigest()[:16]
        path = self.folder / f"{name}{_SUFFIXES.get(image.media_type, '')}"
        self.folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, image.data)
        return path


def check_guests(plan: Plan, task: Task) -> None:
    """Raise `UsageError` where the plan has a person or an assistant, and the task asks none."""
    if task.problem is not None:
        return
    if plan.person is not None:
        raise UsageError(f"task {task.name} has no questions for a person", "human")
    for role in plan.assistants:
        raise UsageError(f"task {task.name} has no questions for an assistant", role)


def unserved(plan: Plan) -> UsageError:
    """Why a plan in which somebody is served cannot be carried on without a server."""
    for role, way in plan.assistants.items():
        return UsageError(f"{role} {way} is an assistant; pxp serve --mcp asks it", role)
    return UsageError(f"human {plan.human} is a person on a page; pxp serve asks them", "human")


def with_person(
    human: Agent, plan: Plan, problem: Problem, where: Path | Desk, why_not: WhyNot | None
) -> Agent:
    """`human` with a person in its role: at a desk, or at the terminal.

    What they look at there, and what they leave unsent, is kept in the folder `where`; `why_not`
    answers their question why the machine does not predict the same.
    """
    if not isinstance(where, Path):
        guest = BrowserPerson(where, why_not)
        return replace(
            human,
            respondent=guest,
            guards=AskPerson(guest) if plan.names_tags else Derived(),
            match=DeskRelation(where, QuestionKind.MATCH),
            agree=DeskRelation(where, QuestionKind.AGREE),
        )
    folder = where
    pictures = Pictures(problem, folder / "pictures")
    person = TerminalPerson(problem, pictures, folder / "drafts", why_not or (lambda *_: None))
    guards: Guards = AskPerson(person) if plan.names_tags else Derived()
    return replace(
        human,
        respondent=person,
        guards=guards,
        match=PersonsRelation(person, "prediction"),
        agree=PersonsRelation(person, "explanation, in what it says"),
    )


def with_assistant(agent: Agent, way: str, name: str, desk: Desk) -> Agent:
    """`agent`, which is called `name` in its sessions, with an assistant in its role."""
    guest = Assistant(desk, name)
    guards: Guards = AskPerson(guest, guest.name) if way == MCP else Derived()
    agent = replace(agent, respondent=guest, guards=guards)
    if not way.endswith(RELATIONS):
        return agent
    match, agree = (
        DeskRelation(desk, kind, name) for kind in (QuestionKind.MATCH, QuestionKind.AGREE)
    )
    return replace(agent, match=match, agree=agree)


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
        role: note for role, note in task.role_notes.items() if role != "machine" or not machine
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
    settings_of_models = ("prompts", prompts), ("effort", plan.effort), ("scope", plan.scope)
    for field, value in settings_of_models:
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
    asked = tuple(_asked(task, data, prompts))
    wanted = (
        (plan.human_model, asked, prompts.answer.effort),
        *((name, asked, prompts.answer.effort) for name in models_named(machine, plan.agents)),
        (judge, _judged(prompts), prompts.judge.effort),
    )
    for name, needs, effort in wanted:
        if name is None:
            continue
        registry.check_model(name, needs, settings)
        if effort is not None:
            registry.check_effort(name, effort, settings)
    table = catalogue(settings.catalogue)
    named = (
        table.facts(name)
        for name, _needs, _effort in wanted
        if name is not None and not registry.is_local(name)
    )
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
        return "of the task", written.bundled_prompts(plan.task, variant=written.PATHWAYS)
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
        if role == "human" and HUMAN not in agent_names(plan):
            continue  # machines alone
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
        who = f"machine is {selection.machine}"
        if plan.agents is not None:
            who = f"machines are {selection.machine}, each with replies of its own"
        kept.append(
            f"The {who}: asked again, it may answer otherwise; it takes {takes} from one session "
            f"to the next."
        )
    return kept


def agent_names(plan: Plan) -> tuple[str, ...]:
    """The names of a session's agents: m and h, or m1, m2, … and, where one is named, h."""
    if plan.agents is None:
        return MACHINE, HUMAN
    human = () if plan.human is None else (HUMAN,)
    return (*(f"{MACHINE}{number + 1}" for number in range(plan.agents - len(human))), *human)


def scope_of(plan: Plan) -> Scope:
    """How far a judge remembers where the plan does not say: as its relations do."""
    if plan.scope is not None:
        return Scope(plan.scope)
    return Scope.SESSION if plan.memo else Scope.CALL


Opened = Callable[[str], LanguageModel]
"""The model of a name; the same one each time."""


class Roles:
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
        """Fresh agents, the machine first, for one repetition, counted from 1.

        A panel's machines are m1, m2, …, each with a draw of its own; where somebody is named for
        the human's role, they are its last agent, h.
        """
        draw, many = draw_of(self._plan, repetition), self._plan.agents
        if many is None:
            return self._seated(self._two(repetition, draw))
        pairs = {
            name: self._two(repetition, f"{draw}/{name}", name)
            for name in agent_names(self._plan)
            if name != HUMAN
        }
        agents = {name: pair[name] for name, pair in pairs.items()}
        if self._plan.human is not None:
            agents[HUMAN] = pairs[f"{MACHINE}1"][HUMAN]
        return self._seated(agents)

    def _two(self, repetition: int, draw: str, name: str = MACHINE) -> dict[str, Agent]:
        """The machine, which is called `name`, and the human."""
        data = replace(self._data, draw=draw)
        machine, human = self._task.agents(data, self._plan.memo)
        selection = self._selection
        models = models_named(selection.machine, self._plan.agents)
        if models:
            place = agent_names(self._plan).index(name)
            # Machines of one model share no replies: each counts as a repetition of its own.
            own = repetition + place * self._plan.repetitions
            machine = self._model(machine, models[place % len(models)], own)
        if selection.human is not None:
            human = self._model(human, selection.human, repetition)
            human = replace(human, guards=Derived())  # no oracle agent: it may REVISE
        if self._judges is not None:
            machine = replace(machine, agree=self._judges[name])
            human = replace(human, agree=self._judges.get(HUMAN, human.agree))
        return {name: machine, HUMAN: human}

    def _seated(self, agents: dict[str, Agent]) -> dict[str, Agent]:
        """`agents` with the person and the assistants of the plan in their places."""
        plan, problem, why_not = self._plan, self._task.problem, self._task.why_not
        if plan.person is not None and problem is not None:
            machines = dict(agents)

            def ask(instance: Instance, prediction: str, to: str) -> str | None:
                assert why_not is not None  # noqa: S101 - it is not given where there is none
                return why_not(machines[to or MACHINE].respondent, instance, prediction)

            agents[HUMAN] = with_person(
                agents[HUMAN], plan, problem, self._where, None if why_not is None else ask
            )
        if not isinstance(self._where, Path):
            for role, way in plan.assistants.items():
                name = {"machine": MACHINE, "human": HUMAN}[role]
                agents[name] = with_assistant(agents[name], way, name, self._where)
        return agents

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

    def remember(self, session: str, entries: Iterable[Event]) -> None:
        """Tell the judges what they were asked in a stored session, before the run goes on."""
        if self._judges is None:
            return
        for entry in entries:
            self._judges[entry.carried.sender].remember(entry.judgements, session)

    def _make_judges(self) -> dict[str, Judge] | None:
        """The judge of each agent: one and the same where they share its memory."""
        if self._selection.judge is None or self._selection.prompts is None:
            return None
        model, scope = self._opened(self._selection.judge), scope_of(self._plan)
        votes, prompts = self._plan.votes, self._selection.prompts
        names = agent_names(self._plan)
        if scope in (Scope.RUN, Scope.PAIR):
            return dict.fromkeys(names, Judge(model, prompts, scope, votes=votes))
        return {name: Judge(model, prompts, scope, votes=votes, owner=name) for name in names}


def respondents(
    file: SystemFile,
    named: Mapping[str, str],
    *,
    some: bool = False,
    settings: Settings | None = None,
) -> dict[str, str]:
    """Who answers for each member: whom the file names, or whom `named` names in its place.

    With `some`, members may be left without, and those that the file calls random are. Raises
    `UsageError` for a name that is none, and `FileError`, with the line of each member, where one
    has nobody.
    """
    chosen = {
        member.name: "" if some and member.respondent == RANDOM else member.respondent
        for member in file.members
    }
    for name, who in named.items():
        if name not in chosen:
            raise unknown_name("member", name, dict.fromkeys(chosen, ""), "respondents")
        problem = respondent_problem(who)
        if problem is not None:
            raise UsageError(f"member {name}: {problem}", "respondents")
        chosen[name] = who
    problems = []
    for place, name in enumerate(chosen):
        problem = _missing(name, chosen[name], some)
        if problem is not None:
            problems.append(Fault(("members", place), problem))
    if problems:
        raise FileError(file.located(problems))
    for place, line in enumerate(file.members):
        try:
            _check(line, chosen[line.name], settings or Settings())
        except PXPError as error:
            message = f"member {line.name}: {error}"
            if line.name in named:
                raise UsageError(message, "respondents") from error
            raise FileError(
                file.located([Fault(("members", place, "respondent"), message)])
            ) from error
    return {name: who for name, who in chosen.items() if who}


def _check(line: MemberLine, who: str, settings: Settings) -> None:
    """Raise an error where nobody of that name can answer for the member."""
    if who.startswith(PREFIX):
        read_script(Path(who.removeprefix(PREFIX)))
    elif who == RANDOM:
        RandomMember(line.automaton)
    elif who.startswith(PROGRAM):
        ProgramMember(who.removeprefix(PROGRAM), line.automaton).check()
    elif who not in ("", TERMINAL, MCP):
        check_model(who, settings=settings)


def is_local(who: str) -> bool:
    """Whether it takes no server to answer as `who`: nobody, chance, or a program."""
    return who in ("", RANDOM) or who.startswith(PROGRAM)


def _missing(name: str, who: str, some: bool) -> str | None:
    if who == PYTHON:
        return (
            f"member {name} is answered by a function, which a command cannot find; run the "
            f"system in Python (pxp.Session(system, {{{quoted(name)}: function, ...}})), or name "
            f"another: --set {name}.respondent=WHO, where WHO is {RESPONDENTS}"
        )
    if not who and not some:
        return (
            f'nobody answers for member {name}; write respondent = "WHO", or give --set '
            f"{name}.respondent=WHO, where WHO is {RESPONDENTS}"
        )
    return None


@asynccontextmanager
async def members(
    file: SystemFile,
    names: Mapping[str, str],
    opened: Callable[[str], LanguageModel],
    seed: int,
    number: int,
    desk: Desk | None = None,
) -> AsyncIterator[dict[str, Actor]]:
    """The members of session `number` of a run, from 1; programs end with the context.

    Assistants are asked at `desk`; raises `UsageError` where they have none.
    """
    async with AsyncExitStack() as stack:
        actors, terminal = {}, asyncio.Lock()
        for line in file.members:
            if line.name in names:
                who = names[line.name]
                if who == MCP:
                    function = _at_desk(line, desk)
                else:
                    function = _member(line, who, opened, seed, number)
                if isinstance(function, ProgramMember):
                    stack.push_async_callback(function.aclose)
                if isinstance(function, PersonMember):
                    function = _in_turn(function, terminal)
                actors[line.name] = Actor(function, timeout=line.timeout)
        yield actors


def _in_turn(person: PersonMember, terminal: asyncio.Lock) -> MemberFunction:
    """`person`, asked while nobody else is: there is one terminal."""

    async def asked(turn: Turn) -> Intent | None:
        async with terminal:
            return await person(turn)

    asked.__name__ = person.name
    return asked


def _at_desk(line: MemberLine, desk: Desk | None) -> MemberFunction:
    if desk is None:
        raise UsageError(
            f"member {line.name} is an assistant, which pxp serve --mcp serves; carry the run with "
            f"it, or name another: --set {line.name}.respondent=WHO"
        )

    async def asked(turn: Turn) -> Intent | None:
        return await desk.decide(turn)

    asked.__name__ = "assistant"
    return asked


def _member(
    line: MemberLine, who: str, opened: Callable[[str], LanguageModel], seed: int, number: int
) -> MemberFunction:
    if who == TERMINAL:
        return PersonMember(line.automaton, line.instructions)
    if who == RANDOM:
        return RandomMember(line.automaton, seed)
    if who.startswith(PROGRAM):
        return ProgramMember(who.removeprefix(PROGRAM), line.automaton)
    return ModelMember(opened(who), line.automaton, line.instructions, repetition=number)
