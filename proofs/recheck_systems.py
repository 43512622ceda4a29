"""What can happen in a system, as the checker of certificates knows it by itself.

Tables as TOML reads them, what a channel does with messages, when a guard is settled. It shares
nothing with what explores; `proofs.recheck_claims` asks it of every state of a certificate.
"""

import hashlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

SIGNS = {"send": "+", "receive": "-", "event": "!"}
FAULTS = ("lossy", "duplicating", "reordering")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


class Row(NamedTuple):
    """One row; `guard` and `partner` are "" where there is none."""

    source: str
    target: str
    guard: str
    sign: str
    label: str
    partner: str

    def __str__(self) -> str:
        to = {"+": " to ", "-": " from "}.get(self.sign, "") + self.partner if self.partner else ""
        return f"{self.source} {self.target} {self.guard or '⊤'} {self.sign}{self.label}{to}"


class Table:
    """A table as TOML reads it. Raises ValueError where one event could take two rows."""

    def __init__(self, raw: Any) -> None:
        self.initial, self.final, self.rows = raw["initial"], {*raw["final"]}, list[Row]()
        for row, key in ((row, key) for row in raw["rows"] for key in SIGNS if key in row):
            places, tags = ([x] if isinstance(x, str) else x for x in (row["from"], row[key]))
            rest = row["to"], row.get("guard", ""), SIGNS[key]
            self.rows += [
                Row(a, *rest, tag, row.get("partner", "")) for a in places for tag in tags
            ]
        lines = [
            f"initial {self.initial}",
            *(f"final {s}" for s in self.final),
            *map(str, self.rows),
        ]
        text = "".join(f"{line}\n" for line in sorted(lines))
        self.fingerprint = hashlib.sha256(text.encode()).hexdigest()
        self.states = {self.initial, *self.final, *(s for row in self.rows for s in row[:2])}
        self.states |= {state["name"] for state in raw["states"]}
        names = {*self.states, *(x for row in self.rows for x in (row[2], *row[4:])), "x"} - {""}
        alike = [(r.source, r.sign, r.label, r.guard * (r.sign == "!")) for r in self.rows]
        for one, row in zip(alike, self.rows, strict=True):
            twins = [r for r, two in zip(self.rows, alike, strict=True) if one == two]
            if sum("" in (r.partner, row.partner) or r.partner == row.partner for r in twins) > 1:
                raise ValueError(f"two rows for one tag: {row}")
        if not all(map(NAME.fullmatch, names)) or any(r.guard and r.sign == "-" for r in self.rows):
            raise ValueError("a name that is none, or a guard on a row that receives")


Guards = tuple[str, ...]


class State(NamedTuple):
    """Where members are, what is on its way on each link, the guards that members have settled."""

    at: tuple[str, ...]
    buffers: tuple[tuple[str, ...], ...]
    settled: Guards


class Step(NamedTuple):
    """A step: where it leads, the rows with their members, whose it is, whether it only settles."""

    target: State
    rows: tuple[tuple[int, Row], ...]
    actor: str
    settles: bool = False


class System:
    """Tables with names over a channel of `capacity`, 0 if it is synchronous."""

    def __init__(self, names: list[str], tables: list[Table], channel: str) -> None:
        channel, *others = channel.split(",")
        own = dict(other.split("=") for other in others)
        self.capacity = _capacity(channel)
        if own and not (self.capacity and all(map(_capacity, own.values()))):
            raise ValueError("a link has a channel of its own only where all have buffers")
        if len(own) < len(others):
            raise ValueError("a link has two channels")
        self.names, self.tables, self.everybody = names, tables, range(len(names))
        if len(names) < 2 or len({*names}) < len(names) or not all(map(NAME.fullmatch, names)):
            raise ValueError("a system has two members or more, each with a name of its own")
        self.ways = {(i, r): self._partners(i, r) for i in self.everybody for r in tables[i].rows}
        sent = ((i, j) for (i, r), some in self.ways.items() if r.sign == "+" for j in some)
        self.links = sorted({*sent} if self.capacity else ())
        between = [f"{names[i]}:{names[j]}" for i, j in self.links]
        if not {*own} <= {*between}:
            raise ValueError(f"a channel of a link over which nothing is sent: {own}")
        self.carries = [own.get(one, channel) for one in between]
        for (i, row), some in self.ways.items():
            heard = [j for j in some if j != i and self._has(j, "-", row.label, i)]
            if i in some or (row.sign == "+" and not heard):
                raise ValueError(f"a row sends what nobody takes: {row}")
        self.stops = not self.capacity and len(names) == 2
        self.leaving = [
            {at: [row for row in one.rows if row.source == at] for at in one.states}
            for one in tables
        ]

    def __str__(self) -> str:
        marks = (table.fingerprint[:12] for table in self.tables)
        return ", ".join(f"{name} {mark}" for name, mark in zip(self.names, marks, strict=True))

    def _partners(self, i: int, row: Row) -> tuple[int, ...]:
        """Who may be at the other end of a row: whom it names, or all who could be."""
        if row.partner:
            return (self.names.index(row.partner),)
        opposite = {"+": "-", "-": "+"}.get(row.sign)
        return tuple(j for j in self.everybody if j != i and self._has(j, opposite, row.label, i))

    def _has(self, j: int, sign: str | None, label: str, i: int) -> bool:
        """Whether j has a row for a tag to or from i, in some state."""
        some = (r for r in self.tables[j].rows if (r.sign, r.label) == (sign, label))
        return any(r.partner in ("", self.names[i]) for r in some)

    @property
    def first(self) -> State:
        nothing = ("",) * len(self.names)
        return State(tuple(one.initial for one in self.tables), ((),) * len(self.links), nothing)

    def rows(self, state: State, i: int) -> list[Row]:
        """By which rows a member can go on: by one, where it has settled a guard."""
        some = self.leaving[i][state.at[i]]
        return [r for r in some if r.guard == state.settled[i]] if state.settled[i] else some

    def takes(self, state: State, i: int, j: int, tag: str) -> Row | None:
        """The row by which j takes a tag from i."""
        some = [] if state.settled[j] else self.leaving[j][state.at[j]]
        fit = (r for r in some if r.sign == "-" and r.label == tag)
        return next((r for r in fit if r.partner in ("", self.names[i])), None)

    def ended(self, state: State, i: int) -> bool:
        return state.at[i] in self.tables[i].final and not state.settled[i]

    def steps(self, state: State) -> Iterator[Step]:
        """All that can happen."""
        if self.stops and any(state.settled):
            return
        for i in self.everybody:
            for row in self.rows(state, i):
                moved, sends = _moved(state, {i: row.target}), list[Step]()
                if row.sign == "+":
                    sends = [one for j in self.ways[i, row] for one in self._sent(moved, i, j, row)]
                yield from sends
                if row.sign == "!" and row.guard:
                    yield Step(moved, ((i, row),), self.names[i])
                elif row.guard and not sends and not state.settled[i] and self._settles(i, row):
                    settled = (*state.settled[:i], row.guard, *state.settled[i + 1 :])
                    yield Step(state._replace(settled=settled), ((i, row),), self.names[i], True)
        for link in enumerate(self.links):
            yield from self._delivered(state, *link)
        events = {r.label: None for one in self.tables for r in one.rows if r.sign == "!"}
        for label in events:
            free = [
                (i, r) for i in self.everybody if not state.settled[i] for r in self.rows(state, i)
            ]
            told = [(i, r) for i, r in free if r.sign == "!" and r.label == label and not r.guard]
            if told:
                yield Step(_moved(state, {i: r.target for i, r in told}), (*told,), "")

    def _sent(self, moved: State, i: int, j: int, row: Row) -> Iterator[Step]:
        """What member i can do by a row that sends to j."""
        if not self.capacity:
            heard = self.takes(moved, i, j, row.label)
            if heard:
                both = ((i, row), (j, heard))
                yield Step(_moved(moved, {j: heard.target}), both, self.names[i])
            return
        link = self.links.index((i, j))
        there, carries = moved.buffers[link], self.carries[link]
        if len(there) < _capacity(carries):
            longer = (*there, row.label)
            kept = tuple(sorted(longer)) if "reordering" in carries else longer
            yield Step(_holding(moved, link, kept), ((i, row),), self.names[i])
        if "lossy" in carries:
            yield Step(moved, ((i, row),), self.names[i])

    def _settles(self, i: int, row: Row) -> bool:
        """Whether a guard can be settled before its message can be sent, and that matters."""
        some = self.leaving[i][row.source]
        deciding = [r for r in some if r.sign == "+" and r.guard]
        other = len(deciding) < len(some) or len({self.ways[i, r] for r in deciding}) > 1
        if row.sign != "+" or not self.capacity:
            return row.sign == "+"
        links = (self.links.index((i, j)) for j in self.ways[i, row])
        return other and not any("lossy" in self.carries[link] for link in links)

    def offers(self, state: State, link: int) -> tuple[str, ...]:
        """The tags that a link offers next."""
        there = state.buffers[link]
        return tuple(dict.fromkeys(there)) if "reordering" in self.carries[link] else there[:1]

    def _delivered(self, state: State, link: int, ends: tuple[int, int]) -> Iterator[Step]:
        for tag in self.offers(state, link):
            row = self.takes(state, *ends, tag)
            if row:
                there, moved = list(state.buffers[link]), _moved(state, {ends[1]: row.target})
                there.remove(tag)
                for one in (
                    _holding(moved, link, (*there,)),
                    *[moved] * ("duplicating" in self.carries[link]),
                ):
                    yield Step(one, ((ends[1], row),), self.names[ends[1]])


def _capacity(channel: str) -> int:
    """How many messages a channel holds, 0 for "sync"."""
    kinds, _, capacity = channel.partition(":")
    if channel == "sync":
        return 0
    faults = [] if kinds == "fifo" else kinds.split("+")
    if not {*FAULTS} >= {*faults} or not 0 < int(capacity) <= 64:
        raise ValueError(f"there is no channel {channel}")
    return int(capacity)


def _moved(state: State, where: dict[int, str]) -> State:
    at = tuple(where.get(i, one) for i, one in enumerate(state.at))
    settled = tuple("" if i in where else one for i, one in enumerate(state.settled))
    return State(at, state.buffers, settled)


def _holding(state: State, link: int, tags: tuple[str, ...]) -> State:
    return state._replace(buffers=(*state.buffers[:link], tags, *state.buffers[link + 1 :]))
