"""Programs as members of systems, and in the place of models: asked one JSON line, they reply one.

A member's request is what every member is told (`prompting.members.briefing`), with the name of
the `session`; its reply is `do`, `to` and `payload`, as of a model. In a model's place it is what
the model is sent. The whole conversation is in each request, so that a program that was started
anew goes on where it was. `docs/programs.md` is the page, `program.schema.json` the JSON Schema.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
from asyncio import Lock
from asyncio.subprocess import PIPE, Process
from asyncio.subprocess import create_subprocess_exec as start_process
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from importlib import resources
from typing import Any

from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.errors import DataError, NoAnswer, UsageError, quoted
from pxp_fsm.prompting.framing import unframed
from pxp_fsm.prompting.members import briefing, read_intent
from pxp_fsm.prompting.model import Capability, ChatTurn, ModelRequest, Reply
from pxp_fsm.sessions.actors import Intent, Turn

LONGEST = 1_000_000
"""The longest line that is read, in bytes."""


def schema() -> dict[str, Any]:
    """The JSON Schema of requests and replies, as published with the package."""
    text = resources.files(__package__).joinpath("program.schema.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


PREFIX = "program:"
"""What the name of a program begins with; its command follows."""


class JsonProgram:
    """A program that is asked one line of JSON after another.

    It is started without a shell when it is first asked, and ended by `aclose` with its process
    group. Raises `UsageError` for a command that cannot be started, and `NoAnswer` where the
    program ends.
    """

    def __init__(self, command: str) -> None:
        try:
            self._command = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"{quoted(command)} is no command: {error}") from error
        if not self._command:
            raise UsageError("a program's command is empty; write program:COMMAND")
        self._process: Process | None = None
        self._turns = Lock()

    @property
    def command(self) -> str:
        """The command, as a session records it."""
        return shlex.join(self._command)

    def check(self) -> None:
        """Raise `UsageError` where there is no such program."""
        if shutil.which(self._command[0]) is None:
            raise UsageError(
                f"{quoted(self._command[0])} is no program that can be started; give the command "
                f"of one that exists"
            )

    async def ask(self, request: Mapping[str, object]) -> str:
        """The line with which it replies to a request, without its end."""
        line = json.dumps(request, ensure_ascii=False).encode() + b"\n"
        async with self._turns:  # a request that was cancelled first ends the program it started
            reply = await self._asked(line)
        return reply.decode("utf-8", "replace").rstrip("\n")

    async def aclose(self) -> None:
        """End the program and its process group; on Windows the program alone."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:  # Windows, where its children go on
                process.kill()
        await process.wait()

    async def _asked(self, line: bytes) -> bytes:
        """The line with which it replies to another; after an error the program is ended."""
        try:
            process = await self._started()
            reply = await _exchanged(process, line)
        except ConnectionError:  # it has ended before it was asked
            reply = b""
        except (OSError, ValueError) as error:
            await self.aclose()
            raise NoAnswer(f"the program cannot be asked: {error}") from error
        except BaseException:  # what it would say next answers nothing
            await self.aclose()
            raise
        if not reply:
            await self.aclose()
            raise NoAnswer("the program has ended instead of a reply; each line needs one, flushed")
        return reply

    async def _started(self) -> Process:
        if self._process is None:
            try:
                self._process = await start_process(
                    *self._command,
                    stdin=PIPE,
                    stdout=PIPE,
                    limit=LONGEST,
                    start_new_session=True,
                )
            except OSError as error:
                raise UsageError(
                    f"{quoted(self._command[0])} cannot be started: {error.strerror}; give the "
                    f"command of a program that exists"
                ) from error
        return self._process


class ProgramMember:
    """What the program `command` says, as the member that follows `table`.

    Raises what `JsonProgram` raises, and `NoAnswer` where it says what is no reply.
    """

    def __init__(self, command: str, table: Automaton) -> None:
        self._program = JsonProgram(command)
        self._table = table

    @property
    def name(self) -> str:
        """The command, as a session records it."""
        return f"program {self._program.command}"

    def check(self) -> None:
        """Raise `UsageError` where there is no such program."""
        self._program.check()

    async def __call__(self, turn: Turn) -> Intent | None:
        """What the program wants to do at `turn`."""
        reply = await self._program.ask({"session": turn.session, **briefing(turn, self._table)})
        try:
            return read_intent(reply, turn, self._table)
        except DataError as error:
            await self.aclose()
            raise NoAnswer(f"the program said {quoted(reply, 200)}: {error}") from error

    async def aclose(self) -> None:
        """End the program, as `JsonProgram.aclose` does."""
        await self._program.aclose()


class ProgramModel:
    """The program `command` in the place of a language model; fills `LanguageModel`.

    A reply is read as a model's: one that is of no use is asked for again, with the reason. Raises
    what `JsonProgram` raises.
    """

    capabilities = frozenset({Capability.SCHEMA, Capability.IMAGES})

    def __init__(self, command: str) -> None:
        self._program = JsonProgram(command)
        self.check, self.aclose = self._program.check, self._program.aclose

    @property
    def name(self) -> str:
        return f"{PREFIX}{self._program.command}"

    async def reply(self, request: ModelRequest) -> Reply:
        told = {
            "session": request.session,
            "purpose": request.purpose,
            "system": request.system,
            "turns": [_turn(turn) for turn in request.turns],
            "schema": request.schema,
        }
        return Reply(await self._program.ask(told))


def _turn(turn: ChatTurn) -> dict[str, object]:
    """A turn as a program is told it: with its data apart from the words around them."""
    content: dict[str, object] = {"role": turn.role, "text": turn.text, "data": unframed(turn.text)}
    if turn.images:
        content["images"] = [
            {"media_type": image.media_type, "base64": b64encode(image.data).decode("ascii")}
            for image in turn.images
        ]
    return content


async def _exchanged(process: Process, line: bytes) -> bytes:
    if process.stdin is None or process.stdout is None:
        raise AssertionError("the program has no pipes")
    process.stdin.write(line)
    await process.stdin.drain()
    return await process.stdout.readline()
