"""A session between two agents in a few lines: each message, and why the session ends.

The machine first believes that whales are fish; the human is an oracle and never revises.
"""

import pxp_fsm as pxp


class Pupil:
    """Answers from memory; learns the prediction first, the explanation a message later."""

    name = "pupil"

    def __init__(self) -> None:
        self.prediction, self.explanation = "fish", "It lives in the sea."

    async def answer(self, question: pxp.Question) -> pxp.Answer:
        return pxp.Answer(self.prediction, self.explanation)

    def learn(self, instance: pxp.Instance, message: pxp.Message) -> None:
        if self.prediction == message.answer.prediction:
            self.explanation = message.answer.explanation
        self.prediction = message.answer.prediction


@pxp.respondent
def book(question: pxp.Question) -> pxp.Answer:
    """Always gives the same answer."""
    return pxp.Answer("mammal", "It breathes air and feeds its young with milk.")


def main() -> None:
    match, agree = pxp.exact, pxp.normalised_text
    members = {
        "m": pxp.Agent(Pupil(), match=match, agree=agree),
        "h": pxp.Agent(book, match=match, agree=agree, guards=pxp.Derived(revises=False)),
    }
    session = pxp.Session(pxp.Interact(n=10, k=3), members, instance="What is a whale?")
    session.run_sync()
    for message in session.history:
        print(f"{message.number} {message.sender} {message.tag}: {message.answer.prediction}")
    print(f"ended: {session.ending}; states: {session.states}")
    classes = pxp.classify(session.history)
    two_way = all("one_way" in names for names in classes.values())
    print(f"two-way intelligible: {two_way}")
    print(f"strong for the machine: {'strong' in classes['m']}")


if __name__ == "__main__":
    main()
