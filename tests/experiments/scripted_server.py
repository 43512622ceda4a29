"""A server that speaks OpenAI's protocol and plays a chemist and a judge, for tests of runs."""

from __future__ import annotations

import base64
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
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
        for frame in unframed(_text(message["content"]))
    ]


def stubborn_then_convinced(body: Body) -> str:
    """A worm at first; then the other's class, and in the end the other's reasons too."""
    heard = [frame for frame in frames(body) if "tag" in frame]
    prediction = heard[-1]["prediction"] if heard else "worm"
    view = f"You are right: {heard[-1]['tag']}." if len(heard) > 1 else f"My view, {len(heard)}."
    return json.dumps({"prediction": prediction, "explanation": view})


def agrees_when_convinced(body: Body) -> str:
    said = [frame["explanation"] for frame in frames(body)]
    convinced = any("right" in one for one in said)
    stubborn = any(one.startswith("My view") for one in said)
    return json.dumps({"consistent": "yes" if convinced and not stubborn else "no"})


def plan(table: Table, task: str = "animals", **more: Any) -> Plan:
    """A task with the model of `table` as machine and judge."""
    return Plan(task, instances="3", machine=table.model, judge=table.model, **more)


@dataclass
class Expert:
    """Knows nothing; believes what the other says, and then knows the other instances too.

    `truth` has the right prediction of each instance: a SMILES, or the picture as it is sent.
    `patience` says of which message on it believes the other's prediction and explanation. It
    replies as the papers' prompts ask, and summarises a report.
    """

    truth: Mapping[str, str]
    patience: Callable[[str], tuple[int, int]] = lambda _instance: (1, 1)

    def __call__(self, body: Body) -> str:
        told = [
            (_pictures(message), frame)
            for message in body["messages"]
            for frame in frames({"messages": [message]})
        ]
        if "report" in told[0][1]:
            return f"In short: {str(told[0][1]['report'])[:30]}"
        start = max(i for i, (_, f) in enumerate(told) if "instance" in f or "picture" in f)
        pictures, opening = told[start]
        about = str(opening.get("instance") or pictures[-1])
        right, patience = self.truth[about], self.patience(about)
        heard = [frame for _, frame in told[start:] if "tag" in frame]
        form = re.search(r"^(Prediction|Pathway): ", text_of(body), re.MULTILINE)
        assert form is not None
        if one := re.search(r"show (\w+)\? Predict (\w+) or (\w+)\.", text_of(body)):
            right = one[2] if right == one[1] else one[3]
        known = not heard and any("tag" in frame for _, frame in told)
        prediction, why = right if known else _wrong(right, form[1], one), "My view."
        if len(heard) >= patience[0]:
            prediction = str(heard[-1]["prediction"])
        if len(heard) >= patience[1]:
            why = str(heard[-1]["explanation"])
        return f"{form[1]}: {prediction}\nExplanation: {why}"


def _wrong(right: str, heading: str, one: re.Match[str] | None) -> str:
    """A prediction of the same form that is not `right`; `one` has yes and no for one label."""
    if one is not None:
        return one[3] if right == one[2] else one[2]
    if ">>" in right:
        return f"C>>{right.split(';', maxsplit=1)[0].split('>>')[1]}"
    if heading == "Pathway":
        return "C"
    return "Pneumonia" if right == "none" else "none"


def _text(content: str | list[dict[str, Any]]) -> str:
    """What a message says, beside its pictures."""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content)


def text_of(body: Body) -> str:
    """What a request says, beside its pictures."""
    return "\n".join(_text(message["content"]) for message in body["messages"])


def _pictures(message: Mapping[str, Any]) -> list[str]:
    content = message["content"]
    parts = [] if isinstance(content, str) else content
    return [part["image_url"]["url"] for part in parts if "image_url" in part]


def is_equal(body: Body) -> str:
    """A judge for whom explanations agree that are the same."""
    first, second = (frame["explanation"] for frame in frames(body))
    return "yes" if first == second else "no"


def as_sent(path: Path) -> str:
    """A picture as a request holds it."""
    return f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}"
