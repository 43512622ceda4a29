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
import subprocess
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


def kill(file: Path, session: str, words: list[str]) -> int:
    """Kill the erasure of `session` before each of its statements, in a process of its own.

    How often it was killed; `AssertionError` where one looked finished and was not.
    """
    program = [sys.executable, "-m", "tests.backends.killed_erasures", str(file), session]
    root = Path(__file__).parents[2]
    done = subprocess.run(
        program, cwd=root, input=json.dumps(words), stdout=subprocess.PIPE, text=True, check=True
    )
    states = [tuple(state) for state in json.loads(done.stdout)]
    stored = [state for state in states if state[0]]
    assert states[0] == (False, False, True), "killed before it was stored"
    assert stored[0][1], "killed before the files were rewritten"
    assert states[-1] == (True, False, False), "not killed"
    assert (True, False, True) not in stored
    return len(states) - 1


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
