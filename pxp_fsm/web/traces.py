"""A trace that is seen in the explorer, as a file of a form that the library writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from proofs.core.explore import Trace
from proofs.core.model import Step
from proofs.core.results import Status, Verdict
from proofs.export.itf import to_itf
from proofs.export.traces import Walk, export_trace
from proofs.systems.options import Options
from proofs.systems.paths import check_cycle, states_along
from pxp_fsm.diagrams import SequenceChart, actions_chart, render
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.sessions.occurrences import occurrences_of
from pxp_fsm.web.views import Views

FORMS = {
    "svg": "image/svg+xml",
    "png": "image/png",
    "pdf": "application/pdf",
    "tikz": "application/x-tex",
    "latex": "application/x-tex",
    "mermaid": "text/vnd.mermaid; charset=utf-8",
    "itf": "application/json",
}
"""The media type of each form."""


def written(
    views: Views, choices: Sequence[int], cycle: int, form: str, members: Sequence[str] = ()
) -> bytes:
    """A trace in one of `FORMS`; pictures show these `members` alone, or all of them.

    Raises `Refused` where the system does not have the trace, `UsageError` for an unknown member.
    """
    check_cycle(states_along(views.composition, choices), cycle)
    if form == "itf":
        return _itf(views, choices, cycle).encode()
    if form == "latex":
        system = views.composition.system
        return export_trace(Walk(system, views.actions(choices), cycle=cycle), form)
    return render(chart(views, choices, cycle, members), form)


def chart(
    views: Views, choices: Sequence[int], cycle: int = 0, members: Sequence[str] = ()
) -> SequenceChart:
    """The sequence chart of a trace, with what is not received at its end."""
    composition, system = views.composition, views.composition.system
    state = states_along(composition, choices)[-1]
    unknown = [name for name in members if name not in system.places]
    if unknown:
        raise UsageError(
            f"there is no member {quoted(unknown[0])}; there are {', '.join(system.places)}"
        )
    shown = set(members or system.places)
    where = composition.encoding.configuration(state).at
    deadlock = Options(composition).deadlock(state)
    refused = () if deadlock is None or not system.channel.synchronous else deadlock.unreceived
    note = f"over {system.channel.name}" + (f"; deadlock: {deadlock}" if deadlock else "")
    note += f"; the last {cycle} steps go on for ever" if cycle else ""
    found = actions_chart(
        occurrences_of(system, views.actions(choices)),
        dict(zip(system.places, where, strict=True)),
        title=system.name,
        note=note,
        refused=((one.sender, one.receiver, one.tag) for one in refused),
    )
    return replace(
        found,
        lifelines=tuple(line for line in found.lifelines if line.name in shown),
        arrows=tuple(one for one in found.arrows if {one.sender, one.receiver} <= shown),
    )


def _itf(views: Views, choices: Sequence[int], cycle: int) -> str:
    composition = views.composition
    start, *states = map(composition.encoding.configuration, states_along(composition, choices))
    actions = views.actions(choices)
    steps = tuple(Step(action, state) for action, state in zip(actions, states, strict=True))
    verdict = Verdict(Status.UNKNOWN, trace=Trace(start, steps), cycle=cycle)
    return to_itf("explored", composition.name, verdict)
