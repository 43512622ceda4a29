"""Stored sessions in the explorer: what happened is the trace with which a page begins."""

from __future__ import annotations

from pathlib import Path

import pytest

import pxp_fsm as pxp
from pxp_fsm.automata.actions import Exchange, External
from pxp_fsm.errors import NotThere, UsageError
from pxp_fsm.sessions.functions import waited_for
from pxp_fsm.web.recordings import Recording
from pxp_fsm.web.views import Views
from tests.backends.test_members import SYSTEM
from tests.command_line import pxp as command


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("stored") / "lab.sqlite")
    agent = pxp.Agent(
        lambda _question: pxp.Answer("mammal", "It breathes air."),
        match=pxp.exact,
        agree=pxp.exact,
    )
    grants = pxp.Actor(lambda _turn: {"seat": 1}, guards=lambda _turn: "FREE")
    with pxp.open_blackboard(path) as board:
        pxp.Session(
            SYSTEM,
            {"asks": lambda _turn: pxp.Intent("ASK", "<b>"), "grants": grants},
            name="lab/system",
            blackboard=board,
        ).run_sync()
        pxp.Session(
            pxp.Interact(),
            {"m": agent, "h": agent},
            instance="a whale",
            name="lab/interact",
            blackboard=board,
        ).run_sync()
    return path


def test_a_systems_session_is_explored_with_its_own_tables(database: str) -> None:
    subject = Recording("lab/system", database).subject
    assert subject.system().fingerprint == SYSTEM.fingerprint
    actions = Views(subject.system()).actions(subject.choices)
    assert list(map(str, actions)) == ["asks>grants ASK", "grants>asks GRANT"]


def test_a_session_of_interact_is_explored_to_its_close(database: str) -> None:
    subject = Recording("lab/interact", database).subject
    first, *_, last = Views(subject.system()).actions(subject.choices)
    assert first in (Exchange("m", "h", "INIT"), Exchange("h", "m", "INIT"))
    assert last == External("CLOSE")
    assert [one.name for one in subject.system().members] == ["m", "h"]
    assert subject.channel == "sync"


def test_what_is_not_stored_is_not_explored(database: str, tmp_path: Path) -> None:
    with pytest.raises(NotThere, match="has no session 'lab/other'"):
        Recording("lab/other", database)
    for arguments, said in (
        (["lab/other", "--database", database], "has no session 'lab/other'"),
        (["lab/system", "--database", "none.sqlite"], "none.sqlite"),
        (["lab/system", "--channel", "sync", "--database", database], "--channel has no effect"),
        (["pxp", "--database", database], "--database has no effect: pxp is a table"),
    ):
        done = command("serve", *arguments, cwd=tmp_path)
        assert done.returncode in (2, 3), done.stderr
        assert said in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_table_that_has_changed_is_not_taken_for_the_one_that_ran(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = pxp.load_automaton("pxp")
    monkeypatch.setattr("pxp_fsm.experiments.drawings.builtin", lambda _name: other)
    with pytest.raises(UsageError, match="followed another table interact"):
        Recording("lab/interact", database)


def test_a_session_that_goes_on_is_read_again(tmp_path: Path) -> None:
    path = str(tmp_path / "lab.sqlite")
    agent = pxp.Agent(
        lambda question: pxp.Answer(f"{min(len(question.history), 5)}", "It breathes air."),
        match=pxp.exact,
        agree=pxp.exact,
    )
    with pxp.open_blackboard(path) as board:
        session = pxp.Session(
            pxp.Interact(k=9), {"m": agent, "h": agent}, instance="x", name="a/1", blackboard=board
        )
        waited_for(session.step())
        recording = Recording("a/1", path, ["F ended", "G !m.REJECT"])
        assert (recording.latest.happened, recording.latest.ending) == (1, "")
        assert recording.read() is None
        waited_for(session.step())
        found = recording.read()
        assert found is not None
        assert (found.happened, len(found.choices), found.choices) == (2, 2, found.choices)
        assert found.choices[:1] == recording.subject.choices
        assert [len(one.verdicts) for one in found.monitors] == [3, 3]
        assert found.fork == ('pxp.experiments.fork(board, "a/1@', '", members, name="…/1")')
        session.run_sync()
        last = recording.read()
        assert last is not None and session.ending is not None
        assert (last.happened, last.ending) == (len(session.history), session.ending.value)
        assert len(last.choices) == last.happened + 1  # the schedule closed it
        assert [one.verdicts[-1] for one in last.monitors] == ["true", "true"]
        assert last.claims is not None and "terminates" in last.claims
        assert recording.read() is None
        recording.close()


def test_a_systems_session_has_its_own_verdicts_and_a_fork_its_origin(
    database: str, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.sqlite"
    copy.write_bytes(Path(database).read_bytes())
    with pxp.open_blackboard(copy) as board:
        grants = pxp.Actor(lambda _turn: {"seat": 1}, guards=lambda _turn: "FREE")
        asks = pxp.Actor(lambda _turn: pxp.Intent("ASK", "again"))
        pxp.experiments.fork(
            board, "lab/system@1", {"asks": asks, "grants": grants}, name="two/1"
        ).run_sync()
    found = Recording("two/1", str(copy), ["F ended"]).latest
    assert (found.origin, found.claims, found.happened) == ("lab/system@1", None, 2)
    assert found.monitors[0].verdicts[-1] == "true"
