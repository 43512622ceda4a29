"""The machine of labels: votes of known cases, and what it makes of texts and pictures."""

from __future__ import annotations

import asyncio
import io
import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow

from pxp_fsm.errors import NoAnswer
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question, Tag
from pxp_fsm.tasks.labels.images import checked
from pxp_fsm.tasks.labels.neighbours import LabelledCase, Neighbours, Votes
from pxp_fsm.tasks.labels.sights import PictureSight, TextSight
from pxp_fsm.tasks.task import DataRow

PREDICTIONS = ("A", "B, C", "none")
Vector = tuple[float, ...]
Point = LabelledCase[Vector]


class Points:
    """A sight of points in space, in units of the space."""

    name = "points"

    def see(self, instance: Instance) -> Vector:
        return tuple(map(float, instance.x.split()))

    def squares(
        self, _known: Sequence[Vector], cases: Sequence[Vector]
    ) -> Callable[[Vector], Sequence[float]]:
        return lambda seen: [math.dist(seen, case) ** 2 for case in cases]

    def explained(self, prediction: str, _seen: Vector, nearest: Point | None) -> str:
        return f"{prediction}, as {nearest.key}" if nearest else prediction


NUMBER = st.integers(-8, 8).map(float)
CASE = st.builds(
    LabelledCase[Vector],
    st.just("case"),
    st.tuples(NUMBER, NUMBER, NUMBER),
    st.sampled_from(PREDICTIONS).map(lambda said: Answer(said, "So it is.")),
)


def votes(cases: Sequence[Point], seen: Vector) -> dict[str, float]:
    """The same by loops: who is met again speaks alone."""
    squares = [math.dist(seen, case.seen) ** 2 for case in cases]
    same = [case for case, square in zip(cases, squares, strict=True) if square == 0]
    weights = [1.0] * len(same) if same else [1 / square**2 for square in squares]
    found = dict.fromkeys((case.answer.prediction for case in cases), 0.0)
    for case, weight in zip(same or cases, weights, strict=True):
        found[case.answer.prediction] += weight / math.fsum(weights)
    return found


@given(st.lists(CASE, max_size=5), st.lists(CASE, min_size=1, max_size=5), CASE)
def test_cases_vote_by_how_alike_they_are(
    known: list[Point], told: list[Point], one: Point
) -> None:
    cases = Votes(Points(), known, told, len(PREDICTIONS))
    shares = cases.shares(cases.squares(one.seen))
    assert shares == pytest.approx(votes([*known, *told], one.seen), abs=1e-9)
    chances = [cases.probability(shares, [each]) for each in PREDICTIONS]
    assert math.fsum(chances) == pytest.approx(1)
    assert min(chances) > 0
    assert cases.probability(shares, PREDICTIONS) == pytest.approx(1)
    lesson = Votes(Points(), known, [*told, one], len(PREDICTIONS))
    after = lesson.shares(lesson.squares(one.seen))
    assert after[one.answer.prediction] >= shares.get(one.answer.prediction, 0.0) - 1e-9


def row(key: str, x: str, prediction: str, explanation: str = "So it is.") -> DataRow:
    return DataRow(Instance(key, x), Answer(prediction, explanation))


def answered(machine: Neighbours[Any], x: str, key: str = "new") -> Answer:
    return asyncio.run(machine.answer(Question("", Instance(key, x))))


def lesson(tag: str, prediction: str, explanation: str = "I told you.") -> Message:
    return Message("s", 2, "h", tag, Answer(prediction, explanation), "m")


TEXTS = [
    row("t-1", "The parcel arrived broken, the screen has a crack.", "damage", "It is broken."),
    row("t-2", "My invoice is too high, please refund me.", "billing", "It is about money."),
    row("t-3", "I cannot log in with my password.", "access", "It is about an account."),
]


@pytest.mark.parametrize(
    ("text", "prediction", "says"),
    [
        ("Parcels that break!", "damage", "It is broken. This is as in t-1"),
        ("An INVOICE again", "billing", "It is about money. This is as in t-2 (invoice)."),
        ("password", "access", "(password)"),
    ],
)
def test_a_text_has_what_the_text_most_like_it_has(text: str, prediction: str, says: str) -> None:
    said = answered(Neighbours(TextSight(), TEXTS, possible=3), text)
    assert said.prediction == prediction
    assert says in said.explanation


def test_a_text_without_a_common_word_has_the_commonest_answer() -> None:
    known = [*TEXTS, row("t-4", "Two invoices", "billing")]
    assert answered(Neighbours(TextSight(), known, possible=3), "żółć").prediction == "billing"
    with pytest.raises(NoAnswer, match="no word"):
        answered(Neighbours(TextSight(), known, possible=3), "?!")


def test_it_is_told_better_and_says_it_again_and_knows_how_likely_that_is() -> None:
    machine = Neighbours(TextSight(), TEXTS, possible=3, usable=lambda said: said != "nonsense")
    about = Instance("q-1", "My password is on the invoice")
    before = asyncio.run(machine.log_likelihood(Question("", about), "access"))
    other = machine.copy()
    for tag, said in ((Tag.REJECT, "damage"), (Tag.TERM, "damage"), (Tag.REFUTE, "nonsense")):
        other.learn(about, lesson(tag, said))
    assert not other.told
    other.learn(about, lesson(Tag.REFUTE, "access"))
    assert (other.prediction(about), machine.told) == ("access", {})
    assert answered(other, about.x, "q-1").explanation == "I told you."
    after = asyncio.run(other.log_likelihood(Question("", about), "access"))
    assert before < after < 0
    assert other.untouched().told == {}
    assert other.name == machine.name != Neighbours(TextSight(), TEXTS[:2], possible=3).name


def test_why_it_does_not_predict_something_is_which_rows_are_near() -> None:
    machine = Neighbours(TextSight(), TEXTS, possible=3)
    said = machine.why_not(Instance("q", "an invoice"), "access")
    assert said.startswith("The nearest rows that it knows are t-2 (billing), ")
    assert said.endswith("the nearest with access is t-3.")
    assert "none has fraud" in machine.why_not(Instance("q", "an invoice"), "fraud")


def test_without_any_case_there_is_no_answer_or_one_that_is_given() -> None:
    with pytest.raises(NoAnswer, match="give the data a set examples"):
        answered(Neighbours(TextSight()), "a text")
    assert answered(Neighbours(TextSight(), otherwise="none"), "a text").prediction == "none"


def drawn(colour: tuple[int, int, int], left: int) -> bytes:
    picture = Pillow.new("RGB", (90, 60), "white")
    picture.paste(colour, (left, 10, left + 30, 50))
    data = io.BytesIO()
    picture.save(data, "PNG")
    return data.getvalue()


PICTURES = {
    "red left": drawn((250, 20, 20), 5),
    "blue left": drawn((20, 20, 250), 5),
    "red right": drawn((250, 20, 20), 55),
    "dark red left": drawn((220, 0, 0), 7),
    "no picture": b"",
}


def test_a_picture_has_what_the_picture_most_like_it_has() -> None:
    sight = PictureSight(lambda instance: checked(PICTURES[instance.x]))
    known = [row(x, x, x) for x in ("red left", "blue left", "red right")]
    said = answered(Neighbours(sight, known, possible=3), "dark red left")
    assert (said.prediction, said.explanation) == (
        "red left",
        "So it is. This looks as red left does.",
    )
    with pytest.raises(NoAnswer, match="neither a PNG nor a JPEG"):
        answered(Neighbours(sight, known, possible=3), "no picture")
