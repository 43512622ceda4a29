"""The truth of formulas along paths of systems, against the checker's verdicts and traces."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.core.explore import TooLarge, explore
from proofs.core.limits import Effort
from proofs.core.results import Status
from proofs.logic import parse
from proofs.logic.formulas import Atom, Formula
from proofs.systems import Composition, System, check
from proofs.systems.coloring import color, values_along
from proofs.systems.paths import choices_of
from proofs.systems.propositions import vocabulary
from pxp_fsm.errors import Refused, UsageError
from tests.proofs.random_systems import random_channel, random_system

FORMULAS = ("F {p}", "G !{p}", "{p} U {q}", "G ({p} -> F {q})", "F G {p} | X {q}", "N {p} R {q}")


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_a_counterexample_is_colored_as_one(seed: int) -> None:
    chance = random.Random(seed)
    composition = Composition(random_system(chance, most=3).over(random_channel(chance)))
    try:
        explore(composition, limit=300)
    except TooLarge:
        return
    names = sorted(vocabulary(composition))
    p, q = (f'"{chance.choice(names)}"' for _ in "pq")
    formula = parse(chance.choice(FORMULAS).format(p=p, q=q))
    verdict = check(composition, formula)
    if verdict.status is not Status.FAILS or verdict.trace is None:
        return
    choices = choices_of(composition, [step.action for step in verdict.trace.steps])
    here = verdict.trace.steps[-1].target if verdict.trace.steps else verdict.trace.start
    whole = not composition.moves(composition.encoding.state(here))
    if whole or verdict.cycle:  # else it is a prefix, after which anything may come
        parts = color(composition, formula, choices, verdict.cycle, Effort())
        assert parts[0].values[0] is False


def test_a_and_e_are_decided_over_all_states() -> None:
    composition = Composition(System.load("interact"))
    formula = parse("A G (1@DECIDE -> E X 2@DECIDE) & E F 1@END & A F ended")
    parts = {one.text: one.values for one in color(composition, formula, (0, 4), 0, Effort())}
    assert parts["E (F 1@END)"] == (True, True, True)
    assert parts["A (F ended)"] == (False, False, True)
    with pytest.raises(TooLarge, match="more than 3 states"):
        color(composition, formula, (), 0, Effort(30))


def test_a_path_or_a_proposition_that_is_none_is_refused() -> None:
    composition = Composition(System.load("pxp"))
    with pytest.raises(Refused, match="no move 7 in step 1"):
        color(composition, parse("ended"), (7,), 0, Effort())
    with pytest.raises(Refused, match="do not come back"):
        color(composition, parse("ended"), (0,), 1, Effort())
    with pytest.raises(UsageError, match="'1@NOWHERE'"):
        color(composition, parse("F 1@NOWHERE"), (), 0, Effort())


def test_along_a_run_a_part_holds_as_it_is_defined() -> None:
    """U and R by a look at every place that comes, round the cycle once more than it is long; S and
    T by a look at every place before.
    """
    for seed in range(150):
        chance = random.Random(seed)
        length = chance.randint(1, 5)
        cycle = chance.randint(0, length)
        true = {name: [chance.random() < 0.6 for _ in range(length)] for name in "pq"}

        def holds(part: Formula, place: int, true: dict[str, list[bool]] = true) -> bool:
            assert isinstance(part, Atom)
            return true[part.name][place]

        for place in range(length):
            later = [*range(place, length), *[*range(length - cycle, length)] * 2]
            pairs = [(true["p"][at], true["q"][at]) for at in later]
            until = any(q and all(p for p, _ in pairs[:at]) for at, (_, q) in enumerate(pairs))
            release = all(q or any(p for p, _ in pairs[:at]) for at, (_, q) in enumerate(pairs))
            past = [(true["p"][at], true["q"][at]) for at in range(place, -1, -1)]
            since = any(q and all(p for p, _ in past[:at]) for at, (_, q) in enumerate(past))
            triggered = all(q or any(p for p, _ in past[:at]) for at, (_, q) in enumerate(past))
            for text, expected in (
                ("p U q", until),
                ("p R q", release),
                ("p S q", since),
                ("p T q", triggered),
            ):
                formula = parse(text)
                values = values_along(formula, length, cycle, holds)[formula]
                assert values[place] is expected, (seed, text, place)
