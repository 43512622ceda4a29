"""Requests that are made from a server's own description, right and wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st


def ask_every_route(
    client: Any,
    tokens: Sequence[str],
    known: Mapping[str, str],
    examples: int,
    drawn: int | None = None,
) -> int:
    """Send so many requests, over all routes, by each of the `tokens`; none may be a fault.

    In half of them the parts of a path are what is `known` to be there. They are the same each
    time, or those of the seed `drawn`. How many were sent.
    """
    sent = 0
    schemathesis = pytest.importorskip("schemathesis", reason="pip install schemathesis")
    wrong = schemathesis.GenerationMode.NEGATIVE
    headers = {"authorization": f"Bearer {tokens[0]}"}
    described = client.get("/openapi.json", headers=headers).json()
    routes = [one.ok() for one in schemathesis.openapi.from_dict(described).get_all_operations()]
    for route in routes:
        cases = route.as_strategy() | route.as_strategy(generation_mode=wrong)

        @seed(drawn)
        @settings(
            max_examples=-(-examples // (len(tokens) * len(routes))),
            deadline=None,
            database=None,
            derandomize=drawn is None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(cases, st.booleans())
        def ask(case: Any, there: bool) -> None:
            nonlocal sent
            for token in tokens:
                _ask(client, case, token, known if there else {})
                sent += 1

        ask()
    return sent


def _ask(client: Any, case: Any, token: str, known: Mapping[str, str]) -> None:
    sent = case.as_transport_kwargs()
    path = str(sent["url"]).partition("127.0.0.1")[2]
    if known:
        path = case.path
        for part, value in known.items():
            path = path.replace(part, value)
    body = {"json": sent.get("json"), "content": sent.get("data"), "params": sent.get("params")}
    if not isinstance(body["content"], str | bytes):
        del body["content"]
    headers = {
        name: value
        for name, value in dict(sent.get("headers") or {}).items()
        if name.lower() in ("content-type", "accept")
    }
    headers["authorization"] = f"Bearer {token}"
    try:
        answer = client.request(sent["method"], path, headers=headers, **body)
    except (httpx2.InvalidURL, UnicodeError, TypeError):
        return  # no client can send it
    assert answer.status_code < 500, (path, body, answer.text)
