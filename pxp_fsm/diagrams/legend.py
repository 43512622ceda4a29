"""The notation of diagrams, explained: only what stands in the diagram at hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pxp_fsm.automata.automaton import Automaton, Kind, Transition
from pxp_fsm.diagrams.model import Legend

SIGNS = {Kind.SEND: "+", Kind.RECEIVE: "\N{MINUS SIGN}", Kind.EVENT: "!"}
"""What stands before a label in a diagram, by what the row does with it."""

FREE = "⊤"
"""What stands for the guard of a row that sends whenever its agent, or the schedule, chooses."""

_MEANINGS = {
    Kind.SEND: "this agent sends {}",
    Kind.RECEIVE: "this agent receives {}",
    Kind.EVENT: "{} is done: an event that is no message",
}
_PARTIES = {"m": "the machine", "h": "the human"}


def of_automaton(
    automaton: Automaton, path: Sequence[Transition] = (), *, fatal: bool = False
) -> Legend:
    """What the drawing of `automaton`, with the `path` that was taken, is to be read by.

    `fatal`: it shows a message that is not received.
    """
    return (*_of_rows(automaton, path), *([("red", "a message that is not received")] * fatal))


def _of_rows(automaton: Automaton, path: Sequence[Transition]) -> Iterator[tuple[str, str]]:
    rows = automaton.transitions
    if rows:
        yield str(rows[0].row), "the number of the row in the table"
    for kind, sign in SIGNS.items():
        label = next((row.label for row in rows if row.kind is kind), None)
        if label is not None:
            yield f"{sign}{label}", _MEANINGS[kind].format(label)
    if any(row.kind is Kind.SEND and not row.guard for row in rows):
        yield FREE, "always possible; somebody else chooses whether and when"
    guarded = next((row for row in rows if row.guard), None)
    if guarded is not None:
        then = f"{SIGNS[guarded.kind]}{guarded.label}"
        yield f"{guarded.guard} / {then}", f"where {guarded.guard} is true, {then} follows"
    for guard in dict.fromkeys(row.guard for row in rows if row.guard):
        if meaning := automaton.guards.get(guard):
            yield guard, meaning
    if path:
        yield "×2", "taken twice on the path in bold"
    if automaton.final:
        yield "double ring", "an end state"


def of_parties(names: Iterable[str]) -> Legend:
    """Who m and h are, where those are the members of a session."""
    there = tuple(names)
    if not there or not set(there) <= set(_PARTIES):
        return ()
    return tuple((name, _PARTIES[name]) for name in _PARTIES if name in there)
