"""A script by cue: the first that fits what is asked, however often and in whatever order."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from backends.models.cues import Cue, CuedModel, read_cues
from pxp_fsm.errors import DataError, NoAnswer
from pxp_fsm.framing import framed
from pxp_fsm.models import Request, Role, Turn

CUES = (
    Cue("control", "late", {"input": "night", "knowledge": "rhyme"}),
    Cue("control", "early", {"input": "night"}),
    Cue("gap", "any"),
)


def asked(purpose: str, **data: object) -> str:
    turn = Turn(Role.USER, f"Here: {framed(data)} and {framed({'more': 'x'})}")
    return asyncio.run(CuedModel(CUES).reply(Request("s", (turn,), purpose=purpose))).text


def test_the_first_cue_that_fits_is_given_each_time() -> None:
    assert asked("control", input="the night") == "early"
    assert asked("control", input="the night", knowledge=["x", "when it rhymes, a rhyme"]) == "late"
    assert asked("gap") == asked("gap", input="day") == "any"


def test_where_none_fits_there_is_no_answer_and_the_error_says_to_what() -> None:
    with pytest.raises(NoAnswer, match=r"'control'.*day"):
        asked("control", input="the day")


def test_a_file_holds_the_same(tmp_path: Path) -> None:
    path = tmp_path / "script.toml"
    path.write_text(
        'format = 1\n[[cue]]\npurpose = "gap"\nwhen = { input = "x" }\nreply = { gap = "é" }\n'
    )
    (cue,) = read_cues(path)
    assert (cue.purpose, dict(cue.when), cue.reply) == ("gap", {"input": "x"}, '{"gap": "\\u00e9"}')
    path.write_text('format = 1\n[[cue]]\npurpose = "gap"\nanswer = "x"\nreply = "y"\n')
    with pytest.raises(DataError, match=r"line 4: .*unknown key answer"):
        read_cues(path)
