"""Assistants as the machine or the human of a task, by the client of the official SDK."""

from __future__ import annotations

import asyncio
import io
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from PIL import Image
from starlette.datastructures import Headers

from backends.databases import SqlBlackboard, tokens
from pxp_fsm.automata.automaton import Kind
from pxp_fsm.experiments import members, openings, plan_data, runs
from pxp_fsm.experiments.openings import TaskOpening
from pxp_fsm.experiments.plans import ASSISTANTS, Plan
from pxp_fsm.experiments.runs import Run
from pxp_fsm.protocol.messages import Message
from pxp_fsm.protocol.rules import Ending
from pxp_fsm.sessions.functions import AnswerFunction
from pxp_fsm.web.assistants.server import server
from pxp_fsm.web.assistants.tasks import TaskAssistants, member_of
from pxp_fsm.web.assistants.tools import Toolbox
from pxp_fsm.web.experts.views import pixels
from pxp_fsm.web.hosting import Host, carried
from pxp_fsm.web.links import Links
from pxp_fsm.web.news import News
from tests.web.assistants import my_turn, refused, said
from tests.web.experts import THEIRS, quick

SAME = {"prediction": THEIRS.prediction, "explanation": THEIRS.explanation}
OTHER = {"prediction": "mammal", "explanation": "It has a snout."}


@dataclass
class Served:
    """Runs of tasks on a server in this process."""

    board: SqlBlackboard
    run: Run[TaskOpening]
    desk: Toolbox

    def client(self, role: str) -> Client:
        """A client of the SDK in that role."""
        member = member_of(self.run.name, role)
        return Client(server(self.desk, lambda _context: member), raise_exceptions=False)

    def history(self, place: str = "1/1") -> Sequence[Message]:
        """What was said in a session."""
        return self.board.session(f"{self.run.name}/{place}").history


@asynccontextmanager
async def serving(
    path: Path, task: str = "animals", answers: AnswerFunction = quick, **plan: Any
) -> AsyncIterator[Served]:
    """A run on a server, the one on the database if there is one; its machine is `answers`."""
    chosen = Plan(task, **{"instances": "sparrow", "order": "fixed", **plan})
    with SqlBlackboard(str(path)) as board:
        found, data = plan_data.read_plan(chosen)
        if chosen.machine is None:
            found = members.seated(found, chosen, answers)
        stored = [record.run for record in board.runs()]
        run = (
            runs.resume(stored[0], board, subject=found, may_be_over=True)
            if stored
            else runs.start(openings.TaskOpening(chosen, found, data), board)
        )
        host, news = Host(board, [run]), News()
        desk = Toolbox(TaskAssistants(host, news), {})
        async with carried(host, news):
            yield Served(board, run, desk)
        desk.close()


async def gives(client: Client, do: str, payload: Any = None) -> str:
    """What came of an answer to what is asked next."""
    view = await my_turn(client)
    told = {"session": view["session"], "question": view["question"]}
    return str((await said(client, "answer", **told, do=do, payload=payload))["outcome"])


def tags(history: Sequence[Message]) -> list[str]:
    return [message.tag for message in history]


def test_what_is_refused_says_why_and_is_not_stored(tmp_path: Path) -> None:
    async def attack() -> None:
        async with serving(tmp_path / "a", human="mcp") as served, served.client("human") as me:
            view = await my_turn(me)

            async def why(**given: Any) -> str:
                return await refused(me, "answer", **{"question": view["question"], **given})

            for payload, reason in (
                (None, "the payload is of no use: it is not a JSON object"),
                ({"prediction": "bird"}, "its keys are 'prediction'; they must be"),
                ({**SAME, "prediction": "7!"}, "a class is one word, not '7!'"),
                ({**SAME, "prediction": ["bird"]}, "a class is a text"),
                ({**SAME, "explanation": " "}, "explanation must be a text"),
                ({**SAME, "explanation": "\ud800"}, "surrogate"),
                ({**SAME, "explanation": "x" * 20_001}, "at most 20,000"),
            ):
                assert reason in await why(do="answer", payload=payload)
            assert "do must be one of answer" in await why(do="RAT")
            assert "leave to out" in await why(do="answer", payload=SAME, to="machine")
            assert "no session 'x'" in await why(do="answer", payload=SAME, session="x")
            assert "has moved on" in await why(do="answer", payload=SAME, question="0")
            assert tags(served.history()) == ["INIT"]
            await gives(me, "answer", SAME)
            assert "has moved on" in await why(do="answer", payload=SAME)
            view = await my_turn(me)
            assert "only after message 3" in await why(do="REJ")
            assert "leave the payload out" in await why(do="RAT", payload=SAME)
            moves = {one["do"]: one for one in (await said(me, "moves"))["moves"]}
            assert [do for do, one in moves.items() if one["allowed"]] == ["RAT", "REF", "REV"]
            assert moves["INIT"]["why"] == "not in state DECIDE; the table has it in IDLE"

    asyncio.run(attack())


def test_a_run_that_was_killed_asks_the_same_again(tmp_path: Path) -> None:
    async def first() -> str:
        async with (
            serving(tmp_path / "a", machine="mcp:answers", human="mcp:relations") as served,
            served.client("machine") as machine,
            served.client("human") as human,
        ):
            shows = {"prediction": "bird", "explanation": "It has wings."}
            assert await gives(machine, "answer", shows) == "done: message 1, INIT"
            other = {"prediction": "reptile", "explanation": "It has dry skin."}
            await gives(human, "answer", other)
            view = await my_turn(human)
            assert "Do these two predictions count as the same?" in view["asks"]
            assert [one["do"] for one in view["options"]] == ["yes", "no", "unsure"]
            assert "reptile" in view["asks"]
            assert (await said(machine, "turn"))["status"] == "others act"
            return str(view["question"])

    async def second(asked: str) -> None:
        async with (
            serving(tmp_path / "a", machine="mcp:answers", human="mcp:relations") as served,
            served.client("human") as human,
        ):
            result = await human.call_tool("turn", {"wait": 20})
            assert [one.type for one in result.content] == ["text"]
            assert tags(served.history()) == ["INIT"]
            other = {"prediction": "reptile", "explanation": "It has dry skin."}
            await gives(human, "answer", other)
            assert (await my_turn(human))["question"] == asked
            await gives(human, "no")
            assert "consistent" in (await my_turn(human))["asks"]
            assert await gives(human, "no") == "done: message 2, REFUTE"

    asyncio.run(second(asyncio.run(first())))


def test_a_token_of_another_role_or_run_opens_nothing(tmp_path: Path) -> None:
    async def look() -> None:
        async with serving(tmp_path / "a", human="mcp") as served:
            for role in ("machine", "nobody", ""):
                async with served.client(role) as other:
                    assert "your token is of a run" in await refused(other, "turn")
            async with served.client("human") as me:
                await my_turn(me)
                drawn = await me.call_tool("draw", {"form": "mermaid"})
                assert "stateDiagram" in getattr(drawn.content[0], "text", "")
                listed = {str(one.uri) for one in (await me.list_resources()).resources}
                assert {f"pxp://sessions/{served.run.name}/1/1", "pxp://tables/interact"} <= listed

    asyncio.run(look())


def test_it_is_not_over_before_the_last_session_is(tmp_path: Path) -> None:
    async def take_part() -> None:
        names = "sparrow,dog,trout"
        async with (
            serving(tmp_path / "a", human="mcp:answers", instances=names) as served,
            served.client("human") as me,
        ):
            met = set[str]()
            while (view := await my_turn(me))["status"] == "your turn":
                met.add(view["session"])
                await gives(me, "answer", SAME)
            assert view["sessions_over"] == "3 of 3"
            assert len(met) == 3
            lines = (await said(me, "sessions"))["sessions"]
            assert [one["status"] for one in lines] == ["over"] * 3

    asyncio.run(take_part())


@pytest.mark.parametrize("way", ASSISTANTS)
@pytest.mark.parametrize("protocol", ["interact", "pxp"])
def test_two_assistants_follow_the_table(way: str, protocol: str, tmp_path: Path) -> None:
    """Whatever they answer, right or wrong, what is stored is a path of both tables."""
    chance = random.Random(f"{way}{protocol}")

    async def meet() -> None:
        async with (
            serving(
                tmp_path / "a", machine=way, human=way, protocol=protocol, k=2,
                n=6 if protocol == "interact" else None,
            ) as served,
            served.client("machine") as machine,
            served.client("human") as human,
        ):  # fmt: skip
            await asyncio.gather(plays(machine, chance), plays(human, chance))
            ending = served.board.sessions()[0].ending
            assert ending in {one.value for one in Ending}
            check_path(served)

    async def plays(client: Client, chance: random.Random) -> None:
        while (view := await my_turn(client))["status"] == "your turn":
            words = [one["do"] for one in view["options"]]
            word = chance.choice([*words, "REJ", "nonsense"])
            payload = chance.choice([SAME, OTHER]) if word == "answer" else None
            told = {"session": view["session"], "question": view["question"]}
            await client.call_tool("answer", {**told, "do": word, "payload": payload})

    asyncio.run(meet())


def check_path(served: Served) -> None:
    """Walk both tables, knowing rows and letters alone."""
    table = served.run.opening.plan.rules().automaton
    states = {"m": table.initial, "h": table.initial}
    for message in served.history():
        for who, kind in ((message.sender, Kind.SEND), (message.receiver, Kind.RECEIVE)):
            rows = {
                (row.source, row.label): row.target for row in table.transitions if row.kind is kind
            }
            states[who] = rows[states[who], message.tag]


@pytest.mark.parametrize("seconds", [0.0, 3600.0])
def test_a_revoked_token_counts_no_longer_than_it_is_remembered(
    seconds: float, tmp_path: Path
) -> None:
    with SqlBlackboard(str(tmp_path / "a")) as board:
        links = Links(board, 8000, scopes=("assistant",), remembers=seconds)

        def knows(token: str) -> bool:
            given = {"authorization": f"Bearer {token}", "host": "127.0.0.1:8000"}
            return links.who(Headers(given)) is not None

        first, second = (links.token("assistant", "animals-1/human") for _ in range(2))
        assert [knows(one) for one in (first, second, "another")] == [True, True, False]
        tokens.revoke(board, "assistant")  # by another process
        assert knows(first) is (seconds > 0)
        links.revoke("assistant", "animals-1/human")  # by this one
        assert not knows(first)
        assert not knows(second)


def test_a_large_picture_is_made_small() -> None:
    written = io.BytesIO()
    Image.new("L", (3000, 2000)).save(written, "PNG")
    with Image.open(io.BytesIO(pixels(written.getvalue(), 1568))) as small:
        assert small.size == (1568, 1045)
    with Image.open(io.BytesIO(pixels(written.getvalue()))) as whole:
        assert whole.size == (3000, 2000)
