"""One recording that several processes write: every line whole, no call with two replies."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from backends.models.middleware.cache import CallCache, cached
from pxp_fsm.prompting.model import ModelRequest, Reply, layered
from tests.backends.model_servers import ANTHROPIC, Scripted, run

WRITER = """
import sys
from pathlib import Path
from backends.models.middleware.cache import CallCache
from pxp_fsm.prompting.model import Reply
me, path = sys.argv[1], Path(sys.argv[2])
cache = CallCache(path)
for number in range(40):
    cache.keep(("model", f"{me}-{number}", 0), Reply(f"{me} says {number}" * 50))
    cache.keep(("model", f"all-{number}", 0), Reply(f"{me} says {number}"))
"""


@pytest.mark.deep
def test_three_processes_leave_every_line(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, me, str(path)], cwd=Path.cwd())
        for me in "abc"
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    lines = path.read_text().splitlines()
    assert len(lines) == 1 + 3 * 40 + 40
    assert all(json.loads(line) for line in lines)
    found = CallCache(path, writes=False)
    assert len(found) == 160
    assert [file.name for file in tmp_path.iterdir()] == ["calls.jsonl"]


def test_two_that_asked_the_same_at_once_go_on_with_one_reply(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    request = ModelRequest("", ())

    def asked(cache: CallCache, words: str) -> Reply:
        model = Scripted(lambda _: Reply(words))
        return run(layered(model, cached(ANTHROPIC, cache)).reply(request))

    with closing(CallCache(path)) as first, closing(CallCache(path)) as second:
        said = [asked(first, "one"), asked(second, "two")]
    assert [reply.text for reply in said] == ["one", "one"]
    assert said[1].served.cached


def test_a_line_that_a_killed_process_cut_is_dropped_by_the_next_that_writes(
    tmp_path: Path,
) -> None:
    path = tmp_path / "calls.jsonl"
    with closing(CallCache(path)) as cache:
        cache.keep(("m", "1", 0), Reply("one"))
        with path.open("ab") as file:
            file.write(b'{"model": "m", "request": "2", "te')
        cache.keep(("m", "3", 0), Reply("three"))
    assert len(CallCache(path, writes=False)) == 2
