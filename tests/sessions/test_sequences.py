"""How many tag sequences INTERACT has: every session there is, run, for small n and k.

The numbers check the reading of the papers; which of them a reading gives follows from when
REJECT is allowed, what Changed compares and when the schedule stops.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from guards import FreeChoice
from pxp_fsm.protocol.messages import Answer, Question
from pxp_fsm.protocol.relations import Outcome
from pxp_fsm.protocol.rules import Ending, Interact
from pxp_fsm.sessions.agent import Agent
from tests.sessions.agents import EXACT, Asked, Choices, Saying, agent, run, tags, yes_or_no

Pair = tuple[Agent, Agent]


def equivalence(choices: Choices) -> Pair:
    """Any value each time, old or new; equality decides."""
    known = [0, 0]

    def say(_question: Question) -> Answer:
        parts = [choices.among(seen + 1) for seen in known]
        known[:] = [max(seen, part + 1) for seen, part in zip(known, parts, strict=True)]
        return Answer(str(parts[0]), str(parts[1]))

    return agent(Saying(say), match=EXACT), agent(Saying(say), match=EXACT)


def tolerance(choices: Choices) -> Pair:
    """A new value each time; which are similar is chosen once for each two, for both agents."""
    similar: dict[frozenset[str], Outcome] = {}
    fresh = iter(range(99))

    def near(left: str, right: str) -> Outcome:
        pair = frozenset((left, right))
        if len(pair) > 1 and pair not in similar:
            similar[pair] = yes_or_no(choices.among(2))
        return similar.get(pair, Outcome.YES)

    def say(_question: Question) -> Answer:
        value = next(fresh)
        return Answer(f"y{value}", f"e{value}")

    return agent(Saying(say), match=Asked(near)), agent(Saying(say), match=Asked(near))


def noisy(choices: Choices) -> Pair:
    """Whatever is judged is judged anew each time."""
    judge = Asked(lambda *_: yes_or_no(choices.among(2)))
    return agent(match=judge, memo=False), agent(match=judge, memo=False)


def free(choices: Choices) -> Pair:
    """The guards themselves are chosen."""
    guards = FreeChoice(lambda options: options[choices.among(len(options))])
    return agent(guards=guards), agent(guards=guards)


def all_sequences(n: int, k: int, players: Callable[[Choices], Pair]) -> set[tuple[str, ...]]:
    """The complete tag sequences of INTERACT, by running every session there is."""
    choices = Choices()
    found = set()
    for _ in choices.runs():
        ended = run(*players(choices), Interact(n, k))
        assert ended.ending in (Ending.RATIFIED, Ending.REJECTED, Ending.BOUND)
        found.add(tags(ended))
    return found


@pytest.mark.parametrize(
    ("players", "n", "k", "count"),
    [
        (equivalence, 3, 1, 4),
        (equivalence, 4, 2, 8),
        (tolerance, 3, 1, 4),
        (tolerance, 4, 2, 10),
        (noisy, 3, 1, 13),
        pytest.param(noisy, 4, 2, 36, marks=pytest.mark.deep),
        (free, 3, 1, 13),
        pytest.param(free, 4, 2, 36, marks=pytest.mark.deep),
    ],
)
def test_interact_has_so_many_complete_tag_sequences(
    players: Callable[[Choices], Pair], n: int, k: int, count: int
) -> None:
    assert len(all_sequences(n, k, players)) == count


def test_the_four_sequences_of_three_messages_under_equivalence() -> None:
    assert all_sequences(3, 1, equivalence) == {
        ("INIT", "REJECT"),
        ("INIT", "RATIFY", "RATIFY"),
        ("INIT", "REFUTE", "REFUTE"),
        ("INIT", "REFUTE", "REVISE"),
    }
