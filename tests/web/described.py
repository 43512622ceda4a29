"""Servers that describe their own routes, in the middle of their work: to be asked anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pxp_fsm.web.guard import RequestBudget
from tests.web.experts import served
from tests.web.explorers import PXP, client_of


@dataclass(frozen=True)
class Described:
    """A server, who may ask it, and what is known to be there in the parts of its paths.

    `works` says whether it is as it was; `examples` requests are enough for its few routes.
    """

    client: Any
    tokens: Sequence[str]
    known: Mapping[str, str]
    works: Callable[[], bool]
    examples: int


@contextmanager
def _explorer(_folder: Path) -> Iterator[Described]:
    client = client_of(PXP)
    works = lambda: client.get("/api/system").status_code == 200  # noqa: E731
    yield Described(client, ["secret"], {"{form}": "toml"}, works, 500)


@contextmanager
def _studio(folder: Path) -> Iterator[Described]:
    pytest.importorskip("pxp_fsm.plugins.easylan")
    from tests.plugins.easylan.studios import network_file, page, script_file, studio

    def works() -> bool:
        with page(client) as one:
            return bool(one.network["agents"])

    model = script_file(folder, {"purpose": "solve", "reply": "fine"})
    with studio(network_file(folder), model) as client:
        known = {"{form}": "svg", "{version}": "1"}
        yield Described(client, ["secret"], known, works, 500)


@contextmanager
def _experts(folder: Path) -> Iterator[Described]:
    with served(folder / "lab.sqlite", "ann", budget=RequestBudget(1e9, 1e9)) as found:
        ann = found.expert("ann")
        session = ann.waiting()["id"]
        there = ("you", "partner", "over", "paused")
        works = lambda: ann.view(session)["standing"] in there  # noqa: E731
        tokens = [found.tokens["ann"], found.tokens[""]]
        known = {"{session}": session, "{number}": "1"}
        yield Described(found.client, tokens, known, works, 2_000)


@contextmanager
def _studies(folder: Path) -> Iterator[Described]:
    pytest.importorskip("pxp_fsm.plugins.studies")
    from tests.plugins.studies.experts import SHORT, drug
    from tests.plugins.studies.studies import study_server

    study = replace(drug(folder, **SHORT), experts=10_000)
    with study_server(study, folder / "people.sqlite") as found:
        found.lab("POST", "/events/open")
        one = found.arrives("one")
        one.carried("ANSWERING")
        known = {"{subject}": one.subject, "{session}": "1-1", "{number}": "1", "{event}": "pause"}
        works = lambda: found.lab("GET").status_code == 200  # noqa: E731
        yield Described(found.client, [one.token, found.tokens[""]], known, works, 2_000)


SERVERS: dict[str, Callable[[Path], AbstractContextManager[Described]]] = {
    "explorer": _explorer,
    "studio": _studio,
    "experts": _experts,
    "studies": _studies,
}
