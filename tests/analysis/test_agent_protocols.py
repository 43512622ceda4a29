"""What is found of the life cycles of agents' protocols: every file says what it expects."""

from __future__ import annotations

from pathlib import Path

import pytest

from proofs.core.limits import Effort
from pxp_fsm.analysis.systems import demanded
from pxp_fsm.automata.system import System, system_in
from pxp_fsm.automata.system_files import read_system

HERE = Path(__file__).parents[2] / "examples" / "agent_protocols"
SYSTEMS = [
    path for path in sorted(HERE.rglob("*.toml")) if "[[members]]" in path.read_text("utf-8")
]


@pytest.mark.parametrize("path", SYSTEMS, ids=lambda path: str(path.relative_to(HERE)))
def test_each_verdict_is_the_one_that_the_file_expects(path: Path) -> None:
    file = read_system(str(path))
    system = system_in(file)
    found = list(demanded(system, file.properties, [system.channel], Effort(100_000)))
    assert len(found) >= len(file.properties)
    assert [one.name for one in found if not one.as_expected] == []


def test_a_cancelled_task_can_wait_for_ever() -> None:
    system = System.load(HERE / "mcp_task.toml")
    file = read_system(str(HERE / "mcp_task.toml"))
    results = demanded(system, file.properties, [system.channel], Effort(100_000))
    found = next(one for one in results if one.name == "no-deadlock")
    assert found.trace is not None
    assert [str(step.action) for step in found.trace.steps] == [
        "client>server CALL",
        "server>client TASK",
        "client>server CANCEL",
        "server GOES_ON/!STAYS",
        "server>client ACK",
        "! NEEDS_INPUT",
    ]
