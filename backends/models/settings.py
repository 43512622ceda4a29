"""Settings for the models of a run: rate limits, caps, cache and recordings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pxp_fsm import defaults, options
from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import LIMITS, option
from pxp_fsm.prompting.model import Spending

ATTEMPTS = 10
"""How often a call is tried."""
SILENCE = 300.0
"""Seconds in which a stream brings no token, unless told: a model may think unseen for minutes."""

_FILE = "a models file (pxp help models) sets {key}"


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits on the models of a run, and how their calls are made; None is no bound.

    Rate limits are per server, caps per run. `timeout` is in seconds, and bounds how long a server
    sends nothing; `silence` bounds how long a stream brings no token. `catalogue` is a file of
    one's own with servers and prices, which come before the bundled ones. `programs` are those that
    may be started in a model's place (`program:COMMAND`), since somebody named them: no file or
    database, but a command line, or the environment (`PXP_PROGRAMS`, separated by commas). Raises
    `UsageError` for values that are out of range or exclude each other.
    """

    requests: int | None = option(
        "The most requests per minute to a server.", None, least=1, only_in=_FILE
    )
    tokens: int | None = option(
        "The most tokens per minute to a server.", None, least=1, only_in=_FILE
    )
    in_flight: int = option(
        "The most concurrent requests per server, and concurrent sessions.",
        defaults.IN_FLIGHT,
        least=1,
        only_in=_FILE,
    )
    dollars: float | None = option(
        "Stop before the cost exceeds X dollars.",
        None,
        name="max-dollars",
        metavar="X",
        group=LIMITS,
    )
    calls: int | None = option("Stop before call N+1.", None, name="max-calls", group=LIMITS)
    attempts: int = ATTEMPTS
    timeout: float = 600.0
    silence: float = option(
        "The most seconds in which the stream of a long reply brings no further token.",
        SILENCE,
        above=0,
        most=86_400,
        only_in=_FILE,
    )
    cache: Path | None = option(
        "The file in which calls are cached, to share them between runs.",
        None,
        written=str,
        only_in=_FILE,
    )
    replay: Path | None = option(
        "A recording whose replies are replayed; no model is called.",
        None,
        written=str,
        only_in=_FILE,
    )
    batches: bool = option(
        "Whether each round of all open sessions is sent as one batch.", False, only_in=_FILE
    )
    catalogue: Path | None = None
    programs: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        options.check_ranges(self)
        if self.cache is not None and self.replay is not None:
            raise UsageError(
                "a replayed recording calls no model; cache and replay exclude each other", "replay"
            )

    @property
    def caps(self) -> dict[str, float]:
        """The caps that are set, by their fields, as they are stored with a run."""
        named = (("dollars", self.dollars), ("calls", self.calls))
        return {name: value for name, value in named if value is not None}

    def with_caps(self, stored: Mapping[str, Any]) -> Settings:
        """These settings, with each cap that is not set as it is `stored` with a run.

        >>> Settings(calls=9).with_caps({"calls": 5, "dollars": 0.5}).caps
        {'dollars': 0.5, 'calls': 9}
        """
        return replace(self, **{**stored, **self.caps})

    def shares(self, processes: int, spent: Spending) -> tuple[Settings, ...]:
        """These settings for each of at most so many `processes` that ask models at once.

        Limits, and what is left of the caps after what was `spent`, are divided among them, so that
        together they keep what one would.

        >>> from pxp_fsm.prompting.model import Spending
        >>> [share.calls for share in Settings(calls=9).shares(2, Spending(calls=2))]
        [4, 3]
        """
        left: dict[str, int | None] = {
            "requests": self.requests,
            "tokens": self.tokens,
            "in_flight": self.in_flight,
            "calls": None if self.calls is None else max(0, self.calls - spent.calls),
        }
        number = max(1, min(processes, *(most for most in left.values() if most is not None)))
        divided = {name: _divided(most, number) for name, most in left.items() if most is not None}
        if self.dollars is not None:
            rest = 0.0 if spent.exceeded else max(0.0, self.dollars - spent.dollars)
            divided["dollars"] = [part / _PARTS for part in _divided(int(rest * _PARTS), number)]
        return tuple(
            replace(self, **{name: parts[place] for name, parts in divided.items()})
            for place in range(number)
        )


_PARTS = 10**9
"""A cap in dollars is divided in whole billionths, none of which is given twice."""


def _divided(whole: int, number: int) -> list[Any]:
    """`whole` in so many parts, the first of which are larger where it has a remainder."""
    part, more = divmod(whole, number)
    return [part + (place < more) for place in range(number)]
