"""What `pxp monitor` and `pxp audit` say of recorded sessions of both kinds, as plain values."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import pxp_fsm as pxp
from backends.databases import RunRecord, SessionRecord, SqlBlackboard
from guards import FunctionRelation
from pxp_fsm.analysis.monitoring import LiveMonitors, Monitors
from pxp_fsm.cli.main import commands
from pxp_fsm.protocol.relations import NOISY
from pxp_fsm.protocol.rules import Rules
from pxp_fsm.sessions.events import Event
from pxp_fsm.web.recordings import Recording
from tests.analysis.test_audit import changed
from tests.backends.test_members import SYSTEM

JUDGES: dict[str, Callable[[str, str], bool]] = {
    "equal": lambda left, right: left == right,
    "near": lambda left, right: {int(left[-1]), int(right[-1])} != {0, 1},
    "coin": lambda left, _right: left[0] == "m",
}
RULES: tuple[Rules, ...] = (pxp.Interact(5, 4), pxp.Pxp(2))


def of_two(board: SqlBlackboard, rules: Rules, judge: str, position: int) -> None:
    """A session in which each answer is a new one, judged by a function of the texts."""

    def respondent(name: str) -> Callable[[pxp.Question], pxp.Answer]:
        def answer(question: pxp.Question) -> pxp.Answer:
            said = f"{name}{len(question.history)}"
            return pxp.Answer(said, said)

        return answer

    relation = FunctionRelation(judge, JUDGES[judge], NOISY)
    members = {
        name: pxp.Agent(respondent(name), match=relation, agree=relation) for name in ("m", "h")
    }
    name, about, table = f"two-1/1/{position}", pxp.Instance(judge, "x"), rules.automaton
    place = (name, "two-1", 1, position, about, rules.name, rules.n, rules.k)
    described = tuple((each, agent.describe()) for each, agent in members.items())
    board.start_session(SessionRecord(*place, table.name, table.fingerprint, True, (), described))
    session = pxp.Session(rules, members, instance=about, name=name, blackboard=board, limit=8)
    asyncio.run(session.run())


def of_a_system(board: SqlBlackboard, guard: str, number: int) -> None:
    grants = pxp.Actor(lambda _turn: {"seat": 1}, guards=lambda _turn: guard)
    members: dict[str, Any] = {"asks": lambda _turn: pxp.Intent("ASK", "a seat"), "grants": grants}
    name = f"lab/{number}"
    system = SYSTEM.over("fifo:1")
    pxp.Session(system, members, name=name, instance="seats", blackboard=board).run_sync()


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("verdicts") / "all.sqlite")
    with SqlBlackboard(path) as board:
        board.start_run(RunRecord("two-1", "own", "{}", 0, "0", ""))
        for position, (rules, judge) in enumerate(((r, j) for r in RULES for j in JUDGES), start=1):
            of_two(board, rules, judge, position)
        of_a_system(board, "FREE", 1)
        of_a_system(board, "TAKEN", 2)
    return path


def told(*arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(commands, [*arguments], prog_name="pxp")
    assert done.exit_code == code, done.output
    return done.stdout


OF_TWO = ("F ended.ratified", "G (2.REFUTE -> F 1.REVISE)", "G number<=4", "F h.one_way")


def test_a_run_of_two_party_sessions_is_monitored(database: str) -> None:
    assert told("monitor", "two-1", *OF_TWO, "--database", database, code=1).splitlines() == [
        "Monitor F ended.ratified: true in 1, false in 5: false in two-1/1/1 at message 4 "
        "(h REVISE), two-1/1/3 at message 5 (m REJECT), two-1/1/4, two-1/1/5, two-1/1/6",
        "Monitor G (2.REFUTE -> F 1.REVISE): true in 4, false in 1, presumably true in 1: "
        "false in two-1/1/2 at message 5 (m RATIFY)",
        "Monitor G number<=4: true in 2, false in 4: false in two-1/1/1 at message 3 (m REVISE), "
        "two-1/1/2 at message 3 (m REFUTE), two-1/1/3 at message 3 (m REFUTE), "
        "two-1/1/6 at message 4 (h RATIFY)",
        "Monitor F h.one_way: true in 4, false in 2: false in two-1/1/4 at message 2 (h REJECT), "
        "two-1/1/5 at message 2 (h REJECT)",
    ]


def test_a_two_party_session_is_monitored_message_by_message(database: str) -> None:
    lines = told(
        *("monitor", "two-1/1/2", "F ended.ratified", "G !2.REFUTE", "G number<=4"),
        *("--database", database),
        code=1,
    )
    assert lines.splitlines() == [
        "Monitor F ended.ratified",
        "Monitor G !2.REFUTE",
        "Monitor G number<=4",
        "  0                   presumably false  presumably true   presumably true",
        "  1 m INIT            presumably false  presumably true   presumably true",
        "  2 h REFUTE          presumably false  false             presumably true",
        "  3 m REFUTE          presumably false  false             false",
        "  4 h RATIFY          presumably false  false             false",
        "  5 m RATIFY          true              false             false",
    ]
    term = told("monitor", "two-1/1/6", "F ended.ratified", "--database", database, code=1)
    assert term.splitlines()[1] == "  0                   false"


def test_a_run_and_a_session_of_systems_are_monitored(database: str) -> None:
    asked = ("F asks@OVER", "G !grants.GRANT")
    assert told("monitor", "lab", *asked, "--database", database, code=1).splitlines() == [
        "Monitor F asks@OVER: true in 2",
        "Monitor G !grants.GRANT: true in 1, false in 1: false in lab/1 at action 3 "
        "(grants>asks +GRANT)",
    ]
    one = told("monitor", "lab/1", "F grants.GRANT", "G !lost", "--database", database)
    assert one.splitlines()[2:] == [
        "  0                   presumably false  true",
        "  1 asks>grants +ASK  presumably false  true",
        "  2 asks>grants -ASK  presumably false  true",
        "  3 grants>asks +GRANT  true              true",
        "  4 grants>asks -GRANT  true              true",
    ]


def test_a_database_of_both_kinds_is_audited(database: str) -> None:
    data = json.loads(told("audit", database, "--json"))
    counts = {name: data[name] for name in ("sessions", "messages", "possible", "systems")}
    assert counts == {
        "sessions": 8,
        "messages": 35,
        "possible": {"equivalence": 3, "tolerance": 1, "noisy": 2, "never": 0},
        "systems": 2,
    }
    assert data["findings"] == {
        "agents judged differently": 2,
        "similar, not the same": 1,
        "tags of noisy judges": 2,
        "tags of a tolerance": 1,
    }
    assert data["not_audited"] == data["counted"] == {}
    assert [
        (noted["session"], noted["ending"], noted["possible"], finding["kind"], finding["message"])
        for noted in data["noted"]
        for finding in noted["findings"]
    ] == [
        ("two-1/1/2", "ratified", "tolerance", "tags of a tolerance", 4),
        ("two-1/1/2", "ratified", "tolerance", "similar, not the same", 4),
        ("two-1/1/2", "ratified", "tolerance", "similar, not the same", 4),
        ("two-1/1/3", "rejected", "noisy", "tags of noisy judges", 3),
        ("two-1/1/3", "rejected", "noisy", "agents judged differently", 3),
        ("two-1/1/3", "rejected", "noisy", "agents judged differently", 3),
        ("two-1/1/6", "limit", "noisy", "tags of noisy judges", 3),
        ("two-1/1/6", "limit", "noisy", "agents judged differently", 3),
        ("two-1/1/6", "limit", "noisy", "agents judged differently", 3),
    ]


def test_an_audit_of_both_kinds_in_lines(database: str) -> None:
    lines = told("audit", database, "--limit", "1").splitlines()
    assert lines[0].endswith("all.sqlite: 8 sessions, 35 messages")
    assert lines[1:] == [
        "        3  possible for equivalence",
        "        1  possible for tolerance, not for equivalence",
        "        2  possible for noisy judges alone",
        "        0  possible for no correct agents",
        "        2  of systems, audited against the tables stored with them",
        "agents judged differently, 2 sessions: the two agents judged one pair in two ways: "
        "not shared",
        "  two-1/1/3 message 3: both agents; h at 2: MATCH(message 1, message 2) = yes, "
        "m at 3: MATCH(message 2, message 1) = no",
        "  …",
        "similar, not the same, 1 session: texts were linked by yes from one to the next, and the "
        "ends judged no: not transitive",
        "  two-1/1/2 message 4: 3 texts in a row; m at 3: MATCH(message 3, message 1) = yes, "
        "h at 4: MATCH(message 3, message 2) = yes, h at 2: MATCH(message 1, message 2) = no",
        "  …",
        "tags of noisy judges, 2 sessions: no tolerance gives these tags; nothing that was judged "
        "is needed to see it",
        "  two-1/1/3 message 3: m:REFUTE; possible there: m:RATIFY",
        "  …",
        "tags of a tolerance, 1 session: no equivalence gives these tags, a tolerance does",
        "  two-1/1/2 message 4: h:RATIFY; possible there: h:REFUTE, h:REVISE",
    ]


def altered(database: str, path: Path, *statements: str) -> str:
    """A copy of the database after `statements`, by somebody who owns it."""
    path.write_bytes(Path(database).read_bytes())
    with SqlBlackboard(str(path)) as board:
        return changed(board, *statements)


UNREAD = (
    "UPDATE sessions SET automaton = 'mine' WHERE session = 'two-1/1/1'",
    "UPDATE sessions SET fingerprint = 'x' WHERE session = 'two-1/1/2'",
    "UPDATE events SET label = 'INIT' WHERE session = 'two-1/1/3' AND number = 3",
    "DELETE FROM events WHERE session = 'two-1/1/6' AND number = 2",
)


def test_what_cannot_be_monitored_is_named_and_the_rest_is_monitored(
    database: str, tmp_path: Path
) -> None:
    other = altered(database, tmp_path / "other.sqlite", *UNREAD)
    arguments = ("monitor", "two-1", "F number=2", "--database", other)
    first, *named = told(*arguments, code=4).splitlines()
    assert first == "Monitor F number=2: true in 2"
    assert [line.split(": ")[:2] for line in named] == [
        ["Not monitored", f"two-1/1/{number}"] for number in (1, 2, 3, 6)
    ]
    for line, why in zip(
        named,
        (
            "followed the table 'mine', which is not here",
            "followed another table interact (fingerprint x",
            "does not allow 'm INIT' here; it allows",
            "message 2 of it is missing; see pxp verify",
        ),
        strict=True,
    ):
        assert why in line
    data = json.loads(told(*arguments, "--json", code=4))
    assert [one["session"] for one in data["verdicts"]] == ["two-1/1/4", "two-1/1/5"]
    unread = [f"Not monitored: {one['session']}: {one['reason']}" for one in data["not_monitored"]]
    assert unread == named
    told("monitor", "two-1", "F ended.ratified", "--database", other, code=1)  # false of one


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("UPDATE texts SET text = '[' WHERE text LIKE '{%states%'", "table"),
        ("UPDATE sessions SET channel = 'pigeon:1' WHERE session = 'lab/1'", "pigeon"),
        ("UPDATE events SET kind = 'teleport' WHERE session = 'lab/1'", "teleport"),
        ("DELETE FROM members WHERE session = 'lab/1' AND place = 2", "two members or more, not 1"),
        (
            "UPDATE events SET member = 'nobody' WHERE session = 'lab/1' AND number = 1",
            "does not allow 'nobody>grants +ASK' here",
        ),
    ],
)
def test_a_session_of_a_system_that_cannot_be_read_is_named(
    database: str, tmp_path: Path, change: str, why: str
) -> None:
    ignored = "PRAGMA ignore_check_constraints = ON"
    other = altered(database, tmp_path / "other.sqlite", ignored, change)
    data = json.loads(told("monitor", "lab", "F ended", "--json", "--database", other, code=4))
    assert data["not_monitored"][0]["session"] == "lab/1"
    assert why in data["not_monitored"][0]["reason"]
    assert len(data["verdicts"]) + len(data["not_monitored"]) == 2


def test_a_session_is_monitored_up_to_where_it_cannot_be_read(
    database: str, tmp_path: Path
) -> None:
    other = altered(database, tmp_path / "other.sqlite", *UNREAD)
    lines = told("monitor", "two-1/1/3", "F 2.RATIFY", "--database", other, code=4).splitlines()
    assert lines[:4] == [
        "Monitor F 2.RATIFY",
        "  0                   presumably false",
        "  1 m INIT            presumably false",
        "  2 h RATIFY          true",
    ]
    assert lines[4].startswith("Not monitored: two-1/1/3: ")


def test_a_page_shows_verdicts_up_to_where_a_session_cannot_be_read(
    database: str, tmp_path: Path
) -> None:
    bound = "UPDATE sessions SET n = 3, k = 2 WHERE session = 'two-1/1/2'"  # and it has 5 messages
    other = altered(database, tmp_path / "other.sqlite", bound)
    (view,) = Recording("two-1/1/2", other, ["F 1.REFUTE"]).latest.monitors
    assert view.verdicts[:4] == (*["presumably false"] * 3, "true")
    assert [one[:15] for one in view.verdicts[4:]] == ["not monitored: "] * 2


def test_a_formula_that_some_sessions_do_not_know_is_monitored_in_the_others(
    database: str, tmp_path: Path
) -> None:
    path = tmp_path / "other.sqlite"
    path.write_bytes(Path(database).read_bytes())
    with SqlBlackboard(str(path)) as board:
        system = pxp.System.load(*(f"{one}=pxp" for one in "ab"))
        quiet = pxp.Actor(lambda _turn: None)
        pxp.Session(system, {"a": quiet, "b": quiet}, name="lab/3", blackboard=board).run_sync()
    lines = told("monitor", "lab", "F asks@OVER", "--database", str(path), code=4).splitlines()
    assert lines[0] == "Monitor F asks@OVER: true in 2"
    assert lines[1].startswith("Not monitored: lab/3: there is no 'asks@OVER'")
    told("monitor", "lab", "F nobody@OVER", "--database", str(path), code=2)


def test_a_run_is_told_of_what_it_cannot_monitor_and_goes_on() -> None:
    said = list[str]()
    with SqlBlackboard(":memory:") as board:
        live = LiveMonitors(Monitors(["G !2.RATIFY"]), pxp.Interact(5, 4), board, said.append)
        for session, tags in (("s/1", "INIT INIT RATIFY"), ("s/2", "INIT RATIFY")):
            for number, tag in enumerate(tags.split(), start=1):
                sender, receiver = ("m", "h") if number % 2 else ("h", "m")
                message = pxp.Message(session, number, sender, tag, pxp.Answer("", ""), receiver)
                live.hear(session, Event.of_message(message))
            live.hear(session, None)
    refused, false = said
    assert refused.startswith("Not monitored: s/1: ")
    assert false == "Monitor G !2.RATIFY: false in s/2 at message 2 (h RATIFY)"
