"""Criteria that no program can check: a model decides one criterion at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from guards.relations.judge import Judge, Scope
from pxp_fsm.errors import DataError, NoAnswer, quoted
from pxp_fsm.experiments.networks.tasks import Criterion, Example, LanTask, bundled_text
from pxp_fsm.prompting.framing import encoded, framed
from pxp_fsm.prompting.model import Capability, ChatTurn, Model, Reply, Request, Role
from pxp_fsm.prompting.prompts import SLOTS, Prompt, Prompts, Slots, read_each
from pxp_fsm.prompting.replies import strict_object, unfenced, whole_text

ATTEMPTS = 3

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

    def __init__(self, model: Model, prompt: Prompt | None = None) -> None:
        self._model = model
        self._prompt = prompt or prompts(bundled_text("judge.toml"), "judge.toml")

    @property
    def name(self) -> str:
        """Which model it asks."""
        return self._model.name

    async def meets(
        self, task: LanTask, criterion: Criterion, example: Example, output: str
    ) -> bool:
        """Whether it says yes; `NoAnswer` where it says neither yes nor no, however often asked."""
        asked = self._request(task, criterion, example, output)
        request, reason = asked, ""
        for attempt in range(ATTEMPTS):
            reply = await self._model.reply(replace(request, epoch=attempt))
            try:
                return _read(reply)
            except DataError as error:
                reason = str(error)
                said = self._prompt.fill("again", reason=framed({"reason": reason}))
                turn = ChatTurn(Role.USER, f"{asked.turns[0].text}\n\n{said}")
                request = replace(asked, turns=(turn,))
        raise NoAnswer(
            f"{self.name} gave no usable verdict in {ATTEMPTS} attempts on the criterion "
            f"{quoted(criterion.says)}; the last: {reason}"
        )

    def _request(
        self, task: LanTask, criterion: Criterion, example: Example, output: str
    ) -> Request:
        case = {
            "task": task.task,
            "criterion": criterion.says,
            "input": example.input,
            "good output": example.truth,
            "known of the input": list(example.notes.get(criterion.note, ())),
            "output": output,
        }
        structured = Capability.SCHEMA in self._model.capabilities
        return Request(
            system=self._prompt.fill("system", form=encoded(SCHEMA)),
            turns=(ChatTurn(Role.USER, self._prompt.fill("question", case=framed(case))),),
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


def of_outputs(model: Model) -> Judge:
    """MATCH of an output (left) and the one that was asked for; asked once about each pair."""
    return Judge(model, _prompts("output"), Scope.RUN)


def of_hints(model: Model) -> Judge:
    """AGREE of a rationale and a hint, in either order; asked once about each pair."""
    return Judge(model, _prompts("hint"), Scope.PAIR)


def _prompts(name: str) -> Prompts:
    wanted = dict.fromkeys(("output", "hint"), SLOTS["judge"])
    prompt: Prompt = read_each(bundled_text(_FILE), _FILE, wanted)[name]
    return Prompts(answer=prompt, judge=prompt, tags={})
