"""The models that are asked for a task, by their names: those of a server, or a script."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pxp_fsm.errors import UsageError

if TYPE_CHECKING:
    from backends.models.serving import Settings
    from pxp_fsm.models import CallLog, Model

SCRIPT = "script:"
"""`script:FILE` is a script by cue (`backends.models.cues`): no model, and no server is asked."""


@asynccontextmanager
async def models(settings: Settings | None, log: CallLog) -> AsyncIterator[Callable[[str], Model]]:
    """Opens models by name, within the limits and caps of `settings`; each call is told to `log`.

    The function raises `UsageError` for a name that is none, and `DataError` for a script.
    """
    from backends.models.serving import Serving, Settings

    async with Serving(settings or Settings(), log) as serving:

        def opened(name: str) -> Model:
            if not name.startswith(SCRIPT):
                return serving.model(name)
            from backends.models.cues import CuedModel, read_cues

            path = name.removeprefix(SCRIPT)
            if not path:
                raise UsageError("which script? write script:FILE")
            return CuedModel(read_cues(Path(path)), name=name)

        yield opened
