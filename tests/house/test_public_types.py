"""What a type checker says of the public functions: `mypy` reads this file with all other tests."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, assert_type

import pxp_fsm as pxp
from backends.databases.blackboard import SqlBlackboard
from guards.text import Exact
from proofs.check import Results
from proofs.core.explore import Trace
from proofs.core.results import Status
from pxp_fsm.protocol.rules import Ending
from pxp_fsm.sessions.functions import FunctionRespondent


def whale(_question: pxp.Question) -> pxp.Answer:
    return pxp.Answer("mammal", "It breathes air.")


def test_tables_systems_and_results_have_these_types(tmp_path: Path) -> None:
    rows = [{"from": "START", "to": "END", "send": "HELLO"}]
    table = assert_type(pxp.build_automaton("greeter", rows, final=["END"]), pxp.Automaton)
    assert_type(pxp.load_automaton("pxp"), pxp.Automaton)
    system = assert_type(pxp.System(a=table, b=table), pxp.System)
    assert_type(pxp.System.load("pxp"), pxp.System)
    results = assert_type(pxp.check(system, "no-deadlock", "F ended"), Results)
    assert_type(results.as_expected, bool)
    result = assert_type(results[0], pxp.Result)
    assert assert_type(result.status, Status) is Status.FAILS
    assert assert_type(result.trace, Trace[Any] | None) is not None
    assert_type(pxp.draw(table, tmp_path / "greeter.mmd"), Path)
    assert_type(pxp.compare("pxp", "pxp"), Results)


def test_sessions_have_these_types(tmp_path: Path) -> None:
    assert_type(pxp.exact, Exact)
    assert_type(pxp.respondent(whale), FunctionRespondent)
    agent = pxp.Agent(whale, match=pxp.exact, agree=pxp.exact)
    members = {"m": agent, "h": agent}
    with assert_type(pxp.open_blackboard(tmp_path / "b.sqlite"), SqlBlackboard) as board:
        session = pxp.Session(pxp.Interact(), members, instance="a whale", blackboard=board)
        ran = assert_type(session.run_sync(), pxp.Session)
    assert assert_type(ran.ending, Ending | None) is not None
    assert_type(ran.history, tuple[pxp.Message, ...])
    assert assert_type(pxp.classify(ran.history), dict[str, tuple[str, ...]])["m"]
    assert assert_type(ran.history[0].tag, str) == "INIT"

    async def within_a_loop() -> None:
        again = pxp.Session(pxp.Interact(), members, instance="a whale")
        assert_type(await again.run(), pxp.Session)

    asyncio.run(within_a_loop())
