"""The human's proxy: a database of answers written by people (arXiv 2410.20600, section 4.1.2)."""

from __future__ import annotations

from collections.abc import Mapping

from pxp_fsm.errors import NoAnswer
from pxp_fsm.protocol.messages import Answer, Question


class Proxy:
    """Answers from a table of (instance key -> answer); it never changes its mind.

    Together with guards that never revise it is an *oracle agent*: its predictions and explanations
    are always taken to be correct.
    """

    name = "database"

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self._answers = dict(answers)

    async def answer(self, question: Question) -> Answer:
        try:
            return self._answers[question.instance.key]
        except KeyError:
            raise NoAnswer(f"the database has no answer for {question.instance.key!r}") from None
