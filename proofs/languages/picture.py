"""A language as a state diagram: its minimal automaton, states numbered as they are reached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proofs.languages.language import Language
from pxp_fsm.diagrams.model import Edge, Node, Row, StateDiagram
from pxp_fsm.errors import UsageError

DRAWN = 150
"""States that a picture has at most: more cannot be read."""


def pictured(language: Language) -> StateDiagram:
    """The diagram; at an arrow each symbol that takes it.

    Raises `UsageError` where there are more than `DRAWN` states.
    """
    if language.states > DRAWN:
        raise UsageError(
            f"{language.title}: its automaton has {language.states} states, and a picture with "
            f"more than {DRAWN} cannot be read; take a smaller n or k, or no bound"
        )
    moves, ends = language.automaton.transitions, language.automaton.final_states
    order = {state: number for number, state in enumerate(_reached(language))}
    nodes = tuple(
        Node(str(number), initial=number == 0, final=state in ends)
        for state, number in order.items()
    )
    edges = []
    for state, number in order.items():
        lines: dict[int, list[str]] = {}
        for one in sorted(moves[state]):
            lines.setdefault(order[moves[state][one]], []).append(one)
        for target, symbols in lines.items():
            edges.append(Edge(str(number), str(target), tuple(map(Row, symbols))))
    return StateDiagram(language.title, _note(language), nodes, tuple(edges))


def _reached(language: Language) -> Sequence[Any]:
    """The states in breadth-first order, symbols in alphabetical order."""
    moves = language.automaton.transitions
    found = dict[Any, None].fromkeys([language.automaton.initial_state])
    waiting = list(found)
    for state in waiting:  # grows while it is read
        for one in sorted(moves[state]):
            if moves[state][one] not in found:
                found[moves[state][one]] = None
                waiting.append(moves[state][one])
    return waiting


def _note(language: Language) -> str:
    found = language.count()
    told = "infinitely many" if found is None else f"{found:,}"
    return f"the minimal automaton of {told} tag sequences"
