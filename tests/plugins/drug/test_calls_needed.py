"""Models are asked no more than is needed: counted on the sessions of the benchmark."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "bench_calls.py"


def test_a_judge_is_asked_for_exactly_the_pairs_that_are_needed() -> None:
    rows = run_path(str(BENCHMARK), run_name="bench_calls")["measured"]()
    assert [row.ours for row in rows] == [row.needed for row in rows]
    assert sum(row.ours for row in rows) == 60
    assert sum(row.literal for row in rows) == 215
    assert [row.generator for row in rows] == [(row.messages + 1) // 2 for row in rows]
    assert sum(row.generator for row in rows) == 50
