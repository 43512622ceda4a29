"""The local radiograph predictor: what it measures in pictures, and what it learns."""

from __future__ import annotations

import asyncio
import io
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow

from pxp_fsm.errors import NoAnswer
from pxp_fsm.plugins.rad.radiograph import LABELS, Radiograph
from pxp_fsm.plugins.rad.radiograph.explanation import explained
from pxp_fsm.plugins.rad.radiograph.measures import measured
from pxp_fsm.plugins.rad.task import Reader, is_canonical
from pxp_fsm.prompting.model import Image
from pxp_fsm.protocol.interfaces import Learner
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question, Tag
from pxp_fsm.tasks.labels.images import checked
from pxp_fsm.tasks.labels.neighbours import Neighbours
from pxp_fsm.tasks.task import DataRow
from tests.sampling import sampled


def chest(
    ratio: float = 0.45, opaque: float = 0.0, size: tuple[int, int] = (120, 120)
) -> Pillow.Image:
    """A chest of plain shapes: two dark lungs, a heart of `ratio`, `opaque` below on the left."""
    rows, columns = size
    v, u = np.mgrid[-1 : 1 : rows * 1j, -1 : 1 : columns * 1j]
    grey_values = np.where(np.abs(u) < 0.9, 0.7, 0.0)
    lungs = (np.abs(np.abs(u) - 0.38) < 0.28) & (np.abs(v + 0.05) < 0.6)
    grey_values[lungs] = 0.1
    grey_values[lungs & (u > 0) & (v > 0.2)] += 0.6 * opaque
    grey_values[np.hypot((u - 0.1) / (ratio * 0.66), (v - 0.15) / 0.35) < 1] = 0.8
    return Pillow.fromarray((grey_values * 255).astype(np.uint8))


def saved(picture: Pillow.Image, kind: str = "PNG", **options: object) -> bytes:
    data = io.BytesIO()
    picture.save(data, kind, **options)
    return data.getvalue()


def of(image: bytes) -> Callable[[Instance], Image]:
    return lambda _instance: checked(image)


NORMAL, LARGE, FLUID = chest(), chest(0.75), chest(opaque=1.0)
SEEN = (
    (0.42, 0.0, "none"),
    (0.45, 0.0, "none"),
    (0.7, 0.0, "Cardiomegaly"),
    (0.8, 0.0, "Cardiomegaly"),
    (0.44, 0.9, "Pleural Effusion"),
    (0.47, 1.0, "Pleural Effusion"),
)
CASES = [
    DataRow(Instance(f"case {ratio} {opaque}", f"case {ratio} {opaque}"), Answer(labels, "Seen."))
    for ratio, opaque, labels in SEEN
]
PICTURES = {"normal": NORMAL, "large": LARGE, "larger": chest(0.74), "fluid": FLUID}
PICTURES |= {
    row.instance.x: chest(ratio, opaque)
    for row, (ratio, opaque, _) in zip(CASES, SEEN, strict=True)
}


def reader(picture: Callable[[Instance], Image], known: list[DataRow]) -> Reader:
    return Neighbours(
        Radiograph(picture), known, usable=is_canonical, possible=32, otherwise="none"
    )


def picture(instance: Instance) -> Image:
    return checked(saved(PICTURES[instance.x]))


def message(tag: str, prediction: str) -> Message:
    return Message("s", 2, "h", tag, Answer(prediction, "As I said."), "m")


def predicted(agent: Reader, what: str) -> Answer:
    return asyncio.run(agent.answer(Question("", Instance(what, what))))


def test_the_measures_tell_what_was_drawn() -> None:
    normal, large, fluid = (
        found
        for shown in (NORMAL, LARGE, FLUID)
        if (found := measured(np.asarray(shown) / 255)) is not None
    )
    assert normal.ratio == pytest.approx(0.45, abs=0.04)
    assert large.ratio == pytest.approx(0.75, abs=0.06)
    assert fluid.denser == "left"
    assert fluid.left.base > 0.7
    assert fluid.right.base < 0.2
    assert "left" in explained(["Pleural Effusion"], fluid)
    assert "(above 0.50)" in explained(["Cardiomegaly"], large)


@pytest.mark.parametrize("labels", sampled([[], *([label] for label in LABELS), LABELS], 3))
def test_a_mirrored_chest_is_explained_on_the_other_side(labels: list[str]) -> None:
    straight = measured(np.asarray(FLUID) / 255)
    mirrored = measured(np.asarray(FLUID)[:, ::-1] / 255)
    assert straight is not None
    assert mirrored is not None
    assert mirrored.vector() == pytest.approx(straight.vector(), abs=0.15)
    for label in labels:
        text = explained([label], straight)
        assert text.endswith(".")
        assert label.lower().split()[0] in text.lower()


def test_size_and_shape_do_not_matter_much() -> None:
    small = measured(np.asarray(NORMAL) / 255)
    large = measured(np.asarray(chest(size=(400, 300))) / 255)
    assert small is not None
    assert large is not None
    assert small.ratio == pytest.approx(large.ratio, abs=0.03)


def test_it_predicts_explains_and_is_the_same_every_time() -> None:
    agents = [reader(picture, CASES) for _ in range(2)]
    assert isinstance(agents[0], Learner)
    for what, said in (
        ("normal", "none"),
        ("large", "Cardiomegaly"),
        ("fluid", "Pleural Effusion"),
    ):
        first, second = (predicted(agent, what) for agent in agents)
        assert first == second
        assert first.prediction == said


def test_it_remembers_what_it_is_told_and_nothing_of_reject_and_term() -> None:
    agent = reader(picture, CASES)
    before = predicted(agent, "large")
    for tag in (Tag.REJECT, Tag.TERM):
        agent.learn(Instance("large", "large"), message(tag, "Pneumonia"))
    for nonsense in ("", "Pneumonia, Pneumonia!", "pneumonia", "none, Pneumonia", "x" * 100_000):
        agent.learn(Instance("large", "large"), message(Tag.REFUTE, nonsense))
    assert not agent.told
    assert predicted(agent, "large") == before
    apart = agent.copy()
    apart.learn(Instance("large", "large"), message(Tag.REFUTE, "Atelectasis, Pneumonia"))
    assert predicted(apart, "large").prediction == "Atelectasis, Pneumonia"
    assert predicted(agent, "large") == before == predicted(apart.untouched(), "large")
    apart.learn(Instance("large", "large"), message(Tag.REVISE, "Cardiomegaly"))
    assert predicted(apart, "large").prediction == "Cardiomegaly"


lessons = st.lists(
    st.tuples(
        st.sampled_from(sorted(PICTURES)),
        st.sampled_from(Tag),
        st.sampled_from(["none", "Pneumonia", "Cardiomegaly, Pneumonia", "what?"]),
    ),
    max_size=5,
)


@settings(max_examples=6, deadline=None)
@given(lessons)
def test_the_same_lessons_give_the_same_agent(taught: list[tuple[str, Tag, str]]) -> None:
    agents = [reader(picture, CASES), reader(picture, CASES)]
    for place, (what, tag, labels) in enumerate(taught):
        for agent in agents:
            agent.learn(Instance(what, what), message(tag, labels))
        if place % 2:  # asking in between must not matter
            predicted(agents[0], "normal")
    for what in PICTURES:
        one, two = (agent.shares(Instance(what, what)) for agent in agents)
        assert one == two


@pytest.mark.parametrize("data", [saved(Pillow.new("L", (64, 64), 90)), b"no picture"])
def test_what_cannot_be_measured_is_no_answer(data: bytes) -> None:
    agent = reader(of(data), CASES)
    with pytest.raises(NoAnswer):
        asyncio.run(agent.answer(Question("", Instance("x", "x"))))
    agent.learn(Instance("x", "x"), message(Tag.REFUTE, "Pneumonia"))
    assert not agent.told


def test_measures_are_compared_in_units_of_their_spread_among_those_known_first() -> None:
    normal, large, fluid = (measured(np.asarray(shown) / 255) for shown in (NORMAL, LARGE, FLUID))
    assert normal is not None
    assert large is not None
    assert fluid is not None
    vectors = np.array([normal.vector(), large.vector()])
    spread = vectors.std(axis=0)
    spread[spread == 0] = 1
    squares = Radiograph(picture).squares([normal, large], [normal, fluid])(large)
    for square, other in zip(squares, (normal, fluid), strict=True):
        apart = (np.array(large.vector()) - np.array(other.vector())) / spread
        assert square == pytest.approx(float((apart**2).mean()))


def test_a_lesson_changes_what_is_said_of_similar_pictures_and_of_others_less() -> None:
    """A little larger heart is like the one that it was told about; a normal chest is not."""
    agent = reader(picture, CASES)
    taught = agent.copy()
    taught.learn(Instance("large", "large"), message(Tag.REFUTE, "Atelectasis, Pneumonia"))
    told, rise = "Atelectasis, Pneumonia", dict[str, float]()
    for what in ("large", "larger", "normal"):
        about = Instance(f"another {what}", what)
        before, after = (one.shares(about).get(told, 0.0) for one in (agent, taught))
        rise[what] = after - before
        untold, likely = (
            asyncio.run(one.log_likelihood(Question("", about), "Atelectasis, Pneumonia"))
            for one in (agent, taught)
        )
        assert (untold < likely < 0) or what == "normal"
    assert rise["large"] > rise["larger"] > 3 * rise["normal"] > 0
    known = Question("", Instance("normal", "normal"))
    for nonsense in ("", "what?", "Pneumonia, none"):
        assert -20 < asyncio.run(taught.log_likelihood(known, nonsense)) < 0


def test_without_any_case_it_predicts_nothing() -> None:
    assert predicted(reader(picture, []), "large").prediction == "none"


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(32, 90), st.integers(32, 90))
def test_any_picture_is_measured_or_not_without_a_fault(seed: int, rows: int, columns: int) -> None:
    random = np.random.default_rng(seed)
    shown = random.random((rows, columns)) ** random.uniform(0.1, 8)
    found = measured(shown if seed % 2 else np.round(shown))
    if found is not None:
        assert np.isfinite(found.vector()).all()
        assert explained(LABELS, found)


def test_importing_the_models_loads_neither_numpy_nor_scikit() -> None:
    code = (
        "import pxp_fsm.plugins.rad.radiograph, sys; "
        "assert not {'numpy', 'skimage', 'PIL'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
