"""A session between two agents in a few lines: who says what, and why it ends.

The machine first believes that whales are fish; the human is an oracle and never revises.
"""

import asyncio

from guards import Derived, Exact, NormalisedText
from pxp_fsm.agent import Agent
from pxp_fsm.intelligibility import STRONG, holds_for, two_way
from pxp_fsm.messages import Answer, Instance, Message, Question
from pxp_fsm.rules import Interact
from pxp_fsm.session import Session


class Pupil:
    """Answers from memory; learns the prediction first, the explanation a message later."""

    name = "pupil"

    def __init__(self) -> None:
        self.prediction, self.explanation = "fish", "It lives in the sea."

    async def answer(self, question: Question) -> Answer:
        return Answer(self.prediction, self.explanation)

    def learn(self, instance: Instance, message: Message) -> None:
        if self.prediction == message.answer.prediction:
            self.explanation = message.answer.explanation
        self.prediction = message.answer.prediction


class Book:
    """Always gives the same answer."""

    name = "book"

    async def answer(self, question: Question) -> Answer:
        return Answer("mammal", "It breathes air and feeds its young with milk.")


def main() -> None:
    match, agree = Exact(), NormalisedText()
    session = Session(
        "whale",
        Instance("whale", "What is a whale?"),
        Agent("m", Pupil(), Derived(), match, agree),
        Agent("h", Book(), Derived(revises=False), match, agree),
        Interact(n=10, k=3),
    )
    ending = asyncio.run(session.run())
    for message in session.history:
        print(f"{message.number} {message.sender} {message.tag}: {message.answer.prediction}")
    print(f"ended: {ending.value}; states: {session.states}")
    print(f"two-way intelligible: {two_way(session.history, 'm', 'h')}")
    print(f"strong for the machine: {holds_for(STRONG, session.history, 'm')}")


if __name__ == "__main__":
    main()
