"""Graphviz in the process: one thread at a time, compiled once, from a folder of one's own."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pxp_fsm.diagrams.graphviz import MOST_ARROWS, MOST_LABELS, _configuration, graphviz, place
from pxp_fsm.diagrams.model import Edge, EdgeRow, Node, StateDiagram


def test_threads_draw_one_after_the_other() -> None:
    sources = [
        f"digraph {{ {'; '.join(f'a{n}_{m} -> b{m}' for m in range(9))} }}" for n in range(4)
    ]
    wanted = [graphviz(source, "svg") for source in sources]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda source: graphviz(source, "svg"), sources * 5))
    assert found == wanted * 5


def test_machine_code_is_read_from_a_folder_of_the_user_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = Path(_configuration())
    assert path.is_relative_to(tmp_path)
    path.write_text("[cache]\ndirectory = '/elsewhere'\n")
    assert str(tmp_path) in Path(_configuration()).read_text()
    path.parent.chmod(0o777)
    with pytest.raises(PermissionError, match="others can write there"):
        _configuration()


@pytest.mark.deep
def test_what_is_compiled_is_kept_and_a_broken_cache_costs_time_alone(tmp_path: Path) -> None:
    code = "from pxp_fsm.diagrams.graphviz import graphviz; print(graphviz('digraph { a }', 'svg'))"
    (tmp_path / "file").touch()

    def drawn(cache: Path) -> str:
        environ = {**os.environ, "XDG_CACHE_HOME": str(cache)}
        command = [sys.executable, "-c", code]
        return subprocess.run(
            command, env=environ, capture_output=True, text=True, check=True
        ).stdout

    def kept() -> dict[Path, bytes]:
        files = (tmp_path / "pxp-fsm").rglob("wasmtime-*/*")
        return {file: file.read_bytes() for file in files if "." not in file.name}

    first, compiled = drawn(tmp_path), kept()
    ((path, content),) = compiled.items()
    path.chmod(0o400)
    assert drawn(tmp_path) == first
    assert kept() == compiled
    path.chmod(0o600)
    path.write_bytes(content[: len(content) // 2])  # as after a full disk
    assert drawn(tmp_path) == first
    assert drawn(tmp_path / "file") == first  # no folder can be made there


@pytest.mark.parametrize(("states", "arrows"), [(20, 90), (30, 140), (30, 450)])
def test_a_dense_diagram_is_drawn_without_what_takes_minutes(states: int, arrows: int) -> None:
    names = [f"S{number}" for number in range(states)]
    pairs = random.Random(1).sample([(one, other) for one in names for other in names], arrows)
    edges = tuple(Edge(*pair, (EdgeRow("1 G / +MESSAGE", number=1),)) for pair in pairs)
    found = place(StateDiagram("", "", tuple(map(Node, names)), edges))
    drawn = {(arrow.source, arrow.target) for arrow in found.arrows}
    assert drawn == set(pairs[:MOST_ARROWS])
    assert len(found.states) == states
    assert all(arrow.lines for arrow in found.arrows) is (arrows <= MOST_LABELS)
    assert (
        found.note
        == {
            90: "",
            140: "140 arrows: too many for their texts",
            450: "450 arrows: too many for their texts, and 50 are not drawn",
        }[arrows]
    )
