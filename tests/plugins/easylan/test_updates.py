"""Networks' tables: every claim holds for all bounds, and fails without what it needs."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from proofs.core.explore import Step, Trace, explore
from proofs.core.results import Status
from proofs.rules.prover import prove
from proofs.systems.results import compare_machine
from pxp_fsm.automata.automaton import DECIDE, one_hot
from pxp_fsm.automata.tables import builtin
from pxp_fsm.plugins.easylan import proofs
from pxp_fsm.plugins.easylan.decisions import (
    AGENT,
    CAUSES,
    PIPELINE,
    Counters,
    Facts,
    Inputs,
    counted,
    gate_guard,
    pipeline_guard,
    reply_guard,
    returned_after,
)
from pxp_fsm.plugins.easylan.proofs import (
    CLAIMS,
    CURES,
    ORACLES,
    NetworkClaim,
    NotTaken,
    Pipeline,
    PipelineBounds,
    check,
    models,
    replayed,
)
from tests.oracles import lan_decisions
from tests.sampling import sampled


@pytest.mark.parametrize(
    "claim", sampled(CLAIMS, 3), ids=lambda claim: f"{claim.table}.{claim.name}"
)
def test_a_claim_holds_for_all_bounds_and_fails_without_what_it_needs(claim: NetworkClaim) -> None:
    model = models()[claim.table]
    assert check(claim, model).verdict.detail == "for all bounds"
    without = check(claim, model, changed=True)
    assert without.verdict.status is Status.FAILS
    assert without.verdict.trace is not None


def test_the_explored_spaces_have_their_known_sizes() -> None:
    sizes = {name: explore(model) for name, model in models().items()}
    assert [(space.states, space.transitions) for space in sizes.values()] == [
        (54, 59),
        (1421, 3580),
    ]


def test_every_oracle_is_needed_by_some_claim() -> None:
    """Whatever is taken out, a claim fails: the one whose change takes it out."""
    model = models()[PIPELINE]
    changed = (claim.change(model) for claim in proofs.claims_of(PIPELINE))
    assert {oracle for each in changed for oracle in each.without} == set(ORACLES)


def claim_named(name: str) -> NetworkClaim:
    return next(claim for claim in CLAIMS if (claim.table, claim.name) == (PIPELINE, name))


def test_giving_retries_back_on_agreement_lets_validation_loop_for_ever() -> None:
    model = models()[PIPELINE]
    assert isinstance(model, Pipeline)
    generous = replace(model, count=proofs.resets_on_agreement, assumed=frozenset({"complete"}))
    for name in ("never-loops-unasked", "unattended-ends"):
        verdict = check(claim_named(name), generous).verdict
        assert verdict.status is Status.FAILS and verdict.trace is not None
        cycle = {"! AGREED", "READY APPLY", "AGAIN REPEAT"}
        assert set(verdict.trace.labels[-verdict.cycle :]) == cycle


def test_a_bound_that_is_too_small_to_be_all_is_told_as_a_bound() -> None:
    """Where the argument for all bounds fails, what was explored is all that is said."""

    def odd(counters: Any, label: str) -> Any:
        return replace(counters, retries=0) if counters.retries == 3 else counted(counters, label)

    pipeline = models(PipelineBounds(1, 1))[PIPELINE]
    assert isinstance(pipeline, Pipeline)
    model = replace(pipeline, count=odd)
    verdict = check(claim_named("unattended-ends"), model).verdict
    assert (verdict.status, verdict.detail) == (
        Status.HOLDS_UP_TO,
        "iterations = 1, retries = 1",
    )


def test_a_trace_that_the_machine_does_not_take_is_not_shown() -> None:
    model = models()[PIPELINE]
    assert isinstance(model, Pipeline)
    trace = explore(model).find(lambda place: place.at == "GAP")
    assert trace is not None and replayed(model.table, trace) == "GAP"
    last = trace.steps[-1]
    wrong = Step(last.action, last.target._replace(at="REASON"))
    with pytest.raises(NotTaken, match="MORE BEGIN led to GAP, not to REASON"):
        replayed(model.table, Trace(trace.start, (*trace.steps[:-1], wrong)))


def test_in_every_case_exactly_one_guard_of_the_state_is_true() -> None:
    """All of them, whatever the oracles say: the guard that is named has its row."""
    table = builtin(PIPELINE)
    flags = [name for name in Facts.__slots__ if name != "cause"]
    cases = 0
    for state in table.states:
        if not state.guards:
            continue
        for truths in product((False, True), repeat=len(flags)):
            for cause in CAUSES.get(state.name, ("",)):
                facts = Facts(**dict(zip(flags, truths, strict=True)), cause=cause)
                spent = Counters(int(not facts.iterations_left), int(not facts.retries_left))
                guard = pipeline_guard(state.name, facts, spent, Counters(1, 1))
                assert guard == lan_decisions.pipeline_guard(state.name, facts)
                table.step(state.name, DECIDE, one_hot(guard, state.guards))
                cases += 1
    assert cases == 2**8 * (7 + 3 + 4)


def test_the_pipeline_counts_as_the_paper_has_it() -> None:
    labels = {row.label for row in builtin(PIPELINE).transitions}
    for label, iterations, retries in product(sorted(labels), range(4), range(4)):
        counters = Counters(iterations, retries)
        assert counted(counters, label) == lan_decisions.counted(counters, label), label


def test_rows_of_one_label_count_alike() -> None:
    for name in (AGENT, PIPELINE):
        counting = dict[str, object]()
        for row in builtin(name).transitions:
            assert counting.setdefault(row.label, row.do) == row.do


def test_an_agent_decides_as_the_paper_has_it() -> None:
    for blocked, enabled in product((False, True), repeat=2):
        inputs = Inputs(blocked, enabled)
        assert gate_guard(inputs) == lan_decisions.gate_guard(inputs)
    truths = product((False, True), (False, True), range(4), range(4))
    for usable, active, returned, returns in truths:
        for state, meaning in (("CONTROLLED", "ON" if active else "OFF"), ("EXECUTED", "DONE")):
            expected = lan_decisions.reply_guard(usable, returned < returns, meaning)
            assert expected == reply_guard(
                state, usable=usable, active=active, returned=returned, returns=returns
            )
    assert [returned_after(2, label) for label in ("RETURN", "ACTIVATE", "REPLY")] == [3, 0, 2]


def proved(name: str, *checks: str) -> tuple[str, ...]:
    """Which of these checks are proved of a table by itself, for all bounds."""
    claims = [{"name": one, "check": one} for one in checks]
    part: dict[str, Any] = {"relations": None, "starts": "", "assume": [], "ghosts": {}}
    return prove({"agent": builtin(name)}, {**part, "while": "", "claims": claims}).proved


def test_an_agent_comes_to_its_end_whatever_its_bound_and_its_answers() -> None:
    claims = ("one-guard", "never-stuck", "terminates")
    assert proved(AGENT, *claims) == claims


@pytest.mark.deep
def test_an_update_is_never_stuck_whatever_its_bounds_and_its_answers() -> None:
    """It need not end: the developer may edit the network for ever."""
    claims = ("one-guard", "never-stuck")
    assert proved(PIPELINE, *claims, "terminates") == claims


def test_each_cause_has_one_row_and_it_is_the_papers_strategy() -> None:
    rows = {
        row.guard: row.label
        for row in builtin(PIPELINE).transitions
        if row.target == "PARAMETERS" and row.source in CAUSES and row.guard != "AGAIN"
    }
    assert rows == CURES


def test_the_running_agent_is_its_table_in_every_case() -> None:
    compared = compare_machine(builtin(AGENT))
    assert compared.differences == ()
    assert compared.cases > 1000


@pytest.mark.deep
def test_the_running_pipeline_is_its_table_in_every_case() -> None:
    compared = compare_machine(builtin(PIPELINE))
    assert compared.differences == ()
