"""MATCH and AGREE as a session asks them: what is remembered, what ends a session, what is true."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from itertools import product
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guards import ChanceRelation, FunctionRelation, ScriptedRelation
from pxp_fsm.errors import GuardError, UsageError
from pxp_fsm.protocol.messages import Answer
from pxp_fsm.protocol.relations import (
    EQUIVALENCE,
    MEMO_GIVES,
    NOISY,
    TOLERANCE,
    Assumption,
    Judgement,
    OracleFailed,
    Outcome,
    RelationReply,
    Relations,
    digest,
    held,
    overdue,
    session_assumptions,
)
from pxp_fsm.protocol.rules import Ending, Interact
from tests.sessions.agents import EXACT, Asked, ListBoard, Saying, agent, now, run, yes_or_no

QUESTIONS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), max_size=12)


def flip_flop() -> Callable[[str, str], Outcome]:
    """Yes, no, yes, no, whatever it is asked."""
    said = [Outcome.NO]

    def say(_left: str, _right: str) -> Outcome:
        said.append(yes_or_no(said[-1] is Outcome.NO))
        return said[-1]

    return say


def ask_all(relations: Relations, questions: list[tuple[str, str]]) -> list[bool]:
    async def all_of_them() -> list[bool]:
        return [await relations.match(left, right) for left, right in questions]

    return now(all_of_them())


@settings(max_examples=100, deadline=None)
@given(QUESTIONS)
def test_with_memo_an_ordered_pair_is_asked_once_and_a_text_never_with_itself(
    questions: list[tuple[str, str]],
) -> None:
    oracle = Asked(flip_flop())
    relations = Relations(oracle, EXACT)
    answers = ask_all(relations, questions)
    assert oracle.pairs == [pair for pair in dict.fromkeys(questions) if pair[0] != pair[1]]
    by_pair = dict(zip(reversed(questions), reversed(answers), strict=True))
    assert answers == [by_pair[pair] for pair in questions]
    assert all(by_pair[left, right] for left, right in by_pair if left == right)
    log = relations.take_log()
    assert [j.asked for j in log] == [
        pair[0] != pair[1] and pair not in questions[:place] for place, pair in enumerate(questions)
    ]
    assert [(j.left, j.right) for j in log] == [(digest(a), digest(b)) for a, b in questions]
    assert [j.outcome is Outcome.YES for j in log] == answers
    assert relations.take_log() == ()


@settings(max_examples=50, deadline=None)
@given(QUESTIONS)
def test_without_memo_every_question_is_asked(questions: list[tuple[str, str]]) -> None:
    oracle = Asked(flip_flop())
    relations = Relations(oracle, EXACT, memo=False)
    answers = ask_all(relations, questions)
    assert oracle.pairs == questions
    assert answers == [place % 2 == 0 for place in range(len(questions))]
    assert all(j.asked and j.seconds >= 0 for j in relations.take_log())


def test_match_and_agree_are_remembered_apart() -> None:
    match, agree = Asked(lambda *_: Outcome.YES), Asked(lambda *_: Outcome.NO)
    relations = Relations(match, agree)
    assert now(relations.match("a", "b"))
    assert not now(relations.agree("a", "b"))
    assert match.pairs == agree.pairs == [("a", "b")]


def test_what_was_judged_before_an_interruption_is_not_asked_again() -> None:
    first = Relations(Asked(flip_flop()), EXACT)
    answers = ask_all(first, [("a", "b"), ("b", "a")])
    later = Asked(lambda *_: Outcome.BROKEN)
    resumed = Relations(later, EXACT)
    resumed.remember(first.take_log())
    assert ask_all(resumed, [("a", "b"), ("b", "a"), ("a", "b")]) == [*answers, answers[0]]
    assert later.pairs == []
    forgetful = Relations(Asked(lambda *_: Outcome.NO), EXACT, memo=False)
    forgetful.remember([Judgement("MATCH", digest("a"), digest("b"), Outcome.YES, True, 0.0)])
    assert ask_all(forgetful, [("a", "b")]) == [False]


def test_unsure_does_not_hold_and_is_remembered() -> None:
    oracle = Asked(lambda *_: Outcome.UNSURE)
    relations = Relations(oracle, EXACT)
    assert ask_all(relations, [("a", "b"), ("a", "b")]) == [False, False]
    assert len(oracle.pairs) == 1
    assert [j.outcome for j in relations.take_log()] == [Outcome.UNSURE] * 2


def fail(error: Exception) -> Any:
    raise error


FAILURES: dict[str, tuple[Callable[[str, str], Any], Outcome, str]] = {
    "raises": (lambda *_: fail(ValueError("no such molecule")), Outcome.BROKEN, "ValueError: no"),
    "raises ours": (lambda *_: fail(GuardError("used up")), Outcome.BROKEN, "used up"),
    "sleeps": (lambda *_: asyncio.sleep(600), Outcome.LATE, "no answer within 0.05 s"),
    "times out": (lambda *_: fail(TimeoutError("read timed out")), Outcome.LATE, "read timed out"),
    "says late": (lambda *_: Outcome.LATE, Outcome.LATE, "it answered 'late' itself"),
    "says broken": (lambda *_: Outcome.BROKEN, Outcome.BROKEN, "it answered 'broken' itself"),
    "true": (lambda *_: True, Outcome.BROKEN, "answered True, which is not an Outcome"),
    "text": (lambda *_: "yes", Outcome.BROKEN, "answered 'yes', which is not an Outcome"),
    "one": (lambda *_: 1, Outcome.BROKEN, "answered 1, which is not an Outcome"),
    "reply of a text": (
        lambda *_: RelationReply("yes"),  # type: ignore[arg-type] # it is refused
        Outcome.BROKEN,
        "which is not an Outcome",
    ),
    "none": (lambda *_: None, Outcome.BROKEN, "answered None, which is not an Outcome"),
}


def patience(outcome: Outcome) -> float:
    """In seconds: no time at all for who never answers, and enough for everybody else."""
    return 0.05 if outcome is Outcome.LATE else 60


@pytest.mark.parametrize("memo", [True, False])
@pytest.mark.parametrize("case", FAILURES)
def test_a_failure_is_told_with_its_cause_and_not_remembered(case: str, memo: bool) -> None:
    say, outcome, cause = FAILURES[case]
    oracle = Asked(say, name="judge")
    relations = Relations(EXACT, oracle, memo=memo, timeout=patience(outcome))
    for _ in range(2):
        with pytest.raises(OracleFailed) as caught:
            now(relations.agree("a", "b"))
        assert caught.value.outcome is outcome
        assert str(caught.value).startswith("AGREE (judge): ")
        assert cause in str(caught.value)
    assert len(oracle.pairs) == 2
    assert [j.outcome for j in relations.take_log()] == [outcome] * 2


@pytest.mark.parametrize("case", FAILURES)
def test_a_failure_ends_the_session_with_its_cause(case: str) -> None:
    say, outcome, cause = FAILURES[case]
    board = ListBoard()
    texts = iter("abc")
    m, h = (
        agent(
            Saying(lambda _question: Answer("y", next(texts))),
            match=EXACT,
            agree=Asked(say, name="judge"),
            timeout=patience(outcome),
        )
        for name in "mh"
    )
    ended = run(m, h, Interact(), board=board)
    assert ended.ending is (Ending.LATE if outcome is Outcome.LATE else Ending.BROKEN)
    assert cause in ended.cause
    assert [entry.carried.tag for entry in board.entries] == ["INIT"]
    assert board.endings == [("s", ended.ending.value, ended.cause)]
    with pytest.raises(UsageError, match="session s has ended"):
        now(ended.step())


@pytest.mark.parametrize("memo", [True, False])
def test_what_may_be_assumed_is_what_both_relations_give_and_what_memo_adds(memo: bool) -> None:
    """All 32 x 32 pairs of assumptions, for one agent."""
    singles = sorted(Assumption)
    every = [
        frozenset(a for a, chosen in zip(singles, bits, strict=True) if chosen)
        for bits in product((False, True), repeat=len(singles))
    ]
    added = MEMO_GIVES if memo else NOISY
    for match, agree in product(every, repeat=2):
        relations = Relations(
            FunctionRelation("m", str.__eq__, match),
            FunctionRelation("a", str.__eq__, agree),
            memo=memo,
        )
        assert relations.assumptions() == ((match & agree) | added) - {Assumption.SHARED}


def test_shared_is_one_deterministic_object_and_nothing_less() -> None:
    other = FunctionRelation("exact", str.__eq__, EQUIVALENCE)
    noisy = ChanceRelation(1)

    def together(left: Relations, right: Relations) -> frozenset[Assumption]:
        return session_assumptions(left, right)

    assert together(Relations(EXACT, EXACT), Relations(EXACT, EXACT)) == EQUIVALENCE
    tolerant = FunctionRelation("close", lambda a, b: a[:1] == b[:1], TOLERANCE)
    assert together(Relations(EXACT, tolerant), Relations(EXACT, tolerant)) == TOLERANCE
    apart = together(Relations(EXACT, EXACT), Relations(EXACT, other))
    assert apart == EQUIVALENCE - {Assumption.SHARED}
    assert together(Relations(noisy, noisy), Relations(noisy, noisy)) == MEMO_GIVES
    reflexive = FunctionRelation("itself", str.__eq__, frozenset({Assumption.REFLEXIVE}))
    assert Assumption.SHARED not in together(*[Relations(reflexive, reflexive)] * 2)
    bare = (Relations(noisy, noisy, memo=False), Relations(noisy, noisy, memo=False))
    assert together(*bare) == NOISY


def test_what_is_assumed_of_a_session_is_assumed_of_both_agents() -> None:
    symmetric = FunctionRelation("symmetric", str.__eq__, frozenset({Assumption.SYMMETRIC}))
    one = Relations(symmetric, symmetric, memo=False)
    other = Relations(EXACT, EXACT, memo=False)
    neither = Relations(ChanceRelation(1), EXACT, memo=False)
    for left, right in ((one, other), (other, one)):
        assert session_assumptions(left, right) == {Assumption.SYMMETRIC}
    for left, right in ((neither, other), (other, neither)):
        assert session_assumptions(left, right) == NOISY


class Recording(Asked):
    """A relation that keeps the name of each session in which it is asked."""

    sessions: ClassVar[list[str]] = []

    def for_session(self, session: str) -> Recording:
        self.sessions.append(session)
        return Recording(self.say, f"{self.name} in {session}", pairs=self.pairs)


def test_a_relation_that_depends_on_the_session_is_asked_in_it() -> None:
    judge = Recording(lambda *_: Outcome.NO, name="judge")
    m = agent(Saying(lambda _question: Answer("a", "b")))
    made = run(m, agent(match=judge, agree=EXACT), Interact(2, 2))
    assert made.ending is Ending.BOUND
    assert judge.sessions == ["s"]
    assert judge.pairs == [("a", "same")]


def test_an_outcome_alone_has_nothing_stored_beside_it() -> None:
    said = iter([Outcome.YES, RelationReply(Outcome.NO, "two atoms differ", asked=False)])
    relations = Relations(Asked(lambda *_: next(said)), EXACT)
    assert ask_all(relations, [("a", "b"), ("b", "a"), ("a", "b"), ("a", "a")]) == [
        *(True, False, True, True)
    ]
    logged = [(one.outcome, one.asked, one.detail) for one in relations.take_log()]
    assert logged == [
        (Outcome.YES, True, ""),
        (Outcome.NO, False, "two atoms differ"),
        (Outcome.YES, False, "judged before"),
        (Outcome.YES, False, "same text"),
    ]
    assert relations.take_log() == ()


def test_a_judgement_says_how_long_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    now_is = [100.0]

    def say(_left: str, _right: str) -> Outcome:
        now_is[0] += 7.0
        return Outcome.YES

    monkeypatch.setattr(time, "perf_counter", lambda: now_is[0])
    relations = Relations(Asked(say), EXACT)
    ask_all(relations, [("a", "b"), ("a", "b")])
    assert [one.seconds for one in relations.take_log()] == [7.0, 0.0]


def test_the_last_instant_of_a_timeout_is_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "perf_counter", lambda: 5.0)
    assert [overdue(5.0 - spent, 2.0) for spent in (1.0, 2.0, 2.5)] == [False, False, True]
    assert not overdue(-1e9, None)


def test_relations_from_a_script_from_chance_and_from_a_function() -> None:
    script = ScriptedRelation([Outcome.YES, Outcome.UNSURE])
    relations = Relations(script, script, memo=False)
    assert ask_all(relations, [("a", "b"), ("a", "b")]) == [True, False]
    with pytest.raises(OracleFailed, match="the script has no outcome left"):
        ask_all(relations, [("a", "b")])
    questions = [("a", "b")] * 200
    first, again, other = (
        ask_all(Relations(ChanceRelation(seed), EXACT, memo=False), questions) for seed in (1, 1, 2)
    )
    assert first == again != other
    assert 50 < sum(first) < 150
    for rate, outcome in ((0.0, False), (1.0, True)):
        sure = Relations(ChanceRelation(1, rate), EXACT, memo=False)
        assert ask_all(sure, questions) == [outcome] * 200
    longer = FunctionRelation("longer", lambda left, right: len(left) > len(right))
    assert ask_all(Relations(longer, EXACT), [("aa", "b"), ("b", "aa")]) == [True, False]
    assert longer.assumptions == NOISY


def test_half_characters_have_digests_of_their_own() -> None:
    assert digest("\ud800") != digest("\ud801") != digest("?")


def test_a_recorded_outcome_says_whether_the_relation_held() -> None:
    """UNSURE counts as no (section 2); what failed says nothing."""
    known = {Outcome.YES: True, Outcome.NO: False, Outcome.UNSURE: False}
    assert {outcome: held(outcome) for outcome in Outcome} == dict.fromkeys(Outcome) | known
