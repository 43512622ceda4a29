"""The models that are asked for a task, by their names: those of a server, or a script."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from backends.models import scripts
from backends.models.cues import CuedModel, read_cues
from backends.models.scripts import PREFIX
from pxp_fsm.errors import UsageError

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
            return scripted(name) if name.startswith(PREFIX) else serving.model(name)

        yield opened


def scripted(name: str) -> Model:
    """The script that `script:FILE` names: by cue (TOML, or JSON by its name), or line by line.

    Raises `UsageError` where no file is named, and `DataError` for one that is no script.
    """
    path = Path(name.removeprefix(PREFIX))
    if not path.name:
        raise UsageError("which script? write script:FILE")
    if path.suffix not in (".toml", ".json"):
        return scripts.read(path)
    return CuedModel(read_cues(path), name=name)
