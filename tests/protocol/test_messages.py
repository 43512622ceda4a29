"""What a message can carry, and how a text is shown that it cannot."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from pxp_fsm.errors import WrongType
from pxp_fsm.protocol.messages import (
    Answer,
    Json,
    Message,
    answer_problem,
    is_answer,
    printable,
    storable,
    text_problem,
)

TEXTS = st.text(st.characters() | st.sampled_from("\0\ud800\udfff\n\x1b\\"), max_size=8)


@given(TEXTS)
def test_a_text_is_refused_where_it_cannot_be_stored_and_is_stored_escaped(text: str) -> None:
    wrong = "\0" in text or any("\ud800" <= character <= "\udfff" for character in text)
    assert (text_problem(text) is None) is not wrong
    assert (storable(text) == text) is not wrong
    assert text_problem(storable(text)) is None


@given(TEXTS)
def test_a_printable_text_is_one_line_that_steers_no_terminal(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert (shown == text) is text.isprintable()


def test_what_is_not_shown_is_written_by_its_number() -> None:
    assert printable("a\nb\x1b[31m") == "a b\\u001b[31m"
    assert printable("whale \U0001f40b") == "whale \U0001f40b"
    assert storable("a\0b\ud800") == "a\\x00b\\ud800"


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Answer("y", "e"), None),
        (Answer("\0", "e"), "a text holds the character NUL"),
        (Answer("y", "\0"), "a text holds the character NUL"),
        (Answer("y", "\ud800"), "half a character (a lone surrogate)"),
        (Answer("y", None), "prediction and explanation are text"),  # type: ignore[arg-type] # it is refused
        (Answer(1, "e"), "prediction and explanation are text"),  # type: ignore[arg-type] # it is refused
        (("y", "e"), "an answer is a prediction and an explanation"),
        (None, "an answer is a prediction and an explanation"),
    ],
)
def test_an_answer_is_two_texts_that_can_be_stored(answer: Any, problem: str | None) -> None:
    found = answer_problem(answer)
    assert found is problem is None or (problem or "") in (found or "")
    assert is_answer(answer) is (problem is None or "character" in problem)


def test_what_a_message_carries_is_read_as_what_it_is() -> None:
    said = Answer("mammal", "It breathes air.")
    answer, number = (Message("s", 1, "m", "INIT", one, "h") for one in (said, Json("7")))
    assert (answer.answer, answer.value) == (said, said)
    assert (number.json, number.value) == ("7", 7)
    with pytest.raises(WrongType, match="INIT of m carries an answer, not a JSON value"):
        _ = answer.json
    with pytest.raises(WrongType, match="INIT of m carries a JSON value, not an answer"):
        _ = number.answer


def test_in_a_published_schema_a_json_text_is_a_text() -> None:
    assert TypeAdapter(Json).json_schema() == {"type": "string"}
