"""RAD as models and people are asked it: a picture, and labels from a closed list."""

from __future__ import annotations

from collections.abc import Sequence

from backends.models.radiograph import LABELS
from guards.labels import NONE, label_set, written
from pxp_fsm.errors import DataError
from pxp_fsm.messages import quoted
from pxp_fsm.problem import Problem
from pxp_fsm.workbench.rad.pictures import picture

QUERY = (
    "Which of these findings does this chest X-ray show, one, several or none of them: "
    f"{', '.join(LABELS)}? Explain it as a radiology report would."
)


def from_text(text: str) -> str:
    """Labels joined with ",", or `none`, as a message carries them; raises `DataError`."""
    return written(label_set(text, LABELS))


def from_json(value: object) -> str:
    """A list of labels, empty for none, as a message carries them; raises `DataError`."""
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        raise DataError(f"the findings are a list of labels, empty for none: {quoted(value)}")
    for label in value:
        if not isinstance(label, str):
            raise DataError(f"a label is text: {quoted(label)}")
    return written(label for one in value for label in _one(one))


def _one(label: str) -> frozenset[str]:
    if "," in label or " ".join(label.split()).casefold() == NONE:
        raise DataError(f"each entry is one of {', '.join(LABELS)}: {quoted(label)}")
    return label_set(label, LABELS)


PROBLEM = Problem(
    name="rad",
    query=QUERY,
    prediction={
        "type": "array",
        "items": {"type": "string", "enum": list(LABELS)},
        "description": "the findings; empty where there is none of them",
    },
    from_json=from_json,
    from_text=from_text,
    to_json=lambda text: sorted(label_set(text, LABELS)),
    labels=LABELS,
    none=NONE,
    picture=picture,
    described=lambda _instance: None,
)
