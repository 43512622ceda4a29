"""What the server does next for a participant: the guards of the guide, and the messages they name.

A guard is decided from the study file and from what is stored of the participation alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from pxp_fsm.automata.actions import Exchange
from pxp_fsm.studies.files import Study
from pxp_fsm.studies.lifecycles import GUIDE, STUDY
from pxp_fsm.studies.participations import Participation, run_name
from pxp_fsm.studies.questions import understood


class NextMessage(NamedTuple):
    """A message that the study or the guide sends now."""

    member: str
    label: str
    payload: Any = None


def next_message(study: Study, one: Participation) -> NextMessage | None:
    """The message that is the server's to send; None where somebody else is to act."""
    for member in (STUDY, GUIDE):
        for row in one.live.rows(member):
            if row.guard is not None and row.guard != true_guard(study, one):
                continue
            if any(isinstance(each, Exchange) for each in one.live.by_row(member, row)):
                payload = _task(study, one) if row.label == "TASK" else None
                return NextMessage(member, row.label, payload)
    return None


def true_guard(study: Study, one: Participation) -> str:
    """The one guard that is true where the guide decides."""
    state = one.state(GUIDE)
    if state == "CHOOSING":
        if len(one.letters("TASK")) < len(study.tasks):
            return "MORE"
        return "ASKS" if study.after else "PLAIN"
    if state == "PREPARING" and study.training:
        return "TRAINS"
    if state == "WEIGHING":
        tried = one.letters("TRAINED")
        if not understood(study.training, tried[-1].value):
            return "AGAIN" if len(tried) < study.attempts else "EXCLUDED"
    return "ASKS" if study.before else "PLAIN"


def _task(study: Study, one: Participation) -> dict[str, Any]:
    place = len(one.letters("TASK")) + 1
    return {"place": place, "run": run_name(study, one.subject, place)}
