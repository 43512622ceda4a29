"""State machines from any table: every row, guard outcome and refusal, on two real agents."""

from __future__ import annotations

import sys
import unittest
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import settings

from pxp_fsm.automata.automaton import (
    DECIDE,
    Automaton,
    Transition,
    Trigger,
    Valuation,
    happening,
    sending,
)
from pxp_fsm.automata.tables import BUILTIN, builtin, load_automaton, parse_automaton
from pxp_fsm.errors import TableError, UsageError
from pxp_fsm.plugins.conformance.endpoints import AgentEnd, Build, EndpointAct, TableEnd
from pxp_fsm.plugins.conformance.mealy import Stimulus
from pxp_fsm.plugins.conformance.planning import (
    Attempt,
    CaseCoverage,
    CaseKind,
    CoverPlan,
    coverage_lines,
    kind_of,
)
from pxp_fsm.plugins.conformance.stateful import Pair, Wrong, drive, state_machine
from pxp_fsm.protocol.messages import Message
from pxp_fsm.sessions.machine import Machine
from tests.sampling import sampled

ASKING = Path(__file__).parents[3] / "examples" / "asking.toml"
ENDS: dict[str, Build] = {"machine": TableEnd, "agent": AgentEnd}

# of one agent: rows, guard outcomes, refusals; over a channel without a queue and with one
CASES = {
    ("interact", 0): (8, 17, 143),
    ("pxp", 0): (8, 17, 147),
    ("pxp_hang_up", 0): (10, 17, 144),
    ("interact", 1): (8, 17, 130),
    ("pxp_hang_up", 1): (11, 17, 129),
    ("asking", 0): (6, 5, 89),
}
SOON = [("pxp_hang_up", 1, "machine"), ("asking", 0, "machine")]
ALL = [(*case, end) for case in CASES for end in ENDS if (case[0], end) != ("asking", "agent")]


LATER = [case for case in ALL if case not in SOON]


def table_of(name: str) -> Automaton:
    return builtin(name) if name in BUILTIN else load_automaton(ASKING)


@pytest.mark.deep
@pytest.mark.parametrize(("name", "capacity", "end"), SOON)
def test_every_row_guard_outcome_and_refusal_is_tried(name: str, capacity: int, end: str) -> None:
    coverage = drive(table_of(name), ENDS[end], capacity=capacity, examples=15)
    assert coverage.missing == ()
    assert (coverage.complete_after or 200) <= 15
    rows, guards, refusals = CASES[name, capacity]
    for agent in (0, 1):
        assert coverage.counts(agent) == {
            CaseKind.ROW: (rows, rows),
            CaseKind.GUARDS: (guards, guards),
            CaseKind.REFUSAL: (refusals, refusals),
        }


@pytest.mark.deep
@pytest.mark.parametrize(("name", "capacity", "end"), LATER)
def test_within_two_hundred_examples_everywhere(name: str, capacity: int, end: str) -> None:
    coverage = drive(table_of(name), ENDS[end], capacity=capacity, examples=15)
    assert coverage.missing == ()
    counts = tuple(done for done, _ in coverage.counts(0).values())
    assert counts == CASES[name, capacity]


def test_the_report_names_what_was_not_tried_and_what_cannot_be() -> None:
    plan = CoverPlan((builtin("pxp_hang_up"), builtin("pxp_hang_up")))
    coverage = CaseCoverage(plan, examples=3)
    for case in plan.cases[1:]:
        coverage.note(case)
    said = list(coverage_lines(coverage))
    assert said[0] == "m (pxp_hang_up): rows 9 of 10, guard outcomes 17 of 17, refusals 144 of 144"
    assert said[2] == "3 examples, 341 cases decided; not complete"
    assert said[3:] == [
        "not tried: m in IDLE: send INIT",
        "no way leads to it over a channel of capacity 0: m in END: receive TERM",
        "no way leads to it over a channel of capacity 0: h in END: receive TERM",
    ]
    coverage.note(plan.cases[0])
    assert coverage.complete_after == 3


@pytest.mark.parametrize(
    ("name", "capacity", "end", "every"),
    [
        ("interact", 0, "machine", 1),
        ("interact", 2, "machine", 1),
        ("asking", 1, "machine", 1),
        ("interact", 0, "agent", 9),
    ],
)
def test_each_case_has_a_way_that_real_agents_take(
    name: str, capacity: int, end: str, every: int
) -> None:
    """No Hypothesis here: the planned ways themselves, each from the start."""
    table = table_of(name)
    plan = CoverPlan((table, table), capacity)
    for case in plan.cases[::every]:
        pair = Pair(plan, (ENDS[end], ENDS[end]))
        way = plan.way(case, plan.start)
        assert way is not None
        decided = [pair.attempt(move).cases for move in way]
        assert case in decided[-1]
        assert all(case not in cases for cases in decided[:-1])


def test_kinds_of_cases() -> None:
    plan = CoverPlan((builtin("interact"), builtin("interact")))
    mixed = [case for case in plan.cases if case.given.event == DECIDE and case.agent == 0]
    kinds = {(case.state, kind_of(plan, case)) for case in mixed}
    assert kinds == {
        ("DECIDE", CaseKind.GUARDS),
        *((state, CaseKind.REFUSAL) for state in ("IDLE", "WAIT", "DECIDE", "END")),
    }


class Obliging:
    """An agent of one's own with a fault: what it should REJECT it ratifies."""

    def __init__(self, name: str, table: Automaton) -> None:
        self.name = name
        self.machine = Machine(table)

    def act(self, event: Trigger, valuation: Valuation | None) -> EndpointAct:
        action = self.machine.automaton.step(self.machine.state, event, valuation).action
        return EndpointAct("+RATIFY" if action == "+REJECT" else action)

    def carried(self, message: object) -> None:
        pass


def test_a_fault_of_ones_own_agent_is_told_with_a_shortest_example() -> None:
    with pytest.raises(Wrong) as caught:
        drive(builtin("interact"), Obliging, examples=15)
    said = str(caught.value)
    assert "decide REJ" in said
    assert "was answered by +RATIFY, the table's answer is +REJECT" in said
    before = said.partition("; before it: ")[2]
    assert before in {f"{name}: {how} INIT" for name in "mh" for how in ("send", "receive")}


class Tired(TableEnd):
    """It replies twice and then no more, which no single way of the tables shows."""

    replies = 0

    def carried(self, message: Message) -> None:
        self.replies += message.sender == self.name
        if self.replies > 2:
            raise RuntimeError("tired")


@pytest.mark.deep
def test_a_fault_that_needs_a_history_is_told_with_what_led_to_it() -> None:
    client, server = parse_automaton(CLIENT), parse_automaton(SERVER)
    with pytest.raises(Wrong, match="raised RuntimeError: tired") as caught:
        drive(client, peer=server, peer_build=Tired, examples=5)
    assert 6 <= len(caught.value.way) <= 8


class _Runaway(Machine):
    """Closes although it is in no state to."""

    def fire(
        self, event: Trigger, valuation: Valuation | None = None, payload: object = None
    ) -> Transition:
        if event == happening("CLOSE") and self.state == "IDLE":
            self._model.state = "END"
            return self.automaton.transitions[-1]
        return super().fire(event, valuation, payload)


def test_a_machine_that_moves_where_the_table_does_not_is_told() -> None:
    def build(name: str, table: Automaton) -> TableEnd:
        return TableEnd(name, table, _Runaway)

    with pytest.raises(Wrong, match=r"event CLOSE .* did something, which the table does not"):
        drive(builtin("interact"), build, examples=20)


@pytest.mark.parametrize("place", sampled(range(12), 3))
def test_each_changed_row_is_found_by_its_ways(place: int) -> None:
    """Without chance: some way of the plan ends where the changed machine does otherwise."""
    table = builtin("interact")
    row = table.transitions[place]
    other = "WAIT" if row.target != "WAIT" else "DECIDE"
    rows = tuple(replace(r, target=other) if r is row else r for r in table.transitions)
    changed = replace(table, transitions=rows)
    plan = CoverPlan((table, table))

    def wrong(name: str, _table: Automaton) -> TableEnd:
        return TableEnd(name, changed)

    found = 0
    for case in plan.cases:
        pair = Pair(plan, (wrong, TableEnd))
        try:
            for move in plan.way(case, plan.start) or ():
                pair.attempt(move)
        except Wrong:
            found += 1
    assert found


CLIENT = """\
format = 1
name = "client"
title = "Client"
peer = "server"
initial = "READY"
final = ["READY"]
states = [{ name = "READY" }, { name = "ASKED" }]
rows = [
  { from = "READY", to = "ASKED", send = "ASK" },
  { from = "ASKED", to = "READY", receive = "REPLY" },
]
"""
SERVER = """\
format = 1
name = "server"
title = "Server"
peer = "client"
initial = "IDLE"
final = ["IDLE"]
states = [{ name = "IDLE" }, { name = "BUSY" }]
rows = [
  { from = "IDLE", to = "BUSY", receive = "ASK" },
  { from = "BUSY", to = "IDLE", send = "REPLY" },
]
"""


CHATTER = """\
format = 1
name = "chatter"
title = "Chatter"
initial = "TALK"
final = ["TALK"]
states = [{ name = "TALK" }]
rows = [
  { from = "TALK", to = "TALK", send = ["HUM", "HAW"] },
  { from = "TALK", to = "TALK", receive = ["HUM", "HAW"] },
]
"""


@pytest.mark.deep
def test_two_tables() -> None:
    client, server = parse_automaton(CLIENT), parse_automaton(SERVER)
    coverage = drive(client, peer=server, examples=20)
    assert coverage.missing == ()
    assert list(coverage_lines(coverage))[:2] == [
        "m (client): rows 2 of 2, guard outcomes 0 of 0, refusals 10 of 10",
        "h (server): rows 2 of 2, guard outcomes 0 of 0, refusals 10 of 10",
    ]
    with pytest.raises(TableError, match="names server as its peer"):
        CoverPlan((client, client))


def test_as_a_test_case_of_ones_own() -> None:
    machine = state_machine(parse_automaton(CLIENT), peer=parse_automaton(SERVER))
    machine.TestCase.settings = settings(max_examples=5, deadline=None)
    result = unittest.TestResult()
    machine.TestCase("runTest").run(result)
    assert (result.testsRun, result.failures, result.errors) == (1, [], [])


def test_what_is_no_channel() -> None:
    with pytest.raises(UsageError, match="capacity is 0"):
        CoverPlan((builtin("pxp"), builtin("pxp")), -1)
    with pytest.raises(UsageError, match=r"have more than 5,000 configurations; take less"):
        _ = CoverPlan((parse_automaton(CHATTER), parse_automaton(CHATTER)), 8).cases
    move = Attempt(0, Stimulus(sending("INIT")))
    assert repr(move) == "<m: send INIT>"
    assert str(Attempt(1, None)) == "h: deliver"


def test_without_hypothesis_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(UsageError, match=r"pip install 'pxp-fsm\[conformance\]'"):
        drive(builtin("interact"))
