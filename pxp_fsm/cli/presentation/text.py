"""Untrusted text on a terminal: control characters are escaped, and nothing is truncated."""

from __future__ import annotations

import shutil
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pxp_fsm.protocol.messages import printable

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["aligned", "console", "paragraph", "printable", "program", "progress", "waits"]

_UNBROKEN = 100_000
"""Columns where nobody looks: a row in a file or a pipe stays one row."""


def console(*, stderr: bool = False) -> Console:
    """Standard output (or error): as wide as the terminal, and endless where it is none.

    A pipe that nobody reads any more raises `BrokenPipeError`.
    """
    from rich.console import Console

    class Pipe(Console):
        def on_broken_pipe(self) -> None:  # else rich ends the process itself
            raise BrokenPipeError

    made = Pipe(stderr=stderr)
    if not made.is_terminal:
        made.width = _UNBROKEN
    return made


def waits(why: str) -> None:
    """Say on standard error why something has to wait."""
    click.echo(printable(why), err=True)


PATIENCE = 2.0
"""The seconds after which a command says on a terminal what it does."""


@contextmanager
def progress(told: Callable[[], str]) -> Iterator[None]:
    """Show on a terminal what a block that takes longer than `PATIENCE` does, once a second.

    `told` is asked in another thread. The line is on standard error, and gone after the block.
    """
    if not sys.stderr.isatty():
        yield
        return
    done, started = threading.Event(), time.monotonic()

    def show() -> None:
        wait = PATIENCE
        while not done.wait(wait):
            line = f"{told()} ({time.monotonic() - started:.0f} s)"
            width = shutil.get_terminal_size().columns - 1
            click.echo(f"\r\x1b[K{printable(line)[:width]}", nl=False, err=True)
            wait = 1.0

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        if time.monotonic() - started > PATIENCE:
            click.echo("\r\x1b[K", nl=False, err=True)


def paragraph(text: str) -> None:
    """Print a sentence, broken between words at the width of the terminal, if it is one."""
    shown = printable(text)
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
        shown = textwrap.fill(shown, width, break_long_words=False, break_on_hyphens=False)
    click.echo(shown)


def program() -> str:
    """How the command was called: `pxp` where that is found, else the path that was typed."""
    called = Path(sys.argv[0])
    return "pxp" if called.name != "pxp" or shutil.which("pxp") else str(called)


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows as lines with columns below one another."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for cells in rows:
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        yield "  ".join(padded).rstrip()
