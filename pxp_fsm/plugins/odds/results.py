"""Results about a session, as sums over its possible outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Generic, TypeVar

from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.odds.chain import ENDLESS, Classes, Conclusion
from pxp_fsm.protocol.rules import Ending

V = TypeVar("V")

_M, _H = 0, 1


def _ends(ending: str) -> Callable[[Conclusion], bool]:
    return lambda result: result.ending == ending


def _of(agent: int, name: str) -> Callable[[Conclusion], bool]:
    place = Classes._fields.index(name)
    return lambda result: result.classes[agent][place]


OUTCOMES: Mapping[str, Callable[[Conclusion], bool]] = {
    "one-way, human": _of(_H, "one_way"),
    "one-way, machine": _of(_M, "one_way"),
    "two-way": lambda result: all(agent.one_way for agent in result.classes),
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


def named(outcome: str) -> Callable[[Conclusion], bool]:
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

    Values are rationals, floats, values with their derivatives, or functions of a parameter, as
    they were asked for. They are kept as `numerators` over one `denominator`; `over` divides. What
    is asked for is added up before it is divided, since to reduce long fractions takes time.
    """

    numerators: Mapping[Conclusion, Any]
    messages: Any
    denominator: int
    over: Callable[[Any, int], V]

    def _repr_markdown_(self) -> str:
        rows = [f"| {outcome} | {value} |" for outcome, value in self.items()]
        return "\n".join(["| a session is | probability |", "|---|--:|", *rows])

    @cached_property
    def results(self) -> Mapping[Conclusion, V]:
        """The probability of each result."""
        return {
            result: self.over(value, self.denominator) for result, value in self.numerators.items()
        }

    @cached_property
    def length(self) -> V | None:
        """The expected number of messages; None where it is infinite."""
        return None if self.messages is None else self.over(self.messages, self.denominator)

    def of(self, outcome: str) -> V:
        """The probability of one of `OUTCOMES`; raises `UsageError` for another name."""
        holds = named(outcome)
        first = next(iter(self.numerators.values()))
        total = first - first  # nothing, whatever kind of number it is
        for result, value in self.numerators.items():
            if holds(result):
                total = total + value
        return self.over(total, self.denominator)

    def items(self) -> Iterator[tuple[str, V]]:
        """Each of `OUTCOMES` with its probability."""
        for outcome in OUTCOMES:
            yield outcome, self.of(outcome)


def kept(value: V, _denominator: int) -> V:
    """For values that are divided already."""
    return value
