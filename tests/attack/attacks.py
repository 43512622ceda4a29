"""The attacks, by name. Each is drawn from a seed, and reuses what the tests of its room have.

An attack is given a folder and an empty database, both its own, and returns how often what struck.
It raises, an `AssertionError` as a rule, where something was lost, passed, admitted or not noticed.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from backends.databases import SqlBlackboard
from backends.databases.erasure import sessions_of
from backends.databases.verify import verify_engine
from tests.backends import killed_erasures, killed_runs, test_erasure
from tests.backends.records import RUN
from tests.backends.test_damaged_files import judged, small_database
from tests.backends.test_hostile import Target
from tests.backends.test_tampering import change, filled, unguarded
from tests.experiments import test_caps_killed, test_system_runs
from tests.simulation.lab import Lab
from tests.web.described import SERVERS
from tests.web.expert_load import check, measured
from tests.web.experts import QuickServer
from tests.web.requests import ask_every_route
from tests.web.test_guard import SETS, guarded, trespass

SQLITE, POSTGRESQL = "sqlite", "postgresql"

Struck = Counter[str]
"""How often what struck."""


def labs(seed: int, folder: Path, database: str) -> Struck:
    """A simulated lab, killed and cut everywhere, is as if it had not been disturbed."""
    return Lab(seed, folder).disturbed(database)


def runs(seed: int, _folder: Path, database: str) -> Struck:
    """SIGKILL to runs of sessions at random instants; each goes on at its next message."""
    kills = 8
    ended = killed_runs.kill(database, kills, seed, 3)
    return Counter({"runs killed": kills, "runs that came to their end": ended})


def panels(seed: int, _folder: Path, database: str) -> Struck:
    """SIGKILL to runs among three agents, of INTERACT and of PXP; none differs for it."""
    pytest.importorskip("pxp_fsm.plugins.panels")
    kills = 8
    pxp = {"protocol": "pxp", "n": None, "k": 2, "added": "call"}
    plan = pxp if seed % 2 else {"schedule": "free", "stop": "consensus"}
    ended = killed_runs.kill(database, kills, seed, 3, {"agents": 3, **plan})
    return Counter({"panels killed": kills, "panels that came to their end": ended})


def systems(seed: int, folder: Path, _database: str) -> Struck:
    """SIGKILL to the command that runs a system over lossy channels."""
    return Counter({"runs of systems killed": test_system_runs.kill(seed, folder)})


def caps(seed: int, folder: Path, _database: str) -> Struck:
    """SIGKILL to runs with a cap on cost, alone and on workers; the server counts what it bills."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it logs each request
    with HTTPServer() as server:
        kills, unsettled = test_caps_killed.spend(
            seed, server, folder, "processes://2" if seed % 2 else None
        )
    return Counter({"runs with a cap killed": kills, "calls cut short": unsettled})


def trainings(seed: int, folder: Path, _database: str) -> Struck:
    """SIGKILL to the training of a network, which keeps its confirmed steps."""
    pytest.importorskip("pxp_fsm.plugins.easylan")
    from tests.plugins.easylan import test_progress

    draw = random.Random(seed)
    places = [draw.randint(1, 9) for _ in range(3)]
    killed = test_progress.kill(test_progress.prepared(folder), places)
    return Counter({"trainings killed": killed})


def experts(seed: int, folder: Path, _database: str) -> Struck:
    """SIGKILL to a server while people answer: nothing acknowledged is lost or doubled."""
    kills = 3
    with QuickServer(folder, 4, 1) as lab:  # until all are over
        load = asyncio.run(measured(lab, 4, kills, 3_600, thinks=0.2, seed=seed))
    stored, lost, doubled = check(lab.database, load)
    assert (stored >= 4, lost, doubled) == (True, 0, 0)
    return Counter({"servers killed": kills, "messages of people": stored})


def erasures(seed: int, folder: Path, _database: str) -> Struck:
    """SIGKILL to an erasure before each of its statements: it never looks finished before it is."""
    draw, path = random.Random(seed), folder / "blackboard.sqlite"
    sessions = [f"drug-1/1/{position}" for position in range(1, draw.randint(2, 5))]
    chosen = draw.choice(sessions)
    with SqlBlackboard(str(path)) as board:
        board.start_run(RUN)
        for position, session in enumerate(sessions, 1):
            test_erasure.hold(board, session, position)
        assert sessions_of(board, [chosen])
    said = [test_erasure.words(kind, chosen) for kind in test_erasure.SAID]
    return Counter({"erasures killed": killed_erasures.kill(path, chosen, said)})


def tampering(seed: int, folder: Path, database: str) -> Struck:
    """Rows that are changed, emptied, removed or added behind the blackboard's back."""
    draw, struck = random.Random(seed), Struck()
    with (
        SqlBlackboard(database, patience=0) as empty,
        unguarded(filled(empty, folder)) as connection,
    ):
        struck.update(change(connection, draw) for _ in range(40))
    return struck


def damage(seed: int, folder: Path, _database: str) -> Struck:
    """Bytes of a database's file that are flipped; 697 rounds flip each of them once."""
    whole = small_database(folder / "small.sqlite")
    step = len(whole) // 80
    places = range(seed % step, len(whole), step)
    return Struck({f"a byte: {how}": n for how, n in judged(whole, places, folder, seed).items()})


def messages(seed: int, _folder: Path, database: str) -> Struck:
    """Messages that no correct agent could have sent: refused, or stored exactly."""
    draw = random.Random(seed)
    with SqlBlackboard(database, patience=0) as board:
        target = Target(board)
        for _ in range(500):
            target.send(draw.randrange(2**64))
        target.check()
        assert verify_engine(board.engine).problems == ()
        refused = target.reasons.total()
    return Counter({"messages refused": refused, "messages stored": target.stored})


def requests(seed: int, folder: Path, _database: str) -> Struck:
    """Requests that are made from a server's own description, right and wrong."""
    name = list(SERVERS)[seed % len(SERVERS)]
    with SERVERS[name](folder) as there:
        asked = ask_every_route(there.client, there.tokens, there.known, 200, seed)
        assert there.works()
    return Counter({f"requests: {name}": asked})


def doors(seed: int, folder: Path, _database: str) -> Struck:
    """Requests without the right to be there."""
    name, draw = list(SETS)[seed % len(SETS)], random.Random(seed)
    with guarded(name, folder) as there:
        for _ in range(100):
            trespass(there, draw)
    return Counter({f"trespasses: {name}": 100})


@dataclass(frozen=True)
class Attack:
    """What is done in each round, and the databases on which it is done."""

    strike: Callable[[int, Path, str], Struck]
    dialects: tuple[str, ...] = (SQLITE,)

    @property
    def about(self) -> str:
        return (self.strike.__doc__ or "").splitlines()[0]


BOTH = (SQLITE, POSTGRESQL)
ATTACKS: dict[str, Attack] = {
    "labs": Attack(labs, BOTH),
    "runs": Attack(runs, BOTH),
    "panels": Attack(panels, BOTH),
    "systems": Attack(systems),
    "caps": Attack(caps),
    "trainings": Attack(trainings),
    "experts": Attack(experts),
    "erasures": Attack(erasures),
    "tampering": Attack(tampering, BOTH),
    "damage": Attack(damage),
    "messages": Attack(messages, BOTH),
    "requests": Attack(requests),
    "doors": Attack(doors),
}
