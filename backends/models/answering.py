"""A model as an agent's respondent: asked, its reply read strictly, asked again a few times."""

from __future__ import annotations

from dataclasses import replace

from backends.models.conversation import answer_schema, assemble, with_reason
from pxp_fsm.errors import DataError, NoAnswer, UsageError
from pxp_fsm.messages import Answer, Question, quoted, text_problem
from pxp_fsm.models import Capability, Model, Reply, Request
from pxp_fsm.problem import Problem
from pxp_fsm.prompts import Prompts
from pxp_fsm.replies import strict_object, unfenced, whole_text

ATTEMPTS = 3
MOST_ATTEMPTS = 8
"""More are not allowed: the epochs of two repetitions would meet."""


class ModelRespondent:
    """Asks `model` for predictions and explanations (ASK_AGENT); fills `Respondent`.

    An unusable reply (empty, refused, cut, malformed, or not allowed by the task) is asked for
    again, with the reason, `attempts` times in all; then there is `NoAnswer`. `repetition`, from
    1, tells repetitions apart, so that no cache makes them the same.
    """

    def __init__(
        self,
        model: Model,
        problem: Problem,
        prompts: Prompts,
        *,
        attempts: int = ATTEMPTS,
        repetition: int = 1,
    ) -> None:
        if not 1 <= attempts <= MOST_ATTEMPTS:
            raise UsageError(f"a model is asked 1 to {MOST_ATTEMPTS} times, not {attempts}")
        self._model = model
        self._problem = problem
        self._prompts = prompts
        self._attempts = attempts
        self._epoch = (repetition - 1) * MOST_ATTEMPTS

    @property
    def name(self) -> str:
        return f"{self._model.name} prompts={self._prompts.fingerprint[:12]}"

    async def answer(self, question: Question) -> Answer:
        asked = self._request(question)
        request, reason = asked, ""
        for attempt in range(self._attempts):
            reply = await self._model.reply(replace(request, epoch=self._epoch + attempt))
            try:
                return read_answer(reply, self._problem)
            except DataError as error:
                reason = str(error)
                request = with_reason(asked, self._prompts, reason)
        raise NoAnswer(f"no usable answer in {self._attempts} attempts; the last: {reason}")

    def _request(self, question: Question) -> Request:
        request = assemble(question, self._problem, self._prompts)
        structured = Capability.SCHEMA in self._model.capabilities
        return replace(
            request,
            schema=answer_schema(self._problem) if structured else None,
            session=question.session,
            purpose=question.purpose,
        )


def read_answer(reply: Reply, problem: Problem) -> Answer:
    """The answer that `reply` holds; raises `DataError`, saying why it is of no use.

    It is one JSON object with a prediction and an explanation; anything before, after or besides
    is refused, except a code block around the whole of it.
    """
    text = whole_text(reply)
    value = strict_object(unfenced(text), {"prediction", "explanation"})
    explanation = value["explanation"]
    if not isinstance(explanation, str) or not explanation.strip():
        raise DataError(f"explanation is a text, not {quoted(explanation)}")
    prediction = problem.from_json(value["prediction"])
    wrong = text_problem(prediction) or text_problem(explanation)
    if wrong is not None:
        raise DataError(wrong)
    return Answer(prediction, explanation.strip())
