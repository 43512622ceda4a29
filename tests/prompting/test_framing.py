"""Frames: whatever is said in one, it stays one, and can be read back exactly."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pxp_fsm.prompting.framing import CLOSING, OPENING, encoded, framed, unframed

ANY = st.text(st.characters())
MARKS = st.sampled_from(
    [OPENING, CLOSING, "<", ">", "/", '"', "\\", "\n", "\u2028", "\u202e", "\\u003c", "{", "}"]
)
HOSTILE = st.lists(MARKS | ANY).map("".join)
PARTS = st.dictionaries(HOSTILE, HOSTILE | st.lists(HOSTILE), max_size=4)


@given(st.lists(PARTS, max_size=4), st.lists(st.text("abc $\n{}"), min_size=5, max_size=5))
def test_frames_are_read_back_exactly_from_between_any_texts(
    frames: list[dict[str, object]], between: list[str]
) -> None:
    prompt = between[0] + "".join(
        framed(frame) + said for frame, said in zip(frames, between[1:], strict=False)
    )
    assert unframed(prompt) == tuple(frames)


@given(HOSTILE)
def test_what_is_encoded_is_one_printable_line_without_any_mark(text: str) -> None:
    written = encoded(text)
    assert written.isprintable()
    assert not set("<>&") & set(written)
    assert json.loads(written) == text


@given(st.text(st.characters(categories=["Lu", "Ll", "Nd"])))
def test_letters_of_any_script_stay_readable(text: str) -> None:
    assert encoded(text) == f'"{text}"'


@pytest.mark.parametrize("text", ["\ud800", "\x00", "\U000e0041", "\u200b", "\ufeff", "\x1b[31m"])
def test_characters_that_nobody_sees_are_written_by_their_code_points(text: str) -> None:
    assert encoded(text).isascii()
    assert json.loads(encoded(text)) == text


@pytest.mark.parametrize(
    "code",
    [
        0x034F,
        0x115F,
        0x1160,
        0x17B4,
        0x180B,
        0x2800,
        0x3164,
        0xFE00,
        0xFE0F,
        0xFFA0,
        0xE0100,
        0xE01EF,
    ],
)
def test_what_shows_nothing_is_written_by_its_code_point(code: int) -> None:
    said = f"be{chr(code)}nign"
    frame = framed({"text": said})
    assert chr(code) not in frame
    assert unframed(frame) == ({"text": said},)
