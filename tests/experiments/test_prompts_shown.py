"""What models were asked, read again: by message, in `pxp show -v` and in a report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pytest_httpserver import HTTPServer

from backends.databases import SqlBlackboard, calls_of_session
from backends.models.settings import Settings
from pxp_fsm.cli.main import commands
from pxp_fsm.experiments import runs
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.reports.write import write
from pxp_fsm.prompting.model import ChatRole, ChatTurn, ModelRequest, read_rendered, rendered
from tests.experiments.report_pages import unfolded
from tests.experiments.scripted_server import (
    Body,
    Table,
    agrees_when_convinced,
    stubborn_then_convinced,
)


@pytest.fixture
def table(httpserver: HTTPServer) -> Table:
    return Table(httpserver, stubborn_then_convinced, agrees_when_convinced)


def carried(table: Table, board: SqlBlackboard, **more: Any) -> dict[tuple[str, int], list[Body]]:
    """A run, and what the server was asked before each of its messages."""
    found, before = dict[tuple[str, int], list[Body]](), 0

    def on_step(step: runs.Progress) -> None:
        nonlocal before
        if step.event is not None:
            found[step.session, step.event.number] = table.asked[before:]
            before = len(table.asked)

    plan = Plan(
        "animals", **{"instances": "2", "machine": table.model, "judge": table.model} | more
    )
    runs.start(plan, board, settings=Settings(in_flight=1)).execute(on_step)
    return found


@pytest.mark.parametrize(
    "more",
    [
        {"carry": True},
        pytest.param({}, marks=pytest.mark.deep),
        pytest.param({"learn": "better", "gate": "context"}, marks=pytest.mark.deep),
    ],
    ids=str,
)
def test_each_call_is_with_the_message_that_it_led_to(table: Table, more: dict[str, Any]) -> None:
    with SqlBlackboard(":memory:") as board:
        asked = carried(table, board, **more)
        for record in board.sessions():
            calls = calls_of_session(board, record.session)
            assert calls
            for number in range(1, record.messages + 1):
                said = sorted(
                    (body["messages"][0]["content"], body["messages"][-1]["content"])
                    for body in asked[record.session, number]
                )
                read = [call.prompt for call in calls if call.message == number and not call.cached]
                assert sorted((p.system, p.asked) for p in read if p is not None) == said
            assert all(call.reply and not call.failure for call in calls)


def test_a_session_shows_its_prompts_and_a_report_its_comments(
    table: Table, tmp_path: Path
) -> None:
    where = str(tmp_path / "b.sqlite")
    with SqlBlackboard(where) as board:
        asked = carried(table, board, instances="1")
        write(board, (), tmp_path / "page.html")
    shown = CliRunner().invoke(commands, ["show", "animals-1/1/1", "-v", "--database", where])
    assert shown.exit_code == 0, shown.output
    page = unfolded(tmp_path / "page.html")
    first = asked["animals-1/1/1", 1][0]["messages"]
    for line in (*first[0]["content"].splitlines(), *first[-1]["content"].splitlines()):
        assert line in shown.output
    assert shown.output.count("You know animals") == 1
    assert f"{table.model} was asked (answer):" in shown.output
    assert f"{table.model} was asked (judge):" in shown.output
    assert page.count("Comments: what models were asked") >= 2
    assert "You know animals" in page
    assert "<data>" not in page  # what a prompt frames is text of the page, no markup
    assert "&lt;data&gt;" in page


def test_prompts_are_of_one_session(tmp_path: Path) -> None:
    where = str(tmp_path / "b.sqlite")
    with SqlBlackboard(where) as board:
        runs.run(Plan("animals", instances="1"), board)
    shown = CliRunner().invoke(commands, ["show", "-v", "--database", where])
    assert (shown.exit_code, "--verbose has no effect" in shown.stderr) == (2, True)
    shown = CliRunner().invoke(commands, ["show", "animals-1/1/1", "-v", "--database", where])
    assert shown.output.count("No model was asked in this session.") == 1


@pytest.mark.parametrize("wrong", ["", "[]", "[1, 2]", '["a", [], {}]', "[1, [[1, 2, 3]], 4]"])
def test_what_is_no_request_is_not_read_as_one(wrong: str) -> None:
    with pytest.raises(ValueError):
        read_rendered(wrong)


def test_what_was_rendered_is_read() -> None:
    request = ModelRequest(
        "a",
        (
            ChatTurn(ChatRole.USER, "b"),
            ChatTurn(ChatRole.ASSISTANT, "c"),
            ChatTurn(ChatRole.USER, "d"),
        ),
    )
    found = read_rendered(rendered(request))
    assert (found.system, found.asked, found.images, found.before) == ("a", "d", 0, 2)
