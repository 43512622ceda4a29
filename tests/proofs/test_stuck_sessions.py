"""A session that is stuck has not ended: it does not terminate."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proofs.claims.catalogue import CLAIMS
from proofs.claims.checking import Bounds, ClaimChecker, Substitutes
from proofs.core.results import Status
from pxp_fsm.automata.tables import builtin


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
