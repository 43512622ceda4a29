"""What is asked of a session, as sums over what it may come to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from proofs.odds.chain import ENDLESS, Classes, Result
from pxp_fsm.errors import UsageError
from pxp_fsm.rules import Ending

V = TypeVar("V")

_M, _H = 0, 1


def _ends(ending: str) -> Callable[[Result], bool]:
    return lambda result: result.ending == ending


def _of(agent: int, name: str) -> Callable[[Result], bool]:
    place = Classes._fields.index(name)
    return lambda result: result.classes[agent][place]


OUTCOMES: Mapping[str, Callable[[Result], bool]] = {
    "one-way, human": _of(_H, "one_way"),
    "one-way, machine": _of(_M, "one_way"),
    "two-way": lambda result: all(each.one_way for each in result.classes),
    "strong, human": _of(_H, "strong"),
    "strong, machine": _of(_M, "strong"),
    "ultra-strong, human": _of(_H, "ultra_strong"),
    "ultra-strong, machine": _of(_M, "ultra_strong"),
    "one-way (any), human": _of(_H, "one_way_any"),
    "one-way (any), machine": _of(_M, "one_way_any"),
    "ratified": _ends(Ending.RATIFIED),
    "rejected": _ends(Ending.REJECTED),
    "bound": _ends(Ending.BOUND),
    "endless": _ends(ENDLESS),
}
"""What a session may be: the rows of Table 1, the variant of section 4.2 ("any"), and its ends.

The machine is the initiator m, the human the responder h, as in Table 1.
"""


def named(outcome: str) -> Callable[[Result], bool]:
    """The outcome of that name; raises `UsageError` where there is none."""
    try:
        return OUTCOMES[outcome]
    except KeyError:
        raise UsageError(
            f"there is no outcome {outcome!r}; there are: {'; '.join(OUTCOMES)}"
        ) from None


@dataclass(frozen=True)
class Odds(Generic[V]):
    """How probable each result of a session is, and how long a session is expected to be.

    `length` counts messages; None where it is infinite. Values are rationals, floats, values with
    their derivatives, or functions of a parameter, as they were asked for.
    """

    results: Mapping[Result, V]
    length: V | None
    zero: V

    def of(self, outcome: str) -> V:
        """The probability of one of `OUTCOMES`; raises `UsageError` for another name."""
        holds = named(outcome)
        total = self.zero
        for result, value in self.results.items():
            if holds(result):
                total = total + value  # type: ignore[operator]
        return total

    def items(self) -> Iterator[tuple[str, V]]:
        """Each of `OUTCOMES` with its probability."""
        for outcome in OUTCOMES:
            yield outcome, self.of(outcome)
