"""What an assistant is asked in a session of a task, and what it may answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from backends.databases import SessionRecord
from backends.models.respondent import answer_of, answer_schema, assemble
from backends.people.browser import OWN, Asked, Given, QuestionKind, accepted, bounded
from backends.people.waiting import Waiting
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.errors import DataError, quoted
from pxp_fsm.prompting.framing import framed
from pxp_fsm.prompting.model import Image
from pxp_fsm.prompting.problem import Problem
from pxp_fsm.prompting.prompts import Prompts
from pxp_fsm.prompting.replies import strict_object
from pxp_fsm.protocol.messages import Instance, Message, Question
from pxp_fsm.protocol.relations import Outcome
from pxp_fsm.tasks.task import HUMAN, MACHINE
from pxp_fsm.web.assistants.host import (
    OTHERS,
    OVER,
    YOUR_TURN,
)
from pxp_fsm.web.experts.pictures import pixels
from pxp_fsm.web.experts.runner import Hosted
from pxp_fsm.web.experts.views import state_of

LONGEST_SIDE = 1568
"""Pixels of the longest side of a picture: models make larger ones smaller themselves."""

ANSWER = "answer"
"""What is done with a prediction and an explanation."""

ROLES = {"machine": MACHINE, "human": HUMAN}
_CALLED = {name: role for role, name in ROLES.items()}
_OPTIONS = {
    Outcome.YES: "they count as the same",
    Outcome.NO: "they do not",
    Outcome.UNSURE: "you cannot tell; it counts as no",
}


@dataclass(frozen=True, slots=True)
class Seat:
    """The assistant in a role of a run; in its sessions it is the agent `who`."""

    hosted: Hosted
    role: str
    problem: Problem
    prompts: Prompts

    @property
    def who(self) -> str:
        return ROLES[self.role]

    @property
    def table(self) -> Automaton:
        return self.hosted.run.plan.rules().automaton


@dataclass(frozen=True, slots=True)
class Place:
    """A session, what is stored of it, and what its assistant is asked."""

    record: SessionRecord
    history: tuple[Message, ...]
    waiting: Waiting[Asked, Given] | None

    @property
    def status(self) -> str:
        if self.record.ending is not None:
            return OVER
        return OTHERS if self.waiting is None else YOUR_TURN


def state_in(seat: Seat, place: Place) -> str:
    """The state of an assistant's machine in a session."""
    if place.record.ending is not None:
        return sorted(seat.table.final)[0]
    return state_of(seat.table, place.history, seat.who)


def line_of(place: Place) -> dict[str, Any]:
    """How a session stands for its assistant."""
    line: dict[str, Any] = {"session": place.record.session, "status": place.status}
    if place.status == OVER:
        line |= {"ending": place.record.ending}
    elif place.waiting is not None:
        line |= {"question": place.waiting.key}
    return line


def message_of(message: Message, seat: Seat) -> dict[str, Any]:
    """A message, with what its tag means where it was received."""
    names = {"from": _CALLED[message.sender], "to": _CALLED[message.receiver]}
    meaning = seat.prompts.tags.get(message.tag, "") if message.receiver == seat.who else ""
    return {
        "number": message.number,
        **names,
        "tag": message.tag,
        **({"means": meaning} if meaning else {}),
        "prediction": message.answer.prediction,
        "explanation": message.answer.explanation,
    }


def question_of(seat: Seat, place: Place, asked: Asked) -> dict[str, Any]:
    """What is asked, by the texts that a model is asked by, and the options."""
    found: dict[str, Any] = {"options": options_of(seat, asked)}
    if asked.step is QuestionKind.ANSWER:
        prompts = replace(seat.prompts, answer=replace(seat.prompts.answer, headings=()))
        question = Question(seat.problem.query, place.record.instance, history=place.history)
        request = assemble(question, seat.problem, prompts)
        return {"instructions": request.system, "asks": request.turns[-1].text} | found
    if asked.step is QuestionKind.TAG:
        return {"asks": "Which tag do you send, with the answer that you have just given?"} | found
    name = "prediction" if asked.step is QuestionKind.MATCH else "explanation"
    first, second = (framed({name: text}) for text in asked.texts)
    if asked.step is QuestionKind.MATCH:
        asks = f"Do these two predictions count as the same?\n{first}\n{second}"
    else:
        asks = seat.prompts.judge.fill("question", first=first, second=second)
    return {"asks": asks} | found


def options_of(seat: Seat, asked: Asked) -> list[dict[str, Any]]:
    """What may be answered now."""
    if asked.step is QuestionKind.ANSWER:
        payload = answer_schema(seat.problem)
        return [{"do": ANSWER, "means": "give your answer as the payload", "payload": payload}]
    if asked.step is QuestionKind.TAG:
        return [
            {"do": one.guard, "means": one.about, "sends": one.tag}
            for one in asked.choices
            if one.allowed
        ]
    return [{"do": word.value, "means": about} for word, about in _OPTIONS.items()]


def given_for(seat: Seat, asked: Asked, do: str, payload: Any) -> Given:
    """What an assistant gives as an answer to `asked`; raises `DataError` where it is none."""
    names = [one["do"] for one in options_of(seat, asked)]
    if do not in names:
        why = next((f" ({one.about})" for one in asked.choices if one.guard == do), "")
        raise DataError(f"do must be one of {', '.join(names)}, not {quoted(do)}{why}")
    if asked.step is QuestionKind.ANSWER:
        try:
            value = strict_object(json.dumps(payload), {"prediction", "explanation"})
            answer = bounded(answer_of(value, seat.problem))
        except DataError as error:
            raise DataError(f"the payload is of no use: {error}") from error
        return Given(OWN, answer.prediction, answer.explanation)
    if payload is not None:
        raise DataError(f"leave the payload out: {do} carries nothing of its own")
    return accepted(asked, seat.problem, Given(do))


def pictures_of(seat: Seat, place: Place) -> Iterator[tuple[str, Image]]:
    """The picture of the instance, and a drawing of the latest prediction, where there are any."""
    problem, instance = seat.problem, place.record.instance
    shown = problem.drawing(instance)
    found = problem.picture(instance) if shown is None else None
    if found is not None:
        shown = Image("image/png", pixels(found.data, LONGEST_SIDE))
    if shown is not None:
        yield "the instance", shown
    if problem.smiles and place.history:
        said = place.history[-1]
        with suppress(DataError):  # what another hand wrote may be no molecule
            drawn = problem.drawing(Instance(said.answer.prediction, said.answer.prediction))
            if drawn is not None:
                yield f"the prediction of message {said.number}", drawn
