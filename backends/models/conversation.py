"""ASSEMBLE_PROMPT: a question to an agent as a conversation with a model.

The model's own messages are the assistant's turns, in the very form in which it must answer; the
instance and the other agent's messages are the user's, framed as data. Source: arXiv 2410.20600,
section 3, Examples 1 and 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from pxp_fsm.errors import DataError
from pxp_fsm.framing import encoded, framed
from pxp_fsm.messages import Episode, Instance, Message, Question
from pxp_fsm.models import Image, Request, Role, Turn
from pxp_fsm.problem import Problem
from pxp_fsm.prompts import Prompts

PICTURE = "attached"
"""What stands for an instance that is told by its picture alone."""


def answer_schema(problem: Problem) -> Mapping[str, object]:
    """The JSON Schema of an answer to `problem`."""
    return {
        "type": "object",
        "properties": {
            "prediction": problem.prediction,
            "explanation": {"type": "string", "description": "why, in plain text"},
        },
        "required": ["prediction", "explanation"],
        "additionalProperties": False,
    }


def assemble(question: Question, problem: Problem, prompts: Prompts) -> Request:
    """The request that `question` becomes; whoever sends it decides on schema and temperature.

    What the context holds of earlier sessions comes before this one, each with its instance. Who is
    asked is the receiver of the latest message, or who speaks first.
    """
    asked = _asked(question)
    turns: list[Turn] = []
    for told in (*question.earlier, Episode(question.instance, question.history)):
        turns.append(_opening(question.query, told.instance, problem, prompts))
        turns += (_turn(message, asked, problem, prompts) for message in told.history)
    system = prompts.answer.fill(
        "system",
        query=question.query,
        labels=", ".join(problem.labels),
        form=encoded(answer_schema(problem)),
    )
    return Request(
        system=system,
        turns=alternating(turns),
        schema=answer_schema(problem),
        max_tokens=prompts.answer.max_tokens,
        temperature=prompts.answer.temperature,
        purpose="answer",
    )


def _asked(question: Question) -> str:
    """The name of the agent that is asked; empty where nothing has been said yet."""
    if question.history:
        return question.history[-1].receiver
    return next((told.history[0].sender for told in question.earlier if told.history), "")


def alternating(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """`turns` with those of one role in a row as one: not every server takes two."""
    grouped = (tuple(row) for _role, row in groupby(turns, lambda turn: turn.role))
    return tuple(_joined(row) for row in grouped)


def with_reason(request: Request, prompts: Prompts, reason: str) -> Request:
    """`request` once more, saying why the reply to it was of no use.

    That reply is not shown again: what it held has no place in the conversation.
    """
    said = prompts.answer.fill("again", reason=framed({"reason": reason}))
    return replace(request, turns=alternating([*request.turns, Turn(Role.USER, said)]))


def shows(problem: Problem, instance: Instance) -> tuple[Mapping[str, object], tuple[Image, ...]]:
    """What a model is shown of `instance`: the parts of a frame, and pictures."""
    picture = problem.picture(instance)
    described = problem.described(instance)
    parts: dict[str, object] = {}
    if described is not None:
        parts["instance"] = described
    if picture is not None:
        parts["picture"] = PICTURE
    return parts, (picture,) if picture is not None else ()


def _opening(query: str, instance: Instance, problem: Problem, prompts: Prompts) -> Turn:
    parts, images = shows(problem, instance)
    if "instance" in parts and not prompts.answer.has("question", "instance"):
        raise DataError(
            f"the prompts' [answer] question lacks $instance, without which a model is not told "
            f"what {problem.name} is about"
        )
    said = prompts.answer.fill("question", query=query, instance=framed(parts))
    return Turn(Role.USER, said, images)


def _turn(message: Message, asked: str, problem: Problem, prompts: Prompts) -> Turn:
    prediction, explanation = message.answer.prediction, message.answer.explanation
    if message.sender == asked:
        own = {"prediction": _value(prediction, problem), "explanation": explanation}
        return Turn(Role.ASSISTANT, encoded(own))
    frame = framed({"tag": message.tag, "prediction": prediction, "explanation": explanation})
    meaning = prompts.tags.get(message.tag, "")
    return Turn(Role.USER, prompts.answer.fill("received", message=frame, meaning=meaning))


def _value(prediction: str, problem: Problem) -> object:
    """One's own prediction as it was given; a text that another hand wrote stays a text."""
    try:
        return problem.to_json(prediction)
    except DataError:
        return prediction


def _joined(turns: Sequence[Turn]) -> Turn:
    text = "\n\n".join(turn.text for turn in turns)
    return Turn(turns[0].role, text, tuple(image for turn in turns for image in turn.images))
