"""What comes from participants and panels, checked before anything of it is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pxp_fsm.errors import Refused, UsageError, quoted
from pxp_fsm.protocol.messages import text_problem
from pxp_fsm.studies.files import Study
from pxp_fsm.studies.participations import Participation
from pxp_fsm.studies.questions import checked_answers

LONGEST = 200
"""Characters of an identifier."""


def check_identifiers(study: Study, given: Mapping[str, str]) -> None:
    """Raise `UsageError` for identifiers that the study file does not name, or that are none."""
    for name, value in given.items():
        if name not in study.payment.parameters:
            there = ", ".join(study.payment.parameters) or "none"
            raise UsageError(f"the study takes no identifier {quoted(name)}; there are: {there}")
        if not isinstance(value, str) or not 0 < len(value) <= LONGEST or text_problem(value):
            raise UsageError(f"{name} is a text of at most {LONGEST} characters")


def check_payload(study: Study, one: Participation, label: str, payload: Any) -> None:
    """Raise `Refused` where a page does not offer `label`, `UsageError` for what is no answer."""
    if label == "ANSWER" or not one.may_send(label):
        raise Refused(f"{one.subject} is {one.status}, where {quoted(label)} is not possible")
    if label == "CONSENT" and payload != {"version": study.consent.version}:
        raise Refused("the consent has changed since the page was shown; read it again")
    if label == "ANSWERED":
        checked_answers(study.before if one.status == "BEFORE" else study.after, payload)
    elif label == "TRAINED":
        checked_answers(study.training, payload)
    elif label != "CONSENT" and payload is not None:
        raise UsageError(f"{label} carries nothing")
