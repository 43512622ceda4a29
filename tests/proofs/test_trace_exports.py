"""A trace in every format says the same steps."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pxp_fsm as pxp
from proofs.core.results import Bound, Result
from proofs.export.commands import (
    All,
    GuardedCommand,
    Is,
    Negation,
    Some,
    Test,
    Variable,
    holds_first,
)
from proofs.export.traces import TRACE_FORMATS, Walk, actions_of, export_trace, table_of
from proofs.systems import System
from pxp_fsm.analysis import counterexamples
from pxp_fsm.automata.actions import Exchange
from pxp_fsm.errors import Refused, UsageError
from pxp_fsm.sessions.live import LiveSystem

BUFFERED = System.load("m=pxp", "h=pxp", channel="fifo:1")


@pytest.fixture(scope="module")
def stuck() -> Result:
    [result] = pxp.check(BUFFERED, "AG EF ended")
    return result


@pytest.mark.parametrize("form", TRACE_FORMATS)
def test_every_format_has_every_message(stuck: Result, form: str) -> None:
    if form == "pdf":
        pytest.importorskip("typst")
    written = export_trace(stuck, form)
    assert written == export_trace(stuck, form)
    if form in ("png", "pdf"):
        assert written[:4] in (b"\x89PNG", b"%PDF")
        return
    assert written.decode().count("INIT") >= 2
    starts = {
        "itf": "{", "latex": "% needs", "svg": "<?xml", "tikz": "%", "dot": "digraph",
        "mermaid": "---", "text": "AG EF ended fails",
    }  # fmt: skip
    assert written.decode().startswith(starts[form])


def test_the_table_has_a_row_for_each_step_with_the_state_of_each_member(stuck: Result) -> None:
    table = table_of(stuck)
    assert table.headings == ("step", "action", "m", "h")
    assert stuck.trace is not None
    states = [stuck.trace.start.at, *(step.target.at for step in stuck.trace.steps)]
    assert [row[2:] for row in table.rows] == states
    assert tuple(row[1] for row in table.rows[1:]) == stuck.trace.labels
    assert [row[0] for row in table.rows] == [*range(len(states))]
    assert "m sends INIT; h in WAIT does not receive it" in table.caption


def test_the_key_of_a_table_is_of_letters_numbers_and_hyphens(stuck: Result) -> None:
    assert table_of(stuck).key == "trace-m-h-pxp-AG-EF-ended-free-guards-fifo-1-complete-runs"


@given(
    st.recursive(
        st.builds(
            Is,
            st.builds(Variable, st.just(("v",)), st.just(("a", "b")), st.integers(0, 1)),
            st.integers(0, 1),
        ),
        lambda tests: st.one_of(
            st.builds(Negation, tests),
            st.builds(All, st.lists(tests, max_size=3).map(tuple)),
            st.builds(Some, st.lists(tests, max_size=3).map(tuple)),
        ),
        max_leaves=6,
    )
)
def test_what_holds_first_is_what_its_parts_say(test: Test) -> None:
    """The dual of a test is its negation."""

    def dual(part: Test) -> Test:
        match part:
            case All(of):
                return Some(tuple(map(dual, of)))
            case Some(of):
                return All(tuple(map(dual, of)))
            case Negation(of):
                return Negation(dual(of))
            case _:
                return Negation(part)

    assert holds_first(dual(test)) is not holds_first(test)


def test_a_session_is_a_table_of_its_messages() -> None:
    line, _ = counterexamples.counterexample("refuted-never", "tolerance", 5, 1)
    table = table_of(line)
    assert table.headings == ("message", "from", "to", "tag")
    assert [row[3] for row in table.rows] == ["INIT", "REFUTE", "REFUTE", "RATIFY"]
    source = export_trace(line, "latex").decode()
    assert r"\label{tab:trace-interact-refuted-never-tolerance}" in source


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 5), max_size=12))
def test_any_walk_is_exported_as_it_was_taken(choices: list[int]) -> None:
    live, actions = LiveSystem(BUFFERED), []
    for choice in choices:
        if possible := live.possible():
            actions.append(possible[choice % len(possible)])
            live.take(actions[-1])
    walk = Walk(BUFFERED, actions, "a walk")
    itf = export_trace(walk, "itf").decode()
    if actions:
        assert actions_of(itf) == tuple(actions)
    assert json.loads(itf)["#meta"]["property"] == "a walk"
    rows = table_of(walk.result()).rows
    assert [row[2:] for row in rows][-1] == tuple(live.states.values())
    drawn = export_trace(walk, "mermaid").decode()
    sent = sum(" +" in str(action) for action in actions)
    assert len(re.findall(r"p[01]->>p[01]", drawn)) == sent


def test_what_cannot_be_exported_is_refused(stuck: Result) -> None:
    with pytest.raises(UsageError, match="choose one of itf, latex, svg"):
        export_trace(stuck, "gif")
    [holds] = pxp.check("pxp", "AG (ended -> ended)")
    assert holds.trace is None
    with pytest.raises(UsageError, match="has no trace"):
        export_trace(holds, "itf")
    with pytest.raises(Refused):
        export_trace(Walk(BUFFERED, [Exchange("m", "h", "INIT")]), "itf")


def test_a_walk_has_its_own_title_or_that_of_its_system() -> None:
    walk = Walk(BUFFERED, ())
    assert (walk.result().name, replace(walk, title="a walk").result().name) == (
        BUFFERED.name,
        "a walk",
    )


def test_a_command_is_called_after_what_it_does() -> None:
    assert GuardedCommand(Exchange("m", "h", "INIT"), (), ()).label == "m>h INIT"


def test_the_table_says_how_far_the_verdict_reaches() -> None:
    walk = Walk(BUFFERED, ()).result()
    assert walk.bound is None and "None" not in table_of(walk).caption
    bound = Bound(n=4, k=2)
    reaching = replace(walk, verdict=replace(walk.verdict, bound=bound))
    assert f"; {bound}" in table_of(reaching).caption
