"""The common syntax of the export languages: variables, values, propositions of a state."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field

from proofs.export.commands import All, AtLeast, Is, Negation, Some, Test, Variable
from proofs.logic.formulas import Atom
from proofs.systems.product import Composition
from pxp_fsm.diagrams.text import legible
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.exports.fragments import STUCK


@dataclass(frozen=True)
class WrittenFiles:
    """A text, and what stands in files beside it, by the ending of their names."""

    text: str
    beside: Mapping[str, str] = field(default_factory=dict)


def refused(language: str, text: str, operator: str, remedy: str) -> UsageError:
    """The error for a formula that a language cannot say."""
    return UsageError(f"{language} cannot say {quoted(text)}: {operator}; {remedy}")


class Names:
    """Identifiers of one language: letters, digits and _, each for one thing alone.

    `reserved` are words that the language keeps for itself; `broken` ones that no name may contain.
    """

    def __init__(self, reserved: frozenset[str], broken: str = "") -> None:
        self._reserved = reserved
        self._broken = broken
        self._names: dict[tuple[str, ...], str] = {}
        self._taken: set[str] = set()

    def of(self, kind: str, *words: str) -> str:
        """The name of the thing of a kind that these words mean, the same each time."""
        if (kind, *words) not in self._names:
            joined = re.sub(r"\W", "_", "_".join(words), flags=re.ASCII)
            if self._broken:
                joined = re.sub(self._broken, "\\1_", joined)
            name, number = joined, 1
            while name in self._taken or name in self._reserved:
                number += 1
                name = f"{joined}_{number}"
            self._taken.add(name)
            self._names[kind, *words] = name
        return self._names[kind, *words]


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


def plain(text: str) -> str:
    """`text` for a comment: one line of letters, digits and what has no meaning in any language."""
    return re.sub(r"[^\w .,:;()=+>@!|'-]|--+|'", "_", legible(text), flags=re.ASCII)


def header(composition: Composition) -> tuple[str, ...]:
    """Lines that say what was written out: the channel, and each member with its table."""
    told = [
        f"{member.name}: {plain(member.automaton.title)} ({member.automaton.name}), table "
        f"{member.automaton.fingerprint}"
        for member in composition.system.members
    ]
    return (f"pxp-fsm: {len(told)} members, channel {plain(composition.channel.name)}", *told)


@dataclass(frozen=True, slots=True)
class Operators:
    """A language's signs; `equal`, `least` and `plus` for what is said of variables."""

    true: str
    false: str
    negation: str
    both: str
    either: str
    equal: str = "{} = {}"
    least: str = "{} >= {}"
    plus: str = " + "
    stuck: str = "stuck"


@dataclass(frozen=True, slots=True)
class NetworkSyntax:
    """A network's parts in a language; `literal` writes values that are no names there."""

    names: Names
    signs: Operators
    literal: Callable[[str], str] | None = None

    def variable(self, variable: Variable) -> str:
        return self.names.of("variable", *variable.words)

    def value(self, variable: Variable, value: int) -> str:
        """The value with this index."""
        domain = variable.domain
        if domain.numbers:
            return str(value)
        if self.literal is not None:
            return self.literal(domain.values[value])
        return self.names.of("value", *domain.words, domain.values[value])

    def domain(self, variable: Variable) -> str:
        """The set of all its values."""
        size = len(variable.domain.values)
        if variable.domain.numbers:
            return f"0..{size - 1}"
        return f"{{{', '.join(self.value(variable, value) for value in range(size))}}}"

    def proposition(self, name: str) -> str:
        return self.names.of("proposition", "is", name)

    def atom(self, atom: Atom) -> str:
        """A proposition of a formula, or that nothing can happen."""
        return self.signs.stuck if atom == STUCK else self.proposition(atom.name)

    def test(self, test: Test) -> str:
        """What is so in a state."""
        signs = self.signs
        match test:
            case Is(variable, value):
                return signs.equal.format(self.variable(variable), self.value(variable, value))
            case AtLeast(variables, least):
                return signs.least.format(signs.plus.join(map(self.variable, variables)), least)
            case Negation(of):
                return f"{signs.negation}({self.test(of)})"
            case All(of) | Some(of):
                if not of:
                    return signs.true if isinstance(test, All) else signs.false
                joint = signs.both if isinstance(test, All) else signs.either
                inner = [self.test(operand) for operand in of]
                return inner[0] if len(inner) == 1 else f"({joint.join(inner)})"
