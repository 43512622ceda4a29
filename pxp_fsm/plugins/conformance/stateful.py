"""Hypothesis state machines from any table: two real agents at a real channel, compared with it.

Hypothesis (extra `conformance`) is loaded when a machine is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pxp_fsm.automata.automaton import Automaton, Kind
from pxp_fsm.errors import PXPError, require_extra
from pxp_fsm.plugins.conformance.endpoints import Build, Connection, End, TableEnd
from pxp_fsm.plugins.conformance.mealy import Stimulus, answer_of
from pxp_fsm.plugins.conformance.planning import (
    NAMES,
    Attempt,
    CaseCoverage,
    CoverPlan,
    MoveEffect,
    PlannedCase,
)
from pxp_fsm.protocol.messages import Answer, Message

if TYPE_CHECKING:
    from hypothesis.stateful import RuleBasedStateMachine

STEPS = 50
"""How many cases an example goes for."""


class Wrong(AssertionError):
    """Two agents did not do what their tables say; its words say where, and how it came there.

    `way` is what was tried, the last of which went wrong.
    """

    def __init__(self, reason: str, way: Sequence[Attempt]) -> None:
        super().__init__(reason)
        self.way = tuple(way)


class Pair:
    """Two agents that `builds` make, at a real channel, and where the plan says that they are."""

    def __init__(self, plan: CoverPlan, builds: tuple[Build, Build]) -> None:
        self._plan = plan
        self._ends: tuple[End, End] = (
            builds[0](NAMES[0], plan.tables[0]),
            builds[1](NAMES[1], plan.tables[1]),
        )
        machines = {name: end.machine for name, end in zip(NAMES, self._ends, strict=True)}
        self._connection = Connection(machines, plan.capacity)
        self._sent = 0
        self._way: list[Attempt] = []
        self.at = plan.start

    def attempt(self, move: Attempt) -> MoveEffect:
        """Try `move` on the agents and compare with the tables; raises `Wrong`."""
        expected = self._plan.outcome(self.at, move)
        self._way.append(move)
        try:
            moved = self._tried(move)
        except PXPError as error:
            moved, why = False, str(error)
        except Wrong:
            raise
        except Exception as error:
            raise self._wrong(move, f"raised {type(error).__name__}: {error}") from error
        else:
            why = ""
        if moved is not expected.moved:
            did = "did something" if moved else f"refused ({why})"
            raise self._wrong(move, f"{did}, which the table does not")
        states = tuple(end.machine.state for end in self._ends)
        if states != expected.after.states:
            should = " and ".join(expected.after.states)
            raise self._wrong(move, f"led to {' and '.join(states)}, the tables lead to {should}")
        self.at = expected.after
        return expected

    def _tried(self, move: Attempt) -> bool:
        """Whether something has moved; an error of this package is a refusal."""
        agent, stimulus = move.agent, move.given
        if stimulus is None:
            delivered = self._connection.deliver(NAMES[agent])
            if delivered is not None:
                self._ends[agent].carried(delivered)
            return delivered is not None
        end = self._ends[agent]
        if stimulus.event.kind is Kind.RECEIVE:
            self._carry(1 - agent, stimulus.event.label, stimulus, Answer("", ""))
            return True
        if stimulus.event.kind is Kind.EVENT:
            end.machine.fire(stimulus.event)
            return True
        act = end.act(stimulus.event, stimulus.valuation)
        action, _ = answer_of(self._plan.tables[agent], self.at.states[agent], stimulus)
        if action is not None and act.action != action:
            raise self._wrong(move, f"was answered by {act.action}, the table's answer is {action}")
        if act.action[:1] == Kind.SEND:
            self._carry(agent, act.action[1:], stimulus, act.answer)
        else:
            end.machine.fire(stimulus.event, stimulus.valuation)
        return True

    def _carry(self, sender: int, tag: str, stimulus: Stimulus, answer: Answer) -> None:
        names = (NAMES[sender], NAMES[1 - sender])
        message = Message("conformance", self._sent + 1, names[0], tag, answer, names[1])
        self._connection.carry(message, stimulus.valuation)
        self._sent += 1
        self._ends[sender].carried(message)
        if not self._plan.capacity:
            self._ends[1 - sender].carried(message)

    def _wrong(self, move: Attempt, reason: str) -> Wrong:
        before = ", ".join(map(str, self._way[:-1])) or "nothing"
        states = f"{NAMES[0]} in {self.at.states[0]}, {NAMES[1]} in {self.at.states[1]}"
        return Wrong(f"{move} ({states}) {reason}; before it: {before}", self._way)


def state_machine(
    table: Automaton,
    build: Build = TableEnd,
    *,
    peer: Automaton | None = None,
    peer_build: Build | None = None,
    capacity: int = 0,
    coverage: CaseCoverage | None = None,
) -> type[RuleBasedStateMachine]:
    """A Hypothesis state machine in which an agent of `table` talks to one of `peer`.

    `build` makes the agents under test, `peer_build` the other ones (by default alike); `peer` is
    by default the same table; `capacity` makes the channel a queue. Its rules go for a case (an
    agent in a state, and what is done to it there) by the shortest way that the tables give, first
    for those that the example has not tried yet; or try anything, where it is. What agents and
    channel do is compared at each step. Choices depend on the example alone, so examples shrink and
    are found again. `coverage` collects what was tried; the machine's `TestCase` runs it under
    unittest or pytest.

    Raises `UsageError` without Hypothesis, and what `CoverPlan` raises.
    """
    require_extra("conformance", "a state machine for tests", {"hypothesis": "Hypothesis"})
    from hypothesis import note
    from hypothesis import strategies as st
    from hypothesis.stateful import RuleBasedStateMachine, rule

    plan = CoverPlan((table, peer or table), capacity) if coverage is None else coverage.plan
    collected = CaseCoverage(plan) if coverage is None else coverage
    builds = (build, peer_build or build)

    class Conversation(RuleBasedStateMachine):
        """Two agents; `reach` goes for so many cases, `attempt` tries anything."""

        def __init__(self) -> None:
            super().__init__()
            collected.examples += 1
            self.left: list[PlannedCase] = list(plan.cases)
            self.pair = Pair(plan, builds)

        @rule(place=st.integers(0, max(0, len(plan.cases) - 1)), count=st.integers(1, 16))
        def reach(self, place: int, count: int) -> None:
            for _ in range(count):
                case = self.left[place % len(self.left)]
                moves = plan.way(case, self.pair.at)
                if moves is None:
                    self.pair = Pair(plan, builds)
                    moves = plan.way(case, plan.start) or ()
                note(f"{case}: by {', '.join(map(str, moves))}")
                for move in moves:
                    self.go(move)

        @rule(move=st.sampled_from(plan.moves))
        def attempt(self, move: Attempt) -> None:
            self.go(move)

        def go(self, move: Attempt) -> None:
            for case in self.pair.attempt(move).cases:
                collected.note(case)
                if case in self.left:
                    self.left.remove(case)
            if not self.left:
                self.left = list(plan.cases)

    return Conversation


def drive(
    table: Automaton,
    build: Build = TableEnd,
    *,
    peer: Automaton | None = None,
    peer_build: Build | None = None,
    capacity: int = 0,
    examples: int = 200,
) -> CaseCoverage:
    """Run `state_machine` for that many examples, always the same ones, and say what was covered.

    Raises `Wrong`, with the shortest example that was found, where an agent does not do what its
    table says.
    """
    coverage = CaseCoverage(CoverPlan((table, peer or table), capacity))
    machine = state_machine(table, build, peer=peer, peer_build=peer_build, coverage=coverage)
    wrong = _wrong(machine, examples)
    if wrong is not None:
        told = _shortest(wrong, coverage.plan, (build, peer_build or build))
        if told is wrong:  # no way of the tables shows it: Hypothesis makes its example shorter
            told = _wrong(machine, examples, shrink=True) or wrong
        raise told from told.__cause__
    return coverage


def _wrong(
    machine: type[RuleBasedStateMachine], examples: int, *, shrink: bool = False
) -> Wrong | None:
    """What goes wrong in so many examples, always the same ones.

    To `shrink` takes a hundred times as long as to find it.
    """
    from hypothesis import HealthCheck, Phase, settings
    from hypothesis.stateful import run_state_machine_as_test

    chosen = settings(
        max_examples=examples,
        stateful_step_count=STEPS,
        deadline=None,
        derandomize=True,
        database=None,
        phases=(Phase.generate, *((Phase.shrink,) if shrink else ())),
        report_multiple_bugs=False,
        suppress_health_check=(HealthCheck.too_slow,),  # a slow machine is no fault
    )
    try:
        run_state_machine_as_test(machine, settings=chosen)
    except Wrong as wrong:
        return wrong
    return None


def _shortest(wrong: Wrong, plan: CoverPlan, builds: tuple[Build, Build]) -> Wrong:
    """What went wrong by a shortest way of the tables: Hypothesis may stop at a longer one."""
    ways = (plan.way(case, plan.start) for case in plan.cases)
    for way in sorted(filter(None, ways), key=len):
        if len(way) >= len(wrong.way):
            break
        pair = Pair(plan, builds)
        try:
            for move in way:
                pair.attempt(move)
        except Wrong as shorter:
            if shorter.way[-1] == wrong.way[-1]:
                return shorter
    return wrong
