"""LEARN under control: what is kept, what is refused, and that a resumed run decides the same."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.rules.prover import prove
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.serialization import canonical_json
from pxp_fsm.automata.tables import parse_automaton
from pxp_fsm.errors import NoAnswer, Refused, UsageError
from pxp_fsm.protocol.messages import Answer, Episode, Instance, Message, Question
from pxp_fsm.protocol.relations import LEARN, Outcome
from pxp_fsm.protocol.rules import Ending, Interact, Pxp
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.learning import Gate, Gated, Keep, Weighing, gate_table
from pxp_fsm.sessions.session import Session
from tests.sessions.agents import EXACT, ListBoard, now

X = Instance("x", "an instance")
ROWS = [(Instance(f"v{i}", ""), f"right {i}") for i in range(4)]


class Pupil:
    """A local learner: each lesson that it learns makes `gain` more validation answers right."""

    name = "pupil"

    def __init__(self, gain: int = 1, lessons: int = 0) -> None:
        self.gain, self.lessons, self.asked = gain, lessons, 0

    def copy(self) -> Pupil:
        return Pupil(self.gain, self.lessons)

    def learn(self, instance: Instance, message: Message) -> None:
        self.lessons += 1

    async def answer(self, question: Question) -> Answer:
        self.asked += 1
        if question.instance.key.startswith("v"):
            number = int(question.instance.key[1:])
            right = number < 1 + self.gain * self.lessons
            return Answer(f"right {number}" if right else "wrong", "")
        return Answer(f"y{self.lessons}", f"e{self.lessons}")


class Reader:
    """Learns nothing by itself, as a model: all that it knows is the context that it is shown."""

    name = "reader"

    def __init__(self, gain: int = 1) -> None:
        self.gain = gain
        self.shown: list[tuple[int, ...]] = []

    async def answer(self, question: Question) -> Answer:
        told = [*question.history]
        for episode in question.earlier:
            told.extend(episode.history)
        heard = sum(message.sender == "h" for message in told)
        if question.instance.key.startswith("v"):
            number = int(question.instance.key[1:])
            return Answer(f"right {number}" if number < 1 + self.gain * heard else "wrong", "")
        self.shown.append(tuple(message.number for message in question.history))
        return Answer(f"y{heard}", f"e{heard}")


class Wall:
    """Never changes its answer, and nobody's is the same."""

    name = "wall"

    async def answer(self, question: Question) -> Answer:
        return Answer("wall", "wall")


def session(
    respondent: Pupil | Reader, gate: Gate | None, rules: Interact | Pxp, board: ListBoard
) -> Session:
    members = {
        "m": Agent(respondent, match=EXACT, agree=EXACT, gate=gate),
        "h": Agent(Wall(), match=EXACT, agree=EXACT),
    }
    return Session(rules, members, instance=X, name="s", blackboard=board, record_faults=True)


def told(board: ListBoard) -> list[str]:
    """What the machine predicted, message by message."""
    return [e.carried.answer.prediction for e in board.entries if e.carried.sender == "m"]


def decisions(board: ListBoard) -> list[tuple[Outcome, dict[str, int] | None]]:
    found = [j for entry in board.entries for j in entry.judgements if j.relation == LEARN]
    return [(j.outcome, json.loads(j.detail) if j.detail else None) for j in found]


SEVEN = Interact(7, 9)


@pytest.mark.parametrize("gated", list(Gated))
@pytest.mark.parametrize("kind", [Pupil, Reader])
def test_a_revision_is_kept_where_accuracy_improves(
    kind: type[Pupil] | type[Reader], gated: Gated
) -> None:
    """One right of four to begin with, one more by each lesson; at four nothing improves."""
    board = ListBoard()
    now(session(kind(), Gate(Keep.BETTER, gated, ROWS), SEVEN, board).run())
    assert told(board) == ["y0", "y1", "y2", "y3"]
    after = [weighed["after"] for _, weighed in decisions(board) if weighed]
    assert after == [2, 3, 4]
    assert {outcome for outcome, _ in decisions(board)} == {Outcome.YES}


@pytest.mark.parametrize("kind", [Pupil, Reader])
@pytest.mark.parametrize(
    ("keep", "gain", "kept"),
    [
        (Keep.BETTER, 0, False),
        (Keep.EQUAL, 0, True),
        (Keep.BETTER, -1, False),
        (Keep.EQUAL, -1, False),
        (Keep.NEVER, 1, False),
    ],
)
def test_policies_differ_where_accuracy_stays_or_falls(
    kind: type[Pupil] | type[Reader], keep: Keep, gain: int, kept: bool
) -> None:
    board = ListBoard()
    now(session(kind(gain), Gate(keep, Gated.CONTEXT, ROWS), SEVEN, board).run())
    assert told(board) == (["y0", "y1", "y2", "y3"] if kept else ["y0"] * 4)
    assert {outcome for outcome, _ in decisions(board)} == {Outcome.YES if kept else Outcome.NO}


def test_a_refused_revision_leaves_the_lesson_and_a_refused_context_takes_it_back() -> None:
    pupils = {}
    for gated in Gated:
        pupils[gated] = Pupil(gain=0)
        now(session(pupils[gated], Gate(Keep.BETTER, gated, ROWS), SEVEN, ListBoard()).run())
    assert pupils[Gated.REVISION].lessons == 3
    assert pupils[Gated.CONTEXT].lessons == 0


def test_a_last_lesson_is_kept_where_only_revisions_are_gated() -> None:
    for gated, lessons in ((Gated.REVISION, 3), (Gated.CONTEXT, 2)):
        pupil = Pupil()
        now(session(pupil, Gate(Keep.BETTER, gated, ROWS), Interact(6, 9), ListBoard()).run())
        assert pupil.lessons == lessons


def test_a_refused_message_is_not_in_the_context_that_a_model_is_shown() -> None:
    """Its answer, which repeats the one before, leaves with it: the two still alternate."""
    reader, board = Reader(gain=0), ListBoard()
    now(session(reader, Gate(Keep.BETTER, Gated.CONTEXT, ROWS), SEVEN, board).run())
    assert reader.shown == [(), (1, 2), (1, 4), (1, 6)]
    reader = Reader(gain=0)
    now(session(reader, Gate(Keep.BETTER, Gated.REVISION, ROWS), SEVEN, ListBoard()).run())
    assert reader.shown == [(), (1, 2), (1, 2, 3, 4), (1, 2, 3, 4, 5, 6)]


def test_what_later_sessions_are_carried_on_from_leaves_out_what_was_refused() -> None:
    gate = Gate(Keep.BETTER, Gated.CONTEXT, ROWS)
    made = session(Reader(gain=0), gate, SEVEN, ListBoard())
    now(made.run())
    assert [m.number for m in made.episodes()["m"].history] == [1]
    assert [m.number for m in made.episodes()["h"].history] == [1, 2, 3, 4, 5, 6, 7]


def test_a_session_is_carried_on_from_the_episodes_before_it() -> None:
    seen: list[tuple[Episode, ...]] = []

    class Noting(Wall):
        async def answer(self, question: Question) -> Answer:
            seen.append(question.earlier)
            return Answer("a", "a")

    before = Episode(Instance("z", "z"), (Message("r", 1, "m", "INIT", Answer("", ""), "h"),))
    members = {name: Agent(Noting(), match=EXACT, agree=EXACT) for name in ("m", "h")}
    now(Session(Interact(2, 1), members, instance=X, earlier={"m": (before,)}).run())
    assert seen == [(before,), ()]


def test_nothing_is_weighed_where_no_answer_is_revised() -> None:
    class Stubborn(Pupil):
        def copy(self) -> Stubborn:
            return Stubborn(self.gain, self.lessons)

        async def answer(self, question: Question) -> Answer:
            assert not question.instance.key.startswith("v")
            return Answer("y", "e")

    board, pupil = ListBoard(), Stubborn()
    now(session(pupil, Gate(Keep.BETTER, Gated.REVISION, ROWS), SEVEN, board).run())
    assert decisions(board) == [(Outcome.YES, None)] * 3
    assert pupil.lessons == 3


def test_pxp_learns_under_control_too() -> None:
    class Echo(Wall):
        async def answer(self, question: Question) -> Answer:
            return Answer("y0", "other")

    def run(gain: int) -> tuple[ListBoard, Pupil]:
        board, pupil = ListBoard(), Pupil(gain)
        gate = Gate(Keep.BETTER, Gated.CONTEXT, ROWS)
        members = {
            "m": Agent(pupil, match=EXACT, agree=EXACT, gate=gate),
            "h": Agent(Echo(), match=EXACT, agree=EXACT),
        }
        now(Session(Pxp(2), members, instance=X, blackboard=board).run())
        return board, pupil

    assert told(run(1)[0])[:2] == ["y0", "y1"]
    board, pupil = run(0)
    assert set(told(board)) == {"y0"}
    assert pupil.lessons == 0


@settings(max_examples=60)
@given(
    keep=st.sampled_from([Keep.BETTER, Keep.EQUAL, Keep.NEVER]),
    gated=st.sampled_from(list(Gated)),
    gain=st.integers(-1, 2),
    kind=st.sampled_from([Pupil, Reader]),
    pxp=st.booleans(),
    after=st.integers(0, 8),
)
def test_a_session_that_is_resumed_decides_as_one_that_was_not_stopped(
    keep: Keep, gated: Gated, gain: int, kind: type[Pupil] | type[Reader], pxp: bool, after: int
) -> None:
    """And of what is stored nothing is weighed again."""
    rules = Pxp(2) if pxp else SEVEN

    def outline(board: ListBoard) -> list[tuple[Message, list[tuple[str, Outcome, str]]]]:
        return [
            (e.carried, [(j.relation, j.outcome, j.detail) for j in e.judgements])
            for e in board.entries
        ]

    whole, whole_gate, first = ListBoard(), Gate(keep, gated, ROWS), kind(gain)
    now(session(first, whole_gate, rules, whole).run())
    stored: list[Event] = whole.entries[:after]
    board, gate, second = ListBoard(entries=list(stored)), Gate(keep, gated, ROWS), kind(gain)
    resumed = session(second, gate, rules, board)
    resumed.replay(stored)
    if isinstance(second, Pupil):
        assert second.asked == 0
    if resumed.ending is None:
        now(resumed.run())
    assert outline(board) == outline(whole)
    assert gate.standing == whole_gate.standing
    if isinstance(first, Pupil) and isinstance(second, Pupil):
        assert second.lessons == first.lessons


def test_a_validation_instance_without_an_answer_counts_as_wrong() -> None:
    class Silent(Pupil):
        def copy(self) -> Silent:
            return Silent(self.gain, self.lessons)

        async def answer(self, question: Question) -> Answer:
            if question.instance.key == "v0":
                raise NoAnswer("none")
            return await super().answer(question)

    board = ListBoard()
    now(session(Silent(), Gate(Keep.BETTER, Gated.CONTEXT, ROWS), Interact(3, 9), board).run())
    assert decisions(board) == [(Outcome.YES, {"before": 0, "after": 1, "of": 4, "unanswered": 1})]


def test_a_match_that_fails_on_the_validation_set_ends_the_session_as_broken() -> None:
    class Torn:
        name, assumptions = "torn", EXACT.assumptions

        async def holds(self, left: str, right: str) -> Outcome:
            if right.startswith("right"):
                raise ValueError("torn")
            return Outcome.NO

    gate = Gate(Keep.BETTER, Gated.CONTEXT, ROWS)
    members = {
        "m": Agent(Pupil(), match=Torn(), agree=EXACT, gate=gate),
        "h": Agent(Wall(), match=Torn(), agree=EXACT),
    }
    made = Session(SEVEN, members, instance=X)
    with pytest.raises(ValueError, match="torn"):
        now(made.run())
    assert made.ending is Ending.BROKEN
    assert "MATCH (torn) on a validation instance: ValueError: torn" in made.cause


def test_a_gate_that_could_not_decide_is_refused() -> None:
    with pytest.raises(UsageError, match="requires a validation set"):
        Gate(Keep.BETTER)
    with pytest.raises(UsageError, match="takes no gate"):
        Gate(Keep.ALWAYS, rows=ROWS)

    class Sealed(Wall):
        name = "sealed"

        def learn(self, instance: Instance, message: Message) -> None:
            pass

    with pytest.raises(UsageError, match="sealed learns and cannot be copied"):
        Agent(Sealed(), match=EXACT, agree=EXACT, gate=Gate(Keep.BETTER, rows=ROWS))


def test_a_stored_decision_that_is_none_is_refused() -> None:
    board = ListBoard()
    now(session(Pupil(), Gate(Keep.BETTER, Gated.REVISION, ROWS), SEVEN, board).run())
    third = board.entries[2]
    for detail in (
        "[]",
        "{",
        '{"before": 1, "after": "2"}',
        '{"before": 1}',
        '{"before": "1", "after": 2}',
        '{"x": 1}',
        "1",
    ):
        forged = tuple(
            replace(j, detail=detail) if j.relation == LEARN else j for j in third.judgements
        )
        made = session(Pupil(), Gate(Keep.BETTER, Gated.REVISION, ROWS), SEVEN, ListBoard())
        with pytest.raises(Refused, match="not a weighing"):
            made.replay([*board.entries[:2], replace(third, judgements=forged)])


def test_the_gate_is_part_of_what_an_agent_is_recorded_as() -> None:
    gate = Gate(Keep.EQUAL, Gated.CONTEXT, ROWS)
    agent = Agent(Pupil(), match=EXACT, agree=EXACT, gate=gate)
    assert agent.describe().endswith("LEARN=equal-context-of-4")


class Rated(Pupil):
    """A pupil that says how likely its answers are: each lesson adds `rise` to the last two."""

    def __init__(self, rise: float, gain: int = 0, lessons: int = 0) -> None:
        super().__init__(gain, lessons)
        self.rise = rise

    def copy(self) -> Rated:
        return Rated(self.rise, self.gain, self.lessons)

    async def log_likelihood(self, question: Question, prediction: str) -> float:
        assert (question.purpose, prediction[:6]) == ("validation", "right ")
        return -9.0 + self.rise * self.lessons * (question.instance.key in ("v2", "v3"))


@pytest.mark.parametrize(
    ("rise", "gain", "kept"),
    [(0.5, 0, True), (-0.5, 0, False), (0.0, 0, False), (0.5, -1, False), (-0.5, 1, False)],
)
def test_a_lesson_is_weighed_by_likelihood(rise: float, gain: int, kept: bool) -> None:
    """Kept where right answers become likelier in the mean, and no fewer are right."""
    board = ListBoard()
    gate = Gate(Keep.LIKELIHOOD, Gated.CONTEXT, ROWS)
    now(session(Rated(rise, gain), gate, SEVEN, board).run())
    outcome, weighed = decisions(board)[0]
    assert outcome is (Outcome.YES if kept else Outcome.NO)
    assert weighed is not None
    assert (weighed["before"], weighed["after"]) == (1, 1 + gain)
    assert (weighed["rise"], weighed["concerned"]) == (rise / 2, 2 if rise else 0)


def test_who_does_not_say_how_likely_answers_are_is_not_weighed_by_likelihood() -> None:
    gate = Gate(Keep.LIKELIHOOD, rows=ROWS)
    with pytest.raises(UsageError, match=r"pupil does not say how likely .* keep better or equal"):
        gate.check(Pupil())
    gate.check(Rated(1.0))


@pytest.mark.parametrize("keep", [Keep.BETTER, Keep.EQUAL, Keep.LIKELIHOOD])
def test_a_gate_keeps_what_its_table_says(keep: Keep) -> None:
    for before, after, rise in product(range(4), range(4), (-0.5, 0.0, 0.5)):
        gate = Gate(keep, rows=ROWS)
        expected = {
            Keep.BETTER: after > before,
            Keep.EQUAL: after >= before,
            Keep.LIKELIHOOD: after >= before and rise > 0,
        }
        assert gate.weigh(Weighing(before, after, 4, 0, rise)) is expected[keep]
        assert gate.standing == (after if expected[keep] else before)


def _proved_of_gates(table: Automaton) -> tuple[str, ...]:
    """What is proved of a gate for any validation set and any lessons."""
    claims = [
        {"name": "one-guard", "check": "one-guard"},
        {
            "name": "never-falls",
            "check": "step",
            "step": "next.gate.standing >= gate.standing",
        },
        {
            "name": "never-keeps",
            "check": "step",
            "step": "keep != never or next.gate.standing == gate.standing",
        },
    ]
    part: dict[str, Any] = {"relations": None, "starts": "", "assume": [], "ghosts": {}}
    return prove({"gate": table}, {**part, "while": "", "claims": claims}).proved


def test_what_is_right_never_falls_whatever_is_kept_and_learned() -> None:
    assert _proved_of_gates(gate_table()) == ("one-guard", "never-falls", "never-keeps")
    text = canonical_json(gate_table()).replace("right >= standing", "right + 1 >= standing")
    assert text != canonical_json(gate_table())
    assert _proved_of_gates(parse_automaton(text, "gate.json")) == ("one-guard", "never-keeps")


def test_what_was_weighed_names_only_what_had_no_answer() -> None:
    plain, some = (str(Weighing(before=6, after=7, of=10, unanswered=n)) for n in (0, 2))
    assert plain == "right on 7 of 10 validation instances with it, and on 6 without"
    assert some == plain + "; 2 had no answer"
