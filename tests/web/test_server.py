"""The explorer's pages: what they are answered, and what is refused."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from proofs.export.traces import actions_of
from pxp_fsm.errors import UsageError
from pxp_fsm.protocol.relations import Assumption
from pxp_fsm.web.serving import listen
from tests.command_line import PLACES
from tests.waiting import PATIENCE
from tests.web.explorers import PXP, client_of, events_of

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    yield client_of()  # without its lifespan, so that nothing is checked beside it


def test_the_interface_is_described(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert set(paths) == {
        *("/api/system", "/api/trace", "/api/path", "/api/color", "/api/export/{form}"),
        *("/api/answers", "/api/graph", "/api/edit", "/api/save"),
    }
    assert client.get("/docs").status_code == 404


def test_a_trace_goes_as_the_system_does(client: TestClient) -> None:
    chance, choices = random.Random(3), list[int]()
    system = client.get("/api/system").json()["system"]
    assert [member["name"] for member in system["members"]] == ["machine", "human"]
    (state,) = client.post("/api/trace", json={"choices": []}).json()
    for _ in range(30):
        if not state["moves"]:
            break
        choice = chance.randrange(len(state["moves"]))
        move, before = state["moves"][choice], state["at"]
        choices.append(choice)
        (state,) = client.post(
            "/api/trace", json={"choices": choices, "start": len(choices)}
        ).json()
        for member, row in move["rows"]:
            taken = system["members"][member]["rows"][row]
            assert (before[member], state["at"][member]) == (taken["source"], taken["target"])
    again = client.post("/api/trace", json={"choices": choices}).json()
    assert again[-1] == state
    assert len(again) == len(choices) + 1


def test_back_and_elsewhere_are_other_traces(client: TestClient) -> None:
    def at(*choices: int) -> list[str]:
        answer = client.post("/api/trace", json={"choices": choices, "start": len(choices)})
        return list(answer.json()[0]["at"])

    assert at(0) == ["WAIT", "DECIDE"]
    assert at(0, 0, 0) == at(0, 1, 2) == ["WAIT", "DECIDE"]
    assert at(0, 1) == ["DECIDE", "WAIT"]
    assert at() == ["IDLE", "IDLE"]
    assert at(1) == ["DECIDE", "WAIT"]


@pytest.mark.parametrize(
    ("path", "query", "code", "said"),
    [
        ("trace", {"choices": [99]}, 422, "trace is of another system"),
        ("trace", {"choices": [-1]}, 422, "greater than or equal to 0"),
        ("trace", {"choices": [0.5]}, 422, "valid integer"),
        ("trace", {"choices": [0] * 10_001}, 422, "at most 10000 items"),
        ("trace", {"choices": [10**400]}, 422, ""),
        ("trace", {"state": 0}, 422, "Extra inputs"),
        ("path", {"goal": "F ended"}, 422, "proposition of one state"),
        ("path", {"goal": "machine@NOWHERE"}, 422, "there is no 'machine@NOWHERE'"),
        ("path", {"goal": "machine@END & human@IDLE"}, 422, "no state after this one"),
        ("path", {"goal": "(("}, 422, "ends too early"),
        ("color", {"formula": "G !machine"}, 422, "there is no 'machine'"),
        ("color", {"formula": "ended", "choices": [0], "cycle": 1}, 422, "do not come back"),
        ("color", {"formula": "ended", "choices": [0], "cycle": 7}, 422, "do not come back"),
        ("color", {"formula": "G" * 10_001}, 422, "at most 10000 characters"),
        (
            "color",
            {"formula": "E " * 40 + "X " * 16 + "ended"},
            422,
            "not found: more than 0 states",
        ),
        ("trace", "{", 422, "JSON decode error"),
        ("export/itf", {"choices": [0], "cycle": 5}, 422, "do not come back"),
        ("export/gif", {}, 404, "there are svg, png, pdf, tikz, latex, mermaid, itf"),
        ("answers", {"choices": [0, 3]}, 422, "no session of interact"),
        ("answers", {"assumptions": ["sound"]}, 422, "assumptions"),
        ("edit", {"table": 0, "text": ""}, 422, "no table was opened to be edited"),
        ("edit", {"table": 0, "text": "x" * 200_001}, 422, "at most 200000 characters"),
        ("save", {"table": 0}, 422, "no table was opened to be edited"),
        ("export/svg", {"members": ["<b>"]}, 422, "there is no member '<b>'"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(
    client: TestClient, path: str, query: Any, code: int, said: str
) -> None:
    body = query if isinstance(query, str) else json.dumps(query)
    sent = {"content-type": "application/json"}
    answer = client.post(f"/api/{path}", content=body, headers=sent)
    assert answer.status_code == code
    assert said in answer.text


def test_goals_colors_and_exports(client: TestClient) -> None:
    found = client.post("/api/path", json={"choices": [0], "goal": "human.REJECT"}).json()
    assert found == [3]
    assert client.post("/api/path", json={"choices": []}).json() == [0, 4]
    query = {"choices": [0, 4], "formula": "F ended & E X ended"}
    parts = client.post("/api/color", json=query).json()
    told = {part["text"]: part["values"] for part in parts}
    assert told["F ended"] == [True, True, True]
    assert told["ended"] == [False, False, True]
    assert told["E (X ended)"] == [False, True, False]
    for form, begins in (
        ("svg", "<?xml"),
        ("mermaid", "---\ntitle"),
        ("itf", "{"),
        ("tikz", "% \\input"),
        ("latex", "% needs"),
    ):
        answer = client.post(f"/api/export/{form}", json={"choices": [0, 2]})
        assert answer.text.startswith(begins), form
        assert "REVISE" in answer.text
        if form == "itf":
            assert list(map(str, actions_of(answer.text))) == [
                "machine>human INIT",
                "human>machine REVISE",
            ]
    one = client.post("/api/export/mermaid", json={"choices": [0, 2], "members": ["human"]}).text
    assert "REVISE" not in one
    assert client.post("/api/export/png", json={}).content.startswith(b"\x89PNG")


@pytest.mark.usefixtures("quick")
def test_verdicts_come_by_themselves_with_traces_to_play() -> None:
    with client_of(PXP) as client:
        with events_of(client) as socket:
            events = [socket.receive_json()]
            while events[-1]["type"] != "done":
                events.append(socket.receive_json())
        assert events[0]["type"] == "system"
        results = {one["result"]["name"]: one["result"] for one in events[1:-1]}
        stuck = results["no-deadlock"]
        assert (stuck["status"], stuck["choices"] is None) == ("FAILS", False)
        *_, last = client.post("/api/trace", json={"choices": stuck["choices"]}).json()
        assert last["moves"] == []
        assert "pxp2 sends INIT; pxp1 in WAIT does not receive it" in last["deadlock"]["sentences"]
        assert ["pxp2", "pxp1", "INIT"] in last["deadlock"]["unreceived"]


@pytest.mark.deep
@pytest.mark.usefixtures("quick")
def test_claims_fall_with_the_assumptions_and_their_counterexamples_play() -> None:
    fails = dict[str, set[str]]()
    with client_of() as client, events_of(client) as socket:
        for number, assumed in enumerate((list(Assumption), ["reflexive"], []), 1):
            socket.send_json({"type": "claims", "id": number, "assumptions": assumed})
            fails[str(number)] = set()
            while (event := socket.receive_json())["id"] != number or event["type"] != "done":
                if event["id"] != number or event["result"]["status"] != "FAILS":
                    continue
                fails[str(number)].add(event["result"]["name"])
                *_, last = client.post(
                    "/api/trace", json={"choices": event["result"]["choices"]}
                ).json()
                assert last["at"]
    assert fails["1"] == {"ends-agreed"}
    assert fails["1"] < fails["2"] <= fails["3"]
    with (
        client_of(PXP) as client,
        events_of(client) as socket,
    ):
        socket.send_json({"type": "claims", "id": 1, "assumptions": []})
        while (event := socket.receive_json())["id"] != 1:
            pass
        assert "none of a protocol" in event["error"]


def test_answers_move_with_the_trace_and_the_assumptions(client: TestClient) -> None:
    def cells(choices: list[int], assumptions: list[str]) -> dict[tuple[bool, bool], list[str]]:
        query = {"choices": choices, "assumptions": assumptions}
        found = client.post("/api/answers", json=query).json()
        return {(one["match"], one["agree"]): one["replies"] for one in found}

    assert cells([], []) == {}
    assert cells([0], [])[True, True] == ["RATIFY"]
    ratified = cells([0, 0], list(Assumption))
    assert [pair for pair, replies in ratified.items() if replies] == [(True, True)]
    assert all(cells([0, 0], []).values())
    assert cells([0, 0, 0], []) == {}  # it is over


@pytest.mark.deep
def test_a_formula_is_checked_and_a_new_one_ends_the_one_before() -> None:
    with client_of() as client, events_of(client) as socket:
        for number in range(5):
            formula = f"G ({'X' * number} true -> !human@END)" if number else "F ended"
            socket.send_json({"type": "check", "id": number, "formula": formula})
        socket.send_text("{}")
        socket.send_json({"type": "check", "id": 5, "formula": "F nonsense"})
        socket.send_json({"type": "check", "id": 6, "formula": "F ended"})
        answers = dict[int, list[dict[str, Any]]]()
        while not answers.get(6) or answers[6][-1]["type"] != "done":
            event = socket.receive_json()
            if event["id"] is not None:
                answers.setdefault(event["id"], []).append(event)
        assert answers[6][0]["result"]["status"] == "FAILS"
        assert answers[6][0]["result"]["cycle"] > 0
        assert 0 not in answers


def test_a_port_that_is_taken_is_refused() -> None:
    with listen() as taken:
        host, port = taken.getsockname()
        assert host == "127.0.0.1"
        with pytest.raises(UsageError, match=f"port {port} of this machine cannot be used"):
            listen(port)


@pytest.mark.deep
@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
@pytest.mark.parametrize(
    "asked",
    [("serve", "pxp", "--no-browser", "--port", "0"), ("serve", "animals", "--mcp", "--port", "0")],
    ids=["explorer", "assistants"],
)
def test_two_interrupts_end_a_server_as_one_does(asked: tuple[str, ...], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pxp_fsm.cli", *asked]
    environment = {**os.environ, "PYTHONPATH": PLACES, "PYTHONUNBUFFERED": "1"}
    pipes: dict[str, Any] = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, text=True, cwd=tmp_path, env=environment, **pipes) as process:
        assert process.stdout is not None
        lines = list[str]()
        while "Ctrl-C" not in "".join(lines):
            lines.append(process.stdout.readline())
            assert process.poll() is None
        (address,) = set(re.findall(r"http://127\.0\.0\.1:\d+", "".join(lines)))
        httpx2.get(address, timeout=PATIENCE)  # it serves
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            time.sleep(0.02)
        _, told = process.communicate()
    assert process.returncode == 130, told
    assert told.startswith("Stopped.")
    assert "Traceback" not in told


@pytest.mark.deep
@pytest.mark.parametrize("wait", [0.0, 0.3, 0.8])
def test_ctrl_c_in_a_terminal_ends_the_explorer_without_a_traceback(
    tmp_path: Path, wait: float
) -> None:
    """A terminal sends it to the process that checks as well, which imports for seconds."""
    command = [sys.executable, "-m", "pxp_fsm.cli", "serve", "interact", "--no-browser"]
    environment = {**os.environ, "PYTHONPATH": PLACES, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [*command, "--port", "0"], cwd=tmp_path, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Explore at")
        time.sleep(wait)
        os.killpg(process.pid, signal.SIGINT)
        left = process.stdout.read()
    assert (left, process.returncode) == ("Stopped.\n", 130)
