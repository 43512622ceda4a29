"""Kills an erasure before each of its statements in turn, and says what is left of it.

    python -m tests.backends.killed_erasures FILE SESSION < WORDS

Prints, for a kill before each statement and at last for none: whether `verify` says that the
session was erased, whether it says that the files may hold it still, and whether they hold one of
the words (JSON). What is killed is forked: hence a program of its own.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from sqlalchemy import event

from backends.databases import SqlBlackboard
from backends.databases.erasure import clean, erase, sessions_of
from backends.databases.verify import verify


def erased(file: Path, session: str, statements: int) -> bool:
    """Whether a process that erases the session was done before so many statements."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            _erase(file, session, iter(range(statements)))
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise RuntimeError("an erasure failed by itself")
    return os.WIFEXITED(status)


def _erase(file: Path, session: str, left: Iterator[int]) -> None:
    def step(*_: object) -> None:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)

    with SqlBlackboard(str(file)) as board:
        chosen = sessions_of(board, [session])
        event.listen(board.engine, "connect", lambda made, _: made.set_trace_callback(step))
        board.engine.dispose()
        erase(board, chosen)
        clean(board)


def main(file: Path, session: str, words: list[str]) -> None:
    def files() -> list[Path]:
        return sorted(file.parent.glob(f"{file.name}*"))

    kept = {path: path.read_bytes() for path in files()}
    states = []
    for statements in count(1):
        for path in files():
            path.unlink()
        for path, content in kept.items():
            path.write_bytes(content)
        done = erased(file, session, statements)
        report = verify(str(file))
        if report.problems:
            raise RuntimeError(str(report.problems))
        held = b"".join(path.read_bytes() for path in files())
        remain = any(word.encode() in held for word in words)
        states.append((bool(report.erased), report.remains, remain))
        if done:
            break
    print(json.dumps(states))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], json.load(sys.stdin))
