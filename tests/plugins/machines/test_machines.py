"""Machines of other libraries do as tables what their own objects do when they are stepped."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from statemachine import State, StateMachine
from transitions import Machine
from transitions.extensions import HierarchicalMachine

import pxp_fsm as pxp
from pxp_fsm.errors import UsageError
from pxp_fsm.plugins.machines.machines import ForeignMachine
from pxp_fsm.plugins.machines.reading import read_machine
from tests.command_line import pxp as command
from tests.plugins.machines.random_machines import (
    Built,
    statemachine_class,
    stepped,
    transitions_machine,
)

KINDS = (transitions_machine, statemachine_class)


def by_table(machine: ForeignMachine) -> dict[tuple[str, str], set[str | None]]:
    """By state and trigger the targets of the table's rows, None for a refusal."""
    told: dict[tuple[str, str], set[str | None]] = {}
    for row in machine.table.transitions:
        refused = machine.table.guards.get(row.guard or "", "").startswith("refused")
        alone = row.guard is None and any(
            a.refused and (a.source, a.trigger) == (row.source, row.label)
            for a in machine.alternatives
        )
        targets = told.setdefault((row.source, row.label), set())
        targets.add(None if refused or alone else row.target)
    return told


def differences(seeds: range, build: Callable[[int], Built]) -> list[object]:
    """Where a table does not do what stepping the real machine does, under all conditions."""
    wrong = list[object]()
    for seed in seeds:
        built = build(seed)
        machine = read_machine(built.machine)
        states = [state.name for state in machine.states]
        real = stepped(built, states, list(machine.triggers))
        table = by_table(machine)
        for place, targets in real.outcomes.items():
            told = table.get(place, {None})
            if told != targets:
                wrong.append((seed, place, targets, told))
        reached, waiting = {machine.initial}, [machine.initial]
        for at in waiting:
            after = {t for (s, _), some in real.outcomes.items() for t in some if s == at and t}
            waiting += after - reached
            reached |= after
        if reached != machine.reached:
            wrong.append((seed, reached, machine.reached))
        shadowed = len(built.written) - len(real.taken)
        if shadowed and not machine.shadowed:
            wrong.append((seed, "shadowed", real.taken))
    return wrong


@pytest.mark.parametrize("build", KINDS)
def test_a_table_does_what_the_real_machine_does(build: Callable[[int], Built]) -> None:
    assert differences(range(8), build) == []


@pytest.mark.deep
@pytest.mark.parametrize("build", KINDS)
def test_a_thousand_tables_do_what_the_real_machines_do(build: Callable[[int], Built]) -> None:
    assert differences(range(8, 508), build) == []


def order() -> Machine:
    return Machine(
        states=["CART", "PAID", {"name": "SENT", "final": True}, "LOST", "GONE"],
        initial="CART",
        transitions=[
            {"trigger": "pay", "source": "CART", "dest": "PAID", "conditions": "has_money"},
            {"trigger": "pay", "source": "CART", "dest": "CART", "unless": "has_money"},
            {"trigger": "pay", "source": "CART", "dest": "GONE"},
            ["ship", "PAID", "SENT"],
            ["lose", "PAID", "LOST"],
            ["find", "GONE", "PAID"],
        ],
        auto_transitions=False,
    )


def test_what_is_wrong_is_told_in_the_words_of_the_library() -> None:
    results = pxp.check(order())
    told = [result.verdict.reason for result in results if result.name == "no-finding"]
    assert told == [
        "state GONE cannot be reached from CART: nothing leads to it",
        "state LOST is a dead end: nothing leads out of it, and to no end (SENT)",
        "trigger find is taken in no state that can be reached: only in GONE",
        "transition pay: CART → GONE never happens: an earlier one takes its trigger first "
        "(pay: CART → PAID where has_money; pay: CART → CART where not has_money)",
    ]
    assert results.notes == ("free choices, whose code is not run: has_money; not has_money",)
    [cycle] = pxp.check(order(), "no-unbounded-cycle")
    assert (cycle.status.value, cycle.as_expected) == ("FAILS", True)
    assert cycle.verdict.reason == "CART → CART (by pay): nothing bounds it"
    [lost] = pxp.check(order(), "AG EF machine@SENT")
    assert lost.trace is not None
    assert lost.trace.labels[-1].endswith("! lose")


def test_a_condition_may_be_false_for_ever() -> None:
    machine = Machine(
        states=["A", "B"],
        initial="A",
        transitions=[{"trigger": "go", "source": "A", "dest": "B", "conditions": "ready"}],
        auto_transitions=False,
    )
    reached, must = pxp.check(machine, "EF machine@B", "AF machine@B")
    assert (reached.status.value, must.status.value) == ("HOLDS", "FAILS")


def test_automatic_triggers_are_left_out_and_named() -> None:
    machine = Machine(states=["A", "B"], initial="A", transitions=[["go", "A", "A"]])
    results = pxp.check(machine)
    assert "state B cannot be reached" in results[1].verdict.reason
    assert "the 2 triggers that transitions adds by itself" in results.notes[0]


class Order(StateMachine):
    """An order; two of its faults are those that the library does not look for."""

    cart = State(initial=True)
    paid = State()
    sent = State(final=True)
    pay = cart.to(paid) | cart.to(sent, cond="is_gift")
    ship = paid.to(sent, validators="has_address")
    is_gift = True

    def has_address(self) -> None:
        """Raise where there is none."""


def test_a_class_is_read_without_making_an_object_and_its_lines_are_told() -> None:
    results = pxp.check(Order)
    [shadowed] = [r.verdict.fault for r in results if r.verdict.fault is not None]
    assert "pay: cart → sent where is_gift never happens" in shadowed.message
    source = Path(__file__).read_text("utf-8").splitlines()
    assert shadowed.line is not None
    assert source[shadowed.line - 1].strip().startswith("pay = ")
    assert "refused: has_address raises" in results.notes[0]
    assert pxp.check(Order())[0].status is pxp.check(Order)[0].status


def test_machines_are_joined_by_name_and_drawn(tmp_path: Path) -> None:
    system = pxp.System(a=order(), b=Order)
    assert system.name == "a: machine; b: order"
    results = pxp.check(system, "EF (a@SENT & b@sent)")
    assert results[0].status.value == "HOLDS"
    drawn = pxp.draw(order(), tmp_path / "order.dot").read_text("utf-8")
    assert "pay_has_money / !pay" in drawn
    with pytest.raises(UsageError, match="not both"):
        pxp.System(system.members, a=order())


@pytest.mark.parametrize(
    ("machine", "problem"),
    [
        (
            HierarchicalMachine(states=["A", {"name": "B", "children": ["x", "y"]}], initial="A"),
            r"nested states \(B\)",
        ),
        (
            HierarchicalMachine(states=["A", {"name": "B", "parallel": ["x", "y"]}], initial="A"),
            r"has parallel states \(B\)",
        ),
        (
            HierarchicalMachine(
                states=["A", {"name": "B", "children": ["x", {"name": "y", "children": ["z"]}]}],
                initial="A",
            ),
            r"has nested states \(B, B_y\)",
        ),
        (Machine(model=None, states=["A"], initial=None), "no initial state"),
    ],
)
def test_what_is_not_read_is_refused_by_name(machine: Machine, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        pxp.check(machine)  # at once: no result is read


def test_parallel_states_of_a_class_are_refused_by_name() -> None:
    from statemachine import StateChart

    class Chart(StateChart[Any]):
        class both(State.Parallel):  # noqa: N801 - the library names states so
            class left(State.Compound):  # noqa: N801
                one = State(initial=True)
                two = State(final=True)
                go = one.to(two)

            class right(State.Compound):  # noqa: N801
                three = State(initial=True)
                four = State(final=True)
                stop = three.to(four)

    with pytest.raises(UsageError, match=r"parallel states \(both\)"):
        pxp.check(Chart)


MODULE = """\
from transitions import Machine

STATES = ["A", "B", "C"]
machine = Machine(
    states=STATES,
    transitions=[
        ["go", "A", "B"],
        ["go", "A", "C"],
    ],
    initial="A",
    auto_transitions=False,
)


def build():
    return machine


number = 3
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of the user's in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path)
    name = f"orders_{tmp_path.name}".replace("-", "_")
    Path(f"{name}.py").write_text(MODULE, "utf-8")
    return name


def test_the_command_line_names_the_users_own_code(module: str) -> None:
    here = Path.cwd()
    checked = command("check", f"{module}:machine", "-o", "found.sarif", cwd=here)
    assert checked.returncode == 1
    assert f"{module}.py, line 8: transition go: A → C never happens" in checked.stdout
    assert "state C cannot be reached from A" in checked.stdout
    sarif = json.loads(Path("found.sarif").read_text("utf-8"))
    places = [
        result["locations"][0]["physicalLocation"]
        for result in sarif["runs"][0]["results"]
        if "never happens" in result["message"]["text"]
    ]
    assert places == [{"artifactLocation": {"uri": f"{module}.py"}, "region": {"startLine": 8}}]
    for line in (
        ("check", f"{module}:build", "--formula", "AG !build@C"),
        ("check", f"a={module}:machine", f"b={module}:machine", "--formula", "EF b@B"),
        ("draw", f"{module}:machine", "-o", "drawn.mmd"),
    ):
        done = command(*line, cwd=here)
        assert done.returncode == 0, done.stdout + done.stderr
    assert Path("drawn.mmd").exists()


@pytest.mark.parametrize(
    ("what", "problem"),
    [
        ("nowhere_at_all:machine", "cannot be imported: ModuleNotFoundError"),
        ("{}:other", "has no other; machines there: machine"),
        ("{}:number", "is no machine"),
        (
            "{0}.py:machine",
            "a machine is named by its module: give {0}:machine (pxp help machines)",
        ),
        ("../{1}/{0}.py:machine", "give {0}:machine, in ../{1} (pxp help"),
    ],
)
def test_a_name_that_is_none_is_told(module: str, what: str, problem: str) -> None:
    named = (module, Path.cwd().name)
    done = command("check", what.format(*named), cwd=Path.cwd())
    assert done.returncode == 2
    assert problem.format(*named) in done.stderr
    assert "Traceback" not in done.stderr
