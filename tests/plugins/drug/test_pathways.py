"""Pathways: how they are read, which are none, and which parts of two are the same."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pxp_fsm.plugins.drug import InvalidPathway, PathwayPart, SamePathway
from pxp_fsm.plugins.drug.pathway_relations import MOST_STEPS, pathway, read_pathway
from pxp_fsm.plugins.drug.relations import canonical_smiles
from pxp_fsm.protocol.relations import EQUIVALENCE, Outcome

ESTER = "CC(=O)O.CCO>>CCOC(C)=O; CC#N.O>>CC(=O)O"
NAMES = [canonical_smiles("C" * length + "O") for length in range(1, 13)]
"""Twelve molecules, of which the first is a target."""


def same(one: str, other: str, part: PathwayPart) -> bool:
    return asyncio.run(SamePathway(part).holds(one, other)) is Outcome.YES


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("", "at least one step"),
        (" ;\n; ", "at least one step"),
        ("CCO", "step 1: 'CCO' is not REACTANTS>>PRODUCT"),
        ("CCO>O>CC=O", "not REACTANTS>>PRODUCT"),
        ("CCO>>CC=O>>CC", "not REACTANTS>>PRODUCT"),
        (">>CCO", "step 1: '' is not a valid SMILES"),
        ("CC>>", "step 1: '' is not a valid SMILES"),
        ("CC>>CCO; C1C>>CC", "step 2: 'C1C' is not a valid SMILES"),
        ("CC>>CCO; C>>CC.N", "step 2: a step makes one molecule, not 'CC.N'"),
        ("CC>>CCO; C>>OCC", "step 2: 'CCO' is made by a step before"),
        ("CC>>CCO; N>>O", "no step uses 'O', which a step makes"),
        ("CC>>CCO; CCO>>CC", "is made from itself"),
        ("CCO>>CCO", "is made from itself"),
        ("CC>>CCO; C.N>>CC; O.CC>>N; C>>O; N>>C", "is made from itself"),
        ("CC>>CCO; N>>O; O>>N", "no step uses"),
    ],
)
def test_what_is_no_pathway_is_refused_with_the_step(written: str, problem: str) -> None:
    with pytest.raises(InvalidPathway) as raised:
        read_pathway(written)
    assert problem in str(raised.value)


def test_a_pathway_has_a_bound() -> None:
    chain = ["C" * length for length in range(1, MOST_STEPS + 3)]
    steps = [f"{made}>>{target}" for made, target in pairwise(chain)][::-1]
    assert len(read_pathway("; ".join(steps[:MOST_STEPS])).steps) == MOST_STEPS
    with pytest.raises(InvalidPathway, match="more than 50 steps"):
        read_pathway("; ".join(steps))


@pytest.mark.parametrize(
    ("other", "parts"),
    [
        ("OCC.OC(C)=O>>CC(OCC)=O\nO.N#CC>>CC(O)=O;", set(PathwayPart)),
        ("CC(=O)O.CCO>>CCOC(C)=O", {PathwayPart.LAST_STEP}),
        ("CC(=O)O.CCO>>CCOC(C)=O; CO.[C-]#[O+]>>CC(=O)O", {PathwayPart.LAST_STEP}),
        ("CC(=O)OC(C)=O.CCO>>CCOC(C)=O; CC#N.O>>CC(=O)OC(C)=O", {PathwayPart.MATERIALS}),
        ("CC(=O)O.CCO>>CCOC(C)=N; CC#N.O>>CC(=O)O", set()),
    ],
)
def test_match_is_on_the_part_that_is_chosen(other: str, parts: set[PathwayPart]) -> None:
    assert {part for part in PathwayPart if same(ESTER, other, part)} == parts
    assert {part for part in PathwayPart if same(other, ESTER, part)} == parts
    assert SamePathway().part is PathwayPart.WHOLE
    assert SamePathway.assumptions == EQUIVALENCE


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[str, list[str]]]:
    """Steps over `NAMES` in which a molecule is made of later ones only; the first is used."""
    made = [0]
    steps = []
    for place in range(len(NAMES) - 1):
        if place not in made or (place and not draw(st.booleans())):
            continue
        later = st.integers(place + 1, len(NAMES) - 1)
        chosen = draw(st.sets(later, min_size=1, max_size=3))
        made += chosen
        steps.append((NAMES[place], [NAMES[one] for one in sorted(chosen)]))
    return steps


def ends(steps: list[tuple[str, list[str]]], bought: set[str]) -> set[str]:
    """A second implementation: the ends of a synthesis, by walking down from the target."""
    of = dict(steps)

    def below(name: str, first: bool = False) -> set[str]:
        if name not in of or (name in bought and not first):
            return {name}
        return set().union(*(below(one) for one in of[name]))

    return below(steps[0][0], first=True)


@given(trees(), st.randoms(use_true_random=False), st.sets(st.sampled_from(NAMES)))
def test_the_order_of_steps_does_not_count_and_what_can_be_bought_is_an_end(
    steps: list[tuple[str, list[str]]], drawn: Random, bought: set[str]
) -> None:
    found = pathway(steps)
    others = steps[1:]
    drawn.shuffle(others)
    assert pathway([steps[0], *others]) == found
    assert read_pathway(str(found)) == found
    assert found.materials == ends(steps, set())
    cut = found.back_to(bought)
    assert cut.materials == ends(steps, bought)
    assert cut.back_to(bought) == cut
    before = [step.product for step in found.steps]
    for place, step in enumerate(found.steps):
        assert not set(step.reactants) & set(before[: place + 1])
