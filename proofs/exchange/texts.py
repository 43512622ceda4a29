"""What is written out: one text, or several files that belong together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from proofs.exchange.commands import All, AtLeast, Is, Isnt, Network, Some, Test
from pxp_fsm.errors import UsageError
from pxp_fsm.messages import quoted


@dataclass(frozen=True)
class Written:
    """A text, and what stands in files beside it, by the ending of their names."""

    text: str
    beside: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Logic:
    """How a language writes what is so in a state."""

    true: str
    false: str
    negation: str
    both: str
    either: str
    equal: str


def tested(
    test: Test,
    logic: Logic,
    is_: Callable[[Is], str],
    at_least: Callable[[AtLeast], str],
) -> str:
    """`test` in a language; `is_` and `at_least` write what it says of variables."""
    match test:
        case Is():
            return is_(test)
        case AtLeast():
            return at_least(test)
        case Isnt(of):
            return f"{logic.negation}({tested(of, logic, is_, at_least)})"
        case All(of) | Some(of):
            if not of:
                return logic.true if isinstance(test, All) else logic.false
            joint = logic.both if isinstance(test, All) else logic.either
            inner = [tested(one, logic, is_, at_least) for one in of]
            return inner[0] if len(inner) == 1 else f"({joint.join(inner)})"


def refused(language: str, text: str, operator: str, remedy: str) -> UsageError:
    """The error for a formula that a language cannot say."""
    return UsageError(f"{language} cannot say {quoted(text)}: {operator}; {remedy}")


def propositions(net: Network, names: Sequence[str]) -> dict[str, Test]:
    """The propositions of formulas and what they mean, each once."""
    return {name: net.propositions[name] for name in dict.fromkeys(names)}
