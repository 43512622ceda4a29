"""A session that is stuck has not ended: it does not terminate."""

from __future__ import annotations

from dataclasses import replace

import pytest

import pxp_fsm as pxp
from proofs.claims.catalogue import CLAIMS
from proofs.claims.checking import Bounds, ClaimChecker, Substitutes
from proofs.core.results import Status
from proofs.rules.certificates import prove_system
from pxp_fsm.automata.table_files import Property
from pxp_fsm.automata.tables import builtin
from pxp_fsm.protocol.rules import Ending


@pytest.mark.parametrize(("protocol", "tag"), [("interact", "REJECT"), ("pxp(k)", "REVISE")])
def test_a_session_that_is_stuck_does_not_terminate(protocol: str, tag: str) -> None:
    """After the tag both agents are IDLE, where neither may send what the rules demand."""
    name = protocol.removesuffix("(k)")
    table = builtin(name)
    rows = tuple(
        replace(row, target="IDLE") if row.label == tag else row for row in table.transitions
    )
    instead = Substitutes({name: replace(table, transitions=rows)})
    checker = ClaimChecker(Bounds(4, 1), 100_000, instead)
    (claim,) = (one for one in CLAIMS if (one.protocol, one.name) == (protocol, "terminates"))
    verdict = checker.check(claim, "noisy").verdict
    assert verdict.status in (Status.FAILS, Status.UNKNOWN)


def test_who_has_settled_to_send_to_who_is_busy_is_stuck_in_proofs_as_in_sessions() -> None:
    """While a row is urgent its member takes no message, and of two members one has decided."""
    decides = pxp.build_automaton(
        "decides",
        [
            {"from": "START", "to": "END", "guard": "FIRST", "send": "A"},
            {"from": "START", "to": "END", "guard": "OTHER", "send": "B"},
        ],
        final=["END"],
        guards={"FIRST": {"when": "count < 1"}, "OTHER": {"when": "else"}},
        registers={"count": {"init": 0}},
    )
    hurries = pxp.build_automaton(
        "hurries",
        [
            {"from": "START", "to": "READY", "event": "HURRY", "when": "count < 1", "urgent": True,
             "by": "self", "do": {"count": "count + 1"}},
            {"from": "READY", "to": "END", "receive": ["A", "B"]},
        ],
        final=["END"],
        registers={"count": {"init": 0}},
    )  # fmt: skip
    system = pxp.System(m=decides, h=hurries)
    claim = Property("goes-on", check="never-stuck")
    (proved,), _ = prove_system(system, [claim])
    assert proved.status is Status.UNKNOWN
    (explored,) = pxp.check(system, "no-deadlock")
    assert explored.status is Status.FAILS

    def first(turn: pxp.Turn) -> str | None:
        return turn.guards[0] if turn.guards else None

    endings = {
        pxp.Session(system, {"m": first, "h": first}, seed=seed).run_sync().ending
        for seed in range(8)
    }
    assert endings == {Ending.DEADLOCK, Ending.FINISHED}
