"""A system as a TLA+ module, with the configuration that TLC needs beside it (.cfg).

A behaviour takes steps as long as it can (weak fairness of Next); where nothing can happen it
stays, which TLC does not take for a deadlock, so that a run that ends is one that stays where it
ended; the invariant NoDeadlock asks that it does so at the end alone. A step that could change
nothing would be one that TLA+ cannot see; where there is one, a variable that changes with every
step is added.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from proofs.export.commands import Add, All, CommandSystem, Copy, GuardedCommand, Is, Set, Update
from proofs.logic.formulas import Formula, atoms
from proofs.systems.product import Composition
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.plugins.exports.fragments import FormulaSyntax, is_linear, linear, refuse_past, written
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
    "ASSUME ASSUMPTION AXIOM CASE CHOOSE CONSTANT CONSTANTS DOMAIN ELSE ENABLED EXCEPT EXTENDS IF "
    "IN INSTANCE LET LOCAL MODULE OTHER SF_ SUBSET THEN THEOREM UNCHANGED UNION VARIABLE VARIABLES "
    "WF_ WITH BOOLEAN STRING TRUE FALSE Init Next Spec vars tick Stuck "
    "Staying NoDeadlock TypeOK Nat Int"
)
"""Keywords, and what this module itself names."""

SIGNS = Operators("TRUE", "FALSE", "~", " /\\ ", " \\/ ", stuck="Stuck")
WORDS = FormulaSyntax(
    true="TRUE",
    false="FALSE",
    negation="~",
    both=" /\\ ",
    either=" \\/ ",
    next=None,
    until=None,
    release=None,
    globally="[]",
    eventually="<>",
)
_MODULE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_STANDARD_MODULES = ("Integers", "Naturals", "Sequences", "FiniteSets", "Reals", "TLC", "Bags")

MODULE = "System"
"""The module's name, after which TLC wants its file to be named."""


def to_tla(
    composition: Composition, formulas: Sequence[tuple[str, Formula]] = (), module: str = MODULE
) -> WrittenFiles:
    """`composition` as the TLA+ module `module`, and TLC's configuration with its properties.

    Raises `UsageError` for a formula in which another temporal operator than G and F stands, and
    for a `module` that cannot be one's own.
    """
    if not _MODULE.fullmatch(module) or module in _STANDARD_MODULES:
        raise UsageError(
            f"{module}.tla: a TLA+ module is called as its file, and {quoted(module)} cannot be "
            f"one's own; use letters, digits and _, a letter first"
        )
    net = network(composition, (name for _, formula in formulas for name in atoms(formula)))
    writing = _Writing(net)
    told = [(text, writing.formula(text, formula)) for text, formula in formulas]
    return WrittenFiles(writing.module(module, told), {".cfg": _configuration(len(told))})


def _configuration(properties: int) -> str:
    lines = ["SPECIFICATION Spec", "INVARIANT TypeOK NoDeadlock"]
    lines += [f"PROPERTY F{number}" for number in range(1, properties + 1)]
    return "\n".join([*lines, ""])


class _Writing:
    """A network in the words of TLA+."""

    def __init__(self, net: CommandSystem) -> None:
        self.net = net
        self.words = NetworkSyntax(Names(RESERVED), SIGNS, _quoted)
        self.ticks = any(map(_may_change_nothing, net.commands))

    def formula(self, text: str, formula: Formula) -> str:
        """A formula in the words of TLA+."""
        refuse_past(formula, "TLA+")
        if not is_linear(formula):
            raise refused("TLA+", text, "it speaks of some run", "SMV and PRISM can")
        try:
            return written(linear(formula), WORDS, self.words.atom)
        except LookupError as error:
            remedy = "SMV and PRISM can"
            raise refused("TLA+", text, f"there is no {error.args[0]}", remedy) from error

    def module(self, name: str, formulas: Sequence[tuple[str, str]]) -> str:
        net = self.net
        variables = [*map(self.words.variable, net.variables), *(["tick"] if self.ticks else [])]
        lines = [f"---- MODULE {name} ----", *(f"\\* {line}" for line in header(net.composition))]
        lines += ["EXTENDS Integers", f"VARIABLES {', '.join(variables)}"]
        lines += [f"vars == <<{', '.join(variables)}>>", ""]
        lines += [
            "TypeOK ==",
            *(f"  /\\ {self.words.variable(v)} \\in {self.words.domain(v)}" for v in net.variables),
        ]
        lines += ["Init ==", *(f"  /\\ {self.words.test(Is(v, v.initial))}" for v in net.variables)]
        lines += [*(["  /\\ tick = 0"] if self.ticks else []), ""]
        for number, command in enumerate(net.commands, start=1):
            lines += [f"\\* {plain(command.label)}", f"Step_{number} ==", *self._step(command)]
        steps = [f"Step_{number}" for number in range(1, len(net.commands) + 1)]
        lines += [
            f"Stuck == {self.words.test(net.stuck)}",
            "Staying == Stuck /\\ UNCHANGED vars",
            "",
        ]
        lines += [f"Next == {SIGNS.either.join([*steps, 'Staying'])}"]
        lines += ["Spec == Init /\\ [][Next]_vars /\\ WF_vars(Next)", ""]
        lines += [
            f"{self.words.proposition(n)} == {self.words.test(t)}"
            for n, t in net.propositions.items()
        ]
        lines += [f"NoDeadlock == ~Stuck \\/ {self.words.proposition('ended')}", ""]
        for number, (text, formula) in enumerate(formulas, start=1):
            lines += [f"\\* {plain(text)}", f"F{number} == {formula}"]
        return "\n".join([*lines, "====", ""])

    def _step(self, command: GuardedCommand) -> list[str]:
        changed = {update.variable for update in command.updates}
        same = [self.words.variable(v) for v in self.net.variables if v not in changed]
        lines = [f"  /\\ {self.words.test(All(command.tests))}"]
        lines += [f"  /\\ {self._becomes(update)}" for update in command.updates]
        lines += ["  /\\ tick' = 1 - tick"] if self.ticks else []
        return [*lines, *([f"  /\\ UNCHANGED <<{', '.join(same)}>>"] if same else [])]

    def _becomes(self, update: Update) -> str:
        name = self.words.variable(update.variable)
        match update:
            case Set(variable, value):
                return f"{name}' = {self.words.value(variable, value)}"
            case Copy(_, source):
                return f"{name}' = {self.words.variable(source)}"
            case Add(_, number):
                return f"{name}' = {name} {'+' if number > 0 else '-'} {abs(number)}"


def _quoted(name: str) -> str:
    """A state or tag as a string: letters, digits and _, which need no escape.

    Letters beyond ASCII, which TLC need not print, are written by their numbers.
    """
    plain = re.sub(r"[^\x00-\x7f]", lambda match: f"_{ord(match[0]):x}_", name)
    return f'"{plain}"'


def _may_change_nothing(command: GuardedCommand) -> bool:
    """Whether a step could lead to where it begins, as far as its tests say."""
    known = {test.variable: test.value for test in command.tests if isinstance(test, Is)}
    return all(
        isinstance(update, Copy)
        or (isinstance(update, Set) and known.get(update.variable, update.value) == update.value)
        for update in command.updates
    )
