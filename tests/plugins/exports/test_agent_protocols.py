"""The life cycles of agents' protocols in SPIN: the same sizes and verdicts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from proofs.logic import parse
from proofs.systems import Composition, check_formulas
from pxp_fsm.automata.channels import parse_channel
from pxp_fsm.plugins.exports import to_promela
from tests.analysis.agent_findings import (
    file_of,
)
from tests.analysis.test_agent_protocols import PINNED
from tests.oracles.model_checkers import needs_spin, spin


@needs_spin
@pytest.mark.deep
@pytest.mark.parametrize(
    ("path", "channel"),
    [
        ("a2a/task.toml", "sync"),
        ("a2a/push.toml", "fifo:1,server:webhook=lossy:1"),
        ("a2a/push_trusts.toml", "fifo:1,server:webhook=duplicating:1"),
        ("mrtr/call_again.toml", "sync"),
        ("together/stop.toml", "fifo:2"),
        ("together/stop_waits_expiring.toml", "sync"),
    ],
)
def test_spin_has_the_same_sizes_and_verdicts(path: str, channel: str, tmp_path: Path) -> None:
    file, system = file_of(path)
    over = system.over(parse_channel(channel))
    formulas = [one.formula for one in file.properties if _is_linear(one.formula)]
    assert formulas
    told = [(text, parse(text)) for text in formulas]
    theirs = spin(to_promela(Composition(over), told).text, len(told), tmp_path)
    ours = [one.status.value == "HOLDS" for one in check_formulas(over, formulas)]
    fails = PINNED[path][channel]["fails"]
    assert theirs.verdicts == ["no-deadlock" not in fails, *ours]


def _is_linear(formula: str) -> bool:
    """Whether SPIN, as it is distributed, reads a formula: without A, E, X and N."""
    return bool(formula) and not re.search(r"\b(A|E|AG|EF|X|N)\b", formula)
