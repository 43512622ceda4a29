"""The calls that have passed a gateway, as a table: one row per call."""

from __future__ import annotations

import json
from typing import Any

from backends.databases.blackboard import SqlBlackboard
from backends.databases.calls import times_of_session
from backends.databases.records import StoredSession
from pxp_fsm.diagrams.text import shortened
from pxp_fsm.experiments.sheets import Sheet

_LONGEST = 40
_OUTCOMES = {
    "CALL": "no answer",
    "ANSWER": "answered",
    "FAILURE": "failed",
    "REFUSAL": "refused",
    "IN_DOUBT": "in doubt",
    "RELEASE": "released",
    "DENIAL": "denied",
}


def call_sheet(board: SqlBlackboard, stored: StoredSession) -> Sheet:
    """A row for each call, in their order, and for each other message that was refused.

    The seconds are those from the call, where it passed, to its first answer.
    """
    times = times_of_session(board, stored.record.session)
    rows: dict[object, dict[str, str]] = {}
    sent: dict[object, int] = {}
    for event in stored.events:
        for about in (_about(judgement.detail) for judgement in event.judgements):
            label = event.label or ""
            call = about.get("call", ("event", event.number))
            if "call" not in about and label not in _OUTCOMES:
                continue
            row = rows.setdefault(call, _begun(about))
            if label == "CALL":
                sent.setdefault(call, event.number)
            elif label in ("ANSWER", "FAILURE") and call in sent and not row["seconds"]:
                took = times[event.number] - times[sent[call]]
                row["seconds"] = f"{took.total_seconds():.2f}"
            row["outcome"] = about.get("outcome") or _OUTCOMES.get(label, row["outcome"])
            if label in ("APPROVAL", "DENIAL"):
                remark = f"{label.capitalize()} by {about.get('person') or 'the client'}."
                row["why"] = " ".join(filter(None, (row["why"], remark)))
            elif "why" in about:
                row["why"] = str(about["why"])
    headings = ("call", "tool", "arguments", "outcome", "seconds", "why")
    cells = tuple(tuple(row[heading] for heading in headings) for row in rows.values())
    return Sheet("Calls, and other messages that were refused", headings, cells)


def _about(detail: str) -> dict[str, Any]:
    """What an event was about; nothing where that was erased."""
    try:
        about = json.loads(detail)
    except ValueError:
        return {"erased": detail}
    return about if isinstance(about, dict) else {}


def _begun(about: dict[str, Any]) -> dict[str, str]:
    arguments = about.get("arguments")
    written = "" if arguments is None else json.dumps(arguments, ensure_ascii=False)
    return {
        "call": str(about.get("call", "")),
        "tool": str(about.get("tool") or about.get("method", "")),
        "arguments": shortened(about.get("erased", written), _LONGEST),
        "outcome": "",
        "seconds": "",
        "why": "",
    }
