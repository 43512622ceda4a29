"""Assistants as members of sessions, by the client of the official SDK."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from pathlib import Path
from typing import Any, Self

import httpx2
import pexpect
import pytest
from click.testing import CliRunner
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from backends.databases import SqlBlackboard
from pxp_fsm.automata.serialization import to_toml
from pxp_fsm.automata.system_files import read_system
from pxp_fsm.automata.tables import build_automaton
from pxp_fsm.cli.main import commands
from tests.command_line import PLACES
from tests.web.assistant_calls import generated, illegal
from tests.web.assistants import (
    ANSWER,
    PEX,
    connected,
    hosted,
    my_turn,
    play,
    printed,
    refused,
    said,
    started,
)

MODES = ("auto", "legacy")
"""The revision of 2026-07-28, and the handshake of those before it."""

MACHINE = [("INIT", ANSWER), ("RAT", ANSWER)]
HUMAN = [("RAT", ANSWER), ("TERM", None)]


@pytest.mark.parametrize("mode", MODES)
def test_two_assistants_carry_a_session_to_its_end(mode: str, tmp_path: Path) -> None:
    async def meet() -> None:
        async with (
            hosted(PEX, tmp_path / "one.sqlite") as found,
            found.client("machine", mode) as machine,
            found.client("human", mode) as human,
        ):
            both = await asyncio.gather(play(machine, MACHINE), play(human, HUMAN))
            assert all(outcome.startswith("done") for outcome in (*both[0], *both[1]))
            view = await said(machine, "turn", wait=20)
            assert (view["status"], view["ending"]) == ("over", "finished")
            assert [one["tag"] for one in view["messages"]] == ["INIT", "RATIFY", "RATIFY", "TERM"]
            stored = found.stored()
            assert [str(one.action) for one in stored] == [
                "machine>human INIT",
                "human>machine RATIFY",
                "machine>human RATIFY",
                "human>machine TERM",
            ]
            assert illegal(found.run.opening.file, stored) == ""

    asyncio.run(meet())


def test_what_is_refused_is_not_stored_and_can_be_answered_again(tmp_path: Path) -> None:
    async def attack() -> None:
        async with (
            hosted(PEX, tmp_path / "one.sqlite") as found,
            found.client("machine") as machine,
            found.client("human") as human,
        ):
            asked = (await my_turn(machine))["question"]
            theirs = (await my_turn(human))["question"]
            for told, why in (
                ({"do": "RAT"}, "do must be one of INIT, WAIT"),
                ({"do": "INIT", "payload": 1}, "the payload of INIT does not fit"),
                ({"do": "INIT", "payload": ANSWER, "to": "nobody"}, "INIT goes to human"),
                ({"do": "INIT", "payload": {**ANSWER, "prediction": "\ud800"}}, "surrogate"),
                ({"do": "INIT", "payload": ANSWER, "question": theirs}, "has moved on"),
                ({"do": "INIT", "payload": ANSWER, "session": "../1"}, "no session '../1'"),
                ({"do": "INIT", "payload": ANSWER, "member": "human"}, "member: Extra"),
            ):
                reason = await refused(machine, "answer", **{"question": asked, **told})
                assert why in reason, reason
            assert found.stored() == ()
            told = {"question": asked, "do": "INIT", "payload": ANSWER}
            assert (await said(machine, "answer", **told))["outcome"].startswith("done: action 1")
            assert "has moved on" in await refused(machine, "answer", **told)  # sent twice
            assert len(found.stored()) == 1
            with pytest.raises(MCPError, match="there is no tool 'stop'"):
                await machine.call_tool("stop", {})
            with pytest.raises(MCPError, match="there is no resource"):
                await machine.read_resource("pxp://sessions/../../etc/passwd")

    asyncio.run(attack())


def test_a_member_is_told_its_moves_and_nothing_of_others(tmp_path: Path) -> None:
    async def look() -> None:
        async with (
            hosted(PEX, tmp_path / "one.sqlite") as found,
            found.client("machine") as machine,
            found.client("human") as human,
        ):
            await my_turn(machine)
            moves = {one["do"]: one for one in (await said(machine, "moves"))["moves"]}
            assert [do for do, one in moves.items() if one["allowed"]] == ["INIT", "WAIT"]
            assert moves["RAT"]["why"] == "not in state IDLE; the table has it in DECIDE"
            await play(human, [("WAIT", None)])
            moves = {one["do"]: one for one in (await said(human, "moves"))["moves"]}
            assert moves["INIT"]["why"] == "you have answered already; wait for what comes"
            view = await said(human, "turn")
            assert (view["status"], "options" in view) == ("others act", False)
            await play(machine, [("INIT", ANSWER)])
            view = await my_turn(human)
            assert view["messages"] == [
                {"from": "machine", "to": "human", "tag": "INIT", "payload": ANSWER}
            ]
            assert view["state"].startswith("DECIDE")

    asyncio.run(look())


def test_tables_sessions_and_drawings_can_be_read(tmp_path: Path) -> None:
    async def read() -> None:
        async with (
            hosted(PEX, tmp_path / "one.sqlite") as found,
            found.client("machine") as machine,
        ):
            await my_turn(machine)
            listed = {one.uri: one for one in (await machine.list_resources()).resources}
            assert {"pxp://tables/agent", "pxp://tables/pxp"} <= set(listed)
            (session,) = [uri for uri in listed if uri.startswith("pxp://sessions/")]
            text = (await machine.read_resource(session)).contents[0]
            assert json.loads(getattr(text, "text", ""))["member"] == "machine"
            table = (await machine.read_resource("pxp://tables/agent")).contents[0]
            assert 'name = "agent"' in getattr(table, "text", "")
            drawn = await machine.call_tool("draw", {"what": "system"})
            assert "stateDiagram" in getattr(drawn.content[0], "text", "")
            assert "no table 'nothing'" in await refused(machine, "draw", what="nothing")

    asyncio.run(read())


def test_a_table_that_two_members_follow_with_other_partners_is_both(tmp_path: Path) -> None:
    asks = build_automaton(
        "asks", [{"from": "A", "to": "B", "send": "ASK", "partner": "it"}], final=["B"]
    )
    hears = build_automaton("hears", [{"from": "A", "to": "B", "receive": "ASK"}], final=["B"])
    for table in (asks, hears):
        (tmp_path / f"{table.name}.toml").write_text(to_toml(table), "utf-8")
    lines = ["format = 1", 'name = "pairs"', 'title = "Pairs"', 'channel = "sync"']
    for one, other in (("a", "b"), ("c", "d")):
        lines += ["[[members]]", f'name = "{one}"', 'table = "asks.toml"']
        lines += [f'partners = {{ it = "{other}" }}']
        lines += ["[[members]]", f'name = "{other}"', 'table = "hears.toml"']
    path = tmp_path / "pairs.toml"
    path.write_text("\n".join(lines), "utf-8")

    async def told() -> dict[str, set[str]]:
        async with hosted(path, tmp_path / "runs.sqlite") as found:
            tables = found.assistants.tables("a")
            return {name: {row.partner for row in one.transitions} for name, one in tables.items()}

    assert asyncio.run(told()) == {"asks": {"b"}, "hears": {""}, "c": {"d"}}


def test_a_run_that_was_killed_asks_again(tmp_path: Path) -> None:
    async def first() -> str:
        async with (
            hosted(PEX, tmp_path / "one.sqlite") as found,
            found.client("machine") as machine,
        ):
            await play(machine, [("INIT", ANSWER)])
            return found.run.name

    async def second(name: str) -> None:
        async with (
            hosted(PEX, tmp_path / "one.sqlite", resume=name) as found,
            found.client("human") as human,
        ):
            view = await my_turn(human)
            assert [one["tag"] for one in view["messages"]] == ["INIT"]
            assert (await play(human, [("RAT", ANSWER)]))[0].startswith("done: action 2")

    asyncio.run(second(asyncio.run(first())))


def test_the_command_says_what_is_missing(tmp_path: Path) -> None:
    def error(*arguments: str) -> str:
        where = ["--database", str(tmp_path / "b.sqlite"), "--port", "0", "--no-browser"]
        done = CliRunner().invoke(commands, ["serve", *arguments, *where])
        assert done.exit_code == 2, done.output
        return done.output

    both = ("--set", "machine.respondent=random", "--set", "human.respondent=random")
    assert "nobody is an assistant" in error(str(PEX), "--mcp", *both)
    assert "'nobody' is no assistant; there are: machine, human" in error(
        str(PEX), "--stdio", "nobody"
    )
    told = CliRunner().invoke(commands, ["run", str(PEX), "--output", str(tmp_path)])
    assert "which pxp serve --mcp serves" in " ".join(told.output.split())
    assert "requires a terminal" in error(str(PEX), "--mcp", "--set", "human.respondent=terminal")
    assert "--channel: this has no effect with --mcp" in error(
        str(PEX), "--mcp", "--channel", "sync"
    )
    assert "there is no key 'agents.votes'; there are: NAME.respondent, seed, repetitions" in error(
        str(PEX), "--mcp", "--set", "agents.votes=3"
    )
    assert "seed cannot be set: a stored run keeps its own" in error(
        str(PEX), "pex-1", "--mcp", "--set", "seed=3"
    )
    assert not (tmp_path / "b.sqlite").exists()


@pytest.mark.deep
def test_a_token_is_who_asks_and_a_killed_server_goes_on(tmp_path: Path) -> None:
    async def begin(served: dict[str, tuple[str, str]]) -> None:
        address, token = served["machine"]
        async with httpx2.AsyncClient() as nobody:
            for headers in (
                {},
                {"authorization": "Bearer nonsense"},
                {"authorization": f"Bearer {token}", "origin": "https://evil.example"},
                {"authorization": f"Bearer {token}", "host": "evil.example"},
            ):
                response = await nobody.post(address, json={}, headers=headers)
                assert response.status_code == 401
                assert "Bearer TOKEN" in response.text
                assert "names the host" in response.text
        async with connected(address, token) as machine:
            assert machine.protocol_version == "2026-07-28"
            view = await my_turn(machine)
            assert view["member"] == "machine"
            found = await said(machine, "check", formula="F ended")
            assert found["results"][0]["status"] == "FAILS"
            assert found["results"][0]["repeats"] > 0
            assert "no table 'x'" in await refused(machine, "check", table="x")
            await play(machine, [("INIT", ANSWER)])
        async with connected(*served["human"], mode="legacy") as human:
            assert human.protocol_version == "2025-11-25"
            view = await my_turn(human)
            theirs = view["question"]
        async with connected(address, token) as machine:
            told = {"question": theirs, "do": "RAT", "payload": ANSWER}
            assert "has moved on" in await refused(machine, "answer", **told)

    async def end(served: dict[str, tuple[str, str]]) -> None:
        async with (
            connected(*served["human"]) as human,
            connected(*served["machine"], mode="legacy") as machine,
        ):
            await play(human, [("RAT", ANSWER)])
            await play(machine, [("TERM", None)])
            assert (await my_turn(human))["ending"] == "finished"

    with started(tmp_path, str(PEX), "--mcp") as (lines, process):
        asyncio.run(begin(printed(lines)))
        process.kill()
        process.wait()
    with started(tmp_path, str(PEX), "pex-1", "--mcp") as (lines, _process):
        asyncio.run(end(printed(lines)))
    with SqlBlackboard(str(tmp_path / "blackboard.sqlite"), create=False) as board:
        stored = board.session("pex-1/1/1")
    assert illegal(read_system(str(PEX)), stored.events) == ""
    assert len(stored.events) == 3


@pytest.mark.deep
def test_a_client_that_starts_the_command_is_a_member(tmp_path: Path) -> None:
    command = ["-m", "pxp_fsm.cli", "serve", str(PEX)]
    command += ["--database", str(tmp_path / "b.sqlite")]
    command += ["--stdio", "machine", "--set", "human.respondent=random", "--port", "0"]
    started = StdioServerParameters(
        command=sys.executable, args=command, env={**os.environ, "PYTHONPATH": PLACES}
    )

    async def take_part(mode: str) -> None:
        async with Client(started, mode=mode) as machine:
            view = await my_turn(machine)
            while view["status"] == "your turn":
                names = {one["do"] for one in view["options"]}
                do = next(one for one in ("INIT", "TERM", "RAT", "WAIT") if one in names)
                told = {"question": view["question"], "do": do}
                payload = ANSWER if do in ("INIT", "RAT") else None
                result = await machine.call_tool("answer", {**told, "payload": payload})
                if result.is_error:  # the other, who may act as well, has acted before
                    assert "has moved on" in getattr(result.content[0], "text", "")
                view = await my_turn(machine)
            assert view["ending"] == "finished"

    for mode in MODES:
        asyncio.run(take_part(mode))


class Terminal:
    """A person at the terminal of `pxp serve --mcp`, whose partner is an assistant."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        command = ["-m", "pxp_fsm.cli", "serve", str(PEX), *arguments, "--mcp", "--port", "0"]
        command += [
            "--set",
            "human.respondent=terminal",
            "--database",
            str(folder / "blackboard.sqlite"),
        ]
        environment = {**os.environ, "PYTHONPATH": PLACES, "PROMPT_TOOLKIT_NO_CPR": "1"}
        self._child = pexpect.spawn(
            sys.executable, command, encoding="utf-8", timeout=180, dimensions=(50, 200),
            env=environment,
        )  # fmt: skip

    def sees(self, text: str) -> str:
        """Wait for `text`; what stands before it, without what steers the terminal."""
        self._child.expect_exact(text)
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\r", "", str(self._child.before))

    def types(self, line: str) -> None:
        self._child.send(f"{line}\r")

    def leaves(self) -> tuple[str, int]:
        """Ctrl-C: what is shown then, and the exit code."""
        self._child.send("\x03")
        self._child.expect(pexpect.EOF)
        self._child.close()
        return str(self._child.before), int(self._child.exitstatus)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._child.close(force=True)


@pytest.mark.deep
def test_a_person_at_the_terminal_meets_an_assistant(tmp_path: Path) -> None:
    def gives(lines: str, *moves: tuple[str, Any]) -> list[str]:
        async def answers() -> list[str]:
            async with connected(*printed(lines)["machine"]) as machine:
                return await play(machine, moves)

        return asyncio.run(answers())

    with Terminal(tmp_path) as person:
        lines = person.sees("human, in IDLE: what do you do?")
        person.sees("Your choice:")
        person.types("WAIT")
        gives(lines, ("INIT", ANSWER))
        assert "machine to human: INIT" in person.sees("human, in DECIDE")
        person.sees("Your choice:")
        shown, code = person.leaves()
        assert "pex-1 --database" in shown
        assert code == 130
    with Terminal(tmp_path, "pex-1") as person:
        lines = person.sees("human, in DECIDE: what do you do?")
        assert "The parliament sits there." in lines  # what came is shown once more
        person.sees("Your choice:")
        person.types("RAT")
        person.sees("What RATIFY carries")
        person.types("Canberra")
        person.sees(
            "Up brings back what you typed"
        )  # what the table does not take is refused at the terminal, too
        person.types(json.dumps(ANSWER))
        gives(lines, ("RAT", ANSWER))
        person.sees("machine to human: RATIFY")
        person.sees("Your choice:")
        person.types("TERM")
        person.sees("What TERM carries")
        person.types("")
        person.sees("run pex-1 is over")
        person.leaves()
    with SqlBlackboard(str(tmp_path / "blackboard.sqlite"), create=False) as board:
        stored = board.session("pex-1/1/1").events
    assert [str(one.action) for one in stored] == [
        "machine>human INIT",
        "human>machine RATIFY",
        "machine>human RATIFY",
        "human>machine TERM",
    ]


@pytest.mark.deep
def test_generated_calls_lead_to_no_illegal_state(tmp_path: Path) -> None:
    counts = asyncio.run(generated(1_000, 1, tmp_path))
    assert counts.faults == []
    assert counts.outcomes["answer done"] > 0
    assert counts.outcomes["answer refused"] > 0
