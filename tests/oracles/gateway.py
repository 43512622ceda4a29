"""A naive gateway: the policy's file as TOML reads it, followed step by step, nothing compiled.

It shares no code with the gateway. Expressions are Python's, but for `true` and `false`. An event
breaks a formula where none of all short ways to go on satisfies it, by the definition of runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from itertools import product
from typing import Any

from proofs.logic import Formula, parse
from proofs.logic.formulas import Atom
from tests.oracles.runs import satisfied


class Naive:
    """What a policy says of calls, results and approvals."""

    def __init__(self, policy: Mapping[str, Any]) -> None:
        self.policy = policy
        self.copies: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {}
        self.added: dict[tuple[str, str], list[int]] = {}
        self.words: dict[tuple[str, str], tuple[str, ...]] = {}

    def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """`pass`, `ask` for an approval of the client's person, or `refuse`; a pass happens."""
        try:
            line = self._line("tool", tool, arguments, "")
            if line is None:
                return str(self.policy["otherwise"]["tools"])
            if "then" in line:
                return str(line["then"])
            for one in self._summed(line["event"]):
                amount, before = self._field(one["of"], arguments), self._added(one, arguments)
                if amount < 0 or sum(before) + amount > one["most"]:
                    return "refuse"
            if self.happens(line["event"], tool, arguments):
                for one in self._summed(line["event"]):
                    self._added(one, arguments).append(self._field(one["of"], arguments))
                return "pass"
            approval = line.get("approval")
            if isinstance(approval, str) and self._can(approval, tool, arguments):
                return "ask"
        except LookupError:
            pass
        return "refuse"

    def result(self, tool: str, arguments: Mapping[str, Any], outcome: str) -> None:
        """The result of a call has come."""
        line = self._line("result_of", tool, {}, outcome)
        if line is not None and "event" in line:
            self.happens(line["event"], tool, arguments)

    def approval(self, tool: str, arguments: Mapping[str, Any], person: str = "") -> bool:
        """A person approves; whether that counts."""
        line = self._line("tool", tool, arguments, "")
        assert line is not None
        given = line["approval"]
        return self.happens(given[person] if person else given, tool, arguments)

    def happens(self, event: str, tool: str, arguments: Mapping[str, Any]) -> bool:
        """Whether all tables that have the event take it; then they move."""
        if not self._can(event, tool, arguments):
            return False
        for table in self._tables(event):
            key = self._key(table, tool, arguments)
            row = self._row(table, key, event)
            assert row is not None
            _, before = self._copy(table, key)
            after = {
                name: _worth(text, before, self.policy) for name, text in row.get("do", {}).items()
            }
            self.copies[table["name"], key] = row["to"], {**before, **after}
        for formula in self._formulas(event):
            place = formula["name"], self._key(formula, tool, arguments)
            self.words[place] = (*self.words.get(place, ()), event)
        return True

    def _can(self, event: str, tool: str, arguments: Mapping[str, Any]) -> bool:
        return all(
            self._row(table, self._key(table, tool, arguments), event) is not None
            for table in self._tables(event)
        ) and all(
            can_be_kept(
                formula["formula"],
                (
                    *self.words.get((formula["name"], self._key(formula, tool, arguments)), ()),
                    event,
                ),
            )
            for formula in self._formulas(event)
        )

    def _formulas(self, event: str) -> list[Any]:
        return [
            formula
            for formula in self.policy.get("formulas", ())
            if event in events_of(formula["formula"])
        ]

    def _summed(self, event: str) -> list[Any]:
        return [one for one in self.policy.get("sums", ()) if one["event"] == event]

    def _added(self, one: Any, arguments: Mapping[str, Any]) -> list[int]:
        return self.added.setdefault((one["name"], self._key(one, "", arguments)), [])

    def _tables(self, event: str) -> list[Any]:
        return [
            table
            for table in self.policy.get("tables", ())
            if any(event in _many(row["event"]) for row in table["rows"])
        ]

    def _key(self, table: Any, tool: str, arguments: Mapping[str, Any]) -> str:
        per = table.get("per", [])
        if per == "arguments":
            return json.dumps([tool, arguments], sort_keys=True)
        return json.dumps([self._field(name, arguments) for name in per], sort_keys=True)

    def _copy(self, table: Any, key: str) -> tuple[str, dict[str, Any]]:
        first = {name: one["init"] for name, one in table.get("registers", {}).items()}
        begin = table.get("initial", _many(table["rows"][0]["from"])[0])
        return self.copies.get((table["name"], key), (begin, first))

    def _row(self, table: Any, key: str, event: str) -> Any:
        state, registers = self._copy(table, key)
        for row in table["rows"]:
            fits = state in _many(row["from"]) and event in _many(row["event"])
            if fits and _worth(row.get("when", "true"), registers, self.policy) is True:
                return row
        return None

    def _line(self, key: str, tool: str, arguments: Mapping[str, Any], outcome: str) -> Any:
        for line in self.policy["lines"]:
            if key not in line or tool not in _many(line[key]):
                continue
            if line.get("outcome", outcome) != outcome:
                continue
            if "when" in line:
                names = set(re.findall(r"[a-z_]\w*", line["when"])) & self.policy["fields"].keys()
                values = {name: self._field(name, arguments) for name in sorted(names)}
                if _worth(line["when"], values, self.policy) is not True:
                    continue
            return line
        return None

    def _field(self, name: str, arguments: Mapping[str, Any]) -> Any:
        field = self.policy["fields"][name]
        value = arguments[field["at"]]
        if field.get("type") == "int" and type(value) is not int:
            raise LookupError(name)
        return value


def events_of(text: str) -> list[str]:
    """The events that a formula names."""
    return sorted(set(re.findall(r"event\.(\w+)", text)))


@cache
def can_be_kept(text: str, word: tuple[str, ...], stem: int = 2, cycle: int = 2) -> bool:
    """Whether some sequence of events that begins with these satisfies a formula: all are tried
    that go on with so many events, and then end or have a cycle of so many.
    """
    formula, events = parse(text), events_of(text)
    return any(
        satisfied(formula, ["", *word, *more, *again], len(again), _happens)
        for more in _words(events, 0, stem)
        for again in _words(events, 0, cycle)
    )


def _words(events: list[str], least: int, most: int) -> list[tuple[str, ...]]:
    return [word for many in range(least, most + 1) for word in product(events, repeat=many)]


def _happens(atom: Formula, event: str) -> bool:
    return isinstance(atom, Atom) and atom.name == f"event.{event}"


def _many(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _worth(text: str, values: Mapping[str, Any], policy: Mapping[str, Any]) -> Any:
    names = {**policy.get("parameters", {}), **values, "true": True, "false": False}
    return eval(text, {"__builtins__": {}}, names)  # noqa: S307 - of our own examples
