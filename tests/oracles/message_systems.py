"""Systems whose rules read messages, explored naively: real values, and one new id at a time.

A state has the registers and messages as they are. Ids are called anew after each step, in the
order in which they stand there, and a message can carry each that is there or one that is not: so
nothing has to be known of how many are enough. Tables are data as TOML reads them, expressions are
run by Python, and nothing is shared with what unfolds, explores or proves.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

from tests.oracles.rule_sessions import evaluated

Fields = tuple[tuple[str, Any], ...]
"""What is read of a message, by name: ids as texts."""

Link = tuple[int, int]


class Place(NamedTuple):
    """By member the state, the registers, and the message that waits with its guard; by link the
    messages on their way, each a tag with fields.
    """

    at: tuple[str, ...]
    registers: tuple[Fields, ...]
    chosen: tuple[tuple[str, str, Fields] | None, ...]
    buffers: tuple[tuple[Link, tuple[tuple[str, Fields], ...]], ...] = ()


class Step(NamedTuple):
    """What happens: by whom, its label, what its message carries, and the place after it."""

    who: str
    label: str
    message: Fields
    target: Place


@dataclass(frozen=True)
class MessageSystem:
    """Members with their tables. `carried` are by tag the values of each field, ANY_ID for ids of
    which there are endless many. `capacity` 0 is synchronous.
    """

    tables: Mapping[str, Mapping[str, Any]]
    parameters: Mapping[str, Any]
    carried: Mapping[str, Mapping[str, Sequence[Any]]]
    capacity: int = 0
    faults: frozenset[str] = frozenset()

    @property
    def first(self) -> Place:
        tables = [*self.tables.values()]
        registers = tuple(
            tuple((name, one.get("init", "")) for name, one in table["registers"].items())
            for table in tables
        )
        none = (None,) * len(tables)
        return Place(tuple(table["initial"] for table in tables), registers, none)

    def reachable(self, most: int) -> dict[Place, list[Step]] | None:
        """Every place that can be reached, with its steps; None of more than `most`."""
        found, left = dict[Place, list[Step]](), [self.called(self.first)]
        while left:
            place = left.pop()
            if place not in found:
                found[place] = [*self.steps(place)]
                left += [self.called(step.target) for step in found[place]]
            if len(found) > most:
                return None
        return found

    def steps(self, place: Place) -> Iterator[Step]:
        """What can happen."""
        if any(place.chosen) and len(self.tables) == 2 and not self.capacity:
            return
        names = [*self.tables]
        for i, name in enumerate(names):
            yield from self._delivered(place, i)
            settled = place.chosen[i]
            for row, kind, label in self._rows(place, i):
                if kind == "event" and ("guard" in row or row.get("by") == "self"):
                    yield Step(name, label, (), self._after(place, {i: row}, label, ()))
                if kind != "send":
                    continue
                for message in self._messages(place, label) if settled is None else [settled[2]]:
                    sent = [*self._sent(place, i, row, label, message)]
                    yield from sent
                    if (
                        not sent
                        and "guard" in row
                        and settled is None
                        and self._waits(place, i, row)
                    ):
                        waits = (row["guard"], label, message)
                        yield Step(
                            name,
                            label,
                            message,
                            place._replace(chosen=_put(place.chosen, i, waits)),
                        )
        outside = [
            [(i, row, label) for row, kind, label in self._rows(place, i)
             if kind == "event" and "guard" not in row and row.get("by") != "self"]
            for i in range(len(names))
        ]  # fmt: skip
        for label in sorted({label for some in outside for _, _, label in some}):
            taken = {i: row for some in outside for i, row, other in some if other == label}
            yield Step("", label, (), self._after(place, taken, label, ()))

    def _rows(self, place: Place, i: int) -> list[tuple[Mapping[str, Any], str, str]]:
        """The rows that member i may take: that of its settled guard, or an urgent one, first."""
        table = [*self.tables.values()][i]
        names = {**self.parameters, **dict(place.registers[i])}
        settled = place.chosen[i]
        found = []
        for row in table["rows"]:
            kind = next(one for one in ("send", "receive", "event") if one in row)
            if row["from"] != place.at[i]:
                continue
            if settled is not None:
                if row.get("guard") == settled[0]:
                    found.append((row, kind, settled[1]))
            elif "guard" in row:
                if row["guard"] in self._true(table, place, i):
                    found.append((row, kind, row[kind]))
            elif "when" not in row or evaluated(row["when"], names):
                found.append((row, kind, row[kind]))
        urgent = [one for one in found if one[0].get("urgent")]
        return urgent or found

    def _true(self, table: Mapping[str, Any], place: Place, i: int) -> set[str]:
        """The guards that some answers of the oracles make true."""
        names = {**self.parameters, **dict(place.registers[i])}
        of_type = {"id": ["", *(v for v in names.values() if isinstance(v, str)), "another"]}
        oracles = table.get("oracles", {})
        answers = [of_type.get(one.get("type", ""), [False, True]) for one in oracles.values()]
        found, state = set[str](), next(s for s in table["states"] if s["name"] == place.at[i])
        for some in product(*answers):
            known = {**names, **dict(zip(oracles, some, strict=True))}
            whens = {guard: table["guards"][guard]["when"] for guard in state["guards"]}
            true = {g for g, when in whens.items() if when != "else" and evaluated(when, known)}
            found |= true or {g for g, when in whens.items() if when == "else"}
        return found

    def _messages(self, place: Place, label: str) -> Iterator[Fields]:
        """What a message with this tag may carry."""
        fields = self.carried.get(label, {})
        there = [*dict.fromkeys(one for one in _ids(place) if one.startswith("#"))]
        new = [name for number in range(1, 99) if (name := f"#{number}") not in there]
        every = []
        for number, values in enumerate(fields.values()):
            some = [one for one in values if one is not ANY_ID]
            # a second id of one message is one that is there, the first one's, or another new one
            some += [*there, *new[: number + 1]] if ANY_ID in values else []
            every.append(some)
        for values in product(*every):
            yield tuple(zip(fields, values, strict=True))

    def _sent(
        self, place: Place, i: int, row: Mapping[str, Any], label: str, message: Fields
    ) -> Iterator[Step]:
        names = [*self.tables]
        for j, other in enumerate(names):
            if j == i or row.get("partner", other) != other:
                continue
            if "partner" not in row and not self._hears(j, label, names[i]):
                continue
            if not self.capacity:
                for heard, kind, tag in self._rows(place, j) if place.chosen[j] is None else ():
                    if (
                        kind == "receive"
                        and tag == label
                        and heard.get("partner", names[i]) == names[i]
                    ):
                        after = self._after(place, {i: row, j: heard}, label, message)
                        yield Step(names[i], label, message, _free(after, i))
                continue
            after = _free(self._after(place, {i: row}, label, message), i)
            buffers = dict(place.buffers)
            there = buffers.get((i, j), ())
            if len(there) < self.capacity:
                now = after._replace(buffers=_kept(buffers | {(i, j): (*there, (label, message))}))
                yield Step(names[i], label, message, now)
            if "lossy" in self.faults:
                yield Step(names[i], label, message, after)

    def _hears(self, j: int, label: str, sender: str) -> bool:
        """Whether a member has a row for what somebody sends to no one by name."""
        rows = [*self.tables.values()][j]["rows"]
        return any(
            row.get("receive") == label and row.get("partner", sender) == sender for row in rows
        )

    def _waits(self, place: Place, i: int, row: Mapping[str, Any]) -> bool:
        """Whether to settle a guard whose message waits is something else than to wait first: with
        buffers, where the member has another way on."""
        others = [(kind, one) for one, kind, _ in self._rows(place, i)]
        return not self.capacity or any(
            kind != "send" or "guard" not in one or one.get("partner") != row.get("partner")
            for kind, one in others
        )

    def _delivered(self, place: Place, j: int) -> Iterator[Step]:
        names, buffers = [*self.tables], dict(place.buffers)
        for (i, to), there in buffers.items():
            if to != j or place.chosen[j] is not None:
                continue
            for number in range(len(there) if "reordering" in self.faults else 1):
                label, message = there[number]
                rest = (*there[:number], *there[number + 1 :])
                for row, kind, tag in self._rows(place, j):
                    if (
                        kind == "receive"
                        and tag == label
                        and row.get("partner", names[i]) == names[i]
                    ):
                        after = self._after(place, {j: row}, label, message)
                        if "duplicating" in self.faults:
                            yield Step(names[j], label, message, after)
                        after = after._replace(buffers=_kept(buffers | {(i, j): rest}))
                        yield Step(names[j], label, message, after)

    def _after(
        self, place: Place, taken: Mapping[int, Mapping[str, Any]], label: str, message: Fields
    ) -> Place:
        at, registers = place.at, place.registers
        for i, row in taken.items():
            table = [*self.tables.values()][i]
            updates = {} if "event" in row else dict(table.get("each", {}).get("message", {}))
            updates |= row.get("do", {})
            known = {**self.parameters, **dict(place.registers[i]), "tag": label, **dict(message)}
            now = dict(place.registers[i]) | {x: evaluated(t, known) for x, t in updates.items()}
            at, registers = _put(at, i, row["to"]), _put(registers, i, tuple(now.items()))
        return place._replace(at=at, registers=registers)

    def called(self, place: Place) -> Place:
        """The place with ids called in the order in which they stand there."""
        if "reordering" in self.faults:
            # The order of what is on its way counts for nothing; the least of all is taken.
            return min((_named(one) for one in _orders(place)), key=repr)
        return _named(place)


ANY_ID = object()
"""An id of which there are endless many."""


def _named(place: Place) -> Place:
    names = dict[str, str]()
    for one in _ids(place):
        if one.startswith("#"):
            names.setdefault(one, f"#{len(names) + 1}")

    def fields(some: Fields) -> Fields:
        return tuple((name, names.get(v, v) if isinstance(v, str) else v) for name, v in some)

    return Place(
        place.at,
        tuple(map(fields, place.registers)),
        tuple(one and (one[0], one[1], fields(one[2])) for one in place.chosen),
        tuple(
            (link, tuple((tag, fields(message)) for tag, message in some))
            for link, some in place.buffers
        ),
    )


def _orders(place: Place) -> Iterator[Place]:
    from itertools import permutations

    links = [link for link, _ in place.buffers]
    for some in product(*(permutations(there) for _, there in place.buffers)):
        yield place._replace(buffers=tuple(zip(links, some, strict=True)))


def _ids(place: Place) -> Iterator[str]:
    groups = [*place.registers, *(one[2] for one in place.chosen if one is not None)]
    groups += [message for _, some in place.buffers for _, message in some]
    return (value for fields in groups for _, value in fields if isinstance(value, str))


def _put(some: Any, i: int, one: Any) -> Any:
    return (*some[:i], one, *some[i + 1 :])


def _free(place: Place, i: int) -> Place:
    return place._replace(chosen=_put(place.chosen, i, None))


def _kept(buffers: Mapping[Link, Any]) -> tuple[Any, ...]:
    return tuple(sorted(((link, some) for link, some in buffers.items() if some), key=repr))


def canonical(value: object) -> str:
    """An id as its JSON, which tells it apart."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
