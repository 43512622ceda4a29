"""Who decides the guards, and what becomes of a session in which they are not decided rightly."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from guards import AskPerson, ChanceGuards, Derived, Direct, FreeChoice, ScriptedGuards
from pxp_fsm.automata.automaton import Valuation, one_hot
from pxp_fsm.errors import DataError, GuardError, NoAnswer, NotEnabled, UsageError
from pxp_fsm.protocol.decisions import GUARDS
from pxp_fsm.protocol.messages import Answer
from pxp_fsm.protocol.relations import Outcome
from pxp_fsm.protocol.rules import Ending, Interact, Pxp, Rules
from pxp_fsm.protocol.situation import Guards, Situation
from pxp_fsm.sessions.session import Session
from tests.sessions.agents import (
    Asked,
    Deciding,
    ListBoard,
    Saying,
    agent,
    now,
    run,
    session,
    tags,
    yes_or_no,
)

REF = one_hot("REF", GUARDS)


def answered(guards: Guards, rules: Rules | None = None, timeout: float | None = None) -> Session:
    """A session of INTERACT to which h has answered once, or has failed to."""
    made = session(agent(), agent(guards=guards, timeout=timeout), rules or Interact(2, 1))
    now(made.run())
    return made


def says(value: bool) -> Callable[[Situation], Any]:
    async def oracle(_situation: Situation) -> bool:
        return value

    return oracle


@pytest.mark.parametrize("guard", GUARDS)
def test_direct_guards_are_taken_as_they_are(guard: str) -> None:
    expected = {"RAT": "RATIFY", "REF": "REFUTE", "REV": "REVISE", "REJ": "REJECT"}
    made = answered(Direct({name: says(name == guard) for name in GUARDS}))
    assert tags(made) == ("INIT", expected[guard])


def test_direct_guards_are_each_asked_once_in_the_order_of_the_table() -> None:
    order: list[str] = []

    def noting(guard: str) -> Any:
        async def oracle(situation: Situation) -> bool:
            order.append(f"{guard}{situation.number}")
            return guard == "REF"

        return oracle

    answered(Direct({guard: noting(guard) for guard in reversed(GUARDS)}))
    assert order == ["RAT2", "REF2", "REV2", "REJ2"]


def fail(error: Exception) -> Any:
    raise error


WRONG: dict[str, tuple[Callable[[Situation], Any], str]] = {
    "none true": (lambda _: dict.fromkeys(GUARDS, False), "exactly one of RAT, REF, REV, REJ"),
    "two true": (lambda _: REF | {"REV": True}, "must hold, but REF, REV did"),
    "all true": (lambda _: dict.fromkeys(GUARDS, True), "but RAT, REF, REV, REJ did"),
    "one": (lambda _: REF | {"REF": 1}, "a guard must be True or False, not REF=1"),
    "zero": (lambda _: REF | {"RAT": 0}, "a guard must be True or False, not RAT=0"),
    "text": (lambda _: REF | {"REF": "yes"}, "a guard must be True or False, not REF='yes'"),
    "truthy": (lambda _: REF | {"REF": Truth()}, "a guard must be True or False, not REF=truth"),
    "unknown guard": (lambda _: REF | {"X": False}, "speaks of RAT, REF, REV, REJ, X"),
    "guard missing": (lambda _: {"REF": True}, "the valuation speaks of REF"),
    "numbers": (lambda _: {1: True}, "the valuation speaks of 1"),
    "empty": (lambda _: {}, "the valuation speaks of none"),
    "nothing": (lambda _: None, "the valuation speaks of none"),
    "a name": (lambda _: "REF", "a valuation maps each guard to True or False, it is not 'REF'"),
    "names": (lambda _: list(GUARDS), "a valuation maps each guard to True or False"),
    "true": (lambda _: True, "a valuation maps each guard to True or False, it is not True"),
    "raises": (lambda _: fail(ValueError("no idea")), "guards (deciding): ValueError: no idea"),
    "raises ours": (lambda _: fail(GuardError("no idea")), "no idea"),
    "not enabled": (lambda _: fail(NotEnabled("no row")), "NotEnabled: no row"),
    "bad data": (lambda _: fail(DataError("line 3")), "guards (deciding): DataError: line 3"),
    "bad use": (lambda _: fail(UsageError("n = 0")), "guards (deciding): UsageError: n = 0"),
}


class Truth:
    """True to `if` and equal to True, as numpy's booleans are, and yet no bool."""

    def __eq__(self, other: object) -> bool:
        return other is True

    def __hash__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return "truth"


@pytest.mark.parametrize("case", WRONG)
def test_guards_that_are_wrong_end_the_session_broken_with_the_cause(case: str) -> None:
    say, cause = WRONG[case]
    board = ListBoard()
    made = run(agent(), agent(guards=Deciding(say)), Interact(), board=board)
    assert made.ending is Ending.BROKEN
    assert cause in made.cause
    assert board.endings == [("s", "broken", made.cause)]
    assert tags(made) == ("INIT",)
    assert made.states == {"m": "WAIT", "h": "DECIDE"}


def test_a_guard_without_an_oracle_is_told() -> None:
    made = answered(Direct({"RAT": says(True)}))
    assert made.ending is Ending.BROKEN
    assert made.cause == "no oracle was given for guard REF, REV, REJ"


def test_guards_that_are_late_and_answers_that_fail_within_them_keep_their_endings() -> None:
    late = answered(Deciding(lambda _: asyncio.sleep(600)), timeout=0.2)
    assert late.ending is Ending.LATE
    assert late.cause == "guards (deciding): no answer within 0.2 s"
    read = answered(Deciding(lambda _: fail(TimeoutError("read timed out"))))
    assert (read.ending, read.cause) == (Ending.LATE, "guards (deciding): read timed out")
    none = answered(Deciding(lambda _: fail(NoAnswer("the model refused"))))
    assert (none.ending, none.cause) == (Ending.NO_ANSWER, "the model refused")


@pytest.mark.parametrize("rules", [Interact(6, 4), Interact(6, 1), Pxp()])
def test_reject_is_refused_as_long_as_no_judgement_could_have_led_to_it(rules: Rules) -> None:
    """Whoever decides: a script, oracles of one's own, a person."""
    first = rules.k + 1 if isinstance(rules, Interact) else 2
    everyone = agent(guards=ScriptedGuards(["REJ"])), agent(guards=ScriptedGuards(["REF", "REJ"]))
    made = run(*everyone, rules)
    if first > 3:
        assert made.ending is Ending.BROKEN
        assert "REJ can hold in no case at message 3; possible there: RAT, REF, REV" in made.cause
        assert tags(made) == ("INIT", "REFUTE")
    else:
        assert tags(made)[:3] == ("INIT", "REFUTE", "REJECT")


def test_a_script_is_followed_and_when_it_is_used_up_that_is_told() -> None:
    m, h = agent(guards=ScriptedGuards(["REV"])), agent(guards=ScriptedGuards(["REF", "RAT"]))
    made = run(m, h, Interact())
    assert tags(made) == ("INIT", "REFUTE", "REVISE", "RATIFY")
    assert made.ending is Ending.BROKEN
    assert made.cause == "the script has no guard left for message 5"
    wrong = answered(ScriptedGuards(["REFUTE"]))
    assert wrong.cause == "there is no guard 'REFUTE'; there are RAT, REF, REV, REJ"


def test_chance_is_the_same_again_by_its_seed_and_picks_what_is_allowed() -> None:
    def played(seed: int, rules: Rules, weights: dict[str, float] | None = None) -> tuple[str, ...]:
        m = agent(guards=ChanceGuards(seed, weights))
        return tags(run(m, agent(guards=ChanceGuards(seed + 1, weights)), rules))

    games = [played(seed, Interact(12, 6)) for seed in range(40)]
    assert games == [played(seed, Interact(12, 6)) for seed in range(40)]
    assert {tag for game in games for tag in game} == {"INIT", *ANSWERED}
    assert all("REJECT" not in game[:6] for game in games)
    only = {"RAT": 0.0, "REV": 0.0, "REJ": 0.0}
    assert played(1, Interact(5, 1), only) == ("INIT", *["REFUTE"] * 4)


ANSWERED = ("RATIFY", "REFUTE", "REVISE", "REJECT")


def test_a_free_choice_is_among_all_that_could_hold_and_nothing_else() -> None:
    offered: list[tuple[int, tuple[str, ...]]] = []

    def refute(options: Sequence[str]) -> str:
        offered.append((len(offered) + 2, tuple(options)))
        return "REF"

    guards = FreeChoice(refute)
    run(agent(guards=guards), agent(guards=guards), Interact(6, 4))
    assert offered == [(j, GUARDS if j > 4 else GUARDS[:3]) for j in range(2, 7)]
    assert answered(FreeChoice(lambda _: "X")).cause.startswith("there is no guard 'X'")


class Chemist:
    """A person who says what was planned, after a moment."""

    def __init__(self, *plan: Any) -> None:
        self.plan = list(plan)
        self.offers: list[tuple[str, ...]] = []

    async def choose(self, situation: Situation, allowed: Sequence[str]) -> str:
        assert tuple(allowed) == situation.allowed
        self.offers.append(tuple(allowed))
        await asyncio.sleep(0)
        said: str = self.plan.pop(0)
        return said


def test_a_person_names_the_guard_and_only_an_allowed_one_counts() -> None:
    chemist = Chemist("REF", "REJ")
    m = agent(guards=FreeChoice(lambda _: "REV"))
    made = run(m, agent(guards=AskPerson(chemist)), Interact(10, 3))
    assert tags(made) == ("INIT", "REFUTE", "REVISE", "REJECT")
    assert made.ending is Ending.REJECTED
    assert chemist.offers == [GUARDS[:3], GUARDS]
    for said in ("REJ", "REFUTE", "", None, True):
        made = answered(AskPerson(Chemist(said)), Interact(10, 3))
        assert made.ending is Ending.BROKEN
        assert made.cause == f"{said!r} is not allowed at message 2; allowed: RAT, REF, REV"


def test_what_guards_raise_is_raised_but_for_what_they_say_in_our_words() -> None:
    def decide(_situation: Situation) -> Valuation:
        raise DataError("there is no such row")

    made = session(agent(), agent(guards=Deciding(decide)), Interact(), record_faults=False)
    now(made.run())
    assert (made.ending, made.fault) == (Ending.BROKEN, None)
    assert made.cause == "guards (deciding): DataError: there is no such row"
    broken = agent(guards=Deciding(lambda _: 1 / 0))
    with pytest.raises(ZeroDivisionError):
        now(session(agent(), broken, Interact(), record_faults=False).run())


@pytest.mark.parametrize("rules", [Interact(6, 3), Pxp(2)])
def test_guards_of_ones_own_may_begin_with_the_derived_ones(rules: Rules) -> None:
    def played(guards: Guards | None) -> list[tuple[str, Answer]]:
        given = iter([Answer("y", "mine")])
        follower = Saying(lambda question: next(given, question.history[-1].answer))
        stubborn = agent(Saying(lambda _: Answer("y", "yours")))
        made = run(stubborn, agent(follower, guards=guards), rules)
        return [(message.tag, message.answer) for message in made.history]

    expected = played(None)
    assert played(Deciding(lambda situation: situation.derived())) == expected
    assert "REVISE" in dict(expected)


@pytest.mark.parametrize("rules", [Interact(7, 9), Pxp(3)])
def test_an_oracle_agent_stands_by_its_first_answer(rules: Rules) -> None:
    """Whatever its respondent says later; what would be REVISE is REFUTE."""
    answers = iter(range(99))
    sure = agent(Saying(lambda _: Answer(f"y{next(answers)}", "e")), guards=Derived(revises=False))
    made = run(sure, agent(Saying(lambda _: Answer("no", "e"))), rules)
    own = {message.answer for message in made.history if message.sender == "m"}
    assert own == {Answer("y0", "e")}
    assert "REVISE" not in tags(made)[::2]
    assert len(made.history) > 4


def test_the_time_of_guards_stands_still_while_a_relation_is_asked() -> None:
    """Each question takes most of the time that there is for one; both together take more."""
    skipped = [0.0]

    async def slowly(_left: str, _right: str) -> Outcome:
        skipped[0] += 50
        for _ in range(3):
            await asyncio.sleep(0)
        return Outcome.NO

    async def played() -> Session:
        loop = asyncio.get_running_loop()
        real = loop.time
        loop.time = lambda: real() + skipped[0]  # type: ignore[method-assign] # nobody waits
        judge = Asked(slowly)
        h = agent(Saying(lambda _: Answer("a", "b")), match=judge, timeout=60)
        return await session(agent(), h, Interact(2, 1)).run()

    made = now(played())
    assert (made.ending, made.cause) == (Ending.REJECTED, "INIT REJECT")
    assert skipped == [100]


def test_guards_have_their_whole_time_again_after_a_question_within_them() -> None:
    async def decide(situation: Situation) -> Valuation:
        await situation.revised()
        for _ in range(3):
            await asyncio.sleep(0)
        return situation.choosing("REF")

    made = run(agent(), agent(guards=Deciding(decide), timeout=60), Pxp(), limit=2)
    assert (made.ending, tags(made)) == (Ending.LIMIT, ("INIT", "REFUTE"))


def test_the_time_of_guards_is_over_once_they_have_decided() -> None:
    """A question that comes after it has no such clock to stop."""
    guards = Deciding(lambda situation: situation.choosing("REF"))
    made = run(agent(), agent(guards=guards, timeout=60), Pxp(), limit=4)
    assert (made.ending, len(made.history)) == (Ending.LIMIT, 4)


def test_the_time_of_guards_goes_on_after_a_question_within_them() -> None:
    async def decide(situation: Situation) -> Valuation:
        await situation.revised()
        await asyncio.sleep(3600)
        return situation.choosing("REF")

    made = run(agent(), agent(guards=Deciding(decide), timeout=0.2), Pxp())
    assert made.ending is Ending.LATE
    assert made.cause == "guards (deciding): no answer within 0.2 s"


@pytest.mark.parametrize("rules", [Interact(4, 1), Interact(4, 4), Pxp()])
@pytest.mark.parametrize("match", [True, False])
@pytest.mark.parametrize("agree", [True, False])
def test_derived_guards_ask_no_more_than_the_guard_depends_on(
    rules: Rules, match: bool, agree: bool
) -> None:
    """The revision is looked at in B and C, and in D while REJECT is not yet allowed."""
    answers = iter(range(99))
    student = Saying(lambda _: Answer(f"y{next(answers)}", "e"))
    first = Saying(lambda _: Answer("y", "other"))
    matching = Asked(lambda *_: yes_or_no(match))
    agreeing = Asked(lambda *_: yes_or_no(agree))
    h = agent(student, match=matching, agree=agreeing)
    made = session(agent(first), h, rules)
    now(made.step())
    now(made.step())
    undecided = match is not agree or (
        not match and isinstance(rules, Interact) and rules.k >= made.history[-1].number
    )
    judged_received = [("y", "y0")]
    if undecided and isinstance(rules, Pxp):
        judged_received.append(("y1", "y"))
    assert matching.pairs == judged_received
    assert agreeing.pairs[0] == ("other", "e")
    assert student.asked == (2 if undecided and isinstance(rules, Pxp) else 1)


def test_unsure_counts_as_not_holding() -> None:
    unsure = Asked(lambda *_: Outcome.UNSURE)
    made = run(agent(), agent(Saying(lambda _: Answer("a", "b")), match=unsure), Pxp())
    assert tags(made)[:2] == ("INIT", "REJECT")
