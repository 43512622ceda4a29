"""Fairness and termination of systems over channels."""

from __future__ import annotations

from dataclasses import replace

import pytest
from click.testing import CliRunner

import pxp_fsm as pxp
from proofs.core.results import Status
from proofs.logic import parse
from proofs.logic.fairness import demand
from proofs.systems import (
    Composition,
    System,
    check,
    check_formulas,
    check_termination,
    parse_channel,
    system_of,
)
from proofs.systems.fairness import terminates
from pxp_fsm.automata.tables import builtin
from pxp_fsm.cli.main import commands
from tests.proofs.text_tables import table


def composed(name: str, channel: str) -> Composition:
    members = [("", builtin(name)), ("", builtin(name))]
    return Composition(system_of(members).over(parse_channel(channel)))


@pytest.mark.parametrize(
    ("table", "fails"),
    [
        (
            "pxp",
            ("ends-if-strong-agents", "ends-if-weak-rows", "ends-if-weak-agents", "always-ends"),
        ),
        (
            "interact",
            ("ends-if-strong-agents", "ends-if-weak-rows", "ends-if-weak-agents", "always-ends"),
        ),
        (
            "pxp_hang_up",
            ("ends-if-strong-agents", "ends-if-weak-rows", "ends-if-weak-agents", "always-ends"),
        ),
    ],
)
def test_two_tables_that_meet_end_where_runs_are_fair(table: str, fails: tuple[str, ...]) -> None:
    found = {q.name: v.status for q, v in terminates(composed(table, "sync"))}
    assert tuple(name for name, status in found.items() if status is Status.FAILS) == fails
    assert set(found.values()) == {Status.HOLDS, Status.FAILS}


@pytest.mark.parametrize(
    ("fair", "holds"),
    [
        ("weak:rows", (False, True, False)),
        ("strong:rows", (True, True, True)),
        ("weak:agents", (False, True, False)),
        ("strong:1.TERM|2.TERM", (True, True, True)),
    ],
)
def test_fair_runs_of_two_tables_that_meet(fair: str, holds: tuple[bool, ...]) -> None:
    formulas = ("F ended", "G F 1@WAIT | F ended", "F 1.TERM | F 2.TERM")
    found = tuple(
        check(composed("pxp", "sync"), parse(formula), demands=[demand(fair)]).status
        is Status.HOLDS
        for formula in formulas
    )
    assert found == holds


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("G !2:REV", Status.FAILS),
        ("G (1:REV -> 1.REVISE & 2?REVISE)", Status.HOLDS),
        ("G (1.REFUTE -> 1:REF)", Status.HOLDS),
        ("G (1:REF -> X (2:REF | 2:REV))", Status.FAILS),
        ("AG EF 1:RAT", Status.FAILS),
    ],
)
def test_guards_of_two_tables_that_meet(formula: str, expected: Status) -> None:
    assert check(composed("interact", "sync"), parse(formula)).status is expected
    named = formula.replace("1", "interact1").replace("2", "interact2")
    assert check(composed("interact", "sync"), parse(named)).status is expected


def stopped(by: str) -> System:
    """Two that talk for ever, and a third that stops: by itself, or when the outside says so."""
    stops = table("stops", "GOES -> [STOPPED] event STOP")
    rows = tuple(replace(row, by=by) for row in stops.transitions)
    return system_of(
        [
            ("a", table("talks", "[TALK] -> WAIT send HUM\nWAIT -> [TALK] receive HAW")),
            ("b", table("hears", "[WAIT] -> TALK receive HUM\nTALK -> [WAIT] send HAW")),
            ("c", replace(stops, transitions=rows)),
        ]
    )


@pytest.mark.parametrize("by", ["self", "clock", "world"])
@pytest.mark.parametrize("strength", ["weak", "strong"])
def test_fairness_to_agents_is_none_to_the_outside(by: str, strength: str) -> None:
    """What the outside may raise need never come, and the verdict names whose steps are fair."""
    system, name = stopped(by), f"ends-if-{strength}-agents"
    expected = Status.HOLDS if by == "self" else Status.FAILS
    text, fair = "F c@STOPPED", f"{strength}:agents"
    (ends,) = check_termination(system, names=[name])
    (stops,) = check_formulas(system, [text], fair=[fair])
    compiled = check(Composition(system), parse(text), demands=[demand(fair)], compiled=True)
    assert {ends.verdict.status, stops.verdict.status, compiled.status} == {expected}
    for one in (ends, stops):
        assert (", fair to a, b, c (not to STOP)" in one.assumptions) is (by != "self")
    (rows,) = check_formulas(system, [text], fair=[f"{strength}:rows"])
    assert rows.verdict.status is Status.HOLDS


def test_who_is_fair_to_a_row_need_not_send_each_value() -> None:
    """a sends N or stops: it may send 1 again and again, and 2 never, but it has to stop."""
    sizes = {"type": "integer", "minimum": 1, "maximum": 2}
    carries = {"N": {"type": "object", "required": ["n"], "properties": {"n": sizes}}}
    a = pxp.build_automaton(
        "a",
        [{"from": "A", "to": "A", "send": "N"}, {"from": "A", "to": "END", "send": "STOP"}],
        final=["END"],
        payloads=carries,
    )
    b = pxp.build_automaton(
        "b",
        [
            {"from": "A", "to": "A", "receive": "N", "do": {"last": "msg.n"}},
            {"from": "A", "to": "END", "receive": "STOP"},
        ],
        final=["END"],
        registers={"last": {"init": 0, "min": 0}},
        payloads=carries,
    )
    composition = Composition(System.load(a, b).with_parameters({}))
    for formula, fair, status in (
        ("F ended", "strong:rows", Status.HOLDS),
        ("F ended", "weak:rows", Status.HOLDS),
        ("F (ended | b.last=2)", "strong:agents", Status.FAILS),
        ("F b.last=2", "strong:rows", Status.FAILS),
        ("F b.last=1", "strong:rows", Status.FAILS),
        ("F (b.last=1 | b.last=2 | ended)", "strong:rows", Status.HOLDS),
    ):
        verdict = check(composition, parse(formula), demands=[demand(fair)])
        assert verdict.status is status, (formula, fair)


def test_over_a_buffer_a_guard_is_the_senders_alone() -> None:
    composition = composed("interact", "fifo:1")
    formula = parse("G (interact1:REV -> !interact2?REVISE & interact1:interact2@has.REVISE)")
    assert check(composition, formula).status is Status.HOLDS


def test_two_that_both_begin_are_stuck_over_a_buffer() -> None:
    for question, verdict in terminates(composed("pxp", "fifo:1")):
        assert verdict.trace is not None, question
        assert verdict.trace.labels == ("pxp1>pxp2 +INIT", "pxp2>pxp1 +INIT")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--channel", "sync", "--property", "termination"], 0, "ends-if-strong-rows"),
        (["--channel", "fifo:1", "--property", "termination"], 1, "+INIT"),
        (["--channel", "fifo:1", "--property", "termination", "--limit", "2"], 4, "UNKNOWN"),
        (["--channel", "sync", "--formula", "F ended", "--fair", "strong:rows"], 0, "strong:rows"),
        (["--channel", "sync", "--formula", "F ended", "--fair", "weak:rows"], 1, "for ever"),
        (
            ["--channel", "sync", "--fair", "weak:rows"],
            2,
            "--fair: the choice of runs has no effect",
        ),
        (
            ["--reduce", "symmetry", "--property", "termination"],
            2,
            "termination has its own properties",
        ),
        (
            ["--reduce", "symmetry", "--formula", "F ended", "--fair", "weak:rows"],
            2,
            "cannot be used here",
        ),
    ],
)
def test_the_command(arguments: list[str], code: int, said: str) -> None:
    done = CliRunner().invoke(commands, ["check", "pxp", *arguments])
    assert (done.exit_code, said in done.output) == (code, True), done.output
