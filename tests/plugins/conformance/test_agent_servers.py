"""Official SDKs of MCP and A2A as real servers on loopback, tested against the tables."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from pxp_fsm.plugins.conformance import programs as conformance
from pxp_fsm.plugins.conformance.ioco import IocoReport
from pxp_fsm.plugins.conformance.mealy import Stimulus

ROOT = Path(__file__).parents[3]
HERE = ROOT / "examples" / "agent_protocols"
SERVERS = HERE / "servers"
TASK = (HERE / "a2a" / "task_server.toml").read_text("utf-8")

pytestmark = [pytest.mark.deep, pytest.mark.xdist_group("servers")]


@pytest.fixture(name="python_a2a", scope="module")
def _python_a2a() -> str:
    if find_spec("a2a") is None:
        pytest.skip("a2a-sdk is not installed: pip install 'a2a-sdk[http-server]==1.3.0'")
    return shlex.join([sys.executable, str(SERVERS / "a2a_python.py")])


def javascript(name: str, *packages: str) -> str:
    absent = [one for one in packages if not (ROOT / "node_modules" / one).exists()]
    if shutil.which("node") is None or absent:
        pytest.skip(f"Node is not here, or without {', '.join(absent)}: .ci/run installs them")
    return shlex.join(["node", str(SERVERS / f"{name}_javascript.mjs")])


@pytest.fixture(name="javascript_a2a", scope="module")
def _javascript_a2a() -> str:
    return javascript("a2a", "@a2a-js/sdk", "express")


@pytest.fixture(name="python_mcp", scope="module")
def _python_mcp() -> str:
    return shlex.join([sys.executable, str(SERVERS / "mcp_python.py")])


@pytest.fixture(name="javascript_mcp", scope="module")
def _javascript_mcp() -> str:
    return javascript("mcp", "@modelcontextprotocol/server", "@modelcontextprotocol/node")


def found_of(
    adapter: str, what: str, server: str, table: Path, extra: int = 1
) -> IocoReport[Stimulus]:
    command = f"{shlex.join([sys.executable, str(SERVERS / adapter), what])} {server}"
    report = conformance.run(conformance.ConformanceRequest(command, str(table), extra, 60)).report
    assert isinstance(report, IocoReport)
    assert not report.unknown
    return report


def deviation(report: IocoReport[Stimulus]) -> tuple[list[str], tuple[object, ...]]:
    assert report.deviation is not None
    assert report.deviation.shortest
    return [given.event.label for given in report.deviation.inputs], report.deviation.replies[-1]


def without_messages(table: str, *states: str) -> str:
    """The table without the messages that may come in `states`: they are not sent in tests."""
    for state in states:
        table = re.sub(rf"\n  {{ (from|name) = \"{state}_MESSAGE\".*", "", table)
        table = re.sub(rf"\n  {{ from = \"{state}\", to = \"{state}_MESSAGE\".*", "", table)
    if "TAKES" not in table.partition("[guards]")[0]:
        table = re.sub(r"\n(TAKES|REFUSES) = .*", "", table)
    return table


def with_idempotent_cancellation(table: str) -> str:
    """The other reading, 3.3.1: a cancellation of a canceled task does what the first did."""
    old = 'send = "NOT_CANCELABLE", partner = "client" }'
    row = '{ from = "CANCELED_CANCEL", to = "CANCELED", '
    assert row + old in table
    return table.replace(row + old, row + 'send = "CANCELED", partner = "client" }')


@pytest.fixture(name="table")
def _table(tmp_path: Path) -> Path:
    return tmp_path / "task.toml"


def test_a_message_to_a_task_that_works(python_a2a: str, table: Path) -> None:
    """Python: it is answered only when the work publishes its next event."""
    table.write_text(TASK, "utf-8")
    report = found_of("a2a_adapter.py", "submitted", python_a2a, table)
    assert deviation(report) == (["SEND", "MESSAGE"], ())
    table.write_text(without_messages(TASK, "SUBMITTED", "WORKING"), "utf-8")
    report = found_of("a2a_adapter.py", "submitted", python_a2a, table)
    assert deviation(report) == (["SEND", "BEGINS", "NEEDS_AUTH", "MESSAGE"], ())


def test_a_second_message_that_names_no_context(python_a2a: str, table: Path) -> None:
    """Python: the context of the first such message is a new one, and the second is refused."""
    table.write_text(without_messages(TASK, "SUBMITTED", "WORKING", "AUTH"), "utf-8")
    report = found_of("a2a_adapter.py", "submitted", python_a2a, table, extra=2)
    again = ["NEEDS_INPUT", "MESSAGE"]
    assert deviation(report) == (["SEND", "BEGINS", *again, *again], ("+ERROR -32602 to client",))


@pytest.mark.parametrize("opening", ["submitted context", "working", "rejected", "answer"])
def test_all_else_conforms_in_python(python_a2a: str, table: Path, opening: str) -> None:
    table.write_text(without_messages(TASK, "SUBMITTED", "WORKING", "AUTH"), "utf-8")
    assert found_of("a2a_adapter.py", opening, python_a2a, table).conforms


def test_a_second_cancellation(javascript_a2a: str, table: Path) -> None:
    """JavaScript: it is answered by the task, as 3.3.1 has it, and not by an error."""
    table.write_text(TASK, "utf-8")
    report = found_of("a2a_adapter.py", "submitted", javascript_a2a, table)
    assert deviation(report) == (["SEND", "CANCEL", "CANCEL"], ("+CANCELED to client",))


def test_work_after_a_message(javascript_a2a: str, table: Path) -> None:
    """JavaScript: once a message to a working task is answered, what the work does is not seen."""
    table.write_text(with_idempotent_cancellation(TASK), "utf-8")
    report = found_of("a2a_adapter.py", "submitted", javascript_a2a, table)
    assert deviation(report) == (["SEND", "MESSAGE", "BEGINS", "GET"], ("+SUBMITTED to client",))


@pytest.mark.parametrize(
    "opening", ["submitted keep", "working keep", "rejected keep", "answer keep"]
)
def test_all_else_conforms_in_javascript(javascript_a2a: str, table: Path, opening: str) -> None:
    table.write_text(with_idempotent_cancellation(TASK), "utf-8")
    assert found_of("a2a_adapter.py", opening, javascript_a2a, table).conforms


def mcp(what: str, server: str) -> IocoReport[Stimulus]:
    table = SERVERS / f"mcp_{what.partition(' ')[0]}_server.toml"
    return found_of("mcp_adapter.py", what, server, table)


@pytest.mark.parametrize("what", ["session", "rounds"])
def test_mcp_conforms_in_python(python_mcp: str, what: str) -> None:
    assert mcp(what, python_mcp).conforms


@pytest.mark.parametrize("what", ["session", "rounds bind"])
def test_mcp_conforms_in_javascript(javascript_mcp: str, what: str) -> None:
    assert mcp(what, javascript_mcp).conforms


def test_the_state_of_another_call(javascript_mcp: str) -> None:
    """JavaScript: a state is bound to its call only where the tool does so."""
    report = mcp("rounds", javascript_mcp)
    assert deviation(report) == (["CALL", "RETRY_OTHER"], ("+RESULT to client",))
