"""A server that speaks OpenAI's protocol and plays a chemist and a judge, for tests of runs."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from pxp_fsm.experiments.plans import Plan
from pxp_fsm.prompting.framing import unframed

Body = dict[str, Any]


@dataclass
class Table:
    """What the server says: `chemist` and `judge` reply to the body of a request.

    `tokens` counts those of a request, for its usage.
    """

    server: HTTPServer
    chemist: Callable[[Body], str]
    judge: Callable[[Body], str]
    tokens: Callable[[Body], int] = lambda _body: 100
    asked: list[Body] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.server.expect_request("/v1/chat/completions").respond_with_handler(self._reply)

    @property
    def model(self) -> str:
        return f"openai:chemist@{self.server.url_for('/v1')}"

    @property
    def purposes(self) -> Counter[str]:
        return Counter("judge" if judging(body) else "answer" for body in self.asked)

    def _reply(self, request: Request) -> Response:
        body: Body = request.get_json()
        with self.lock:
            self.asked.append(body)
        text = self.judge(body) if judging(body) else self.chemist(body)
        sent = self.tokens(body)
        completion = {
            "id": "c",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": text},
                }
            ],
            "usage": {
                "prompt_tokens": sent,
                "completion_tokens": 10,
                "total_tokens": sent + 10,
            },
        }
        return Response(json.dumps(completion), content_type="application/json")


def judging(body: Body) -> bool:
    return bool(body["messages"][0]["content"].startswith("You compare two"))


def frames(body: Body) -> list[dict[str, Any]]:
    """What a request holds as data."""
    return [
        frame
        for message in body["messages"]
        if message["role"] == "user"
        for frame in unframed(message["content"])
    ]


def stubborn_then_convinced(body: Body) -> str:
    """Methane at first; then the other's reactants, and in the end the other's reasons too."""
    heard = [frame for frame in frames(body) if "tag" in frame]
    prediction = heard[-1]["prediction"].split(".") if heard else ["C"]
    view = f"You are right: {heard[-1]['tag']}." if len(heard) > 1 else f"My view, {len(heard)}."
    return json.dumps({"prediction": prediction, "explanation": view})


def agrees_when_convinced(body: Body) -> str:
    said = [frame["explanation"] for frame in frames(body)]
    convinced = any("right" in one for one in said)
    stubborn = any(one.startswith("My view") for one in said)
    return json.dumps({"consistent": "yes" if convinced and not stubborn else "no"})


def plan(table: Table, **more: Any) -> Plan:
    """DRUG with the model of `table` as machine and judge."""
    return Plan("drug", instances="3", machine=table.model, judge=table.model, **more)
