"""A system as SMV, for NuSMV and nuXmv: a transition relation, with LTLSPEC and CTLSPEC.

Their relation must be total: a state in which nothing can happen stays as it is, so that a run that
ends is one that stays where it ended.
"""

from __future__ import annotations

from collections.abc import Sequence

from proofs.export.commands import (
    Add,
    All,
    CommandSystem,
    Copy,
    GuardedCommand,
    Is,
    Set,
    Update,
    Variable,
)
from proofs.logic.formulas import (
    And,
    Atom,
    Exists,
    Formula,
    Next,
    Not,
    Or,
    Release,
    Since,
    Triggered,
    Truth,
    Until,
    atoms,
    negated,
)
from proofs.systems.product import Composition
from pxp_fsm.plugins.exports.fragments import (
    FormulaSyntax,
    branching,
    is_linear,
    linear,
    refuse_past,
    written,
)
from pxp_fsm.plugins.exports.network import network
from pxp_fsm.plugins.exports.syntax import (
    Names,
    NetworkSyntax,
    Operators,
    WrittenFiles,
    header,
    plain,
    refused,
    words,
)

RESERVED = words(
    "MODULE DEFINE MDEFINE CONSTANTS VAR IVAR FROZENVAR INIT TRANS INVAR SPEC CTLSPEC LTLSPEC "
    "PSLSPEC COMPUTE NAME INVARSPEC FAIRNESS JUSTICE COMPASSION ISA ASSIGN CONSTRAINT SIMPWFF "
    "CTLWFF LTLWFF PSLWFF COMPWFF IN MIN MAX MIRROR PRED PREDICATES process array of boolean "
    "integer real word word1 bool signed unsigned extend resize sizeof uwconst swconst EX AX EF AF "
    "EG AG E F O G H X Y Z A U S V T BU EBF ABF EBG ABG case esac mod next init union in xor xnor "
    "self TRUE FALSE count abs max min stuck clock time until releases no_deadlock"
)
"""Keywords, and what this module itself names."""

SIGNS = Operators("TRUE", "FALSE", "!", " & ", " | ")
WORDS = FormulaSyntax(true="TRUE", false="FALSE", release="V")


def to_smv(composition: Composition, formulas: Sequence[tuple[str, Formula]] = ()) -> WrittenFiles:
    """`composition` as SMV; formulas are f1, f2 ...: an LTLSPEC where it is LTL, else a CTLSPEC.

    Raises `UsageError` for a formula that is neither.
    """
    net = network(composition, (name for _, formula in formulas for name in atoms(formula)))
    return WrittenFiles(_Writing(net).text(formulas))


class _Writing:
    """A network in SMV's words."""

    def __init__(self, net: CommandSystem) -> None:
        self.net = net
        self.words = NetworkSyntax(Names(RESERVED), SIGNS)

    def text(self, formulas: Sequence[tuple[str, Formula]]) -> str:
        net = self.net
        lines = [*(f"-- {line}" for line in header(net.composition)), "MODULE main", "VAR"]
        lines += [f"  {self.words.variable(v)} : {self.words.domain(v)};" for v in net.variables]
        lines.append("INIT")
        first = [self.words.test(Is(variable, variable.initial)) for variable in net.variables]
        lines += ["  " + " & ".join(first), "DEFINE", f"  stuck := {self.words.test(net.stuck)};"]
        lines += [
            f"  {self.words.proposition(n)} := {self.words.test(t)};"
            for n, t in net.propositions.items()
        ]
        lines.append("TRANS")
        steps = [f"{self._step(command)} -- {plain(command.label)}\n" for command in net.commands]
        lines += ["  " + "  | ".join([*steps, self._staying()])]
        ended = self.words.proposition("ended")
        lines.append(f"CTLSPEC NAME no_deadlock := AG (!stuck | {ended});")
        for number, (text, formula) in enumerate(formulas, start=1):
            kind, body = self._specified(text, formula)
            lines += [f"-- {plain(text)}", f"{kind} NAME f{number} := {body};"]
        return "\n".join([*lines, ""])

    def _step(self, command: GuardedCommand) -> str:
        updates = {update.variable: update for update in command.updates}
        becomes = [
            self._becomes(variable, updates[variable])
            if variable in updates
            else self._same(variable)
            for variable in self.net.variables
        ]
        return f"({self.words.test(All(command.tests))} & {' & '.join(becomes)})"

    def _staying(self) -> str:
        return f"(stuck & {' & '.join(map(self._same, self.net.variables))})"

    def _becomes(self, variable: Variable, update: Update) -> str:
        match update:
            case Set(_, value):
                new = self.words.value(variable, value)
            case Copy(_, source):
                new = self.words.variable(source)
            case Add(_, number):
                new = f"{self.words.variable(variable)} {'+' if number > 0 else '-'} {abs(number)}"
        return f"next({self.words.variable(variable)}) = {new}"

    def _same(self, variable: Variable) -> str:
        return f"next({self.words.variable(variable)}) = {self.words.variable(variable)}"

    def _specified(self, text: str, formula: Formula) -> tuple[str, str]:
        """As what a formula is given, and in which words."""
        # A state in which a run ends is repeated for ever, and only Y and Z count that.
        refuse_past(formula, "SMV", but=(Since, Triggered))
        if is_linear(formula):
            return "LTLSPEC", written(linear(formula), WORDS, self.words.atom)
        ctl = branching(formula)
        if ctl is None:
            reason = "it is neither LTL nor CTL"
            raise refused("SMV", text, reason, "PRISM can, or check it here")
        return "CTLSPEC", self._ctl(ctl)

    def _ctl(self, formula: Formula) -> str:  # noqa: PLR0911 - a case an operator
        """A CTL formula, whose temporal operators stand right below E or !E."""
        match formula:
            case Truth(value):
                return SIGNS.true if value else SIGNS.false
            case Atom():
                return self.words.atom(formula)
            case Not(Exists(Until(Truth(True), of))):
                return f"AG ({self._ctl(negated(of))})"
            case Not(Exists(Release(Truth(False), of))):
                return f"AF ({self._ctl(negated(of))})"
            case Not(Exists(Next(of))):
                return f"AX ({self._ctl(negated(of))})"
            case Not(of):
                return f"!({self._ctl(of)})"
            case And(left, right) | Or(left, right):
                joint = SIGNS.both if isinstance(formula, And) else SIGNS.either
                return f"({self._ctl(left)}){joint}({self._ctl(right)})"
            case Exists(path):
                return self._some(path)
        raise TypeError(f"not CTL: {formula}")

    def _some(self, path: Formula) -> str:
        match path:
            case Until(Truth(True), of):
                return f"EF ({self._ctl(of)})"
            case Release(Truth(False), of):
                return f"EG ({self._ctl(of)})"
            case Until(left, right):
                return f"E [({self._ctl(left)}) U ({self._ctl(right)})]"
            case Release(left, right):
                no, nor = self._ctl(negated(left)), self._ctl(negated(right))
                return f"!(A [({no}) U ({nor})])"
            case Next(of):
                return f"EX ({self._ctl(of)})"
        raise TypeError(f"not CTL: {path}")
