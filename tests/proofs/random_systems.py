"""Random systems, channels and formulas about them, each from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace

from proofs.logic.formulas import And, Atom, Exists, Formula, Next, Not, Or, Release, Until, on_all
from proofs.systems import Channel, Member, System, parse_channel
from pxp_fsm.automata.automaton import Automaton, Kind, State, Transition
from pxp_fsm.errors import TableError

Drawn = tuple[str, str, Kind, str, str]
"""Source, target, kind, tag and partner of a row."""

CHANNELS = (
    *("sync", "fifo:1", "fifo:2", "lossy:1", "lossy:2", "duplicating:1", "duplicating:2"),
    *("reordering:2", "lossy+duplicating+reordering:2"),
)


def random_channel(
    chance: random.Random, system: System | None = None, *, buffered: bool = False
) -> Channel:
    """One of `CHANNELS`; for a `system`, in some cases links of it have one of their own."""
    channel = parse_channel(chance.choice(CHANNELS[1:] if buffered else CHANNELS))
    if system is None or channel.synchronous or chance.random() < 0.6:
        return channel
    return with_own(chance, system, channel)


def with_own(chance: random.Random, system: System, channel: Channel) -> Channel:
    """The channel, which has buffers, with others for some links of the system."""
    names = [member.name for member in system.members]
    links = [(names[i], names[j]) for i, j in system.links if chance.random() < 0.5]
    own = ((*link, parse_channel(chance.choice(CHANNELS[1:]))) for link in links)
    return replace(channel, links=tuple(own))


def random_system(chance: random.Random, *, guards: float = 0, most: int = 4) -> System:
    """Two to `most` members, whose rows name partners or not; rows that send are guarded as often
    as `guards` says."""
    names = ["a", "b", "c", "d"][: chance.randint(2, most)]
    size = chance.randint(2, 3)
    members = []
    for name in names:
        others = [other for other in names if other != name]
        partners = [*others, *([""] if chance.random() < 0.2 else [])]
        events = chance.choice((0, 0, 0.2))
        rows = _rows(chance, size, partners, events)
        members.append(Member(name, _table(chance, f"t{name}", size, rows)))
    return guarded(_heard(members), chance, guards) if guards else _heard(members)


def guarded(system: System, chance: random.Random, share: float) -> System:
    """The system with guards on so many of the rows that send; equal tables stay equal."""
    known: dict[str, Automaton] = {}

    def decided(table: Automaton) -> Automaton:
        if table.name not in known:
            rows = [
                replace(row, guard=f"G{row.row}")
                if row.kind is not Kind.RECEIVE and chance.random() < share
                else row
                for row in table.transitions
            ]
            found = {
                state.name: [r.guard for r in rows if r.source == state.name and r.guard]
                for state in table.states
            }
            states = tuple(
                replace(state, guards=tuple(found[state.name])) for state in table.states
            )
            known[table.name] = replace(table, states=states, transitions=tuple(rows))
        return known[table.name]

    return replace(
        system, members=tuple(Member(one.name, decided(one.automaton)) for one in system.members)
    )


def symmetric_system(chance: random.Random, *, guards: float = 0) -> System:
    """A hub with two or three workers that are alike."""
    size, names = chance.randint(2, 3), ["w1", "w2", "w3"][: chance.randint(2, 3)]
    rows = _rows(chance, size, ["hub", *([""] if chance.random() < 0.3 else [])], 0.1)
    worker = _table(chance, "worker", size, rows)
    hub: list[Drawn] = []
    for row in _rows(chance, size, ["each", ""], 0.1):
        hub += [(*row[:4], name) for name in names] if row[4] else [row]
    table = _table(chance, "hub", size, hub)
    system = _heard([Member("hub", table), *(Member(name, worker) for name in names)])
    return guarded(system, chance, guards) if guards else system


def random_formula(
    chance: random.Random, atom: Callable[[], Formula], depth: int, *, branching: bool, nexts: bool
) -> Formula:
    if depth == 0 or chance.random() < 0.2:
        return atom()

    def part() -> Formula:
        return random_formula(chance, atom, depth - 1, branching=branching, nexts=nexts)

    kind = chance.choice((Not, And, Or, Until, Release, Until, Release, *([Next] * nexts)))
    found: Formula = kind(part()) if kind in (Not, Next) else kind(part(), part())
    if branching and chance.random() < 0.4:
        return on_all(found) if chance.random() < 0.5 else Exists(found)
    return found


def joined(kind: type[And | Or], names: Iterable[str]) -> Formula:
    """All of `names` joined by & or |."""
    first, *rest = names
    found: Formula = Atom(first)
    for name in rest:
        found = kind(found, Atom(name))
    return found


def _rows(chance: random.Random, size: int, partners: list[str], events: float) -> list[Drawn]:
    found: list[Drawn] = []
    for _ in range(chance.randint(3, 8)):
        source, target = (f"S{chance.randrange(size)}" for _ in range(2))
        if chance.random() < events:
            label = chance.choice(("TICK", "TICK", "TOCK", "TUCK"))
            row: Drawn = (source, target, Kind.EVENT, label, "")
        else:
            kind = chance.choice((Kind.SEND, Kind.RECEIVE))
            row = (source, target, kind, chance.choice("AB"), chance.choice(partners))
        clash = [r for r in found if (r[0], *r[2:4]) == (row[0], *row[2:4])]
        if not any(r[4] == row[4] or "" in (r[4], row[4]) for r in clash):
            found.append(row)
    return found


def _table(chance: random.Random, name: str, size: int, rows: list[Drawn]) -> Automaton:
    names = [f"S{number}" for number in range(size)]
    return Automaton(
        name,
        name,
        tuple(map(State, names)),
        "S0",
        frozenset(chance.sample(names, chance.randint(1, size))),
        {},
        tuple(
            Transition(number, source, target, None, kind, tag, partner)
            for number, (source, target, kind, tag, partner) in enumerate(rows, 1)
        ),
    )


def _heard(members: list[Member]) -> System:
    """The system without the rows that send what nobody takes."""
    while True:
        try:
            return System(tuple(members))
        except TableError:
            members = [
                Member(
                    one.name,
                    replace(
                        one.automaton,
                        transitions=tuple(
                            row for row in one.automaton.transitions if _taken(members, one, row)
                        ),
                    ),
                )
                for one in members
            ]


def _taken(members: list[Member], sender: Member, row: Transition) -> bool:
    return row.kind is not Kind.SEND or any(
        (other.kind, other.label) == (Kind.RECEIVE, row.label)
        and other.partner in ("", sender.name)
        for one in members
        if one is not sender and row.partner in ("", one.name)
        for other in one.automaton.transitions
    )
