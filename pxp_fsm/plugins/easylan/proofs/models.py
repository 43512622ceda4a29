"""An agent, and the update pipeline, as models: their tables with an abstraction of their data.

The guards are those that run (`pxp_fsm.plugins.easylan.decisions`); what oracles say is open.
`Without` takes an oracle out: its guard then passes whatever is so. With bounds the counters are
counted; without, whether iterations or retries are left is open too, which is every bound at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

from proofs.core.explore import Step
from proofs.core.results import Bound
from pxp_fsm.automata.actions import Action, Decide, External
from pxp_fsm.automata.automaton import DECIDE, Automaton, Transition, one_hot
from pxp_fsm.errors import NotEnabled
from pxp_fsm.plugins.easylan.decisions import (
    CAUSES,
    Counters,
    Facts,
    Inputs,
    counted,
    gate_guard,
    is_beginning,
    pipeline_guard,
    reply_guard,
)

MEANINGS = {"CONTROLLED": ("ON", "OFF"), "EXECUTED": ("DONE",)}
"""What a usable reply can mean, by the state that follows it."""


class AgentState(NamedTuple):
    """A state of the table; `tries` are those of the present module, `usable` of its last reply."""

    at: str
    blocked: bool
    enabled: bool
    tries: int = 0
    usable: bool = True
    asked: bool = False


@dataclass(frozen=True)
class NetworkAgent:
    """The agent of `table`, blocked or not, its control module enabled or not.

    A module is asked `tries` times at most; None is any number of tries at once.
    """

    table: Automaton
    tries: int | None = 3
    without: frozenset[str] = frozenset()
    gate: Callable[[Inputs], str] = gate_guard

    @property
    def name(self) -> str:
        out = f", without {', '.join(sorted(self.without))}" if self.without else ""
        return f"{self.table.name} (tries = {self.tries or 'any'}{out})"

    @property
    def bound(self) -> Bound:
        """How far its verdicts reach."""
        return Bound(tries=self.tries or "all")

    def initial(self) -> Iterable[AgentState]:
        for blocked, enabled in product((False, True), repeat=2):
            yield AgentState(self.table.initial, blocked, enabled)

    def successors(self, place: AgentState) -> Iterator[Step[AgentState]]:
        guards = self.table.guards_of(place.at)
        for guard, left in self._guards(place) if guards else ():
            try:
                row = self.table.step(place.at, DECIDE, one_hot(guard, guards))
            except NotEnabled:  # a table that lacks the row is stuck there
                continue
            yield Step(Decide(guard, row.label), self._moved(place, row), (left,))
        for row in self.table.leaving(place.at):
            if row.guard is None:
                for usable in (True, False) if row.label == "REPLY" else (True,):
                    yield Step(External(row.label), self._moved(place, row)._replace(usable=usable))

    def propositions(self, place: AgentState) -> frozenset[str]:
        flags = ("blocked", "enabled", "usable", "asked")
        return frozenset({f"@{place.at}", *(flag for flag in flags if getattr(place, flag))})

    def ended(self, place: AgentState) -> bool:
        """Whether the agent's turn is over."""
        return place.at in self.table.final

    def _guards(self, place: AgentState) -> Iterator[tuple[str, bool]]:
        if place.at == "GATE":
            yield self.gate(Inputs(place.blocked, place.enabled)), True
            return
        open_tries = (False, True) if self.tries is None else (place.tries < self.tries,)
        for left, meaning in product(open_tries, MEANINGS[place.at]):
            usable = place.usable or "usable" in self.without
            yield reply_guard(usable, left or "tries_left" in self.without, meaning), left

    def _moved(self, place: AgentState, row: Transition) -> AgentState:
        tries = place.tries
        if row.label in ("CONSULT", "ACTIVATE"):
            tries = 0
        if row.label == "REPLY" and self.tries is not None:
            tries = min(tries + 1, self.tries)
        asked = place.asked or row.target == "CONTROL"
        return place._replace(at=row.target, tries=tries, asked=asked)


ORACLES = ("complete", "fresh", "valid", "clean", "iterations_left", "retries_left")
"""What can be taken out: the oracles that hold something back by saying no."""

STEPS = frozenset({"GAP", "REASON", "WEAKNESS", "PARAMETERS"})
BACK = {f"BACK_TO_{step}": step for step in sorted(STEPS)}
"""The rows by which the developer goes back to an earlier step."""

DEVELOPER = frozenset({"REJECTED", "ACCEPT", "FORGET", "RETRY", "TAKE_OVER", "RESUME", "SKIP"})
DEVELOPER |= {"CANCEL", *BACK}
"""The events that only a developer causes."""

OPEN = {"AGREED": "complete", "APPLY": "valid", "REPLAYED": "clean"}
"""What is found out by a row with such a label: it may be so or not."""

EDIT = External("EDIT")
"""The developer edits the network; the pipeline does not move."""


class PipelineState(NamedTuple):
    """A state of the table, with what is in hand there; what does not matter is as at first.

    `fresh`: the network is as it was when it last ran; `complete`: without a hole; `valid`,
    `clean`: of the copy; `accepted`: the developer accepts a regression, or forgets the example;
    `cause`, `strategy`: of this iteration; `cyclic`: of the network itself.
    """

    at: str
    attended: bool
    iterations: int = 0
    retries: int = 0
    fresh: bool = True
    complete: bool = True
    valid: bool = True
    clean: bool = True
    accepted: bool = False
    cause: str = ""
    strategy: str = ""
    cyclic: bool = False


@dataclass(frozen=True)
class PipelineBounds:
    """How many iterations an example has, and how many retries an iteration."""

    iterations: int = 2
    retries: int = 2


@dataclass(frozen=True)
class Pipeline:
    """The pipeline of `table`, attended and not; `bounds` of None are all bounds.

    `without` names oracles that are taken out, `assumed` those that always say yes by themselves;
    `count` is how rows are counted.
    """

    table: Automaton
    bounds: PipelineBounds | None = PipelineBounds()
    without: frozenset[str] = frozenset()
    assumed: frozenset[str] = frozenset()
    count: Callable[[Counters, str], Counters] = counted

    @property
    def name(self) -> str:
        bounds = self.bounds
        told = (
            "any bounds"
            if bounds is None
            else f"iterations = {bounds.iterations}, retries = {bounds.retries}"
        )
        out = f", without {', '.join(sorted(self.without))}" if self.without else ""
        return f"{self.table.name} ({told}{out})"

    @property
    def bound(self) -> Bound:
        """How far its verdicts reach."""
        if self.bounds is None:
            return Bound(iterations="all", retries="all")
        return Bound(iterations=self.bounds.iterations, retries=self.bounds.retries)

    def initial(self) -> Iterable[PipelineState]:
        return (PipelineState(self.table.initial, attended) for attended in (False, True))

    def successors(self, place: PipelineState) -> Iterator[Step[PipelineState]]:
        if self.table.guards_of(place.at):
            yield from self._decided(place)
        else:
            yield from self._happened(place)
        if place.attended and place.fresh and place.at not in self.table.final:
            yield Step(EDIT, place._replace(fresh=False))

    def propositions(self, place: PipelineState) -> frozenset[str]:
        flags = ("attended", "fresh", "complete", "valid", "clean", "accepted", "cyclic")
        return frozenset({f"@{place.at}", *(flag for flag in flags if getattr(place, flag))})

    def ended(self, place: PipelineState) -> bool:
        """Whether the pipeline has ended."""
        return place.at in self.table.final

    def _decided(self, place: PipelineState) -> Iterator[Step[PipelineState]]:
        """The row of the one guard that is true, for each answer that is still open."""
        guards = self.table.guards_of(place.at)
        for facts in self._facts(place):
            guard = pipeline_guard(place.at, facts)
            try:
                row = self.table.step(place.at, DECIDE, one_hot(guard, guards))
            except NotEnabled:  # a table that lacks the row is stuck there
                continue
            left = (facts.iterations_left, facts.retries_left)
            yield from self._taken(place, row, facts.cause, left)

    def _facts(self, place: PipelineState) -> Iterator[Facts]:
        causes = CAUSES.get(place.at, ("",))
        satisfied = (False, True) if place.at == "JUDGE" else (False,)
        for cause, good in product(causes, satisfied):
            for iterations, retries in self._left(place):
                facts = Facts(
                    satisfied=good,
                    complete=place.complete,
                    fresh=place.fresh,
                    valid=place.valid,
                    clean=place.clean,
                    iterations_left=iterations,
                    retries_left=retries,
                    attended=place.attended,
                    cause=cause,
                )
                yield self._let_pass(facts)

    def _let_pass(self, facts: Facts) -> Facts:
        """`facts` in which an oracle that is taken out says yes."""
        out = self.without
        return replace(
            facts,
            complete=facts.complete or "complete" in out,
            fresh=facts.fresh or "fresh" in out,
            valid=facts.valid or "valid" in out,
            clean=facts.clean or "clean" in out,
            iterations_left=facts.iterations_left or "iterations_left" in out,
            retries_left=facts.retries_left or "retries_left" in out,
        )

    def _left(self, place: PipelineState) -> Iterator[tuple[bool, bool]]:
        if self.bounds is None:
            yield from product((False, True), repeat=2)
        else:
            bounds = self.bounds
            yield place.iterations < bounds.iterations, place.retries < bounds.retries

    def _happened(self, place: PipelineState) -> Iterator[Step[PipelineState]]:
        """Whatever can happen where the pipeline waits."""
        for row in self.table.leaving(place.at):
            if row.label == "RESTART" and (place.fresh or "fresh" in self.without):
                continue  # nobody has edited the network, or it is not looked at
            if row.label == "BACK_TO_WEAKNESS" and place.strategy not in _BY_WEAKNESS:
                continue  # that step was not made in this iteration
            if place.attended or row.label not in DEVELOPER:
                yield from self._taken(place, row)

    def _taken(
        self, place: PipelineState, row: Transition, cause: str = "", left: tuple[bool, ...] = ()
    ) -> Iterator[Step[PipelineState]]:
        """The steps that take `row`: one for each answer to what is asked on the way."""
        counters = self.count(Counters(place.iterations, place.retries), row.label)
        most = PipelineBounds(0, 0) if self.bounds is None else self.bounds
        target = _carried(place, row, cause)._replace(
            # what a missing oracle lets pass is not counted beyond the bounds
            iterations=min(counters.iterations, most.iterations),
            retries=min(counters.retries, most.retries),
        )
        asked = OPEN.get(row.label)
        open_still = asked is not None and asked not in self.assumed
        for answer in (True, False) if open_still else (True,):
            yield Step(_action(row), _found(target, asked, answer), left)


def _found(place: PipelineState, asked: str | None, answer: bool) -> PipelineState:
    """`place` with the answer to what was asked."""
    if asked == "complete":
        return place._replace(complete=answer)
    if asked == "valid":
        return place._replace(valid=answer)
    return place._replace(clean=answer) if asked == "clean" else place


def _action(row: Transition) -> Action:
    return Decide(row.guard, row.label) if row.guard else External(row.label)


def _carried(place: PipelineState, row: Transition, cause: str) -> PipelineState:
    """Where the row leads, with what it leaves in hand."""
    fresh = place.fresh or is_beginning(row.label)
    cyclic = place.cyclic or (row.label == "COMMIT" and not place.valid)
    if row.target not in _IN_HAND:
        return PipelineState(row.target, place.attended, fresh=fresh, cyclic=cyclic)
    target = place._replace(at=row.target, fresh=fresh, cyclic=cyclic)
    if row.source in CAUSES and row.guard not in ("AGAIN", "STUCK"):
        target = target._replace(cause=cause, strategy=row.label)
    if row.label in BACK:
        poor = row.target == "WEAKNESS"  # what led there stands
        target = target._replace(cause="POOR" if poor else "", strategy="GO_ON" if poor else "")
    if row.label in ("ACCEPT", "FORGET"):
        return target._replace(accepted=True)
    if row.target in STEPS:
        return target._replace(complete=True, valid=True, clean=True, accepted=False)
    return target


_IN_HAND = STEPS | {f"{step}_MADE" for step in STEPS}
_IN_HAND |= {"VALIDATE", "REPLAY", "WEIGH", "REGRESSION", "COMMIT"}

_BY_WEAKNESS = frozenset({"TURN_ON", "ADD_KNOWLEDGE", "SPLIT", "ADD_INPUTS"})
"""The strategies that step 3 leads to."""
