"""Sessions with contradictory judges, and their audit without the name of the recording."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from backends.databases import RunRecord, SqlBlackboard
from backends.databases.records import session_record
from guards import Exact, FunctionRelation
from pxp_fsm.cli.main import commands
from pxp_fsm.experiments.telemetry import TracedBoard
from pxp_fsm.protocol.messages import Answer, Question
from pxp_fsm.protocol.relations import NOISY
from pxp_fsm.protocol.rules import Interact, Pxp
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.functions import waited_for
from pxp_fsm.sessions.session import Session

HOSTILE = "<script>alert(1)</script>\u202e{{ 7 * 7 }}\x1b[31m"
RUN = "lab"


class Changing:
    """A respondent with another answer at each message."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def answer(self, question: Question) -> Answer:
        text = f"{self.name}{len(question.history)} {HOSTILE}"
        return Answer(f"y {text}", f"e {text}")


def coin(left: str, right: str) -> bool:
    return hashlib.sha256(f"{left}|{right}".encode()).digest()[0] % 3 > 0


def record_sessions(board: SqlBlackboard, sessions: int, *, traced: bool = False) -> None:
    """Every third session has equality as its judge, the others have one that contradicts itself.

    With `traced` each is made a span of, as in a run.
    """
    board.start_run(RunRecord(RUN, "animals", "{}", 0, "0", "f"))
    for place in range(1, sessions + 1):
        rules = Pxp(3) if place % 4 == 0 else Interact(8, 3)
        judge = Exact() if place % 3 == 0 else FunctionRelation("coin", coin, NOISY)
        members = {
            name: Agent(Changing(f"{name}{place}"), match=judge, agree=judge) for name in "mh"
        }
        outer = TracedBoard(board)
        session = Session(
            rules,
            members,
            instance=f"about {place}",
            name=f"{RUN}/1/{place}",
            blackboard=outer if traced else board,
            limit=20,
        )
        written = session_record(session, RUN, 1, place)
        board.start_session(written)
        with outer.session(written):
            waited_for(session.run())


def pxp(*arguments: str, code: int | None = 0) -> Result:
    done = CliRunner().invoke(commands, [*arguments], prog_name="pxp")
    assert code is None or done.exit_code == code, done.output
    return done


def audited(recording: Path | str, *arguments: str) -> dict[str, Any]:
    """The JSON of an audit, but for where the sessions are recorded."""
    done = pxp("audit", str(recording), "--json", *arguments, code=None)
    assert done.exit_code in (0, 1), done.output
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    found: dict[str, Any] = json.loads(done.stdout)
    del found["source"]
    return found
