"""An untrusted program as a process: one request and one reply per line.

Nothing goes through a shell. What it says is bounded in time and length; it is ended, with all that
it has started, when it is no longer needed. POSIX systems.
"""

from __future__ import annotations

import json
import os
import selectors
import shlex
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from importlib import resources
from types import TracebackType
from typing import IO, Any, Self

from pxp_fsm.automata.automaton import Kind, Trigger, Valuation
from pxp_fsm.errors import NoAnswer, PXPError, UsageError, quoted
from pxp_fsm.protocol.messages import printable

Request = Mapping[str, Any]

RESET: Request = {"do": "reset"}

Answer = str | tuple[str, ...] | None
"""What was done, or None where it was refused; all that was sent, by one that decides by itself."""


class InvalidLine(Exception):
    """A line that is no answer; its words say what is wrong with it."""


def schema() -> dict[str, Any]:
    """The JSON Schema of requests and answers, as published with the package."""
    text = resources.files(__package__).joinpath("schema.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def request(event: Trigger, valuation: Valuation | None) -> Request:
    """The request that lets `event` happen; `valuation` is what the guards say at a decision."""
    partner = {"partner": event.partner} if event.partner else {}
    if event.kind is Kind.RECEIVE:
        return {"do": "receive", "tag": event.label} | partner
    if event.kind is Kind.SEND:
        return {"do": "send", "tag": event.label} | partner
    if event.kind is Kind.EVENT:
        return {"do": "event", "name": event.label}
    return {"do": "decide", "guards": dict(valuation or {})}


def written(asked: Request) -> bytes:
    """A request as the line that is sent."""
    return json.dumps(asked, ensure_ascii=False).encode() + b"\n"


@lru_cache(maxsize=256)
def parse_answer(line: bytes) -> Answer:
    """What an answer says was done or sent, None where it is a refusal; raises `InvalidLine`."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidLine(f"a line that is not UTF-8: {quoted(line)}") from None
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidLine(f"a line that is not JSON: {quoted(text)}") from None
    if not _answers().is_valid(answer):
        raise InvalidLine(
            f'a line that is not an answer: {quoted(text)}; one is {{"did": "+TAG"}}, '
            f'{{"sent": ["+TAG"]}} or {{"refused": "why"}}'
        )
    if "sent" in answer:
        return tuple(answer["sent"])
    done: str | None = answer.get("did")
    return done


@cache
def _answers() -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(schema()["$defs"]["answer"])


LONGEST = 65_536
"""Bytes of the longest line that is read, its end included."""

LONGEST_WAIT = 86_400
"""Seconds of the longest timeout: a day."""

_TAIL = 2_000
_LAST_WORDS = 1.0
"""Seconds in which a program that has nothing more to say or to hear is to have ended."""


class ProgramFailed(PXPError):
    """The program ended, or said what is no answer; its words say which, and to what."""


def command_of(text: str) -> tuple[str, ...]:
    """The words of a command line, as a POSIX shell splits them; nothing else is a shell's.

    Raises `UsageError` where there are none, or a quotation has no end.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"the command cannot be split into words: {error}; correct it") from error
    if not words:
        raise UsageError("no program is given; give its command, as in 'python -m mine'")
    return tuple(words)


class UnderTest(ABC):
    """A program that is asked, `timeout` seconds each time, and closed after its `with`."""

    def __init__(self, timeout: float) -> None:
        if not 0 < timeout <= LONGEST_WAIT:
            raise UsageError(
                f"a timeout is a number of seconds above 0, at most {LONGEST_WAIT}: {timeout!r}"
            )
        self._timeout = timeout

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def step(self, event: Trigger, valuation: Valuation | None = None) -> Answer:
        """What it answers to `event`, or None where it refuses."""
        return self.ask(request(event, valuation))

    @abstractmethod
    def reset(self) -> Answer:
        """Start anew; what it replied."""

    @abstractmethod
    def ask(self, asked: Request) -> Answer:
        """What it did at a request, or None where it refused."""

    @abstractmethod
    def close(self) -> None:
        """End what was begun."""


class Program(UnderTest):
    """A program that is started when it is first needed, and again after it broke.

    `timeout` is in seconds, for each answer. With `restart` each reset is a new process; otherwise
    it is asked to start anew, and only one that refuses is started again each time. Raises
    `UsageError` where it cannot be started, `ProgramFailed`, and `NoAnswer` where it does not reply
    in time.
    """

    def __init__(
        self, command: Sequence[str], *, timeout: float = 5.0, restart: bool = False
    ) -> None:
        super().__init__(timeout)
        self._command = tuple(command)
        self._restart = restart
        self._decides: bool | None = None  # by itself; not known before the first answer
        self._process: subprocess.Popen[bytes] | None = None
        self._ready: selectors.BaseSelector = selectors.SelectSelector()  # of its output
        self._said = bytearray()
        self._complained = b""

    @property
    def complaint(self) -> str:
        """The last line that it has written to its standard error, if any."""
        self._drain()
        lines = self._complained.decode("utf-8", "replace").strip().splitlines()
        return printable(lines[-1])[:200] if lines else ""

    def reset(self) -> Answer:
        """Start anew, by a message or by a new process; what it replied to the message."""
        if self._restart or self._process is None:
            self.close()
            self._start()
        if self._restart and self._decides is False:
            return "reset"
        try:
            reply = self.ask(RESET)
        except ProgramFailed:
            if not (self._restart and self._decides is None):
                raise
            reply = None  # one that is started anew each time need not know the message
        self._decides = isinstance(reply, tuple)
        if reply != "reset" and not self._decides:
            self._restart = True
            return self.reset()
        return reply

    def ask(self, asked: Request) -> Answer:
        """What it did at a request, or None where it refused; after an error it is ended."""
        if self._process is None:
            self._start()
        try:
            return self._answer(asked)
        except BaseException:  # also Ctrl-C: what it would say next answers nothing
            self.close(at_once=True)
            raise

    def close(self, *, at_once: bool = False) -> None:
        """End it and its process group; it may first end by itself, unless `at_once`.

        A child that left the group, by `setsid`, is not ended.
        """
        process, self._process = self._process, None
        self._said.clear()
        if process is None:
            return
        if not at_once and process.stdin is not None:
            with suppress(OSError, subprocess.TimeoutExpired):
                process.stdin.close()
                process.wait(_LAST_WORDS)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self._ready.close()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def _start(self) -> None:
        self._complained = b""
        if os.name != "posix":
            raise UsageError("testing programs requires a POSIX system")
        try:
            self._process = subprocess.Popen(  # noqa: S603 - what the user asked to be tested
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise UsageError(
                f"{printable(self._command[0])} cannot be started: {why}; give the command of a "
                f"program that exists"
            ) from error
        self._ready = selectors.DefaultSelector()
        for stream in self._streams()[1:]:
            self._ready.register(stream, selectors.EVENT_READ)

    def _answer(self, asked: Request) -> Answer:
        line = written(asked)
        told = f"to {line.decode().strip()}"
        stdin, _, _ = self._streams()
        try:
            os.write(stdin.fileno(), line)
        except OSError:
            raise ProgramFailed(f"{self._ended()} instead of an answer {told}") from None
        until = time.monotonic() + self._timeout
        while b"\n" not in self._said:
            if len(self._said) >= LONGEST:
                raise ProgramFailed(f"it said more than {LONGEST} bytes in one line {told}")
            left = until - time.monotonic()
            readable = self._ready.select(left) if left > 0 else []
            if not readable:
                raise NoAnswer(
                    f"it did not reply within {self._timeout:g} s {told}{self._because()}; "
                    f"a program must reply to each line with one line, and flush it"
                )
            for key, _ in readable:
                self._hear(key.fileobj, told)
        reply, _, rest = bytes(self._said).partition(b"\n")
        self._said.clear()
        if rest:
            raise ProgramFailed(f"it said more than one line {told}")
        try:
            return parse_answer(reply)
        except InvalidLine as error:
            raise ProgramFailed(f"it said {error}, {told}") from None

    def _hear(self, stream: object, told: str) -> None:
        _, stdout, stderr = self._streams()
        if stream is stderr:
            data = os.read(stderr.fileno(), LONGEST)
            self._complained = (self._complained + data)[-_TAIL:]
            if not data:
                self._ready.unregister(stderr)
                stderr.close()
            return
        data = os.read(stdout.fileno(), LONGEST)
        self._said += data
        if not data:
            raise ProgramFailed(f"{self._ended()} instead of an answer {told}")

    def _streams(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        process = self._process
        if process is None or not (process.stdin and process.stdout and process.stderr):
            raise AssertionError("the program was not started")
        return process.stdin, process.stdout, process.stderr

    def _ended(self) -> str:
        """How a program that has closed a stream has ended, with its last complaint."""
        process = self._process
        if process is None:
            raise AssertionError("the program was not started")
        try:
            code = process.wait(_LAST_WORDS)
        except subprocess.TimeoutExpired:
            return "it closed its input or output"
        if code < 0:
            with suppress(ValueError):
                return f"it was ended by {signal.Signals(-code).name}{self._because()}"
        return f"it ended with exit code {code}{self._because()}"

    def _because(self) -> str:
        complaint = self.complaint
        return f" ({complaint})" if complaint else ""

    def _drain(self) -> None:
        """Read what is on its standard error by now, as far as that has an end."""
        stream = self._process.stderr if self._process is not None else None
        if stream is None or stream.closed:
            return
        with selectors.DefaultSelector() as ready:
            ready.register(stream, selectors.EVENT_READ)
            for _ in range(100):
                data = os.read(stream.fileno(), LONGEST) if ready.select(0) else b""
                if not data:
                    return
                self._complained = (self._complained + data)[-_TAIL:]
