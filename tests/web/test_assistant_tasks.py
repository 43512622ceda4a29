"""Assistants as the machine or the human of DRUG and RAD, by the client of the official SDK."""

from __future__ import annotations

import asyncio
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
from base64 import b64decode
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from click.testing import CliRunner
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from PIL import Image
from starlette.datastructures import Headers

from backends.databases import SqlBlackboard, tokens
from pxp_fsm.automata.automaton import Kind
from pxp_fsm.cli.main import commands
from pxp_fsm.experiments import participants, plan_data, runs
from pxp_fsm.experiments.execution import Run
from pxp_fsm.experiments.plans import ASSISTANTS, Plan
from pxp_fsm.protocol.messages import Message
from pxp_fsm.protocol.rules import Ending
from pxp_fsm.web.assistants.server import server
from pxp_fsm.web.assistants.tasks import TaskHost, member_of
from pxp_fsm.web.assistants.tools import Desk
from pxp_fsm.web.experts.admission import Links
from pxp_fsm.web.experts.news import News
from pxp_fsm.web.experts.pictures import pixels
from pxp_fsm.web.experts.runner import Runner
from tests.web.assistants import ROOT, connected, my_turn, printed, refused, said
from tests.web.experts import THEIRS, Expert, quick

SAME = {"prediction": THEIRS.prediction.split("."), "explanation": THEIRS.explanation}
OTHER = {"prediction": ["CC(=O)Cl", "Nc1ccc(O)cc1"], "explanation": "Acylation."}


@dataclass
class Served:
    """Runs of tasks on a server in this process."""

    board: SqlBlackboard
    run: Run
    desk: Desk

    def client(self, role: str) -> Client:
        """A client of the SDK in that role."""
        member = member_of(self.run.name, role)
        return Client(server(self.desk, lambda _context: member), raise_exceptions=False)

    def history(self, place: str = "1/1") -> Sequence[Message]:
        """What was said in a session."""
        return self.board.session(f"{self.run.name}/{place}").history


@asynccontextmanager
async def serving(path: Path, task: str = "drug", **plan: Any) -> AsyncIterator[Served]:
    """A run on a server, the one on the database if there is one; DRUG's own machine is quick."""
    instances = "paracetamol" if task == "drug" else "1"
    chosen = Plan(task, **{"instances": instances, "order": "fixed", **plan})
    with SqlBlackboard(str(path)) as board:
        found, data = plan_data.read_plan(chosen)
        if task == "drug" and chosen.machine is None:
            found = participants.seated(found, chosen, quick)
        stored = [record.run for record in board.runs()]
        run = (
            runs.resume(stored[0], board, task=found, may_be_over=True)
            if stored
            else runs.start(chosen, board, (found, data))
        )
        runner, news = Runner(board, [run]), News()
        news.begin()
        runner.on_change = news.tell
        desk = Desk(TaskHost(runner, news), {})
        await asyncio.to_thread(runner.start)
        try:
            yield Served(board, run, desk)
        finally:
            await asyncio.to_thread(runner.stop)
            desk.close()


async def gives(client: Client, do: str, payload: Any = None) -> str:
    """What came of an answer to what is asked next."""
    view = await my_turn(client)
    told = {"session": view["session"], "question": view["question"]}
    return str((await said(client, "answer", **told, do=do, payload=payload))["outcome"])


def tags(history: Sequence[Message]) -> list[str]:
    return [message.tag for message in history]


def test_an_assistant_is_the_chemist(tmp_path: Path) -> None:
    async def meet() -> None:
        async with serving(tmp_path / "a", human="mcp") as served, served.client("human") as me:
            result = await me.call_tool("turn", {"wait": 20})
            view = result.structured_content
            assert isinstance(view, dict)
            assert view["instance"] == "CC(=O)Nc1ccc(O)cc1"
            assert "the target molecule" in view["asks"]
            assert "expert in synthetic organic chemistry" in view["instructions"]
            received = [THEIRS.prediction, THEIRS.explanation]
            assert [view["messages"][0][one] for one in ("prediction", "explanation")] == received
            assert view["pictures"] == ["the instance", "the prediction of message 1"]
            drawn = [Image.open(io.BytesIO(b64decode(one.data))) for one in result.content[1:]]  # type: ignore[union-attr]
            assert [(one.format, one.size) for one in drawn] == [("PNG", (600, 400))] * 2
            assert await gives(me, "answer", OTHER) == "taken; message 2 needs one more answer"
            assert await gives(me, "REF") == "done: message 2, REFUTE"
            assert (await gives(me, "answer", SAME)).startswith("taken")
            assert await gives(me, "RAT") == "done: message 4, RATIFY"
            view = await my_turn(me)
            assert (view["status"], view["ending"]) == ("over", Ending.RATIFIED)
            assert tags(served.history()) == ["INIT", "REFUTE", "REFUTE", "RATIFY", "RATIFY"]
            assert served.history()[1].answer.prediction == "CC(=O)Cl.Nc1ccc(O)cc1"
            agents = dict(served.board.sessions()[0].agents)
            assert agents["h"].startswith("assistant guards=assistant MATCH=")

    asyncio.run(meet())


def test_what_is_refused_says_why_and_is_not_stored(tmp_path: Path) -> None:
    async def attack() -> None:
        async with serving(tmp_path / "a", human="mcp") as served, served.client("human") as me:
            view = await my_turn(me)

            async def why(**given: Any) -> str:
                return await refused(me, "answer", **{"question": view["question"], **given})

            for payload, reason in (
                (None, "the payload is of no use: it is not a JSON object"),
                ({"prediction": ["CCO"]}, "its keys are 'prediction'; they must be"),
                ({**SAME, "prediction": ["ethanol"]}, "'ethanol' is not a valid SMILES"),
                ({**SAME, "prediction": "CCO"}, "must be a list"),
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
            assert "only after message 3 (k = 3)" in await why(do="REJ")
            assert "leave the payload out" in await why(do="RAT", payload=SAME)
            moves = {one["do"]: one for one in (await said(me, "moves"))["moves"]}
            assert [do for do, one in moves.items() if one["allowed"]] == ["RAT", "REF", "REV"]
            assert moves["INIT"]["why"] == "not in state DECIDE; the table has it in IDLE"

    asyncio.run(attack())


def test_a_run_that_was_killed_asks_the_same_again(tmp_path: Path) -> None:
    async def first() -> str:
        async with (
            serving(tmp_path / "a", "rad", machine="mcp:answers", human="mcp:relations") as served,
            served.client("machine") as machine,
            served.client("human") as human,
        ):
            shows = {"prediction": ["Pneumonia"], "explanation": "There is a shadow."}
            assert await gives(machine, "answer", shows) == "done: message 1, INIT"
            other = {"prediction": ["Atelectasis"], "explanation": "The lung has collapsed."}
            await gives(human, "answer", other)
            view = await my_turn(human)
            assert "Do these two predictions count as the same?" in view["asks"]
            assert [one["do"] for one in view["options"]] == ["yes", "no", "unsure"]
            assert "Atelectasis" in view["asks"]
            assert (await said(machine, "turn"))["status"] == "others act"
            return str(view["question"])

    async def second(asked: str) -> None:
        async with (
            serving(tmp_path / "a", "rad", machine="mcp:answers", human="mcp:relations") as served,
            served.client("human") as human,
        ):
            result = await human.call_tool("turn", {"wait": 20})
            assert [one.type for one in result.content] == ["text", "image"]
            assert tags(served.history()) == ["INIT"]
            other = {"prediction": ["Atelectasis"], "explanation": "The lung has collapsed."}
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
        names = "paracetamol,benzocaine,lidocaine"
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
    table = served.run.plan.rules().automaton
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
        links = Links(board, 8000, scope="assistant", remembers=seconds)

        def knows(token: str) -> bool:
            given = {"authorization": f"Bearer {token}", "host": "127.0.0.1:8000"}
            return links.who(Headers(given)) is not None

        first, second = (links.token("assistant", "drug-1/human") for _ in range(2))
        assert [knows(one) for one in (first, second, "another")] == [True, True, False]
        tokens.revoke(board, "assistant")  # by another process
        assert knows(first) is (seconds > 0)
        links.revoke("assistant", "drug-1/human")  # by this one
        assert not knows(first)
        assert not knows(second)


def test_a_large_picture_is_made_small() -> None:
    written = io.BytesIO()
    Image.new("L", (3000, 2000)).save(written, "PNG")
    with Image.open(io.BytesIO(pixels(written.getvalue(), 1568))) as small:
        assert small.size == (1568, 1045)
    with Image.open(io.BytesIO(pixels(written.getvalue()))) as whole:
        assert whole.size == (3000, 2000)


def test_commands_say_what_is_missing(tmp_path: Path) -> None:
    def error(*arguments: str) -> str:
        done = CliRunner().invoke(commands, [*arguments, "--output", str(tmp_path)])
        assert done.exit_code == 2, done.output
        return " ".join(done.output.split())

    assert "human mcp is an assistant; pxp mcp asks it" in error("run", "drug", "--human", "mcp")
    assert "nobody is an assistant; give --human mcp" in error(
        "mcp", "drug", "--human", "browser", "--machine", "script:x"
    )
    assert "is asked on a page: browser" in error(
        "mcp", "drug", "--machine", "mcp", "--human", "terminal"
    )
    assert "'machine' is no assistant; there are: human" in error(
        "mcp", "drug", "--stdio", "machine"
    )
    assert "never an assistant" in error("mcp", "drug", "--preset", "C-drug", "--machine", "mcp")
    assert "applies to a system file" in error("mcp", "drug", "--sessions", "2")
    assert "a resumed run keeps its plan; omit --k" in error(
        "mcp", "drug", "--resume", "drug-1", "--k", "2"
    )
    (tmp_path / "e.toml").write_text('format = 1\ntask = "drug"\n', "utf-8")
    assert 'write human = "mcp"' in error("mcp", str(tmp_path / "e.toml"))


def configurations() -> list[Any]:
    """The JSON of the page's configurations of clients, as it stands there."""
    page = (ROOT / "docs" / "mcp.md").read_text("utf-8")
    return [json.loads(text) for text in re.findall(r"```json\n(.*?)```", page, re.DOTALL)]


async def takes_part(client: Client) -> str:
    """Answer all that is asked; how the session ended."""
    while (view := await my_turn(client))["status"] == "your turn":
        words = [one["do"] for one in view["options"]]
        word = "RAT" if "RAT" in words else words[0]
        payload = SAME if word == "answer" else None
        told = {"question": view["question"], "do": word, "payload": payload}
        await said(client, "answer", **told)
    return str(view["ending"])


@pytest.mark.deep
def test_the_configuration_of_claude_desktop_starts_the_command(tmp_path: Path) -> None:
    entry = configurations()[1]["mcpServers"]["pxp"]
    command = shutil.which("pxp", path=str(Path(sys.executable).parent))
    assert command is not None
    places = {"/PATH/pxp": command, "/PATH/runs": str(tmp_path)}
    read = StdioServerParameters.model_validate(entry)
    assert read.command in places
    arguments = [places.get(one, one) for one in read.args]
    more = ["--port", "0", "--instances", "paracetamol"]
    started = read.model_copy(
        update={
            "command": places[read.command],
            "args": [*arguments, *more],
            "env": {**os.environ, "PYTHONPATH": str(ROOT)},
        }
    )

    async def connects() -> str:
        async with Client(started) as me:
            return await takes_part(me)

    assert asyncio.run(connects()) == Ending.RATIFIED


@pytest.mark.deep
def test_the_configuration_of_vs_code_connects_to_an_expert(tmp_path: Path) -> None:
    """The file is that of `pxp serve`: an assistant is the machine, and an expert is on a page."""
    entry = configurations()[0]["servers"]["pxp"]
    assert set(entry) == {"type", "url", "headers"}
    assert entry["type"] == "http"
    assert entry["headers"] == {"Authorization": "Bearer TOKEN"}
    text = 'format = 1\ntask = "drug"\ninstances = ["paracetamol"]\n'
    text += '[agents]\nhuman = "browser"\nmachine = "mcp:answers"\n'
    (tmp_path / "drug.toml").write_text(text, "utf-8")
    command = [sys.executable, "-m", "pxp_fsm.cli", "serve", "drug.toml", "--no-browser"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    with ended(
        subprocess.Popen(
            [*command, "--port", "0"],
            stdout=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env=environment,
        )
    ) as process:
        assert process.stdout is not None
        lines = ""
        while not lines.endswith(END):
            line = process.stdout.readline()
            assert line, lines
            lines += line
        [(url, token)] = printed(lines).values()
        assert url.endswith(urlsplit(entry["url"]).path)
        link = next(line for line in lines.splitlines() if line.startswith("expert: "))
        base, _, secret = link.removeprefix("expert: ").partition("/?token=")
        assert asyncio.run(answers(url, token)) == "done: message 1, INIT"
        with httpx2.Client(base_url=base, timeout=60) as page:
            expert = Expert(page, secret)
            view = expert.waiting()
            assert view["messages"][0]["explanation"] == OTHER["explanation"]
            look = expert.gives(expert.gives(view, "theirs"), "RAT")
            assert expert.reply(look, "send").status_code == 200
        assert asyncio.run(answers(url, token)) == "done: message 3, RATIFY"


@contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """A process, which is killed at the end."""
    with process:
        try:
            yield process
        finally:
            process.kill()


END = "Each link is one person's own. Ctrl-C ends the server; nothing is lost.\n"


async def answers(url: str, token: str) -> str:
    async with connected(url, token) as me:
        return await gives(me, "answer", OTHER)
