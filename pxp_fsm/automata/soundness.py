"""Soundness of a table: the faults that its schema cannot express.

Each check yields `Fault`s, so that a person who edits a table is told all of them at once. Where a
table has no meaning, they are errors (`faults_of`); where it can be meant as it stands, findings
(`findings_of`): it is read, and a check reports them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pxp_fsm.automata.automaton import Automaton, Kind, Transition
from pxp_fsm.automata.payloads import schema_problems
from pxp_fsm.automata.rules import static_faults
from pxp_fsm.automata.table_files import name_problem
from pxp_fsm.errors import Fault, Place, TableError


def faults_of(automaton: Automaton, raw: Mapping[str, Any]) -> list[Fault]:
    """Every fault by which a structurally valid table has no meaning; `raw` is the file's content,
    for the places.

    The checks build on each other: while names are wrong nothing is said of guards.
    """
    rows = _places(raw)
    for checks in (
        (_names(automaton, raw),),
        (_guards(automaton, raw), _determinism(automaton, rows), _payloads(automaton)),
        (_rules(automaton, rows),),
    ):
        faults = [fault for check in checks for fault in check]
        if faults:
            return faults
    return []


def findings_of(automaton: Automaton, raw: Mapping[str, Any]) -> list[Fault]:
    """What is probably a mistake in a table that has a meaning: unreachable states, traps, rows
    that are written twice, and tags that are sent and received nowhere.
    """
    rows = _places(raw)
    return [*_reachability(automaton), *_twice(automaton, rows), *_reception(automaton, rows)]


UNRECEIVED = "unreceived-tag"
"""The kind of fault of a tag that is sent and that no peer receives."""


def check_peers(left: Automaton, right: Automaton) -> None:
    """Raise `TableError` unless each is the peer of the other and can receive what it sends."""
    lines = [
        f"{table.name} names {table.peer} as its peer, but is joined with {other.name}"
        for table, other in ((left, right), (right, left))
        if table.peer not in ("", other.name)
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


def _places(raw: Mapping[str, Any]) -> list[Place]:
    """For each transition the path of the row that it was written in."""
    places: list[Place] = []
    for index, row in enumerate(raw["rows"]):
        labels = row.get("send") or row.get("receive") or row["event"]
        width = 1 if isinstance(labels, str) else len(labels)
        height = 1 if isinstance(row["from"], str) else len(row["from"])
        places += [("rows", index)] * (width * height)
    return places


def _names(automaton: Automaton, raw: Mapping[str, Any]) -> Iterator[Fault]:
    yield from _spelling(raw)
    names = [state.name for state in automaton.states]
    known = ", ".join(dict.fromkeys(names))
    for index, name in enumerate(names):
        if name in names[:index]:
            yield Fault(
                ("states", index),
                f"state {name} stands here twice; drop one of them",
                "duplicate-state",
                name,
            )
    if automaton.initial not in names:
        yield _unknown_state(("initial",), automaton.initial, f"the states are {known}", names)
    for index, name in enumerate(raw.get("final", ())):
        if name not in names:
            yield _unknown_state(("final", index), name, f"the states are {known}", names)
    numbers: dict[int, int] = {}
    for index, row in enumerate(raw["rows"]):
        if "partner" in row and "event" in row:
            yield Fault(
                ("rows", index, "partner"),
                "an event comes from outside and has no partner; drop it, or send or receive",
                "event-with-partner",
                row["partner"],
            )
        if numbers.setdefault(row.get("number", -index), index) != index:
            yield Fault(
                ("rows", index, "number"),
                f"number {row['number']} stands at an earlier row too; number each row once",
                "duplicate-number",
                row["number"],
            )
        sources = [row["from"]] if isinstance(row["from"], str) else row["from"]
        for key, name in [*(("from", source) for source in sources), ("to", row["to"])]:
            if name not in names:
                remedy = f"add it to states, or write one of {known}"
                yield _unknown_state(("rows", index, key), name, remedy, names)


def _spelling(raw: Mapping[str, Any]) -> Iterator[Fault]:
    """Names beyond ASCII that are no Unicode identifiers, or not in normal form C."""
    names_written: list[tuple[Place, Any]] = [
        (("states", index, "name"), state["name"]) for index, state in enumerate(raw["states"])
    ]
    names_written += [(("guards", guard), guard) for guard in raw.get("guards", ())]
    for index, row in enumerate(raw["rows"]):
        for key in ("send", "receive", "event", "partner"):
            written = row.get(key, ())
            names = [written] if isinstance(written, str) else written
            names_written += [(("rows", index, key), name) for name in names]
    for place, name in names_written:
        problem = "" if name.isascii() else name_problem(name)
        if problem:
            yield Fault(place, problem, "spelling", name)


def _unknown_state(path: Place, name: str, remedy: str, names: Sequence[str]) -> Fault:
    allowed = tuple(dict.fromkeys(names))
    return Fault(path, f"unknown state {name}; {remedy}", "unknown-state", name, allowed)


def _guards(automaton: Automaton, raw: Mapping[str, Any]) -> Iterator[Fault]:
    declared = ", ".join(automaton.guards) or "none"
    for index, row in enumerate(raw["rows"]):
        guard = row.get("guard")
        if guard is None:
            continue
        if guard not in automaton.guards:
            yield Fault(
                ("rows", index, "guard"),
                f"guard {guard} is declared nowhere (declared: {declared}); "
                f"add it under [guards] with its meaning, or write one of those",
                "undeclared-guard",
                guard,
                tuple(automaton.guards),
            )
        if "receive" in row:
            yield Fault(
                ("rows", index, "guard"),
                "a row that receives has no guard: what is received is the peer's choice; "
                "receive without one, and decide in the state that follows",
                "guarded-receive",
                guard,
            )
    used = {row.get("guard") for row in raw["rows"]}
    for guard in automaton.guards:
        if guard not in used:
            yield Fault(
                ("guards", guard),
                f"guard {guard} stands on no row; use it, or take it out",
                "unused-guard",
                guard,
            )
    for index, state in enumerate(raw["states"]):
        yield from _state_guards(automaton, state, ("states", index))


def _state_guards(automaton: Automaton, state: Mapping[str, Any], place: Place) -> Iterator[Fault]:
    """One state's declaration against the rows that leave it."""
    name, listed = state["name"], list(state.get("guards", ()))
    used = list(dict.fromkeys(t.guard for t in automaton.leaving(name) if t.guard is not None))
    denied = [word for word in ("exclusive", "complete") if not state.get(word, True)]
    if (listed or used) and denied:
        yield Fault(
            place,
            f"state {name} is left under guards that are declared not {' and '.join(denied)}; "
            f"exactly one must hold whenever a decision is due: add the guards that are missing, "
            f"and drop {' and '.join(f'{word} = false' for word in denied)}",
            "undeclared-decision",
            name,
        )
    for guard, times in Counter(listed).items():
        if guard not in automaton.guards:
            yield Fault(
                (*place, "guards"),
                f"guard {guard} is declared nowhere; add it under [guards]",
                "undeclared-guard",
                guard,
                tuple(automaton.guards),
            )
        elif guard not in used:
            yield Fault(
                (*place, "guards"),
                f"guard {guard} decides in state {name}, but no row leaves it under {guard}; "
                f"add that row, or take {guard} out",
                "unused-guard",
                guard,
            )
        if times > 1:
            message = f"guard {guard} stands here twice; drop one"
            yield Fault((*place, "guards"), message, "duplicate-guard", guard)
    unlisted = [guard for guard in used if guard not in listed]
    if unlisted:
        yield Fault(
            place,
            f"rows leave state {name} under {', '.join(unlisted)}; "
            f"list them: guards = {_toml_list([*listed, *unlisted])}",
            "unlisted-guard",
            unlisted,
        )


def _toml_list(names: list[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def _determinism(automaton: Automaton, places: list[Place]) -> Iterator[Fault]:
    """One event under one guard takes one row; one tag is sent by one row of a state."""
    by_event: dict[object, Transition] = {}
    by_tag: dict[object, Transition] = {}
    anybody: dict[object, dict[str, Transition]] = {}
    for transition, place in zip(automaton.transitions, places, strict=True):
        earlier = anybody.setdefault((transition.source, transition.kind, transition.label), {})
        earlier.setdefault(transition.partner, transition)
        if len(earlier) > 1 and "" in earlier:
            yield Fault(
                place,
                f"of the rows with {transition.kind.value}{transition.label} that leave "
                f"{transition.source} one names its partner and one does not; name it on each",
                "mixed-partners",
                transition.action,
            )
            continue
        key = (transition.source, transition.trigger, transition.guard)
        first = by_event.setdefault(key, transition)
        if first is not transition and replace(first, row=transition.row) == transition:
            continue  # the same row again: a finding
        if first is not transition:
            under = f" under {transition.guard}" if transition.guard else f" on {transition.action}"
            yield Fault(
                place,
                f"a second row leaves {transition.source}{under} (row {first.row} does already); "
                f"drop one, or tell them apart by guards",
                "nondeterminism",
                transition.action,
            )
            continue
        if transition.kind is not Kind.SEND:
            continue
        twin = by_tag.setdefault(
            (transition.source, transition.label, transition.partner), transition
        )
        free_and_guarded = (twin.guard is None) is not (transition.guard is None)
        if twin is not transition and not (free_and_guarded and _same_effect(twin, transition)):
            yield Fault(
                place,
                f"a second row sends {transition.label} from {transition.source} (row {twin.row} "
                f"does already); a session is rebuilt from its tags, so use two tags",
                "duplicate-tag",
                transition.label,
            )


def _twice(automaton: Automaton, places: list[Place]) -> Iterator[Fault]:
    """Rows that say again what an earlier row says."""
    known: dict[Transition, Transition] = {}
    for transition, place in zip(automaton.transitions, places, strict=True):
        first = known.setdefault(replace(transition, row=0), transition)
        if first is not transition:
            yield Fault(
                place,
                f"row {first.row} says the same ({transition.source} {transition.action}); "
                f"drop one",
                "duplicate-row",
                transition.action,
            )


def _same_effect(first: Transition, other: Transition) -> bool:
    """Whether two rows do the same, under whatever guard."""
    return replace(first, row=other.row, guard=other.guard, when=other.when) == other


def _rules(automaton: Automaton, places: list[Place]) -> Iterator[Fault]:
    states: dict[str, Place] = {
        state.name: ("states", index) for index, state in enumerate(automaton.states)
    }
    rows = list(zip(automaton.transitions, places, strict=True))
    return static_faults(automaton.rules, rows, states)


def _payloads(automaton: Automaton) -> Iterator[Fault]:
    known = sorted(_labels(automaton, Kind.SEND) | _labels(automaton, Kind.RECEIVE))
    for tag in automaton.payloads:
        if tag not in known:
            message = f"payload of {tag}, which no row sends or receives; there are: "
            message += ", ".join(known)
            yield Fault(("payloads", tag), message, "unused-payload", tag, tuple(known))
    for tag, problem in schema_problems(automaton.payloads):
        message = f"the payload of {tag} {problem}"
        yield Fault(("payloads", tag), message, "bad-payload-schema", tag)


def _closed(states: Iterable[str], steps: Iterable[tuple[str, str]]) -> set[str]:
    """`states` and all that `steps` lead to; every check asks this, and NetworkX loads slowly."""
    following: dict[str, list[str]] = {}
    for source, target in steps:
        following.setdefault(source, []).append(target)
    waiting = list(states)
    reached = set(waiting)
    while waiting:
        new = {after for after in following.get(waiting.pop(), ()) if after not in reached}
        reached |= new
        waiting += new
    return reached


def _reachability(automaton: Automaton) -> Iterator[Fault]:
    reached = _closed([automaton.initial], ((t.source, t.target) for t in automaton.transitions))
    ending = _closed(automaton.final, ((t.target, t.source) for t in automaton.transitions))
    for index, state in enumerate(automaton.states):
        if state.name not in reached:
            yield Fault(
                ("states", index),
                f"state {state.name} is unreachable from {automaton.initial}; "
                f"add a row that leads to it, or drop it",
                "unreachable-state",
                state.name,
            )
        if automaton.final and state.name not in ending:
            yield Fault(
                ("states", index),
                f"state {state.name} is a trap: no way leads from it to an end state "
                f"({', '.join(sorted(automaton.final))}); add a row out, or make it final",
                "trap",
                state.name,
            )


def _reception(automaton: Automaton, places: list[Place]) -> Iterator[Fault]:
    """With itself as the peer; others are checked where they meet (`check_peers`, systems)."""
    if automaton.peer and automaton.peer != automaton.name:
        return
    if any(transition.partner for transition in automaton.transitions):
        return
    unheard = _labels(automaton, Kind.SEND) - _labels(automaton, Kind.RECEIVE)
    for transition, place in zip(automaton.transitions, places, strict=True):
        if transition.kind is Kind.SEND and transition.label in unheard:
            yield Fault(
                place,
                f"{transition.label} is sent, but no state of the peer receives it; add a row "
                f'with receive = "{transition.label}", or name the peer\'s table with peer = ...',
                UNRECEIVED,
                transition.label,
            )
