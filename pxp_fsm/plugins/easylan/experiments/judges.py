"""Criteria that no program can check: a model decides one criterion at a time."""

from __future__ import annotations

from collections.abc import Mapping

from guards.judge import Judge, Scope
from pxp_fsm.errors import DataError, quoted
from pxp_fsm.plugins.easylan.experiments.tasks import Criterion, LanTask, TaskExample, bundled_text
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

SCHEMA: Mapping[str, object] = {
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
        self._prompt = prompt or prompts(bundled_text("judge.toml"), "judge.toml")

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
            _read,
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
            system=self._prompt.fill("system", form=encoded(SCHEMA)),
            turns=(ChatTurn(ChatRole.USER, self._prompt.fill("question", case=framed(case))),),
            schema=SCHEMA if structured else None,
            max_tokens=self._prompt.max_tokens,
            temperature=self._prompt.temperature,
            purpose="judge",
        )


def prompts(source: str, where: str) -> Prompt:
    """How the judge is asked, as written in `source`; raises `DataError`, which names `where`."""
    return read_each(source, where, CRITERION_SLOTS)["criterion"]


def _read(reply: Reply) -> bool:
    said = strict_object(unfenced(whole_text(reply)), {"met"})["met"]
    if said not in ("yes", "no"):
        raise DataError(f"met must be yes or no, not {quoted(said)}")
    return said == "yes"


_FILE = "training_judge.toml"


def of_outputs(model: LanguageModel) -> Judge:
    """MATCH of an output (left) and the one that was asked for; asked once about each pair."""
    return Judge(model, _prompts("output"), Scope.RUN)


def of_hints(model: LanguageModel) -> Judge:
    """AGREE of a rationale and a hint, in either order; asked once about each pair."""
    return Judge(model, _prompts("hint"), Scope.PAIR)


def _prompts(name: str) -> Prompts:
    wanted = dict.fromkeys(("output", "hint"), SLOTS["judge"])
    prompt: Prompt = read_each(bundled_text(_FILE), _FILE, wanted)[name]
    return Prompts(answer=prompt, judge=prompt, tags={})
