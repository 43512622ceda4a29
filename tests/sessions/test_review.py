"""A respondent that looks at its message once more before it is sent."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from guards import ScriptedGuards
from pxp_fsm.protocol.messages import Answer, Question
from pxp_fsm.protocol.relations import LEARN, Outcome
from pxp_fsm.protocol.rules import Ending, Interact, Pxp, Rules
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.session import Session
from tests.sessions.agents import EXACT, Asked, ListBoard, X, now


@dataclass
class Careful:
    """Gives the answers of a list, and sends only what it is told to."""

    answers: list[str]
    sends: list[bool]
    seen: list[tuple[str, str]] = field(default_factory=list)
    name: str = "careful"

    async def answer(self, question: Question) -> Answer:
        return Answer(self.answers.pop(0), "e")

    async def review(self, question: Question, tag: str, answer: Answer) -> bool:
        self.seen.append((tag, answer.prediction))
        return self.sends.pop(0)


def session(careful: Careful, board: ListBoard, rules: Rules, agree: Asked) -> Session:
    members = {
        "m": Agent(lambda _question: Answer("y", "other"), match=EXACT, agree=agree),
        "h": Agent(careful, match=EXACT, agree=agree),
    }
    return Session(rules, members, instance=X, blackboard=board, record_faults=True)


def test_nothing_is_sent_before_a_last_look_and_the_move_is_made_again() -> None:
    board, agree = ListBoard(), Asked(lambda _left, _right: Outcome.NO)
    careful = Careful(["z", "w", "y"], [False, False, True])
    made = session(careful, board, Interact(n=2, k=3), agree)
    now(made.step())
    now(made.step())
    assert careful.seen == [("REFUTE", "z"), ("REFUTE", "w"), ("REFUTE", "y")]
    assert [entry.carried.answer.prediction for entry in board.entries] == ["y", "y"]


def test_what_was_judged_for_a_withdrawn_move_is_asked_again() -> None:
    said = iter([Outcome.NO, Outcome.YES])
    board, agree = ListBoard(), Asked(lambda _left, _right: next(said))
    careful = Careful(["y", "y"], [False, True])
    made = session(careful, board, Interact(n=2, k=3), agree)
    now(made.run())
    assert careful.seen == [("REFUTE", "y"), ("RATIFY", "y")]
    judged = [(j.relation, j.outcome) for j in board.entries[1].judgements]
    assert judged == [("MATCH", Outcome.YES), ("AGREE", Outcome.YES)]


def test_what_was_learned_for_a_withdrawn_move_is_stored_once() -> None:
    board, agree = ListBoard(), Asked(lambda _left, _right: Outcome.NO)
    careful = Careful(["y", "z", "y", "w"], [False, True])
    made = session(careful, board, Pxp(), agree)
    now(made.step())
    now(made.step())
    judged = [judgement.relation for judgement in board.entries[1].judgements]
    assert judged == ["MATCH", "AGREE", LEARN, "MATCH"]


def test_term_is_looked_at_too() -> None:
    board, agree = ListBoard(), Asked(lambda _left, _right: Outcome.YES)
    careful = Careful(["y", "y"], [True, True])
    made = session(careful, board, Pxp(), agree)
    now(made.run())
    assert careful.seen == [("RATIFY", "y"), ("TERM", "y")]


def test_a_fault_in_the_last_look_ends_the_session_with_its_cause() -> None:
    careful = Careful(["y"], [])
    made = session(careful, ListBoard(), Interact(), Asked(lambda _left, _right: Outcome.YES))
    now(made.run())
    assert (made.ending, made.cause) == (
        Ending.NO_ANSWER,
        "careful: IndexError: pop from empty list",
    )


def test_guards_that_follow_no_relation_leave_nothing_to_assume() -> None:
    derived = Agent(lambda _question: Answer("y", "e"), match=EXACT, agree=EXACT)
    scripted = replace(derived, guards=ScriptedGuards(["RAT"]))
    both = Session(Interact(), {"m": derived, "h": derived}, instance=X)
    assert both.assumptions == EXACT.assumptions
    for m, h in ((derived, scripted), (scripted, derived), (scripted, scripted)):
        named = Session(Interact(), {"m": m, "h": h}, instance=X)
        assert named.assumptions == frozenset()
