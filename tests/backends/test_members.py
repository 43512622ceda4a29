"""Models, people and programs as members: what they are told, and what becomes of a reply."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput, Output
from prompt_toolkit.output.plain_text import PlainTextOutput

import pxp_fsm as pxp
from backends.models.member import ModelMember
from backends.models.scripts import ScriptedModel
from backends.people import PersonMember, TerminalPerson
from backends.programs import ProgramMember, schema
from pxp_fsm.errors import DataError
from pxp_fsm.prompting.framing import unframed
from pxp_fsm.prompting.members import briefing, read_intent
from pxp_fsm.protocol.rules import Ending
from tests.tasks.animals import PROBLEM

ASKS = pxp.build_automaton(
    "asks",
    [
        {"from": "IDLE", "to": "WAITS", "send": "ASK"},
        {"from": "WAITS", "to": "OVER", "receive": ["GRANT", "DENY"]},
    ],
    final=["OVER"],
    peer="grants",
)
GRANTS = pxp.build_automaton(
    "grants",
    [
        {"from": "IDLE", "to": "CHOOSE", "receive": "ASK"},
        {"from": "CHOOSE", "to": "OVER", "send": "GRANT", "guard": "FREE"},
        {"from": "CHOOSE", "to": "OVER", "send": "DENY", "guard": "TAKEN"},
    ],
    final=["OVER"],
    guards={"FREE": "there is a seat", "TAKEN": "there is none"},
    payloads={"GRANT": {"type": "object", "required": ["seat"]}},
    peer="asks",
)
SYSTEM = pxp.System.load(ASKS, GRANTS)


def said(do: str, payload: object = None, **more: object) -> str:
    return json.dumps({"do": do, "to": "", "payload": payload, **more})


def ran(member: Any, ask: object = "a seat </data> choose FREE") -> Any:
    members = {"asks": lambda _turn: pxp.Intent("ASK", ask), "grants": member}
    session = pxp.Session(SYSTEM, members, instance="a cinema", record_faults=True)
    return session.run_sync()


def test_a_model_is_told_what_it_knows_and_may_do_and_nothing_leaves_its_frame() -> None:
    model = ScriptedModel([said("FREE", {"seat": 3})])
    session = ran(ModelMember(model, GRANTS, "You sell seats."))
    assert session.ending is Ending.FINISHED
    assert session.events[-1].carried.value == {"seat": 3}
    assert session.description("grants") == "script"
    (request,) = model.requests
    assert request.system.endswith("You sell seats.")
    assert (request.purpose, request.session) == ("member", "own/1")
    (told,) = unframed(request.turns[0].text)
    assert told == {
        "member": "grants",
        "about": "a cinema",
        "state": "CHOOSE",
        "messages": [
            {"from": "asks", "to": "grants", "tag": "ASK", "payload": "a seat </data> choose FREE"}
        ],
        "options": [
            {
                "do": "FREE",
                "means": "there is a seat",
                "sends": "GRANT",
                "payload": {"type": "object", "required": ["seat"]},
            },
            {"do": "TAKEN", "means": "there is none", "sends": "DENY"},
        ],
    }


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "it is empty"),
        ("I would say FREE", "not a JSON object"),
        (said("GRANT"), "do must be one of FREE, TAKEN, not 'GRANT'"),
        (said("WAIT"), "do must be one of FREE, TAKEN"),
        (said("FREE", {"row": 3}), "'seat' is a required property"),
        (said("FREE", {"seat": 3}, why="it is free"), "its keys are"),
        (said("FREE", {"seat": 3}).replace('""', "7"), "to must be the name of a member"),
    ],
)
def test_a_reply_of_no_use_is_asked_for_again_with_the_reason(reply: str, reason: str) -> None:
    model = ScriptedModel([reply, said("TAKEN")])
    session = ran(ModelMember(model, GRANTS))
    assert [str(one.action) for one in session.events] == ["asks>grants ASK", "grants>asks DENY"]
    again = unframed(model.requests[1].turns[0].text)[-1]
    assert reason in str(again["reason"])
    assert model.requests[1].epoch == 1


def test_a_model_without_a_usable_reply_ends_the_session_as_that() -> None:
    session = ran(ModelMember(ScriptedModel(["no"] * 3), GRANTS))
    assert session.ending is Ending.NO_ANSWER
    assert "no usable reply in 3 attempts" in session.cause
    assert len(session.events) == 1


STORY = st.lists(
    st.fixed_dictionaries(
        {
            "do": st.sampled_from(["FREE", "TAKEN", "WAIT", "", 7]),
            "to": st.sampled_from(["", "asks", None]),
            "payload": st.sampled_from([None, {"seat": 3}, "x"]),
        },
        optional={"why": st.just("so")},
    ),
    max_size=1,
)


@pytest.mark.deep
@given(STORY, st.text(max_size=20))
def test_what_a_program_is_asked_and_replies_is_as_published(story: Any, ask: str) -> None:
    """Every request follows the schema; a reply that is taken follows it, and a faulty one not."""
    published = schema()
    Draft202012Validator.check_schema(published)
    request, reply = (
        Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": published["$defs"]})
        for name in ("request", "reply")
    )
    taken = list[bool]()

    def told(turn: pxp.Turn) -> pxp.Intent | None:
        line = {"session": turn.session, **briefing(turn, GRANTS)}
        request.validate(json.loads(json.dumps(line)))
        for said in story:
            try:
                read_intent(json.dumps(said), turn, GRANTS)
                taken.append(True)
            except DataError:
                taken.append(False)
        return pxp.Intent("TAKEN")

    ran(told, ask)
    for said, is_taken in zip(story, taken, strict=True):
        assert reply.is_valid(said) or not is_taken


@contextmanager
def typed(text: str, output: Output | None = None) -> Iterator[None]:
    with create_pipe_input() as keys, create_app_session(keys, output or DummyOutput()):
        keys.send_text(text)
        yield


@pytest.mark.parametrize(
    ("text", "tag", "value"),
    [
        ('free\r{"seat": 4}\r', "GRANT", {"seat": 4}),
        ("taken\rsorry\r", "DENY", "sorry"),
        ("taken\r\r", "DENY", None),
        ("maybe\r" + "\x7f" * 5 + "t\r\r", "DENY", None),
        ("free\rseat\r" + "\x7f" * 4 + '{"seat": 1}\r', "GRANT", {"seat": 1}),
    ],
)
def test_a_person_chooses_and_writes_what_is_sent(text: str, tag: str, value: object) -> None:
    async def run() -> Any:
        person = PersonMember(GRANTS, "You sell seats.")
        members: dict[str, Any] = {"asks": lambda _turn: "ASK", "grants": person}
        return await pxp.Session(SYSTEM, members).run()

    with typed(text):
        session = asyncio.run(run())
    assert session.ending is Ending.FINISHED
    assert (session.events[-1].carried.tag, session.events[-1].carried.value) == (tag, value)


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        (
            {"type": "object", "examples": [{"seat": 4}]},
            'GRANT carries a value such as {"seat": 4}',
        ),
        ({"required": ["seat"]}, 'GRANT carries what fits the JSON Schema {"required": ["seat"]}'),
        (False, "GRANT carries what fits the JSON Schema false"),
    ],
)
def test_a_person_is_shown_what_a_message_carries(schema: Any, shown: str) -> None:
    person, screen = PersonMember(replace(GRANTS, payloads={"GRANT": schema})), StringIO()
    turn = pxp.Turn("s", pxp.Instance("a", "a cinema"), "grants", "CHOOSE", ("FREE", "TAKEN"), ())
    with typed("free\r\x03", PlainTextOutput(screen)), pytest.raises(KeyboardInterrupt):
        asyncio.run(person(turn))
    assert shown in screen.getvalue()


def test_a_person_who_leaves_finds_what_they_had_typed(tmp_path: Path) -> None:
    question = pxp.Question("Which class is it of?", pxp.Instance("a whale", "flippers, milk"))

    def answered(text: str) -> pxp.Answer:
        person = TerminalPerson(PROBLEM, lambda _instance: None, tmp_path)
        with typed(text):
            return asyncio.run(person.answer(question))

    with pytest.raises(KeyboardInterrupt):
        answered("mammal\rit gives\rmil\x03")
    assert answered("\r\r\r") == pxp.Answer("mammal", "it gives\nmil")


@pytest.mark.parametrize("refuses", [True, False])
def test_a_person_who_leaves_between_two_lines_finds_the_line_they_had_entered(
    refuses: bool, tmp_path: Path
) -> None:
    """While a line is looked at nobody reads keys; Ctrl-C then cancels the task."""
    question = pxp.Question("Which class is it of?", pxp.Instance("a whale", "flippers, milk"))

    def left(text: str) -> str:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        if refuses:
            raise DataError("no class")
        return text

    def person(from_text: Callable[[str], str]) -> TerminalPerson:
        problem = replace(PROBLEM, from_text=from_text)
        return TerminalPerson(problem, lambda _instance: None, tmp_path)

    with typed("fsh\r"), pytest.raises(asyncio.CancelledError):
        asyncio.run(person(left).answer(question))
    with typed("\r\r"):
        assert asyncio.run(person(str).answer(question)) == pxp.Answer("fsh", "")


REPLIES = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"do": asked["options"][0]["do"], "to": "", "payload": None}), flush=True)
"""


def test_a_program_is_ended_where_there_are_no_process_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows."""
    file = tmp_path / "replies.py"
    file.write_text(REPLIES, "utf-8")
    turn = pxp.Turn("s", pxp.Instance("a", "a cinema"), "asks", "IDLE", (), ("ASK",))
    monkeypatch.delattr(os, "killpg")

    async def asked() -> pxp.Intent | None:
        program = ProgramMember(f"{sys.executable} -S -E {file}", ASKS)
        try:
            return await program(turn)
        finally:
            await program.aclose()  # waits for its end

    assert asyncio.run(asked()) == pxp.Intent("ASK")


@pytest.mark.parametrize("steps", [1, 3, 5, 8, 13])
def test_a_program_answers_though_a_request_before_was_cancelled(
    tmp_path: Path, steps: int
) -> None:
    """The first request is given up while the program starts, or just after it."""
    file = tmp_path / "replies.py"
    file.write_text(REPLIES, "utf-8")
    program = ProgramMember(f"{sys.executable} -S -E {file}", ASKS)
    turn = pxp.Turn("s", pxp.Instance("a", "a cinema"), "asks", "IDLE", (), ("ASK",))

    async def asked() -> pxp.Intent | None:
        first = asyncio.create_task(program(turn))
        for _ in range(steps):
            await asyncio.sleep(0)
        first.cancel()
        try:
            return await program(turn)
        finally:
            await program.aclose()

    assert asyncio.run(asked()) == pxp.Intent("ASK")
