"""Which cases of two tables were tried on real agents: rows, guard outcomes, refusals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from proofs.conformance.planning import NAMES, Case, Plan
from proofs.conformance.stimuli import answer_of
from pxp_fsm.automaton import DECIDE


class What(StrEnum):
    """What a case is about."""

    ROW = "rows"
    GUARDS = "guard outcomes"
    REFUSAL = "refusals"


def kind_of(plan: Plan, case: Case) -> What:
    """A row that is taken, what guards say in a state that decides, or something refused.

    A guarded row is a guard outcome too; it counts as one.
    """
    table = plan.tables[case.agent]
    if case.given.event == DECIDE:
        declared = table.guards_of(case.state)
        if declared and set(declared) == {name for name, _ in case.given.truths or ()}:
            return What.GUARDS
    said, _ = answer_of(table, case.state, case.given)
    return What.REFUSAL if said is None else What.ROW


@dataclass
class Coverage:
    """What was tried of `plan`, how often, and after how many examples each case had been."""

    plan: Plan
    examples: int = 0
    tried: dict[Case, int] = field(default_factory=dict)
    first: dict[Case, int] = field(default_factory=dict)

    def note(self, case: Case) -> None:
        """`case` was decided on the real agents, as its table says."""
        self.tried[case] = self.tried.get(case, 0) + 1
        self.first.setdefault(case, self.examples)

    @property
    def missing(self) -> tuple[Case, ...]:
        """The cases that a way leads to and that were not tried."""
        return tuple(case for case in self.plan.cases if case not in self.tried)

    @property
    def complete_after(self) -> int | None:
        """After how many examples every case had been tried; None where one has not been."""
        return None if self.missing else max(self.first.values(), default=0)

    def counts(self, agent: int) -> dict[What, tuple[int, int]]:
        """Of each kind, how many cases of `agent` were tried, and how many there are."""
        found = {what: [0, 0] for what in What}
        for case in self.plan.cases:
            if case.agent == agent:
                count = found[kind_of(self.plan, case)]
                count[0] += case in self.tried
                count[1] += 1
        return {what: (count[0], count[1]) for what, count in found.items()}


def told(coverage: Coverage) -> Iterator[str]:
    """Lines that say what was tried, what was not, and what no way leads to over this channel."""
    plan = coverage.plan
    for agent, table in enumerate(plan.tables):
        counts = coverage.counts(agent)
        said = ", ".join(f"{what.value} {done} of {all_}" for what, (done, all_) in counts.items())
        yield f"{NAMES[agent]} ({table.name}): {said}"
    after = coverage.complete_after
    tried = sum(coverage.tried.values())
    done = "not complete" if after is None else f"complete after {after}"
    yield f"{coverage.examples} examples, {tried} cases decided; {done}"
    for case in coverage.missing:
        yield f"not tried: {case}"
    known = set(plan.cases)
    for case in plan.all_cases():
        if case not in known and kind_of(plan, case) is not What.REFUSAL:
            yield f"no way leads to it over a channel of capacity {plan.capacity}: {case}"
