"""The claims: exact sizes, expected verdicts, and traces that the real machines take."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from itertools import combinations, permutations, product
from typing import Any

import pytest

from proofs.claims import catalogue, predicates
from proofs.claims.catalogue import (
    CLAIMS,
    OWN,
    SOURCES,
    Claim,
    assumptions_of,
    find,
    name_of,
    source_of,
)
from proofs.claims.checking import Bounds, ClaimChecker, settled
from proofs.claims.theorems import THEOREMS, proofs_of
from proofs.core.explore import Space, Step, TooLarge, Trace, explore, explore_as_read
from proofs.core.properties import complete_words, longest_run, terminates
from proofs.core.results import Bound, NotReplayed, Status, Verdict
from proofs.export.traces import to_itf
from proofs.sessions.explicit import PackedSessions, check_explicit
from proofs.sessions.model import SessionModel, SessionState, session, tag_of
from proofs.sessions.relational import EMPTY, Structure, Theory
from proofs.sessions.replay import PrefixModel, replay
from proofs.systems import Composition, System, decide_standard, system_of
from pxp_fsm.automata.actions import Say
from pxp_fsm.automata.automaton import Kind
from pxp_fsm.automata.tables import BUILTIN, builtin, parse_automaton
from pxp_fsm.protocol.intelligibility import DEFINITIONS
from pxp_fsm.protocol.messages import Tag
from pxp_fsm.protocol.relations import EQUIVALENCE, NOISY, TOLERANCE, Assumption
from pxp_fsm.protocol.rules import Interact, Pxp, Rules
from tests.changed_tables import changed
from tests.oracles.packed_sweep import reach


def space(n: int, k: int, assumptions: frozenset[Assumption]) -> Space[SessionState]:
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


def every_set() -> Iterator[frozenset[Assumption]]:
    for size in range(len(Assumption) + 1):
        yield from map(frozenset, combinations(Assumption, size))


given_sets = pytest.mark.parametrize("assumptions", list(every_set()), ids=name_of)

CHECKER = ClaimChecker(Bounds(n=5, k=1))


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


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim.protocol}.{claim.name}")
def test_what_is_expected_of_a_claim_is_monotone(claim: Claim) -> None:
    """More assumptions allow fewer sessions: what holds under some holds under more."""
    for one, status in claim.expected.items():
        for two, other in claim.expected.items():
            if assumptions_of(one) <= assumptions_of(two):
                assert (status, other) != (Status.HOLDS, Status.FAILS)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim.protocol}.{claim.name}")
def test_each_assumption_that_a_claim_needs_has_a_counterexample_without_it(claim: Claim) -> None:
    if claim.protocol == "pxp(k)" and claim.name != "terminates":
        return  # PXP(k) takes what PXP takes, of which the same is claimed
    for needed in claim.needs:
        lacking = name_of(EQUIVALENCE - {needed})
        verdict = CHECKER.check(claim, lacking).verdict
        assert verdict.status is Status.FAILS


@given_sets
def test_names_of_sets_are_read_back(assumptions: frozenset[Assumption]) -> None:
    assert assumptions_of(name_of(assumptions)) == assumptions


def test_what_suffices_settles_every_set_of_assumptions() -> None:
    """Each of the 32 sets contains one that suffices, or is within one shown to fail."""
    for claim in CLAIMS:
        if claim.exact or claim.name == "no-alternation" or claim.protocol == "pxp(k)":
            continue
        failing = [assumptions_of(n) for n, s in claim.expected.items() if s is Status.FAILS]
        for chosen in every_set():
            holds = any(one <= chosen for one in claim.suffices)
            assert holds != any(chosen <= one for one in failing), (claim.name, chosen)


@pytest.mark.parametrize(
    "smallest",
    [
        [{Assumption.SHARED, Assumption.SYMMETRIC}, {Assumption.SHARED, Assumption.REFLEXIVE}],
        [{Assumption.DETERMINISTIC}, {Assumption.TRANSITIVE, Assumption.SYMMETRIC}],
        [set(EQUIVALENCE)],
    ],
)
def test_the_largest_sets_that_do_not_suffice_are_those(smallest: list[set[Assumption]]) -> None:
    """By trying all sets; the three that have names are there too."""
    expected = catalogue.given(*map(frozenset, smallest))
    lacking = [some for some in every_set() if not any(one <= some for one in smallest)]
    largest = [some for some in lacking if not any(some < other for other in lacking)]
    named = {*map(frozenset, smallest), *catalogue.NAMED.values()}
    assert {assumptions_of(name) for name in expected} == {*largest, *named}
    for name, status in expected.items():
        assert (status is Status.FAILS) == (assumptions_of(name) in lacking)


def test_guards_are_asked_about_in_each_case_of_the_numbers() -> None:
    """Of j as it counts toward k, the guards of INTERACT tell whether one more is too many."""
    cases = predicates._numbers(Interact(3, 1))
    assert {case["j"] + 1 > case["k"] for case in cases} == {False, True}  # type: ignore[operator]
    assert all(0 <= case["j"] <= case["n"] and case["k"] <= case["n"] for case in cases)  # type: ignore[operator]
    assert len(cases) == 2
    assert predicates._numbers(Pxp(2)) == [{}]


def test_what_tags_are_read_fails_with_them() -> None:
    """A state of which a definition does not hold is shown by the tags that led there."""
    check = predicates._of(lambda read: not any(Tag.RATIFY in sent for sent in read.sent))
    verdict = check(SessionModel(Interact(3, 1), Theory(NOISY)), Space({}, {}))
    assert verdict.status is Status.FAILS
    assert verdict.detail.split(", ")[-1].endswith("RATIFY")


def test_what_is_not_bounded_stays_as_it_was_found() -> None:
    verdict = Verdict(Status.HOLDS_UP_TO)
    assert settled(verdict, proofs_of([THEOREMS["interact.reject-after-k"]]), "noisy") == verdict


def test_a_proof_takes_the_bound_away_and_one_that_fails_is_unknown() -> None:
    claim = THEOREMS["interact.no-revise-at-2"]
    proof = ClaimChecker(Bounds(5, 1), proofs=proofs_of([claim])).check(claim, "tolerance")
    assert proof.verdict == Verdict(Status.HOLDS, bound=Bound("all", "all"))
    assert 0 <= proof.seconds < 600
    assert str(proof.verdict) == "HOLDS for all n and k"
    explored = ClaimChecker(Bounds(5, 1)).check(claim, "tolerance")
    assert 0 <= explored.seconds < 600
    bounded = explored.verdict
    assert bounded == Verdict(Status.HOLDS_UP_TO, bound=Bound(5, 1))
    hasty = changed("interact", ("j + 1 > k", "j + 2 > k"))
    (failing,) = proofs_of([THEOREMS["interact.reject-after-k"]], hasty)
    verdict = settled(bounded, [failing], "tolerance")
    assert verdict.status is Status.UNKNOWN
    assert verdict.trace is None
    assert verdict.detail.startswith("not proved: nothing excludes (WAIT, DECIDE)")
    assert "holds up to n = 5, k = 1" in verdict.detail
    refuted = Verdict(Status.FAILS)
    assert settled(refuted, [failing], "tolerance") == refuted


def test_explicit_values_give_the_verdicts_of_the_reduced_model() -> None:
    claims = [c for c in CLAIMS if c.protocol == "interact" and not c.exact]
    checker = ClaimChecker(Bounds(5, 2))
    explicit = list(check_explicit(claims, Interact(5, 2), 3))
    assert len(explicit) == len(claims) == 11
    for claim, result in zip(claims, explicit, strict=True):
        reduced = checker.check(claim, "equivalence")
        assert result.verdict.status is reduced.verdict.status
        assert [m.tag for m in result.messages] == [m.tag for m in reduced.messages]


def test_too_many_explicit_values_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proofs.sessions.explicit.LIMIT", 50)
    (result,) = check_explicit(find("ends-agreed"), Interact(5, 2), 3)
    assert result.verdict.status is Status.UNKNOWN


@pytest.mark.parametrize(
    ("rules", "assumptions", "states", "transitions"),
    [
        (Interact(10, 3), EQUIVALENCE, 683, 1732),
        (Interact(10, 3), TOLERANCE, 1418, 4257),
        (Interact(10, 3), NOISY, 612, 1309),
        (Pxp(), EQUIVALENCE, 40, 73),
        (Pxp(), TOLERANCE, 40, 73),
        (Pxp(), NOISY, 47, 186),
        (Pxp(3), EQUIVALENCE, 121, 139),
        (Pxp(3), TOLERANCE, 121, 139),
        (Pxp(3), NOISY, 9735, 36378),
    ],
)
def test_the_sizes_of_the_models_of_sessions(
    rules: Rules, assumptions: frozenset[Assumption], states: int, transitions: int
) -> None:
    found = explore(SessionModel(rules, Theory(assumptions), observes=rules.n is not None))
    assert (found.states, found.transitions) == (states, transitions)


@pytest.mark.parametrize(
    ("name", "states", "transitions"), [("interact", 4, 12), ("pxp", 4, 12), ("pxp_hang_up", 4, 14)]
)
def test_the_sizes_of_the_built_in_products(name: str, states: int, transitions: int) -> None:
    found = explore(Composition(System.load(name)))
    assert (found.states, found.transitions) == (states, transitions)


def brute(n: int, k: int, values: int, noisy: bool) -> int:
    """Complete tag sequences by the procedures in their own words, all data tried in turn."""
    found: set[tuple[str, ...]] = set()

    def go(tags: tuple[str, ...], own: Any, other: Any) -> None:
        j = len(tags) + 1
        stopped = tags[-1:] == ("REJECT",) or tags[-2:] == ("RATIFY", "RATIFY")
        if j > n or stopped:
            found.add(tags)
            return
        free = list(product(range(values), repeat=2))
        if noisy:
            options = {"RATIFY", "REFUTE", "REVISE", *(["REJECT"] if j > k else [])}
            for tag in options if j > 1 else {"INIT"}:
                go((*tags, tag), None, None)
            return
        for y, e in free:
            if j == 1:
                go(("INIT",), other, (y, e))
                continue
            mine = own or (y, e)
            match, agree = other[0] == mine[0], other[1] == mine[1]
            changed = (y, e) != mine
            if match and agree:
                tag = "RATIFY"
            elif not match and not agree and j > k:
                tag = "REJECT"
            else:
                tag = "REVISE" if changed else "REFUTE"
            go((*tags, tag), other, (y, e))

    go((), None, None)
    return len(found)


@pytest.mark.parametrize(
    ("n", "k", "same", "any_"),
    [(2, 1, 3, 4), (3, 1, 4, 13), (3, 2, 4, 12), (4, 1, 8, 37), (4, 2, 8, 36), (5, 1, 19, 103)],
)
def test_complete_sequences_by_the_model_and_by_brute_force(
    n: int, k: int, same: int, any_: int
) -> None:
    assert len(complete_words(space(n, k, EQUIVALENCE))) == brute(n, k, 3, noisy=False) == same
    assert len(complete_words(space(n, k, NOISY))) == brute(n, k, 1, noisy=True) == any_


@pytest.mark.parametrize(
    ("n", "k", "states"),
    [(5, 2, 94), (6, 1, 190), pytest.param(10, 4, 685, marks=pytest.mark.deep)],
)
def test_the_reduced_states_are_the_explicit_ones_up_to_renaming_values(
    n: int, k: int, states: int
) -> None:
    """A value that has not been sent yet is no value: taken for 0, three states more appear."""
    model = PackedSessions(Interact(n, k), 3)
    reached = reach(model, compiled=False)
    apart, as_zero = set[object](), set[object]()
    for packed in (number for number, seen in enumerate(reached.seen) if seen):
        control, values = model.unpack(packed)
        state = model.controls.states[control]
        vector = (state.sent, state.tags, bool(state.over), state.history)
        y, e = (values.y_m, values.y_h), (values.e_m, values.e_h)
        as_zero.add((*vector, renamed(y), renamed(e)))
        there = [bool(tag) for tag in state.tags]
        sent = [tuple(v if t else None for v, t in zip(p, there, strict=True)) for p in (y, e)]
        apart.add((*vector, *map(renamed, sent)))
    assert (len(apart), len(as_zero)) == (states, states + 3)
    assert space(n, k, EQUIVALENCE).states == states


def renamed(values: tuple[int | None, ...]) -> tuple[int, ...]:
    """The least that any permutation of three values makes of `values`; None stays."""
    return min(
        tuple(-1 if value is None else order[value] for value in values)
        for order in permutations(range(3))
    )


def test_the_counterexample_to_final_agreement_is_three_messages() -> None:
    (claim,) = find("ends-agreed")
    result = ClaimChecker().check(claim, "equivalence")
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
    wrong = Step(Say("h", "REJECT"), last.target, last.facts)
    with pytest.raises(NotReplayed, match="the model says h REJECT"):
        replay(model, Trace(trace.start, (*trace.steps[:-1], wrong)))


@pytest.mark.parametrize("name", BUILTIN)
def test_the_built_in_tables_pass_the_decide_standard(name: str) -> None:
    verdicts = dict(decide_standard(Composition(System.load(name))))
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


def test_the_decide_standard_find_what_is_wrong_with_a_table() -> None:
    table = parse_automaton(BROKEN)
    verdicts = dict(decide_standard(Composition(system_of([("", table), ("", table)]))))
    assert {name for name, verdict in verdicts.items() if verdict.status is Status.FAILS} == {
        "no-deadlock",
        "no-unspecified-reception",
        "end-reachable-from-everywhere",
        "no-dead-row",
    }
    trace = verdicts["no-unspecified-reception"].trace
    assert trace is not None
    assert trace.labels == ("broken1>broken2 X",)


def test_exploration_stops_at_its_bound_and_says_so() -> None:
    with pytest.raises(TooLarge, match="more than 100 states"):
        explore(SessionModel(Interact(10, 3), Theory(NOISY)), limit=100)
    (claim,) = find("interact.terminates")
    verdict = ClaimChecker(limit=100).check(claim, "noisy").verdict
    assert verdict.status is Status.UNKNOWN


def test_what_is_explored_as_it_is_read_is_the_same_and_ends_at_the_first_counterexample() -> None:
    model = SessionModel(Interact(5, 2), Theory(TOLERANCE))
    whole, read = explore(model), explore_as_read(model)
    first = read.find(lambda state: state.sent == 2)
    assert first == whole.find(lambda state: state.sent == 2)
    assert len(read.parents) < whole.states
    assert dict(read.steps) == whole.steps
    assert [*read.steps] == [*whole.steps]
    assert read.parents == whole.parents


def test_states_beyond_the_bound_are_missed_however_often_they_are_read() -> None:
    read = explore_as_read(SessionModel(Interact(10, 3), Theory(NOISY)), limit=100)
    for _ in range(2):
        with pytest.raises(TooLarge, match="more than 100 states"):
            len(read.steps)
    checker = ClaimChecker(limit=100)
    for name in ("never-ultra", "terminates", "terminates"):
        (claim,) = find(f"interact.{name}")
        status = checker.check(claim, "noisy").verdict.status
        assert status is (Status.UNKNOWN if name == "terminates" else Status.FAILS)


def test_a_search_ends_where_it_is_told() -> None:
    model = SessionModel(Interact(5, 2), Theory(TOLERANCE))
    searched = explore(model, until=lambda state: state.sent == 3)
    *before, last = searched.steps
    assert last.sent == 3
    assert searched.steps[last] == ()
    assert all(state.sent < 3 for state in before)


def test_a_word_is_followed_or_left() -> None:
    model = SessionModel(Interact(5, 2), Theory(TOLERANCE))
    word = session(Tag.INIT, Tag.REFUTE, Tag.REFUTE, Tag.RATIFY)
    followed = explore(PrefixModel(model, word))
    assert max(place.followed for place in followed.steps) == 4


def test_a_trace_is_written_as_itf() -> None:
    (claim,) = find("pxp.terminates")
    result = ClaimChecker().check(claim, "equivalence")
    document = json.loads(to_itf(claim.name, result.model, result.verdict))
    assert document["#meta"]["format"] == "ITF"
    assert document["#meta"]["property"] == "terminates"
    assert document["loop"] == 3
    assert [state["action"] for state in document["states"]][:2] == ["", "m INIT"]
    assert set(document["vars"]) == set(document["states"][0]) - {"#meta"}


def test_sources_are_of_claims_of_the_catalogue() -> None:
    known = {claim.id for claim in CLAIMS}
    assert set(SOURCES) <= known
    found = {claim.id: source_of(claim) for claim in CLAIMS}
    assert found["pxp.replies-RATIFY"] == "[A] Proposition 5"
    assert found["pxp.replies-REFUTE"] == found["pxp(k).terminates"] == OWN


def test_when_a_session_is_closed_is_compared_with_what_the_papers_say() -> None:
    text = files("pxp_fsm").joinpath("automata/data/interact.toml").read_text("utf-8")
    for new in ("stop or j >= n + 1", "j >= n", "stop"):
        table = parse_automaton(text.replace("stop or j >= n", new))
        assert [*predicates.stop(Interact(table=table))], new
    assert [*predicates.stop(Interact())] == []


def test_a_number_is_what_a_paper_says_however_it_is_written() -> None:
    text = files("pxp_fsm").joinpath("automata/data/pxp_k.toml").read_text("utf-8")
    again = "last == RATIFY and tag == RATIFY"
    due = f"ratified + 1 if {again} else ratified"
    assert due in text
    for written, fine in (
        (due, True),
        (f"8 if ratified == 7 and {again} else {due}", True),
        (f"7 if ratified == 7 and {again} else {due}", False),
        (f"9 if ratified == 7 and {again} else {due}", False),
    ):
        wrong = [*predicates.limits(parse_automaton(text.replace(due, written)))]
        assert {one.split(" at ")[0] for one in wrong} == (set() if fine else {"ratified"}), written


def test_the_catalogue_states_what_its_titles_say() -> None:
    built = [*catalogue._rules_and_rows(), *catalogue._interact(), *catalogue._pxp()]
    assert [replace(one, check=two.check) for one, two in zip(built, CLAIMS, strict=True)] == [
        *CLAIMS
    ]
    by_id = {claim.id: claim for claim in built}
    checker = ClaimChecker(Bounds(5, 1))
    never = checker.check(by_id["interact.revised-never"], "reflexive")
    assert never.status is Status.HOLDS_UP_TO
    noisy = checker.check(by_id["pxp(k).no-alternation"], "noisy")
    assert noisy.status is Status.FAILS
    assert {"m:REFUTE", "h:REFUTE"} & {f"{m.sender}:{m.tag}" for m in noisy.messages}
    for claim in catalogue._rules_and_rows():  # exact: nothing of them is bounded
        assert claim.exact
    for claim in catalogue._replies("pxp(k)"):  # in this order they are checked
        first, second = claim.expected
        assert assumptions_of(first) > assumptions_of(second)


def test_pxp_without_k_is_bounded_by_nothing() -> None:
    checker = ClaimChecker(Bounds(5, 1))
    for claim in CLAIMS:
        if claim.protocol == "pxp" and claim.explores and "noisy" in claim.expected:
            status = checker.check(claim, "noisy").status
            assert status in (Status.HOLDS, Status.FAILS), claim.id


def test_final_agreement_is_of_both_predictions_and_explanations() -> None:
    found = space(4, 1, NOISY)
    model = SessionModel(Interact(4, 1), Theory(NOISY))
    related, apart = Structure(2, frozenset({(0, 1)}), frozenset({(0, 1)})), Structure(2)
    ended = next(state for state in found.steps if state.over == "ratified")
    for predictions, explanations, status in (
        (related, related, Status.HOLDS),
        (related, apart, Status.FAILS),
        (apart, related, Status.FAILS),
    ):
        state = ended._replace(predictions=predictions, explanations=explanations)
        alone = Space({state: ()}, {state: None})
        assert predicates.final_agreement(model, alone).status is status


def test_a_session_that_is_stuck_is_not_over() -> None:
    found = space(4, 1, NOISY)
    model = SessionModel(Interact(4, 1), Theory(NOISY))
    assert predicates.ends_within_n(model, found).status is Status.HOLDS
    state = next(state for state in found.steps if state.over == "ratified")
    stuck = state._replace(over="stuck")
    assert predicates.ends_within_n(model, Space({stuck: ()}, {stuck: None})).status is Status.FAILS


def test_a_model_is_called_after_its_rules_and_bounds() -> None:
    names = [SessionModel(rules, Theory(NOISY)).name for rules in (Interact(5, 2), Pxp(1), Pxp())]
    assert names == ["interact(n = 5, k = 2)", "pxp(k = 1)", "pxp()"]


@pytest.mark.parametrize("tag", [*predicates.REPLIES])
def test_an_answer_that_is_no_reply_is_found(tag: str) -> None:
    """Against all pairs of a message and the one that follows it."""
    wrong = set[bool]()
    for assumptions in (NOISY, EQUIVALENCE):
        model = SessionModel(Pxp(), Theory(assumptions), observes=False)
        sessions = explore(model)
        pairs = {
            (tag_of(step), tag_of(following))
            for steps in sessions.steps.values()
            for step in steps
            for following in sessions.steps[step.target]
        }
        allowed = {*predicates.REPLIES[tag], str(Tag.TERM)}
        fails = any(heard == tag and reply not in allowed for heard, reply in pairs)
        due = Status.FAILS if fails else Status.HOLDS
        assert predicates.replies_to(tag)(model, sessions).status is due
        wrong.add(fails)
    assert wrong == ({False} if tag == Tag.INIT else {False, True})


@pytest.mark.parametrize("table", ["interact", "pxp"])
def test_a_table_by_which_nobody_can_send_is_found(table: str) -> None:
    """After the first message nobody has one to send."""
    whole = builtin(table)
    rows = [row for row in whole.transitions if row.kind is not Kind.SEND or row.label == "INIT"]
    silent = replace(whole, transitions=tuple(rows))
    for automaton, status in ((whole, Status.HOLDS), (silent, Status.FAILS)):
        model = SessionModel(Pxp(table=automaton), Theory(NOISY), observes=False)
        verdict = predicates.some_agent_can_send(model, Space({}, {}))
        assert verdict.status is status
        assert ("INIT" in verdict.reason) is (status is Status.FAILS)


def test_two_agents_that_say_anything_are_each_read_by_their_own_tags() -> None:
    """In each state both automata of a definition say what its predicate says of those tags."""
    states = explore(predicates.Tags()).steps
    assert len({state.sent for state in states}) == 16 * 16
    for state in states:
        for sent, at in zip(state.sent, state.at, strict=True):
            for definition, where in zip(DEFINITIONS.values(), at, strict=True):
                assert (where in definition.accepting) is definition.holds(sent)


def test_what_fails_is_expected_to_fail_under_fewer_assumptions() -> None:
    failing = 0
    for claim in catalogue.CLAIMS:
        for name, status in claim.expected.items():
            for left_out in assumptions_of(name) if status is Status.FAILS else ():
                fewer = "+".join(sorted(one.value for one in assumptions_of(name) - {left_out}))
                if fewer and fewer not in claim.expected:
                    failing += 1
                    assert claim.expects(fewer) is Status.FAILS, (claim.name, fewer)
    assert failing > 3


def test_sequences_are_counted_at_their_n_and_k() -> None:
    n, k = min((n, k) for n, k in predicates.SEQUENCES if n != k)
    model = SessionModel(Interact(2, 1), Theory(EQUIVALENCE), observes=True)
    verdict = predicates.sequences(n, k)(model, explore(model))
    assert verdict.status is Status.HOLDS
    assert verdict.detail == f"{predicates.SEQUENCES[n, k][EQUIVALENCE]} sequences"
