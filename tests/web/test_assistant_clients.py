"""Assistants of tasks by the commands: what is missing, and the configurations of the page."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from click.testing import CliRunner
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from pxp_fsm.cli.main import commands
from pxp_fsm.protocol.rules import Ending
from tests.command_line import PLACES
from tests.waiting import PATIENCE
from tests.web.assistants import ROOT, connected, my_turn, printed, said
from tests.web.experts import Expert
from tests.web.test_assistant_pages import sets
from tests.web.test_assistant_tasks import OTHER, SAME, gives


def test_commands_say_what_is_missing(tmp_path: Path) -> None:
    def error(*arguments: str) -> str:
        where = ["--database", str(tmp_path / "b.sqlite"), "--port", "0", "--no-browser"]
        done = CliRunner().invoke(commands, ["serve", *arguments, *where])
        assert done.exit_code == 2, done.output
        return " ".join(done.output.split())

    run = CliRunner().invoke(commands, ["run", "animals", "--human", "mcp"])
    assert "human mcp is an assistant; pxp serve --mcp asks it" in " ".join(run.output.split())
    assert "nobody takes part by a server" in error("animals", *sets("agents.human=terminal"))
    assert "is asked on a page: browser" in error(
        "animals", *sets("agents.machine=mcp", "agents.human=terminal")
    )
    assert "'machine' is no assistant; there are: human" in error("animals", "--stdio", "machine")
    assert "'human' is no assistant; there are: none" in error(
        "animals", "--stdio", "human", *sets("agents.human=browser")
    )
    assert "never an assistant" in error(
        "animals", *sets("agents.preset=C-drug", "agents.machine=mcp")
    )
    assert "--respondent is no option: give --set NAME.respondent=WHO" in error(
        "animals", "--respondent", "m=mcp"
    )
    assert "there is no key 'm.respondent'" in error("animals", *sets("m.respondent=mcp"))
    (tmp_path / "e.toml").write_text('format = 1\ntask = "animals"\n', "utf-8")
    assert 'human or machine = "mcp" for an assistant' in error(str(tmp_path / "e.toml"))
    assert "says who takes part; leave this out" in error(str(tmp_path / "e.toml"), "--mcp")
    assert not (tmp_path / "b.sqlite").exists()


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
    places = {
        "/PATH/pxp": command,
        "/PATH/runs.sqlite": str(tmp_path / "b.sqlite"),
        "drug": "animals",
    }
    read = StdioServerParameters.model_validate(entry)
    assert read.command in places
    assert places.keys() <= {read.command, *read.args}
    arguments = [places.get(one, one) for one in read.args]
    more = ["--port", "0", *sets("instances=sparrow")]
    started = read.model_copy(
        update={
            "command": places[read.command],
            "args": [*arguments, *more],
            "env": {**os.environ, "PYTHONPATH": PLACES},
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
    text = 'format = 1\ntask = "animals"\ninstances = ["sparrow"]\n'
    text += '[agents]\nhuman = "browser"\nmachine = "mcp:answers"\n'
    (tmp_path / "animals.toml").write_text(text, "utf-8")
    command = [sys.executable, "-m", "pxp_fsm.cli", "serve", "animals.toml", "--no-browser"]
    environment = {**os.environ, "PYTHONPATH": PLACES, "PYTHONUNBUFFERED": "1"}
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
        with httpx2.Client(base_url=base, timeout=PATIENCE) as page:
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


END = "Each link and token is one member's own. Ctrl-C ends the server; nothing is lost.\n"


async def answers(url: str, token: str) -> str:
    async with connected(url, token) as me:
        return await gives(me, "answer", OTHER)
