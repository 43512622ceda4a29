"""What stops exploring: the memory that there is, and a Ctrl-C that must not be lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from proofs.core import limits
from proofs.core.explore import TooLarge, explore
from proofs.core.limits import UNLIMITED, Effort, half_of_memory, used
from pxp_fsm.errors import UsageError
from tests.oracles.graphs import Graph


def test_without_a_limit_half_of_the_memory_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Effort().memory == half_of_memory()
    assert not Effort().spent(10, 1, 1)
    monkeypatch.setattr(limits, "used", lambda: half_of_memory() + 1)
    said = f"more than {half_of_memory():,} MB of memory, half of what there is: 10 states met"
    assert Effort().spent(10, 1, 1).startswith(said)
    assert Effort(memory=1).spent(10, 1, 1).startswith("more than 1 MB of memory: 10 states met")
    assert not Effort(memory=UNLIMITED).spent(10, 1, 1)


@pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="reads what Linux says")
def test_half_of_the_memory_is_no_more_than_half_of_what_the_machine_has() -> None:
    line = Path("/proc/meminfo").read_text("ascii").splitlines()[0]
    assert 0 < used() < half_of_memory() <= int(line.split()[1]) // 2048


def test_memory_has_no_bound_where_it_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda *_a, **_k: "unlimited")
    monkeypatch.delattr(os, "sysconf")
    assert half_of_memory.__wrapped__() == UNLIMITED
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(UsageError, match="not measured"):
        used()
    assert Effort(memory=UNLIMITED).spent(10, 1, 1) == ""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such peak")
@pytest.mark.parametrize(("platform", "peak"), [("darwin", 5 << 20), ("freebsd", 5 << 10)])
def test_where_the_memory_is_not_said_its_peak_is_taken(
    platform: str, peak: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import resource

    monkeypatch.setattr(Path, "read_text", lambda *_a, **_k: "")
    monkeypatch.setattr(sys, "platform", platform)
    usage = resource.struct_rusage([0.0, 0.0, peak, *[0] * 13])
    monkeypatch.setattr(resource, "getrusage", lambda _: usage)
    assert used() == 5


def test_a_browser_says_nothing_of_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "emscripten")
    assert half_of_memory.__wrapped__() == UNLIMITED


def test_what_stops_says_how_deep_it_has_come() -> None:
    line = Graph(((1,), (2,), (3,), ()), (frozenset(),) * 4)
    for most in (1, 2, 3):
        with pytest.raises(TooLarge, match=f"more than {most} states: .*at depth {most}$"):
            explore(line, effort=Effort(most))


@pytest.mark.skipif(sys.platform != "linux", reason="limits data as Linux does")
def test_where_data_are_limited_a_search_that_is_over_takes_none() -> None:
    searches = """
import gc, resource
from proofs.core.kernels import Compiled
gc.disable()
resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))
for _ in range(6):
    search = [Compiled()]
    search.append(search)  # garbage that only a collection finds
    search[0].new("q", 1 << 25)
"""
    subprocess.run([sys.executable, "-c", searches], check=True)
