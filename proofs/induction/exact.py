"""Decision functions that are given symbols, with proof that this is as good as giving numbers.

Three defences, each by itself: the functions' source admits nothing but exact arithmetic
(`proofs.induction.source`); the symbols refuse everything else (`Argument`); and what comes out for
symbols is compared with what comes out for numbers, past every number that the source names.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial, wraps
from inspect import signature
from itertools import product
from types import SimpleNamespace, TracebackType
from typing import Any, cast, get_type_hints

from proofs.induction.numbers import (
    AS_TEXT,
    Argument,
    Given,
    Inexact,
    NumberCase,
    Numbers,
    Unknown,
    Whole,
)
from proofs.induction.source import DECISIONS, Source, read
from pxp_fsm.protocol.decisions import Category
from pxp_fsm.protocol.interfaces import Decisions
from pxp_fsm.protocol.messages import Tag

MARGIN = 4
"""How far beyond the largest number of the source all numbers are tried."""

WIDEST = 40
"""Up to here all numbers are tried; beyond, those around each number of the source."""

SAMPLES, FARTHEST = 40, 10**6
"""How many tuples of larger numbers are tried, and how large they get."""

_DOMAINS: dict[Any, tuple[object, ...]] = {
    bool: (False, True),
    Category: tuple(Category),
    str: (*map(str, Tag), ""),
}


_NUMBERS: tuple[Any, ...] = (int, int | None)


def exact(functions: Decisions) -> Decisions:
    """`functions` to be called with symbols or with numbers.

    Raises `Unknown` where their source is refused, or symbols and numbers give different answers;
    so does a call in which they do with a symbol what is not exact.
    """
    return _checked(
        *(getattr(functions, name) for name in DECISIONS), digest=read(functions).digest
    )


@lru_cache(maxsize=16)
def _checked(*functions: Callable[..., Any], digest: str) -> Decisions:
    """The same, of functions of which `digest` tells everything that they do."""
    plain = SimpleNamespace(**dict(zip(DECISIONS, functions, strict=True)))
    source, numbers = read(cast(Decisions, plain)), Numbers()
    if source.digest != digest:
        raise Unknown("the decision functions changed while they were read")
    symbolic = dict(zip(DECISIONS, functions, strict=True))
    for name, function in symbolic.items():
        if kinds := _kinds(name):
            symbolic[name] = _guarded(function, name, source)
            _compare(name, kinds, function, symbolic[name], source, numbers)
    return cast(Decisions, SimpleNamespace(**symbolic))


def _kinds(name: str) -> list[Any]:
    """The types of a decision function's arguments; none where no number is among them."""
    hints = get_type_hints(getattr(Decisions, name))
    kinds = [hints[one] for one in signature(getattr(Decisions, name)).parameters if one != "self"]
    return kinds if any(kind in _NUMBERS for kind in kinds) else []


def _guarded(function: Callable[..., Any], name: str, source: Source) -> Callable[..., Any]:
    """`function`, which gets symbols as `Argument`s and answers as `Decisions` says, or not."""
    kind = get_type_hints(getattr(Decisions, name))["return"]

    @wraps(function)
    def guarded(*given: object, **named: object) -> object:
        try:
            answer = function(*map(_argument, given), **{x: _argument(y) for x, y in named.items()})
        except Inexact as error:
            file, line = _line(error.__traceback__, name)
            if str(error) in AS_TEXT and (file, line) in source.messages:
                raise source.messages[file, line](f"refused by {name}") from None
            raise Unknown(
                f"{file}:{line}: {name}: {error} is not exact arithmetic or a comparison, so "
                f"nothing is proved of it"
            ) from None
        if type(answer) is not kind:
            raise Unknown(f"{name} answers {type(answer).__name__}, not {kind.__name__}")
        return answer

    return guarded


def _argument(value: object) -> object:
    return Argument(value.case, value.terms, value.constant) if type(value) is Whole else value


def _line(traceback: TracebackType | None, name: str) -> tuple[str, int]:
    """The file and line in which the functions did what is refused."""
    found = name, 0
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if traceback.tb_frame.f_globals.get("__name__", "").rpartition(".")[0] != __package__:
            found = code.co_filename, traceback.tb_lineno
        traceback = traceback.tb_next
    return found


def _compare(
    name: str,
    kinds: Sequence[Any],
    function: Callable[..., Any],
    symbolic: Callable[..., Any],
    source: Source,
    numbers: Numbers,
) -> None:
    """Raise `Unknown` where symbols and numbers make a difference."""
    places = [place for place, kind in enumerate(kinds) if kind in _NUMBERS]
    rest = [(None,) if place in places else _DOMAINS[kind] for place, kind in enumerate(kinds)]
    names = [f"x{place}" for place in places]
    for fixed in product(*rest):

        def at(values: Callable[[str], object], fixed: tuple[object, ...] = fixed) -> list[object]:
            given = list(fixed)
            for place, x in zip(places, names, strict=True):
                given[place] = values(x)
            return given

        def run(case: NumberCase, at: Callable[..., list[object]] = at) -> object:
            return _outcome(symbolic, at(case.named))

        cases = list(numbers.cases((), run, {}))
        for point in _points(source, len(places)):
            known = dict(zip(names, point, strict=True))
            found = _outcome(function, at(known.__getitem__))
            _check(name, at(known.__getitem__), found, cases, known)


def _check(
    name: str,
    given: list[object],
    found: object,
    cases: list[tuple[Given, object]],
    known: dict[str, int],
) -> None:
    said = [answer for case, answer in cases if all(atom.holds(known) for atom in case)]
    if len(said) != 1 or type(said[0]) is not type(found) or said[0] != found:
        call = f"{name}({', '.join(map(str, given))})"
        raise Unknown(
            f"{call} is {found}, but {', '.join(map(str, said)) or 'nothing'} where numbers are "
            f"symbols, so nothing is proved of it"
        )


def _outcome(function: Callable[..., Any], given: list[object]) -> object:
    """What the function answers, or the class of what it raises."""
    try:
        return function(*given)
    except Unknown:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, it must be the same for symbols
        return type(error)


def _points(source: Source, count: int) -> Iterator[tuple[int, ...]]:
    """Numbers past every one that the source names, and larger ones at random."""
    named = {abs(constant) for constant in source.constants}
    top = min(max(named, default=0), WIDEST) + MARGIN
    line = {*range(-2, top + 1)}
    line |= {one + d for one in named if one > top for d in range(-MARGIN, MARGIN + 1)}
    yield from product(sorted(line), repeat=count)
    draw = partial(random.Random(20).randint, 0, FARTHEST)
    for _ in range(SAMPLES):
        first = draw()
        yield tuple(first + draw() % 7 - 3 if draw() % 2 else draw() for _ in range(count))
