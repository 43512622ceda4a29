"""Orders are counterbalanced: over a block each thing meets each other equally often."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pxp_fsm.plugins.studies.assignment import assignment, balanced_orders, block_size
from pxp_fsm.plugins.studies.files import Arm, Study, StudyTask, load_study
from tests.plugins.studies.experts import DRUG

STUDY = load_study(DRUG)


def study(arms: int, tasks: int, design: str, seed: int) -> Study:
    return replace(
        STUDY,
        seed=seed,
        design=design,
        arms=tuple(Arm(f"arm{number}", "x") for number in range(arms)),
        tasks=tuple(StudyTask(f"task{number}") for number in range(tasks)),
    )


@given(st.integers(1, 9))
def test_williams_orders_are_balanced_for_what_came_before(size: int) -> None:
    orders = balanced_orders(size)
    places = Counter((at, one) for order in orders for at, one in enumerate(order))
    follows = Counter(pair for order in orders for pair in pairwise(order))
    assert len(set(places.values())) == 1
    assert len(places) == size * size
    assert len(set(follows.values())) <= 1
    assert len(follows) == size * (size - 1)


@given(
    st.integers(1, 4),
    st.integers(1, 5),
    st.sampled_from(["within", "between"]),
    st.integers(0, 99),
    st.integers(0, 3),
)
def test_a_block_is_in_balance(arms: int, tasks: int, design: str, seed: int, block: int) -> None:
    made = study(arms, tasks, design, seed)
    size = block_size(made)
    everybody = [assignment(made, block * size + at) for at in range(1, size + 1)]
    met = Counter((one.task.name, one.arm.name) for all_of in everybody for one in all_of)
    at = Counter((one.place, one.task.name) for all_of in everybody for one in all_of)
    armed = Counter((one.place, one.arm.name) for all_of in everybody for one in all_of)
    assert len(met) == arms * tasks
    assert {len(set(counted.values())) for counted in (met, at, armed)} == {1}
    for all_of in everybody:
        assert {one.task.name for one in all_of} == {one.name for one in made.tasks}
        assert len({one.arm.name for one in all_of}) == (
            1 if design == "between" else min(arms, tasks)
        )


def test_it_depends_on_the_seed_and_on_nothing_else(tmp_path: Path) -> None:
    other = tmp_path / "drug.toml"
    other.write_text(DRUG.read_text("utf-8"), "utf-8")
    read = load_study(other)
    everybody = [assignment(STUDY, number) for number in range(1, 13)]
    assert [assignment(read, number) for number in range(1, 13)] == everybody
    assert any(
        [assignment(replace(STUDY, seed=seed), number) for number in range(1, 13)] != everybody
        for seed in range(3)
    )
