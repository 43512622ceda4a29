"""What a session says of its ending, and what it keeps of the messages before it."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any, cast

import pytest

from guards import FreeChoice, ScriptedGuards
from pxp_fsm.automata.automaton import Valuation
from pxp_fsm.automata.tables import builtin
from pxp_fsm.errors import NoAnswer, Refused, UsageError
from pxp_fsm.protocol import decisions
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question
from pxp_fsm.protocol.relations import LEARN, Outcome
from pxp_fsm.protocol.rules import Ending, Interact, Pxp, Rules
from pxp_fsm.protocol.situation import Situation
from pxp_fsm.sessions import policy
from pxp_fsm.sessions.session import FAILED, Session
from tests.sessions.agents import (
    Asked,
    Deciding,
    ListBoard,
    Saying,
    Student,
    agent,
    now,
    run,
    session,
    tags,
    yes_or_no,
)


def scripted(*guards: str) -> Any:
    return agent(guards=ScriptedGuards(list(guards)))


@pytest.mark.parametrize(
    ("rules", "guards", "ending", "cause"),
    [
        (Interact(9, 3), ("RAT", "RAT"), "ratified", "RATIFY RATIFY"),
        (Interact(9, 2), ("REF", "REJ"), "rejected", "REFUTE REJECT"),
        (Interact(3, 3), ("REF", "REV"), "bound", "the bound of 3 messages"),
        (Interact(1, 1), (), "bound", "the bound of 1 messages"),
        (Pxp(), ("RAT", "RAT"), "term", "TERM by h"),
        (Pxp(1), ("REF", "REF", "REF"), "term", "TERM by h"),
        (Pxp(term=lambda *_: False), ("REF",) * 4, "limit", "stopped after 5 messages"),
    ],
)
def test_a_session_says_why_it_is_over(
    rules: Rules, guards: tuple[str, ...], ending: str, cause: str
) -> None:
    board = ListBoard()
    m, h = scripted(*guards[1::2]), scripted(*guards[::2])
    made = run(m, h, rules, board=board, limit=5)
    assert (str(made.ending), made.cause) == (ending, cause)
    assert board.endings == [("s", ending, cause)]
    words = f"{rules.name} between m and h, {len(made.history)} messages, {ending}"
    assert repr(made) == f"<Session s: {words}>"
    with pytest.raises(UsageError, match=f"session s has ended \\({ending}\\)"):
        now(made.step())
    assert len(board.entries) == len(made.history)


def test_a_session_that_ends_at_its_limit_has_its_own_ending() -> None:
    made = run(scripted("RAT"), scripted("RAT"), Pxp(), limit=4)
    assert (tags(made), made.ending) == (("INIT", "RATIFY", "RATIFY", "TERM"), Ending.TERM)


def test_a_fault_is_shown_with_its_cause() -> None:
    def silent(_question: Question) -> Answer:
        raise NoAnswer("it is asleep")

    made = session(agent(), agent(Saying(silent)), Interact())
    assert repr(made) == "<Session s: interact between m and h, 0 messages, not over>"
    now(made.run())
    assert made.fault is None
    shown = "1 messages, no answer: saying: it is asleep"
    assert repr(made) == f"<Session s: interact between m and h, {shown}>"


@pytest.mark.parametrize("match", [True, False])
@pytest.mark.parametrize("agree", [True, False])
def test_a_session_keeps_what_each_found_the_pair_before_to_be(match: bool, agree: bool) -> None:
    """What the respondent is told of it, and what later sessions may be, is the same."""
    told: list[tuple[str, ...]] = []

    def say(question: Question) -> Answer:
        told.append(question.categories)
        return Answer(f"y{len(told)}", f"e{len(told)}")

    matching = Asked(lambda *_: yes_or_no(match))
    agreeing = Asked(lambda *_: yes_or_no(agree))
    m = agent(Saying(say), guards=FreeChoice(lambda _: "REF"))
    made = run(m, agent(Saying(say), match=matching, agree=agreeing), Interact(4, 4))
    found = decisions.category(match, agree)
    expected = ("", found, "", found)[: len(made.history)]
    assert made.categories == expected
    assert told == [expected[:place] for place in range(len(told))]
    for episode in made.episodes().values():
        assert (episode.history, episode.context) == (made.history, made.context)
        assert episode.categories == expected
        assert episode.instance == made.instance


def test_unsure_is_no_match_in_the_category_too() -> None:
    unsure = Asked(lambda *_: Outcome.UNSURE)
    m = agent(Saying(lambda _: Answer("a", "b")))
    assert run(m, agent(match=unsure), Interact(2, 2)).categories == ("", "D")


def test_a_text_is_an_instance_that_is_its_own_key() -> None:
    members = {"m": agent(), "h": agent()}
    assert Session(Interact(), members, instance="whale").instance == Instance("whale", "whale")
    given = Instance("w", "What is a whale?")
    assert Session(Interact(), members, instance=given).instance is given


@pytest.mark.parametrize("asked", ["match", "agree"])
def test_a_pair_of_which_only_a_half_was_judged_is_in_no_category(asked: str) -> None:
    async def decide(situation: Situation) -> Valuation:
        await getattr(situation.relations, asked)("a", "b")
        return situation.choosing("REF")

    assert run(agent(), agent(guards=Deciding(decide)), Interact(2, 2)).categories == ("", "")


@pytest.mark.parametrize(
    ("members", "shown"),
    [({"m": agent()}, "given 1"), ({}, "given 0"), (None, "None"), ([agent()] * 2, "list|Agent")],
)
def test_a_session_is_of_two_members(members: Any, shown: str) -> None:
    with pytest.raises(UsageError, match=f"a session has two agents by their names.*({shown})"):
        Session(Interact(), members, instance="x")


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_leaves_room_for_a_message(limit: int) -> None:
    with pytest.raises(UsageError, match="at least 1 message"):
        session(agent(), agent(), Pxp(), limit=limit)
    assert run(agent(), agent(), Pxp(), limit=1).cause == "stopped after 1 messages"


def test_nothing_follows_the_end_of_a_stored_session() -> None:
    board = ListBoard()
    made = run(agent(), agent(), Interact(), board=board)
    assert tags(made) == ("INIT", "RATIFY", "RATIFY")
    again = session(agent(), agent(), Interact())
    one = replace(board.entries[-1].carried, number=4, sender="h", receiver="m")
    with pytest.raises(Refused, match=r"had ended before it \(ratified\)"):
        again.replay([*board.entries, replace(board.entries[-1], message=one)])
    assert again.history == made.history


@pytest.mark.parametrize("tag", ["TERM", "INIT", "HELLO"])
def test_a_stored_message_is_one_that_its_sender_could_send(tag: str) -> None:
    board = ListBoard()
    run(agent(), agent(), Interact(), board=board)
    second = replace(board.entries[1], message=replace(board.entries[1].carried, tag=tag))
    again = session(agent(), agent(), Interact())
    with pytest.raises(Refused, match="h is in DECIDE, which sends"):
        again.replay([board.entries[0], second])
    assert tags(again) == ("INIT",)


def test_a_guard_of_a_row_to_one_of_both_is_checked_too() -> None:
    """A variant in which m alone may reject: stored before its time it is refused as well."""
    interact = builtin("interact")
    rows = tuple(
        replace(row, partner="h") if row.label == "REJECT" and row.guard else row
        for row in interact.transitions
    )
    rules = Interact(9, 5, table=replace(interact, transitions=rows))
    board = ListBoard()
    made = run(scripted("REF", "REF", "REJ"), scripted("REF", "REF", "REF"), rules, board=board)
    assert tags(made) == ("INIT", "REFUTE", "REFUTE", "REFUTE", "REFUTE", "REFUTE", "REJECT")
    early = replace(board.entries[2].carried, tag="REJECT")
    with pytest.raises(Refused, match="REJ can hold in no case at this message"):
        session(agent(), agent(), rules).replay(
            [*board.entries[:2], replace(board.entries[2], message=early)]
        )


def test_a_stored_session_is_begun_by_who_begins() -> None:
    board = ListBoard()
    run(agent(), agent(), Interact(), board=board)
    first = replace(board.entries[0].carried, sender="h", receiver="m")
    with pytest.raises(Refused, match="m starts, not h"):
        session(agent(), agent(), Interact()).replay([replace(board.entries[0], message=first)])


class Unteachable(Student):
    """It cannot learn from message `number`, for which `error` is raised."""

    def __init__(self, number: int, error: Exception) -> None:
        super().__init__("h", 1)
        self._number, self._error = number, error

    def learn(self, instance: Instance, message: Message) -> None:
        super().learn(instance, message)
        if message.number == self._number:
            raise self._error


@pytest.mark.parametrize("number", [1, 3])
def test_what_learning_raises_is_raised_once_the_message_and_the_ending_are_stored(
    number: int,
) -> None:
    board = ListBoard()
    m = agent(Saying(lambda _: Answer("0", "0")))
    h = agent(Unteachable(number, MemoryError("full")))
    made = session(m, h, Interact(), board=board, record_faults=False)
    with pytest.raises(MemoryError, match="full"):
        now(made.run())
    ending = Ending.NO_ANSWER if number == 1 else Ending.RATIFIED
    assert made.ending is ending
    assert [entry.carried.number for entry in board.entries] == list(range(1, number + 1))
    assert [one[1] for one in board.endings] == [ending]
    resumed = session(
        m, agent(Unteachable(number, MemoryError("full"))), Interact(), record_faults=False
    )
    with pytest.raises(MemoryError, match="full"):
        resumed.replay(board.entries)


def test_a_lesson_that_a_respondent_declines_is_an_ending_and_no_fault() -> None:
    h = agent(Unteachable(1, NoAnswer("not today")))
    made = session(agent(), h, Interact(), record_faults=False)
    now(made.run())
    assert (made.ending, made.fault) == (Ending.NO_ANSWER, None)
    assert made.cause == "student could not learn: not today"


def test_what_was_learned_is_learned_again_by_who_learned_it() -> None:
    """Each from what it received; what is stored beside a message was judged by its sender."""
    board = ListBoard()
    pupils = [Student(name, 251) for name in "mh"]
    never = Asked(lambda *_: Outcome.NO)
    m, h = (agent(one, match=Asked(lambda *_: Outcome.YES), agree=never) for one in pupils)
    made = run(m, h, Pxp(2), board=board, limit=5)
    learned = [[one.relation for one in entry.judgements].count(LEARN) for entry in board.entries]
    assert learned == [0, *[1] * (len(made.history) - 1)]
    assert all(one.asked for entry in board.entries for one in entry.judgements)
    again = [Student(name, 251) for name in "mh"]
    session(agent(again[0]), agent(again[1]), Pxp(2)).replay(board.entries)
    assert [one.learned for one in again] == [one.learned for one in pupils]


def test_the_turn_is_a_question_about_the_number_of_the_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    numbers: list[int] = []

    def begins(number: int) -> bool:
        numbers.append(number)
        return decisions.initiator_speaks(number)

    monkeypatch.setattr(policy, "initiator_speaks", begins)
    made = run(agent(), agent(), Interact())
    assert numbers == [message.number for message in made.history] == [1, 2, 3]


def test_a_store_is_closed_once_with_all_that_led_to_no_message() -> None:
    board = ListBoard()
    broken = Asked(lambda left, _right: 1 / 0 if left == "b" else Outcome.NO)
    m = agent(Saying(lambda _: Answer("a", "b")))
    made = run(m, agent(match=broken), Interact(), board=board)
    assert made.ending is Ending.BROKEN
    assert [(one.relation, one.outcome) for one in board.left] == [
        ("MATCH", Outcome.NO),
        ("AGREE", Outcome.BROKEN),
        (FAILED, Outcome.BROKEN),
    ]
    assert "ZeroDivisionError: division by zero" in board.left[-1].detail


def test_a_session_without_a_bound_stops_after_a_thousand_messages() -> None:
    made = run(scripted(*["REF"] * 500), scripted(*["REF"] * 500), Pxp(term=lambda *_: False))
    assert (made.ending, made.cause) == (Ending.LIMIT, "stopped after 1000 messages")


def test_what_an_agents_own_code_raises_is_raised_once_the_ending_is_stored() -> None:
    def fails(_question: Question) -> Answer:
        raise KeyError("no such key")

    for recorded in (True, False):
        board = ListBoard()
        made = session(agent(), agent(Saying(fails)), Interact(), board, record_faults=recorded)
        with nullcontext() if recorded else pytest.raises(KeyError, match="no such key"):
            now(made.run())
        assert board.endings == [("s", "no answer", "saying: KeyError: 'no such key'")]
        assert isinstance(made.fault, KeyError)


@pytest.mark.parametrize(
    ("said", "cause", "raised"),
    [
        (Answer("y\0", "e"), "a text holds the character NUL", None),
        (Answer("y", cast(str, None)), "prediction and explanation are text", TypeError),
        ("y", "an answer is a prediction and an explanation", TypeError),
    ],
)
def test_only_an_answer_of_a_wrong_type_is_a_fault_of_the_program(
    said: Any, cause: str, raised: type[Exception] | None
) -> None:
    board = ListBoard()
    h = agent(Saying(lambda _question: said))
    made = session(agent(), h, Interact(), board, record_faults=False)
    with pytest.raises(raised, match=cause) if raised else nullcontext():
        now(made.run())
    assert (made.ending, cause in made.cause) == (Ending.NO_ANSWER, True)
    assert (made.fault is None) is (raised is None)


@pytest.mark.parametrize("lost", range(4))
def test_a_session_can_be_taken_back_to_any_message(lost: int) -> None:
    """History, context, categories, ending, cause and fault; and it goes on from there."""
    texts = iter(range(99))
    say = Saying(lambda _question: Answer(str(next(texts)), "e"))
    judges = [Asked(lambda *_: Outcome.NO) for _ in "mh"]
    m, h = (agent(say, match=one) for one in judges)
    made = session(m, h, Interact(4, 9))
    for _ in range(lost):
        now(made.step())

    def kept() -> tuple[object, ...]:
        said = made.history, made.context, made.categories
        return (*said, made.states, made.ending, made.cause, made.fault)

    before, withdraw = kept(), made.withdrawing()
    for _ in range(3):
        asked = [len(one.pairs) for one in judges]
        while made.ending is None:
            now(made.step())
        assert (made.ending, made.states) == (Ending.BOUND, {"m": "END", "h": "END"})
        left = 4 - max(lost, 1)
        assert sum(len(one.pairs) for one in judges) - sum(asked) >= left
        withdraw()
        assert kept() == before
