"""The messages between us and a program; their form is `schema.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from pxp_fsm.automaton import Event, Kind, Valuation
from pxp_fsm.messages import quoted

Request = Mapping[str, Any]

RESET: Request = {"do": "reset"}


class Unfit(Exception):
    """A line that is no answer; its words say what is wrong with it."""


def schema() -> dict[str, Any]:
    """The JSON Schema of requests and answers, as published with the package."""
    text = resources.files("backends.programs").joinpath("schema.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def request(event: Event, valuation: Valuation | None) -> Request:
    """The request that lets `event` happen; `valuation` is what the guards say at a decision."""
    if event.kind is Kind.RECEIVE:
        return {"do": "receive", "tag": event.label}
    if event.kind is Kind.SEND:
        return {"do": "send", "tag": event.label}
    if event.kind is Kind.EVENT:
        return {"do": "event", "name": event.label}
    return {"do": "decide", "guards": dict(valuation or {})}


def written(asked: Request) -> bytes:
    """A request as the line that is sent."""
    return json.dumps(asked, ensure_ascii=False).encode() + b"\n"


def parse_answer(line: bytes) -> str | None:
    """What an answer says was done, or None where it is a refusal; raises `Unfit`."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        raise Unfit(f"a line that is not UTF-8: {quoted(line)}") from None
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        raise Unfit(f"a line that is not JSON: {quoted(text)}") from None
    if not _answers().is_valid(answer):
        raise Unfit(
            f'a line that is no answer: {quoted(text)}; one is {{"did": "+TAG"}} or '
            f'{{"refused": "why"}}'
        )
    done: str | None = answer.get("did")
    return done


@cache
def _answers() -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(schema()["$defs"]["answer"])
