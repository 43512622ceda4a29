"""What a report counts is what the definitions say, however sessions went."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pxp_fsm.experiments.reports import figures, tallies
from pxp_fsm.experiments.reports.contents import CorrectPredictions
from pxp_fsm.experiments.reports.tallies import (
    KINDS,
    ObservedMessage,
    ObservedSession,
    Reason,
    RunTally,
    reason,
)
from pxp_fsm.protocol.decisions import Category
from pxp_fsm.protocol.intelligibility import ONE_WAY, holds_for, two_way
from pxp_fsm.protocol.messages import Answer, Message
from pxp_fsm.protocol.relations import Outcome, held
from pxp_fsm.protocol.rules import Interact, Pxp
from tests.colours import SEEN, lab

Told = tuple[tuple[str, ...], str | None]

TAGS = st.sampled_from(["RATIFY", "REFUTE", "REVISE", "REJECT", "TERM", "OWN"])
SESSIONS = st.lists(
    st.tuples(
        st.lists(TAGS, max_size=7).map(lambda tags: ("INIT", *tags)),
        st.sampled_from(["ratified", "rejected", "bound", "term", "broken", "late", None]),
    ),
    max_size=8,
)


def observed(tags: Sequence[str], ending: str | None, *, repetition: int = 1) -> ObservedSession:
    steps = (
        ObservedMessage(place % 2 == 0, tag, f"p{place}", None) for place, tag in enumerate(tags)
    )
    return ObservedSession("s", repetition, 1, "i", 3, ending, tuple(steps))


def tallied(*sessions: ObservedSession) -> RunTally:
    tally = RunTally()
    for session in sessions:
        tally.add(session)
    return tally


def messages(tags: Sequence[str]) -> list[Message]:
    pairs = [("m", "h"), ("h", "m")]
    return [
        Message("s", place + 1, pairs[place % 2][0], tag, Answer("", ""), pairs[place % 2][1])
        for place, tag in enumerate(tags)
    ]


@given(SESSIONS)
def test_a_curve_is_the_class_of_sessions_that_were_cut(sessions: list[Told]) -> None:
    tally = tallied(*(observed(tags, ending) for tags, ending in sessions))
    over = [
        tags for tags, ending in sessions if ending in ("ratified", "rejected", "bound", "term")
    ]
    for kind in KINDS:
        points = tally.curve(kind, 9)
        assert len(points) == (9 if over else 0)
        for point in points:
            cut = [messages(tags[: point.number]) for tags in over]
            held = {
                "human": sum(holds_for(ONE_WAY, each, "h") for each in cut),
                "machine": sum(holds_for(ONE_WAY, each, "m") for each in cut),
                "two-way": sum(two_way(each, "m", "h") for each in cut),
            }
            assert point.median == point.least == point.most == held[kind]


@given(SESSIONS)
def test_every_session_that_enters_a_message_leaves_it(sessions: list[Told]) -> None:
    tally = tallied(*(observed(tags, ending) for tags, ending in sessions))
    came, left = Counter[figures.Key](), Counter[figures.Key]()
    for (source, target), count in figures.links(tally).items():
        left[source] += count
        came[target] += count
    assert left.total() == sum(len(tags) for tags, _ in sessions)
    assert all(left[node] == count for node, count in came.items() if not node[2])
    assert sum(count for node, count in came.items() if node[2]) == len(sessions)


def test_points_are_medians_over_repetitions_with_least_and_most() -> None:
    many = [observed(("INIT", "RATIFY", "RATIFY"), "ratified", repetition=r) for r in (1, 2, 2, 3)]
    many += [observed(("INIT", "REFUTE"), "bound", repetition=r) for r in (1, 3, 3)]
    point = tallied(*many).curve("human", 2)[1]
    assert [point.median, point.least, point.most] == [1, 1, 2]


def test_a_later_reject_takes_a_session_out_again() -> None:
    tally = tallied(observed(("INIT", "RATIFY", "REFUTE", "REJECT"), "rejected"))
    assert [point.median for point in tally.curve("human", 4)] == [0, 1, 1, 0]


@pytest.mark.parametrize(
    ("outcomes", "found"),
    [
        ((), None),
        (("yes",), None),
        (("yes", "late"), None),
        (("yes", "yes"), Reason(Category.A, None)),
        (("yes", "unsure"), Reason(Category.B, None)),
        (("no", "yes", "yes", "yes"), Reason(Category.C, True)),
        (("no", "no", "no"), Reason(Category.D, False)),
    ],
)
def test_the_reason_of_a_tag_is_read_from_its_judgements(
    outcomes: tuple[str, ...], found: Reason | None
) -> None:
    assert reason([held(Outcome(outcome)) for outcome in outcomes]) == found


def test_the_category_table_has_a_row_for_each_case_and_counts_the_rest_apart() -> None:
    steps = (
        ObservedMessage(True, "INIT", "p", None),
        ObservedMessage(False, "REFUTE", "p", Reason(Category.D, False)),
        ObservedMessage(True, "REVISE", "p", Reason(Category.D, False)),
        ObservedMessage(False, "REJECT", "p", Reason(Category.D, None)),
        ObservedMessage(True, "RATIFY", "p", None),
    )
    rows = tallies.rows(
        Interact(10, 3), tallied(ObservedSession("s", 1, 1, "i", 3, "bound", steps))
    )
    assert [(row.category, row.tag) for row in rows] == [
        ("A", "RATIFY"),
        ("B", "REVISE"),
        ("B", "REFUTE"),
        ("C", "REVISE"),
        ("C", "REFUTE"),
        ("D", "REVISE"),
        ("D", "REFUTE"),
        ("D", "REJECT"),
        ("", "RATIFY"),
    ]
    assert [(row.machine, row.human) for row in rows] == [
        *[(0, 0)] * 5,
        (1, 0),
        (0, 1),
        (0, 1),
        (1, 0),
    ]
    assert rows[5].condition == "message up to 3, answer changed"
    assert rows[-1].condition == "named, not derived"


def test_the_category_table_of_pxp_knows_no_k() -> None:
    rows = tallies.rows(Pxp(2), RunTally())
    assert [(row.category, row.condition, row.tag) for row in rows] == [
        ("A", "", "RATIFY"),
        ("B", "reconciled", "REVISE"),
        ("B", "not reconciled", "REFUTE"),
        ("C", "reconciled", "REVISE"),
        ("C", "not reconciled", "REFUTE"),
        ("D", "", "REJECT"),
    ]


def test_a_machine_is_right_by_its_latest_prediction() -> None:
    rightness = CorrectPredictions(
        {"i": "yes"}, str.lower, {"p0": "No", "p2": "YES", "p4": "no"}.__getitem__
    )
    rightness.add(observed(("INIT", "REFUTE", "REVISE", "REFUTE", "REVISE"), "bound"))
    rightness.add(observed(("INIT",), "bound"))
    assert [float(point.median) for point in rightness.curve(6)] == [0, 0, 0.5, 0.5, 0, 0]


@pytest.mark.parametrize("seen", SEEN)
def test_colours_are_told_apart_in_grey_and_by_the_colour_blind(seen: str) -> None:
    def apart(first: str, second: str) -> float:
        return math.dist(*(lab(figures.LIGHT[name], seen) for name in (first, second)))

    for pair in combinations(("machine", "human", "both"), 2):
        assert apart(*pair) >= 12, pair
    tags = ("INIT", "RATIFY", "REVISE", "REFUTE", "REJECT", "TERM")
    for first, second in combinations(tags, 2):
        patterns = {figures._HATCHES.get(tag, "") for tag in (first, second)}
        assert len(patterns) == 2 or apart(first, second) >= 12, (first, second)
