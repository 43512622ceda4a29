"""Tag languages of INTERACT(n, 3): how long from the sessions to the counts, as n grows.

    python benchmarks/bench_languages.py [N ...]     (10 12 30 100 unless told)

For each of the three relations: the model of sessions explored, its labels made a minimal
deterministic automaton (automata-lib), all sequences counted, and those of every class. Beside it
stands pyformlang, which makes the same automaton smallest (`pip install pyformlang`; left out where
it is not installed, and for large n), and counting by listing every sequence, for small n.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, TypeVar

from automata.fa.dfa import DFA
from automata.fa.nfa import NFA

from proofs.claims.catalogue import NAMED
from proofs.core.explore import Space, explore
from proofs.core.properties import complete_words
from proofs.languages import CLASSES, SYMBOLS, Language, ProtocolReading, class_language, symbol
from proofs.sessions.model import SessionState, action_of, tag_of
from pxp_fsm.protocol.rules import Interact

LISTED = 12
"""The largest n for which every sequence is listed, and for which pyformlang is waited for: at 16
it takes seconds, at 20 minutes."""

T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[T, float]:
    started = time.perf_counter()
    result = work()
    return result, time.perf_counter() - started


def nondeterministic(space: Space[SessionState]) -> dict[int, dict[str, set[int]]]:
    """The model's steps by label; state 0 is the first."""
    numbers = {state: number for number, state in enumerate(space.steps)}
    moves: dict[int, dict[str, set[int]]] = {}
    for state, steps in space.steps.items():
        row = moves.setdefault(numbers[state], {})
        for step in steps:
            row.setdefault(symbol(action_of(step).agent, tag_of(step)), set()).add(
                numbers[step.target]
            )
    return moves


def by_automata(moves: dict[int, dict[str, set[int]]], ends: set[int]) -> DFA:
    nfa = NFA(
        states=set(moves),
        input_symbols=set(SYMBOLS),
        transitions=moves,
        initial_state=0,
        final_states=ends,
    )
    return DFA.from_nfa(nfa, retain_names=False, minify=True)


def by_pyformlang(moves: dict[int, dict[str, set[int]]], ends: set[int]) -> Any:
    from pyformlang.finite_automaton import NondeterministicFiniteAutomaton, SessionState, Symbol

    nfa = NondeterministicFiniteAutomaton()
    nfa.add_start_state(SessionState(0))
    for end in ends:
        nfa.add_final_state(SessionState(end))
    for source, row in moves.items():
        for letter, targets in row.items():
            for target in targets:
                nfa.add_transition(SessionState(source), Symbol(letter), SessionState(target))
    return nfa.to_deterministic().minimize()


def measure(n: int, name: str) -> tuple[str, ...]:
    model = ProtocolReading(Interact(n, 3), NAMED[name]).model
    space, exploring = timed(lambda: explore(model))
    moves = nondeterministic(space)
    ends = {number for number, state in enumerate(space.steps) if state.over}
    automaton, smallest = timed(lambda: by_automata(moves, ends))
    language = Language(name, automaton)
    total, counting = timed(language.count)
    _, classes = timed(
        lambda: [(language & class_language(class_name)).count() for class_name in CLASSES]
    )
    ratio = ("–", "–")
    if n <= LISTED and find_spec("pyformlang") is not None:
        other, peer = timed(lambda: by_pyformlang(moves, ends))
        same = "" if len(other.states) in (language.states, language.states + 1) else "!"
        ratio = (f"{peer:.3f}{same}", f"{smallest / peer:.2f}")
    listing = timed(lambda: complete_words(space))[1] if n <= LISTED else None
    return (
        str(n),
        name,
        f"{space.states:,}",
        str(language.states),
        str(len(str(total))),
        f"{exploring:.3f}",
        f"{smallest:.3f}",
        *ratio,
        f"{counting:.3f}",
        "–" if listing is None else f"{listing:.3f}",
        f"{classes:.3f}",
    )


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or [10, 12, 30, 100]
    headings = (
        *("n", "relations", "model", "automaton", "digits", "explore s", "smallest s"),
        *("pyformlang s", "ratio", "count s", "list s", "classes s"),
    )
    print(" ".join(f"{heading:>12}" for heading in headings))
    for n in sizes:
        for name in NAMED:
            print(" ".join(f"{cell:>12}" for cell in measure(n, name)), flush=True)


if __name__ == "__main__":
    main()
