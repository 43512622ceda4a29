"""Running sessions: how many there are, how they end, and that they go on after an interruption."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

import pxp_fsm as pxp
from guards import ChanceRelation, ScriptedGuards
from pxp_fsm.errors import NoAnswer, Refused, UsageError
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question
from pxp_fsm.protocol.relations import Outcome
from pxp_fsm.protocol.rules import Ending, Interact, Pxp, Rules
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.session import Session
from tests.sampling import first_and_rest
from tests.sessions.agents import (
    EXACT,
    Asked,
    ListBoard,
    Saying,
    Student,
    agent,
    channel_of,
    now,
    run,
    session,
    tags,
    yes_or_no,
)

Pair = tuple[Agent, Agent]


@pytest.mark.parametrize("seeds", first_and_rest(1, 3))
def test_interact_ends_within_n_and_rejects_only_after_k(seeds: range) -> None:
    """Every 1 <= n, k <= 12, with judges that say anything."""
    for n, k, seed in product(range(1, 13), range(1, 13), seeds):
        m, h = (
            agent(Student(name + str(seed)), match=ChanceRelation(seed), memo=False)
            for name in "mh"
        )
        ended = run(m, h, Interact(n, k))
        assert 1 <= len(ended.history) <= n
        assert ended.states == {"m": "END", "h": "END"}
        assert all(j > k for j, tag in enumerate(tags(ended), start=1) if tag == "REJECT")
        assert [x.number for x in ended.history] == list(range(1, len(ended.history) + 1))
        assert [x.sender for x in ended.history] == ["mh"[j % 2] for j in range(len(ended.history))]


ALL_RULES: list[Rules] = [
    Interact(7, 2),
    Interact(10, 9),
    Pxp(),
    Pxp(2),
    Pxp(1, hang_up=lambda sent, _: sent == "REVISE"),
]


def twins(seed: int, asked: list[tuple[str, str]]) -> Pair:
    """Two agents that do the same again if made again; `asked` collects what is judged."""

    def near(left: str, right: str) -> Outcome:
        asked.append((left, right))
        return yes_or_no(hash((int(left), int(right), seed)) % 3)

    return (
        agent(Student(f"m{seed}", 9), match=Asked(near), agree=EXACT),
        agent(Student(f"h{seed}", 9), match=Asked(near), agree=EXACT),
    )


def timeless(entries: list[Event]) -> list[object]:
    """Everything in `entries` but how long it took."""
    return [
        (e.message, e.addition, [(j.relation, j.left, j.right, j.outcome) for j in e.judgements])
        for e in entries
    ]


@pytest.mark.parametrize("rules", ALL_RULES, ids=["n7", "n10", "pxp", "pxp2", "hang_up"])
@pytest.mark.parametrize("capacity", [0, pytest.param(1, marks=pytest.mark.deep), 2])
def test_a_session_stopped_after_any_message_goes_on_as_if_it_had_not(
    rules: Rules, capacity: int
) -> None:
    for seed in range(2):
        board, moments, asked = ListBoard(), list[Any](), list[tuple[str, str]]()
        whole = session(*twins(seed, asked), rules, board, limit=15, channel=channel_of(capacity))
        while whole.ending is None:
            moments.append((whole.states, whole.history, whole.context, whole.ending))
            now(whole.step())
        moments.append((whole.states, whole.history, whole.context, whole.ending))
        for place, moment in enumerate(moments):
            rest, asked_again = ListBoard(), list[tuple[str, str]]()
            again = session(
                *twins(seed, asked_again), rules, rest, limit=15, channel=channel_of(capacity)
            )
            again.replay(board.entries[:place])
            assert (again.states, again.history, again.context, again.ending) == moment
            if again.ending is None:
                now(again.run())
            assert timeless(board.entries[:place] + rest.entries) == timeless(board.entries)
            assert (again.states, again.ending, again.cause) == (
                whole.states,
                whole.ending,
                whole.cause,
            )
            stored = [j for entry in board.entries[:place] for j in entry.judgements]
            known = sum(j.asked and j.relation == "MATCH" for j in stored)
            assert asked_again == asked[known:]
        assert board.endings[-1] == ("s", str(whole.ending), whole.cause)


@pytest.mark.parametrize("capacity", [0, 1, 2, 5])
@pytest.mark.parametrize(("after", "expected"), [("INIT", 3), ("REFUTE", 4)])
def test_hanging_up_ends_both_at_once(capacity: int, after: str, expected: int) -> None:
    """INIT, REFUTE, (REFUTE,) TERM: the last two by the same agent."""
    rules = Pxp(hang_up=lambda sent, answered: (sent, answered) == ("REFUTE", after))
    anew = Saying(lambda question: Answer("y", f"message {len(question.history) + 1}"))
    speaker = agent(anew, guards=ScriptedGuards(["REF", "REF"]))
    ended = run(speaker, speaker, rules, channel=channel_of(capacity))
    assert tags(ended) == ("INIT", *["REFUTE"] * (expected - 2), "TERM")
    assert len({message.answer for message in ended.history}) == expected - 1
    assert ended.history[-1].sender == ended.history[-2].sender
    assert ended.history[-1].answer == ended.history[-2].answer
    assert ended.states == {"m": "END", "h": "END"}
    assert ended.ending is Ending.TERM


def test_nothing_answers_term() -> None:
    ended = run(agent(), agent(), Pxp())
    assert tags(ended) == ("INIT", "RATIFY", "RATIFY", "TERM")
    assert ended.cause == "TERM by h"
    with pytest.raises(UsageError, match=r"session s has ended \(term\)"):
        now(ended.step())
    assert now(ended.run()).ending is Ending.TERM
    assert len(ended.history) == 4


def test_pxp_can_go_on_for_ever_and_the_limit_says_where_it_was_stopped() -> None:
    m, h = (
        agent(Saying(lambda _: Answer("y", "m"))),
        agent(Saying(lambda _: Answer("y", "h"))),
    )
    ended = run(m, h, Pxp(), limit=50)
    assert tags(ended) == ("INIT", *["REFUTE"] * 49)
    assert (ended.ending, ended.cause) == (Ending.LIMIT, "stopped after 50 messages")
    assert tags(run(m, h, Pxp(3))) == ("INIT", *["REFUTE"] * 4, "TERM")


def test_a_store_that_fails_leaves_the_session_at_the_message_before() -> None:
    board = ListBoard()
    started = session(agent(), agent(), Interact(), board)
    now(started.step())
    board.failures = 1
    with pytest.raises(OSError, match="disk is full"):
        now(started.step())
    assert started.states == {"m": "WAIT", "h": "DECIDE"}
    assert (tags(started), started.ending, len(board.entries)) == (("INIT",), None, 1)
    assert now(started.run()).ending is Ending.RATIFIED
    assert [entry.carried for entry in board.entries] == list(started.history)


def fail(error: Exception) -> Any:
    raise error


ANSWERS: dict[str, tuple[Callable[[Question], Any], str]] = {
    "nothing": (lambda _: None, "saying: an answer is a prediction and an explanation"),
    "text": (lambda _: "y", "saying: an answer is a prediction and an explanation"),
    "parts": (lambda _: Answer(None, 3), "are text"),  # type: ignore[arg-type] # it is refused
    "raises": (lambda _: fail(KeyError("y")), "saying: KeyError: 'y'"),
    "none given": (lambda _: fail(NoAnswer("refusal")), "saying: refusal"),
}


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("case", ANSWERS)
def test_a_respondent_that_fails_ends_its_session_which_can_be_resumed(
    case: str, number: int
) -> None:
    say, cause = ANSWERS[case]
    board = ListBoard()

    def until_now(question: Question) -> Any:
        return say(question) if len(question.history) == number - 1 else Answer("y", "e")

    ended = run(agent(Saying(until_now)), agent(Saying(until_now)), Interact(), board=board)
    assert ended.ending is Ending.NO_ANSWER
    assert cause in ended.cause
    assert len(board.entries) == number - 1
    resumed = session(agent(), agent(), Interact(), board)
    resumed.replay(list(board.entries))
    assert now(resumed.run()).ending in (Ending.RATIFIED, Ending.REJECTED, Ending.BOUND)


class Forgetful(Student):
    def learn(self, instance: Instance, message: Message) -> None:
        raise MemoryError("full")


@pytest.mark.parametrize("rules", [Interact(), Pxp()])
def test_a_respondent_that_cannot_learn_ends_its_session(rules: Rules) -> None:
    board = ListBoard()
    m = agent(Saying(lambda _: Answer("0", "other")))
    ended = run(m, agent(Forgetful("h", 1)), rules, board=board)
    assert (ended.ending, ended.cause) == (
        Ending.NO_ANSWER,
        "student could not learn: MemoryError: full",
    )
    assert [entry.carried.tag for entry in board.entries] == ["INIT"]
    assert board.endings == [("s", "no answer", ended.cause)]


@pytest.mark.parametrize(("k", "refused"), [(1, False), (2, True), (3, True)])
def test_a_stored_reject_before_its_time_is_refused(k: int, refused: bool) -> None:
    made = session(agent(), agent(), Interact(5, k))
    stored = [
        Event.of_message(Message("s", number, sender, tag, Answer("y", "e"), receiver))
        for number, (sender, tag, receiver) in enumerate(
            (("m", "INIT", "h"), ("h", "REJECT", "m")), start=1
        )
    ]
    if refused:
        with pytest.raises(Refused, match=r"\('REJECT'\) was refused: REJ can hold in no case"):
            made.replay(stored)
        assert [message.tag for message in made.history] == ["INIT"]
    else:
        made.replay(stored)
        assert str(made.ending) == "rejected"


def test_a_session_runs_beside_a_running_loop_too() -> None:
    async def inside() -> Session:
        return session(agent(), agent(), Interact(3, 1)).run_sync()

    assert str(now(inside()).ending) == "ratified"
    assert str(session(agent(), agent(), Interact(3, 1)).run_sync().ending) == "ratified"


@pytest.mark.parametrize("timeout", [0, 0.0, -1, -0.5])
def test_a_timeout_is_above_nothing(timeout: float) -> None:
    with pytest.raises(UsageError, match="a timeout is a number of seconds above 0"):
        agent(timeout=timeout)


@pytest.mark.parametrize("name", ["", "a\nb", "a\0b", 3, None])
def test_a_session_has_a_name_that_can_be_shown(name: Any) -> None:
    with pytest.raises(UsageError, match="a session's name is printable text"):
        pxp.Session(Interact(3, 1), {"m": agent(), "h": agent()}, instance="x", name=name)
    with pytest.raises(UsageError, match="a session's name is printable text"):
        pxp.Session(pxp.System.load("pxp"), {}, name=name)
