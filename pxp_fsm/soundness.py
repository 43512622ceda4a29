"""What must hold of a table before anything runs on it: the faults a schema cannot see.

Each check yields `Problem`s, so that a person who edits a table is told all of them at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pxp_fsm.automaton import Automaton, Kind, Transition
from pxp_fsm.errors import TableError


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault at a path of the table (`("rows", 3, "to")`), with its remedy in `text`."""

    path: tuple[str | int, ...]
    text: str


def problems_of(automaton: Automaton, raw: Mapping[str, Any]) -> list[Problem]:
    """Every fault of a structurally valid table; `raw` is the file's content, for the places.

    The checks build on each other: while names are wrong nothing is said of reachability.
    """
    rows = _places(automaton, raw)
    for checks in (
        (_names(automaton, raw),),
        (_guards(automaton, raw), _determinism(automaton, rows)),
        (_reachability(automaton), _reception(automaton, rows)),
    ):
        found = [problem for check in checks for problem in check]
        if found:
            return found
    return []


def check_peers(left: Automaton, right: Automaton) -> None:
    """Raise `TableError` unless each is the peer of the other and can receive what it sends."""
    lines = [
        f"{one.name} names {one.peer} as its peer, but is joined with {other.name}"
        for one, other in ((left, right), (right, left))
        if one.peer not in ("", other.name)
    ]
    lines += [
        f"{sender.name} sends {tag}, which {receiver.name} receives in no state; "
        f'add a row with receive = "{tag}" to {receiver.name}, or drop the one that sends it'
        for sender, receiver in ((left, right), (right, left))
        for tag in sorted(_labels(sender, Kind.SEND) - _labels(receiver, Kind.RECEIVE))
    ]
    if lines:
        raise TableError(tuple(dict.fromkeys(lines)))


def _labels(automaton: Automaton, kind: Kind) -> set[str]:
    return {t.label for t in automaton.transitions if t.kind is kind}


def _places(automaton: Automaton, raw: Mapping[str, Any]) -> list[tuple[str | int, ...]]:
    """For each transition the path of the row that it was written in."""
    places: list[tuple[str | int, ...]] = []
    for index, row in enumerate(raw["rows"]):
        labels = row.get("send") or row.get("receive") or row["event"]
        width = 1 if isinstance(labels, str) else len(labels)
        height = 1 if isinstance(row["from"], str) else len(row["from"])
        places += [("rows", index)] * (width * height)
    return places


def _names(automaton: Automaton, raw: Mapping[str, Any]) -> Iterator[Problem]:
    names = [state.name for state in automaton.states]
    known = ", ".join(dict.fromkeys(names))
    for index, name in enumerate(names):
        if name in names[:index]:
            yield Problem(("states", index), f"state {name} stands here twice; drop one of them")
    if automaton.initial not in names:
        yield Problem(("initial",), f"unknown state {automaton.initial}; the states are {known}")
    for index, name in enumerate(raw["final"]):
        if name not in names:
            yield Problem(("final", index), f"unknown state {name}; the states are {known}")
    numbers: dict[int, int] = {}
    for index, row in enumerate(raw["rows"]):
        if "partner" in row and "event" in row:
            yield Problem(
                ("rows", index, "partner"),
                "an event comes from outside and has no partner; drop it, or send or receive",
            )
        if numbers.setdefault(row.get("number", -index), index) != index:
            yield Problem(
                ("rows", index, "number"),
                f"number {row['number']} stands at an earlier row too; number each row once",
            )
        sources = [row["from"]] if isinstance(row["from"], str) else row["from"]
        for key, name in [*(("from", source) for source in sources), ("to", row["to"])]:
            if name not in names:
                yield Problem(
                    ("rows", index, key),
                    f"unknown state {name}; add it to states, or write one of {known}",
                )


def _guards(automaton: Automaton, raw: Mapping[str, Any]) -> Iterator[Problem]:
    declared = ", ".join(automaton.guards) or "none"
    for index, row in enumerate(raw["rows"]):
        guard = row.get("guard")
        if guard is None:
            continue
        if guard not in automaton.guards:
            yield Problem(
                ("rows", index, "guard"),
                f"guard {guard} is declared nowhere (declared: {declared}); "
                f"add it under [guards] with its meaning, or write one of those",
            )
        if "receive" in row:
            yield Problem(
                ("rows", index, "guard"),
                "a row that receives has no guard: what is received is the peer's choice; "
                "receive without one, and decide in the state that follows",
            )
    used = {row.get("guard") for row in raw["rows"]}
    for guard in automaton.guards:
        if guard not in used:
            yield Problem(
                ("guards", guard), f"guard {guard} stands on no row; use it, or take it out"
            )
    for index, state in enumerate(raw["states"]):
        yield from _state_guards(automaton, state, ("states", index))


def _state_guards(
    automaton: Automaton, state: Mapping[str, Any], place: tuple[str | int, ...]
) -> Iterator[Problem]:
    """One state's declaration against the rows that leave it."""
    name, listed = state["name"], list(state.get("guards", ()))
    used = list(dict.fromkeys(t.guard for t in automaton.leaving(name) if t.guard is not None))
    denied = [word for word in ("exclusive", "complete") if not state.get(word, True)]
    if (listed or used) and denied:
        yield Problem(
            place,
            f"state {name} is left under guards that are declared not {' and '.join(denied)}; "
            f"exactly one must hold whenever a decision is due: add the guards that are missing, "
            f"and drop {' and '.join(f'{word} = false' for word in denied)}",
        )
    for guard, times in Counter(listed).items():
        if guard not in automaton.guards:
            yield Problem(
                (*place, "guards"), f"guard {guard} is declared nowhere; add it under [guards]"
            )
        elif guard not in used:
            yield Problem(
                (*place, "guards"),
                f"guard {guard} decides in state {name}, but no row leaves it under {guard}; "
                f"add that row, or take {guard} out",
            )
        if times > 1:
            yield Problem((*place, "guards"), f"guard {guard} stands here twice; drop one")
    unlisted = [guard for guard in used if guard not in listed]
    if unlisted:
        yield Problem(
            place,
            f"rows leave state {name} under {', '.join(unlisted)}; "
            f"list them: guards = {_toml_list([*listed, *unlisted])}",
        )


def _toml_list(names: list[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def _determinism(automaton: Automaton, places: list[tuple[str | int, ...]]) -> Iterator[Problem]:
    """One event under one guard takes one row; one tag is sent by one row of a state."""
    by_event: dict[object, Transition] = {}
    by_tag: dict[object, Transition] = {}
    anybody: dict[object, dict[str, Transition]] = {}
    for transition, place in zip(automaton.transitions, places, strict=True):
        earlier = anybody.setdefault((transition.source, transition.kind, transition.label), {})
        earlier.setdefault(transition.partner, transition)
        if len(earlier) > 1 and "" in earlier:
            yield Problem(
                place,
                f"of the rows with {transition.kind.value}{transition.label} that leave "
                f"{transition.source} one names its partner and one does not; name it on each",
            )
            continue
        key = (transition.source, transition.event, transition.guard)
        first = by_event.setdefault(key, transition)
        if first is not transition:
            under = f" under {transition.guard}" if transition.guard else f" on {transition.action}"
            yield Problem(
                place,
                f"a second row leaves {transition.source}{under} (row {first.row} does already); "
                f"drop one, or tell them apart by guards",
            )
            continue
        if transition.kind is not Kind.SEND:
            continue
        twin = by_tag.setdefault(
            (transition.source, transition.label, transition.partner), transition
        )
        if twin is not transition:
            yield Problem(
                place,
                f"a second row sends {transition.label} from {transition.source} (row {twin.row} "
                f"does already); a session is rebuilt from its tags, so use two tags",
            )


def _reachability(automaton: Automaton) -> Iterator[Problem]:
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(state.name for state in automaton.states)
    graph.add_edges_from((t.source, t.target) for t in automaton.transitions)
    reached = nx.descendants(graph, automaton.initial) | {automaton.initial}
    ending = set(automaton.final).union(*(nx.ancestors(graph, state) for state in automaton.final))
    for index, state in enumerate(automaton.states):
        if state.name not in reached:
            yield Problem(
                ("states", index),
                f"state {state.name} is unreachable from {automaton.initial}; "
                f"add a row that leads to it, or drop it",
            )
        if state.name not in ending:
            yield Problem(
                ("states", index),
                f"state {state.name} is a trap: no way leads from it to an end state "
                f"({', '.join(sorted(automaton.final))}); add a row out, or make it final",
            )


def _reception(automaton: Automaton, places: list[tuple[str | int, ...]]) -> Iterator[Problem]:
    """With itself as the peer; others are checked where they meet (`check_peers`, systems)."""
    if automaton.peer and automaton.peer != automaton.name:
        return
    if any(transition.partner for transition in automaton.transitions):
        return
    unheard = _labels(automaton, Kind.SEND) - _labels(automaton, Kind.RECEIVE)
    for transition, place in zip(automaton.transitions, places, strict=True):
        if transition.kind is Kind.SEND and transition.label in unheard:
            yield Problem(
                place,
                f"{transition.label} is sent, but no state of the peer receives it; add a row "
                f'with receive = "{transition.label}", or name the peer\'s table with peer = ...',
            )
