"""What passes a gateway and what does not, what it tells, what it stores and how it goes on."""

from __future__ import annotations

import json
import random
import re
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from backends.databases import SqlBlackboard
from pxp_fsm import web
from pxp_fsm.errors import BlackboardError, UsageError
from pxp_fsm.plugins.gateway import Gateway, GatewayPolicy
from pxp_fsm.plugins.gateway.frames import Lines
from pxp_fsm.web import explorer
from pxp_fsm.web.pages import application
from tests.command_line import pxp
from tests.oracles.gateway import Naive
from tests.plugins.gateway.sides import EXAMPLES, NAMES, Sides, example, frame, written
from tests.sampling import sampled, swept
from tests.web.explorers import ACCESS, BASE, NoChecks, events_of

CHANGE = {"path": "a", "content": "x"}


def test_what_is_allowed_passes_byte_by_byte() -> None:
    sides = Sides.of("confirm")
    odd = b'{"params": {"arguments":{"path" : "\\u00e9"},  "name":"read"},"id":"x",'
    odd += b'"method":"tools/call","jsonrpc":"2.0"}\n'
    assert sides.send(odd).to_server == [odd]
    answer = b'{ "jsonrpc":"2.0","id":"x","result":{"content":[],"isError":false} }\n'
    assert sides.serve(answer).to_client == [answer]


def test_a_change_waits_for_the_person_and_an_approval_counts_once() -> None:
    sides = Sides.of("confirm")
    assert not sides.passes("write_file", **CHANGE)
    assert '"content": "x"' in sides.to_client[-1]["params"]["message"]
    assert len(sides.decides().to_server) == 1
    sides.reply()
    assert not sides.passes("write_file", **CHANGE)  # it is asked anew
    assert sides.to_client[-1]["method"] == "elicitation/create"
    assert not sides.decides(accepts=False).to_server
    assert "the person did not approve it" in sides.told()


def test_an_approval_is_of_these_very_arguments() -> None:
    sides = Sides.of("two_people")
    large = {"amount": 5000, "to": "x"}
    assert not sides.passes("transfer", **large)
    digest = next(iter(sides.gateway.wanted))
    for person in ("ada", "grace"):
        sides.gateway.approve(person, digest)
    for other in ({"amount": 5001, "to": "x"}, {"amount": 5000, "to": "y"}, {**large, "pin": ""}):
        assert not sides.passes("transfer", **other)
    assert sides.passes("transfer", **large)
    assert not sides.passes("transfer", **large)


def test_two_people_are_two() -> None:
    sides = Sides.of("two_people")
    sides.call("transfer", amount=5000)
    assert "an approval of these very arguments by ada" in sides.told()
    digest = next(iter(sides.gateway.wanted))
    sides.gateway.approve("ada", digest)
    with pytest.raises(UsageError, match="cannot be approved now"):
        sides.gateway.approve("ada", digest)
    with pytest.raises(UsageError, match="waits for an approval"):
        sides.gateway.approve("eve", digest)
    assert not sides.passes("transfer", amount=5000)
    sides.gateway.approve("grace", digest, accepts=False)  # takes back what ada has approved
    assert not sides.passes("transfer", amount=5000)
    assert "by ada" in sides.told()


def test_a_file_is_read_before_it_is_written() -> None:
    sides = Sides.of("read_first")
    assert not sides.passes("write_file", path="a")
    assert (
        "it needs first: a call of read_text_file, then success of read_text_file" in sides.told()
    )
    sides.call("read_text_file", path="a")
    assert not sides.passes("write_file", path="a")  # it has not come back
    sides.reply(number=sides.number - 1)
    assert sides.passes("write_file", path="a")
    assert not sides.passes("write_file", path="b")
    assert not sides.passes("write_file", path="./a")


def test_a_budget_counts_calls_and_failures() -> None:
    sides = Sides.of("budget")
    for _ in range(3):
        assert sides.passes("search", words="x")
        sides.fails()
    assert not sides.passes("search", words="x")
    assert "nothing will allow it again" in sides.told()


def test_the_list_of_tools_is_what_is_allowed_now() -> None:
    sides = Sides.of("budget")
    tools = [{"name": "search"}, {"name": "delete"}]

    def listed() -> list[str]:
        sides.request("tools/list", {})
        sides.reply({"tools": tools, "nextCursor": "n"})
        result = sides.to_client[-1]["result"]
        assert result["nextCursor"] == "n"
        return [tool["name"] for tool in result["tools"]]

    assert listed() == ["search"]
    sides.call("search", words="x")
    assert sides.to_client[-1] == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    assert listed() == []
    sides.reply(number=sides.number - 1)
    assert listed() == ["search"]


def test_a_handshake_says_that_the_list_changes() -> None:
    sides = Sides(Gateway(example("budget")))
    sides.request("initialize", {"capabilities": {}})
    sides.reply({"capabilities": {"tools": {}}, "serverInfo": {"name": "s"}})
    assert sides.to_client[-1]["result"]["capabilities"]["tools"] == {"listChanged": True}


def test_a_client_without_a_session_is_asked_by_a_result_and_calls_again() -> None:
    sides = Sides.of("confirm", elicits=False)
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    }
    params: dict[str, Any] = {"name": "write_file", "arguments": CHANGE, "_meta": meta}
    sides.request("tools/call", params)
    asked = sides.to_client[-1]["result"]
    assert asked["resultType"] == "input_required"
    (key,) = asked["inputRequests"]
    reply = {"action": "accept", "content": {"approve": True}}
    again = {**params, "inputResponses": {key: reply}, "requestState": asked["requestState"]}
    other = {**again, "arguments": {**CHANGE, "content": "y"}}
    assert not sides.request("tools/call", other).to_server  # it was of other arguments
    sides.request("tools/call", params)
    again["requestState"] = sides.to_client[-1]["result"]["requestState"]
    (passed,) = sides.request("tools/call", again).to_server
    assert json.loads(passed)["params"] == params  # the server has asked nothing
    assert not sides.request("tools/call", again).to_server


def test_questions_that_nobody_answers_do_not_end_the_asking() -> None:
    text = (EXAMPLES / "confirm.toml").read_text() + "\n[limits]\nopen = 3\n"
    sides = Sides(Gateway(written(text)))
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    }
    for number in range(5):
        change = {"path": str(number)}
        sides.request("tools/call", {"name": "write_file", "arguments": change, "_meta": meta})
        assert sides.to_client[-1]["result"]["resultType"] == "input_required"


def test_a_call_that_the_server_asks_about_goes_on() -> None:
    sides = Sides.of("budget")
    sides.call("search", words="x")
    sides.reply({"resultType": "input_required", "inputRequests": {}, "requestState": "s"})
    again = {"name": "search", "arguments": {"words": "x"}, "requestState": "s"}
    other = {**again, "arguments": {"words": "y"}, "inputResponses": {}}
    assert not sides.request("tools/call", again).to_server  # it answers nothing
    assert not sides.request("tools/call", other).to_server
    assert sides.request("tools/call", {**again, "inputResponses": {}}).to_server
    assert not sides.request("tools/call", {**again, "inputResponses": {}}).to_server  # once
    sides.reply(number=sides.number - 1)
    assert sides.passes("search", words="x")


# Ways around ---------------------------------------------------------------------------------

_CALL = (
    b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"write_file","arguments":{}}}'
)

ATTACKS = {
    "a batch": b"[" + _CALL + b"]",
    "a key twice": _CALL.replace(b'{"name"', b'{"name":"read","name"'),
    "a method twice": _CALL.replace(b'"method"', b'"method":"ping","method"'),
    "another case": _CALL.replace(b'{"name"', b'{"Name"'),
    "another case of the method": _CALL.replace(b'"method"', b'"METHOD"'),
    "a line within": b'{"jsonrpc":"2.0","id":8,"method":"ping","params":[\r' + _CALL + b"\r]}",
    "no id": _CALL.replace(b'"id":9,', b""),
    "an id of null": _CALL.replace(b":9", b":null"),
    "a fraction as id": _CALL.replace(b":9", b":9.0"),
    "a list as arguments": _CALL.replace(b'"arguments":{}', b'"arguments":[]'),
    "null as arguments": _CALL.replace(b'"arguments":{}', b'"arguments":null'),
    "a number as name": _CALL.replace(b'"write_file"', b"7"),
    "another version": _CALL.replace(b"2.0", b"1.0"),
    "no number of JSON": _CALL.replace(b"{}", b'{"a":NaN}'),
    "no UTF-8": _CALL.replace(b"{}", b'{"a":"\xff"}'),
    "no JSON": _CALL[:-1],
    "an answer to nothing": b'{"jsonrpc":"2.0","id":"pxp-gateway/1","result":{"action":"accept"}}',
    "too deep": _CALL.replace(b"{}", b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "too long": _CALL.replace(b"{}", b'{"a":"' + b"x" * 5_000_000 + b'"}'),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_frame_that_can_be_read_in_two_ways_passes_to_nobody(name: str) -> None:
    sides = Sides.of("confirm")
    traffic = sides.send(ATTACKS[name] + b"\n")
    assert not traffic.to_server
    assert all(
        "error" in json.loads(one) or "result" in json.loads(one) for one in traffic.to_client
    )
    assert sides.passes("read_text_file", path="a")  # it goes on


NUMBERS = (
    *("1", "1.0", "1e0", "1.00", "10", "1e1", "1E1", "10.0", "0", "-0", "-0.0"),
    *("12345678901234567890", "12345678901234567891"),
    *("12345678901234567890.0", "12345678901234567891.0"),
)


def test_an_approval_is_of_numbers_as_they_are_written() -> None:
    """Two texts that are one float are two values, but -0 is 0."""
    sides = Sides.of("two_people")

    def call(number: str) -> bytes:
        sides.number += 1
        params = b'{"name":"transfer","arguments":{"amount":5000,"to":[%b]}}' % number.encode()
        return b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%b}\n' % (
            sides.number,
            params,
        )

    for number in NUMBERS:
        sides.send(call(number))
    assert len(sides.gateway.wanted) == len(NUMBERS) - 1
    assert not sides.to_server
    for action in list(sides.gateway.wanted):
        for person in ("ada", "grace"):
            sides.gateway.approve(person, action)
        passed = [number for number in NUMBERS if sides.send(call(number)).to_server]
        assert len(passed) == 1
    assert "too large" in json.dumps(sides.send(call("1e400")) and sides.to_client[-1])


def test_a_call_that_is_held_gets_an_error_when_the_server_ends() -> None:
    sides = Sides.of("confirm")
    sides.call("write_file", **CHANGE)
    ask = sides.to_client[-1]["id"]
    (told,) = sides.gateway.lost(sides.number, "the server has ended").to_client
    assert json.loads(told)["id"] == sides.number
    assert not sides.gateway.doubt  # it was not sent
    reply = {"action": "accept", "content": {"approve": True}}
    assert not sides.send({"jsonrpc": "2.0", "id": ask, "result": reply}).to_server


def test_calls_at_once_use_an_approval_once() -> None:
    sides = Sides.of("confirm")
    for _ in range(3):
        sides.call("write_file", **CHANGE)
    asks = [message["id"] for message in sides.to_client]
    accept = {"action": "accept", "content": {"approve": True}}
    for ask in asks:
        sides.send({"jsonrpc": "2.0", "id": ask, "result": accept})
        sides.send({"jsonrpc": "2.0", "id": ask, "result": accept})
    assert len(sides.to_server) == 3  # each question was answered once


def test_a_call_under_way_is_no_answer_of_another() -> None:
    sides = Sides.of("budget")
    sides.call("search", words="x")
    twice = {"jsonrpc": "2.0", "id": sides.number, "method": "ping"}
    assert "waits for its answer" in json.loads(sides.send(twice).to_client[0])["error"]["message"]
    assert not sides.serve({"jsonrpc": "2.0", "id": 99, "result": {}}).to_client
    assert not sides.serve({"jsonrpc": "2.0", "id": sides.number}).to_client
    assert not sides.passes("search", words="y")


def test_cancelling_gives_nothing_back() -> None:
    sides = Sides.of("budget")
    sides.call("search", words="x")
    gone = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
    assert sides.send(gone).to_server
    assert not sides.passes("search", words="y")
    held = Sides.of("confirm")
    held.call("write_file", **CHANGE)
    ask = held.to_client[-1]["id"]
    gone["params"] = {"requestId": held.number}
    assert not held.send(gone).to_server
    reply = {"action": "accept", "content": {"approve": True}}
    assert not held.send({"jsonrpc": "2.0", "id": ask, "result": reply}).to_server


def test_renamed_tools_and_unknown_methods_are_what_the_file_says() -> None:
    sides = Sides.of("budget")
    assert not sides.passes("search2", words="x")
    assert not sides.passes("Search", words="x")
    assert sides.request("resources/read", {"uri": "file:///a"}).to_server
    strict = written(_STRICT)
    closed = Sides.of(strict)
    for method in ("resources/read", "tools/Call", "evil"):
        assert not closed.request(method, {}).to_server
        assert "has no line" in closed.to_client[-1]["error"]["message"]
    assert closed.request("ping", {}).to_server
    assert closed.request("tools/list", {}).to_server


_STRICT = """
format = 1
name = "strict"
otherwise = { tools = "refuse", methods = "refuse" }

[[lines]]
tool = "pay"
when = "amount <= 10 and currency == EUR"
then = "pass"

[[lines]]
method = "prompts/get"
event = "PROMPT"

[fields]
amount = { at = "sum.amount", type = "int" }
currency = { at = "sum.currency", of = ["EUR", "USD"] }

[[tables]]
name = "prompts"
rows = [{ from = "NONE", to = "ONE", event = "PROMPT" }]
"""


@pytest.mark.parametrize(
    ("arguments", "passes"),
    [
        ({"sum": {"amount": 10, "currency": "EUR"}}, True),
        ({"sum": {"amount": 11, "currency": "EUR"}}, False),
        ({"sum": {"amount": 10, "currency": "USD"}}, False),
        ({"sum": {"amount": "10", "currency": "EUR"}}, False),
        ({"sum": {"amount": 10.0, "currency": "EUR"}}, False),
        ({"sum": {"amount": True, "currency": "EUR"}}, False),
        ({"sum": {"amount": 10, "currency": "eur"}}, False),
        ({"sum": {"amount": 10, "Amount": 99, "currency": "EUR"}}, False),
        ({"sum": [10]}, False),
        ({"Sum": {"amount": 10, "currency": "EUR"}}, False),
        ({}, False),
    ],
)
def test_conditions_are_over_fields_of_their_types(arguments: dict[str, Any], passes: bool) -> None:
    assert Sides.of(written(_STRICT)).passes("pay", **arguments) is passes


def test_a_method_is_refused_with_an_error_of_the_protocol() -> None:
    sides = Sides.of(written(_STRICT))
    assert sides.request("prompts/get", {}).to_server
    assert not sides.request("prompts/get", {}).to_server
    assert "prompts/get was not carried out" in sides.to_client[-1]["error"]["message"]


def test_what_the_server_says_unasked_changes_nothing() -> None:
    sides = Sides.of("read_first")
    sides.serve(b"hello\n")
    sides.serve({"jsonrpc": "2.0", "id": 77, "result": {"content": []}})
    sides.serve({"jsonrpc": "2.0", "id": "pxp-gateway/1", "method": "elicitation/create"})
    assert not sides.to_client
    assert not sides.passes("write_file", path="a")


def test_limits() -> None:
    text = (EXAMPLES / "read_first.toml").read_text()
    limits = "\n[limits]\nopen = 3\na_minute = 4\ncopies = 2\n"
    now = [0.0]
    policy = written(text + limits)
    sides = Sides(Gateway(policy, clock=lambda: now[0]))
    assert sides.passes("read_text_file", path="a")
    assert sides.passes("read_text_file", path="b")
    assert not sides.passes("read_text_file", path="c")
    assert "at most 2 copies" in sides.told()
    assert sides.passes("list_directory", path=".")
    assert not sides.passes("list_directory", path=".")
    assert "requests wait for an answer" in sides.to_client[-1]["error"]["message"]
    sides.reply(number=1)
    sides.reply(number=2)
    assert sides.passes("list_directory", path=".")
    assert not sides.passes("list_directory", path=".")
    sides.reply(number=sides.number - 1)
    assert not sides.passes("list_directory", path=".")
    assert "calls in a minute" in sides.told()
    now[0] = 61.0
    assert sides.passes("list_directory", path=".")


def test_a_stream_is_cut_into_frames_wherever_it_is_cut() -> None:
    text = b'{"a":1}\n\n{"b":2}\r\n' + b"x" * 50 + b'\n{"c":3}\n'
    expected = [b'{"a":1}\n', b'{"b":2}\r\n', None, b'{"c":3}\n']
    for size in (1, 2, 7, len(text)):
        lines = Lines(20)
        parts = [text[at : at + size] for at in range(0, len(text), size)]
        assert [one for part in parts for one in lines.feed(part)] == expected


# What is stored ------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "gateway.db"


def test_secrets_are_stored_as_digests_alone(database: Path) -> None:
    with SqlBlackboard(str(database)) as board:
        sides = Sides.of("two_people", board)
        assert sides.passes("transfer", amount=1, pin="correct horse", more=[{"pin": "battery"}])
        assert not sides.passes("transfer", amount=5000, pin="correct horse", to="ada lovelace")
        for person in ("ada", "grace"):
            sides.gateway.approve(person, next(iter(sides.gateway.wanted)))
        assert sides.passes("transfer", amount=5000, pin="correct horse", to="ada lovelace")
        sides.gateway.stop()
    stored = b"".join(file.read_bytes() for file in database.parent.iterdir())
    assert b"ada lovelace" in stored
    assert b"correct horse" not in stored
    assert b"battery" not in stored


def test_a_run_goes_on_and_another_policy_is_none_of_it(database: Path) -> None:
    with SqlBlackboard(str(database)) as board:
        sides = Sides.of("budget", board)
        for _ in range(4):
            assert sides.passes("search", words="x")
            sides.reply()
        sides.gateway.stop()
    with SqlBlackboard(str(database)) as board:
        again = Sides.of("budget", board)
        assert not again.gateway.doubt
        assert again.passes("search", words="x")
        again.reply()
        assert not again.passes("search", words="x")
        again.gateway.stop()
    text = (EXAMPLES / "budget.toml").read_text().replace("most = 5", "most = 50")
    with SqlBlackboard(str(database)) as board, pytest.raises(UsageError, match="another policy"):
        Gateway(written(text), board)


@pytest.mark.parametrize("name", ["confirm", "read_first"])
def test_a_call_under_way_when_the_gateway_is_killed_is_never_sent_twice(
    database: Path, name: str
) -> None:
    tool = "write_file" if name == "confirm" else "read_text_file"
    with SqlBlackboard(str(database)) as board:
        sides = Sides.of(name, board)
        sides.call(tool, **CHANGE)
        if name == "confirm":
            sides.decides()
        assert len(sides.to_server) == 1
    for _ in range(2):  # nothing says that it stopped
        with SqlBlackboard(str(database)) as board:
            again = Sides.of(name, board)
            again.call(tool, **CHANGE)
            if name == "confirm":
                assert "nobody knows whether it was carried out" in again.told()
                assert again.gateway.doubt
            else:  # it is idempotent
                assert len(again.to_server) == 1
                again.reply()
            again.gateway.stop()
    with SqlBlackboard(str(database)) as board:
        events = [event.label for event in board.events(f"{name}/calls")]
        assert events.count("KILLED") == 1
        assert events.count("IN_DOUBT") == 1


def test_an_answer_that_was_perhaps_not_passed_on_is_in_doubt(database: Path) -> None:
    with SqlBlackboard(str(database)) as board:
        sides = Sides.of("two_people", board)
        for to in ("a", "b", "c"):
            sides.call("transfer", amount=1, to=to)
        sides.reply(number=2)
        sides.reply(number=3)  # it says that the client was passed the answer before
    for _ in range(2):
        with SqlBlackboard(str(database)) as board:
            again = Sides.of("two_people", board)
            sent = [to for to in ("a", "b", "c") if again.passes("transfer", amount=1, to=to)]
            assert sent == ["a"]
            again.reply(number=2)
            again.gateway.stop()


def test_a_call_in_doubt_says_what_is_known_and_is_made_again_once_released(
    database: Path,
) -> None:
    with SqlBlackboard(str(database)) as board:
        sides = Sides.of("two_people", board)
        for to in ("a", "b"):
            sides.call("transfer", amount=1, to=to)
        sides.reply(number=2)
    with SqlBlackboard(str(database)) as board:
        again = Sides.of("two_people", board)
        assert not again.passes("transfer", amount=1, to="a")
        assert "(call 1 of the run two_people): the server answered with a success" in again.told()
        assert "carried out" not in again.told()
        assert not again.passes("transfer", amount=1, to="b")
        assert "nobody knows whether it was carried out" in again.told()
        with pytest.raises(UsageError, match="the call 3 is not in doubt; in doubt: 1, 2"):
            again.gateway.release(3)
        again.gateway.release(1)
        again.gateway.stop()
    with SqlBlackboard(str(database)) as board:
        last = Sides.of("two_people", board)
        sent = [last.passes("transfer", amount=1, to=to) for to in ("a", "b", "a")]
        assert sent == [True, False, True]  # small ones need no approval


def test_a_released_call_needs_an_approval_of_its_own(database: Path) -> None:
    with SqlBlackboard(str(database)) as board:
        sides = Sides.of("confirm", board)
        sides.call("write_file", **CHANGE)
        sides.decides()
        assert len(sides.to_server) == 1
    with SqlBlackboard(str(database)) as board:
        again = Sides.of("confirm", board)
        again.gateway.release(1)
        assert not again.passes("write_file", **CHANGE)
        again.decides()
        assert len(again.to_server) == 1


def test_a_refusal_names_what_needs_an_approval_apart() -> None:
    sides = Sides.of("confirm", elicits=False)
    tools = [{"name": "read_text_file"}, {"name": "write_file"}]
    sides.request("tools/list", {})
    sides.reply({"tools": tools})
    assert not sides.passes("write_file", **CHANGE)
    now, _, asking = sides.told().partition(" Tools that need an approval of each call first: ")
    assert now.endswith("Tools that may be called now, for some arguments: read_text_file.")
    assert asking.startswith("write_file")
    assert "This client cannot ask its person" in now


def test_what_is_in_doubt_is_an_event_where_the_policy_says_so(database: Path) -> None:
    with SqlBlackboard(str(database)) as board:
        assert Sides.of("budget", board).passes("search", words="x")
    with SqlBlackboard(str(database)) as board:
        again = Sides.of("budget", board)
        assert again.passes("search", words="y")  # the other one has failed, as far as one knows


@pytest.mark.parametrize("stop", range(1, 8))
def test_a_gateway_that_dies_before_an_event_is_stored_sends_nothing(
    database: Path, stop: int
) -> None:
    """At each write of a call: what was not stored was not sent, what was sent is in doubt."""
    left = [stop]
    with SqlBlackboard(str(database)) as board:
        sides = Sides.of("two_people", board)
        sides.call("transfer", amount=5000)
        own = board.append

        def append(session: str, event: Any) -> None:
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt
            own(session, event)

        board.append = append  # type: ignore[method-assign]
        with suppress(KeyboardInterrupt):
            _approve(sides)
            sides.call("transfer", amount=5000)
        assert len(sides.to_server) == (stop == 7)
        assert left[0] == (stop == 7)
    with SqlBlackboard(str(database)) as board:
        again = Sides.of("two_people", board)
        again.call("transfer", amount=5000)
        _approve(again)
        for _ in range(3):
            again.call("transfer", amount=5000)
        assert len(again.to_server) + len(sides.to_server) == 1


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("stop", sampled(range(1, 9), 3))
def test_a_store_that_fails_once_leaves_nothing_sent_that_is_not_stored(
    database: Path, stop: int, committed: bool
) -> None:
    """At each write: before it is committed, or after, where the answer to it is lost."""
    left = [stop]
    with SqlBlackboard(str(database)) as board:
        sides = Sides.of("two_people", board)
        own = board._extend

        def extend(*additions: Any) -> int:
            left[0] -= 1
            if left[0] != 0:
                return own(*additions)
            if committed:
                own(*additions)
            raise BlackboardError("database or disk is full")

        board._extend = extend  # type: ignore[method-assign]
        sides.call("transfer", amount=1, to="a")
        sides.reply()
        sides.call("transfer", amount=1, to="b")
        sides.call("transfer", amount=5000)
        _approve(sides)
        _approve(sides)  # what could not be stored is approved again
        sides.call("transfer", amount=5000)
        sides.call("transfer", amount=5000)
        sides.reply(number=sides.number)
        sent = [json.loads(frame)["params"]["arguments"] for frame in sides.to_server]
        assert [each for each in sent if each["amount"] == 5000] in ([], [{"amount": 5000}])
        heard = [message.get("id") for message in sides.to_client if "method" not in message]
        assert len(heard) == len(set(heard))  # each request is answered once
        sides.call("transfer", amount=1, to="c")
        again = sides.number
        assert json.loads(sides.to_server[-1])["params"]["arguments"]["to"] == "c"
        sides.reply(number=again)
        assert again in [message.get("id") for message in sides.to_client]
        sides.gateway.stop()
        del board._extend
        stored = [
            json.loads(event.judgements[0].detail)["arguments"]
            for event in board.events("two_people/calls")
            if event.label == "CALL"
        ]
        assert all(each in stored for each in sent)
    assert left[0] <= 0
    with SqlBlackboard(str(database)) as board:
        assert Sides.of("two_people", board).passes("transfer", amount=1, to="d")
    assert pxp("verify", str(database), cwd=database.parent).returncode == 0


def _approve(sides: Sides) -> None:
    """Both people approve what waits for them, where they have not."""
    for person in ("ada", "grace"):
        for wanted in list(sides.gateway.wanted):
            with suppress(UsageError):
                sides.gateway.approve(person, wanted)


def test_an_erased_run_is_verified_and_does_not_go_on(database: Path) -> None:
    def left() -> list[bytes]:
        stored = b"".join(file.read_bytes() for file in database.parent.iterdir())
        return [words for words in (b"ada lovelace", b"love letters") if words in stored]

    with SqlBlackboard(str(database)) as board:
        sides = Sides.of("read_first", board)
        sides.call("read_text_file", path="ada lovelace")
        sides.reply()
        assert sides.passes("write_file", path="ada lovelace", content="love letters")
        sides.gateway.stop()
        (copy,) = (each.session for each in board.sessions() if "/file/" in each.session)
    for what, remains in (
        (copy, [b"ada lovelace", b"love letters"]),  # calls have their arguments too
        ("read_first/calls", []),
    ):
        erased = pxp("erase", what, "--yes", "--database", str(database), cwd=database.parent)
        assert f"Erased: {what}" in erased.stdout
        assert left() == remains
        verified = pxp("verify", str(database), cwd=database.parent)
        assert verified.returncode == 0
        assert f"Erased: session {what}" in verified.stdout
        with (
            SqlBlackboard(str(database)) as board,
            pytest.raises(UsageError, match=r"was erased, so that .* begin another run"),
        ):
            Sides.of("read_first", board)
    shown = pxp("show", "read_first/calls", "-v", "--database", str(database), cwd=database.parent)
    assert shown.stdout.count("! CALL") == 2
    with SqlBlackboard(str(database)) as board:
        assert not Sides.of("read_first", board, run="again").passes("write_file", path="a")


def test_the_explorer_follows_a_gateway_that_runs(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explorer, "Process", NoChecks)
    monkeypatch.setattr(explorer, "PAUSE", 0.01)
    with SqlBlackboard(str(database)) as board:
        sides = Sides.of("read_first", board)
        recording = web.Recording("read_first/calls", str(database), ["F event.REFUSAL"])
        pages = application(ACCESS, explorer.explorer_pages(recording.subject, recording))
        headers = {"authorization": f"Bearer {ACCESS.token}"}
        with (
            TestClient(pages, base_url=BASE, headers=headers) as client,
            events_of(client) as events,
        ):

            def followed(happened: int) -> str:
                """How the formula stands, once so much has happened."""
                while True:
                    event = events.receive_json()
                    session = event.get("session", {})
                    if session.get("happened") == happened:
                        return str(session["monitors"][0]["verdicts"][-1])

            assert followed(1) == "presumably false"
            sides.call("read_text_file", path="a")
            assert followed(2) == "presumably false"
            sides.call("write_file", path="b")
            assert followed(3) == "true"


# Another implementation ----------------------------------------------------------------------


def _policies() -> list[tuple[GatewayPolicy, dict[str, Any]]]:
    found = []
    for name in NAMES:
        raw = tomllib.loads((EXAMPLES / f"{name}.toml").read_text())
        found.append((example(name), raw))
    return found


def _compare(policy: GatewayPolicy, raw: dict[str, Any], seed: int, steps: int) -> int:
    """One random trace; how many of its calls passed."""
    chance = random.Random(seed)
    naive, sides = Naive(raw), Sides(Gateway(policy))
    sides.gateway.elicits = True
    tools = [*policy.tools, "other"]
    waiting: list[tuple[int, str, dict[str, Any]]] = []
    passed = 0
    for _ in range(steps):
        tool = chance.choice(tools)
        arguments: dict[str, Any] = {
            "path": chance.choice("ab"),
            "amount": chance.choice([1, 1000, 1001, 1001, "1", 1.0]),
        }
        if chance.random() < 0.1:
            del arguments[chance.choice(["path", "amount"])]
        if waiting and chance.random() < 0.4:
            number, called, about = waiting.pop(chance.randrange(len(waiting)))
            is_error = chance.random() < 0.3
            (sides.fails if is_error else sides.reply)(number=number)
            naive.result(called, about, "error" if is_error else "success")
            continue
        if sides.gateway.wanted and chance.random() < 0.5:
            digest = chance.choice(list(sides.gateway.wanted))
            call, person = sides.gateway.wanted[digest].call, chance.choice(["ada", "grace"])
            try:
                sides.gateway.approve(person, digest)
                counts = True
            except UsageError:
                counts = False
            assert naive.approval(call.tool, call.arguments, person) is counts
            continue
        verdict = naive.call(tool, arguments)
        traffic = sides.call(tool, **arguments)
        number = sides.number
        if verdict == "ask":
            assert not traffic.to_server
            accepts = chance.random() < 0.5
            if accepts:
                assert naive.approval(tool, arguments)
                verdict = naive.call(tool, arguments)
            else:
                verdict = "refuse"
            traffic = sides.decides(accepts=accepts)
        assert bool(traffic.to_server) is (verdict == "pass"), (seed, tool, arguments, verdict)
        if verdict == "pass":
            passed += 1
            waiting.append((number, tool, arguments))
    return passed


def test_random_traces_are_decided_as_by_a_naive_gateway() -> None:
    passed = [_compare(policy, raw, seed, 30) for policy, raw in _policies() for seed in range(6)]
    assert sum(passed) > len(passed)


@pytest.mark.deep
def test_thousands_of_random_traces_are_decided_as_by_a_naive_gateway() -> None:
    policies = _policies()
    for seed in range(swept(10_000)):
        _compare(*policies[seed % len(policies)], seed, 5)


def test_frames_of_nonsense_pass_to_nobody() -> None:
    chance, sides = random.Random(1), Sides.of("confirm")
    whole = frame(
        {
            "jsonrpc": "2.0",
            "id": 5,
            "method": "tools/call",
            "params": {"name": "write_file", "arguments": CHANGE},
        }
    )
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data) - 1)] = chance.choice(b'{}[]",:\\x09\r')
        for passed in sides.send(bytes(data)).to_server:
            assert json.loads(passed)["params"].get("name") != "write_file"


def test_a_board_is_a_store_of_sessions(database: Path) -> None:
    with SqlBlackboard(str(database)) as board:
        sides = Sides.of("read_first", board)
        for path in "ab":
            sides.call("read_text_file", path=path)
            sides.reply()
        names = sorted(record.session for record in board.sessions("read_first"))
        assert names[0] == "read_first/calls"
        assert [name.rpartition("/")[0] for name in names[1:]] == ["read_first/file"] * 2
        stored = board.session(names[1])
        assert stored.states == {"file": "KNOWN"}
        about = json.loads(stored.record.instance.x)["of"]
        assert about in ({"path": "a"}, {"path": "b"})
    recording = web.Recording(names[1], str(database), ())
    assert [member.name for member in recording.subject.system().members] == ["file"]


def test_pxp_show_has_a_row_for_each_call(database: Path) -> None:
    with SqlBlackboard(str(database)) as board:
        sides = Sides.of("read_first", board)
        sides.call("read_text_file", path="a")
        sides.reply()
        sides.call("write_file", path="b", content="x" * 300)
        sides.call("write_file", path="a", content="\x1b[31m")
        sides.reply({"isError": True, "content": []})
        sides.call("read_text_file", path="c")
        sides.gateway.stop()
        sides = Sides.of("two_people", board)
        sides.call("transfer", amount=5000)
        _approve(sides)

    def rows(run: str) -> list[list[str]]:
        shown = pxp("show", f"{run}/calls", "--database", str(database), cwd=database.parent)
        assert "\x1b" not in shown.stdout
        lines = shown.stdout.splitlines()
        begin = next(place for place, line in enumerate(lines) if "───" in line)
        return [re.split(r"  +", line.strip()) for line in lines[begin + 1 :] if line.strip()]

    first, second, third, fourth = rows("read_first")
    assert first[:4] == ["1", "read_text_file", '{"path": "a"}', "answered"]
    assert float(first[4]) < 60
    assert (second[0], second[1], second[3]) == ("2", "write_file", "refused")
    assert second[2].endswith("…") and len(second[2]) <= 40
    assert "Read the file first." in second[4]
    assert third[:2] == ["3", "write_file"] and third[3] == "failed"
    assert fourth[3:] == ["no answer"]
    ((*_, outcome, why),) = rows("two_people")
    assert (outcome, why[-36:]) == ("refused", " Approval by ada. Approval by grace.")
    data = json.loads(
        pxp(
            "show", "read_first/calls", "--json", "--database", str(database), cwd=database.parent
        ).stdout
    )
    details = [json.loads(each["detail"]) for e in data["events"] for each in e["judgements"]]
    assert [each["call"] for each in details] == [1, 1, 2, 3, 3, 4]
