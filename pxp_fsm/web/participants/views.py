"""What the page of a participant receives: the view of their status, and their session."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from backends.databases.drafts import read_draft
from pxp_fsm.studies.conduct import AT_TASK, Conduct
from pxp_fsm.studies.files import Arm, Study
from pxp_fsm.studies.tasks import Standing
from pxp_fsm.studies.views import participant_page, without_sources
from pxp_fsm.web.experts.runner import Runner
from pxp_fsm.web.experts.views import Released, session_view

ASKING = ("TRAINING", "BEFORE", "AFTER")
"""The statuses whose page has questions: what is typed there is kept as a draft."""


def released(study: Study, arm: Arm, standing: Standing, *, asks: bool = True) -> Released:
    """What a participant may know of the session that goes on."""

    def plain(text: str) -> str:
        return without_sources(text, study.longest) if arm.blinded else text

    return Released(standing.shown, asks, not arm.blinded, plain)


def page_of(
    conduct: Conduct, runner: Runner, subject: str, standing: Standing, *, asks: bool
) -> dict[str, Any]:
    """What the page of `subject` receives now, as JSON; `asks` if what waits for them is shown."""
    found = participant_page(conduct, subject, standing) | {"subject": subject}
    one = conduct.participation(subject)
    if one.status in ASKING:
        found["draft"] = read_draft(conduct.board, one.name, len(one.history) + 1)
    if one.status in AT_TASK and standing.session:
        arm = conduct.doing(subject)[-1].arm
        place = next(
            (each for each in list(runner.places.values()) if each.session == standing.session),
            None,
        )
        if place is not None:
            what = released(conduct.study, arm, standing, asks=asks)
            session = session_view(runner, place, what)
            found["session"] = None if session is None else asdict(session)
    return found
