"""A study is conducted by its tables: whatever stops it, it goes on; who withdraws is erased."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

import pxp_fsm as pxp
from backends.databases import SqlBlackboard, disclosure, tokens
from backends.databases.drafts import keep_draft
from backends.databases.verify import verify_engine, verify_rows
from pxp_fsm.errors import BlackboardError, NotThere, Refused, UsageError
from pxp_fsm.plugins.studies.conduct import Conduct
from pxp_fsm.plugins.studies.erasures import given_out
from pxp_fsm.plugins.studies.export import COLUMNS, export_identifiers, export_study
from pxp_fsm.plugins.studies.files import Study, load_study
from pxp_fsm.plugins.studies.lifecycles import PARTICIPANT, participation
from pxp_fsm.plugins.studies.participations import NOBODY, read
from pxp_fsm.plugins.studies.status import summary
from pxp_fsm.plugins.studies.views import PAGES
from tests.plugins.studies.experts import Expert, carried, drug, experts

NETWORKS = Path("examples/studies/easylan.toml")


@pytest.fixture
def study() -> Study:
    return load_study(NETWORKS)


@pytest.fixture
def board(tmp_path: Path) -> Any:
    with pxp.open_blackboard(tmp_path / "study.sqlite") as found:
        yield found


def at_tasks(conduct: Conduct, who: str = "x") -> Expert:
    """A participant who is at their first task, about networks."""
    expert = Expert(conduct, conduct.join({"PROLIFIC_PID": who}), 1)
    while expert.status not in ("WAITING", "ANSWERING"):
        expert.act()
    return expert


def test_what_was_identified_typed_and_answered_is_gone_after_a_withdrawal(
    study: Study, board: SqlBlackboard, tmp_path: Path
) -> None:
    with Conduct(study, board) as conduct:
        conduct.raise_event("OPEN")
        stays, leaves = (at_tasks(conduct, f"panel-{word}") for word in ("stays", "leaves"))
        keep_draft(board, f"easylan/{leaves.subject}", 9, {"text": "a secret draft"})
        token = conduct.invite(leaves.subject)
        assert tokens.holder(board, token).subject == leaves.subject
        assert b"a secret draft" in everything(tmp_path)
        assert conduct.act(leaves.subject, "WITHDRAW") == "ERASED"
        assert not conduct.unclean
        assert b"a secret draft" not in everything(tmp_path)
        assert b"panel-leaves" not in everything(tmp_path)
        assert b"panel-stays" in everything(tmp_path)
        with pytest.raises(Refused, match="not valid"):
            tokens.holder(board, token)
        with pytest.raises(Refused, match="nothing to withdraw"):
            conduct.act(leaves.subject, "WITHDRAW")
        with pytest.raises(BlackboardError):
            keep_draft(board, f"easylan/{leaves.subject}", 9, {"text": "again"})
        assert stays.status == "WAITING"
    report = verify_engine(board.engine)
    assert report.problems == ()
    assert [one.session for one in report.erased] == [f"easylan/{leaves.subject}"]
    with Conduct(study, board) as conduct:
        assert conduct.statuses == {"WAITING": 1, "ERASED": 1}


@pytest.mark.parametrize(
    "gone", ["TRUE", "number > (SELECT MAX(number) - 2 FROM events WHERE session = :session)"]
)
def test_a_withdrawal_that_is_taken_back_behind_the_program_is_found(
    study: Study, board: SqlBlackboard, gone: str
) -> None:
    with Conduct(study, board) as conduct:
        conduct.raise_event("OPEN")
        leaves = at_tasks(conduct)
        conduct.act(leaves.subject, "WITHDRAW")
    assert verify_engine(board.engine).problems == ()
    session = f"easylan/{leaves.subject}"
    with board.engine.connect() as connection:
        connection.exec_driver_sql("DROP TRIGGER events_kept")
        rows = connection.execute(
            text(f"DELETE FROM events WHERE session = :session AND {gone}"), {"session": session}
        ).rowcount
        found = verify_rows(connection).problems
        connection.rollback()
    assert rows > 2 if gone == "TRUE" else rows == 2
    assert f"session {session}" in {problem.where for problem in found}


def test_exports_from_before_a_withdrawal_are_named(
    study: Study, board: SqlBlackboard, tmp_path: Path
) -> None:
    with Conduct(study, board) as conduct:
        conduct.raise_event("OPEN")
        stays, leaves = (at_tasks(conduct, word) for word in ("stays", "leaves"))
        people = [conduct.participation(one.subject) for one in (stays, leaves)]
        export_study(study, board, tmp_path / "early")
        export_identifiers(study, board, tmp_path / "who.csv")
        assert given_out(study, board, people) == ()
        conduct.act(leaves.subject, "WITHDRAW")
        export_study(study, board, tmp_path / "late")
        early, who = given_out(study, board, people)
        assert early.startswith("study early, given out 20")
        assert f"holds what {leaves.subject} said" in early
        assert who.startswith("identifiers who.csv, ")
        assert f"says who {leaves.subject} is (SHA-256 " in who


def test_a_closed_study_has_no_places_left(study: Study, board: SqlBlackboard) -> None:
    def told() -> str:
        everybody = [conduct.participation(here.subject)]
        return next(summary(study, read(board, study.run, NOBODY), everybody))

    with Conduct(study, board) as conduct:
        conduct.raise_event("OPEN")
        here = at_tasks(conduct)
        assert told() == "Study easylan: OPEN, 1 came, 11 places left"
        conduct.raise_event("CLOSE")
        assert told() == "Study easylan: CLOSED, 1 came"


def everything(folder: Path) -> bytes:
    """What the database and its log hold."""
    return b"".join(file.read_bytes() for file in folder.glob("study.sqlite*"))


def test_what_is_not_offered_is_refused_and_changes_nothing(
    study: Study, board: SqlBlackboard
) -> None:
    with Conduct(study, board) as conduct:
        with pytest.raises(Refused, match="possible now is OPEN, CLOSE"):
            conduct.raise_event("PAUSE")
        subject = conduct.join()
        assert conduct.status(subject) == "INVITED"
        conduct.raise_event("OPEN")
        assert conduct.status(subject) == "CONSENTING"
        conduct.raise_event("PAUSE")
        with pytest.raises(Refused, match="does not take anybody new"):
            conduct.join()
        conduct.raise_event("RESUME")
        before = len(conduct.participation(subject).history)
        wrong: list[tuple[str, Any, type[Exception]]] = [
            ("READ", None, Refused),
            ("ANSWER", None, Refused),
            ("OPEN", None, Refused),
            ("LAPSE", None, Refused),
            ("TASK", {"place": 1, "run": "x"}, Refused),
            ("CONSENT", {"version": "another"}, Refused),
            ("CONSENT", None, Refused),
            ("DECLINE", {"x": "\x00"}, UsageError),
        ]
        for label, payload, kind in wrong:
            with pytest.raises(kind):
                conduct.act(subject, label, payload)
        with pytest.raises(NotThere):
            conduct.act("p999", "CONSENT", {"version": study.consent.version})
        with pytest.raises(NotThere):
            conduct.act("study", "CONSENT")
        with pytest.raises(UsageError, match="takes no identifier"):
            conduct.join({"name": "somebody"})
        assert len(conduct.participation(subject).history) == before
        with pytest.raises(BlackboardError, match="another process"):
            Conduct(study, SqlBlackboard(str(board.engine.url.database)))


def test_a_study_that_was_changed_is_another_one(tmp_path: Path, board: SqlBlackboard) -> None:
    with Conduct(drug(tmp_path), board):
        pass
    with pytest.raises(UsageError, match="before its file was changed"):
        Conduct(drug(tmp_path, **{"seed = 7": "seed = 8"}), board)


def test_a_paused_study_holds_and_a_closed_one_debriefs(study: Study, board: SqlBlackboard) -> None:
    with Conduct(study, board) as conduct:
        conduct.raise_event("OPEN")
        early = at_tasks(conduct, "early")
        late = Expert(conduct, conduct.join({"PROLIFIC_PID": "late"}), 1)
        conduct.raise_event("PAUSE")
        while late.status != "READY":
            late.act()
        assert early.status == "WAITING"
        conduct.raise_event("RESUME")
        assert late.status == "WAITING"
        conduct.raise_event("CLOSE")
        assert (early.status, late.status) == ("DEBRIEF", "DEBRIEF")
        early.act()
        conduct.raise_event("ANONYMISE")
        assert conduct.statuses == {"ANONYMISED": 2}
        assert disclosure.identifiers_of(board, study.run) == {}


def test_who_gives_no_sign_lapses_and_may_come_back(study: Study, board: SqlBlackboard) -> None:
    now = [0.0]
    with Conduct(study, board, clock=lambda: now[0]) as conduct:
        conduct.raise_event("OPEN")
        expert, idle = at_tasks(conduct, "a"), conduct.join({"PROLIFIC_PID": "b"})
        waits = at_tasks(conduct, "c")  # for its partner: nothing is its own to do
        conduct.follow(expert.subject)
        now[0] += study.deadline - 1
        assert conduct.lapse() == ()
        now[0] += 2
        assert set(conduct.lapse()) == {expert.subject, idle}
        assert (expert.status, conduct.status(idle)) == ("LAPSED", "DECLINED")
        assert waits.status == "WAITING"
        assert set(disclosure.identifiers_of(board, study.run)) == {expert.subject, waits.subject}
        expert.act()
        assert expert.status == "DEBRIEF"


def test_a_study_of_networks_gives_each_task_and_arm_and_ends(
    study: Study, board: SqlBlackboard
) -> None:
    with Conduct(study, board) as conduct:
        conduct.raise_event("OPEN")
        expert = at_tasks(conduct)
        done: list[tuple[str, str]] = []
        while expert.status in ("WAITING", "ANSWERING", "BREAK"):
            if expert.status == "BREAK":
                expert.act()
                continue
            does = conduct.doing(expert.subject)[-1]
            done.append((does.task.network, does.arm.condition))
            expert.look()
            assert expert.status == "ANSWERING"
            conduct.finish(expert.subject)
        assert {task for task, _ in done} == {one.network for one in study.tasks}
        assert Counter(arm for _, arm in done) == {"easylan": 2, "manual": 2}
        while expert.status != "DONE":
            expert.act()


class Dead(Exception):
    """The process was killed."""


@pytest.mark.parametrize(
    "after", [5, *(pytest.param(n, marks=pytest.mark.deep) for n in range(1, 60, 3))]
)
def test_a_conduct_that_is_killed_anywhere_goes_on_alike(
    after: int, study: Study, board: SqlBlackboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [after]
    stored, write = SqlBlackboard.append, SqlBlackboard.write

    def dies(*arguments: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise Dead
        return stored(*arguments)

    def dies_too(*arguments: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise Dead
        return write(*arguments)

    def life() -> bool:
        try:
            with Conduct(study, board) as conduct:
                if conduct.state == "PREPARED":
                    conduct.raise_event("OPEN")
                for who in ("a", "b"):
                    expert = Expert(conduct, conduct.join({"PROLIFIC_PID": who}), 1)
                    while expert.status not in ("WAITING", "DONE", "ERASED", "WITHDRAWN"):
                        expert.act()
                    if expert.status == "WAITING":
                        conduct.act(expert.subject, "WITHDRAW")
                return True
        except Dead:
            return False

    monkeypatch.setattr(SqlBlackboard, "append", dies)
    monkeypatch.setattr(SqlBlackboard, "write", dies_too)
    assert life() is (left[0] > 0)
    left[0] = -1  # nobody dies any more
    assert life()
    with Conduct(study, board) as conduct:
        assert set(conduct.statuses) == {"ERASED"}
        # who was forgotten in the first life, and comes in the second one, is somebody new
        assert 2 <= len(conduct.subjects) <= 4
    assert disclosure.identifiers_of(board, study.run) == {}
    assert verify_engine(board.engine).problems == ()


FATES = [
    "", "declines", "fails", "withdraws", "leaves", "loses", "", "withdraws", "leaves", "", "loses",
    "",
]  # fmt: skip


@pytest.mark.deep
def test_twelve_experts_reach_every_status(tmp_path: Path, board: SqlBlackboard) -> None:
    """A whole study: withdrawals, drop-outs, second devices, a lost partner, a restart."""
    study, now = drug(tmp_path), [0.0]
    with Conduct(study, board) as conduct:
        conduct.raise_event("OPEN")
        came = list(experts(conduct, 3, FATES))
        for expert in came[:6]:
            asyncio.run(carried(expert, board))
        conduct.raise_event("PAUSE")
        asyncio.run(carried(came[6], board))
        assert came[6].status == "READY"
    with Conduct(study, board) as conduct:  # the server was restarted
        conduct.raise_event("RESUME")
        for expert in came:
            expert.conduct = conduct
        for expert in came[6:]:
            asyncio.run(carried(expert, board))
        finished = Counter(conduct.status(expert.subject) for expert in came)
        assert finished["ERASED"] == 2
        assert finished["DECLINED"] == 1
        assert finished["DONE"] == 7
        export_study(study, board, tmp_path / "export")
        assert export_identifiers(study, board, tmp_path / "who.csv") == 9
    with Conduct(study, board, clock=lambda: 4e9 + now[0]) as conduct:
        now[0] = study.deadline
        conduct.lapse()
    check_export(study, tmp_path, came)
    assert verify_engine(board.engine).problems == ()


def check_export(study: Study, folder: Path, came: list[Expert]) -> None:
    texts = {file.name: file.read_text("utf-8") for file in (folder / "export").iterdir()}
    assert "panel-3-1" not in "".join(texts.values())
    assert "panel-3-1" in (folder / "who.csv").read_text("utf-8")
    for name, columns in COLUMNS.items():
        assert texts[f"{name}.csv"].splitlines()[0] == ",".join(columns)
    assert len(texts["participants.csv"].splitlines()) == 1 + len(came)
    assert study.name in texts["README.txt"]


def test_the_participants_table_is_what_pages_are_for() -> None:
    states = participation().members[2].automaton.states
    assert participation().members[2].name == PARTICIPANT
    assert {state.name for state in states} == set(PAGES)
