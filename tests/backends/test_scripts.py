"""A script: the first line that fits what is asked, however often and in whatever order."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from backends.models.scripts import Script, ScriptLine, read_script
from pxp_fsm.errors import FileError, NoAnswer
from pxp_fsm.prompting.framing import framed
from pxp_fsm.prompting.model import ChatRole, ChatTurn, ModelRequest

LINES = (
    ScriptLine("control", "late", {"input": "night", "knowledge": "rhyme"}),
    ScriptLine("control", "early", {"input": "night"}),
    ScriptLine("gap", "any"),
)


def asked(purpose: str, **data: object) -> str:
    turn = ChatTurn(ChatRole.USER, f"Here: {framed(data)} and {framed({'more': 'x'})}")
    return asyncio.run(Script(LINES).reply(ModelRequest("s", (turn,), purpose=purpose))).text


def test_the_first_line_that_fits_is_given_each_time() -> None:
    assert asked("control", input="the night") == "early"
    assert asked("control", input="the night", knowledge=["x", "when it rhymes, a rhyme"]) == "late"
    assert asked("gap") == asked("gap", input="day") == "any"


def test_where_none_fits_there_is_no_answer_and_the_error_says_to_what() -> None:
    with pytest.raises(NoAnswer, match=r"'control'.*day"):
        asked("control", input="the day")


def test_whole_values_and_numbers_of_times_are_told_apart() -> None:
    script = Script(
        [
            ScriptLine("gap", "first", where={"input": "x"}, times=1),
            ScriptLine("gap", "whole", where={"input": "x"}),
            ScriptLine("gap", "part", {"input": "x"}),
        ]
    )

    def said(text: str) -> str:
        turn = ChatTurn(ChatRole.USER, framed({"input": text}))
        return asyncio.run(script.reply(ModelRequest("s", (turn,), purpose="gap"))).text

    assert [said("x"), said("x"), said("xx"), said("x")] == ["first", "whole", "part", "whole"]
    assert len(script.requests) == 4


SAYS = {"purpose": "gap", "when": {"input": "x"}, "reply": {"gap": "é"}}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.toml", 'format = 1\n[[line]]\npurpose = "gap"\nwhen.input = "x"\nreply.gap = "é"\n'),
        ("a.json", json.dumps({"format": 1, "line": [SAYS]})),
        ("a.jsonl", "\n" + json.dumps(SAYS)),
    ],
)
def test_files_of_all_three_kinds_say_the_same(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    turn = ChatTurn(ChatRole.USER, framed({"input": "x"}))
    found = asyncio.run(read_script(path).reply(ModelRequest("s", (turn,), purpose="gap")))
    assert json.loads(found.text) == {"gap": "é"}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "a.toml",
            'format = 1\n[[line]]\npurpose = "gap"\nanswer = "x"\nreply = "y"\n',
            "line 4: ",
        ),
        (
            "a.jsonl",
            '{"purpose": "gap", "reply": 1}\n{"purpose": "gap"}',
            "line 2: reply is missing",
        ),
        ("a.jsonl", '{"purpose": "gap", "reply": 1, "times": 0}', "line 1: times: 0 is too small"),
        ("a.jsonl", "gap", "line 1: this is not JSON"),
        ("a.jsonl", "[]", "line 1: .*not of the type object"),
    ],
)
def test_a_fault_is_told_with_its_line(tmp_path: Path, name: str, text: str, said: str) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    with pytest.raises(FileError, match=said):
        read_script(path)


def test_a_slip_in_a_purpose_is_refused_and_one_of_ones_own_is_not(tmp_path: Path) -> None:
    path = tmp_path / "script.jsonl"
    path.write_text('{"purpose": "answr", "reply": "x"}\n', "utf-8")
    with pytest.raises(FileError, match=r"line 1: purpose: .* 'answr'; did you mean answer\?"):
        read_script(path)
    path.write_text('{"purpose": "translation", "reply": "x"}\n', "utf-8")
    assert read_script(path).name == "script:script.jsonl"
