"""Explanations of published counts: the least noise that twenty sessions need for them.

A column of Table 1 says how many of its sessions are in each class, and the text of the papers says
some more of them. The sequences of a protocol fall into finitely many kinds by that: each kind is a
language, and Z3 (the extra `languages`) finds how many sessions of each make up the column with the
fewest that need a noisy judge.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from proofs.languages import SYMBOLS, Language, ProtocolReading, class_language, sequences
from proofs.languages.language import of_automaton
from proofs.languages.published_code import PublishedCode, published_sequences
from pxp_fsm.errors import require_extra
from pxp_fsm.experiments.statistics import SESSIONS, Published, points, ratified
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.relations import EQUIVALENCE, NOISY, TOLERANCE
from pxp_fsm.protocol.rules import Interact

if TYPE_CHECKING:
    from automata.fa.dfa import DFA

ROWS = ("one_way:h", "one_way:m", "two_way", "strong:h", "strong:m", "ultra_strong:h",
        "ultra_strong:m")  # fmt: skip
"""The classes whose counts a column has, in its order."""


@dataclass(frozen=True)
class Languages:
    """A reading of INTERACT by its three languages; the human may revise or not."""

    name: str
    equivalence: Language
    tolerance: Language
    noisy: Language


@dataclass(frozen=True)
class Explained:
    """The fewest of twenty sessions that are impossible for better judges.

    `beyond_equivalence` are impossible for equivalence, `beyond_tolerance` for tolerance, each
    minimised by itself; None where no twenty sessions at all have the counts.
    """

    beyond_equivalence: int | None
    beyond_tolerance: int | None


@cache
def papers(*, human_revises: bool) -> Languages:
    """INTERACT(10, 3) as the papers have it."""
    readings = (
        sequences(ProtocolReading(Interact(), assumed))
        for assumed in (EQUIVALENCE, TOLERANCE, NOISY)
    )
    return Languages("the papers' procedures, n = 10", *_kept(readings, human_revises))


@cache
def published_code(*, human_revises: bool) -> Languages:
    """INTERACT as the authors' published code has it, of five rounds."""
    readings = (
        published_sequences(PublishedCode(assumptions=assumed))
        for assumed in (EQUIVALENCE, TOLERANCE, NOISY)
    )
    return Languages("the published code, 5 rounds", *_kept(readings, human_revises))


def _kept(readings: Iterable[Language], human_revises: bool) -> tuple[Language, Language, Language]:
    equivalent, tolerant, three = (
        language if human_revises else language - _revising() for language in readings
    )
    return equivalent, tolerant, three


def explained(column: Published, reading: Languages, *, text: bool) -> Explained:
    """The least noise with which twenty sessions of `reading` have the counts of `column`.

    With `text` what the papers' text says of the column must hold too: sessions ratified within
    three messages and later, and sessions that are one-way intelligible by message 3.
    """
    wanted = [
        (class_language(name), count) for name, count in zip(ROWS, column.counts, strict=True)
    ]
    if text:
        wanted += _told(column)
    return Explained(
        _least(reading.noisy, reading.equivalence, wanted),
        _least(reading.noisy, reading.tolerance, wanted),
    )


def says_more(column: Published) -> bool:
    """Whether the papers' text says more of a column."""
    return bool(_told(column))


def _told(column: Published) -> list[tuple[Language, int]]:
    told_languages = []
    for ratified_row in ratified(column.task):
        if ratified_row.title == column.title:
            told_languages += [
                (_ratified() & _at_most(3), ratified_row.within_3),
                (_ratified() - _at_most(3), ratified_row.later),
            ]
    for point in points(column.task):
        if (point.title, point.kind, point.message) == (column.title, "human", 3):
            told_languages.append((_accepted_at_2(), point.sessions))
    return told_languages


def _least(every: Language, better: Language, wanted: Sequence[tuple[Language, int]]) -> int | None:
    """The fewest of twenty sequences outside `better` with which the counts are had."""
    require_extra("languages", "explaining counts", {"z3": "Z3"})
    import z3

    kinds = kinds_of(every, (*(language for language, _ in wanted), better))
    solver = z3.Optimize()
    numbers = [z3.Int(f"k{place}") for place in range(len(kinds))]
    solver.add([number >= 0 for number in numbers])
    solver.add(z3.Sum(numbers) == SESSIONS)
    for place, (_, count) in enumerate(wanted):
        holding = [n for n, held in zip(numbers, kinds, strict=True) if held[place]]
        solver.add(z3.Sum([*holding, z3.IntVal(0)]) == count)
    outside = [n for n, held in zip(numbers, kinds, strict=True) if not held[-1]]
    noise = solver.minimize(z3.Sum([*outside, z3.IntVal(0)]))
    if solver.check() != z3.sat:
        return None
    return int(str(noise.value()))


@cache
def kinds_of(every: Language, properties: tuple[Language, ...]) -> tuple[tuple[bool, ...], ...]:
    """In which of `properties` a sequence of `every` can be: each combination that there is.

    All automata read every sequence at once; where one has no move, it is None from then on.
    """
    automata = [part.automaton for part in (every, *properties)]
    start = tuple(automaton.initial_state for automaton in automata)
    seen, waiting, kinds = {start}, [start], dict[tuple[bool, ...], None]()
    for states in waiting:  # grows while it is read
        held = [
            state in automaton.final_states
            for automaton, state in zip(automata, states, strict=True)
        ]
        if held[0]:
            kinds[tuple(held[1:])] = None
        for symbol in sorted(automata[0].transitions[states[0]]):
            following = tuple(
                None if state is None else automaton.transitions[state].get(symbol)
                for automaton, state in zip(automata, states, strict=True)
            )
            if following not in seen:
                seen.add(following)
                waiting.append(following)
    return tuple(kinds)


def _revising() -> Language:
    """The sequences in which the human revises."""
    moves = {
        0: {symbol: int(symbol == "h:REVISE") for symbol in SYMBOLS},
        1: dict.fromkeys(SYMBOLS, 1),
    }
    return of_automaton("h revises", _dfa(moves, {1}))


def _ratified() -> Language:
    """The sequences that end in two RATIFYs, one of each agent."""
    moves: dict[int, dict[str, int]] = {}
    for state in range(4):  # the latest is: 0 another, 1 RATIFY of m, 2 of h, 3 of one after other
        row = dict.fromkeys(SYMBOLS, 0)
        row["m:RATIFY"] = 3 if state in (2, 3) else 1
        row["h:RATIFY"] = 3 if state in (1, 3) else 2
        moves[state] = row
    return of_automaton("ratified", _dfa(moves, {3}))


def _accepted_at_2() -> Language:
    """The sequences in which message 2, all that the human sent by 3, is RATIFY or REVISE."""
    moves = {place: dict.fromkeys(SYMBOLS, min(place + 1, 3)) for place in range(4)}
    moves[1] = {symbol: 2 if symbol in ("h:RATIFY", "h:REVISE") else 4 for symbol in SYMBOLS}
    moves[4] = dict.fromkeys(SYMBOLS, 4)
    return of_automaton("accepted at 2", _dfa(moves, {2, 3}))


def _at_most(length: int) -> Language:
    from automata.fa.dfa import DFA

    return of_automaton("short", DFA.of_length(set(SYMBOLS), min_length=0, max_length=length))


def _dfa(moves: dict[int, dict[str, int]], ends: set[int]) -> DFA:
    from automata.fa.dfa import DFA

    return DFA(
        states=set(moves),
        input_symbols=set(SYMBOLS),
        transitions=moves,
        initial_state=0,
        final_states=ends,
    )
