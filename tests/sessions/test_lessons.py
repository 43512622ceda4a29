"""What is asked to weigh a lesson, what is stored of it, and what it leaves behind."""

from __future__ import annotations

from typing import ClassVar

import pytest

from pxp_fsm.errors import UsageError
from pxp_fsm.protocol.interfaces import Respondent
from pxp_fsm.protocol.messages import Answer, Episode, Instance, Message, Question
from pxp_fsm.protocol.relations import LEARN, Outcome, digest
from pxp_fsm.protocol.rules import Ending, Interact
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.learning import Gate, Gated, Keep, Lessons, Weighing
from pxp_fsm.sessions.session import Session
from tests.sessions.agents import EXACT, Asked, ListBoard, now, yes_or_no
from tests.sessions.test_learning import ROWS, SEVEN, Pupil, Reader, Wall, X, decisions, session


def test_a_validation_question_comes_with_the_session_that_is_weighed() -> None:
    asked: list[Question] = []

    class Noting(Reader):
        async def answer(self, question: Question) -> Answer:
            asked.append(question)
            return await super().answer(question)

    before = Episode(Instance("z", "z"), ())
    gate = Gate(Keep.BETTER, Gated.CONTEXT, ROWS)
    members = {
        "m": Agent(Noting(), match=EXACT, agree=EXACT, gate=gate),
        "h": Agent(Wall(), match=EXACT, agree=EXACT),
    }
    made = Session(Interact(3, 9), members, instance=X, name="s", earlier={"m": (before,)})
    now(made.run())
    shown = [question for question in asked if question.purpose == "answer"]
    for question in shown:
        places = [message.number - 1 for message in question.history]
        assert question.context == tuple(made.context[place] for place in places)
        assert question.categories == tuple(made.categories[place] for place in places)
    assert [len(question.history) for question in shown] == [0, 2]
    weighed = [question for question in asked if question.purpose == "validation"]
    assert {question.instance for question in weighed} == {row[0] for row in ROWS}
    assert {(question.session, question.history) for question in weighed} == {("s", ())}
    for question in weighed:
        old, this = question.earlier
        assert (old, this.instance) == (before, X)
        assert this.history in (made.history[:1], made.history[:2])
        assert this.context == made.context[: len(this.history)]
    assert {len(question.earlier[1].history) for question in weighed} == {1, 2}


class Listening(Pupil):
    """Keeps the numbers of the messages that it was taught by."""

    def __init__(self) -> None:
        super().__init__()
        self.taught: list[int] = []

    def copy(self) -> Listening:
        other = Listening()
        other.lessons, other.taught = self.lessons, list(self.taught)
        return other

    def learn(self, instance: Instance, message: Message) -> None:
        super().learn(instance, message)
        self.taught.append(message.number)


@pytest.mark.parametrize("gated", list(Gated))
def test_the_last_message_needs_no_answer_and_is_learned_unless_lessons_are_weighed(
    gated: Gated,
) -> None:
    """Only where revisions are gated: what was said stays learned."""
    pupil = Listening()
    made = session(pupil, Gate(Keep.BETTER, gated, ROWS), Interact(4, 9), ListBoard())
    stays = gated is Gated.REVISION
    for _ in range(2):
        now(made.step())
    unanswered = made.episodes()["m"].history
    assert [message.number for message in unanswered] == [1, *[2] * stays]
    now(made.run())
    assert pupil.taught == ([2, 4] if stays else [2])
    kept = made.episodes()["m"]
    assert [message.number for message in kept.history] == [1, 2, 3, *[4] * stays]
    assert kept.context == made.context[: 3 + stays]


class Careful(Reader):
    """Looks at its answers once more, and sends each at the second look."""

    def __init__(self) -> None:
        super().__init__(gain=0)
        self.looks = 0

    async def review(self, question: Question, tag: str, answer: Answer) -> bool:
        self.looks += 1
        return self.looks % 2 == 0


def test_a_move_that_is_made_again_keeps_what_was_decided_of_the_lesson() -> None:
    """It is made without what was refused, and so is that of a session that is resumed."""

    def made(respondent: Careful, board: ListBoard) -> Session:
        members = {
            "m": Agent(
                respondent,
                match=EXACT,
                agree=EXACT,
                gate=Gate(Keep.BETTER, Gated.CONTEXT, ROWS),
            ),
            "h": Agent(Wall(), match=EXACT, agree=EXACT),
        }
        return Session(SEVEN, members, instance=X, name="s", blackboard=board)

    careful, board = Careful(), ListBoard()
    whole = made(careful, board)
    now(whole.run())
    assert careful.looks == 8
    assert careful.shown == [(), (), (1, 2), (1,), (1, 4), (1,), (1, 6), (1,)]
    learned = [[one.relation for one in entry.judgements].count(LEARN) for entry in board.entries]
    assert learned == [0, 0, 1, 0, 1, 0, 1]
    first = [one.relation for one in board.entries[2].judgements]
    assert first == [LEARN, *("MATCH", "AGREE") * 2]
    resumed = made(Careful(), ListBoard())
    resumed.replay(board.entries)
    assert resumed.episodes() == whole.episodes()
    assert [message.number for message in resumed.episodes()["m"].history] == [1]


def test_who_never_learns_says_what_it_would_have_said_at_once() -> None:
    """h, which is taught before it has said anything: its own answer stands in for one before."""
    pupil = Pupil()
    members = {
        "m": Agent(Wall(), match=EXACT, agree=EXACT),
        "h": Agent(pupil, match=EXACT, agree=EXACT, gate=Gate(Keep.NEVER, Gated.CONTEXT)),
    }
    made = Session(Interact(4, 9), members, instance=X, name="s")
    now(made.run())
    said = [message.answer.prediction for message in made.history if message.sender == "h"]
    assert (said, pupil.lessons) == (["y0", "y0"], 0)


def test_there_is_nothing_to_weigh_where_nothing_was_heard() -> None:
    lessons = Lessons(Gate(Keep.BETTER, Gated.CONTEXT, ROWS), X, ())
    assert not lessons.pending

    async def settled() -> None:
        async def ask(respondent: Respondent, question: Question) -> Answer:
            return await respondent.answer(question)

        await lessons.settle(Question("", X), None, Pupil(), EXACT, ask, lambda *_: None)

    with pytest.raises(UsageError, match="there is nothing to weigh"):
        now(settled())


def test_a_match_that_gives_up_on_the_validation_set_is_no_fault_of_the_program() -> None:
    def judge(left: str, right: str) -> bool:
        if right.startswith("right"):
            raise UsageError("no such molecule")
        return left == right

    gate = Gate(Keep.BETTER, Gated.CONTEXT, ROWS)
    members = {
        "m": Agent(Reader(), match=judge, agree=EXACT, gate=gate),
        "h": Agent(Wall(), match=EXACT, agree=EXACT),
    }
    made = Session(SEVEN, members, instance=X)
    now(made.run())
    assert (made.ending, made.fault) == (Ending.BROKEN, None)
    assert made.cause == ("MATCH (judge) on a validation instance: UsageError: no such molecule")


@pytest.mark.parametrize("gated", list(Gated))
@pytest.mark.parametrize(("keep", "gain"), [(Keep.BETTER, 1), (Keep.BETTER, 0), (Keep.EQUAL, -1)])
@pytest.mark.parametrize("stopped", range(1, 8))
def test_what_must_be_measured_up_to_is_known_again(
    gated: Gated, keep: Keep, gain: int, stopped: int
) -> None:
    board, gate, pupil = ListBoard(), Gate(keep, gated, ROWS), Pupil(gain)
    whole = session(pupil, gate, SEVEN, board)
    for _ in range(stopped):
        now(whole.step())
    again, resumed = Gate(keep, gated, ROWS), Pupil(gain)
    session(resumed, again, SEVEN, ListBoard()).replay(board.entries)
    assert (again.standing, resumed.lessons) == (gate.standing, pupil.lessons)


def test_a_predicted_text_is_matched_with_the_right_one() -> None:
    pairs: list[tuple[str, str]] = []

    def judge(left: str, right: str) -> bool:
        pairs.append((left, right))
        return left == right

    members = {
        "m": Agent(Pupil(), match=judge, agree=EXACT, gate=Gate(Keep.BETTER, rows=ROWS)),
        "h": Agent(Wall(), match=EXACT, agree=EXACT),
    }
    now(Session(Interact(3, 9), members, instance=X).run())
    weighed = [pair for pair in pairs if any(text.startswith("right") for text in pair)]
    assert len(weighed) == 2 * len(ROWS)
    assert {right for _, right in weighed} == {prediction for _, prediction in ROWS}
    assert "wrong" in {left for left, _ in weighed}


def test_where_contexts_are_gated_every_lesson_is_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one after which the answer is the same; and what it took is stored with it."""

    class Same(Pupil):
        def copy(self) -> Same:
            return Same(self.gain, self.lessons)

        async def answer(self, question: Question) -> Answer:
            said = await super().answer(question)
            return said if question.instance.key.startswith("v") else Answer("y", "e")

    class Wordy(Wall):
        async def answer(self, question: Question) -> Answer:
            return Answer("wall", "other wall")

    ticks = iter(range(1_000, 10_000))
    monkeypatch.setattr("time.perf_counter", lambda: float(next(ticks)))
    for gated in Gated:
        board = ListBoard()
        members = {
            "m": Agent(Same(), match=EXACT, agree=EXACT, gate=Gate(Keep.BETTER, gated, ROWS)),
            "h": Agent(Wordy(), match=EXACT, agree=EXACT),
        }
        now(Session(SEVEN, members, instance=X, blackboard=board).run())
        assert all((found is not None) is (gated is Gated.CONTEXT) for _, found in decisions(board))
        judged = [one for entry in board.entries for one in entry.judgements]
        assert all(0 < one.seconds < 500 for one in judged if one.relation == LEARN)
        said = (digest("wall"), digest("other wall"))
        assert {(one.left, one.right) for one in judged if one.relation == LEARN} == {said}
        asked = [one.asked for one in judged if one.relation == LEARN]
        assert asked == [gated is Gated.CONTEXT] * 3
    assert Gate(Keep.NEVER).gated is Gated.REVISION
    assert Gate(Keep.NEVER).name == "never-revision"
    assert Gate(Keep.EQUAL, rows=ROWS).name == "equal-revision-of-4"


@pytest.mark.parametrize(
    ("keep", "expected"), [(Keep.BETTER, Outcome.NO), (Keep.EQUAL, Outcome.YES)]
)
def test_nothing_right_before_and_after_is_no_improvement(keep: Keep, expected: Outcome) -> None:
    board, rows = ListBoard(), [(Instance("v9", ""), "right 9")]
    now(session(Pupil(), Gate(keep, Gated.CONTEXT, rows), Interact(3, 9), board).run())
    ((outcome, weighed),) = decisions(board)
    assert (outcome, weighed) == (
        expected,
        {"before": 0, "after": 0, "of": 1, "unanswered": 0},
    )


@pytest.mark.parametrize("gated", list(Gated))
def test_a_first_answer_revises_nothing(gated: Gated) -> None:
    """h has said nothing before: the lesson is kept, and weighed only if contexts are gated."""
    board = ListBoard()
    members = {
        "m": Agent(Wall(), match=EXACT, agree=EXACT),
        "h": Agent(Pupil(), match=EXACT, agree=EXACT, gate=Gate(Keep.BETTER, gated, ROWS)),
    }
    now(Session(Interact(2, 9), members, instance=X, blackboard=board).run())
    weighed = {"before": 1, "after": 2, "of": 4, "unanswered": 0}
    assert decisions(board) == [(Outcome.YES, weighed if gated is Gated.CONTEXT else None)]
    assert board.entries[1].carried.answer.prediction == "y1"


class InSession(Asked):
    """A judge that keeps the names of the sessions for which it was asked for."""

    sessions: ClassVar[list[str]] = []

    def for_session(self, session: str) -> Asked:
        self.sessions.append(session)
        return Asked(self.say, self.name, self.assumptions, self.pairs)


def test_a_judge_is_asked_in_the_session_about_validation_instances_too() -> None:
    judge = InSession(lambda left, right: yes_or_no(left == right))
    members = {
        "m": Agent(Pupil(), match=judge, agree=EXACT, gate=Gate(Keep.BETTER, rows=ROWS)),
        "h": Agent(Wall(), match=EXACT, agree=EXACT),
    }
    now(Session(Interact(3, 9), members, instance=X, name="talk").run())
    assert judge.sessions == ["talk"] * 3


def test_what_was_measured_once_is_not_asked_again() -> None:
    """Before the first lesson and after each; what is to be measured up to is known from then."""
    reader = Reader()
    asked: list[str] = []
    answer = reader.answer

    async def noting(question: Question) -> Answer:
        asked.append(question.purpose)
        return await answer(question)

    reader.answer = noting  # type: ignore[method-assign] # to see what it is asked
    gate = Gate(Keep.BETTER, Gated.CONTEXT, ROWS)
    now(session(reader, gate, SEVEN, ListBoard()).run())
    assert asked.count("validation") == len(ROWS) * (1 + 3)


def test_what_a_respondent_raises_on_the_validation_set_is_raised() -> None:
    class Broken(Pupil):
        def copy(self) -> Broken:
            return Broken(self.gain, self.lessons)

        async def answer(self, question: Question) -> Answer:
            if question.purpose == "validation":
                raise LookupError("no such row")
            return await super().answer(question)

    members = {
        "m": Agent(Broken(), match=EXACT, agree=EXACT, gate=Gate(Keep.BETTER, rows=ROWS)),
        "h": Agent(Wall(), match=EXACT, agree=EXACT),
    }
    made = Session(Interact(3, 9), members, instance=X)
    with pytest.raises(LookupError, match="no such row"):
        now(made.run())
    assert made.ending is Ending.NO_ANSWER


def test_a_lesson_that_is_not_weighed_leaves_what_must_be_measured_up_to() -> None:
    class Once(Pupil):
        """Revises its answer after the first lesson alone."""

        def copy(self) -> Once:
            return Once(self.gain, self.lessons)

        async def answer(self, question: Question) -> Answer:
            said = await super().answer(question)
            learned = question.instance.key.startswith("v") or not self.lessons
            return said if learned else Answer("y1", "e1")

    gate, board = Gate(Keep.BETTER, Gated.REVISION, ROWS), ListBoard()
    now(session(Once(), gate, SEVEN, board).run())
    assert [weighed and weighed["after"] for _, weighed in decisions(board)] == [2, None, None]
    assert gate.standing == 2
    again = Gate(Keep.BETTER, Gated.REVISION, ROWS)
    session(Once(), again, SEVEN, ListBoard()).replay(board.entries)
    assert again.standing == 2


def test_a_match_that_answers_no_outcome_is_told_by_its_name() -> None:
    def say(left: str, right: str) -> object:
        return "yes" if right.startswith("right") else yes_or_no(left == right)

    members = {
        "m": Agent(
            Pupil(),
            match=Asked(say, name="judge"),
            agree=EXACT,
            gate=Gate(Keep.BETTER, rows=ROWS),
        ),
        "h": Agent(Wall(), match=EXACT, agree=EXACT),
    }
    made = Session(SEVEN, members, instance=X, record_faults=True)
    now(made.run())
    assert made.cause.endswith("relation judge answered 'yes', which is not an Outcome")


def test_what_was_not_weighed_has_no_words() -> None:
    assert str(Weighing()) == str(Weighing(of=10)) == ""
    assert str(Weighing(6, 7, 10, 1)).endswith("and on 6 without; 1 had no answer")
