"""Proof coverage of a run's sessions: its certificate, and the claims that apply."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from proofs.claims import certificates
from pxp_fsm.errors import NoAnswer
from pxp_fsm.experiments import participants
from pxp_fsm.experiments.runs import Run
from pxp_fsm.experiments.summary import counted
from pxp_fsm.prompting.model import Capability, Reply, Request
from pxp_fsm.sessions.session import Session


@dataclass(frozen=True)
class _Unopened:
    """A model by its name alone: who sits where is known before anybody is asked."""

    name: str
    capabilities: frozenset[Capability] = frozenset()

    async def reply(self, request: Request) -> Reply:
        raise NoAnswer(f"{self.name} was not opened")


def coverage_lines(run: Run, folder: Path, verbose: bool) -> Iterator[str]:
    """Lines that name the certificate of what `run` runs, or say that there is none.

    Only if `verbose` they name each claim and what it assumes.
    """
    rules = run.plan.rules()
    roles = participants.Participants(
        run.plan, run.task, run.data, folder, run.selection, _Unopened
    )
    instance = run.data.sessions[0].instance
    assumed = Session(rules, roles.agents(1), instance=instance).assumptions
    table = f"{rules.automaton.name} {rules.automaton.fingerprint[:12]}"
    found = certificates.coverage(rules, assumed)
    if found is None:
        yield f"Certificate: none of this table ({table}) and its rules"
        return
    if not verbose:
        yield f"Proved of these sessions: {counted(len(found.claims), 'claim')} (-v names them)"
        return
    yield f"Certificate: {found.path} (table {table})"
    yield f"Assumed of MATCH and AGREE: {', '.join(sorted(assumed)) or 'nothing (noisy)'}"
    yield f"Proved of these sessions: {', '.join(found.claims) or 'nothing'}"
