"""Scores of networks: 1 for an output that meets all criteria of its task, else 0; the mean.

Source: arXiv 2404.15974, section 6.5.1. Training and testing examples are scored apart.
Programs decide what they can; a model decides the other criteria, one at a time.
"""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from guards.judge import Judge, Scope
from pxp_fsm.errors import DataError, NoAnswer, quoted
from pxp_fsm.experiments.statistics import Interval, wilson
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.easylan.experiments.tasks import (
    By,
    Criterion,
    LanTask,
    TaskExample,
    bundled_text,
)
from pxp_fsm.plugins.easylan.model.network import LanAgent, Network
from pxp_fsm.plugins.easylan.running.execution import NetworkRun
from pxp_fsm.prompting.attempts import ask_until_usable
from pxp_fsm.prompting.framing import encoded, framed
from pxp_fsm.prompting.model import (
    Capability,
    ChatRole,
    ChatTurn,
    LanguageModel,
    ModelRequest,
    Reply,
)
from pxp_fsm.prompting.prompts import SLOTS, Prompt, Prompts, Slots, read_each
from pxp_fsm.prompting.replies import strict_object, unfenced, whole_text

_VERDICT: Mapping[str, object] = {
    "type": "object",
    "properties": {"met": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["met"],
    "additionalProperties": False,
}

CRITERION_SLOTS: Mapping[str, Slots] = {
    "criterion": {
        "system": (set(), {"form"}),
        "question": (set(), {"case"}),
        "again": (set(), {"reason"}),
    }
}


class CriterionJudge:
    """Asks `model` whether an output meets a criterion; texts of others are framed as data."""

    def __init__(self, model: LanguageModel, prompt: Prompt | None = None) -> None:
        self._model = model
        self._prompt = prompt or criterion_prompt(bundled_text("judge.toml"), "judge.toml")

    @property
    def name(self) -> str:
        """Which model it asks."""
        return self._model.name

    async def meets(
        self, task: LanTask, criterion: Criterion, example: TaskExample, output: str
    ) -> bool:
        """Whether it says yes; `NoAnswer` where it says neither yes nor no, however often asked."""
        usable = await ask_until_usable(
            self._model.reply,
            self._request(task, criterion, example, output),
            _read_verdict,
            self._prompt,
            wanted=f"verdict of {self.name} on the criterion {quoted(criterion.says)}",
        )
        return usable.value

    def _request(
        self, task: LanTask, criterion: Criterion, example: TaskExample, output: str
    ) -> ModelRequest:
        case = {
            "task": task.task,
            "criterion": criterion.says,
            "input": example.input,
            "good output": example.truth,
            "known of the input": list(example.notes.get(criterion.note, ())),
            "output": output,
        }
        structured = Capability.SCHEMA in self._model.capabilities
        return ModelRequest(
            system=self._prompt.fill("system", form=encoded(_VERDICT)),
            turns=(ChatTurn(ChatRole.USER, self._prompt.fill("question", case=framed(case))),),
            schema=_VERDICT if structured else None,
            max_tokens=self._prompt.max_tokens,
            temperature=self._prompt.temperature,
            purpose="judge",
        )


def criterion_prompt(source: str, where: str) -> Prompt:
    """How the judge is asked, as written in `source`; raises `DataError`, which names `where`."""
    return read_each(source, where, CRITERION_SLOTS)["criterion"]


def _read_verdict(reply: Reply) -> bool:
    met_word = strict_object(unfenced(whole_text(reply)), {"met"})["met"]
    if met_word not in ("yes", "no"):
        raise DataError(f"met must be yes or no, not {quoted(met_word)}")
    return met_word == "yes"


_FILE = "training_judge.toml"


def output_judge(model: LanguageModel) -> Judge:
    """MATCH of an output (left) and the one that was asked for; asked once about each pair."""
    return Judge(model, _judge_prompts("output"), Scope.RUN)


def hint_judge(model: LanguageModel) -> Judge:
    """AGREE of a rationale and a hint, in either order; asked once about each pair."""
    return Judge(model, _judge_prompts("hint"), Scope.PAIR)


def _judge_prompts(name: str) -> Prompts:
    wanted = dict.fromkeys(("output", "hint"), SLOTS["judge"])
    prompt: Prompt = read_each(bundled_text(_FILE), _FILE, wanted)[name]
    return Prompts(answer=prompt, judge=prompt, tags={})


Rule = Callable[[LanTask, Criterion, TaskExample, str], bool]

_BETWEEN = re.compile(r"[,;、，；\n]")


def met(task: LanTask, criterion: Criterion, example: TaskExample, output: str) -> bool:
    """Whether `output` meets a criterion that a program decides; one without a character none."""
    return bool(characters(output)) and RULES[criterion.rule](task, criterion, example, output)


def characters(text: str) -> list[str]:
    """The letters and digits of `text`, each as one character where Unicode has one for it."""
    return [character for character in unicodedata.normalize("NFC", text) if character.isalnum()]


def labels(task: LanTask, text: str) -> frozenset[str] | None:
    """The labels that `text` is a list of; None where it is no list of the task's labels."""
    parts = {part.strip().rstrip(".").casefold() for part in _BETWEEN.split(text)} - {""}
    if parts == {task.none.casefold()}:
        return frozenset()
    known = {label.casefold(): label for label in task.labels}
    return frozenset(known[part] for part in parts) if parts and parts <= set(known) else None


def _same_length(_task: LanTask, _criterion: Criterion, example: TaskExample, output: str) -> bool:
    return len(characters(output)) == len(characters(example.input))


def _no_shared(_task: LanTask, _criterion: Criterion, example: TaskExample, output: str) -> bool:
    return not set(characters(output)) & set(characters(example.input))


def _no_repeated(_task: LanTask, _criterion: Criterion, _example: TaskExample, output: str) -> bool:
    return len(set(characters(output))) == len(characters(output))


def _same_label(task: LanTask, criterion: Criterion, example: TaskExample, output: str) -> bool:
    labels_given, wanted = labels(task, output), labels(task, example.truth)
    return labels_given is not None and (criterion.label in labels_given) == (
        criterion.label in (wanted or ())
    )


def _without(_task: LanTask, criterion: Criterion, example: TaskExample, output: str) -> bool:
    return not any(stretch in output for stretch in example.notes.get(criterion.note, ()))


def _at_most(_task: LanTask, criterion: Criterion, _example: TaskExample, output: str) -> bool:
    return len(characters(output)) <= criterion.characters


def _equal(_task: LanTask, _criterion: Criterion, example: TaskExample, output: str) -> bool:
    return characters(output) == characters(example.truth)


RULES: dict[str, Rule] = {
    "same_length": _same_length,
    "no_shared_characters": _no_shared,
    "no_repeated_characters": _no_repeated,
    "same_label": _same_label,
    "without": _without,
    "at_most": _at_most,
    "equal": _equal,
}
"""The rules by name: as many characters as the input; none of the input's; none twice; the label
is said where the truth says it; none of the example's stretches of that note; a length; the truth
itself."""


class RunsNetworks(Protocol):
    """Whatever runs networks: `pxp_fsm.plugins.easylan.running.execution.NetworkRunner`."""

    async def run(self, network: Network, external: str) -> NetworkRun:
        """The run of `network` on an input; raises `NoAnswer` where it has no output."""


@dataclass(frozen=True, slots=True)
class CriterionResult:
    """Whether an output meets a criterion, as a program or a judge says; None where nobody does.

    `why` says why there is no verdict.
    """

    criterion: Criterion
    met: bool | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Scored:
    """What a network put out on an example, and the verdicts on it.

    `output` is None where it had none; `failure` says why then. `passes` is None where it depends
    on a verdict that nobody gave.
    """

    example: TaskExample
    output: str | None
    verdicts: tuple[CriterionResult, ...] = ()
    failure: str = ""

    @property
    def passes(self) -> bool | None:
        """Whether all criteria are met; an example without an output passes not."""
        outcomes = {verdict.met for verdict in self.verdicts}
        if self.output is None or False in outcomes:
            return False
        return None if None in outcomes else True


@dataclass(frozen=True, slots=True)
class Score:
    """The scores on some examples, with the share that passes: their mean."""

    scored: tuple[Scored, ...]

    @property
    def total(self) -> int:
        """How many examples there are."""
        return len(self.scored)

    @property
    def passed(self) -> int:
        """How many surely pass."""
        return sum(result.passes is True for result in self.scored)

    @property
    def undecided(self) -> int:
        """How many would pass or not by a verdict that nobody gave."""
        return sum(result.passes is None for result in self.scored)

    @property
    def mean(self) -> float | None:
        """The score of the network; None where examples are undecided."""
        return None if self.undecided or not self.scored else self.passed / self.total

    @property
    def interval(self) -> Interval | None:
        """Wilson's 95 % interval of the mean, None where there is none."""
        return None if self.mean is None else wilson(self.passed, self.total)

    def met(self, criterion: Criterion) -> int:
        """How many outputs surely meet `criterion`."""
        verdicts = (verdict for result in self.scored for verdict in result.verdicts)
        return sum(verdict.criterion == criterion and verdict.met is True for verdict in verdicts)


async def score(
    network: Network,
    task: LanTask,
    examples: Iterable[TaskExample],
    runs: RunsNetworks,
    judge: CriterionJudge | None = None,
    *,
    at_once: int = 1,
) -> Score:
    """Run `network` on each example and score its outputs, `at_once` of them at a time.

    A network that has no output on an example (`NoAnswer`) scores 0 there. Without a judge, and
    where it has no verdict, what only a judge can decide stays undecided.
    """
    gate = asyncio.Semaphore(at_once)

    async def score_of(example: TaskExample) -> Scored:
        async with gate:
            try:
                run = await runs.run(network, example.input)
            except NoAnswer as error:
                return Scored(example, None, failure=str(error))
            return await scored(task, example, run.output, judge)

    return Score(tuple(await asyncio.gather(*map(score_of, examples))))


async def scored(
    task: LanTask, example: TaskExample, output: str, judge: CriterionJudge | None = None
) -> Scored:
    """The verdicts on an `output`; a judge is asked where no program has decided against it."""
    results: dict[int, CriterionResult] = {}
    places = sorted(enumerate(task.criteria), key=lambda place: place[1].by is By.JUDGE)
    for place, criterion in places:
        if criterion.by is By.PROGRAM:
            results[place] = CriterionResult(criterion, met(task, criterion, example, output))
        elif any(verdict.met is False for verdict in results.values()):
            results[place] = CriterionResult(
                criterion, None, "not asked: another criterion is not met"
            )
        else:
            results[place] = await _judged(task, criterion, example, output, judge)
    return Scored(example, output, tuple(results[place] for place in sorted(results)))


async def _judged(
    task: LanTask,
    criterion: Criterion,
    example: TaskExample,
    output: str,
    judge: CriterionJudge | None,
) -> CriterionResult:
    if judge is None:
        return CriterionResult(criterion, None, "no judge")
    if not output.strip():
        return CriterionResult(criterion, False, "the output is empty")
    try:
        return CriterionResult(criterion, await judge.meets(task, criterion, example, output))
    except NoAnswer as error:
        return CriterionResult(criterion, None, str(error))


def naive(task: LanTask, examples: Sequence[TaskExample]) -> Network:
    """The naive network: one agent whose execution knowledge is exactly the training examples.

    Source: section 6.5.1; nothing is generalised, and no example is kept in another place.
    """
    knowledge = tuple(f"Input: {example.input}\nResult: {example.truth}" for example in examples)
    return Network(task.task, (LanAgent("Solver", task.task, task.output, knowledge=knowledge),))
