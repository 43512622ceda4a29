"""What is checked of a machine of another library, in its own words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

from proofs.core.results import Result, Status, Verdict
from proofs.logic.termination import END_REACHABLE
from proofs.requests import NamedProperty, Request
from proofs.subjects import SYSTEMS, Answer, standard
from proofs.systems.results import FINDING
from pxp_fsm.automata.system import Member, System
from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.machines.machines import ForeignMachine
from pxp_fsm.plugins.machines.reading import is_foreign, read_machine

CYCLE = NamedProperty(
    "no-unbounded-cycle",
    "a machine",
    "no cycle can go on for ever",
    """No cycle of states can go on for ever, whatever its guards say.

Why it matters: nothing in the machine itself ends such a loop; a graph of agents that goes round
calls its models until a limit stops it.

What to do: the verdict names the cycle. Where the loop is meant, nothing; else count its rounds
in a guard, and limit them where it runs, as by LangGraph's recursion_limit.""",
)

_SHOWN = 6
"""So many free choices are named."""


@dataclass(frozen=True)
class MachineSubjects:
    """Machines of `transitions`, python-statemachine and LangGraph."""

    kind: str = "machine"

    def accepts(self, subject: Any) -> bool:
        """A machine, a class or a graph of these libraries."""
        return is_foreign(subject)

    def properties(self) -> Sequence[NamedProperty]:
        """What can be asked of one by name, beside what can be asked of every table."""
        return (CYCLE,)

    def results(self, request: Request) -> Iterator[Answer]:
        """What is probably a mistake, and what can happen for ever; or what is asked.

        Guards are free choices, which a note names.
        """
        if len(request.subjects) > 1:
            raise UsageError("join several machines by name: System(a=..., b=...)")
        machine = read_machine(request.subjects[0])
        system = System(
            (Member(machine.table.name, machine.table),),
            free_names=True,
            located_findings=machine.table.findings,
        )
        yield from _notes(machine)
        others = tuple(name for name in request.names if name != CYCLE.name)
        if others or not _is_plain(request):
            yield from SYSTEMS.results(replace(request, subjects=(system,), names=others))
        elif not request.names:
            wanted = (END_REACHABLE,) if machine.ends else ()
            yield from standard([system], (*wanted, FINDING))
        if request.wants(CYCLE.name) and _is_plain(request):
            yield _cycle(machine)


MACHINES = MachineSubjects()


def _is_plain(request: Request) -> bool:
    """Whether nothing is asked but what has a name."""
    plain = Request(subjects=request.subjects, names=request.names)
    return all(
        getattr(request, field.name) == getattr(plain, field.name) for field in fields(Request)
    )


def _cycle(machine: ForeignMachine) -> Result:
    """Whether the machine can go round; whether it should is its author's business."""
    way = machine.cycle()
    reason = ""
    if way:
        states = " → ".join([way[0].source, *(alternative.target for alternative in way)])
        triggers = ", ".join(alternative.trigger for alternative in way)
        by = "" if machine.word == "node" else f" (by {triggers})"
        reason = f"{states}{by}: {machine.cycles}"
    verdict = Verdict(Status.FAILS if way else Status.HOLDS, reason)
    name = machine.table.name
    return Result(name, CYCLE.name, CYCLE.title, "the machine alone", verdict, None)


def _notes(machine: ForeignMachine) -> Iterator[str]:
    yield from machine.notes
    choices = machine.choices
    if choices:
        more = f", and {len(choices) - _SHOWN} more" if len(choices) > _SHOWN else ""
        yield f"free choices, whose code is not run: {'; '.join(choices[:_SHOWN])}{more}"
