"""What is verified is what runs: a machine takes the row that its table says, in every case."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from types import SimpleNamespace

import pytest

from proofs.core.results import Status
from proofs.systems.results import Build, check_machine, compare_machine
from pxp_fsm.automata.automaton import (
    DECIDE,
    Automaton,
    Kind,
    Transition,
    Trigger,
    Valuation,
    receiving,
)
from pxp_fsm.automata.tables import BUILTIN, builtin, parse_automaton
from pxp_fsm.errors import NotEnabled, PXPError, UsageError
from pxp_fsm.sessions.machine import Machine

# 22 events (decide; 6 labels and an unknown one, as sent, received, from outside), with 2
# valuations (none, the empty one) in IDLE, WAIT and END and 17 (none, 2^4) in DECIDE; 33 of PXP(k),
# which has a fifth guard.
CASES = dict.fromkeys(BUILTIN, 22 * (3 * 2 + 17)) | {"pxp_k": 22 * (3 * 2 + 33)}


@pytest.mark.parametrize("name", BUILTIN)
def test_the_machine_is_the_table_in_every_case(name: str) -> None:
    compared = compare_machine(builtin(name))
    assert compared.differences == ()
    assert compared.cases == CASES[name]


def altered(automaton: Automaton, old: Transition, new: Transition) -> Automaton:
    rows = tuple(new if row is old else row for row in automaton.transitions)
    return replace(automaton, transitions=rows)


def honest(table: Automaton) -> Build:
    """Machines of another table than the one they are compared with."""

    def build(_real: Automaton, state: str) -> Machine:
        return Machine(table, state)

    return build


def impostor(table: Automaton) -> Build:
    """Machines of another table that say they are of the one they are compared with."""

    def build(real: Automaton, state: str) -> Machine:
        machine = Machine(table, state)
        machine.automaton = real
        return machine

    return build


@pytest.mark.parametrize("name", ["interact", pytest.param("pxp_hang_up", marks=pytest.mark.deep)])
def test_a_machine_of_any_other_table_is_caught(name: str) -> None:
    """Every row in turn leads elsewhere, does something else, or is under another guard."""
    real = builtin(name)
    for row in real.transitions:
        elsewhere = replace(row, target="WAIT" if row.target == "END" else "END")
        if row.guard is None:
            otherwise = replace(row, label="OTHER")
        else:
            otherwise = replace(row, guard="REJ" if row.guard != "REJ" else "RAT")
        for new in (elsewhere, otherwise):
            table = altered(real, row, new)
            assert compare_machine(real, impostor(table)).differences, new
    assert compare_machine(real, honest(table)).differences


def test_a_difference_names_its_case() -> None:
    real = builtin("pxp")
    row = next(t for t in real.transitions if t.trigger == receiving("TERM"))
    table = altered(real, row, replace(row, target="DECIDE"))
    compared = compare_machine(real, impostor(table))
    found = {(d.state, d.event, d.machine.state, d.table.state) for d in compared.differences}
    assert found == {("WAIT", receiving("TERM"), "DECIDE", "END")}
    assert [d.valuation for d in compared.differences] == [None, ()]


@pytest.mark.parametrize("kind", [Kind.SEND, Kind.RECEIVE])
def test_the_verdict_names_the_first_case_that_differs(kind: Kind) -> None:
    """Of one valuation, in which a guard decides, or of all in which a message comes."""
    real = builtin("interact")
    row = next(one for one in real.transitions if one.kind is kind and one.source != "IDLE")
    build = impostor(altered(real, row, replace(row, target="IDLE")))
    first, *others = compare_machine(real, build).differences
    assert bool(others) is (kind is Kind.RECEIVE)
    verdict = check_machine(real, build)
    assert (verdict.status, verdict.detail) == (Status.FAILS, str(first))
    assert check_machine(real).status is Status.HOLDS


def test_a_machine_that_moves_on_a_refusal_is_caught() -> None:
    class Restless(Machine):
        def fire(
            self, event: Trigger, valuation: Valuation | None = None, payload: object = None
        ) -> Transition:
            try:
                return super().fire(event, valuation, payload)
            except PXPError:
                self._model.state = "END"
                raise

    compared = compare_machine(builtin("interact"), Restless)
    assert compared.differences
    assert {d.machine.raised == d.table.raised for d in compared.differences} == {True}


def test_a_table_that_knows_the_unknown_label_is_compared_too() -> None:
    table = parse_automaton(
        """
        format = 1
        name = "odd"
        title = "Odd"
        initial = "A"
        final = ["B"]
        states = [{ name = "A" }, { name = "B" }]
        rows = [{ from = "A", to = "B", event = ["SOMETHING_UNHEARD_OF", "trigger", "state"] }]
        """
    )
    compared = compare_machine(table)
    assert compared.differences == ()
    assert compared.cases == 2 * 2 * (1 + 3 * 4)


def test_a_machine_is_taken_back_to_a_state_of_its_table_or_not_at_all() -> None:
    made = Machine(builtin("interact"))
    made.return_to("WAIT")
    with pytest.raises(UsageError, match="interact has no state 'WAITING'; its states are IDLE"):
        made.return_to("WAITING")
    assert made.state == "WAIT"


def test_a_library_that_does_not_move_a_machine_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Machine(builtin("interact"))
    made.send("INIT")
    still = SimpleNamespace(trigger=lambda *_arguments, **_keywords: False)
    monkeypatch.setattr(made, "_events", defaultdict(lambda: still))
    with pytest.raises(AssertionError, match="-REVISE is in the table but did not move"):
        made.receive("REVISE")


def test_a_refusal_says_what_is_possible_there() -> None:
    table = builtin("pxp")
    with pytest.raises(NotEnabled) as caught:
        table.step("WAIT", receiving("HELLO"))
    assert str(caught.value) == (
        "pxp: nothing in state WAIT takes -HELLO; "
        "possible there: -RATIFY, -REFUTE, -REVISE, -REJECT, -TERM"
    )
    with pytest.raises(NotEnabled, match=r"possible there: nothing, it is an end state$"):
        table.step("END", receiving("HELLO"))


def test_nothing_is_decided_where_no_guard_is() -> None:
    table = builtin("interact")
    for valuation in (None, {}, {"RAT": True}):
        with pytest.raises(NotEnabled, match="state IDLE has no guards, so nothing is decided"):
            table.step("IDLE", DECIDE, valuation)


def test_a_machine_starts_in_a_state_of_its_table_or_not_at_all() -> None:
    assert [Machine(builtin("pxp"), state).state for state in (None, "WAIT")] == ["IDLE", "WAIT"]
    for state in ("NOWHERE", ""):
        with pytest.raises(UsageError, match=f"pxp has no state {state!r}; its states are IDLE"):
            Machine(builtin("pxp"), state)
