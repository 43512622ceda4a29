"""The state of a study in lines: how far everybody is, and who waits for whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from pxp_fsm.errors import counted
from pxp_fsm.plugins.studies.files import Study
from pxp_fsm.plugins.studies.lifecycles import ENDED, GUIDE, PARTNER, STUDY
from pxp_fsm.plugins.studies.participations import Participation

ON_WHOM = {
    "READY": "the study",
    "WAITING": "the partner",
    "WITHDRAWN": "the server",
    **dict.fromkeys(
        (
            "CONSENTING",
            "READING",
            "TRAINING",
            "BEFORE",
            "ANSWERING",
            "BREAK",
            "ABANDONED",
            "AFTER",
            "DEBRIEF",
        ),
        "the participant",
    ),
}
"""Who is to act, by the status of the participant; in the others nobody is."""


def summary(study: Study, state: Participation, people: Sequence[Participation]) -> Iterator[str]:
    """The study, then a line for each participant. Arms are not named: nothing unblinds.

    `state` is the participation that holds the state of the study itself.
    """
    places = study.experts - sum(holds_place(study, person) for person in people)
    at = state.state(STUDY)
    left = "" if at in ENDED else f", {counted(places, 'place')} left"
    yield f"Study {study.name}: {at}, {len(people)} came{left}"
    for status, count in sorted(Counter(person.status for person in people).items()):
        yield f"  {count:5}  {status}"
    for person in people:
        tasks_given, waits = len(person.messages("TASK")), waits_for(person)
        on = f", waits {waits}" if waits else ""
        yield f"  {person.subject}  {person.status}, task {tasks_given} of {len(study.tasks)}{on}"


def as_document(
    study: Study, state: Participation, people: Sequence[Participation]
) -> dict[str, Any]:
    """The same as `summary` says, for programs."""
    return {
        "study": study.name,
        "state": state.state(STUDY),
        "participants": [
            {
                "participant": person.subject,
                "status": person.status,
                "tasks": len(person.messages("TASK")),
                "waits": waits_for(person),
            }
            for person in people
        ],
    }


def waits_for(participation: Participation) -> str:
    """For whom or what a participation waits; "" where for nothing."""
    if participation.status == "READY" and participation.state(STUDY) == "HOLDING":
        return "until the study goes on"
    if participation.status == "WAITING" and participation.state(PARTNER) == "ABSENT":
        return f"for the {participation.state(GUIDE).lower()} of the task"
    on = ON_WHOM.get(participation.status)
    return "" if on is None else f"for {on}"


def holds_place(study: Study, participation: Participation) -> bool:
    """Whether a place in the assignment is taken: by who is on the way, or has done all tasks."""
    if participation.status in ("DECLINED", "LAPSED", "WITHDRAWN", "ERASED"):
        return False
    over = participation.status in ("DEBRIEF", "DONE", "ANONYMISED")
    return not over or len(participation.messages("TASK")) == len(study.tasks)
