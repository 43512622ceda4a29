"""Plans: what a run depends on, checked before anything is stored, and the order of its instances.

The options of commands are made from `Plan`, so that nothing heavy is imported here: what its data
are, and how it is stored, is in `plan_data`.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from math import factorial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from guards.judge import MOST_VOTES, Scope
from pxp_fsm import defaults, options, registry
from pxp_fsm.automata.system_files import MCP
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import DATA, PROTOCOL, WHO, Option, option, outside
from pxp_fsm.protocol.messages import Answer, answer_problem
from pxp_fsm.protocol.rules import Interact, Pxp, Rules
from pxp_fsm.sessions.learning import Gated, Keep
from pxp_fsm.tasks.prompts import prompts_text

T = TypeVar("T")

_MOST = 1_000
"""Repetitions that all differ: each is compared with all before it."""


_IN_FILE = "give --set {key}=VALUE, or set it in an experiment's file"
"""Of what describes an experiment and has no option of its own: `Option.only_in`."""


class Order(StrEnum):
    """`FIXED`: as the data have it. `SHUFFLED`: drawn anew for each repetition.

    `SAMPLED`: drawn from all orders without repetition, so that as many repetitions as there are
    orders go through every one of them.
    """

    FIXED = "fixed"
    SHUFFLED = "shuffled"
    SAMPLED = "sampled"


def check_order(order: Order, instances: int, repetitions: int) -> None:
    """Raise `UsageError` where there are not so many different orders."""
    if order is not Order.SAMPLED:
        return
    there = factorial(instances) if instances < 20 else _MOST + 1
    if repetitions > there:
        raise UsageError(
            f"{instances} instances have {there} orders, so {repetitions} repetitions cannot "
            f"all differ; give {there} repetitions at most, or order shuffled",
            "instances",
        )
    if repetitions > _MOST:
        raise UsageError(
            f"at most {_MOST} orders can be sampled; give fewer repetitions", "repetitions"
        )


def ordered(rows: Sequence[T], order: Order, seed: int, repetition: int) -> list[T]:
    """`rows` in the order of a repetition (from 1); the same for the same seed."""
    arranged = list(rows)
    if order is Order.SHUFFLED:
        random.Random(f"{seed}/{repetition}").shuffle(arranged)
    elif order is Order.SAMPLED:
        arranged = _permuted(arranged, _sampled(len(arranged), seed, repetition))
    return arranged


def _sampled(size: int, seed: int, repetition: int) -> int:
    """Which of all orders, by its number, the repetition has; none is drawn twice."""
    drawn = random.Random(f"{seed}/orders")
    there, seen, number = factorial(size), set[int](), 0
    for place in range(repetition):
        free = _free(drawn.randrange(there - place), seen)
        seen.add(free)
        number = free
    return number


def _free(rank: int, seen: set[int]) -> int:
    """The number that is in place `rank`, from 0, of those not in `seen`."""
    for number in sorted(seen):
        if number <= rank:
            rank += 1
    return rank


def _permuted(rows: Sequence[T], number: int) -> list[T]:
    """The order of that number, from 0, of all orders of `rows` in lexicographic order."""
    left, arranged = list(rows), []
    for size in range(len(left), 0, -1):
        place, number = divmod(number, factorial(size - 1))
        arranged.append(left.pop(place))
    return arranged


MOST = 10**9
"""The greatest bound, number of repetitions and timeout: more than any run gets to."""

TERMINAL, BROWSER = "terminal", "browser"
"""Where a person is asked: at the terminal of the run, or on the page of `pxp serve`."""

PERSONS = tuple(f"{place}{way}" for place in (TERMINAL, BROWSER) for way in ("", ":relations"))
"""The ways of a person: they name the tag, or (`:relations`) answer MATCH and AGREE."""

RELATIONS, ANSWERS = ":relations", ":answers"
"""What is asked beside answers instead of the tag: MATCH and AGREE, or nothing."""

ASSISTANTS = (MCP, f"{MCP}{RELATIONS}", f"{MCP}{ANSWERS}")
"""The ways of an assistant: it names the tag, answers MATCH and AGREE, or predicts alone."""

UNBOUNDED = "unbounded"
"""PXP's k, where its self-loops have no bound; a `Plan` has None."""

PROMPTS = "prompts.toml"
"""The file beside the data from which models are asked, where no other is named."""

SUBJECT = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$"
"""A pseudonym: letters, digits, `_`, `.`, `-`; what stands in reports and file names."""

PRECEDENTS = r"^(few:[1-9][0-9]{0,3}|others|all)$"
"""Which precedents a machine may use; `few:N` are at most 9,999."""

SETTINGS = {
    Keep.ALWAYS: "uncontrolled",
    Keep.LIKELIHOOD: "controlled",
    Keep.BETTER: "controlled by accuracy",
    Keep.EQUAL: "controlled by equal accuracy",
    Keep.NEVER: "without learning",
}
"""What a run is called by what its machine keeps."""

CRITERIA = {
    Keep.ALWAYS: "always",
    Keep.LIKELIHOOD: "if right validation answers become likelier and no fewer are right",
    Keep.BETTER: "if more validation answers are right",
    Keep.EQUAL: "if no fewer validation answers are right",
    Keep.NEVER: "never",
}
"""When a lesson is kept."""

DEVIATIONS = "deviations"
"""Where a stored plan says what could not be as its preset's paper had it."""

CAPS = "caps"
"""Where a stored plan has the caps on its models."""

_SEEDS = 2**63 - 1
_INSTANCES = Annotated[
    tuple[Annotated[str, Option(pattern="^[^,]+$", problem="is no name of an instance")], ...],
    Option(least=1),
]


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a run depends on, as it is stored with the run.

    >>> import pxp_fsm as pxp
    >>> pxp.Plan("drug", n=6, instances="3").rules()
    Interact(n=6, k=3)

    None leaves a choice to the task. For PXP `n` is None and `k` bounds the self-loops; None leaves
    them unbounded. `prompts` is the text of a file of prompts. `answer` is what the first new
    message of a fork carries, as the text of a JSON object.
    """

    tables: ClassVar[Mapping[str, str]] = {
        "agents": "Who takes part in place of the task's own agents and relation.",
        "panel": "Several agents, each two of which talk (pxp help panels).",
        "learning": "What the machine keeps of what it is told.",
    }
    """The tables of a file that have some of its options."""

    task: str = option(
        "The task of the sessions: labels, drug, rad, or an installed task.", argument=True
    )
    protocol: str = option(
        "The protocol of the sessions.", "interact", choices=("interact", "pxp"), group=PROTOCOL
    )
    n: int | None = option(
        "INTERACT: at most N messages per session.", defaults.N, least=1, most=MOST, group=PROTOCOL
    )
    k: int | None = option(
        "INTERACT: REJECT only after message K. PXP: each self-loop on a tag at most K times.",
        defaults.K,
        metavar="K",
        least=1,
        most=MOST,
        written=Annotated[int, Option(least=1, most=MOST)] | Literal["unbounded"],
        problem=f'is no bound; k is a number from 1, or for PXP "{UNBOUNDED}"',
        group=PROTOCOL,
    )
    repetitions: int = option(
        "The number of repetitions of all instances.",
        1,
        metavar="R",
        least=1,
        most=MOST,
        group=DATA,
    )
    seed: int = option(
        "The seed of every random choice.", 0, least=-_SEEDS, most=_SEEDS, group=DATA
    )
    instances: str | None = option(
        "The instances of a repetition: a number, all, or their names.",
        None,
        metavar="N|all|KEY,KEY",
        default=f"{defaults.INSTANCES}, or all if there are fewer",
        written=Annotated[int, Option(least=1)] | Literal["all"] | _INSTANCES,
        problem="names no instances; write a number, all, or a list of their names",
        group=DATA,
    )
    data: str | None = option(
        "A folder of data, your own or the authors'.",
        None,
        metavar="DIR",
        default="the bundled set",
        group=DATA,
    )
    label: str | None = option(
        "labels, RAD: ask whether this label fits, yes or no.",
        None,
        metavar="LABEL",
        default="which of all labels",
        only_in=_IN_FILE,
    )
    materials: str | None = option(
        "DRUG: predict pathways, steps back to what can be bought by this list (SMILES, one per "
        "line, or a CSV with a column smiles).",
        None,
        metavar="FILE",
        default="the reactants of one step",
        only_in=_IN_FILE,
    )
    match: str | None = option(
        "With materials: what MATCH compares, the whole pathway, its last reaction (last-step), or "
        "the materials that it begins with.",
        None,
        default="pathway",
        choices=("pathway", "last-step", "materials"),
        only_in=_IN_FILE,
    )
    validation: int | None = option(
        "Weigh lessons on at most N validation rows.",
        None,
        default="all that the data hold back, or the rows that no session is about",
        least=1,
        most=MOST,
        only_in=_IN_FILE,
    )
    test: int | None = option(
        "Hold back at most N rows for pxp test and reports; where the data have no test set, of "
        "the rows that no session is about.",
        None,
        default="the test set of the data",
        least=1,
        most=MOST,
        only_in=_IN_FILE,
    )
    memo: bool = option("Remember an agent's judgements within a session.", True, only_in=_IN_FILE)
    timeout: float | int | None = option(
        "End a session as late when a question has no answer after so many seconds.",
        None,
        metavar="SECONDS",
        default="never",
        above=0,
        most=MOST,
        only_in=_IN_FILE,
    )
    machine: str | None = option(
        "Who predicts: a model (anthropic:NAME, openai:NAME[@URL]; pxp help models) or a program "
        "(program:COMMAND; pxp help programs), of a network that of every agent, of a panel one "
        "for each machine, separated by commas; or an assistant (mcp, mcp:relations, mcp:answers; "
        "pxp help mcp).",
        None,
        metavar="WHO",
        listed="models",
        default="the task's own machine",
        key="agents.machine",
        group=WHO,
    )
    human: str | None = option(
        "Who has the human's role: you, who choose the tags (terminal) or answer MATCH and AGREE "
        "(terminal:relations); somebody in a browser, in the same ways (browser, "
        "browser:relations); a model or an assistant, as for --machine.",
        None,
        metavar="WHO",
        default="the task's own human",
        key="agents.human",
        group=WHO,
    )
    subject: str | None = option(
        "The pseudonym of the person in the human's role; who they are is nowhere stored.",
        None,
        metavar="NAME",
        key="agents.subject",
        pattern=SUBJECT,
        problem="is no pseudonym; it has 1 to 40 letters, digits, '_', '.' or '-'",
        only_in=_IN_FILE,
    )
    judge: str | None = option(
        "The model that decides AGREE.",
        None,
        metavar="MODEL",
        default="the task's own relation",
        key="agents.judge",
        only_in=_IN_FILE,
    )
    agents: int | None = option(
        "A panel of N agents, each two of which talk: machines, and the human last where one is "
        "named (pxp help panels).",
        None,
        metavar="N",
        default="the machine and the human",
        least=2,
        most=26,
        key="panel.agents",
        group=WHO,
    )
    schedule: str | None = option(
        "Who of a panel speaks next: the channel that has waited longest (fifo), each agent in "
        "turn (round-robin), or whom the seed draws (free).",
        None,
        default="fifo",
        choices=("free", "fifo", "round-robin"),
        key="panel.schedule",
        only_in=_IN_FILE,
    )
    stop: str | None = option(
        "The verdicts that end a panel's session: consensus, agreement, split, impasse:N, "
        "oscillation, separated by commas.",
        None,
        metavar="VERDICT,...",
        default="all channels closed",
        key="panel.stop",
        only_in=_IN_FILE,
    )
    added: str | None = option(
        "The rules that are added to a panel: call, alone, commit, reopen, limit:N; and of a "
        "fork what would have come without:AGENT@MESSAGE, or with a turn passed "
        "(skip:MESSAGE). Separated by commas.",
        None,
        metavar="RULE,...",
        default="none",
        key="panel.rules",
        only_in=_IN_FILE,
    )
    answer: str | None = outside()
    preset: str | None = option(
        "The models and settings of a paper: B-rad, B-drug, C-rad, C-drug; machine and judge "
        "replace its models and keep its settings.",
        None,
        metavar="NAME",
        key="agents.preset",
        only_in=_IN_FILE,
    )
    precedents: str | None = option(
        "What the task's own machine has seen before: N examples (of drug, published reactions), "
        "drawn anew for each repetition and each machine (few:N), all, or of drug those of all "
        "other molecules (others; all has those that make the very molecule as well).",
        None,
        metavar="few:N|others|all",
        default="all; of drug few:20, of pathways others",
        key="agents.precedents",
        pattern=PRECEDENTS,
        only_in=_IN_FILE,
    )
    prompts: str | None = option(
        "A file with your own prompts (pxp help prompts).",
        None,
        metavar="FILE",
        default="prompts.toml beside the data, or those of the task",
        key="agents.prompts",
        only_in=_IN_FILE,
    )
    effort: str | None = option(
        "How hard the models think before they answer: low, medium, high, as they take it.",
        None,
        metavar="LEVEL",
        default="as the model's server decides",
        key="agents.effort",
        only_in=_IN_FILE,
    )
    scope: str | None = option(
        "The scope in which the judge's verdicts are remembered.",
        None,
        default="session",
        choices=tuple(map(str, Scope)),
        key="agents.scope",
        only_in=_IN_FILE,
    )
    votes: int = option(
        "The number of times each question is sent to the judge; the majority counts.",
        1,
        least=1,
        most=MOST_VOTES,
        key="agents.votes",
        only_in=_IN_FILE,
    )
    learn: str = option(
        "When the machine keeps a lesson: always (uncontrolled), if accuracy on the validation "
        "set improves (better; controlled, as in the papers) or does not fall (equal), if right "
        "answers there become likelier and no fewer are right (likelihood), or never.",
        Keep.ALWAYS.value,
        choices=tuple(map(str, Keep)),
        key="learning.keep",
        only_in=_IN_FILE,
    )
    gate: str = option(
        "What is refused if a lesson is not kept: the revised answer, or the lesson itself.",
        Gated.REVISION.value,
        choices=tuple(map(str, Gated)),
        key="learning.gate",
        only_in=_IN_FILE,
    )
    carry: bool | None = option(
        "Carry what the machine has learned from session to session.",
        None,
        default="the task's own machine does, a model does not",
        key="learning.carry",
        only_in=_IN_FILE,
    )
    order: str = option(
        "The order of the instances: as in the data, shuffled for each repetition, or sampled so "
        "that no two repetitions have the same order.",
        Order.SHUFFLED.value,
        choices=tuple(map(str, Order)),
        only_in=_IN_FILE,
    )

    def rules(self) -> Rules:
        """The protocol's rules; `UsageError` where a bound is out of range."""
        if self.protocol == "interact":
            return Interact(
                defaults.N if self.n is None else self.n, defaults.K if self.k is None else self.k
            )
        if self.protocol == "pxp":
            return Pxp(self.k)
        raise UsageError(f"there is no protocol {self.protocol!r}; there are: interact, pxp")

    def rules_in_words(self) -> str:
        """The protocol, among how many, and its bounds: `INTERACT with n = 10, k = 3`."""
        rules = self.rules()
        known = (("n", rules.n), ("k", rules.k))
        bounds = ", ".join(f"{name} = {value}" for name, value in known if value is not None)
        several = "" if self.agents is None else f" among {self.agents} agents"
        return (
            f"{rules.automaton.title}{several} {f'with {bounds}' if bounds else 'without bounds'}"
        )

    def talks(self) -> Any:
        """What the sessions follow: the protocol of two, or a panel of several by it.

        Raises `UsageError` where the panel's rules are none, or nobody is there who knows panels.
        """
        settings = {"schedule": self.schedule, "stop": self.stop, "rules": self.added}
        if self.agents is None:
            for name, value in settings.items():
                if value is not None:
                    field = "added" if name == "rules" else name
                    raise UsageError("this has no effect without a panel: give agents", field)
            return self.rules()
        where = registry.contribution("runs", "agents")
        if where is None:
            raise UsageError("sessions of several agents need the plug-in panels", "agents")
        return registry.load(where).subject(self)

    @property
    def setting(self) -> str:
        """The experiment's setting by what the machine keeps: the papers' two, and ours between.

        >>> import pxp_fsm as pxp
        >>> pxp.Plan("drug").setting, pxp.Plan("drug", learn="likelihood").setting
        ('uncontrolled', 'controlled')
        """
        return SETTINGS[Keep(self.learn)]

    @property
    def person(self) -> str | None:
        """The way of the person in the human's role; None where no person is."""
        return self.human if self.human in PERSONS else None

    @property
    def in_browser(self) -> bool:
        """Whether a person in the human's role is asked on the page of `pxp serve`."""
        return self.person is not None and self.person.partition(":")[0] == BROWSER

    @property
    def names_tags(self) -> bool:
        """Whether a person in the human's role names the tags; else MATCH and AGREE are theirs."""
        return self.person in (TERMINAL, BROWSER)

    @property
    def human_model(self) -> str | None:
        """The model in the human's role; None where no model is."""
        return None if self.human in (*PERSONS, *ASSISTANTS) else self.human

    @property
    def machine_model(self) -> str | None:
        """The model in the machine's role; None where no model is. Of a panel those of all."""
        return None if self.machine in ASSISTANTS else self.machine

    @property
    def assistants(self) -> Mapping[str, str]:
        """The ways of the assistants, by the roles that they have."""
        roles = (("machine", self.machine), ("human", self.human))
        return {role: way for role, way in roles if way in ASSISTANTS}

    @property
    def is_served(self) -> bool:
        """Whether somebody in it is asked by a server: a person on a page, or an assistant."""
        return self.in_browser or bool(self.assistants)

    @property
    def goes_on(self) -> bool:
        """Whether the machine goes on with what it has learned; a model does only if asked to."""
        return self.goes_without_model if self.carry is None else self.carry

    @property
    def goes_without_model(self) -> bool:
        """Whether the machine is the task's own."""
        return self.machine is None and self.preset is None

    @property
    def replacing(self) -> Answer | None:
        """What the first new message of a fork carries; raises `UsageError` where it is none."""
        return None if self.answer is None else answer_in(self.answer)

    def meaning(self) -> dict[str, Any]:
        """Every choice by its field's name; those that came later only where they are made."""
        chosen = asdict(self)
        return {name: value for name, value in chosen.items() if name not in _LATER or value}

    def as_json(
        self,
        deviations: Sequence[str] = (),
        caps: Mapping[str, float] = MappingProxyType({}),
        origin: Mapping[str, Any] = MappingProxyType({}),
    ) -> str:
        """The plan as it is stored, with the caps of its models (`Settings.caps`).

        `deviations` is what could not be as in its preset's paper; `origin` says what the run
        carries on (`Origin.in_plan`).
        """
        beside = ((DEVIATIONS, list(deviations)), (CAPS, dict(caps)))
        stored_beside = {name: value for name, value in beside if value}
        return json.dumps(self.meaning() | stored_beside | dict(origin))


_LATER = (
    "added",
    "agents",
    "answer",
    "effort",
    "label",
    "match",
    "materials",
    "precedents",
    "schedule",
    "stop",
    "subject",
    "test",
    "validation",
)
"""Fields that are left out where they are not set: plans that were stored before have none."""


def build_plan(changes: Mapping[str, Any], folder: Path) -> Plan:
    """The plan with the fields that are given; paths are read from `folder`.

    `k` may be `UNBOUNDED`, `instances` a number or a list. Where a model takes part and no prompts
    are given, those in the file `PROMPTS` beside the data are taken. Raises `UsageError` with its
    field where a bound is of the other protocol, and `DataError` where prompts cannot be used.
    """
    values = dict(changes)
    pxp = values.get("protocol") == "pxp"
    if pxp and "n" in values:
        raise UsageError("n is INTERACT's bound; PXP is bounded by k", "n")
    if values.get("k") == UNBOUNDED:
        if not pxp:
            raise UsageError("only PXP can be unbounded; INTERACT requires a number", "k")
        values["k"] = None
    if pxp:
        values["n"] = None
    instances = values.get("instances")
    if instances is not None:
        listed = isinstance(instances, list | tuple)
        values["instances"] = ",".join(instances) if listed else str(instances)
    for path in ("data", "materials"):
        if values.get(path) is not None:
            values[path] = str(folder / values[path])
    if "prompts" in values:
        values["prompts"] = prompts_text(folder / values["prompts"], values["task"])
    elif (beside := _prompts_beside(values)) is not None:
        values["prompts"] = prompts_text(beside, values["task"])
    return Plan(**values)


def _prompts_beside(values: Mapping[str, Any]) -> Path | None:
    """The file of prompts beside the data, where a model takes part by no preset."""
    if values.get("data") is None or values.get("preset") is not None:
        return None
    human = values.get("human")
    asked = [values.get("machine"), values.get("judge"), None if human in PERSONS else human]
    data = Path(values["data"])
    prompts = (data if data.is_dir() else data.parent) / PROMPTS
    return prompts if any(asked) and prompts.is_file() else None


def answer_in(text: str) -> Answer:
    """The answer that a JSON object is; raises `UsageError` where it is none."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    if isinstance(content, dict) and set(content) == {"prediction", "explanation"}:
        answer = Answer(content["prediction"], content["explanation"])
        problem = answer_problem(answer)
        if problem is None:
            return answer
        raise UsageError(f"this is no answer: {problem}: {quoted(text)}", "answer")
    raise UsageError(
        'an answer is a JSON object, such as {"prediction": "mammal", "explanation": "It breathes '
        f'air."}}, not {quoted(text)}',
        "answer",
    )


def models_named(machine: str | None, agents: int | None) -> tuple[str, ...]:
    """The models that a plan's text names: those of a panel are separated by commas."""
    if machine is None:
        return ()
    return (machine,) if agents is None else tuple(map(str.strip, machine.split(",")))


def programs_named(values: Mapping[str, Any]) -> frozenset[str]:
    """The programs that fields of a plan name in the place of models.

    >>> sorted(programs_named({"machine": "program:./a, openai:b", "human": "terminal"}))
    ['program:./a']
    """
    named = (str(values.get(field) or "").split(",") for field in ("machine", "human", "judge"))
    names = (name.strip() for listed in named for name in listed)
    return frozenset(name for name in names if name.startswith("program:"))


def check_plan(plan: Plan) -> None:
    """Raise `UsageError`, with its field, where a value of the plan cannot be one."""
    options.check_types(plan)
    plan.rules()  # says of n and k what they mean
    options.check_ranges(plan)
    plan.talks()
    if plan.answer is not None:
        answer_in(plan.answer)
    if plan.subject is not None and re.fullmatch(SUBJECT, plan.subject) is None:
        raise UsageError(
            f"a pseudonym has 1 to 40 letters, digits, '_', '.' or '-', not {quoted(plan.subject)}",
            "subject",
        )
    if plan.precedents is not None and re.fullmatch(PRECEDENTS, plan.precedents) is None:
        raise UsageError(
            f"precedents are few:N (N from 1 to 9999), others or all, not "
            f"{quoted(plan.precedents)}",
            "precedents",
        )
    if plan.human_model is not None and ":" not in plan.human_model:
        there = ", ".join((*PERSONS, *ASSISTANTS))
        raise UsageError(
            f"there is no human {quoted(plan.human)}; there are: {there}, and models", "human"
        )
    if plan.assistants and plan.person is not None and not plan.in_browser:
        raise UsageError("a person beside an assistant is asked on a page: browser", "human")
    if plan.preset is not None and plan.machine in ASSISTANTS:
        raise UsageError("the machine of a preset is a model, never an assistant", "machine")
    if plan.subject is not None and plan.person is None:
        raise UsageError("a subject is the person in the human's role: give human too", "subject")
