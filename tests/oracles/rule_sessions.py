"""Sessions of tables with rules, naively: one by one, on numbers, expressions run by Python.

Expressions of tables read like Python's, so Python evaluates them here; nothing is shared with what
runs, explores, proves or rechecks rules. Tables are data as TOML reads them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from types import CodeType, MappingProxyType
from typing import Any, NamedTuple

Table = Mapping[str, Any]
Pairs = frozenset[tuple[int, int]]
Values = tuple[int, int]


EMPTY: Mapping[str, Any] = MappingProxyType({})


class Names(dict[str, Any]):
    """Names that stand for themselves where nothing else is known of them: members."""

    def __missing__(self, name: str) -> str:
        return name


class Member(NamedTuple):
    """Where a member is, what it remembers, and its latest pair of values.

    `waits` is what it has decided and could not send: the place of the row, its label and answers.
    """

    at: str
    registers: tuple[tuple[str, Any], ...]
    values: Values | None = None
    waits: tuple[Any, ...] = ()


class State(NamedTuple):
    """A session: its members, ghosts, and how it came to stand ("", "end", "stuck", "guards")."""

    members: tuple[Member, ...]
    ghosts: tuple[tuple[str, Any], ...]
    over: str = ""


class Done(NamedTuple):
    """A step: who took it, its kind and label, the state after it, and what its message carries."""

    who: str
    kind: str
    label: str
    target: State
    message: tuple[tuple[str, Any], ...] = ()


def evaluated(text: str, names: Mapping[str, Any]) -> Any:
    """The value of an expression; a dotted name is looked up as one."""
    known = Names({name.replace(".", "__"): value for name, value in names.items()})
    known |= {"true": True, "false": False}
    return eval(_compiled(text), {"__builtins__": {}}, known)  # noqa: S307 - tests' own expressions


@cache
def _compiled(text: str) -> CodeType:
    return compile(text.strip().replace(".", "__"), "<expression>", "eval")


@dataclass(frozen=True)
class Sessions:
    """Members with their tables, the values of parameters, and relations on values 0, 1, 2.

    `relations` are those of each member, of MATCH and of AGREE; one that is None answers freely,
    but for a value and itself. Without any, all answers are free. `messages` are what a message may
    carry, by the names that expressions have for it; ids are texts, "" at first, and oracles say
    one of `ids`.
    """

    tables: Mapping[str, Table]
    parameters: Mapping[str, Any]
    ghosts: Mapping[str, Any] = field(default_factory=dict)
    starts: str = ""
    relations: tuple[tuple[Pairs | None, Pairs | None], ...] | None = None
    messages: tuple[Mapping[str, Any], ...] = (EMPTY,)
    ids: tuple[str, ...] = ("", "a", "b")
    _message: dict[str, Any] = field(default_factory=dict, repr=False)

    def first(self) -> State:
        members = tuple(
            Member(
                table["initial"],
                tuple(
                    (name, one.get("init", "")) for name, one in table.get("registers", {}).items()
                ),
            )
            for table in self.tables.values()
        )
        return State(members, tuple((name, one["init"]) for name, one in self.ghosts.items()))

    def rows(self, i: int, at: str) -> Iterator[tuple[dict[str, Any], str, str]]:
        """The rows that leave a state, each label by itself, with what it does."""
        for row in [*self.tables.values()][i]["rows"]:
            places = [row["from"]] if isinstance(row["from"], str) else row["from"]
            for kind in ("send", "receive", "event"):
                labels = row.get(kind, [])
                for label in [labels] if isinstance(labels, str) else labels:
                    if at in places:
                        yield row, kind, label

    def listed(self, i: int, at: str) -> list[str]:
        """The guards of a state, as its table lists them."""
        states = [*self.tables.values()][i]["states"]
        return next((state.get("guards", []) for state in states if state["name"] == at), [])

    def names(self, i: int, member: Member, more: Mapping[str, Any] = EMPTY) -> dict[str, Any]:
        table = [*self.tables.values()][i]
        found = {**self.parameters, **dict(member.registers), **more}
        for name, text in table.get("let", {}).items():
            if not _words(text) & {*table.get("oracles", {}), *table["let"]} - {*found}:
                found[name] = evaluated(text, found)
        return found

    def urgent(self, state: State, i: int) -> list[tuple[dict[str, Any], str, str]]:
        member = state.members[i]
        known = self.names(i, member)
        return [
            one
            for one in self.rows(i, member.at)
            if one[0].get("urgent") and evaluated(one[0]["when"], known)
        ]

    def steps(self, state: State, draw: random.Random | None = None) -> list[Done]:
        """What can happen; with `draw`, each member gets answers of oracles at random, else all."""
        found = list[Done]()
        for message in [draw.choice(self.messages)] if draw else self.messages:
            self._message.clear()
            self._message.update(message)
            found += self._steps(state, draw)
        return found

    def _steps(self, state: State, draw: random.Random | None) -> list[Done]:
        if state.over in ("stuck", "guards"):
            return []
        found, begun = list[Done](), state != self.first()
        busy = {i for i in range(len(self.tables)) if self.urgent(state, i)}
        for i in range(len(self.tables)):
            member = state.members[i]
            if member.waits:
                place, label, answers = member.waits
                row = [*self.tables.values()][i]["rows"][place]
                found += self._sent(state, i, row, "send", label, dict(answers), {})
            elif i in busy:
                urgent = self.urgent(state, i)
                for row, kind, label in urgent:
                    who = "NONE" if row.get("by", "world") == "world" else ""
                    found.append(self._after(state, [(i, row)], kind, label, {}, who=who))
            else:
                found += self._unguarded(state, i, begun, draw)
                for answers, carried in self._answers(state, i, draw):
                    for taken in self._decided(state, i, answers):
                        found += self._taken(state, i, taken, answers, carried)
        found += self._world(state, busy)
        if not found and state.over != "end":
            found.append(Done("", "none", "", state._replace(over="stuck")))
        return found

    def _world(self, state: State, busy: set[int]) -> Iterator[Done]:
        """Events of the outside world: all members that have a row for one take it at once."""
        rows = dict[str, dict[int, list[Any]]]()
        for i, member in enumerate(state.members):
            if i in busy or member.waits:
                continue
            known = self.names(i, member)
            for row, kind, label in self.rows(i, member.at):
                outside = row.get("by", "world") == "world" and "guard" not in row
                able = "when" not in row or evaluated(row["when"], known)
                if kind == "event" and outside and able and not row.get("urgent"):
                    rows.setdefault(label, {}).setdefault(i, []).append((i, row))
        for label, some in rows.items():
            for taken in product(*some.values()):
                yield self._after(state, list(taken), "event", label, {}, who="NONE")

    def _unguarded(
        self, state: State, i: int, begun: bool, draw: random.Random | None
    ) -> Iterator[Done]:
        """The rows that are under no guard, and what the environment sends to a member alone."""
        name, member = [*self.tables][i], state.members[i]
        known = self.names(i, member)
        for row, kind, label in self.rows(i, member.at):
            if kind == "receive" and len(self.tables) == 1:
                yield self._after(state, [(i, row)], kind, label, {})
            outside = kind == "event" and row.get("by", "world") == "world"
            if kind == "receive" or "guard" in row or row.get("urgent") or outside:
                continue
            may_start = begun or self.starts in ("", name)
            if may_start and ("when" not in row or evaluated(row["when"], known)):
                yield from self._sent(state, i, row, kind, label, {}, self._plain(state, i, draw))

    def _taken(
        self, state: State, i: int, taken: Any, answers: Mapping[str, Any],
        carried: Mapping[str, Values],
    ) -> list[Done]:  # fmt: skip
        """What comes of a decision: who cannot send at once waits; of two, nothing happens then."""
        name = [*self.tables][i]
        if taken is None:
            return [Done(name, "error", "guards", state._replace(over="guards"))]
        row, kind, label = taken
        done = self._sent(state, i, row, kind, label, answers, carried)
        if done:
            return done
        if len(self.tables) == 2:
            return [Done(name, "choose", label, state._replace(over="stuck"))]
        place = next(n for n, one in enumerate(self.tables[name]["rows"]) if one is row)
        members = [*state.members]
        members[i] = members[i]._replace(waits=(place, label, tuple(answers.items())))
        return [Done(name, "choose", label, state._replace(members=tuple(members), over=""))]

    def _answers(
        self, state: State, i: int, draw: random.Random | None
    ) -> Iterator[tuple[dict[str, Any], dict[str, Values]]]:
        """Answers of the oracles, with the pairs of values that a message may carry."""
        table, member = [*self.tables.values()][i], state.members[i]
        guards = {row["guard"] for row, _, _ in self.rows(i, member.at) if "guard" in row}
        listed = self.listed(i, member.at)
        if not guards and not listed:
            return
        oracles = table.get("oracles", {})
        for carried in self._carried(state, i, draw):
            fixed = self._compared(state, i, carried) if carried else {}
            free = {
                name: (list(one["of"]) if "of" in one and "relation" not in one else
                       list(self.ids) if one.get("type") == "id" else
                       list(range(one["min"], 6)) if "min" in one else [False, True])
                for name, one in oracles.items() if name not in fixed
            }  # fmt: skip
            if draw:
                yield fixed | {name: draw.choice(of) for name, of in free.items()}, carried
                continue
            for some in product(*free.values()):
                yield fixed | dict(zip(free, some, strict=True)), carried

    def _carried(
        self, state: State, i: int, draw: random.Random | None
    ) -> Iterator[dict[str, Values]]:
        """One's own latest pair and a fresh one; where one has none yet, what is asked first.

        Where answers are asked once, the first answer and what is learned are two.
        """
        if self.relations is None:
            yield {}
            return
        pairs = [(y, e) for y in range(3) for e in range(3)]
        own = state.members[i].values
        once = [*self.tables.values()][i].get("answers", {}).get("ask") == "once"
        for new in [draw.choice(pairs)] if draw else pairs:
            firsts = pairs if once and own is None else [own or new]
            for first in [draw.choice(firsts)] if draw else firsts:
                yield {"own": first, "new": new}

    def _compared(self, state: State, i: int, carried: Mapping[str, Values]) -> dict[str, Any]:
        """What relations say of the values in play: the peer's, one's own, and the fresh ones."""
        assert self.relations is not None
        roles = {**carried, "received": state.members[1 - i].values}
        found = dict[str, Any]()
        for name, one in [*self.tables.values()][i].get("oracles", {}).items():
            if "relation" in one:
                which = ("MATCH", "AGREE").index(one["relation"])
                left, right = (roles[role] for role in one["of"])
                if left is None or right is None:
                    continue
                relation = self.relations[i][which]
                if relation is not None:
                    found[name] = (left[which], right[which]) in relation
                elif left[which] == right[which]:
                    found[name] = True
        return found

    def _plain(self, state: State, i: int, draw: random.Random | None) -> Mapping[str, Values]:
        """What a message carries that no guard decides."""
        return next(self._carried(state, i, draw or random.Random(0)))

    def _decided(self, state: State, i: int, answers: Mapping[str, Any]) -> Iterator[Any]:
        """The rows of the guard that is true; None where not exactly one is."""
        table, member = [*self.tables.values()][i], state.members[i]
        rows = [one for one in self.rows(i, member.at) if "guard" in one[0]]
        listed = self.listed(i, member.at)
        listed = [*dict.fromkeys([*listed, *(row["guard"] for row, _, _ in rows)])]
        told = table.get("guards", {})
        whens = {
            g: told[g]["when"]
            for g in listed
            if isinstance(told.get(g), Mapping) and "when" in told[g]
        }
        if len(whens) < len(listed):
            yield from rows
            return
        known = self.names(i, member, answers)
        true = [g for g, when in whens.items() if when != "else" and evaluated(when, known)]
        true = true or [g for g, when in whens.items() if when == "else"]
        taken = [one for one in rows if one[0]["guard"] in true]
        yield from taken if len(true) == 1 and taken else [None]

    def _sent(
        self, state: State, i: int, row: Any, kind: str, label: str,
        answers: Mapping[str, Any], carried: Mapping[str, Values],
    ) -> list[Done]:  # fmt: skip
        if kind == "event" or len(self.tables) == 1:
            return [self._after(state, [(i, row)], kind, label, answers)]
        found, names = list[Done](), [*self.tables]
        for j in range(len(names)):
            other = state.members[j]
            if j == i or other.waits or self.urgent(state, j):
                continue
            for heard, what, tag in self.rows(j, other.at):
                fits = heard.get("partner", names[i]) == names[i]
                if (
                    (what, tag) == ("receive", label)
                    and fits
                    and row.get("partner", names[j]) == names[j]
                ):
                    sent = carried.get(row.get("carry", "new"))
                    found.append(
                        self._after(state, [(i, row), (j, heard)], kind, label, answers, sent)
                    )
        return found

    def _after(
        self, state: State, taken: list[tuple[int, Any]], kind: str, label: str,
        answers: Mapping[str, Any], sent: Values | None = None, who: str = "",
    ) -> Done:  # fmt: skip
        """The step in which members take rows; the first of them has the answers."""
        members, names, first = [*state.members], [*self.tables], taken[0][0]
        who = who or names[first]
        for j, row in taken:
            table, member = self.tables[names[j]], state.members[j]
            updates = dict(table.get("each", {}).get("message", {}) if kind != "event" else {})
            updates |= row.get("do", {})
            known = self.names(j, member, answers if j == first else {}) | {"tag": label}
            known |= self._message if kind != "event" else {}
            after = dict(member.registers) | {x: evaluated(t, known) for x, t in updates.items()}
            values = sent if j == first and sent is not None else member.values
            members[j] = Member(row["to"], tuple(after.items()), values)
        known = {**self.parameters, **dict(state.ghosts), "who": who, "tag": label, "kind": kind}
        ghosts = tuple((x, evaluated(one["step"], known)) for x, one in self.ghosts.items())
        tables = [*self.tables.values()]
        over = all(m.at in tables[j]["final"] and not m.waits for j, m in enumerate(members))
        carried = tuple(self._message.items()) if kind != "event" else ()
        target = State(tuple(members), ghosts, "end" if over else "")
        return Done(who, kind, label, target, carried)

    def values(self, state: State) -> dict[str, Any]:
        """The values of all names of claims."""
        found = {**self.parameters, **dict(state.ghosts), "over": state.over == "end"}
        for name, member, table in zip(
            self.tables, state.members, self.tables.values(), strict=True
        ):
            found[f"{name}.at"], found[f"{name}.over"] = member.at, member.at in table["final"]
            found |= {f"{name}.{x}": value for x, value in member.registers}
        return found


def _words(text: str) -> set[str]:
    return {*re.findall(r"\w+", text)}
