"""`pxp audit`: databases with sessions that are as they should be, and with others."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator
from sqlalchemy import text

from backends.databases import RunRecord, SessionRecord, SqlBlackboard, schema
from backends.databases.triggers import triggers
from guards import Exact, FunctionRelation
from proofs.audit import FindingKind
from pxp_fsm.analysis.audits.records import audit_database
from pxp_fsm.cli.main import commands
from pxp_fsm.errors import require_extra
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.protocol.messages import Answer, Instance, Question
from pxp_fsm.protocol.relations import NOISY
from pxp_fsm.protocol.rules import Interact
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.session import Session
from tests.analysis.published_sessions import column, representatives, stored

HOSTILE = "<script>alert(1)</script>\u202e{{ 7 * 7 }}\x1b[31m"
RULES = Interact(5, 4)


def audit(*arguments: str, code: int = 0) -> Result:
    done = CliRunner().invoke(commands, ["audit", *arguments], prog_name="pxp")
    assert done.exit_code == code, done.output
    return done


class Says:
    """A respondent with one answer after the other, each hostile to whoever shows it."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def answer(self, question: Question) -> Answer:
        said = f"{self.name}{len(question.history)} {HOSTILE}"
        return Answer(f"y {said}", f"e {said}")


def record(board: SqlBlackboard, judge: Callable[[str, str], bool] | None, position: int) -> None:
    """A real session of the run `animals-1`, judged by a function of texts or by equality."""
    relation = Exact() if judge is None else FunctionRelation("judge", judge, NOISY)
    members = {name: Agent(Says(name), match=relation, agree=relation) for name in ("m", "h")}
    name, about = f"animals-1/1/{position}", Instance(f"i{position} {HOSTILE}", "C")
    table = RULES.automaton
    place = (name, "animals-1", 1, position, about, "interact", RULES.n, RULES.k)
    described = tuple((each, agent.describe()) for each, agent in members.items())
    board.start_session(SessionRecord(*place, table.name, table.fingerprint, True, (), described))
    asyncio.run(Session(RULES, members, instance=about, name=name, blackboard=board).run())


def near(left: str, right: str) -> bool:
    """Similar is all that was said, but for the first two answers."""
    return {int(text[3]) for text in (left, right)} != {0, 1}


@pytest.fixture
def board(tmp_path: Path) -> SqlBlackboard:
    """Three sessions: judged by equality, by a similarity, and by a judge of the first letter."""
    made = SqlBlackboard(str(tmp_path / "lab.sqlite"))
    made.start_run(RunRecord("animals-1", "animals", Plan("animals").as_json(), 0, "0", "f"))
    record(made, None, 1)
    record(made, near, 2)
    record(made, lambda left, _right: left[2] == "m", 3)
    return made


def changed(board: SqlBlackboard, *statements: str) -> str:
    """The name of the database after `statements`, by somebody who owns it."""
    columns = {table.name: table.columns.keys() for table in schema.metadata.sorted_tables}
    with board.engine.connect() as connection:
        connection.execute(text("COMMIT"))
        connection.execute(text("PRAGMA foreign_keys = OFF"))
        for name, _table, _statement in triggers("sqlite", columns):
            connection.execute(text(f"DROP TRIGGER {name}"))
        for statement in statements:
            connection.execute(text(statement))
        connection.invalidate()
    return str(board.engine.url.database)


def found(database: str, *, code: int = 0) -> dict[str, Any]:
    """The JSON of an audit, which is as the schema says."""
    data: dict[str, Any] = json.loads(audit(database, "--json", code=code).output)
    files = resources.files("pxp_fsm.analysis.audits")
    Draft202012Validator(json.loads(files.joinpath("schema.json").read_text("utf-8"))).validate(
        data
    )
    return data


def kinds(data: dict[str, Any]) -> dict[str, list[str]]:
    return {one["session"]: [f["kind"] for f in one["findings"]] for one in data["noted"]}


def test_judges_are_told_apart_by_what_they_answered(board: SqlBlackboard) -> None:
    data = found(str(board.engine.url.database))
    assert data["possible"] == {"equivalence": 1, "tolerance": 1, "noisy": 1, "never": 0}
    similar, noisy = data["noted"]
    assert similar["tags"] == ["m:INIT", "h:REFUTE", "m:REFUTE", "h:RATIFY", "m:RATIFY"]
    assert (similar["session"], similar["possible"]) == ("animals-1/1/2", "tolerance")
    assert [(one["kind"], one["message"]) for one in similar["findings"]] == [
        ("tags of a tolerance", 4),
        ("similar, not the same", 4),
        ("similar, not the same", 4),
    ]
    assert [
        (one["left"], one["right"], one["held"]) for one in similar["findings"][1]["answers"]
    ] == [
        (3, 1, True),
        (3, 2, True),
        (1, 2, False),
    ]
    assert (noisy["session"], noisy["possible"]) == ("animals-1/1/3", "noisy")
    tags, apart, *_ = noisy["findings"]
    assert (tags["kind"], tags["message"], tags["possible"]) == (
        "tags of noisy judges", 3, ["m:RATIFY"],
    )  # fmt: skip
    assert (apart["kind"], apart["message"]) == ("agents judged differently", 3)
    assert [(one["agent"], one["left"], one["right"], one["held"]) for one in apart["answers"]] == [
        ("h", 1, 2, True),
        ("m", 2, 1, False),
    ]


def test_lines_name_session_message_and_answers(board: SqlBlackboard) -> None:
    lines = audit(str(board.engine.url.database)).output.splitlines()
    assert lines[0].endswith("lab.sqlite: 3 sessions, 15 messages")
    assert "        1  possible for tolerance, not for equivalence" in lines
    (head,) = [i for i, line in enumerate(lines) if line.startswith("similar, not the same, 1")]
    assert lines[head + 1].startswith("  animals-1/1/2 message ")
    assert "= yes" in lines[head + 1]
    assert lines[head + 1].endswith("= no")
    assert "\x1b" not in "".join(lines)


def test_a_page_shows_what_others_said_as_text(board: SqlBlackboard, tmp_path: Path) -> None:
    page = tmp_path / "audit.html"
    told = audit(str(board.engine.url.database), "-o", str(page), "--limit", "0").output
    assert told.endswith(f"Written: {page}\n")
    html = page.read_text("utf-8")
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "\u202e" not in html
    assert "\x1b" not in html
    assert "{{ 7 * 7 }}" in html
    assert html.count("<article") == 2
    assert "<strong>tags of a tolerance</strong> message 4: h:RATIFY" in html
    assert '4 <span class="tag human here">h:RATIFY</span>' in html
    assert '1 <span class="tag machine">m:INIT</span>' in html
    assert "default-src &#39;none&#39;" in html or "default-src 'none'" in html
    assert not (tmp_path / ".audit.html.draft").exists()
    refused = audit(str(board.engine.url.database), "-o", str(tmp_path / "no" / "a.html"), code=2)
    assert "there is no folder" in refused.output


def test_what_no_agent_sent_is_found_after_the_fact(board: SqlBlackboard) -> None:
    database = changed(
        board,
        "UPDATE events SET label = 'REFUTE' WHERE session = 'animals-1/1/1' AND number = 3",
        "UPDATE sessions SET ending = 'ratified' WHERE session = 'animals-1/1/3'",
        "UPDATE events SET label = 'INIT' WHERE session = 'animals-1/1/2' AND number = 3",
    )
    data = found(database, code=1)
    assert "tag against its judgements" in kinds(data)["animals-1/1/1"]
    assert "impossible message" in kinds(data)["animals-1/1/2"]
    assert data["possible"]["never"] == 2
    assert "wrong ending" in kinds(data)["animals-1/1/3"]


def test_a_view_that_was_changed_deceives_no_audit(board: SqlBlackboard) -> None:
    before = found(str(board.engine.url.database))
    database = changed(
        board,
        "DROP VIEW two_way_intelligibility",
        "CREATE VIEW two_way_intelligibility AS SELECT session, 1 AS two_way FROM sessions",
    )
    assert found(database)["noted"] == before["noted"]
    verified = CliRunner().invoke(commands, ["verify", database])
    assert verified.exit_code == 1
    assert "two_way_intelligibility" in verified.output


def test_what_cannot_be_audited_is_counted_with_its_reason(board: SqlBlackboard) -> None:
    database = changed(
        board,
        "UPDATE sessions SET automaton = 'mine' WHERE session = 'animals-1/1/1'",
        "UPDATE sessions SET fingerprint = 'x' WHERE session = 'animals-1/1/2'",
        "DELETE FROM events WHERE session = 'animals-1/1/3' AND number = 2",
    )
    data = found(database)
    assert data["not_audited"] == {
        "it followed the table 'mine', which is not one of the package's": 1,
        "it followed another table interact than today's": 1,
        "messages of it are missing; see pxp verify": 1,
    }
    assert sum(data["possible"].values()) == 0


def test_a_published_column_that_no_tolerance_explains() -> None:
    """RAD 2025 with 13 sessions one-way for the human by message 3: nine take a RATIFY back."""
    tags = column((19, 20, 19, 4, 19, 0, 15), representatives(human_revises=False), by_3=13)
    assert tags is not None
    with SqlBlackboard(":memory:") as board:
        stored(board, tags)
        report = audit_database(board, ())
    taken_back = [
        noted
        for noted in report.noted
        if noted.tags[1] == "h:RATIFY" and not {"h:REFUTE", "h:REJECT"}.isdisjoint(noted.tags)
    ]
    assert len(taken_back) == 9
    for noted in taken_back:
        tags_alone = noted.findings[0]
        assert (tags_alone.kind, tags_alone.number) == (FindingKind.TAGS_NOISY, 3)
        assert tags_alone.possible == ("m:RATIFY",)
    assert report.faults == 0


def test_without_its_library_nothing_is_audited_and_that_is_an_error(
    board: SqlBlackboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_given: object) -> None:
        require_extra("audit", "a set of tag sequences", {"no_such_module": "automata-lib"})

    monkeypatch.setattr("pxp_fsm.analysis.audits.records.audited", refuse)
    said = audit(str(board.engine.url.database), code=2).output
    assert "needs automata-lib, which is not installed; install the extra audit" in said


def test_a_run_that_is_not_there_is_said(board: SqlBlackboard) -> None:
    database = str(board.engine.url.database)
    assert "has no run 'x'" in audit(database, "x", code=2).output
    assert "3 sessions" in audit(database, "animals-1").output
    assert "there is no database" in audit("nosuch.sqlite", code=2).output


def test_the_published_codes_own_file_is_audited_by_its_reading(tmp_path: Path) -> None:
    lines = [
        "ailment-A, b ::: tags-['Machine: init', 'Human: ratify', 'Machine: ratify']",
        "mol-C<b>O ::: tags-['Machine: init', 'Human: refute', 'Machine: revise', 'Human: reject']",
        "mol-O ::: tags-['Machine: init', 'Human: refute', 'Machine: refute', 'Human: ratify', "
        "'Machine: ratify']",
        "mol-N ::: tags-['Machine: init', 'Human: reject']",
    ]
    file, page = tmp_path / "tags.txt", tmp_path / "audit.html"
    file.write_text("".join(f"sessionID-s{i}, {line}\n" for i, line in enumerate(lines)), "utf-8")
    data = found(str(file), code=1)
    assert data["protocol"].startswith("INTERACT as the published code reads it, 5 rounds")
    assert data["possible"] == {"equivalence": 2, "tolerance": 0, "noisy": 1, "never": 1}
    assert kinds(data) == {"s2": ["tags of noisy judges"], "s3": ["impossible message"]}
    assert data["counted"] == {
        "one_way:h": {"by_definition": 2, "as_published": 2},
        "one_way:m": {"by_definition": 3, "as_published": 4},  # a REVISE counts ever after
        "two_way": {"by_definition": 2, "as_published": 2},
    }
    audit(str(file), "-o", str(page), code=1)
    assert "as the published code counts" in page.read_text("utf-8")
    assert "has no runs" in audit(str(file), "animals-1", code=2).output


def test_a_file_of_tags_may_begin_with_a_mark_and_an_empty_line(tmp_path: Path) -> None:
    file = tmp_path / "tags.txt"
    line = "sessionID-a, mol-C ::: tags-['Machine: init', 'Human: ratify', 'Machine: ratify']"
    file.write_text(f"\ufeff\n{line}\n", "utf-8")
    told = audit(str(file), "--rounds", "1").output
    assert "tags.txt: 1 session, 3 messages\n" in told
    assert "reads it, 1 round, k = 3" in told


def test_what_is_no_recording_is_refused(board: SqlBlackboard, tmp_path: Path) -> None:
    file = tmp_path / "retro.csv"
    file.write_text("output,input,explanation\nCC,CO,an ether\n", "utf-8")
    told = audit(str(file), code=2).output
    assert "retro.csv is not a recording: neither a database" in told
    assert "nor a tags.txt" in told
    assert "are recorded" in audit(str(board.engine.url.database), "--rounds", "7", code=2).output


@pytest.mark.parametrize(
    "line",
    [
        "sessionID-x, ailment-A ::: tags-['Machine: init', __import__('os')]",
        "sessionID-x ailment-A ::: tags-[]",
        "sessionID-x, ailment-A ::: tags-['Robot: init']",
        "sessionID-\x1b[31m",
    ],
)
def test_a_line_of_another_form_is_refused_with_its_number(tmp_path: Path, line: str) -> None:
    file = tmp_path / "tags.txt"
    file.write_text(f"sessionID-a, mol-C ::: tags-['Machine: init']\n{line}\n", "utf-8")
    told = audit(str(file), code=2).output
    assert "tags.txt, line 2: it is not sessionID-NAME" in told
    assert "\x1b" not in told
