"""A command in a pseudo-terminal, and what its screen shows."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

import pexpect
import pyte

COLUMNS, LINES = 160, 300


class Terminal:
    """A screen of 300 lines of 160 characters with a `pxp` command running in it."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._screen = pyte.Screen(COLUMNS, LINES)
        self._stream = pyte.Stream(self._screen)
        self._lines = [""] * LINES
        self._seen = 0
        self._child = pexpect.spawn(
            sys.executable,
            ["-m", "pxp_fsm.cli", *arguments],
            cwd=str(folder),
            encoding="utf-8",
            dimensions=(LINES, COLUMNS),
            env={**os.environ, "PROMPT_TOOLKIT_NO_CPR": "1"},
        )

    @property
    def shown(self) -> str:
        """What the screen shows; only the lines that have changed are read again."""
        for number in self._screen.dirty:
            row = self._screen.buffer[number]
            cells = range(max(row, default=-1) + 1)
            self._lines[number] = "".join(row[column].data for column in cells).rstrip()
        self._screen.dirty.clear()
        return "\n".join(self._lines).rstrip()

    def sees(self, text: str) -> str:
        """Wait until `text` is shown after what was seen before; what stands between."""
        self.waits_for(text)
        shown = self.shown
        place = shown.index(text, self._seen)
        between, self._seen = shown[self._seen : place], place + len(text)
        return between

    def waits_for(self, *texts: str) -> None:
        """Wait until one of `texts` is shown after what was seen before."""
        deadline = time.monotonic() + 180
        while not any(text in self.shown[self._seen :] for text in texts):
            assert time.monotonic() < deadline, f"{texts} not in:\n{self.shown}"
            with suppress(pexpect.TIMEOUT, pexpect.EOF):
                self._stream.feed(self._child.read_nonblocking(4096, timeout=0.2))

    def types(self, *lines: str) -> None:
        """Type lines, each with Enter."""
        for line in lines:
            self._child.send(line + "\r")

    def types_on(self, keys: str) -> None:
        """Press keys, without Enter."""
        self._child.send(keys)

    def ends(self) -> int:
        """Wait until the command has ended; its exit code."""
        self._child.expect(pexpect.EOF, timeout=180)
        self._child.close()
        return int(self._child.exitstatus)

    def leaves(self, key: str) -> int:
        """Press a key with which one leaves; the exit code."""
        self._child.send(key)
        return self.ends()

    def kill(self) -> None:
        """End the command."""
        self._child.close(force=True)
