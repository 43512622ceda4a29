"""How the models of a run are asked: limits, caps, cache and recordings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from backends.models.middleware.retry import ATTEMPTS
from pxp_fsm import defaults, options
from pxp_fsm.errors import UsageError
from pxp_fsm.options import option


@dataclass(frozen=True, slots=True)
class Settings:
    """What the models of a run may do, and how they are asked; None is no bound.

    Limits are those of each server, caps those of the run. `timeout` is in seconds. Raises
    `UsageError` for what cannot be met.
    """

    requests: int | None = option("Models: at most N requests a minute to a server.", None)
    tokens: int | None = option("Models: at most N tokens a minute to a server.", None)
    in_flight: int = option(
        "Models: at most N requests at a time to a server, and N sessions at a time.",
        defaults.IN_FLIGHT,
        least=1,
    )
    dollars: float | None = option(
        "Models: stop before X is passed.", None, name="max-dollars", metavar="X"
    )
    calls: int | None = option(
        "Models: stop before more than N calls are made.", None, name="max-calls"
    )
    attempts: int = ATTEMPTS
    timeout: float = 600.0
    cache: Path | None = option("Models: keep calls, to share them.", None)
    replay: Path | None = option("Models: a recording answers in their place.", None)
    batches: bool = option("Models: each round of all open sessions as one batch.", False)
    catalogue: Path | None = option("Models: your own servers and prices.", None)

    def __post_init__(self) -> None:
        options.check_ranges(self)
        if self.cache is not None and self.replay is not None:
            raise UsageError("a recording that answers asks nobody; leave out cache or replay")
