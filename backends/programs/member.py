"""A program as a member of a system: asked one JSON line a turn, it replies with one.

A request holds `do` ("turn"), `session`, `member`, `about`, `state`, the `messages` that the member
sent and received, its `memory` and the `choices`. A reply holds `choice`, one of them, and may hold
`value`, what the message carries, and `memory`. The whole conversation is in each request, so that
a program that was restarted goes on where it was. Nothing goes through a shell.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
from contextlib import suppress
from typing import Any

from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.errors import NoAnswer, UsageError, quoted
from pxp_fsm.sessions.actors import Intent, Turn
from pxp_fsm.sessions.choices import choices_of

_LONGEST = 1_000_000


class ProgramMember:
    """What the program `command` says for a member with the table `automaton`.

    Raises `UsageError` for a command that cannot be started, and `NoAnswer` where the program ends
    or says what is no reply. `aclose` ends it.
    """

    def __init__(self, command: str, automaton: Automaton) -> None:
        try:
            self._command = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"{quoted(command)} is no command: {error}") from error
        if not self._command:
            raise UsageError("a program's command is empty; write program:COMMAND")
        self.__name__ = f"program {self._command[0]}"
        self._automaton = automaton
        self._process: asyncio.subprocess.Process | None = None

    async def __call__(self, turn: Turn) -> Intent | None:
        choices = choices_of(turn, self._automaton)
        asked = {
            "do": "turn",
            "session": turn.session,
            "member": turn.member,
            "about": turn.instance.x,
            "state": turn.state,
            "messages": [
                {"from": one.sender, "to": one.receiver, "tag": one.tag, "value": one.value}
                for one in turn.letters
            ],
            "memory": turn.memory,
            "choices": list(choices),
        }
        reply = await self._asked(json.dumps(asked, ensure_ascii=False))
        choice = choices.get(reply["choice"]) if isinstance(reply.get("choice"), str) else None
        if choice is None or not set(reply) <= {"choice", "value", "memory"}:
            raise NoAnswer(
                f"it said {quoted(json.dumps(reply), 200)}; a reply has choice (one of "
                f"{', '.join(choices)}), and may have value and memory"
            )
        if isinstance(reply.get("memory"), dict):
            turn.memory.clear()
            turn.memory.update(reply["memory"])
        return choice.intent(reply.get("value"))

    async def aclose(self) -> None:
        """End the program and its process group."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()

    async def _asked(self, line: str) -> dict[str, Any]:
        try:
            process = await self._started()
            said = await _exchanged(process, line)
        except (OSError, ValueError) as error:
            await self.aclose()
            raise NoAnswer(f"the program cannot be asked: {error}") from error
        except BaseException:  # what it would say next answers nothing
            await self.aclose()
            raise
        try:
            reply = json.loads(said)
        except (ValueError, RecursionError) as error:
            await self.aclose()
            what = f"said {quoted(said.decode('utf-8', 'replace'), 200)}" if said else "has ended"
            raise NoAnswer(f"the program {what} instead of one JSON line") from error
        if not isinstance(reply, dict):
            raise NoAnswer(f"the program said {quoted(reply)}, not a JSON object")
        return reply

    async def _started(self) -> asyncio.subprocess.Process:
        if self._process is None:
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *self._command,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    limit=_LONGEST,
                    start_new_session=True,
                )
            except OSError as error:
                raise UsageError(
                    f"{quoted(self._command[0])} cannot be started: {error.strerror}; give the "
                    f"command of a program that exists"
                ) from error
        return self._process


async def _exchanged(process: asyncio.subprocess.Process, line: str) -> bytes:
    """The line with which a program replies to another."""
    if process.stdin is None or process.stdout is None:
        raise AssertionError("the program has no pipes")
    process.stdin.write(line.encode() + b"\n")
    await process.stdin.drain()
    return await process.stdout.readline()
