"""A lab from a seed: an experiment with models, carried on after every death until it is done.

The same lab is carried once undisturbed. What is held at the end: the same messages, judgements and
endings; never more asked or billed than is stored, nor than the caps; a chain that verifies; and
what is exported, imported elsewhere, is equal.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx2
from openai import _base_client

from backends.databases import SqlBlackboard
from backends.databases.transfer import export_rows, import_rows
from backends.databases.verify import verify
from backends.models import registry
from backends.models.settings import Settings
from backends.people.input import UserLeft
from pxp_fsm.errors import BlackboardError, Halted, UsageError
from pxp_fsm.experiments import costs, runs
from pxp_fsm.experiments.plans import Plan
from tests.backends.model_servers import completion
from tests.simulation.person import GONE, Person
from tests.simulation.world import Killed, World, databases_of, live

MODEL = "openai:chemist@http://localhost:1/v1"
JUDGE = "openai:judge@http://localhost:1/v1"
CATALOGUE = """\
[[server]]
models = "openai:*@*"
can = {can}
key = ""

[[price]]
models = "openai:*@*"
input = 2.0
output = 8.0
as_of = 2026-11-01
source = "a price for tests"
"""
SAID = ["bird", "fish", "mammal", "reptile"]
WHY = ["by feathers", "by gills", "by milk"]
LIVES = 60
"""More lives than a world has deaths and faults: a lab that needs more does not come to its end."""

FAULTS = ("HTTP 500", "HTTP 429", "HTTP 529", "no JSON", "cut off", "not connected", "no usage")
"""What a server does instead of replying as it should."""


class Server(httpx2.AsyncBaseTransport):
    """Replies to the same request in the same words, late and after faults as its world draws."""

    def __init__(self, world: World, faults: float) -> None:
        self.world, self.faults = world, faults
        self.struck: Counter[str] = Counter()
        self.billed = 0.0
        self.calls = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = request.content.decode()
        self.world.moment("before a request")
        self.calls += 1
        await asyncio.sleep(self.world.random.expovariate(1.0))
        if self.world.dead:
            raise Killed
        fault = self._fault(body)
        if fault:
            self.world.counts[fault] += 1
        if fault.startswith("HTTP"):
            return httpx2.Response(int(fault[-3:]), json={"error": {"message": "not now"}})
        if fault == "not connected":
            raise httpx2.ConnectError("nobody there")
        reply = completion(said(body))
        self.billed += (20 * 2.0 + 5 * 8.0) / 1e6
        self.world.moment("after a request was billed")
        if fault == "cut off":
            raise httpx2.ReadError("cut off")
        if fault == "no JSON":
            return httpx2.Response(200, content=b'{"id": "c1", "choices": [')
        if fault == "no usage":
            del reply["usage"]
        return httpx2.Response(200, json=reply)

    def _fault(self, body: str) -> str:
        """Each request is struck twice at most: a run is patient with more than that."""
        if self.struck[body] == 2 or self.world.random.random() >= self.faults:
            return ""
        self.struck[body] += 1
        return self.world.random.choice(FAULTS)


def said(body: str) -> str:
    """What is said to a request: the same at each time, whatever came before it.

    A judge says one word, as JSON only where a schema is sent with the request.
    """
    draw, asked = random.Random(hashlib.sha256(body.encode()).digest()), json.loads(body)
    if asked["model"] == "judge":
        word = draw.choice(["yes", "no"])
        return json.dumps({"consistent": word}) if "response_format" in asked else word
    return json.dumps({"prediction": draw.choice(SAID), "explanation": draw.choice(WHY)})


class Lab:
    """The lab of a seed on a database; `folder` is its own."""

    def __init__(self, seed: int, folder: Path) -> None:
        draw = random.Random(f"lab {seed}")
        self.seed, self.folder = seed, folder
        self.plan = Plan(
            "animals",
            n=draw.randint(2, 5),
            k=draw.randint(1, 3),
            instances=str(draw.randint(1, 3)),
            repetitions=draw.randint(1, 2),
            machine=draw.choice([MODEL, MODEL, None]),
            judge=draw.choice([JUDGE, None]),
            learn=draw.choice(["always", "always", "never", "better"]),
            validation=2,
            carry=draw.choice([True, False, None]),
            seed=seed,
        )
        if self.plan.machine is None:
            self.plan = replace(self.plan, judge=JUDGE)
        present = random.Random(f"person {seed}")
        self.chances_of_person = 0.0, 0.0
        if present.random() < 0.4:
            human = present.choice(["terminal", "terminal:relations"])
            timeout = present.choice([None, 5000.0])
            self.plan = replace(self.plan, human=human, timeout=timeout)
            leaves = present.choice([0.0, 0.1, 0.3])
            self.chances_of_person = leaves, 0.1 if timeout else 0.0
        catalogue = folder / "catalogue.toml"
        structured = random.Random(f"schema {seed}").choice([[], ["schema"]])
        can = json.dumps(["temperature", "seed", *structured])
        catalogue.write_text(CATALOGUE.format(can=can), "utf-8")
        self.settings = Settings(
            calls=draw.choice([None, None, draw.randint(1, 40)]),
            dollars=draw.choice([None, None, draw.uniform(0.001, 0.2)]),
            in_flight=draw.choice([1, 4, 16]),
            attempts=6,
            catalogue=catalogue,
        )
        self.chances = draw.choice([0.001, 0.004, 0.02]), draw.choice([0.0, 0.002, 0.01])
        self.model_faults = draw.choice([0.0, 0.1, 0.4])

    def undisturbed(self) -> dict[str, list[object]]:
        """What is stored where nothing goes wrong, and nothing is capped."""
        free = replace(self.settings, calls=None, dollars=None)
        world, database = World(self.seed), f"sqlite:///{self.folder}/undisturbed.sqlite"
        person = Person(self.seed)
        assert self._life(world, Server(world, 0.0), person, database, free) == "done"
        with SqlBlackboard(database) as board:
            return transcript(board)

    def disturbed(self, database: str) -> Counter[str]:
        """How often what struck the lab; raises `AssertionError` where something was lost."""
        world = World(self.seed, *self.chances)
        server = Server(world, self.model_faults)
        person = Person(self.seed, *self.chances_of_person)
        lives = (self._life(world, server, person, database, self.settings) for _ in range(LIVES))
        ended = next(filter(None, lives), "")
        assert ended, "the lab does not come to its end"
        self._check(ended, world, server, database)
        return world.counts

    def _life(
        self, world: World, server: Server, person: Person, database: str, settings: Settings
    ) -> str:
        """One process: `done` or `capped` where it came to its end, "" where it died."""
        board = None
        try:
            with databases_of(world), person.at_the_terminal(world):
                board = SqlBlackboard(database, patience=5.0)
                self._carry_on(world, server, board, settings)
        except* Halted:
            ended = "capped"
        except* (Killed, BlackboardError, UserLeft):
            ended = ""
        else:
            ended = "done"
        finally:
            world.asleep = True
            if board is not None:
                board.unlock("lab")
                board.close()
            world.asleep = world.dead = False
        return ended

    def _carry_on(
        self, world: World, server: Server, board: SqlBlackboard, settings: Settings
    ) -> None:
        if any(record.run == "lab" for record in board.runs()):
            try:
                run = runs.resume("lab", board, settings)
            except UsageError as error:  # it died when all had been said
                assert error.field == "subject", error
                return
        else:
            run = runs.start(self.plan, board, settings=settings, name="lab")
        board.lock("lab")
        serving = partial(registry.Serving, transport=server, clock=lambda: 0.0)
        with (
            patch.object(costs, "Serving", serving),
            patch.object(_base_client, "asyncify", _here),
        ):
            live(world, run._execute(run._whole, self.folder, lambda _step: None))

    def _check(self, ended: str, world: World, server: Server, database: str) -> None:
        expected = self.undisturbed()
        with SqlBlackboard(database) as board:
            stored, spent = transcript(board), board.spending("lab")
            rows = list(export_rows(board.engine, "lab"))
        late = [name for name, said in stored.items() if _is_late(said)]
        if ended == "done":
            assert set(stored) == set(expected)
            assert late or stored == expected
        for name, messages in stored.items():
            said = messages[:-1] if name in late else messages
            if {*late} - {name} and self.plan.goes_on:
                continue  # the machine carries what it has not heard
            assert said == expected[name][: len(said)], name
            assert name in late or ended != "done" or said == expected[name], name
        assert len(late) <= world.counts[GONE]
        assert server.calls <= spent.calls
        assert server.billed <= (spent.dollars or 0.0) + 1e-9
        caps = self.settings
        assert caps.calls is None or spent.calls <= caps.calls
        assert caps.dollars is None or (spent.dollars or 0.0) <= caps.dollars + 1e-9
        assert verify(database).problems == ()
        copy = f"sqlite:///{self.folder / 'copy.sqlite'}"
        with SqlBlackboard(copy) as board:
            import_rows(board.engine, iter(rows), "the export")
            assert list(export_rows(board.engine, "lab")) == rows
        assert verify(copy).problems == ()


def _here(function: Callable[[], Any]) -> Callable[[], Awaitable[Any]]:
    """What the client library would ask a thread, which no simulated clock waits for."""

    async def answer() -> Any:
        return function()

    return answer


def _is_late(said: list[object]) -> bool:
    """Whether a session ended since the person did not answer."""
    return bool(said) and isinstance(said[-1], tuple) and said[-1][0] == "late"


def transcript(board: SqlBlackboard) -> dict[str, list[object]]:
    """By session: its messages with what was judged, and its ending; without times."""
    found = dict[str, list[object]]()
    for record in board.sessions("lab"):
        told = found.setdefault(record.session, [])
        for entry in board.events(record.session):
            judged = [(j.relation, j.left, j.right, j.outcome) for j in entry.judgements]
            told.append((entry.carried, entry.addition, judged))
        if record.ending is not None:
            told.append((record.ending, record.cause))
    return found
