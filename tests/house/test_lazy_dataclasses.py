"""`lazy_dataclasses.dataclass` is `dataclasses.dataclass`, but for when methods are compiled."""

from __future__ import annotations

import inspect
import pickle
import re
import subprocess
from pathlib import Path

import pytest

from pxp_fsm.lazy_dataclasses import dataclass
from tests.house.dataclass_cases import differences, plain
from tests.pythons import OTHERS, find_python


def test_nothing_else_is_seen_than_of_a_dataclass() -> None:
    assert differences() == []


@pytest.mark.deep
@pytest.mark.parametrize("version", OTHERS)
def test_nothing_else_is_seen_in_other_pythons(version: str) -> None:
    script = "from tests.house.dataclass_cases import differences as d; print(d())"
    command = [str(find_python(version)), "-c", script]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert told == "[]\n"


@dataclass(frozen=True, slots=True)
class Sent:
    """Goes to another process."""

    number: int


def test_instances_are_pickled() -> None:
    assert pickle.loads(pickle.dumps(Sent(3))) == Sent(3)  # noqa: S301 - as executors do


def test_methods_are_compiled_when_they_are_used() -> None:
    names = ("__init__", "__repr__", "__eq__", "__hash__")
    cls = plain(dataclass(frozen=True))

    def compiled() -> list[str]:
        return [name for name in names if inspect.isfunction(cls.__dict__[name])]

    assert compiled() == []
    assert cls(1) == cls(1)
    assert compiled() == ["__init__", "__eq__"]
    assert {cls(1): repr(cls(1))}
    assert compiled() == [*names]


def test_every_module_takes_it_from_there() -> None:
    """One that forgets it makes commands slower, by a millisecond for each class."""
    rooms = [
        path
        for room in ("pxp_fsm", "guards", "backends", "proofs")
        for path in Path(room).rglob("*.py")
    ]
    line = re.compile(r"^from dataclasses import .*\bdataclass\b", re.MULTILINE)
    eager = {str(path) for path in rooms if line.search(path.read_text("utf-8"))}
    assert eager == set()
