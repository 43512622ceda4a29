"""The Wp-method: a finite test suite that exactly the equivalent machines pass.

Source: Fujiwara, v. Bochmann, Khendek, Amalou, Ghedamsi, "Test selection based on finite state
models", IEEE Transactions on Software Engineering 17(6), 1991.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

from pxp_fsm.errors import UsageError
from pxp_fsm.plugins.conformance.mealy import Mealy, Word, access_words, minimal

Pair = tuple[int, int]


def separating_words(machine: Mealy[Any, Any]) -> dict[Pair, Word]:
    """For each two states p < q a shortest word to which they answer differently.

    Raises `UsageError` where there is none: the machine is not minimal.
    """
    words: dict[Pair, Word] = {}
    left = list(combinations(range(machine.size), 2))
    while left:
        known, rest = dict(words), []
        for pair in left:
            word = _word(machine, pair, known)
            if word is None:
                rest.append(pair)
            else:
                words[pair] = word
        if len(rest) == len(left):
            p, q = rest[0]
            raise UsageError(f"states {p} and {q} answer alike; minimise the machine first")
        left = rest
    return words


def _word(machine: Mealy[Any, Any], pair: Pair, known: Mapping[Pair, Word]) -> Word | None:
    """A word for `pair`: one input that tells them apart, or one more than a `known` pair needs."""
    p, q = pair
    for letter, (first, other) in enumerate(
        zip(machine.outputs[p], machine.outputs[q], strict=True)
    ):
        if first != other:
            return (letter,)
    for letter, (first, other) in enumerate(
        zip(machine.successors[p], machine.successors[q], strict=True)
    ):
        word = known.get((min(first, other), max(first, other)))
        if word is not None:
            return (letter, *word)
    return None


def characterising_set(machine: Mealy[Any, Any]) -> tuple[Word, ...]:
    """Words W such that each two states answer some word of W differently.

    No word can be left out; a set with fewer words may exist (finding one is NP-hard). A machine
    of one state has the empty word alone. Raises `UsageError` where the machine is not minimal.
    """
    words = separating_words(machine)
    chosen: list[Word] = []
    outputs: dict[Word, list[tuple[Any, ...]]] = {}
    for pair, word in sorted(words.items(), key=lambda item: (-len(item[1]), item[0])):
        p, q = pair
        if not any(outputs[w][p] != outputs[w][q] for w in chosen):
            chosen.append(word)
            outputs[word] = [machine.answers(word, state) for state in range(machine.size)]
    return _needed(chosen, outputs, list(words)) or ((),)


def identifiers(
    machine: Mealy[Any, Any], characterising: Sequence[Word]
) -> tuple[tuple[Word, ...], ...]:
    """For each state s a set W_s: each other state answers some word of W_s not as s does.

    Its words are prefixes of words of `characterising`, chosen greedily; none can be left out.
    """
    outputs = {
        w: [machine.answers(w, state) for state in range(machine.size)] for w in characterising
    }
    return tuple(_identifier(state, machine.size, outputs) for state in range(machine.size))


def _identifier(
    state: int, size: int, outputs: Mapping[Word, Sequence[tuple[Any, ...]]]
) -> tuple[Word, ...]:
    left = {other for other in range(size) if other != state}
    apart = {
        word: {other for other in left if answers[other] != answers[state]}
        for word, answers in outputs.items()
    }
    chosen: list[Word] = []
    while left:
        best = max(apart, key=lambda word: (len(apart[word] & left), -len(word)))
        chosen.append(best)
        left -= apart[best]
    kept = _needed(chosen, outputs, [(state, other) for other in range(size) if other != state])
    return tuple(_cut(word, state, outputs[word]) for word in kept) or ((),)


def _cut(word: Word, state: int, answers: Sequence[tuple[Any, ...]]) -> Word:
    """The shortest prefix of `word` that tells `state` from all that the whole word does."""
    mine = answers[state]
    longest = 0
    for other in answers:
        if other != mine:
            place = next(i for i, (a, b) in enumerate(zip(mine, other, strict=True)) if a != b)
            longest = max(longest, place + 1)
    return word[:longest]


def _needed(
    words: Iterable[Word], outputs: Mapping[Word, Sequence[tuple[Any, ...]]], pairs: Sequence[Pair]
) -> tuple[Word, ...]:
    """`words` without those that the others make superfluous, the longest looked at first."""
    kept = list(words)
    for word in sorted(kept, key=len, reverse=True):
        others = [w for w in kept if w != word]
        if all(any(outputs[w][p] != outputs[w][q] for w in others) for p, q in pairs):
            kept = others
    return tuple(sorted(kept, key=lambda w: (len(w), w)))


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
