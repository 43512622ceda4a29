"""Reports of runs of systems: counted a second time here, from the sessions one by one."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

import pxp_fsm as pxp
from backends.databases import RunRecord, SqlBlackboard
from backends.databases.recordings import durations
from pxp_fsm import defaults
from pxp_fsm.automata.actions import Decide, Deliver, Exchange, External, Send
from pxp_fsm.errors import NotThere, PXPError, UsageError
from pxp_fsm.experiments.reports.contents import RunReport
from pxp_fsm.experiments.reports.systems import SystemReport, gather_system
from pxp_fsm.experiments.reports.write import left_out, write
from pxp_fsm.protocol.rules import Ending
from tests.experiments.report_pages import Made, page_of
from tests.sessions.random_sessions import steady_session

HOSTILE = "</td><script>alert(1)</script>\u202e\x07"


@pytest.fixture
def board(tmp_path: Path) -> Iterator[SqlBlackboard]:
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as opened:
        yield opened


def reported(board: SqlBlackboard, *seeds: int) -> SystemReport:
    for seed in seeds:
        steady_session(seed, blackboard=board).run_sync()
    (record,) = board.runs()
    return gather_system(board, record)


def test_what_is_counted_is_what_happened(board: SqlBlackboard) -> None:
    report = reported(board, *range(40))
    endings, links, guards = Counter[str](), dict[tuple[str, ...], Counter[str]](), Counter[str]()
    for record in board.sessions():
        endings[record.ending or ""] += 1
        for one in board.events(record.session):
            action = one.action
            if isinstance(action, External):
                guards[action.label] += 1
                continue
            if isinstance(action, Decide):
                guards[one.guard] += 1
            if not isinstance(action, Exchange | Send | Deliver):
                continue
            counted = links.setdefault((action.sender, action.receiver, action.tag), Counter())
            counted["sent"] += not isinstance(action, Deliver)
            counted["lost"] += isinstance(action, Send) and action.lost
            counted["delivered"] += not isinstance(action, Send)
            counted["delivered again"] += isinstance(action, Deliver) and action.kept
            guards[one.guard] += bool(one.guard)
    assert {row[0]: row[1] for row in report.endings().rows} == endings
    found = {row[:3]: row[3:] for row in report.messages().rows}
    names = report.messages().headings[3:]
    assert found == {link: tuple(many[name] for name in names) for link, many in links.items()}
    told = Counter[str]()
    for member, guard, label, times in report.decisions().rows:
        told[str(label if member == "outside" else guard)] += int(str(times))
    assert told == +guards
    assert all(any(many[name] for many in links.values()) for name in names)


def test_seconds_are_from_the_opening_to_the_last_action(board: SqlBlackboard) -> None:
    report = reported(board, 1, 2, 3)
    with_actions = {one.session for one in report.sessions if one.messages}
    assert set(durations(board, report.name)) == with_actions
    assert all(0 <= seconds < 60 for seconds in report.seconds.values())


@pytest.mark.deep
def test_a_page_of_tasks_and_systems_is_whole_and_alike_each_time(
    board: SqlBlackboard, tmp_path: Path
) -> None:
    Made(board).add(1, "INIT RATIFY RATIFY")
    for seed in range(4):
        steady_session(seed, blackboard=board).run_sync()
    written = {}
    for folder in ("one", "two"):
        reports, paths = write(
            board, (), tmp_path / folder / "page.html", test_set=False, sessions="1"
        )
        assert [type(one) for one in reports] == [RunReport]
        written[folder] = {path.name: path.read_bytes() for path in paths}
    assert written["one"] == written["two"]
    assert {"page-table1.csv", "page-systems.tex", "page-actions.csv"} < set(written["one"])
    assert left_out(board, ()) == ()
    page = page_of(tmp_path / "one/page.html")
    assert "Run steady" in page.text and "Intelligibility of sessions" in page.text
    assert not page.acting
    data = json.loads(written["one"]["page.json"])
    schema = resources.files("pxp_fsm.experiments.reports").joinpath("schema.json")
    jsonschema.Draft202012Validator(json.loads(schema.read_text("utf-8"))).validate(data)
    rows = list(csv.DictReader(written["one"]["page-actions.csv"].decode().splitlines()))
    assert sum(int(row["times"]) for row in rows) == sum(
        one["actions"] for one in data["systems"][0]["sessions"]
    )


def test_systems_alone_have_no_table_1(board: SqlBlackboard, tmp_path: Path) -> None:
    steady_session(3, blackboard=board).run_sync()
    _, paths = write(board, (), tmp_path / "page.html", sessions="0")
    assert {path.name for path in paths} == {
        "page.html",
        "page.json",
        "page-systems.tex",
        "page-actions.csv",
        "page-endings.csv",
    }
    page = page_of(tmp_path / "page.html")
    assert "Intelligibility" not in page.text and "Wilson" in page.text


@pytest.mark.deep
def test_what_members_say_is_text_on_the_page(board: SqlBlackboard, tmp_path: Path) -> None:
    rows = [{"from": "A", "to": "B", "send": "X"}, {"from": "A", "to": "B", "receive": "X"}]
    system = pxp.System.load(pxp.build_automaton("talk", rows, final=["B"]), channel="lossy:1")
    members = {
        "talk1": lambda _turn: pxp.Intent("X", {"said": HOSTILE}),
        "talk2": lambda _turn: None,
    }
    session = pxp.Session(
        system,
        members,
        name="own/1",
        blackboard=board,
        instance=HOSTILE.replace("\x07", ""),
        faults=pxp.Faults(loss=0),
    ).run_sync()
    assert session.ending is Ending.FINISHED
    write(board, ("own",), tmp_path / "page.html")
    page = page_of(tmp_path / "page.html")
    assert "script" not in page.elements and not page.acting
    assert "</td><script>alert(1)</script>" in page.text
    assert "\u202e" not in page.text


def test_a_run_without_a_session_is_no_report(board: SqlBlackboard, tmp_path: Path) -> None:
    board.start_run(RunRecord("empty-1", defaults.SYSTEMS, "{}", 0, "0", ""))
    cases: list[tuple[tuple[str, ...], type[PXPError]]]
    cases = [((), NotThere), (("empty-1",), UsageError)]
    for runs, error in cases:
        with pytest.raises(error, match="run empty-1 is of a system"):
            write(board, runs, tmp_path / "page.html")
    assert left_out(board, ()) != ()
