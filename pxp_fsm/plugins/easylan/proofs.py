"""Checking of networks of LLM agents: the table of one agent, and that of the pipeline.

Each is a model: its table with an abstraction of its data. The guards are those that run
(`pxp_fsm.plugins.easylan.decisions`); what oracles say is open, and `without` takes an oracle out.
With bounds the counters are counted; without, what is left is open too: every bound at once.

Each claim comes with a change that makes it false: an oracle taken out, a row gone. The trace that
shows it is taken by the real machine before anyone sees it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

from proofs.core.explore import Space, Step, Trace, explore
from proofs.core.properties import always, each_step, never_deadlocks, terminates
from proofs.core.results import Bound, Result, Status, Verdict
from proofs.requests import NamedProperty, Request
from proofs.systems.results import MACHINE, machine_result
from pxp_fsm.automata.actions import Action, Decide, External
from pxp_fsm.automata.automaton import DECIDE, Automaton, Transition, one_hot
from pxp_fsm.automata.tables import builtin, load_automaton
from pxp_fsm.errors import NotEnabled
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.easylan.decisions import (
    AGENT,
    CAUSES,
    PIPELINE,
    Counters,
    Facts,
    Inputs,
    counted,
    gate_guard,
    is_beginning,
    pipeline_guard,
    reply_guard,
)
from pxp_fsm.sessions.machine import Machine

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
            guard = reply_guard(
                place.at,
                usable=usable,
                active=meaning == "ON",
                returned=0 if left or "tries_left" in self.without else 1,
                returns=1,
            )
            yield guard, left

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
            spent = Counters(int(not facts.iterations_left), int(not facts.retries_left))
            guard = pipeline_guard(place.at, facts, spent, Counters(1, 1))
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


Network = NetworkAgent | Pipeline
"""The model of either table."""

Check = Callable[[Any, Space[Any]], Verdict]

CURES = {
    "NO_AGENT": "ADD_AGENT",
    "WRONGLY_ACTIVE": "KEEP_OFF",
    "NOT_ACTIVATED": "TURN_ON",
    "LACKS_KNOWLEDGE": "ADD_KNOWLEDGE",
    "NEEDS_STRUCTURE": "SPLIT",
    "NEEDS_INPUTS": "ADD_INPUTS",
}
"""Table 3 of the paper, read again: the one strategy for each cause (POOR is divided further)."""


@dataclass(frozen=True)
class NetworkClaim:
    """A claim about a table; `change` makes of its model one of which it is false, `instead` of it.

    `endless` claims that runs end: for all bounds they need an argument of their own.
    """

    table: str
    name: str
    title: str
    check: Check
    without: str
    change: Callable[[Any], Network]
    endless: bool = False


def label_of(step: Step[Any]) -> str:
    """The label of the row that a step takes."""
    return step.action.label if isinstance(step.action, Decide | External) else ""


def guard_of(step: Step[Any]) -> str:
    """The guard of the row that a step takes; "" where something happened from outside."""
    return step.action.guard if isinstance(step.action, Decide) else ""


def has_external_input(place: AgentState | PipelineState, step: Step[Any]) -> bool:
    """Whether somebody outside has had a say: an example was given, or a developer asked."""
    if isinstance(place, AgentState):
        return False
    if label_of(step) in DEVELOPER | {"EXAMPLE"} or step.action == EDIT:
        return True
    return place.attended and label_of(step) in ("AGREED", "RAN")


def ends(takes: Callable[[Any, Step[Any]], bool]) -> Check:
    """Every run ends, of steps that it `takes`."""

    def verdict(_model: Network, space: Space[Any]) -> Verdict:
        return terminates(space, takes)

    return verdict


def _always(holds: Callable[[Any], bool]) -> Check:
    return lambda _model, space: always(space, holds)


def _each(when: Callable[[Any, Step[Any]], bool], then: Callable[[Any, Step[Any]], bool]) -> Check:
    return lambda _model, space: each_step(space, when, then)


def _deadlocks(model: Network, space: Space[Any]) -> Verdict:
    return never_deadlocks(space, model.ended)


def _can_end(model: Network, space: Space[Any]) -> Verdict:
    """From every reachable state some run ends."""
    import networkx as nx

    graph: nx.DiGraph[Any] = nx.DiGraph()
    graph.add_nodes_from(space.steps)
    graph.add_edges_from((s, step.target) for s, steps in space.steps.items() for step in steps)
    ends = [place for place in space.steps if model.ended(place)]
    can = set(ends).union(*(nx.ancestors(graph, end) for end in ends))
    return always(space, lambda place: place in can)


def _cures(_model: Network, space: Space[Any]) -> Verdict:
    """Each cause leads to its one strategy; and each is met."""
    met = {place.cause for place in space.steps if place.at == "PARAMETERS"}
    if met != set(CURES):
        return Verdict(Status.FAILS, f"never met: {', '.join(sorted(set(CURES) - met))}")
    return always(
        space, lambda place: place.at != "PARAMETERS" or place.strategy == CURES[place.cause]
    )


def _is(label: str) -> Callable[[Any, Step[Any]], bool]:
    return lambda _place, step: label_of(step) == label


def _confirms(place: PipelineState, step: Step[PipelineState]) -> bool:
    return place.at.endswith("_MADE") and guard_of(step) not in ("STALE", "AGAIN", "STUCK", "")


def _spends(_place: PipelineState, step: Step[PipelineState]) -> bool:
    return label_of(step) in ("RESTART", "REPEAT")


def _spends_rightly(place: PipelineState, step: Step[PipelineState]) -> bool:
    """A retry is spent on what was made for the network as it is; an iteration comes back."""
    if label_of(step) == "REPEAT":
        return place.fresh
    left = (max(place.iterations - 1, 0), place.retries)
    return (step.target.iterations, step.target.retries) == left


def _goes_back(_place: PipelineState, step: Step[PipelineState]) -> bool:
    return label_of(step) in BACK


def _costs_nothing(place: PipelineState, step: Step[PipelineState]) -> bool:
    """As many retries and iterations are left, and the step is asked about again."""
    same = (step.target.iterations, step.target.retries) == (place.iterations, place.retries)
    return same and step.target.at == BACK[label_of(step)]


def _cancels(_place: PipelineState, step: Step[PipelineState]) -> bool:
    return label_of(step) == "CANCEL"


def _alone(place: PipelineState, step: Step[PipelineState]) -> bool:
    return not place.attended and label_of(step) != "EXAMPLE"


def _out(*oracles: str) -> Callable[[Any], Network]:
    return lambda model: replace(model, without=frozenset(oracles))


def _lacking(label: str) -> Callable[[Any], Network]:
    """The model whose table has no row with that label."""

    def change(model: Network) -> Network:
        rows = tuple(row for row in model.table.transitions if row.label != label)
        return replace(model, table=replace(model.table, transitions=rows))

    return change


def _swapped(label: str, other: str) -> Callable[[Any], Network]:
    """The model whose table has two labels in each other's place."""
    names = {label: other, other: label}

    def change(model: Network) -> Network:
        rows = tuple(
            replace(row, label=names.get(row.label, row.label)) for row in model.table.transitions
        )
        return replace(model, table=replace(model.table, transitions=rows))

    return change


def _cancelling_in(state: str) -> Callable[[Any], Network]:
    """The model in which cancelling leads to `state`, in place of the developer."""

    def change(model: Network) -> Network:
        rows = tuple(
            replace(row, target=state) if row.label == "CANCEL" else row
            for row in model.table.transitions
        )
        return replace(model, table=replace(model.table, transitions=rows))

    return change


def _enabled_first(inputs: Inputs) -> str:
    if not inputs.enabled:
        return "ALWAYS"
    return "BLOCKED" if inputs.blocked else "ASK"


def resets_on_agreement(counters: Counters, label: str) -> Counters:
    """A way to count that is not ours: whatever is agreed on gives back all retries."""
    if label == "AGREED":
        return Counters(counters.iterations, 0)
    return counted(counters, label)


def spends_on_going_back(counters: Counters, label: str) -> Counters:
    """A way to count that is not ours: going back to a step is a retry of it."""
    return counted(counters, "REPEAT" if label in BACK else label)


CLAIMS: tuple[NetworkClaim, ...] = (
    NetworkClaim(
        AGENT,
        "no-deadlock",
        "an agent is never stuck before its turn is over",
        _deadlocks,
        "giving a lost reply up",
        _lacking("FAIL"),
    ),
    NetworkClaim(
        AGENT,
        "turn-ends",
        "every turn ends: a module is asked again a bounded number of times",
        ends(lambda _place, _step: True),
        "a bound on tries",
        _out("tries_left"),
        endless=True,
    ),
    NetworkClaim(
        AGENT,
        "required-wins",
        "an agent with an inactive required predecessor is never active",
        _always(lambda turn: not turn.blocked or turn.at not in ("EXECUTE", "EXECUTED", "ACTIVE")),
        "looking at it first",
        lambda model: replace(model, gate=_enabled_first),
    ),
    NetworkClaim(
        AGENT,
        "disabled-asks-nothing",
        "a control module that is switched off is not asked",
        _always(lambda turn: turn.enabled or not turn.asked),
        "looking at Enabled",
        lambda model: replace(model, gate=lambda inputs: "BLOCKED" if inputs.blocked else "ASK"),
    ),
    NetworkClaim(
        AGENT,
        "malformed-no-result",
        "a reply that is not of the form never becomes a result or an activation",
        _each(
            lambda turn, step: (
                turn.at in ("CONTROLLED", "EXECUTED") and guard_of(step) not in ("AGAIN", "LOST")
            ),
            lambda turn, _step: turn.usable,
        ),
        "strict reading",
        _out("usable"),
    ),
    NetworkClaim(
        PIPELINE,
        "no-deadlock",
        "the pipeline is never stuck",
        _deadlocks,
        "giving up where alone",
        _lacking("GIVE_UP"),
    ),
    NetworkClaim(
        PIPELINE,
        "always-acyclic",
        "the network never has a cycle",
        _always(lambda place: not place.cyclic),
        "validation",
        _out("valid"),
    ),
    NetworkClaim(
        PIPELINE,
        "no-stale-commit",
        "what was made for an earlier version of the network is never committed",
        _each(_is("COMMIT"), lambda place, _step: place.fresh),
        "comparing versions",
        _out("fresh"),
    ),
    NetworkClaim(
        PIPELINE,
        "edits-cost-nothing",
        "an edit by the developer costs neither a retry nor an iteration",
        _each(_spends, _spends_rightly),
        "comparing versions",
        _out("fresh"),
    ),
    NetworkClaim(
        PIPELINE,
        "back-costs-nothing",
        "going back to an earlier step costs neither a retry nor an iteration, and asks about it",
        _each(_goes_back, _costs_nothing),
        "counting it apart from a retry",
        lambda model: replace(model, count=spends_on_going_back),
    ),
    NetworkClaim(
        PIPELINE,
        "cancel-hands-over",
        "what is cancelled goes to the developer, and only where there is one",
        _each(_cancels, lambda place, step: place.attended and step.target.at == "HANDED"),
        "the developer's row",
        _cancelling_in("RUN"),
    ),
    NetworkClaim(
        PIPELINE,
        "no-hole-confirmed",
        "no result with a hole is gone on with",
        _each(_confirms, lambda place, _step: place.complete),
        "looking for holes",
        _out("complete"),
    ),
    NetworkClaim(
        PIPELINE,
        "no-unseen-regression",
        "an update that breaks an earlier example is committed only if the developer accepts it",
        _each(_is("COMMIT"), lambda place, _step: place.clean or place.accepted),
        "replay",
        _out("clean"),
    ),
    NetworkClaim(
        PIPELINE,
        "end-reachable",
        "from wherever it is, the pipeline can come to its end",
        _can_end,
        "the row that finishes",
        _lacking("FINISH"),
    ),
    NetworkClaim(
        PIPELINE,
        "never-loops-unasked",
        "the pipeline never goes on for ever without asking somebody",
        ends(lambda place, step: not has_external_input(place, step)),
        "a bound on retries",
        _out("retries_left"),
        endless=True,
    ),
    NetworkClaim(
        PIPELINE,
        "unattended-ends",
        "without a developer every example comes to an end",
        ends(_alone),
        "a bound on iterations",
        _out("iterations_left"),
        endless=True,
    ),
    NetworkClaim(
        PIPELINE,
        "one-strategy",
        "each cause of an error picks exactly one strategy, the paper's",
        _cures,
        "the table's strategies",
        _swapped("ADD_KNOWLEDGE", "SPLIT"),
    ),
)
"""What is claimed of the two tables."""


TABLES = (AGENT, PIPELINE)
BOUNDS = PipelineBounds()


class NotTaken(Exception):
    """A trace that the real machine does not take."""


def models(bounds: PipelineBounds = BOUNDS, tries: int = 3) -> dict[str, Network]:
    """The model of each table, within bounds."""
    agent = NetworkAgent(builtin(AGENT), tries)
    return {AGENT: agent, PIPELINE: Pipeline(builtin(PIPELINE), bounds)}


def claims_of(table: str) -> tuple[NetworkClaim, ...]:
    """The claims about a table of networks."""
    return tuple(claim for claim in CLAIMS if claim.table == table)


def check(claim: NetworkClaim, model: Network, *, changed: bool = False) -> Result:
    """The verdict on a claim: as it is for all bounds, or up to them; or FAILS where `changed`."""
    started = time.perf_counter()
    subject = claim.change(model) if changed else model
    verdict = claim.check(subject, explore(subject))
    if verdict.trace is not None:
        replayed(subject.table, verdict.trace)
    if verdict.status is Status.HOLDS:
        verdict = _beyond(claim, subject, verdict)
    return Result(
        claim.table,
        claim.name,
        claim.title,
        f"without {claim.without}" if changed else "any oracles",
        verdict,
        Status.FAILS if changed else Status.HOLDS,
        time.perf_counter() - started,
        subject.name,
    )


def checked(table: str, bounds: PipelineBounds = BOUNDS) -> Iterator[Result]:
    """Every claim about a table, as built and with its change."""
    model = models(bounds)[table]
    for claim in claims_of(table):
        yield check(claim, model)
        yield check(claim, model, changed=True)


def replayed(table: Automaton, trace: Trace[Any]) -> str:
    """The state that the real machine is in after the trace. Raises `NotTaken`."""
    machine = Machine(table)
    for step in trace.steps:
        match step.action:
            case action if action == EDIT:
                continue
            case Decide(guard):
                machine.decide(one_hot(guard, table.guards_of(machine.state)))
            case External(label):
                machine.happen(label)
        if machine.state != step.target.at:
            raise NotTaken(f"{step.label} led to {machine.state}, not to {step.target.at}")
    return machine.state


def _beyond(claim: NetworkClaim, model: Network, verdict: Verdict) -> Verdict:
    """What holds within bounds holds for all, if it does where the bounds are left open.

    A run that never ends within any bounds would pass rows that count for ever, which the bounds
    forbid, or in the end none of them: where no such run is, each has an end (a ranking by
    iterations, then retries).
    """
    if isinstance(model, NetworkAgent):
        wide: Network = replace(model, tries=None)
        counts = {"RETURN"}
    else:
        wide = replace(model, bounds=None)
        counts = {"BEGIN", "REPEAT"}
    space: Space[Any] = explore(wide)
    if claim.endless:
        ranked = _ranked(wide, space, counts)
        ending = ends(lambda s, t: label_of(t) not in counts and not has_external_input(s, t))(
            wide, space
        )
        holds = ranked and ending.status is Status.HOLDS
    else:
        holds = claim.check(wide, space).status is Status.HOLDS
    if holds:
        return Verdict(Status.HOLDS, bound=wide.bound)
    return Verdict(Status.HOLDS_UP_TO, bound=model.bound)


def _ranked(model: Network, space: Space[Any], counts: set[str]) -> bool:
    """Rows that count are taken only where some are left, and nothing else sets them back.

    An edit of the developer's may: a restart comes once after it, and never by itself.
    """
    for place, steps in space.steps.items():
        for step in steps:
            if label_of(step) in counts and not step.facts[-1 if label_of(step) != "BEGIN" else 0]:
                return False
            if isinstance(model, Pipeline) and not _by_edits(place, step):
                return False
    if isinstance(model, NetworkAgent):
        return True
    labels = {row.label for row in model.table.transitions} - {"EXAMPLE", "RESUME", "RESTART"}
    for i, r in ((i, r) for i in range(4) for r in range(4)):
        for label in labels:
            new = model.count(Counters(i, r), label)
            same = Counters(i + (label == "BEGIN"), r + (label == "REPEAT"))
            if new != (Counters(i + 1, new.retries) if label == "BEGIN" else same):
                return False
    return True


def _by_edits(place: Any, step: Step[Any]) -> bool:
    """Whether the network becomes another by an edit alone, and a restart needs one."""
    if label_of(step) == "RESTART":
        return not place.fresh and bool(step.target.fresh)
    return bool(step.action == EDIT or step.target.fresh or not place.fresh)


@dataclass(frozen=True)
class NetworkTables:
    """The table of one agent, and that of the pipeline."""

    kind: str = "network"

    def accepts(self, subject: Any) -> bool:
        """The name of such a table."""
        return isinstance(subject, str) and subject in TABLES

    def properties(self) -> Iterator[NamedProperty]:
        """The claims about them."""
        return (
            NamedProperty(
                claim.name,
                claim.table,
                claim.title,
                f"Holds for any oracles: whatever modules and developers say.\n"
                f"Fails without {claim.without}; `pxp check {claim.table} --property "
                f"{claim.name}` shows both.",
            )
            for claim in CLAIMS
        )

    def results(self, request: Request) -> Iterator[Result]:
        """The claims about each, as built and changed; and its machine compared with it."""
        for table in TABLES:
            if table in request.subjects:
                results = checked(table)
                yield from (result for result in results if request.wants(result.name, table))
                if request.wants(MACHINE):
                    yield machine_result(load_automaton(table))


NETWORKS = NetworkTables()
