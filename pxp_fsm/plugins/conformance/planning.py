"""Test plans for two agents and a channel: the reachable cases, and a path to each.

Pure: nothing runs here. `stateful` takes these ways with real agents.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import field
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

from pxp_fsm.automata.automaton import DECIDE, Automaton, Kind, receiving
from pxp_fsm.automata.soundness import check_peers
from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.conformance.mealy import Stimulus, answer_of, stimuli

if TYPE_CHECKING:
    import networkx as nx

T = TypeVar("T")

LARGEST = 5_000
"""The most configurations that are planned over."""

NAMES = ("m", "h")
"""The two agents."""


@dataclass(frozen=True, slots=True)
class PlannedCase:
    """An agent (0 or 1) in a state, and what is done to it there."""

    agent: int
    state: str
    given: Stimulus

    def __str__(self) -> str:
        return f"{NAMES[self.agent]} in {self.state}: {self.given}"


@dataclass(frozen=True, slots=True, repr=False)
class Attempt:
    """Something that is tried: `given` to an agent; None is the delivery of what is on its way.

    A tag to be received is carried as a message of the other agent.
    """

    agent: int
    given: Stimulus | None

    def __str__(self) -> str:
        return f"{NAMES[self.agent]}: {self.given or 'deliver'}"

    def __repr__(self) -> str:  # what Hypothesis shows of an example
        return f"<{self}>"


@dataclass(frozen=True, slots=True)
class PairConfiguration:
    """Both agents' states, and the tags on their way to each."""

    states: tuple[str, str]
    queues: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())


@dataclass(frozen=True, slots=True)
class MoveEffect:
    """What a move comes to: where it leads, whether something moved, which cases it decides.

    A case is decided where the table's answer to it has shown: its row was taken, or it was refused
    where the table refuses. What only the other end of the channel refuses decides nothing.
    """

    after: PairConfiguration
    moved: bool
    cases: tuple[PlannedCase, ...]


class CoverPlan:
    """Two tables joined by a channel of `capacity` (0: synchronous).

    Raises `TableError` where one sends what the other receives in no state, and `UsageError` where
    there are more than `LARGEST` configurations.
    """

    def __init__(self, tables: tuple[Automaton, Automaton], capacity: int = 0) -> None:
        check_peers(*tables)
        if capacity < 0:
            raise UsageError(f"a channel's capacity is 0 (synchronous) or more, not {capacity}")
        self.tables = tables
        self.capacity = capacity
        self.inputs = (stimuli(tables[0]), stimuli(tables[1]))
        self.start = PairConfiguration((tables[0].initial, tables[1].initial))

    @cached_property
    def moves(self) -> tuple[Attempt, ...]:
        """Everything that can be tried, anywhere."""
        tried = [Attempt(agent, stimulus) for agent in (0, 1) for stimulus in self.inputs[agent]]
        return (*tried, *((Attempt(0, None), Attempt(1, None)) if self.capacity else ()))

    @cached_property
    def cases(self) -> tuple[PlannedCase, ...]:
        """Every case that some way leads to, in a fixed order."""
        reached = {case for effects in self._outcomes.values() for o in effects for case in o.cases}
        return tuple(case for case in self.all_cases() if case in reached)

    def all_cases(self) -> Iterator[PlannedCase]:
        """Every agent, state and stimulus, whether a way leads there or not."""
        for agent, table in enumerate(self.tables):
            for state in table.states:
                for stimulus in self.inputs[agent]:
                    yield PlannedCase(agent, state.name, stimulus)

    def outcome(self, at: PairConfiguration, move: Attempt) -> MoveEffect:
        """What `move` comes to in `at`, by the tables alone."""
        agent, stimulus = move.agent, move.given
        if stimulus is None:
            return self._delivered(at, agent)
        if stimulus.event.kind is Kind.RECEIVE:
            return self._carried(at, 1 - agent, stimulus.event.label, None)
        action, target = answer_of(self.tables[agent], at.states[agent], stimulus)
        case = PlannedCase(agent, at.states[agent], stimulus)
        if action is None:
            return MoveEffect(at, False, (case,))
        if action[:1] == Kind.SEND:
            return self._carried(at, agent, action[1:], case)
        return MoveEffect(
            PairConfiguration(_with(at.states, agent, target), at.queues), True, (case,)
        )

    def _carried(
        self, at: PairConfiguration, sender: int, tag: str, case: PlannedCase | None
    ) -> MoveEffect:
        """A message of `sender`; `case` is the one that made it send, None for one from outside."""
        receiver = 1 - sender
        row = self.tables[sender].sends(at.states[sender], tag)
        heard = PlannedCase(receiver, at.states[receiver], Stimulus(receiving(tag)))
        taken = self.tables[receiver].receives(at.states[receiver], tag)
        if self.capacity:
            if row is None or len(at.queues[receiver]) >= self.capacity:
                return MoveEffect(at, False, ())
            queues = _with(at.queues, receiver, (*at.queues[receiver], tag))
            states = _with(at.states, sender, row.target)
            return MoveEffect(PairConfiguration(states, queues), True, (case,) if case else ())
        if taken is None:
            return MoveEffect(at, False, (heard,))
        if row is None:
            return MoveEffect(at, False, ())
        states = _with(_with(at.states, sender, row.target), receiver, taken.target)
        return MoveEffect(PairConfiguration(states), True, (case, heard) if case else (heard,))

    def _delivered(self, at: PairConfiguration, agent: int) -> MoveEffect:
        if not at.queues[agent]:
            return MoveEffect(at, False, ())
        tag, *rest = at.queues[agent]
        case = PlannedCase(agent, at.states[agent], Stimulus(receiving(tag)))
        taken = self.tables[agent].receives(at.states[agent], tag)
        if taken is None:
            return MoveEffect(at, False, (case,))
        states = _with(at.states, agent, taken.target)
        return MoveEffect(
            PairConfiguration(states, _with(at.queues, agent, tuple(rest))), True, (case,)
        )

    @cached_property
    def _outcomes(self) -> dict[PairConfiguration, tuple[MoveEffect, ...]]:
        """Of each configuration that can be reached, what each move comes to."""
        by_configuration: dict[PairConfiguration, tuple[MoveEffect, ...]] = {}
        waiting = deque([self.start])
        seen = {self.start}
        while waiting:
            at = waiting.popleft()
            by_configuration[at] = tuple(self.outcome(at, move) for move in self.moves)
            fresh = {
                outcome.after: None for outcome in by_configuration[at] if outcome.after not in seen
            }
            seen.update(fresh)
            waiting.extend(fresh)
            if len(seen) > LARGEST:
                raise UsageError(
                    f"{self.tables[0].name} and {self.tables[1].name} over a channel of capacity "
                    f"{self.capacity} have more than {LARGEST:,} configurations; take less capacity"
                )
        return by_configuration

    @cached_property
    def _graph(self) -> nx.DiGraph[PairConfiguration]:
        import networkx as nx

        graph: nx.DiGraph[PairConfiguration] = nx.DiGraph()
        for at, outcomes in self._outcomes.items():
            for move, outcome in zip(self.moves, outcomes, strict=True):
                if not graph.has_edge(at, outcome.after):
                    graph.add_edge(at, outcome.after, move=move)
        return graph

    @cached_property
    def _deciding(self) -> dict[PlannedCase, dict[PairConfiguration, Attempt]]:
        """For each case, where it is decided and by which move."""
        by_configuration: dict[PlannedCase, dict[PairConfiguration, Attempt]] = {}
        for at, outcomes in self._outcomes.items():
            for move, outcome in zip(self.moves, outcomes, strict=True):
                for case in outcome.cases:
                    by_configuration.setdefault(case, {}).setdefault(at, move)
        return by_configuration

    def way(self, case: PlannedCase, at: PairConfiguration) -> tuple[Attempt, ...] | None:
        """A shortest way from `at` to `case`, or None where only a new session leads to it."""
        import networkx as nx

        paths: dict[PairConfiguration, list[PairConfiguration]] = nx.single_source_shortest_path(
            self._graph, at
        )
        places = self._deciding[case]
        near = min(
            (there for there in places if there in paths),
            key=lambda there: len(paths[there]),
            default=None,
        )
        if near is None:
            return None
        path = paths[near]
        steps = [self._graph.edges[a, b]["move"] for a, b in pairwise(path)]
        return (*steps, places[near])


def _with(pair: tuple[T, T], place: int, value: T) -> tuple[T, T]:
    return (value, pair[1]) if place == 0 else (pair[0], value)


class CaseKind(StrEnum):
    """What a case is about."""

    ROW = "rows"
    GUARDS = "guard outcomes"
    REFUSAL = "refusals"


def kind_of(plan: CoverPlan, case: PlannedCase) -> CaseKind:
    """A row that is taken, what guards say in a state that decides, or something refused.

    A guarded row is a guard outcome too; it counts as one. What is no valuation of the state's
    guards is refused.
    """
    table = plan.tables[case.agent]
    action, _ = answer_of(table, case.state, case.given)
    if case.given.event == DECIDE and (action is not None or not case.given.unusual):
        declared = table.guards_of(case.state)
        if declared and set(declared) == {name for name, _ in case.given.truths or ()}:
            return CaseKind.GUARDS
    return CaseKind.REFUSAL if action is None else CaseKind.ROW


@dataclass
class CaseCoverage:
    """What was tried of `plan`, how often, and after how many examples each case had been."""

    plan: CoverPlan
    examples: int = 0
    tried: dict[PlannedCase, int] = field(default_factory=dict)
    first: dict[PlannedCase, int] = field(default_factory=dict)

    def note(self, case: PlannedCase) -> None:
        """`case` was decided on the real agents, as its table says."""
        self.tried[case] = self.tried.get(case, 0) + 1
        self.first.setdefault(case, self.examples)

    @property
    def missing(self) -> tuple[PlannedCase, ...]:
        """The cases that a way leads to and that were not tried."""
        return tuple(case for case in self.plan.cases if case not in self.tried)

    @property
    def complete_after(self) -> int | None:
        """After how many examples every case had been tried; None where one has not been."""
        return None if self.missing else max(self.first.values(), default=0)

    def counts(self, agent: int) -> dict[CaseKind, tuple[int, int]]:
        """Of each kind, how many cases of `agent` were tried, and how many there are."""
        counts = {kind: [0, 0] for kind in CaseKind}
        for case in self.plan.cases:
            if case.agent == agent:
                count = counts[kind_of(self.plan, case)]
                count[0] += case in self.tried
                count[1] += 1
        return {kind: (count[0], count[1]) for kind, count in counts.items()}


def coverage_lines(coverage: CaseCoverage) -> Iterator[str]:
    """Lines that say what was tried, what was not, and what no way leads to over this channel."""
    plan = coverage.plan
    for agent, table in enumerate(plan.tables):
        counts = coverage.counts(agent)
        summary = ", ".join(
            f"{kind.value} {done} of {all_}" for kind, (done, all_) in counts.items()
        )
        yield f"{NAMES[agent]} ({table.name}): {summary}"
    after = coverage.complete_after
    tried = sum(coverage.tried.values())
    done = "not complete" if after is None else f"complete after {after}"
    yield f"{coverage.examples} examples, {tried} cases decided; {done}"
    for case in coverage.missing:
        yield f"not tried: {case}"
    known = set(plan.cases)
    for case in plan.all_cases():
        if case not in known and kind_of(plan, case) is not CaseKind.REFUSAL:
            yield f"no way leads to it over a channel of capacity {plan.capacity}: {case}"
