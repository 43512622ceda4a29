"""Whoever is asked is told in which session, and for what; sessions at once are never mixed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

from pxp_fsm.protocol.messages import Answer, Instance, Question
from pxp_fsm.protocol.relations import NOISY, Assumption, Outcome, Relation, Relations, in_session
from pxp_fsm.protocol.rules import Interact
from pxp_fsm.sessions.learning import Gate, Keep
from tests.sessions.agents import EXACT, Saying, agent, now, run


@dataclass(frozen=True)
class Noting:
    """A relation that notes in which session it was asked, and lets others go first."""

    asked: list[tuple[str, str]] = field(default_factory=list)
    session: str = "none"
    name: str = "noting"
    assumptions: frozenset[Assumption] = NOISY

    def for_session(self, session: str) -> Noting:
        return replace(self, session=session)

    async def holds(self, left: str, right: str) -> Outcome:
        await asyncio.sleep(0)
        self.asked.append((self.session, left))
        return Outcome.NO


def test_a_question_names_its_session_and_what_it_is_for() -> None:
    asked: list[Question] = []

    def say(question: Question) -> Answer:
        asked.append(question)
        return Answer(f"y{len(asked)}", "e")

    gate = Gate(Keep.BETTER, rows=[(Instance("v", "held back"), "right")])
    machine = replace(agent(Saying(say)), gate=gate)
    run(machine, agent(Saying(lambda _question: Answer("other", "e"))), Interact(3, 1))
    assert {question.session for question in asked} == {"s"}
    purposes = {(question.instance.key, question.purpose) for question in asked}
    assert purposes == {("x", "answer"), ("v", "validation")}


def test_a_relation_is_asked_in_the_session_of_its_agent() -> None:
    match, agree = Noting(), Noting()
    run(agent(match=match, agree=agree), agent(match=match, agree=agree), Interact())
    assert {session for session, _ in (*match.asked, *agree.asked)} <= {"s"}
    unlike = Saying(lambda _question: Answer("other", "other"))
    run(agent(unlike, match=match), agent(match=match), Interact(2, 1))
    assert {session for session, _ in match.asked} == {"s"}


def test_a_lesson_is_weighed_by_the_relation_of_its_session() -> None:
    match = Noting()
    gate = Gate(Keep.BETTER, rows=[(Instance("v", "held back"), "right")])
    said = iter(range(100))
    fickle = Saying(lambda _question: Answer(f"y{next(said)}", "e"))
    machine = replace(agent(fickle, match=match, agree=EXACT), gate=gate)
    run(machine, agent(Saying(lambda _question: Answer("other", "e"))), Interact(3, 1))
    assert {session for session, _ in match.asked} == {"s"}


def test_sessions_that_ask_one_relation_at_once_are_not_mixed() -> None:
    shared = Noting()

    async def ask(session: str) -> None:
        relations = Relations(shared, EXACT, session=session)
        for number in range(5):
            await relations.match(f"{session}{number}", "y")

    async def both() -> None:
        await asyncio.gather(ask("a"), ask("b"))

    now(both())
    assert len(shared.asked) == 10
    assert all(left.startswith(session) for session, left in shared.asked)
    assert {session for session, _ in shared.asked[:2]} == {"a", "b"}


def test_binding_a_relation_changes_nothing_for_others() -> None:
    plain: Relation = EXACT
    assert in_session(plain, "s") is plain
    judge = Noting()
    assert Relations(judge, judge, session="a").shared_with(Relations(judge, judge)) is False
    stable = replace(judge, assumptions=frozenset({Assumption.DETERMINISTIC}))
    assert Relations(stable, stable, session="a").shared_with(Relations(stable, stable))
