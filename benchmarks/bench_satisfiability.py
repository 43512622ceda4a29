"""Satisfiability of published formulas of LTL and LTLf.

    git clone https://github.com/black-sat/black
    python benchmarks/bench_satisfiability.py black

BLACK, a satisfiability checker (Geatti, Gigante and Montanari, TABLEAUX 2019; MIT licence), has an
index of 3,180 formulas with their verdicts: tests/formulas/tests.index. They are read by our
parser, and decided by the translation that checks systems; each run that is found is evaluated on
the formula by its definition. A formula with operators of the past gets a proposition for what each
of them says, and what makes it say so: it is satisfiable if and only if the result is.

Of what is in `finite_models` finite runs count, of the others infinite ones. What is not decided in
`--seconds` each is named, and what cannot be read is counted by its reason. `--log FILE` keeps a
line for each formula.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from proofs.core.explore import TooLarge
from proofs.logic import parse, satisfying_run
from proofs.logic.formulas import (
    FALSE,
    TRUE,
    And,
    Atom,
    Formula,
    Next,
    Not,
    Or,
    Release,
    Until,
    WeakNext,
    eventually,
    globally,
    implies,
)
from proofs.logic.satisfiability import WitnessRun

INDEX = Path("tests", "formulas", "tests.index")
FORMULAS = Path("benchmarks", "formulas")

TERMS = "terms of a first-order theory are not supported"
TIME = "no answer within the time"
REASONS = (TERMS, TIME)


@dataclass(frozen=True, slots=True)
class NotDecided(Exception):
    """A formula is not decided, for one of `REASONS`."""

    reason: str


_TOKEN = re.compile(r"\s*(<->|<=>|->|=>|&&?|\|\|?|[!~()]|[A-Za-z_]\w*)")
_OURS = {
    **{"<=>": "<->", "=>": "->", "~": "!", "True": "true", "False": "false", "V": "R"},
    **{"wX": "N"},
}
_OPERATORS = frozenset("FGXURWM")
_OF_THE_PAST = frozenset("YZOHST")


def read(text: str) -> Formula:
    """A formula in BLACK's syntax; raises `NotDecided`."""
    written, place = list[str](), 0
    text = text.strip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise NotDecided(TERMS)
        token, place = match[1], match.end()
        if token.isidentifier() and token not in _OPERATORS | _OF_THE_PAST and token not in _OURS:
            token = f'"{token}"'
        written.append(_OURS.get(token, token))
    if _OF_THE_PAST.isdisjoint(written):
        return parse(" ".join(written))
    return WithPast(written).formula()


class WithPast:
    """A parser of formulas with operators of the past, which takes them away.

    What Y f says is a proposition that is false at first, and later what f was one state before.
    Everything else follows: p S q is q | (p & Y(p S q)).
    """

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens, self._place = [*tokens, ""], 0
        self._said = list[Formula]()

    def formula(self) -> Formula:
        """The whole formula, with what its propositions say."""
        formula = self._binary(0)
        if self._tokens[self._place]:
            raise ValueError(f"not read: {' '.join(self._tokens[self._place :])}")
        for condition in self._said:
            formula = And(formula, condition)
        return formula

    def _binary(self, level: int) -> Formula:
        """A formula whose operators bind at least as much as those of a level; all to the right."""
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        operator = self._tokens[self._place]
        if operator not in _LEVELS[level]:
            return left
        self._place += 1
        return self._joined(operator[0], left, self._binary(level))

    def _unary(self) -> Formula:
        word = self._tokens[self._place]
        self._place += 1
        if word == "(":
            inner = self._binary(0)
            self._place += 1
            return inner
        if word not in _UNARY and word not in _OF_THE_PAST:
            return _CONSTANTS.get(word) or Atom(word.strip('"'))
        of = self._unary()
        if word in "YZ":
            return self._before(of, first=word == "Z")
        if word == "O":
            return self._since(TRUE, of)
        return Not(self._since(TRUE, Not(of))) if word == "H" else _UNARY[word](of)

    def _joined(self, operator: str, left: Formula, right: Formula) -> Formula:
        match operator:
            case "S":
                return self._since(left, right)
            case "T":
                return Not(self._since(Not(left), Not(right)))
        return _BINARY[operator](left, right)

    def _before(self, of: Formula, *, first: bool) -> Formula:
        own = self._name()
        self._say(own, of)
        self._said.append(own if first else Not(own))
        return own

    def _since(self, left: Formula, right: Formula) -> Formula:
        own = self._name()
        formula = Or(right, And(left, own))
        self._say(own, formula)
        self._said.append(Not(own))
        return formula

    def _name(self) -> Atom:
        return Atom(f"was {self._place}.{len(self._said)}")

    def _say(self, own: Atom, of: Formula) -> None:
        later = Next(own)
        self._said.append(globally(And(implies(later, of), implies(of, later))))


_CONSTANTS: dict[str, Formula] = {"true": TRUE, "false": FALSE}
_UNARY: dict[str, Callable[[Formula], Formula]] = {
    **{"!": Not, "X": Next, "N": WeakNext, "F": eventually, "G": globally}
}
_BINARY: dict[str, Callable[[Formula, Formula], Formula]] = {
    "<": lambda left, right: And(implies(left, right), implies(right, left)),
    "-": implies,
    "|": Or,
    "&": And,
    "U": Until,
    "R": Release,
    "W": lambda left, right: Release(right, Or(left, right)),
    "M": lambda left, right: Until(right, And(left, right)),
}
_LEVELS = (("<->",), ("->",), ("|", "||"), ("&", "&&"), tuple("URWMST"))


@dataclass(frozen=True)
class Decision:
    """A formula, and a run that satisfies it, if any."""

    formula: Formula
    run: WitnessRun | None

    @property
    def satisfiable(self) -> bool:
        return self.run is not None


def decide(text: str, *, finite: bool = False, seconds: float = 600) -> Decision:
    """Whether a formula in BLACK's syntax is satisfiable; raises `NotDecided`."""
    formula = read(text)
    try:
        run = satisfying_run(formula, finite=finite, infinite=not finite, seconds=seconds)
    except TooLarge as error:
        raise NotDecided(TIME) from error
    return Decision(formula, run)


def listed(folder: Path) -> Iterator[tuple[str, str]]:
    """The formulas of the index: where each is, and its verdict."""
    for line in (folder / INDEX).read_text("utf-8").splitlines():
        path, _, verdict = line.partition(";")
        yield path, verdict


def family(path: str) -> str:
    """The first parts of a path: who made the formulas, and of which kind they are."""
    parts = path.split("/")[:-1]
    return "/".join(parts[: 3 if "rozier" in parts or "trp" in parts else 2])


@dataclass
class Row:
    """What came of a family."""

    agreeing: int = 0
    wrong: list[str] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", nargs="?", type=Path, help="a clone of BLACK")
    parser.add_argument("--every", type=int, default=1, help="take every so manyth formula")
    parser.add_argument("--seconds", type=float, default=10, help="at most so long for each")
    parser.add_argument("--log", type=Path, help="keep a line for each formula in this file")
    given = parser.parse_args()
    folder: Path | None = given.folder
    if folder is None:
        sys.stdout.write("Name the folder of a clone of https://github.com/black-sat/black\n")
        return
    rows: dict[str, Row] = defaultdict(Row)
    log = given.log.open("w", encoding="utf-8") if given.log else None
    for path, expected in islice(listed(folder), 0, None, given.every):
        row = rows[family(path)]
        text = (folder / FORMULAS / path).read_text("utf-8")
        started = time.process_time()
        try:
            decision = decide(text, finite=path.startswith("finite_models"), seconds=given.seconds)
            told = "SAT" if decision.satisfiable else "UNSAT"
        except NotDecided as error:
            row.reasons[error.reason] += 1
            told = error.reason
            if told == TIME:
                row.unanswered.append(path)
        seconds = time.process_time() - started
        if log:
            log.write(f"{path};{expected};{told};{seconds:.3f}\n")
            log.flush()
        if told in REASONS:
            continue
        row.seconds.append(seconds)
        if told == expected:
            row.agreeing += 1
        else:
            row.wrong.append(path)
    _print(rows)


def _print(rows: dict[str, Row]) -> None:
    heads = (
        "family", "formulas", "decided", "wrong", "median, s", "largest, s", "all, s",
        "not decided",
    )  # fmt: skip
    lines = [heads, ("---", *("--:" for _ in heads[1:-1]), "---")]
    total = Row()
    for name, row in sorted(rows.items()):
        lines.append(_cells(name, row))
        total.agreeing += row.agreeing
        total.wrong += row.wrong
        total.unanswered += row.unanswered
        total.reasons += row.reasons
        total.seconds += row.seconds
    lines.append(_cells("all", total))
    for line in lines:
        sys.stdout.write(f"| {' | '.join(line)} |\n")
    for path in total.wrong:
        sys.stdout.write(f"Wrong: {path}\n")
    for path in total.unanswered:
        sys.stdout.write(f"Not decided: {path}\n")


def _cells(name: str, row: Row) -> tuple[str, ...]:
    seconds = sorted(row.seconds)
    times = (
        (f"{seconds[len(seconds) // 2]:.3f}", f"{seconds[-1]:.2f}", f"{sum(seconds):.1f}")
        if seconds
        else ("", "", "")
    )
    reasons = "; ".join(f"{count:,}: {reason}" for reason, count in row.reasons.most_common())
    decided = row.agreeing + len(row.wrong)
    numbers = (decided + sum(row.reasons.values()), decided, len(row.wrong))
    return name, *(f"{number:,}" for number in numbers), *times, reasons


if __name__ == "__main__":
    main()
