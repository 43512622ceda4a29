"""Words that tell the states of a Mealy machine apart: a characterising set, state identifiers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from proofs.conformance.mealy import Mealy, Word
from pxp_fsm.errors import UsageError

Pair = tuple[int, int]


def separating_words(machine: Mealy[Any, Any]) -> dict[Pair, Word]:
    """For each two states p < q a shortest word to which they answer differently.

    Raises `UsageError` where there is none: the machine is not minimal.
    """
    found: dict[Pair, Word] = {}
    left = list(combinations(range(machine.size), 2))
    while left:
        known, rest = dict(found), []
        for pair in left:
            word = _word(machine, pair, known)
            if word is None:
                rest.append(pair)
            else:
                found[pair] = word
        if len(rest) == len(left):
            p, q = rest[0]
            raise UsageError(f"states {p} and {q} answer alike; minimise the machine first")
        left = rest
    return found


def _word(machine: Mealy[Any, Any], pair: Pair, known: Mapping[Pair, Word]) -> Word | None:
    """A word for `pair`: one input that tells them apart, or one more than a `known` pair needs."""
    p, q = pair
    for given, (one, other) in enumerate(zip(machine.outputs[p], machine.outputs[q], strict=True)):
        if one != other:
            return (given,)
    for given, (one, other) in enumerate(
        zip(machine.successors[p], machine.successors[q], strict=True)
    ):
        word = known.get((min(one, other), max(one, other)))
        if word is not None:
            return (given, *word)
    return None


def characterising_set(machine: Mealy[Any, Any]) -> tuple[Word, ...]:
    """Words W such that each two states answer some word of W differently.

    No word can be left out; a set with fewer words may exist (finding one is NP-hard). A machine
    of one state has the empty word alone. Raises `UsageError` where the machine is not minimal.
    """
    words = separating_words(machine)
    chosen: list[Word] = []
    said: dict[Word, list[tuple[Any, ...]]] = {}
    for pair, word in sorted(words.items(), key=lambda item: (-len(item[1]), item[0])):
        p, q = pair
        if not any(said[w][p] != said[w][q] for w in chosen):
            chosen.append(word)
            said[word] = [machine.answers(word, state) for state in range(machine.size)]
    return _needed(chosen, said, list(words)) or ((),)


def identifiers(
    machine: Mealy[Any, Any], characterising: Sequence[Word]
) -> tuple[tuple[Word, ...], ...]:
    """For each state s a set W_s: each other state answers some word of W_s not as s does.

    Its words are prefixes of words of `characterising`, chosen greedily; none can be left out.
    """
    said = {w: [machine.answers(w, state) for state in range(machine.size)] for w in characterising}
    return tuple(_identifier(state, machine.size, said) for state in range(machine.size))


def _identifier(
    state: int, size: int, said: Mapping[Word, Sequence[tuple[Any, ...]]]
) -> tuple[Word, ...]:
    left = {other for other in range(size) if other != state}
    apart = {
        word: {other for other in left if answers[other] != answers[state]}
        for word, answers in said.items()
    }
    chosen: list[Word] = []
    while left:
        best = max(apart, key=lambda word: (len(apart[word] & left), -len(word)))
        chosen.append(best)
        left -= apart[best]
    kept = _needed(chosen, said, [(state, other) for other in range(size) if other != state])
    return tuple(_cut(word, state, said[word]) for word in kept) or ((),)


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
    words: Iterable[Word], said: Mapping[Word, Sequence[tuple[Any, ...]]], pairs: Sequence[Pair]
) -> tuple[Word, ...]:
    """`words` without those that the others make superfluous, the longest looked at first."""
    kept = list(words)
    for word in sorted(kept, key=len, reverse=True):
        others = [w for w in kept if w != word]
        if all(any(said[w][p] != said[w][q] for w in others) for p, q in pairs):
            kept = others
    return tuple(sorted(kept, key=lambda w: (len(w), w)))
