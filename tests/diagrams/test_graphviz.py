"""Graphviz in the process: one thread at a time, compiled once, from a folder of one's own."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest

from pxp_fsm.diagrams import Style, render
from pxp_fsm.diagrams.dot import to_dot
from pxp_fsm.diagrams.graphviz import (
    MOST_ARROWS,
    MOST_LABELS,
    Canvas,
    Fuel,
    OutOfFuel,
    _configuration,
    canvas_of,
    graphviz,
    place,
)
from pxp_fsm.diagrams.legibility import DrawnShapes, Illegible
from pxp_fsm.diagrams.model import Edge, EdgeRow, Node, StateDiagram
from pxp_fsm.errors import PXPWarning


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


def _crossing(states: int) -> StateDiagram:
    """Two arrows from each state, one of which leads far away: many cross in every layout."""
    names = [f"S{number}" for number in range(states)]
    edges = [
        Edge(names[number], names[target % states], (EdgeRow("1 +T", number=1),))
        for number in range(states)
        for target in {number + 1, 7 * number + 1}
    ]
    return StateDiagram("big", "", tuple(map(Node, names)), tuple(edges))


def test_fuel_is_counted_alike_and_what_takes_more_is_given_up() -> None:
    source = to_dot(_crossing(20))
    enough = Fuel(10**10)
    drawn = graphviz(source, "svg", fuel=enough)
    taken = 10**10 - enough.left
    assert 0 < taken < 10**9
    exact = Fuel(taken)
    assert graphviz(source, "svg", fuel=exact) == drawn
    assert exact.left == 0
    short = Fuel(taken // 2)
    with pytest.raises(OutOfFuel):
        graphviz(source, "svg", fuel=short)
    assert short.left == 0
    assert graphviz(source, "svg") == drawn  # what was given up leaves nothing behind


@pytest.mark.deep
@pytest.mark.parametrize("style", [Style(), Style(paper="article")])
def test_layouts_of_crossing_arrows_share_one_bound_of_work(
    monkeypatch: pytest.MonkeyPatch, style: Style
) -> None:
    rendering = import_module("pxp_fsm.diagrams.rendering")
    monkeypatch.setattr(rendering, "FUEL", 10**8)
    monkeypatch.setattr(rendering, "QUICK_FUEL", 10**6)
    engines = list[str]()

    def counted(source: str, engine: str = "dot", fuel: Fuel | None = None) -> Canvas:
        engines.append(engine)
        return canvas_of(source, engine, fuel)

    monkeypatch.setattr(rendering, "canvas_of", counted)
    arranged = rendering.arrange(_crossing(100), style)
    assert arranged.quick
    assert len(arranged.canvas.shapes) > 300
    assert engines == ["dot", "dot", "sfdp"]  # with texts, without, by forces
    engines.clear()
    with pytest.warns(PXPWarning) as warned:
        render(_crossing(600), "svg", style)
    assert "1,199 arrows are drawn without their texts" in str(warned[0].message)
    assert "draw a part of it, or all of it as a text" in str(warned[0].message)
    assert engines == ["sfdp"]


@pytest.mark.deep
def test_looking_for_faults_compares_few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ladder: its states, arrows and labels grow, and what is near each does not."""
    legibility = import_module("pxp_fsm.diagrams.legibility")
    compared = Counter[int]()
    size = 0

    def counting(name: str) -> None:
        original = getattr(legibility, name)

        def counted(*shapes: object) -> bool:
            compared[size] += 1
            return bool(original(*shapes))

        monkeypatch.setattr(legibility, name, counted)

    for name in ("_meet", "_passes", "_cross"):
        counting(name)
    for size in (100, 200, 400):
        names = [f"S{number}" for number in range(size)]
        edges = [
            Edge(*pair, (EdgeRow("1 +MESSAGE", number=number),))
            for number, pair in enumerate(pairwise(names))
        ]
        drawing = DrawnShapes(
            canvas_of(to_dot(StateDiagram("", "", tuple(map(Node, names)), tuple(edges))))
        )
        assert drawing.faults() == Illegible(0, 0)
    assert 0 < compared[200] < 2.2 * compared[100]
    assert compared[400] < 4.4 * compared[100]
