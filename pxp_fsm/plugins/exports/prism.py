"""A system in PRISM's language, for PRISM and Storm: a Markov decision process without chance.

Each step is an action that somebody chooses, so P>=1 speaks of every run, and !P<=0 of some. A
state in which nothing can happen stays as it is (both tools see to it), so that a run that ends is
one that stays where it ended. Formulas stand in a file of their own, with the ending .props.
"""

from __future__ import annotations

from collections.abc import Sequence

from proofs.export.commands import Add, All, CommandSystem, Copy, GuardedCommand, Set, Update
from proofs.logic.formulas import Atom, Formula, atoms
from proofs.systems.product import Composition
from pxp_fsm.plugins.exports.fragments import STUCK, FormulaSyntax, quantified, refuse_past, written
from pxp_fsm.plugins.exports.network import network
from pxp_fsm.plugins.exports.syntax import (
    Names,
    NetworkSyntax,
    Operators,
    WrittenFiles,
    header,
    plain,
    words,
)

RESERVED = words(
    "A bool C clock const ctmc double dtmc E endinit endinvariant endmodule endobservables "
    "endrewards endsystem F false filter formula func G global I init invariant int label max mdp "
    "min module nondeterministic observable observables of P Pmin Pmax pomdp popta "
    "probabilistic prob pta R rate rewards Rmin Rmax S stochastic system true U W X stuck deadlock "
    "floor ceil round pow mod log multi ma smg turn"
)
"""Keywords, functions, and what this module itself names."""

SIGNS = Operators("true", "false", "!", " & ", " | ", "{}={}", "{}>={}", "+")
WORDS = FormulaSyntax(
    release=None,  # PRISM has R, and Storm does not
    exists=lambda path: f"!(P<=0 [ {path} ])",
    on_all=lambda path: f"(P>=1 [ {path} ])",
)


def to_prism(
    composition: Composition, formulas: Sequence[tuple[str, Formula]] = ()
) -> WrittenFiles:
    """`composition` as an MDP in PRISM's language, its formulas beside it as `.props`."""
    net = network(composition, (name for _, formula in formulas for name in atoms(formula)))
    writing = _Writing(net)
    return WrittenFiles(writing.model(), {".props": writing.properties(formulas)})


class _Writing:
    """A network in PRISM's words."""

    def __init__(self, net: CommandSystem) -> None:
        self.net = net
        # Storm takes the words that end a section for its end, wherever they stand.
        broken = "(end)(?=module|init|invariant|rewards|observables)"
        self.words = NetworkSyntax(Names(RESERVED, broken), SIGNS)

    def model(self) -> str:
        net = self.net
        lines = [*(f"// {line}" for line in header(net.composition)), "mdp", ""]
        for domain in dict.fromkeys(variable.domain for variable in net.variables):
            if not domain.numbers:
                lines += [
                    f"const int {self.words.names.of('value', *domain.words, value)} = {number};"
                    for number, value in enumerate(domain.values)
                ]
        lines += ["", "module members"]
        for variable in net.variables:
            most, first = (
                len(variable.domain.values) - 1,
                self.words.value(variable, variable.initial),
            )
            lines.append(f"  {self.words.variable(variable)} : [0..{max(most, 1)}] init {first};")
        lines += [f"  {self._step(command)} // {plain(command.label)}" for command in net.commands]
        lines += ["endmodule", "", f'label "stuck" = {self.words.test(net.stuck)};']
        lines += [
            f'label "{self.words.proposition(name)}" = {self.words.test(test)};'
            for name, test in net.propositions.items()
        ]
        return "\n".join([*lines, ""])

    def properties(self, formulas: Sequence[tuple[str, Formula]]) -> str:
        """The properties: no deadlock, and each formula below its text.

        Storm reads several of them only where each ends in a semicolon, which PRISM lets stand.
        """
        lines = ["// no_deadlock", f'(P>=1 [ G !"stuck" | "{self.words.proposition("ended")}" ]);']
        for text, formula in formulas:
            refuse_past(formula, "PRISM")
            lines += [f"// {plain(text)}", f"{written(quantified(formula), WORDS, self._atom)};"]
        return "\n".join([*lines, ""])

    def _step(self, command: GuardedCommand) -> str:
        updates = [f"({self._becomes(update)})" for update in command.updates]
        return f"[] {self.words.test(All(command.tests))} -> {' & '.join(updates) or 'true'};"

    def _becomes(self, update: Update) -> str:
        name = self.words.variable(update.variable)
        match update:
            case Set(variable, value):
                return f"{name}'={self.words.value(variable, value)}"
            case Copy(_, source):
                return f"{name}'={self.words.variable(source)}"
            case Add(_, number):
                return f"{name}'={name}{number:+d}"

    def _atom(self, atom: Atom) -> str:
        return '"stuck"' if atom == STUCK else f'"{self.words.proposition(atom.name)}"'
