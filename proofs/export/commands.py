"""Variables and guarded commands: the common form of the model checkers' languages.

A command is what one step of `proofs.systems.product` does.
"""

from __future__ import annotations

from proofs.systems.product import Action, Composition
from pxp_fsm.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Domain:
    """The values that a variable has: names, or numbers from 0 (`numbers`)."""

    words: tuple[str, ...]
    values: tuple[str, ...]
    numbers: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable: the words that it is named after, its values, and the index of its first one."""

    words: tuple[str, ...]
    domain: Domain
    initial: int = 0


@dataclass(frozen=True, slots=True)
class Is:
    """A variable has a value (by its index)."""

    variable: Variable
    value: int


@dataclass(frozen=True, slots=True)
class AtLeast:
    """Numbers have at least a sum."""

    variables: tuple[Variable, ...]
    least: int


@dataclass(frozen=True, slots=True)
class Negation:
    """Something is not so."""

    of: Test


@dataclass(frozen=True, slots=True)
class All:
    """All of them are so."""

    of: tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """One of them is so."""

    of: tuple[Test, ...]


Test = Is | AtLeast | Negation | All | Some


@dataclass(frozen=True, slots=True)
class Set:
    """A variable gets a value, by its index."""

    variable: Variable
    value: int


@dataclass(frozen=True, slots=True)
class Copy:
    """A variable gets the value that another has before the step; both have the same values."""

    variable: Variable
    source: Variable


@dataclass(frozen=True, slots=True)
class Add:
    """A number becomes larger by so much, or smaller."""

    variable: Variable
    number: int


Update = Set | Copy | Add


@dataclass(frozen=True, slots=True)
class GuardedCommand:
    """What can happen, where, what it changes, and the guard of what is sent."""

    action: Action
    tests: tuple[Test, ...]
    updates: tuple[Update, ...]
    guard: str = ""

    @property
    def label(self) -> str:
        """The action in words."""
        return str(self.action)


@dataclass(frozen=True)
class CommandSystem:
    """Variables, commands, and what propositions mean of them; `stuck` is: nothing can happen."""

    composition: Composition
    variables: tuple[Variable, ...]
    commands: tuple[GuardedCommand, ...]
    propositions: dict[str, Test]
    stuck: Test

    @property
    def ended(self) -> Test:
        """Every member is in an end state."""
        return self.propositions["ended"]


def holds_first(test: Test) -> bool:
    """Whether it is so where the system starts."""
    match test:
        case Is(variable, value):
            return variable.initial == value
        case AtLeast(variables, least):
            return sum(variable.initial for variable in variables) >= least
        case Negation(of):
            return not holds_first(of)
        case All(of):
            return all(map(holds_first, of))
        case Some(of):
            return any(map(holds_first, of))
