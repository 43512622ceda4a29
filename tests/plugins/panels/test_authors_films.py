"""A panel on RAD's published films, by commands from the run to the audit.

The films are the authors', and not in the repository: `PXP_TEST_DATA` says where they are.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from backends.databases.verify import verify
from pxp_fsm.plugins.rad.radiograph import LABELS
from tests import command_line
from tests.outside_data import FOLDER

FILMS = FOLDER / "interact"


@pytest.mark.deep
@pytest.mark.skipif(not FILMS.is_dir(), reason="the authors' films are not here: PXP_TEST_DATA")
@pytest.mark.parametrize(
    ("more", "labels"),
    [
        (("--n", "6"), {*LABELS, "none"}),
        (("--protocol", "pxp", "--k", "1", "--set", "label=Pneumothorax"), {"yes", "no"}),
    ],
    ids=["findings", "label"],
)
def test_three_machines_read_the_authors_films(
    more: tuple[str, ...], labels: set[str], tmp_path: Path
) -> None:
    few = ("--set", "agents.precedents=few:6")
    run = ("rad", "--data", str(FILMS), "--agents", "3", "--instances", "3", *few, *more)
    done = command_line.pxp("run", *run, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (document,) = json.loads(done.stdout)
    assert {row["sessions"] for row in document["directions"]} == {3}
    shown = command_line.pxp("show", "rad-1/1/1", "--json", cwd=tmp_path)
    messages = json.loads(shown.stdout)["messages"]
    assert {message["sender"] for message in messages} == {"m1", "m2", "m3"}
    assert {message["prediction"] for message in messages} <= labels
    fork = ("run", "rad-1/1/1@2", "--without", "m3")
    for command in (fork, ("compare", "rad-1"), ("report", "-o", "rad.html"), ("audit",)):
        done = command_line.pxp(*command, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert "impossible" not in done.stdout
    assert verify(str(tmp_path / "runs" / "blackboard.sqlite")).problems == ()
