"""A system as Promela: one process whose steps are the system's, and formulas as ltl blocks.

Each step is one d_step, so SPIN has the states and transitions that we have. A run that ends stays
where it ended, as SPIN reads it; the block no_deadlock asks that it does so at the end alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from proofs.export.commands import (
    Add,
    All,
    CommandSystem,
    Copy,
    GuardedCommand,
    Set,
    Update,
    holds_first,
)
from proofs.logic.formulas import Atom, Formula, Next, atoms, negated, parts
from proofs.logic.tableau import Tableau
from proofs.systems.product import Composition
from pxp_fsm.errors import UsageError
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
    "active assert atomic bit bool break byte c_code c_decl c_expr c_state c_track chan "
    "d_proctype d_step D_proctype do else empty enabled end eval false fi for full get_priority "
    "goto hidden if in init inline int len local ltl mtype nempty never nfull np_ od of "
    "pc_value pid print printf printm priority proctype provided return run select set_priority "
    "short show skip timeout trace notrace true typedef unless unsigned xr xs system stuck "
    "no_deadlock define ifdef ifndef endif always eventually until weakuntil stronguntil "
    "release implies equivalent next NULL STDIN "
)
"""Keywords, words of the preprocessor, and what this module itself names."""

LONGEST = 400
"""Characters of what a formula may speak of as a macro: SPIN reads formulas of some 4,000. What is
longer is a variable that follows from the others, so that there are no more states."""

LARGEST = 4096
"""The transitions of a claim, at most; SPIN's compiler takes seconds for more."""

MOST = 16
"""The propositions and temporal parts of a formula, at most."""

_State = tuple[int, int]
"""What was promised of the present state, and how many parts are to be settled in this round."""

_START: _State = (-1, 0)

SIGNS = Operators("true", "false", "!", " && ", " || ", "({} == {})", "({} >= {})")
WORDS = FormulaSyntax(
    both=" && ", either=" || ", next=None, release="V", globally="[]", eventually="<>"
)


def to_promela(
    composition: Composition, formulas: Sequence[tuple[str, Formula]] = ()
) -> WrittenFiles:
    """`composition` as Promela, with an ltl block f1, f2 ... for each formula and its text.

    A formula with X or N, which SPIN as it is distributed does not read, is a never claim. Raises
    `UsageError` for a formula that is not LTL, and for a variable with more than 256 values.
    """
    net = network(composition, (name for _, formula in formulas for name in atoms(formula)))
    writing = _Writing(net)
    claims = [
        (text, writing.claim(f"f{number}", text, formula))
        for number, (text, formula) in enumerate(formulas, start=1)
    ]
    return WrittenFiles(writing.text(claims))


class _Writing:
    """A network in Promela's words."""

    def __init__(self, net: CommandSystem) -> None:
        self.net = net
        self.words = NetworkSyntax(Names(RESERVED), SIGNS)
        for variable in net.variables:
            if len(variable.domain.values) > 256:
                raise UsageError("Promela's byte holds 256 values, and a member has more states")
        self.said = {self.words.proposition(name): test for name, test in net.propositions.items()}
        self.said["stuck"] = net.stuck
        self.kept = {n: t for n, t in self.said.items() if len(self.words.test(t)) > LONGEST}

    def claim(self, name: str, text: str, formula: Formula) -> str:
        """The claim `name` that every run satisfies the formula."""
        refuse_past(formula, "Promela")
        if not is_linear(formula):
            raise refused("Promela", text, "it speaks of some run", "SMV and PRISM can")
        told = linear(formula)
        if not any(isinstance(part, Next) for part in parts(told)):
            return f"ltl {name} {{ {written(told, WORDS, self.words.atom)} }}"
        try:
            return never_claim(name, told, self.words.atom)
        except OverflowError as error:
            raise refused("Promela", text, str(error), "SMV can") from error

    def text(self, formulas: Sequence[tuple[str, str]]) -> str:
        lines = ["/*", *(f"   {line}" for line in header(self.net.composition)), "*/"]
        domains = dict.fromkeys(variable.domain for variable in self.net.variables)
        for domain in domains:
            if not domain.numbers:
                lines += [
                    f"#define {self.words.names.of('value', *domain.words, value)} {number}"
                    for number, value in enumerate(domain.values)
                ]
        lines += [
            f"byte {self.words.variable(v)} = {self.words.value(v, v.initial)};"
            for v in self.net.variables
        ]
        for name, test in self.said.items():
            first = str(holds_first(test)).lower()
            kept = name in self.kept
            lines.append(
                f"bool {name} = {first};" if kept else f"#define {name} ({self.words.test(test)})"
            )
        lines += ["", "active proctype system()", "{", "end:", "  do"]
        steps = [f"  :: {self._step(command)}" for command in self.net.commands]
        lines += steps or ["  :: false"]  # a loop without an option is a syntax error
        lines += ["  od", "}", ""]
        lines.append(f"ltl no_deadlock {{ [] (!stuck || {self.words.proposition('ended')}) }}")
        for text, claim in formulas:
            lines += [f"/* {plain(text)} */", claim]
        return "\n".join([*lines, ""])

    def _step(self, command: GuardedCommand) -> str:
        updates = [self._update(update) for update in command.updates]
        updates += [f"{name} = {self.words.test(test)}" for name, test in self.kept.items()]
        told = "; ".join(updates or ["skip"])
        guard = self.words.test(All(command.tests))
        return f"d_step {{ {guard} -> {told} }} /* {plain(command.label)} */"

    def _update(self, update: Update) -> str:
        name = self.words.variable(update.variable)
        match update:
            case Set(variable, value):
                return f"{name} = {self.words.value(variable, value)}"
            case Copy(_, source):
                return f"{name} = {self.words.variable(source)}"
            case Add(_, number):
                return f"{name} = {name} {number:+d}"


def never_claim(name: str, formula: Formula, atom: Callable[[Atom], str]) -> str:
    """The claim `name` that no run violates `formula`, over runs that never end.

    SPIN as it is distributed reads no X in LTL. A claim is an automaton of the runs that violate
    the formula, read off the formula's tableau. A state of it is what the tableau promises of the
    present state, and how many of the parts that must not wait for ever are still to be settled in
    this round (Baier and Katoen, Principles of Model Checking, 2008, theorem 4.56).

    `atom` writes a proposition. Raises `OverflowError` where the claim would be too large.
    """
    tableau = Tableau(negated(formula))
    if len(tableau.atoms) + len(tableau.choices) > MOST:
        raise OverflowError(f"it has more than {MOST} propositions and temporal parts")
    lines, known, left = list[str](), {_START}, [_START]
    steps = _steps(tableau, atom)
    room = LARGEST
    while left:
        state = left.pop(0)
        lines += [f"{_label(state)}:", "  do"]
        for test, target in steps(state):
            room -= 1
            if room < 0:
                raise OverflowError(f"its claim has more than {LARGEST:,} transitions")
            lines.append(f"  :: ({test}) -> goto {_label(target)}")
            if target not in known:
                known.add(target)
                left.append(target)
        if lines[-1] == "  do":
            lines.append("  :: false")
        lines.append("  od;")
    return "\n".join([f"never {name} {{", *lines, "}"])


def _label(state: _State) -> str:
    """A run is accepted that ends a round again and again."""
    promised, left = state
    if state == _START:
        return "start"
    return f"wait_{promised}_{left}" if left else f"accept_{promised}"


def _steps(
    tableau: Tableau, atom: Callable[[Atom], str]
) -> Callable[[_State], Iterator[tuple[str, _State]]]:
    names = [atom(proposition) for proposition in tableau.atoms if isinstance(proposition, Atom)]
    worlds = {
        known: " && ".join(
            name if true else f"!{name}" for name, true in zip(names, known, strict=True)
        )
        or "true"
        for known in product((True, False), repeat=len(names))
    }
    last = len(tableau.waiting)

    def steps(state: _State) -> Iterator[tuple[str, _State]]:
        promised, left = state
        for known, test in worlds.items():
            for valuation in tableau.valuations:
                if state == _START:
                    fits = tableau.holds(known, valuation)
                else:
                    fits = tableau.kept(known, valuation) == promised
                if fits:
                    settled, after = tableau.settled(known, valuation), last - (left or last)
                    while after < last and settled >> after & 1:
                        after += 1
                    yield test, (valuation, last - after)

    return steps
