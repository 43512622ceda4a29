"""Both protocols against a server of others: `llmock` of the npm package @copilotkit/aimock."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from backends.models.registry import Serving
from backends.models.settings import Settings
from pxp_fsm.errors import Halted, NoAnswer
from pxp_fsm.prompting.model import ChatRole, ChatTurn, ModelRequest, Reply, Stop
from tests.backends.model_servers import PNG, SCHEMA, Log, Pauses, ask, run

HERE = Path(__file__).parent
KINDS = ("anthropic", "openai")


@pytest.fixture(scope="module")
def aimock(llmock: Callable[[Path], str]) -> str:
    """The address of a server that is running."""
    return llmock(HERE / "aimock.json")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def replied(
    aimock: str, kind: str, request: ModelRequest, pauses: Pauses, log: Log, **more: Any
) -> Reply:
    name = f"{kind}:model@{aimock}" + ("/v1" if kind == "openai" else "")

    async def once() -> Reply:
        async with Serving(
            Settings(catalogue=HERE / "aimock.toml", **more), log, clock=pauses, sleep=pauses.sleep
        ) as serving:
            return await serving.model(name).reply(request)

    return run(once())


def asked(aimock: str) -> Any:
    """The request that the server took last."""
    with urlopen(f"{aimock}/__aimock/journal?limit=1000", timeout=5) as found:  # noqa: S310 - our own
        return json.load(found)[-1]["body"]


@pytest.mark.parametrize("max_tokens", [100, 9000], ids=["whole", "streamed"])
def test_a_reply_comes_whole(aimock: str, kind: str, max_tokens: int) -> None:
    log = Log()
    reply = replied(aimock, kind, ask("plain", max_tokens=max_tokens), Pauses(), log)
    assert (reply.text, reply.stop) == ("fine", Stop.END)
    assert [call.reply for call in log.calls] == [reply]
    assert asked(aimock).get("stream", False) is (max_tokens == 9000)


def test_a_structured_reply_to_a_picture(aimock: str, kind: str) -> None:
    turns = (ChatTurn(ChatRole.USER, "verdict", (PNG,)),)
    reply = replied(aimock, kind, ModelRequest("s", turns, SCHEMA), Pauses(), Log())
    assert json.loads(reply.text) == {"consistent": True}


def test_why_it_ended(aimock: str, kind: str) -> None:
    refused = "refused by Claude" if kind == "anthropic" else "refused by GPT"
    for text, stop in (("cut short", Stop.LENGTH), (refused, Stop.REFUSAL), ("empty", Stop.END)):
        assert replied(aimock, kind, ask(text), Pauses(), Log()).stop is stop


def test_429_529_and_500_are_waited_out(aimock: str, kind: str) -> None:
    pauses = Pauses()
    reply = replied(aimock, kind, ask(f"busy {kind}"), pauses, Log())
    assert (reply.text, reply.served.retries) == ("fine", 3)
    assert pauses.slept[0] >= 2.0


@pytest.mark.parametrize(("text", "ended"), [("malformed", Halted), ("dropped", NoAnswer)])
def test_a_body_that_is_none_and_a_dropped_connection_are_tried_again(
    aimock: str, kind: str, text: str, ended: type[Exception]
) -> None:
    """A server whose first replies are all malformed may be none of models: the run stops.

    No call of a run that stops so is kept; its reservations are.
    """
    pauses, log = Pauses(), Log()
    with pytest.raises(ended, match="tried 3 times"):
        replied(aimock, kind, ask(text), pauses, log, attempts=3)
    assert len(pauses.slept) == 2
    assert [call.reply for call in log.calls] == ([None] if ended is NoAnswer else [])


def test_a_torn_stream_is_tried_again(aimock: str, kind: str) -> None:
    pauses = Pauses()
    with pytest.raises(NoAnswer, match="tried 3 times"):
        replied(aimock, kind, ask("torn", max_tokens=9000), pauses, Log(), attempts=3)
    assert len(pauses.slept) == 2


def test_a_key_that_is_refused_stops_the_run(aimock: str, kind: str) -> None:
    with pytest.raises(Halted, match="HTTP 401"):
        replied(aimock, kind, ask("unauthorised"), Pauses(), Log())
