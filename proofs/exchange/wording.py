"""What every language says alike, in its own signs: variables, values, what is so in a state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from proofs.exchange.commands import All, AtLeast, Is, Isnt, Some, Test, Variable
from proofs.exchange.fragments import STUCK
from proofs.exchange.naming import Names
from proofs.logic.formulas import Atom


@dataclass(frozen=True, slots=True)
class Signs:
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
class Wording:
    """A network's parts in a language; `literal` writes values that are no names there."""

    names: Names
    signs: Signs
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
            case Isnt(of):
                return f"{signs.negation}({self.test(of)})"
            case All(of) | Some(of):
                if not of:
                    return signs.true if isinstance(test, All) else signs.false
                joint = signs.both if isinstance(test, All) else signs.either
                inner = [self.test(one) for one in of]
                return inner[0] if len(inner) == 1 else f"({joint.join(inner)})"
