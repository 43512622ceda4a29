"""Checking of networks of LLM agents: the table of one agent, and that of the pipeline.

Each claim comes with a change that makes it false: an oracle taken out, a row gone. The trace that
shows it is taken by the real machine before anyone sees it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from proofs.core.explore import Space, Step, Trace, explore
from proofs.core.results import Result, Status, Verdict
from proofs.requests import NamedProperty, Request
from proofs.systems.results import MACHINE, machine_result
from pxp_fsm.automata.actions import Decide, External
from pxp_fsm.automata.automaton import Automaton, one_hot
from pxp_fsm.automata.tables import builtin, load_automaton
from pxp_fsm.plugins.easylan.decisions import AGENT, PIPELINE, Counters
from pxp_fsm.plugins.easylan.proofs.agent import NetworkAgent
from pxp_fsm.plugins.easylan.proofs.claims import (
    CLAIMS,
    Network,
    NetworkClaim,
    ends,
    has_external_input,
    label_of,
)
from pxp_fsm.plugins.easylan.proofs.pipeline import EDIT, Pipeline, PipelineBounds
from pxp_fsm.sessions.machine import Machine

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
        found = ends(lambda s, t: label_of(t) not in counts and not has_external_input(s, t))(
            wide, space
        )
        holds = ranked and found.status is Status.HOLDS
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

    def accepts(self, given: Any) -> bool:
        """The name of such a table."""
        return isinstance(given, str) and given in TABLES

    def properties(self) -> Iterator[NamedProperty]:
        """The claims about them."""
        return (NamedProperty(claim.name, claim.table, claim.title) for claim in CLAIMS)

    def results(self, request: Request) -> Iterator[Result]:
        """The claims about each, as built and changed; and its machine compared with it."""
        for table in TABLES:
            if table in request.subjects:
                found = checked(table)
                yield from (one for one in found if request.wants(one.name, table))
                if request.wants(MACHINE):
                    yield machine_result(load_automaton(table))


NETWORKS = NetworkTables()
