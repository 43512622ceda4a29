"""The Wp-method: a finite suite that every machine passes that is equal, and none that is not.

Source: Fujiwara, v. Bochmann, Khendek, Amalou, Ghedamsi, "Test selection based on finite state
models", IEEE Transactions on Software Engineering 17(6), 1991.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

from proofs.conformance.identifying import characterising_set, identifiers
from proofs.conformance.mealy import Mealy, Word, access_words, minimal
from pxp_fsm.errors import UsageError

LARGEST = 3_000_000
"""The most tests that a suite may have before shared beginnings are merged."""


def wp_suite(machine: Mealy[Any, Any], extra: int = 0) -> tuple[Word, ...]:
    """The Wp suite of `machine` for implementations of at most `extra` states more.

    Complete: a deterministic machine over the same inputs, of at most n + `extra` states (n those
    of the minimal form of `machine`), answers every test of the suite as `machine` does if and only
    if it answers every word so. Shorter tests come first; none is the beginning of another.

    Raises `UsageError` where `extra` is negative or the suite would be larger than `LARGEST`: it
    grows with the number of inputs to the power of `extra`.
    """
    least, whole = _sized(machine, extra)
    cover = tuple(access_words(least).values())
    tests = {*_first_phase(least, extra, cover, whole), *_second_phase(least, extra, cover, whole)}
    return _maximal(tests)


def check_size(machine: Mealy[Any, Any], extra: int) -> None:
    """Raise `UsageError` where `wp_suite` would: a negative `extra`, or too many tests."""
    _sized(machine, extra)


def _sized(machine: Mealy[Any, Any], extra: int) -> tuple[Mealy[Any, Any], tuple[Word, ...]]:
    """The minimal form and its characterising set, where the suite is not too large."""
    if extra < 0:
        raise UsageError(f"the number of extra states is at least 0, not {extra}")
    least = minimal(machine)
    whole = characterising_set(least)
    most = least.size * len(whole) * sum(len(least.inputs) ** i for i in range(extra + 2))
    if most > LARGEST:
        raise UsageError(
            f"the suite for {extra} extra states would have up to {most:,} tests "
            f"(at most {LARGEST:,} are made); take fewer extra states"
        )
    return least, whole


def _first_phase(
    machine: Mealy[Any, Any], extra: int, cover: Iterable[Word], whole: Iterable[Word]
) -> Iterator[Word]:
    """Every state is there: from each, all that is at most `extra` inputs away, and all of W."""
    letters = range(len(machine.inputs))
    whole = tuple(whole)
    for access in cover:
        for length in range(extra + 1):
            for middle in product(letters, repeat=length):
                for word in whole:
                    yield access + middle + word


def _second_phase(
    machine: Mealy[Any, Any], extra: int, cover: Iterable[Word], whole: Iterable[Word]
) -> Iterator[Word]:
    """Every transition leads where it should: the remaining ones, and the state's own words."""
    letters = range(len(machine.inputs))
    named = identifiers(machine, tuple(whole))
    covered = set(cover)
    for access in covered:
        for letter in letters:
            reached = (*access, letter)
            if reached in covered:
                continue
            for middle in product(letters, repeat=extra):
                for word in named[machine.after(reached + middle)]:
                    yield reached + middle + word


def _maximal(tests: set[Word]) -> tuple[Word, ...]:
    """The tests that are not the beginning of another, in order of length."""
    beginnings = {test[:length] for test in tests for length in range(len(test))}
    return tuple(sorted(tests - beginnings, key=lambda test: (len(test), test)))
