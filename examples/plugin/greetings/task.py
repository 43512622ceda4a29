"""The task: a greeting is given; its language is predicted, explained by the word itself."""

from __future__ import annotations

from pathlib import Path

import pxp_fsm as pxp

PHRASES = {"bonjour": "French", "hello": "English", "hola": "Spanish", "salut": "French"}


class Beginner:
    """Takes everything for English until it is told the language of a word."""

    name = "beginner"

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    async def answer(self, question: pxp.Question) -> pxp.Answer:
        word = question.instance.x
        return pxp.Answer(self.known.get(word, "English"), word)

    def learn(self, instance: pxp.Instance, message: pxp.Message) -> None:
        self.known[instance.x] = message.answer.prediction

    def copy(self) -> Beginner:
        other = Beginner()
        other.known = dict(self.known)
        return other


def teacher(question: pxp.Question) -> pxp.Answer:
    """Who knows every language."""
    return pxp.Answer(PHRASES[question.instance.x], question.instance.x)


def load(_folder: Path | None) -> pxp.tasks.DataSet:
    rows = tuple(
        pxp.tasks.DataRow(pxp.Instance(word, word), pxp.Answer(language, word))
        for word, language in PHRASES.items()
    )
    return pxp.tasks.DataSet("the phrases of the example", rows)


def agents(_data: pxp.tasks.DataSet, memo: bool) -> tuple[pxp.Agent, pxp.Agent]:
    machine = pxp.Agent(Beginner(), match=pxp.exact, agree=pxp.exact, memo=memo)
    human = pxp.Agent(teacher, match=pxp.exact, agree=pxp.exact, memo=memo)
    return machine, human


GREETINGS = pxp.tasks.Task("greetings", "in which language somebody greets", load, agents)
