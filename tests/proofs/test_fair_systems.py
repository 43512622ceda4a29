"""Fairness and termination of systems over channels, beside the product of two tables."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from proofs.logic import parse
from proofs.logic.steps import demand
from proofs.logic.systems import check as check_product
from proofs.logic.systems import terminates as product_terminates
from proofs.product import Product
from proofs.systems import Composition, check, parse_channel, system_of
from proofs.systems.fairly import terminates
from proofs.verdicts import Status
from pxp_fsm.tables import builtin
from pxp_fsm.workbench.cli.main import commands

TABLES = ("pxp", "interact", "pxp_hang_up")


def composed(table: str, channel: str) -> Composition:
    members = [("", builtin(table)), ("", builtin(table))]
    return Composition(system_of(members).over(parse_channel(channel)))


@pytest.mark.parametrize("table", TABLES)
def test_two_tables_that_meet_end_as_their_product_does(table: str) -> None:
    product = Product(builtin(table), builtin(table))
    expected = {question.name: v.status for question, v in product_terminates(product)}
    found = {q.name: v.status for q, v in terminates(composed(table, "sync"))}
    assert found == expected


@pytest.mark.parametrize(
    "fair", ["weak:rows", "strong:rows", "weak:agents", "strong:1.TERM|2.TERM"]
)
@pytest.mark.parametrize("formula", ["F ended", "G F 1@WAIT | F ended", "F 1.TERM | F 2.TERM"])
def test_fair_runs_of_two_tables_that_meet_are_those_of_their_product(
    formula: str, fair: str
) -> None:
    product = Product(builtin("pxp"), builtin("pxp"))
    one = check_product(product, parse(formula), demands=[demand(fair)])
    two = check(composed("pxp", "sync"), parse(formula), demands=[demand(fair)])
    assert one.status is two.status


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
def test_guards_of_two_tables_that_meet_are_those_of_their_product(
    formula: str, expected: Status
) -> None:
    product = Product(builtin("interact"), builtin("interact"))
    assert check_product(product, parse(formula)).status is expected
    assert check(composed("interact", "sync"), parse(formula)).status is expected
    named = formula.replace("1", "interact1").replace("2", "interact2")
    assert check(composed("interact", "sync"), parse(named)).status is expected


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
        (["--channel", "sync", "--termination"], 0, "ends-if-strong-rows"),
        (["--channel", "fifo:1", "--termination"], 1, "+INIT"),
        (["--channel", "fifo:1", "--termination", "--limit", "2"], 4, "UNKNOWN"),
        (["--channel", "sync", "--formula", "F ended", "--fair", "strong:rows"], 0, "strong:rows"),
        (["--channel", "sync", "--formula", "F ended", "--fair", "weak:rows"], 1, "for ever"),
        (["--channel", "sync", "--fair", "weak:rows"], 2, "give a --formula"),
        (["--reduce", "symmetry", "--termination"], 2, "asks its own questions"),
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
