"""A gateway before an agent of A2A: which traffic is which event; the SDK's client and server."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from backends.databases import SqlBlackboard
from pxp_fsm.errors import FileError, UsageError
from pxp_fsm.plugins.gateway import Gateway, GatewayPolicy
from pxp_fsm.plugins.gateway.http_proxy import CLIENT, gateway_site
from pxp_fsm.web.pages import application
from tests.command_line import pxp
from tests.plugins.gateway.sides import EXAMPLES, ROOT, Sides, example, written
from tests.plugins.gateway.test_http import served, wait_for
from tests.plugins.gateway.test_stdio import ENVIRONMENT
from tests.waiting import PATIENCE, free_port

OLD, NEW = ("message/send", "message/stream"), ("SendMessage", "SendStreamingMessage")


def _message(purpose: str = "ask", text: str = "hello", **more: Any) -> dict[str, Any]:
    message = {"messageId": os.urandom(4).hex(), "role": "ROLE_USER", "parts": [{"text": text}]}
    return {"message": {**message, "metadata": {"purpose": purpose}, **more}}


def _sides(policy: GatewayPolicy | None = None, board: SqlBlackboard | None = None) -> Sides:
    return Sides(Gateway(policy or example("delegate"), board))


def _told(sides: Sides) -> str:
    """Why the agent has rejected the last message, as a client reads it."""
    result = sides.to_client[-1]["result"]
    task = result.get("task", result)
    assert task["status"]["state"] in ("TASK_STATE_REJECTED", "rejected")
    return str(task["status"]["message"]["parts"][0]["text"])


def _state(state: str, kind: str = "statusUpdate") -> dict[str, Any]:
    return {kind: {"taskId": "t", "contextId": "c", "status": {"state": f"TASK_STATE_{state}"}}}


@pytest.mark.parametrize("method", [*OLD, *NEW])
def test_messages_are_one_action_in_both_revisions_with_a_stream_or_without(method: str) -> None:
    sides = _sides()
    assert sides.request(method, _message()).to_server
    for other in (*OLD, *NEW):
        assert not sides.request(other, _message()).to_server
        assert "it needs first: completed" not in _told(sides)
        assert "a result of SendMessage" in _told(sides)
    assert sides.request("tasks/get" if method in OLD else "GetTask", {"id": "t"}).to_server
    assert not sides.request("tasks/delete", {"id": "t"}).to_server
    assert sides.to_client[-1]["error"]["code"] == -32004


@pytest.mark.parametrize(
    ("result", "frees"),
    [
        (_state("COMPLETED", "task"), True),
        (_state("INPUT_REQUIRED", "task"), True),
        (_state("WORKING", "task"), False),
        ({"message": {"parts": []}}, True),
        ({"kind": "task", "status": {"state": "failed"}}, True),
        ({"kind": "task", "status": {"state": "submitted"}}, False),
        ({"kind": "artifact-update", "artifact": {}}, False),
    ],
)
def test_states_of_tasks_are_outcomes(result: dict[str, Any], frees: bool) -> None:
    sides = _sides()
    sides.request("SendMessage", _message())
    sides.reply(result)
    assert bool(sides.request("SendMessage", _message()).to_server) is frees


def test_a_stream_has_many_answers_and_a_call_is_over_with_the_last() -> None:
    sides = _sides()
    sides.request("SendStreamingMessage", _message())
    number = sides.number
    odd = b'{"result":{"statusUpdate" :{"status":{"state":"TASK_STATE_WORKING"}}},"id":%d,' % number
    odd += b'"jsonrpc":"2.0"}\n'
    assert sides.serve(odd).to_client == [odd]
    assert not sides.request("SendMessage", _message()).to_server
    sides.reply({"artifactUpdate": {"artifact": {}}}, number)
    sides.reply(_state("COMPLETED"), number)
    assert len([each for each in sides.to_client if each["id"] == number]) == 3
    assert not sides.gateway.lost(number, "it broke off").to_client
    assert not sides.serve({"jsonrpc": "2.0", "id": number, "result": _state("WORKING")}).to_client
    assert sides.request("SendMessage", _message()).to_server


@pytest.mark.parametrize("kill", [True, False])
def test_a_stream_that_breaks_off_has_an_unknown_outcome(tmp_path: Path, kill: bool) -> None:
    with SqlBlackboard(str(tmp_path / "g.db")) as board:
        sides = _sides(board=board)
        sides.request("SendStreamingMessage", _message())
        sides.reply(_state("WORKING"))
        if not kill:
            sides.gateway.lost(sides.number, "the stream broke off")
            assert sides.request("SendMessage", _message()).to_server  # the agent has the first
            return
        sides.gateway.stop()
    with SqlBlackboard(str(tmp_path / "g.db")) as board:
        again = _sides(board=board)
        assert not again.gateway.doubt
        assert again.request("SendMessage", _message()).to_server


def test_a_message_is_the_same_whatever_its_id_and_is_not_sent_twice(tmp_path: Path) -> None:
    for sent in (1, 0):
        with SqlBlackboard(str(tmp_path / "g.db")) as board:
            sides = _sides(board=board)
            assert len(sides.request("SendMessage", _message()).to_server) == sent
            if not sent:
                assert "nobody knows whether it was carried out" in _told(sides)
                assert sides.request("SendMessage", _message(text="other")).to_server


def test_a_booking_waits_for_ada_and_is_approved_once() -> None:
    sides = _sides()
    assert not sides.request("SendMessage", _message("book")).to_server
    assert "an approval of these very arguments by ada" in _told(sides)
    action = next(iter(sides.gateway.wanted))
    sides.gateway.approve("ada", action)
    assert not sides.request("SendMessage", _message("book", "another")).to_server
    assert not sides.request("SendMessage", _message("book", contextId="c")).to_server
    assert sides.request("message/stream", _message("book")).to_server
    sides.reply(_state("COMPLETED"))
    sides.gateway.lost(sides.number, "")
    assert not sides.request("SendMessage", _message("book")).to_server


def test_a_refused_message_to_a_task_does_not_say_that_the_task_is_over() -> None:
    sides = _sides()
    sides.request("SendMessage", _message("book", taskId="t", contextId="c"))
    told = sides.to_client[-1]["result"]["message"]
    assert (told["taskId"], told["contextId"], told["role"]) == ("t", "c", "ROLE_AGENT")
    sides.request("message/send", _message("book", taskId="t"))
    assert sides.to_client[-1]["result"]["kind"] == "message"


_PUSH = {"taskPushNotificationConfig": {"url": "http://evil.example"}}

ATTACKS: dict[str, dict[str, Any]] = {
    "no purpose": {"message": {"parts": []}},
    "another spelling of a key": {"message": {"Metadata": {"purpose": "ask"}}},
    "the other spelling of protobuf": {"message": {"meta_data": {"purpose": "ask"}}},
    "a purpose twice": _message(metadata={"purpose": "ask", "Purpose": "book"}),
    "another purpose": _message("steal"),
    "messages in a list": {"message": [_message()["message"]]},
    "no message": {},
    "a message in another case": {**_message(), "Message": _message("book")["message"]},
    "push notifications besides": {**_message(), "configuration": _PUSH},
    "push notifications in the other spelling": {
        **_message(),
        "configuration": {"push_notification_config": {}},
    },
}


@pytest.mark.parametrize("name", ATTACKS)
def test_no_message_goes_around_the_policy(name: str) -> None:
    for method in (*OLD, *NEW):
        sides = _sides()
        assert not sides.request(method, ATTACKS[name]).to_server
    assert sides.request("SendMessage", _message()).to_server


def test_what_is_no_request_passes_to_nobody() -> None:
    sides = _sides()
    call = {"jsonrpc": "2.0", "method": "SendMessage", "params": _message()}
    request = json.dumps({**call, "id": 1}).encode()
    for frame in (
        json.dumps(call).encode(),
        json.dumps({**call, "id": None}).encode(),
        b"[%b]" % request,
        request.replace(b'"params"', b'"params":{},"params"'),
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":[]}',
    ):
        assert not sides.send(frame).to_server
    assert sides.send(request).to_server
    assert not sides.send(request).to_server  # its id waits
    assert not sides.serve({"jsonrpc": "2.0", "id": 7, "method": "SendMessage"}).to_client
    assert not sides.serve({"jsonrpc": "2.0", "id": 7, "result": {}}).to_client


def _event(state: str) -> bytes:
    """An event of a stream that answers the request 2."""
    answer = {"jsonrpc": "2.0", "id": 2, "result": {**_state(state), "x": "\u2028\x85"}}
    return (
        b"event: message\r\ndata: " + json.dumps(answer, ensure_ascii=False).encode() + b"\r\n\r\n"
    )


def _card() -> dict[str, Any]:
    """A card in the forms of both revisions."""
    address = "https://agent.example/rpc"
    return {
        "name": "agent",
        "url": address,
        "additionalInterfaces": [{"url": "grpc://x", "transport": "GRPC"}],
        "supportedInterfaces": [
            {"url": "grpc://x", "protocolBinding": "GRPC", "protocolVersion": "1.0"},
            {"url": address, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        ],
        "securitySchemes": {"own": {"type": "oauth2"}},
        "capabilities": {"streaming": True, "pushNotifications": True},
        "skills": [{"id": "s", "security": [{"own": []}]}],
        "signatures": [{"signature": "s"}],
    }


def test_a_card_says_what_is_allowed_now_and_leads_through_the_gateway() -> None:
    sides = _sides()
    sides.gateway.address = "http://here/a2a"
    shown = sides.gateway.described(_card())
    assert "example" not in json.dumps(shown)
    assert [each["url"] for each in shown["supportedInterfaces"]] == [shown["url"]]
    assert shown["url"] == "http://here/a2a"
    assert shown["skills"] == [{"id": "s"}]
    assert shown["capabilities"] == {"streaming": True, "pushNotifications": False}
    assert [*shown["securitySchemes"]] == ["gateway"]
    assert "signatures" not in shown
    sides.request("SendMessage", _message())
    assert sides.gateway.described(_card())["skills"]  # of a booking that ada may approve


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('methods = "refuse"', 'tools = "refuse", methods = "refuse"', "A2A has no tools"),
        ('{ ada = "APPROVE" }', '"APPROVE"', "does not ask its person"),
        ('protocol = "a2a"\n', "", "say what becomes of other tools"),
        ('method = ["GetTask"', 'tool = ["GetTask"', "A2A has requests alone"),
        ("people =", 'headers = { authorization = "Bearer x" }\npeople =', "name its variable"),
        ("people =", 'headers = { Host = "$X" }\npeople =', "writes the header Host itself"),
    ],
)
def test_a_policy_says_what_the_protocol_has(old: str, new: str, said: str) -> None:
    text = (EXAMPLES / "delegate.toml").read_text()
    assert old in text
    with pytest.raises(FileError, match=said):
        written(text.replace(old, new))


def test_an_agent_is_reached_where_its_card_says_with_the_credential_of_the_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (EXAMPLES / "delegate.toml").read_text()
    own = 'headers = { authorization = "Bearer $AGENT_TOKEN" }\npeople ='
    policy, asked = written(text.replace("people =", own)), list[tuple[str, str, str]]()
    rpc = ["http://agent/rpc"]

    def agent(request: httpx2.Request) -> httpx2.Response:
        asked.append((request.method, str(request.url), request.headers["authorization"]))
        if request.method == "GET":
            interface = {"url": rpc[0], "protocolBinding": "JSONRPC"}
            return httpx2.Response(200, json={**_card(), "supportedInterfaces": [interface]})
        message = json.loads(request.content)
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": {}}
        if message["method"] == "SendStreamingMessage":  # some split lines at U+2028 too
            parts = [b": hello\r\n\r\n", *map(_event, ("WORKING", "COMPLETED"))]
            events = {"content-type": "text/event-stream"}
            return httpx2.Response(200, content=b"".join(parts), headers=events)
        return httpx2.Response(200, json=answer)

    plain = httpx2.AsyncClient
    mock = httpx2.MockTransport(agent)
    monkeypatch.setattr(httpx2, "AsyncClient", lambda **more: plain(transport=mock, **more))
    with SqlBlackboard(str(tmp_path / "g.db")) as board:
        with pytest.raises(UsageError, match="AGENT_TOKEN of the policy is not set"):
            gateway_site(_sides(policy).gateway, board, "http://agent", print)
        monkeypatch.setenv("AGENT_TOKEN", "sesame\n")
        with pytest.raises(UsageError, match="is no text that a header can have") as error:
            gateway_site(_sides(policy).gateway, board, "http://agent", print)
        assert "sesame" not in str(error.value)
        monkeypatch.setenv("AGENT_TOKEN", "sesame")
        gateway, notes = _sides(policy, board).gateway, list[str]()
        site = gateway_site(gateway, board, "http://agent", notes.append)(80)
        headers = {"authorization": f"Bearer {site.tokens[CLIENT]}", "host": "127.0.0.1:80"}
        body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": _message()}
        app = application(site.access, *site.sets)
        with TestClient(app, base_url="http://127.0.0.1", headers=headers) as client:
            rpc[0] = "http://elsewhere/rpc"
            lost = client.post("/a2a", json=body).json()
            assert "elsewhere" in lost["error"]["message"]
            assert client.get("/a2a/.well-known/agent-card.json").status_code == 502
            for rpc[0] in ("http://[", "http://agent:99999/rpc", "/\N{SNOWMAN}", "/a\x07b"):
                described = client.get("/a2a/.well-known/agent-card.json")
                assert (described.status_code, described.text[-14:]) == (502, " is no address")
            assert {method for method, _, _ in asked} == {"GET"}  # nothing went there
            rpc[0] = "/rpc"
            card = client.get("/a2a/.well-known/agent-card.json").json()
            assert card["supportedInterfaces"][0]["url"] == "http://127.0.0.1:80/a2a"
            assert client.post("/a2a", json=body).json()["result"] == {}
            stream = {**body, "id": 2, "method": "SendStreamingMessage"}
            events = client.post("/a2a", json=stream)
            assert events.headers["content-type"].startswith("text/event-stream")
            data = [line[6:] for line in events.content.split(b"\n") if line.startswith(b"data: ")]
            assert data == [
                _event(state).split(b"\r\n")[1][6:] for state in ("WORKING", "COMPLETED")
            ]
            refused = client.post("/a2a", json={**stream, "id": 3, "params": _message("book")})
            assert refused.headers["content-type"].startswith("text/event-stream")
            assert b"TASK_STATE_REJECTED" in refused.content
            listed = client.post("/a2a", json={**body, "method": ["SendMessage"]})
            assert listed.status_code == 400
            bare = {key: body[key] for key in body if key != "id"}
            assert client.post("/a2a", json=bare).status_code == 400
            assert client.get("/a2a/.well-known/agent-card.json", headers={"host": "x"}).is_error
        gateway.stop()
    assert asked[-1] == ("POST", "http://agent/rpc", "Bearer sesame")
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"sesame" not in stored
    assert not any("sesame" in note for note in notes)


@pytest.mark.deep
def test_the_client_and_the_agent_of_the_sdk_talk_through_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("a2a")
    httpx = pytest.importorskip("httpx")  # it comes with the SDK, whose clients it is
    from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
    from a2a.helpers import new_text_message
    from a2a.types import CancelTaskRequest, Role, SendMessageRequest, TaskState

    async def talk(address: str, headers: dict[str, str]) -> None:
        async with httpx.AsyncClient(headers=headers, timeout=PATIENCE) as http:
            card = await A2ACardResolver(http, address).get_agent_card()
            assert not card.capabilities.push_notifications

            async def send(text: str, purpose: str, streams: bool) -> Any:
                config = ClientConfig(httpx_client=http, streaming=streams)
                message = new_text_message(text, role=Role.ROLE_USER)
                message.metadata.update({"purpose": purpose})
                client = ClientFactory(config).create(card)
                request = SendMessageRequest(message=message)
                return [answer async for answer in client.send_message(request)]

            streamed = await send("one ü", "ask", streams=True)
            states = [each.status_update.status.state for each in streamed]
            assert states[-1] == TaskState.TASK_STATE_COMPLETED
            assert "done: one ü" in str(
                [each.artifact_update for each in streamed][2].artifact.parts[0].text
            )
            (whole,) = await send("two", "ask", streams=False)
            assert whole.task.artifacts[0].parts[0].text == "done: two"
            for streams in (True, False):
                (refused,) = await send("three", "book", streams=streams)
                assert refused.task.status.state == TaskState.TASK_STATE_REJECTED
                assert "by ada" in refused.task.status.message.parts[0].text
            client = ClientFactory(ClientConfig(httpx_client=http, streaming=True)).create(card)
            slow = new_text_message("slow", role=Role.ROLE_USER)
            slow.metadata.update({"purpose": "ask"})
            seen = list[int]()
            async for answer in client.send_message(SendMessageRequest(message=slow)):
                seen.append(answer.status_update.status.state)
                if seen[-1] == TaskState.TASK_STATE_WORKING:
                    (busy,) = await send("four", "ask", streams=False)
                    assert "a result of SendMessage" in busy.task.status.message.parts[0].text
                    task = answer.status_update.task_id
                    canceled = await client.cancel_task(CancelTaskRequest(id=task))
                    assert canceled.status.state == TaskState.TASK_STATE_CANCELED
            assert seen[-1] == TaskState.TASK_STATE_CANCELED
            assert len(await send("five", "ask", streams=False)) == 1

    def talk_in_javascript(address: str, headers: dict[str, str]) -> None:
        """The other SDK, whose client takes nothing but events where it has asked for them."""
        if shutil.which("node") is None or not (ROOT / "node_modules" / "@a2a-js").exists():
            return
        client, token = Path(__file__).with_name("a2a_client.mjs"), headers["authorization"][7:]
        command = ["node", str(client), address, token, "ask", "book"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
        *_, completed, echoed, refused, rejected = map(json.loads, done.stdout.splitlines())
        assert completed["payload"]["value"]["status"]["state"] == 3
        assert echoed["artifacts"][0]["parts"][0]["content"]["value"] == "done: ask"
        assert "by ada" in json.dumps(refused["payload"]["value"]["status"]["message"])
        assert "by ada" in json.dumps(rejected["status"]["message"])

    text, port = (EXAMPLES / "delegate.toml").read_text(), free_port()
    own = 'headers = { authorization = "Bearer $AGENT_TOKEN" }\npeople ='
    (tmp_path / "policy.toml").write_text(text.replace("people =", own))
    monkeypatch.setitem(ENVIRONMENT, "AGENT_TOKEN", "sesame")
    agent = [sys.executable, str(Path(__file__).with_name("a2a_agent.py")), "log", str(port)]
    with subprocess.Popen(agent, cwd=tmp_path, env=ENVIRONMENT) as process:
        try:
            wait_for(port, process)
            server = f"http://127.0.0.1:{port}"
            with served(tmp_path, tmp_path / "policy.toml", server) as (address, headers):
                asyncio.run(talk(address, headers))
                talk_in_javascript(address, headers)
        finally:
            process.kill()
    received = (tmp_path / "log").read_text().split()
    assert received[:6] == ["one", "ü", "two", "slow", "cancel", "five"]
    assert set(received[6:]) <= {"ask"}
    shown = pxp(
        "show", "delegate/calls", "-v", "--database", "runs/blackboard.sqlite", cwd=tmp_path
    )
    assert shown.stdout.count("! REFUSAL") in (3, 5)
    assert "sesame" not in shown.stdout
    assert pxp("verify", "runs/blackboard.sqlite", cwd=tmp_path).returncode == 0
