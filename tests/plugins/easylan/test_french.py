"""The paper's worked example, Figure 4, steps 0 to 6: replayed with a script by the pipeline."""

from __future__ import annotations

import asyncio
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from backends.models.scripts import read_script
from guards import Exact
from pxp_fsm.diagrams import render
from pxp_fsm.plugins.easylan.distance.lmd import network_distance
from pxp_fsm.plugins.easylan.lan import Lan, diagram
from pxp_fsm.plugins.easylan.running.execution import NetworkRunner
from pxp_fsm.plugins.easylan.running.requests import Requester, bundled
from pxp_fsm.plugins.easylan.training.pipeline import Trainer
from pxp_fsm.plugins.easylan.training.simulated import Confirming

FRENCH = Path(__file__).parents[3] / "examples" / "lan_french"

LITERAL, POLISHER, REFINER = "Literal Translator", "Rhyming Polisher", "Structure Refiner"
LITERARY, SPOKEN = "Literary Text Translator", "Spoken Text Translator"
CHAIN = {(LITERAL, POLISHER)}
FORK = CHAIN | {(LITERAL, REFINER)}
STYLES = {(style, other) for style in (LITERARY, SPOKEN) for other in (POLISHER, REFINER)}
STEPS: list[tuple[str, set[tuple[str, str]]]] = [
    ("SPLIT: Translator", CHAIN),
    ("ADD_AGENT", FORK),
    ("KEEP_OFF: Rhyming Polisher", FORK),
    ("TURN_ON: Rhyming Polisher", FORK),
    ("ADD_KNOWLEDGE: Literal Translator", FORK),
    ("SPLIT: Literal Translator", STYLES),
    ("ADD_INPUTS: Rhyming Polisher", STYLES | {(REFINER, POLISHER)}),
]


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    return runpy.run_path(str(FRENCH / "train.py"))


@pytest.mark.parametrize("attended", [False, True])
def test_each_step_of_the_figure_comes_about_by_the_strategy_that_it_names(
    example: dict[str, Any], attended: bool
) -> None:
    lan = example["translator"]()
    model = read_script(FRENCH / "script.toml")
    trainer = Trainer(lan, model, Exact(), Confirming() if attended else None)
    for (strategy, edges), one in zip(STEPS, example["EXAMPLES"], strict=True):
        before = lan.version
        outcome = asyncio.run(trainer.handle(one))
        assert (outcome.handled, outcome.iterations) == (True, 1)
        assert lan.history.changes[before].about == strategy
        assert lan.network.edges == edges


def test_in_the_end_every_example_is_still_right(example: dict[str, Any]) -> None:
    lan = trained(example)
    model = read_script(FRENCH / "script.toml")
    runner = NetworkRunner(Requester(model, bundled()))
    for one in example["EXAMPLES"]:
        assert asyncio.run(runner.run(lan.network, one.external)).output == one.truth
    assert len(lan.network.handled) == 7


def test_the_distance_from_the_translator_is_known_exactly(example: dict[str, Any]) -> None:
    begun, ended = example["translator"]().network, trained(example).network
    found = network_distance(begun, ended)
    assert found.exact
    assert sum(step.operation == "connect" for step in found.steps) == 5


@pytest.mark.deep
def test_the_example_runs_as_it_stands(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(FRENCH / "train.py")],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(FRENCH.parents[1]), "PYTHONUTF8": "1"},
    )
    assert done.stdout.count("handled: ") == 7
    assert "not handled" not in done.stdout


def trained(example: dict[str, Any]) -> Lan:
    lan: Lan = example["translator"]()
    trainer = Trainer(lan, read_script(FRENCH / "script.toml"), Exact())
    asyncio.run(trainer.train(example["EXAMPLES"]))
    return lan


def test_each_step_is_drawn_where_somebody_asks_for_it(
    example: dict[str, Any], tmp_path: Path
) -> None:
    lan = trained(example)
    turns = lan.last.turns if lan.last else {}
    drawn = diagram(lan.network, [name for name, turn in turns.items() if turn.active])
    assert [node.name for node in drawn.nodes if node.marked] == [LITERARY, REFINER, POLISHER]
    assert {(edge.source, edge.target) for edge in drawn.edges} == lan.network.edges
    assert render(drawn, "svg").count(b'class="node marked"') == 3
