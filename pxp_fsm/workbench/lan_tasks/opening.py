"""The models that are asked for a task, by their names: those of a server, or a script."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from backends.models import scripts

if TYPE_CHECKING:
    from backends.models.serving import Settings
    from pxp_fsm.models import CallLog, Model


@asynccontextmanager
async def models(settings: Settings | None, log: CallLog) -> AsyncIterator[Callable[[str], Model]]:
    """Opens models by name, within the limits and caps of `settings`; each call is told to `log`.

    The function raises `UsageError` for a name that is none, and `DataError` for a script.
    """
    from backends.models.serving import Serving, Settings

    async with Serving(settings or Settings(), log) as serving:

        def opened(name: str) -> Model:
            if name.startswith(scripts.PREFIX):
                return scripts.read(Path(name.removeprefix(scripts.PREFIX)))
            return serving.model(name)

        yield opened
