"""Tables as short texts, for tests: a row a line, `A -> B send TASK to left`; end states in []."""

from __future__ import annotations

from pxp_fsm.automaton import Automaton, Kind, State, Transition

_KINDS = {"send": Kind.SEND, "receive": Kind.RECEIVE, "event": Kind.EVENT}


def table(name: str, text: str) -> Automaton:
    """The automaton; it starts in the first state that is written."""
    rows, states, final = [], dict[str, None](), set[str]()
    for number, line in enumerate(filter(str.strip, text.splitlines()), start=1):
        source, _, target, kind, tag, *rest = line.split()
        for word in (source, target):
            states.setdefault(word.strip("[]"))
            if word.startswith("["):
                final.add(word.strip("[]"))
        partner = rest[1] if rest else ""
        source, target = source.strip("[]"), target.strip("[]")
        rows.append(Transition(number, source, target, None, _KINDS[kind], tag, partner))
    return Automaton(
        name, name, tuple(map(State, states)), next(iter(states)), frozenset(final), {}, tuple(rows)
    )
