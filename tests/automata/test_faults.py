"""Faults at the edges: what ends a session, what does not, and what is remembered of it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from guards import ChanceGuards, Derived, Exact, FunctionRelation, ScriptedGuards
from pxp_fsm.errors import UsageError
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question
from pxp_fsm.protocol.relations import LEARN, Assumption, Outcome
from pxp_fsm.protocol.rules import Ending, Interact, Pxp, Rules
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.session import Session
from tests.sessions.agents import ListBoard
from tests.waiting import PATIENCE

X = Instance("x", "x")


class Says:
    name = "says"

    def __init__(self, *answers: str, learn: Any = None) -> None:
        self.answers, self.heard, self._learn = list(answers), list[str](), learn

    async def answer(self, question: Question) -> Answer:
        said = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return Answer(*said.split("/"))

    def learn(self, instance: Instance, message: Message) -> None:
        self.heard.append(message.tag)
        if self._learn:
            self._learn(message)


def session(
    m: Says, h: Says, rules: Rules, *, match: Any = None, guards: Any = None, **more: Any
) -> Session:
    options: dict[str, Any] = {key: more.pop(key) for key in ("timeout", "memo") if key in more}
    parts: dict[str, Any] = {
        "guards": guards or Derived(),
        "match": match or Exact(),
        "agree": Exact(),
        **options,
    }
    members = {"m": Agent(m, **parts), "h": Agent(h, **parts)}
    return Session(rules, members, instance=X, name="s", record_faults=True, **more)


class Oracle:
    name = "oracle"
    assumptions: frozenset[Assumption] = frozenset()

    def __init__(self, do: Any) -> None:
        self._do = do

    async def holds(self, left: str, right: str) -> Outcome:
        self._do()
        return Outcome.YES


def cancel() -> None:
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("do", "timeout", "ending"),
    [(lambda: time.sleep(0.06), 0.03, Ending.LATE), (cancel, 60, Ending.BROKEN)],
    ids=["blocks longer than its time", "cancels itself"],
)
def test_an_oracle_that_blocks_is_late_and_one_that_cancels_itself_is_broken(
    do: Any, timeout: float, ending: Ending
) -> None:
    over = session(Says("1/a"), Says("2/a"), Interact(), match=Oracle(do), timeout=timeout)
    assert asyncio.run(over.run()).ending is ending
    assert over.cause.endswith(f"longer than {timeout} s" if timeout < 1 else "it cancelled itself")


def test_a_respondent_that_blocks_longer_than_its_time_is_late() -> None:
    class Blocks(Says):
        async def answer(self, question: Question) -> Answer:
            time.sleep(0.06)
            return Answer("1", "a")

    over = session(Says("1/a"), Blocks("1/a"), Interact(), timeout=0.03)
    assert asyncio.run(over.run()).ending is Ending.LATE
    assert over.cause == "says: it took longer than 0.03 s"


def test_a_respondent_that_gives_up_in_time_is_late_for_its_own_reason() -> None:
    class GivesUp(Says):
        async def answer(self, question: Question) -> Answer:
            raise TimeoutError("the line is busy")

    over = session(Says("1/a"), GivesUp("1/a"), Interact())
    assert asyncio.run(over.run()).ending is Ending.LATE
    assert over.cause == "says: the line is busy"


def test_a_respondent_that_cancels_itself_has_no_answer() -> None:
    class Cancels(Says):
        async def answer(self, question: Question) -> Answer:
            raise asyncio.CancelledError

    over = session(Says("1/a"), Cancels("1/a"), Interact())
    assert asyncio.run(over.run()).ending is Ending.NO_ANSWER
    assert over.cause == "says: it cancelled itself"


def test_a_session_that_is_stopped_from_outside_is_stopped() -> None:
    asked = asyncio.Event()

    class Waits(Says):
        async def answer(self, question: Question) -> Answer:
            asked.set()
            await asyncio.sleep(600)
            raise AssertionError("never")

    async def stopped() -> None:
        task = asyncio.create_task(session(Waits("1/a"), Says("1/a"), Interact()).run())
        await asyncio.wait_for(asked.wait(), PATIENCE)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(stopped())


def test_the_limit_bounds_only_what_has_no_bound_of_its_own() -> None:
    bounded = session(Says("1/a"), Says("2/b"), Interact(n=30, k=40), limit=5)
    assert asyncio.run(bounded.run()).ending is Ending.BOUND
    endless = session(Says("1/a"), Says("1/b"), Pxp(), limit=5)
    assert asyncio.run(endless.run()).ending is Ending.LIMIT


def test_a_fault_of_learning_after_the_end_does_not_change_the_ending() -> None:
    def fail(message: Message) -> None:
        if message.number == 3:
            raise RuntimeError("cannot")

    over = session(Says("1/a"), Says("1/a", learn=fail), Interact())
    assert asyncio.run(over.run()).ending is Ending.RATIFIED
    assert over.states == {"m": "END", "h": "END"}


def test_what_was_learned_before_a_fault_is_learned_again_on_resume() -> None:
    """PXP: h learns from INIT, then its judge fails: no message, but the lesson was taken in."""

    def judge(left: str, right: str) -> bool:
        if left == "2":
            raise RuntimeError("judge fell asleep")
        return left == right

    board, h = ListBoard(), Says("3/a", "2/b")
    match = FunctionRelation("failing", judge)
    over = session(Says("1/a"), h, Pxp(), match=match, blackboard=board)
    assert asyncio.run(over.run()).ending is Ending.BROKEN
    assert h.heard == ["INIT"]
    assert [judgement.relation for judgement in board.left].count(LEARN) == 1
    again = Says("3/a")
    resumed = session(Says("1/a"), again, Pxp(), match=match)
    resumed.replay(board.entries, board.left)
    assert again.heard == ["INIT"]
    later = Says("3/a")
    resumed = session(Says("1/a"), later, Pxp(), match=match)
    resumed.replay(board.entries)
    assert later.heard == []
    resumed.replay([], board.left)
    assert later.heard == ["INIT"]
    session(Says("1/a"), Says("3/a"), Pxp()).replay([], board.left)


def test_what_was_learned_last_is_learned_again_from_the_latest_message() -> None:
    """m learns from h's answer and fails then: on resuming it learns from that, not from INIT."""

    def judge(left: str, right: str) -> bool:
        if left == "4":
            raise RuntimeError("judge fell asleep")
        return left == right

    board, match = ListBoard(), FunctionRelation("failing", judge)
    over = session(Says("1/a", "4/a"), Says("1/b"), Pxp(), match=match, blackboard=board)
    asyncio.run(over.run())
    assert [message.tag for message in over.history] == ["INIT", "REFUTE"]
    m, h = Says("4/a"), Says("1/b")
    session(m, h, Pxp(), match=match).replay(board.entries, board.left)
    assert (m.heard, h.heard) == (["REFUTE"], ["INIT"])


@pytest.mark.parametrize(
    "guards", [ChanceGuards(7), ScriptedGuards(["REF"] * 9)], ids=["chance", "script"]
)
def test_guards_by_chance_or_script_go_on_alike_when_resumed(guards: Any) -> None:
    def make(board: ListBoard) -> Session:
        return session(Says("1/a"), Says("2/b"), Interact(9, 3), guards=guards, blackboard=board)

    whole = ListBoard()
    asyncio.run(make(whole).run())
    resumed = make(ListBoard())
    resumed.replay(whole.entries[:4])
    asyncio.run(resumed.run())
    assert [m.tag for m in resumed.history] == [entry.carried.tag for entry in whole.entries]


def test_a_policy_that_raises_ends_the_session() -> None:
    def policy(received: str, own: str) -> bool:
        raise RuntimeError("no policy")

    over = session(Says("1/a"), Says("1/a"), Pxp(term=policy))
    assert asyncio.run(over.run()).ending is Ending.BROKEN
    assert "policy for TERM" in over.cause


@pytest.mark.parametrize("bound", [2.5, True, "3", 0, -1])
def test_bounds_are_whole_numbers_in_range(bound: Any) -> None:
    for make in (lambda: Interact(bound, 3), lambda: Interact(3, bound), lambda: Pxp(bound)):
        with pytest.raises(UsageError, match="at least 1"):
            make()


@pytest.mark.parametrize("name", ["", "h\nfoo", "a\x1b[31m"])
def test_an_agents_name_is_printable(name: str) -> None:
    one = Agent(Says("1/a"), match=Exact(), agree=Exact())
    with pytest.raises(UsageError, match="printable"):
        Session(Interact(), {"m": one, name: one}, instance=X)
    with pytest.raises(UsageError, match="above 0"):
        Agent(Says("1/a"), match=Exact(), agree=Exact(), timeout=-1)


def test_two_equal_relations_are_one_and_the_same() -> None:
    shared = session(Says("1/a"), Says("1/a"), Interact())
    assert Assumption.SHARED in shared.assumptions
    assert Exact() == Exact()
    assert (Exact() == object()) is False
