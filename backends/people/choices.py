"""What a person may send, and why not the rest: the same at the terminal and on a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.prompts import Problem
from pxp_fsm.protocol.messages import Answer, Instance, Question
from pxp_fsm.protocol.rules import Rules

WhyNot = Callable[[Instance, str, str], str | None]
"""Why an agent, of several named third, does not give that prediction of an instance; None where it
cannot tell."""
THEIRS, MINE = "theirs", "mine"
"""The other agent's answer, or one's own."""

_MEANING = {
    "RAT": "the prediction matches yours, and you agree with the explanation",
    "REF": "something differs, and you stay with your answer",
    "REV": "something differs, and you have changed your answer",
    "REJ": "prediction and explanation both differ, and you give up",
}


@dataclass(frozen=True, slots=True)
class GuardChoice:
    """A tag of the present state: whether it may be sent, and what it means or why it may not."""

    guard: str
    tag: str
    allowed: bool
    about: str


def choices_of(
    rules: Rules, guards: Sequence[str], number: int, allowed: Sequence[str]
) -> tuple[GuardChoice, ...]:
    """The tags of the state with `guards`, for message `number`, in the order of its table."""
    tags = {row.guard: row.label for row in rules.automaton.transitions if row.guard in guards}
    why_not = _why_not(rules, number)
    return tuple(
        GuardChoice(
            str(guard),
            tag,
            guard in allowed,
            _MEANING.get(str(guard), "") if guard in allowed else why_not,
        )
        for guard, tag in tags.items()
    )


def offers_of(question: Question) -> dict[str, Answer]:
    """Answers that need not be typed: the other agent's, and one's own.

    One's own is the latest of the conversation, among several agents one's current pair.
    """
    latest = [message.answer for message in question.history[-2:]]
    offers = dict(zip((THEIRS, MINE), reversed(latest), strict=False))
    overview = question.overview
    if overview is not None and overview.next is not None:
        name, _ = overview.next
        current = next(pair.answer for pair in overview.pairs if pair.name == name)
        if current is not None:
            offers[MINE] = current
    return offers


def words_of(problem: Problem) -> tuple[str, ...]:
    """The words that a prediction is made of, to be completed as they are typed."""
    return problem.labels if problem.none is None else (*problem.labels, problem.none)


def _why_not(rules: Rules, number: int) -> str:
    if rules.asks_each_time and rules.k is not None and number <= rules.k:
        return f"not now: only after message {rules.k}"
    return "not now: it cannot be true at this message"
