"""The local radiograph predictor: what pictures it takes, what it measures and what it learns."""

from __future__ import annotations

import asyncio
import io
import math
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from itertools import compress, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow
from PIL.PngImagePlugin import PngInfo

from pxp_fsm.errors import DataError, NoAnswer
from pxp_fsm.plugins.rad.radiograph import LABELS, Radiograph, checked
from pxp_fsm.plugins.rad.radiograph.explanation import explained
from pxp_fsm.plugins.rad.radiograph.images import LARGEST_FILE, grey
from pxp_fsm.plugins.rad.radiograph.measures import measured
from pxp_fsm.plugins.rad.radiograph.predictor import LabelledRadiograph, SimilarCases
from pxp_fsm.prompting.model import Image
from pxp_fsm.protocol.interfaces import Learner
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question, Tag


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
CASES = [
    (checked(saved(chest(ratio, opaque))), frozenset(labels))
    for ratio, opaque, labels in (
        (0.42, 0.0, []),
        (0.45, 0.0, []),
        (0.7, 0.0, ["Cardiomegaly"]),
        (0.8, 0.0, ["Cardiomegaly"]),
        (0.44, 0.9, ["Pleural Effusion"]),
        (0.47, 1.0, ["Pleural Effusion"]),
    )
]
PICTURES = {"normal": NORMAL, "large": LARGE, "larger": chest(0.74), "fluid": FLUID}


def picture(instance: Instance) -> Image:
    return checked(saved(PICTURES[instance.x]))


def message(tag: str, prediction: str) -> Message:
    return Message("s", 2, "h", tag, Answer(prediction, "As I said."), "m")


def predicted(agent: Radiograph, what: str) -> Answer:
    return asyncio.run(agent.answer(Question("", Instance(what, what))))


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_a_plain_picture_is_passed_on_byte_by_byte(kind: str) -> None:
    data = saved(NORMAL, kind)
    assert checked(data) == Image(f"image/{kind.lower()}", data)


def bomb(width: int, height: int) -> bytes:
    """A PNG that says it is `width` x `height`, of a few hundred bytes."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = zlib.compress(bytes(100_000))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")
    )


def animated() -> bytes:
    return saved(NORMAL, "PNG", save_all=True, append_images=[LARGE])


def long_text() -> bytes:
    """A few kilobytes that unpack to a text chunk of 20 megabytes."""
    told = PngInfo()
    told.add_text("Description", "a" * 20_000_000, zip=True)
    return saved(NORMAL, pnginfo=told)


def gif() -> bytes:
    return saved(NORMAL, "GIF")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "neither a PNG nor a JPEG"),
        (b"label,report\n", "neither a PNG nor a JPEG"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "neither a PNG nor a JPEG"),
        (gif(), "neither a PNG nor a JPEG"),
        (saved(NORMAL)[:-200], "cannot be decoded"),
        (saved(NORMAL, "JPEG")[:900], "cannot be decoded"),
        (b"\x89PNG\r\n\x1a\n" + b"\x00" * 40, "cannot be decoded|neither a PNG"),
        (bomb(50_000, 50_000), "more pixels than are read: at most 8000 a side"),
        (bomb(2**31 - 1, 40), "more pixels than are read"),
        (bomb(9_000, 40), "9000 x 40 pixels; at most 8000 a side"),
        (bomb(7_999, 7_999), "and 40,000,000 in all"),
        (bomb(400, 400), "cannot be decoded"),
        (long_text(), "cannot be decoded"),
        (saved(NORMAL.resize((4, 300))), "at least 32 a side"),
        (animated(), "it holds 2 images"),
        (saved(NORMAL) + b"\x00" * LARGEST_FILE, "at most 20,000,000 are read"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else len(value),
)
def test_what_is_no_picture_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(DataError, match=says):
        checked(data)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 3000), st.binary(max_size=12), st.sampled_from(["PNG", "JPEG"]))
def test_a_damaged_picture_is_decoded_or_refused(place: int, damage: bytes, kind: str) -> None:
    data = bytearray(saved(NORMAL, kind))
    data[place % len(data) : place % len(data) + len(damage)] = damage
    try:
        image = checked(bytes(data))
    except DataError:
        return
    assert grey(image).ndim == 2


def sixteen_bits() -> bytes:
    wide = np.asarray(NORMAL).astype(np.uint16) * 257
    return saved(Pillow.fromarray(wide))


def cmyk() -> bytes:
    return saved(NORMAL.convert("CMYK"), "JPEG", quality=95)


def turned() -> bytes:
    """Stored lying on its side, with the orientation that puts it upright."""
    exif = Pillow.Exif()
    exif[0x0112] = 6
    return saved(NORMAL.transpose(Pillow.Transpose.ROTATE_90), "JPEG", quality=95, exif=exif)


@pytest.mark.parametrize("data", [sixteen_bits(), cmyk(), turned()], ids=["16", "cmyk", "exif"])
def test_what_few_readers_take_is_written_anew_upright_and_grey(data: bytes) -> None:
    image = checked(data)
    assert image.media_type == "image/png"
    with Pillow.open(io.BytesIO(image.data)) as plain:
        assert (plain.mode, plain.size, dict(plain.getexif())) == ("L", NORMAL.size, {})
    assert np.abs(grey(image) - np.asarray(NORMAL) / 255).mean() < 0.02


def test_colours_palettes_and_transparency_come_to_the_same_grey() -> None:
    plain = grey(checked(saved(NORMAL)))
    for mode in ("RGB", "RGBA", "LA", "P"):
        assert np.abs(grey(checked(saved(NORMAL.convert(mode)))) - plain).max() < 0.01


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


@pytest.mark.parametrize("labels", [[], *([label] for label in LABELS), LABELS])
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
    agents = [Radiograph(picture, CASES) for _ in range(2)]
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
    agent = Radiograph(picture, CASES)
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
    agents = [Radiograph(picture, CASES), Radiograph(picture, CASES)]
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
    agent = Radiograph(of(data), CASES)
    with pytest.raises(NoAnswer):
        asyncio.run(agent.answer(Question("", Instance("x", "x"))))
    agent.learn(Instance("x", "x"), message(Tag.REFUTE, "Pneumonia"))
    assert not agent.told


NUMBER = st.integers(-8, 8).map(float)
CASE = st.builds(
    LabelledRadiograph,
    st.tuples(NUMBER, NUMBER, NUMBER),
    st.sampled_from([frozenset[str](), frozenset(LABELS[:1]), frozenset(LABELS[1:3])]),
)


def votes(known: list[LabelledRadiograph], told: list[LabelledRadiograph], one: Any) -> Any:
    """The same by fractions and loops: who is met again speaks alone."""
    cases, spread = [*known, *told], list[float]()
    for place in range(3):
        values = [case.vector[place] for case in known or told]
        mean = math.fsum(values) / len(values)
        deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
        spread.append(deviation or 1.0)
    squares = [
        math.fsum(((a - b) / c) ** 2 for a, b, c in zip(one, case.vector, spread, strict=True)) / 3
        for case in cases
    ]
    same = [case for case, square in zip(cases, squares, strict=True) if square == 0]
    weights = [1.0] * len(same) if same else [1 / square**2 for square in squares]
    found = dict.fromkeys((case.labels for case in cases), 0.0)
    for case, weight in zip(same or cases, weights, strict=True):
        found[case.labels] += weight / math.fsum(weights)
    return found


@given(st.lists(CASE, max_size=5), st.lists(CASE, min_size=1, max_size=5), CASE)
def test_cases_vote_by_how_alike_they_are(
    known: list[LabelledRadiograph], told: list[LabelledRadiograph], one: LabelledRadiograph
) -> None:
    cases = SimilarCases(known, told)
    [shares] = cases.shares(one.vector)
    assert shares == pytest.approx(votes(known, told, one.vector), abs=1e-9)
    every = [frozenset(compress(LABELS, has)) for has in product((0, 1), repeat=len(LABELS))]
    chances = [cases.probability(shares, [each]) for each in every]
    assert math.fsum(chances) == pytest.approx(1)
    assert min(chances) > 0
    assert cases.probability(shares, every) == pytest.approx(1)
    [after] = SimilarCases(known or told, [*(told if known else ()), one]).shares(one.vector)
    assert after[one.labels] >= shares.get(one.labels, 0.0) - 1e-9


def test_a_lesson_changes_what_is_said_of_similar_pictures_and_of_others_less() -> None:
    """A little larger heart is like the one that it was told about; a normal chest is not."""
    agent = Radiograph(picture, CASES)
    taught = agent.copy()
    taught.learn(Instance("large", "large"), message(Tag.REFUTE, "Atelectasis, Pneumonia"))
    told, rise = frozenset(["Atelectasis", "Pneumonia"]), dict[str, float]()
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
    assert predicted(Radiograph(picture), "large").prediction == "none"


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
