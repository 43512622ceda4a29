"""What is proved of the sessions that a run starts: its certificate, the claims that cover it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from proofs import certified
from pxp_fsm.errors import NoAnswer
from pxp_fsm.models import Capability, Reply, Request
from pxp_fsm.session import Session
from pxp_fsm.workbench import seating
from pxp_fsm.workbench.runs import Run


@dataclass(frozen=True)
class _Unopened:
    """A model by its name alone: who sits where is known before anybody is asked."""

    name: str
    capabilities: frozenset[Capability] = frozenset()

    async def reply(self, request: Request) -> Reply:
        raise NoAnswer(f"{self.name} was not opened")


def told(run: Run, folder: Path) -> Iterator[str]:
    """Lines that name the certificate of what `run` runs, or say that there is none."""
    rules = run.plan.rules()
    seats = seating.Seats(run.plan, run.task, run.data, folder, run.named, _Unopened)
    instance = run.data.sessions[0].instance
    assumed = Session(rules, seats.agents(1), instance=instance).assumptions
    table = f"{rules.automaton.name} {rules.automaton.fingerprint[:12]}"
    found = certified.coverage(rules, assumed)
    if found is None:
        yield f"Certificate: none of this table ({table}) and its rules"
        return
    yield f"Certificate: {found.path} (table {table})"
    yield f"Assumed of MATCH and AGREE: {', '.join(sorted(assumed)) or 'nothing (noisy)'}"
    yield f"Proved of these sessions: {', '.join(found.claims) or 'nothing'}"
