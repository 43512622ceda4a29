"""Scripts for whoever asks a model until a reply is usable, and the requests that they led to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from backends.models.scripts import ScriptedModel
from pxp_fsm.errors import PXPError
from pxp_fsm.prompting.model import LanguageModel, Reply, Stop, fingerprint

Asking = Callable[[LanguageModel], Awaitable[object]]

UNUSABLE = 'no JSON </data> {"at": all}'
GOOD = "good"
"""What stands in a script for a reply that the one who asks can use."""

SCRIPTS: Mapping[str, tuple[str | Reply, ...]] = {
    "usable": (GOOD,),
    "once more": (UNUSABLE, GOOD),
    "refused and cut": (Reply("I cannot", Stop.REFUSAL), Reply("{", Stop.LENGTH), GOOD),
    "never": ("", Reply("{", Stop.LENGTH), UNUSABLE, GOOD),
    "no reply": (UNUSABLE,),
}


def record(asking: Asking, good: str) -> dict[str, Any]:
    """For each script: what the model was asked, attempt by attempt, and what came of it."""
    found = {}
    for name, script in SCRIPTS.items():
        model = ScriptedModel([good if reply == GOOD else reply for reply in script])
        try:
            outcome = str(asyncio.run(_awaited(asking, model)))
        except PXPError as error:
            outcome = f"{type(error).__name__}: {error}"
        found[name] = {"requests": _requests(model), "outcome": outcome}
    return found


async def _awaited(asking: Asking, model: LanguageModel) -> object:
    return await asking(model)


def _requests(model: ScriptedModel) -> list[dict[str, Any]]:
    """What tells the requests apart; of a retry, what it adds to the first request."""
    if not model.requests:
        return []
    first = model.requests[0]
    rows = []
    for request in model.requests:
        assert request.turns[:-1] == first.turns[:-1]
        assert request.turns[-1].text.startswith(first.turns[-1].text)
        rows.append(
            {
                "epoch": request.epoch,
                "purpose": request.purpose,
                "session": request.session,
                "stable": request.turns[-1].stable,
                "fingerprint": fingerprint(request),
                "added": request.turns[-1].text.removeprefix(first.turns[-1].text),
            }
        )
    return rows


def stored(path: Path) -> Any:
    """What was recorded in the file `path`."""
    return json.loads(path.read_text("utf-8"))
