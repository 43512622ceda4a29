"""A model as an agent's respondent: its replies are validated, and requested again if invalid."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby

from pxp_fsm.errors import DataError, quoted
from pxp_fsm.prompting.attempts import ATTEMPTS, ask_until_usable, check_attempts, first_epoch
from pxp_fsm.prompting.framing import encoded, framed
from pxp_fsm.prompting.model import (
    Capability,
    ChatRole,
    ChatTurn,
    Image,
    LanguageModel,
    ModelRequest,
    Reply,
)
from pxp_fsm.prompting.prompts import Problem, Prompts
from pxp_fsm.prompting.replies import (
    ContextExceeded,
    headed_parts,
    strict_object,
    unfenced,
    whole_text,
)
from pxp_fsm.protocol.messages import Answer, Episode, Instance, Message, Question, text_problem
from pxp_fsm.sessions.policy import update_context

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


def assemble(question: Question, problem: Problem, prompts: Prompts) -> ModelRequest:
    """The request that `question` becomes; whoever sends it decides on schema and temperature.

    The problem's examples come first, each with its answer as if the model had given it. What the
    context holds of earlier sessions follows, each with its instance; a session in which nothing
    was said is left out, and one that ended with the other's message is said to be over, so that
    one question alone is open. What UPDATE_CONTEXT added beside the messages follows the message
    that it was added at. Who is asked is the receiver of the latest message, or who speaks first.
    """
    asked = _asked(question)
    turns: list[ChatTurn] = []
    for instance, answer in problem.examples:
        turns.append(_opening(question.query, instance, problem, prompts))
        turns.append(_own(answer, problem, prompts))
    this = Episode(question.instance, question.history, question.context, question.categories)
    for told in (*(episode for episode in question.earlier if episode.history), this):
        if turns and turns[-1].role is ChatRole.USER:
            turns.append(ChatTurn(ChatRole.USER, prompts.answer.fill("over")))
        turns.append(_opening(question.query, told.instance, problem, prompts))
        known, category_of = (_each(told.history, part) for part in (told.context, told.categories))
        for message, added, category in zip(told.history, known, category_of, strict=True):
            turns.append(_turn(message, category, asked, problem, prompts))
            if added and added != update_context(message):
                text = prompts.answer.fill("context", context=framed({"context": added}))
                turns.append(ChatTurn(ChatRole.USER, text))
    system = prompts.answer.fill(
        "system",
        query=question.query,
        labels=", ".join(problem.topics or problem.labels),
        typed=problem.form,
        form=_form(problem, prompts.answer.headings),
    )
    return ModelRequest(
        system=system,
        turns=alternating(turns),
        schema=None if prompts.answer.headings else answer_schema(problem),
        max_tokens=prompts.answer.max_tokens,
        temperature=prompts.answer.temperature,
        effort=prompts.answer.effort,
        purpose="answer",
    )


def _each(history: tuple[Message, ...], known: tuple[str, ...]) -> tuple[str, ...]:
    """What is known of each message; nothing where it is not known of all."""
    return known if len(known) == len(history) else ("",) * len(history)


def _form(problem: Problem, headings: tuple[str, ...]) -> str:
    """The form of a reply, as a model is told it: a JSON Schema, or two headings."""
    if not headings:
        return encoded(answer_schema(problem))
    return "\n".join(f"{heading}: <{heading.lower()}>" for heading in headings)


def _asked(question: Question) -> str:
    """The name of the agent that is asked; empty where nothing has been said yet."""
    if question.history:
        return question.history[-1].receiver
    return next((told.history[0].sender for told in question.earlier if told.history), "")


def alternating(turns: Iterable[ChatTurn]) -> tuple[ChatTurn, ...]:
    """`turns` with those of one role in a row as one: not every server takes two."""
    grouped = (tuple(row) for _role, row in groupby(turns, lambda turn: turn.role))
    return tuple(_joined(row) for row in grouped)


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


def _opening(query: str, instance: Instance, problem: Problem, prompts: Prompts) -> ChatTurn:
    parts, images = shows(problem, instance)
    shown = any(prompts.answer.has("question", slot) for slot in ("instance", "x"))
    if "instance" in parts and not shown:
        raise DataError(
            f"the prompts' [answer] question lacks $instance, without which a model does not know "
            f"what {problem.name} is about"
        )
    x = _on_a_line(str(parts.get("instance", PICTURE)))
    text = prompts.answer.fill("question", query=query, instance=framed(parts), x=x)
    return ChatTurn(ChatRole.USER, text, images)


def _turn(
    message: Message, category: str, asked: str, problem: Problem, prompts: Prompts
) -> ChatTurn:
    if message.sender == asked:
        return _own(message.answer, problem, prompts)
    prediction, explanation = message.answer.prediction, message.answer.explanation
    frame = framed({"tag": message.tag, "prediction": prediction, "explanation": explanation})
    meaning = prompts.tags.get(message.tag, "")
    wrong = prompts.categories.get(category, meaning)
    text = prompts.answer.fill(
        "received",
        message=frame,
        meaning=meaning,
        category=wrong,
        prediction=_on_a_line(prediction),
        explanation=_on_a_line(explanation),
    )
    return ChatTurn(ChatRole.USER, text)


def _own(answer: Answer, problem: Problem, prompts: Prompts) -> ChatTurn:
    """An answer as the model that is asked would have given it."""
    prediction, explanation = answer.prediction, answer.explanation
    if prompts.answer.headings:
        parts = zip(prompts.answer.headings, (prediction, explanation), strict=True)
        text = "\n".join(f"{heading}: {_on_a_line(text)}" for heading, text in parts)
        return ChatTurn(ChatRole.ASSISTANT, text)
    own = {"prediction": _value(prediction, problem), "explanation": explanation}
    return ChatTurn(ChatRole.ASSISTANT, encoded(own))


def _on_a_line(text: str) -> str:
    """Words without a frame: on one line, with whatever could steer a reader escaped."""
    return encoded(text)[1:-1].replace('\\"', '"')


def _value(prediction: str, problem: Problem) -> object:
    """One's own prediction as it was given; a text that another hand wrote stays a text."""
    try:
        return problem.to_json(prediction)
    except DataError:
        return prediction


def _joined(turns: Sequence[ChatTurn]) -> ChatTurn:
    text = "\n\n".join(turn.text for turn in turns)
    return ChatTurn(turns[0].role, text, tuple(image for turn in turns for image in turn.images))


class ModelRespondent:
    """Asks `model` for predictions and explanations (ASK_AGENT); fills `Respondent`.

    An unusable reply (empty, refused, cut, malformed, or not allowed by the task) is asked for
    again, with the reason, `attempts` times in all; then there is `NoAnswer`. Where the context
    window is full, the older half of the earlier sessions is left out, again until none is left;
    then there is `NoAnswer`, too. `repetition`, from
    1, tells repetitions apart, so that no cache makes them the same.
    """

    def __init__(
        self,
        model: LanguageModel,
        problem: Problem,
        prompts: Prompts,
        *,
        attempts: int = ATTEMPTS,
        repetition: int = 1,
    ) -> None:
        check_attempts(attempts)
        self._model = model
        self._problem = problem
        self._prompts = prompts
        self._attempts = attempts
        self._epoch = first_epoch(repetition)

    @property
    def name(self) -> str:
        return f"{self._model.name} prompts={self._prompts.fingerprint[:12]}"

    async def answer(self, question: Question) -> Answer:
        while True:
            try:
                return await self._answer(question)
            except ContextExceeded:
                if not question.earlier:
                    raise
                kept = len(question.earlier) // 2
                question = replace(
                    question, earlier=question.earlier[len(question.earlier) - kept :]
                )

    async def _answer(self, question: Question) -> Answer:
        prompt = self._prompts.answer
        usable = await ask_until_usable(
            self._model.reply,
            self._request(question),
            partial(read_answer, problem=self._problem, headings=prompt.headings),
            prompt,
            wanted="answer",
            attempts=self._attempts,
        )
        return usable.value

    def _request(self, question: Question) -> ModelRequest:
        request = assemble(question, self._problem, self._prompts)
        structured = Capability.SCHEMA in self._model.capabilities
        return replace(
            request,
            schema=request.schema if structured else None,
            session=question.session,
            purpose=question.purpose,
            epoch=self._epoch,
        )


def read_answer(reply: Reply, problem: Problem, headings: tuple[str, ...] = ()) -> Answer:
    """The answer that `reply` holds; raises `DataError`, saying why it is of no use.

    It is one JSON object with a prediction and an explanation; anything before, after or besides
    is refused, except a code block around the whole of it. With `headings` it is plain text.
    """
    text = unfenced(whole_text(reply))
    if headings:
        prediction, explanation = headed_parts(text, headings)
        return _answer(partial(problem.from_text, prediction), explanation)
    return answer_of(strict_object(text, {"prediction", "explanation"}), problem)


def answer_of(value: Mapping[str, object], problem: Problem) -> Answer:
    """The answer that an object of `answer_schema` is; raises `DataError` as `read_answer` does."""
    return _answer(partial(problem.from_json, value["prediction"]), value["explanation"])


def _answer(prediction_of: Callable[[], str], explanation: object) -> Answer:
    if not isinstance(explanation, str) or not explanation.strip():
        raise DataError(f"explanation must be a text, not {quoted(explanation)}")
    prediction = prediction_of()
    wrong = text_problem(prediction) or text_problem(explanation)
    if wrong is not None:
        raise DataError(wrong)
    return Answer(prediction, explanation.strip())
