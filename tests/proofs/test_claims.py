"""The claims: exact sizes, expected verdicts, and traces that the real machines take."""

from __future__ import annotations

import json

import pytest

from proofs.checking import Bounds, Checker
from proofs.claims import ASSUMPTIONS, CLAIMS, Claim
from proofs.explore import Space, TooLarge, Trace, explore
from proofs.following import Following
from proofs.itf import to_itf
from proofs.model import Step
from proofs.product import Product, standing_checks
from proofs.properties import complete_words, longest_run, terminates
from proofs.relational import EMPTY, Theory
from proofs.replay import NotReplayed, replay
from proofs.sessions import SessionModel, State
from proofs.verdicts import Status
from pxp_fsm.relations import EQUIVALENCE, NOISY, TOLERANCE, Assumption
from pxp_fsm.rules import Interact, Pxp
from pxp_fsm.tables import BUILTIN, builtin, parse_automaton


def space(n: int, k: int, assumptions: frozenset[Assumption]) -> Space[State]:
    return explore(SessionModel(Interact(n, k), Theory(assumptions)))


@pytest.mark.parametrize(
    ("n", "k", "assumptions", "sequences"),
    [
        (3, 1, EQUIVALENCE, 4),
        (3, 1, TOLERANCE, 4),
        (3, 1, NOISY, 13),
        (4, 2, EQUIVALENCE, 8),
        (4, 2, TOLERANCE, 10),
        (4, 2, NOISY, 36),
    ],
)
def test_the_model_has_the_complete_tag_sequences_that_the_reading_demands(
    n: int, k: int, assumptions: frozenset[Assumption], sequences: int
) -> None:
    assert len(complete_words(space(n, k, assumptions))) == sequences


@pytest.mark.parametrize(
    ("assumptions", "states", "transitions"),
    [(EQUIVALENCE, 685, 1742), (TOLERANCE, 1410, 4265), (NOISY, 604, 1301)],
)
def test_the_sizes_at_n_10_and_k_4(
    assumptions: frozenset[Assumption], states: int, transitions: int
) -> None:
    found = space(10, 4, assumptions)
    assert (found.states, found.transitions) == (states, transitions)


@pytest.mark.parametrize(
    ("assumptions", "two", "three"),
    [(EQUIVALENCE, 2, 5), (TOLERANCE, 2, 8), (EQUIVALENCE - {Assumption.SYMMETRIC}, 4, 29)],
)
def test_relations_on_two_and_three_values_are_counted_right(
    assumptions: frozenset[Assumption], two: int, three: int
) -> None:
    """Partitions, graphs and preorders: 2 and 5, 2 and 8, 4 and 29."""
    theory = Theory(assumptions)
    (one,) = theory.extensions(EMPTY)
    pairs = theory.extensions(one)
    assert len(pairs) == two
    assert sum(len(theory.extensions(pair)) for pair in pairs) == three


CHECKER = Checker(Bounds(n=5, k=1))


@pytest.mark.parametrize(
    ("claim", "assumptions"),
    [
        pytest.param(claim, name, id=f"{claim.protocol}-{claim.name}-{name}")
        for claim in CLAIMS
        for name in claim.expected
    ],
)
def test_every_claim_has_the_verdict_that_is_expected_of_it(claim: Claim, assumptions: str) -> None:
    """Every trace has been replayed through the real machines before this returns."""
    result = CHECKER.check(claim, assumptions)
    assert result.as_expected, result.verdict
    fails = result.verdict.status is Status.FAILS
    assert fails == bool(result.messages) == (result.verdict.trace is not None)


def test_the_counterexample_to_final_agreement_is_three_messages() -> None:
    (claim,) = (claim for claim in CLAIMS if claim.name == "final-agreement")
    result = Checker().check(claim, "equivalence")
    assert [f"{m.sender} {m.tag}" for m in result.messages] == ["m INIT", "h RATIFY", "m RATIFY"]


def test_pxp_is_endless_and_the_lasso_is_told() -> None:
    found = explore(SessionModel(Pxp(), Theory(EQUIVALENCE), observes=False))
    verdict = terminates(found)
    assert verdict.status is Status.FAILS
    assert verdict.trace is not None
    stem = verdict.trace.labels[: -verdict.cycle]
    assert (len(stem), verdict.cycle) == (3, 2)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_pxp_k_ends_within_2k_plus_5_and_no_sooner(k: int) -> None:
    found = explore(SessionModel(Pxp(k), Theory(EQUIVALENCE), observes=False))
    longest = longest_run(found)
    assert len(longest.steps) == 2 * k + 5
    assert longest.labels[-1].endswith("TERM")
    replay(SessionModel(Pxp(k), Theory(EQUIVALENCE), observes=False), longest)


def test_bounding_self_loops_does_not_bound_noisy_sessions() -> None:
    found = explore(SessionModel(Pxp(1), Theory(NOISY), observes=False))
    assert terminates(found).status is Status.FAILS


def test_a_trace_that_the_machines_do_not_take_is_not_shown() -> None:
    model = SessionModel(Interact(5, 1), Theory(NOISY))
    trace = explore(model).find(lambda s: s.over == "ratified")
    assert trace is not None
    replay(model, trace)
    last = trace.steps[-1]
    wrong = Step("h REJECT", last.target, last.facts)
    with pytest.raises(NotReplayed, match="the model says h REJECT"):
        replay(model, Trace(trace.start, (*trace.steps[:-1], wrong)))


@pytest.mark.parametrize("name", BUILTIN)
def test_the_built_in_tables_pass_the_standing_checks(name: str) -> None:
    verdicts = standing_checks(Product(builtin(name), builtin(name)))
    failing = {check for check, verdict in verdicts.items() if verdict.status is Status.FAILS}
    assert failing == ({"no-dead-row"} if name == "pxp_hang_up" else set())


BROKEN = """
format = 1
name = "broken"
title = "Broken"
initial = "A"
final = ["Z"]
states = [{ name = "A" }, { name = "B" }, { name = "C" }, { name = "D" }, { name = "Z" }]
rows = [
  { from = "A", to = "B", send = "X" },
  { from = "A", to = "C", receive = "X" },
  { from = "B", to = "D", send = "Y" },
  { from = "D", to = "Z", receive = "Y" },
  { from = "C", to = "Z", receive = "X" },
  { from = "Z", to = "Z", send = "X" },
]
"""


def test_the_standing_checks_find_what_is_wrong_with_a_table() -> None:
    table = parse_automaton(BROKEN)
    verdicts = standing_checks(Product(table, table))
    assert {name for name, verdict in verdicts.items() if verdict.status is Status.FAILS} == {
        "no-deadlock",
        "no-unspecified-reception",
        "end-reachable-from-everywhere",
        "no-dead-row",
    }
    trace = verdicts["no-unspecified-reception"].trace
    assert trace is not None
    assert trace.labels == ("1 X",)


def test_exploration_stops_at_its_bound_and_says_so() -> None:
    with pytest.raises(TooLarge, match="more than 100 states"):
        explore(SessionModel(Interact(10, 3), Theory(NOISY)), limit=100)
    (claim,) = (claim for claim in CLAIMS if claim.name == "ends-within-n")
    verdict = Checker(limit=100).check(claim, "noisy").verdict
    assert verdict.status is Status.UNKNOWN


def test_a_word_is_followed_or_left() -> None:
    model = SessionModel(Interact(5, 2), Theory(frozenset(ASSUMPTIONS["tolerance"])))
    word = ("m INIT", "h REFUTE", "m REFUTE", "h RATIFY")
    followed = explore(Following(model, word))
    assert max(place.followed for place in followed.steps) == 4


def test_a_trace_is_written_as_itf() -> None:
    (claim,) = (claim for claim in CLAIMS if claim.name == "terminates")
    result = Checker().check(claim, "equivalence")
    document = json.loads(to_itf(claim.name, result.model, result.verdict))
    assert document["#meta"]["format"] == "ITF"
    assert document["#meta"]["property"] == "terminates"
    assert document["loop"] == 3
    assert [state["action"] for state in document["states"]][:2] == ["", "m INIT"]
    assert set(document["vars"]) == set(document["states"][0]) - {"#meta"}
