"""Tables as short texts, for tests: a row a line, `A -> B send TASK to left if READY`; end states
in [].
"""

from __future__ import annotations

from pxp_fsm.automata.automaton import Automaton, Kind, State, Transition

_KINDS = {"send": Kind.SEND, "receive": Kind.RECEIVE, "event": Kind.EVENT}


def table(name: str, text: str) -> Automaton:
    """The automaton; it starts in the first state that is written."""
    rows, states, final = [], dict[str, list[str]](), set[str]()
    for number, line in enumerate(filter(str.strip, text.splitlines()), start=1):
        source, _, target, kind, tag, *rest = line.split()
        for word in (source, target):
            states.setdefault(word.strip("[]"), [])
            if word.startswith("["):
                final.add(word.strip("[]"))
        said = dict(zip(rest[::2], rest[1::2], strict=True))
        partner = said.get("to") or said.get("from") or ""
        source, target = source.strip("[]"), target.strip("[]")
        states[source] += [said["if"]] if "if" in said else []
        guard = said.get("if")
        rows.append(Transition(number, source, target, guard, _KINDS[kind], tag, partner))
    return Automaton(
        name,
        name,
        tuple(State(state, guards=tuple(guards)) for state, guards in states.items()),
        next(iter(states)),
        frozenset(final),
        dict.fromkeys((guard for guards in states.values() for guard in guards), ""),
        tuple(rows),
    )
