"""The fragment of temporal logic that a formula belongs to, in other checkers' syntax.

Theirs are infinite runs, ours may end. A run that ends is for them one that stays for ever where it
ended; then all operators mean the same but X, which needs to know that something can happen: X p
is there (not stuck and X p), N p is (stuck or X p).
"""

from __future__ import annotations

from collections.abc import Callable

from proofs.logic.formulas import (
    FALSE,
    TRUE,
    And,
    Atom,
    Exists,
    Formula,
    Next,
    Not,
    Or,
    Past,
    Release,
    Since,
    Triggered,
    Truth,
    Until,
    WeakNext,
    WeakYesterday,
    Yesterday,
    negated,
    negation_normal,
    on_all,
    parts,
)
from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass

STUCK = Atom(" stuck")
"""Nothing can happen; no proposition of a table has a space in it."""


@dataclass(frozen=True, slots=True)
class FormulaSyntax:
    """How a language writes a formula; None for what it cannot say.

    `exists` and `on_all` write a quantified path, from the path's text.
    """

    true: str = "true"
    false: str = "false"
    negation: str = "!"
    both: str = " & "
    either: str = " | "
    next: str | None = "X"
    until: str | None = "U"
    release: str | None = "R"
    globally: str = "G"
    eventually: str = "F"
    exists: Callable[[str], str] | None = None
    on_all: Callable[[str], str] | None = None


def on_every_run(formula: Formula) -> Formula:
    """What every run must satisfy: A in front of a formula changes nothing."""
    match formula:
        case Not(Exists(path)):
            return negation_normal(path, positive=False)
        case _:
            return negation_normal(formula)


def refuse_past(formula: Formula, language: str, *, but: tuple[type[Past], ...] = ()) -> None:
    """Raise `UsageError` for past operators that a language does not have; it has `but` these."""
    there = {type(part) for part in parts(formula) if isinstance(part, Past)}
    if there - set(but):
        which = "Y and Z" if but else "Y, Z, O, H, S and T"
        raise UsageError(f"{language} has no {which} as they are meant here; leave them out")


def is_linear(formula: Formula) -> bool:
    """Whether it is LTL: nothing in it speaks of some run."""
    return not any(isinstance(part, Exists) for part in parts(on_every_run(formula)))


def linear(formula: Formula) -> Formula:
    """An LTL formula, with X as other checkers read it; in negation normal form."""
    return _told(on_every_run(formula))


def branching(formula: Formula) -> Formula | None:
    """A CTL formula, every temporal operator right below E (or !E); None where it is not CTL."""
    try:
        return _state(formula)
    except _NotBranching:
        return None


class _NotBranching(Exception):
    """A formula is not CTL."""


def _told(formula: Formula) -> Formula:
    match formula:
        case Next(of):
            return And(Not(STUCK), Next(_told(of)))
        case WeakNext(of):
            return Or(STUCK, Next(_told(of)))
        case And() | Or() | Until() | Release() | Since() | Triggered():
            return type(formula)(_told(formula.left), _told(formula.right))
        case Not(of):
            return Not(_told(of))
        case Exists(path):
            return Exists(_told(negation_normal(path)))
        case _:
            return formula


def quantified(formula: Formula) -> Formula:
    """A CTL* formula as a state formula, with X as other checkers read it."""
    linear_outside = not isinstance(formula, (Atom, Truth)) and _is_path(formula)
    return _told(_normal(on_all(formula) if linear_outside else formula))


def _normal(formula: Formula) -> Formula:
    """Negations inside paths pushed to what is below E."""
    match formula:
        case Not(of):
            return negated(_normal(of))
        case And(left, right) | Or(left, right):
            return type(formula)(_normal(left), _normal(right))
        case Exists(path):
            return Exists(negation_normal(path))
        case _:
            return formula


def _is_path(formula: Formula) -> bool:
    """Whether a temporal operator stands outside of every E."""
    match formula:
        case Next() | WeakNext() | Until() | Release():
            return True
        case Not(of):
            return _is_path(of)
        case And(left, right) | Or(left, right):
            return _is_path(left) or _is_path(right)
        case _:
            return False


def _state(formula: Formula) -> Formula:
    if _is_path(formula):
        return _state(on_all(formula))
    match formula:
        case Not(of):
            return negated(_state(of))
        case And(left, right) | Or(left, right):
            return type(formula)(_state(left), _state(right))
        case Exists(path):
            return _some(negation_normal(path))
        case _:
            return formula


def _some(path: Formula) -> Formula:  # noqa: PLR0911 - a case an operator
    """E in front of a path in negation normal form, which must come to rest on one operator."""
    match path:
        case Or(left, right):
            return Or(_some(left), _some(right))
        case And(left, right) if not _is_path(left):
            return And(_state(left), _some(right))
        case And(left, right) if not _is_path(right):
            return And(_some(left), _state(right))
        case Next(of):
            return And(Not(STUCK), Exists(Next(_inside(of))))
        case WeakNext(of):
            return Or(STUCK, Exists(Next(_inside(of))))
        case Until(left, right) | Release(left, right):
            return Exists(type(path)(_inside(left), _inside(right)))
        case _:
            return _inside(path)


def _inside(formula: Formula) -> Formula:
    """A state formula where a path formula could stand: nothing temporal outside of E."""
    if _is_path(formula):
        raise _NotBranching
    return _state(formula)


def written(  # noqa: PLR0911, PLR0912 - a case an operator
    formula: Formula, words: FormulaSyntax, atom: Callable[[Atom], str]
) -> str:
    """`formula` in a language's words; `atom` writes the propositions, with their own brackets.

    Raises `LookupError` for what the language cannot say, which names the operator.
    """
    match formula:
        case Truth(value):
            return words.true if value else words.false
        case Atom():
            return atom(formula)
        case Not(Exists(path)) if words.on_all is not None:
            return words.on_all(written(_turned(path), words, atom))
        case Exists(path):
            if words.exists is None:
                raise LookupError("E")
            return words.exists(written(path, words, atom))
        case Not(of):
            return f"{words.negation}({written(of, words, atom)})"
        case Until(left, right) if left == TRUE:
            return f"{words.eventually} ({written(right, words, atom)})"
        case Release(left, right) if left == FALSE:
            return f"{words.globally} ({written(right, words, atom)})"
        case Next(of):
            return f"{_said(words.next, 'X')} ({written(of, words, atom)})"
        case WeakNext():
            raise LookupError("N")
        case Yesterday() | WeakYesterday():
            raise LookupError("Y")
        case Since(left, right) | Triggered(left, right):
            return _of_the_past(formula, words, atom)
        case Release(left, right) if words.release is None and words.until is not None:
            return f"{words.negation}({written(Until(negated(left), negated(right)), words, atom)})"
    operators = {
        And: words.both,
        Or: words.either,
        Until: words.until and f" {words.until} ",
        Release: words.release and f" {words.release} ",
    }
    operator = _said(operators[type(formula)], {Until: "U", Release: "R"}.get(type(formula), ""))
    left_text, other = written(formula.left, words, atom), written(formula.right, words, atom)
    return f"({left_text}){operator}({other})"


def _of_the_past(
    formula: Since | Triggered, words: FormulaSyntax, atom: Callable[[Atom], str]
) -> str:
    left, right = written(formula.left, words, atom), written(formula.right, words, atom)
    since = isinstance(formula, Since)
    if formula.left == (TRUE if since else FALSE):
        return f"{'O' if since else 'H'} ({right})"
    return f"(({left}) {'S' if since else 'T'} ({right}))"


def _turned(path: Formula) -> Formula:
    """The negation of a path, with X on an infinite run: there it is its own dual."""
    match path:
        case Next(of):
            return Next(_turned(of))
        case And(left, right):
            return Or(_turned(left), _turned(right))
        case Or(left, right):
            return And(_turned(left), _turned(right))
        case Until(left, right):
            return Release(_turned(left), _turned(right))
        case Release(left, right):
            return Until(_turned(left), _turned(right))
        case _:
            return negated(path)


def _said(word: str | None, operator: str) -> str:
    if word is None:
        raise LookupError(operator)
    return word
