"""Answers of MATCH and AGREE along a session: as the model's own steps, more with less assumed."""

from __future__ import annotations

from itertools import product

import pytest

from proofs.core.explore import TooLarge
from proofs.sessions import answers
from proofs.sessions.answers import answers_after
from proofs.sessions.model import AGENTS, SessionModel, SessionState, tag_of
from proofs.sessions.relational import Theory
from pxp_fsm.automata.actions import Say
from pxp_fsm.errors import Refused
from pxp_fsm.protocol.relations import EQUIVALENCE, NOISY, TOLERANCE, Assumption
from pxp_fsm.protocol.rules import Interact, Pxp, Rules

Runs = dict[tuple[str, ...], set[str]]


def runs(model: SessionModel, length: int) -> Runs:
    """Each sequence of tags that a session may begin with, and the tags that may follow it."""
    here: dict[tuple[str, ...], list[SessionState]] = {(): list(model.initial())}
    found: Runs = {}
    for _ in range(length):
        then: dict[tuple[str, ...], list[SessionState]] = {}
        for tags, states in here.items():
            steps = [step for state in states for step in model.successors(state)]
            found[tags] = set(filter(None, map(tag_of, steps)))
            for step in steps:
                if tag := tag_of(step):
                    then.setdefault((*tags, tag), []).append(step.target)
        here = {tags: list(dict.fromkeys(states)) for tags, states in then.items()}
    return found


def said(tags: tuple[str, ...]) -> tuple[Say, ...]:
    return tuple(Say(AGENTS[number % 2], tag) for number, tag in enumerate(tags))


@pytest.mark.parametrize("rules", [Interact(4, 2), Pxp(1)])
@pytest.mark.parametrize("assumed", [EQUIVALENCE, TOLERANCE, NOISY])
def test_the_replies_are_those_that_the_model_sends(
    rules: Rules, assumed: frozenset[Assumption]
) -> None:
    model = SessionModel(rules, Theory(assumed), observes=False)
    for tags, following in runs(model, 4).items():
        found = answers_after(model, said(tags))
        if found:
            replies = {reply for one in found for reply in one.replies}
            assert replies <= following
            assert following - replies <= {"TERM"}  # which an agent sends without being asked


def test_what_is_possible_stays_possible_where_less_is_assumed() -> None:
    rules = Interact(4, 2)
    more, less = (SessionModel(rules, Theory(one), observes=False) for one in (EQUIVALENCE, NOISY))
    for tags in runs(more, 4):
        pairs = zip(answers_after(more, said(tags)), answers_after(less, said(tags)), strict=True)
        for one, other in pairs:
            assert (one.match, one.agree, one.category) == (
                other.match,
                other.agree,
                other.category,
            )
            assert set(one.replies) <= set(other.replies)


def test_what_no_session_has_and_what_is_too_much_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = SessionModel(Interact(), Theory(EQUIVALENCE), observes=False)
    assert answers_after(model, ()) == ()
    wrong = 0
    for tags in product(("INIT", "RATIFY", "REJECT"), repeat=2):
        try:
            answers_after(model, said(tags))
        except Refused as error:
            wrong += 1
            assert "as message" in str(error)
    assert wrong == 8
    monkeypatch.setattr(answers, "MOST", 0)
    with pytest.raises(TooLarge):
        answers_after(model, said(("INIT",)))
