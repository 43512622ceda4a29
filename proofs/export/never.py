"""A formula with X as a never claim of Promela: SPIN as it is distributed reads no X in LTL.

A claim is an automaton of the runs that violate the formula, read off the formula's tableau. A
state of it is what the tableau promises of the present state, and how many of the parts that must
not wait for ever are still to be settled in this round (Baier and Katoen, Principles of Model
Checking, 2008, theorem 4.56).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

from proofs.logic.formulas import Atom, Formula, negated
from proofs.logic.tableau import Tableau

LARGEST = 4096
"""The transitions of a claim, at most; SPIN's compiler takes seconds for more."""

MOST = 16
"""The propositions and temporal parts of a formula, at most."""

_State = tuple[int, int]
"""What was promised of the present state, and how many parts are to be settled in this round."""

_START: _State = (-1, 0)


def never_claim(name: str, formula: Formula, atom: Callable[[Atom], str]) -> str:
    """The claim `name` that no run violates `formula`, over runs that never end.

    `atom` writes a proposition. Raises `OverflowError` where the claim would be too large.
    """
    tableau = Tableau(negated(formula))
    if len(tableau.atoms) + len(tableau.promised) > MOST:
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
    names = [atom(one) for one in tableau.atoms if isinstance(one, Atom)]
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
