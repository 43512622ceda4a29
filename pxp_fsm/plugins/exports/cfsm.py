"""Communicating automata in the text of KMC and ChorGram: one block for each machine.

`q1 2 ! a q3` sends `a` to the machine with number 2, `?` receives from it; numbers count from 0.
`.marking` is the initial state. There are no end states, and channels are FIFO without a bound. A
comment `-- door = 1` names the machine with that number, as the authors of such files do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from proofs.logic.formulas import Formula
from proofs.systems.product import Composition
from pxp_fsm.automata.automaton import Kind
from pxp_fsm.automata.foreign_names import ForeignNames, with_names
from pxp_fsm.automata.system import Member, System
from pxp_fsm.errors import Fault, Place, TableError, UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.exports.foreign import located, parsed, table_of
from pxp_fsm.plugins.exports.syntax import WrittenFiles, plain

if TYPE_CHECKING:
    from lark import Token, Tree

_WORDS = {
    "NAME": "a name",
    "DIRECTION": "! or ?",
    "_STATE_GRAPH": ".state graph",
    "$END": "the end",
    "LESSTHAN": "<",
    "MORETHAN": ">",
}
_NAMED = re.compile(r"^\s*--[ \t]*(\w+)[ \t]*=[ \t]*([0-9]{1,4})[ \t]*$", re.MULTILINE)


@dataclass
class _Machine:
    """One block: its name there, its rows and its initial state."""

    name: str
    rows: list[Any]
    initial: Token
    start: tuple[int, int]


def from_cfsm(text: str, filename: str = "system.txt") -> System:
    """The system that a text of communicating automata means.

    Raises `TableError` with line and column of every fault.
    """
    tree = parsed("cfsm", text, filename, _WORDS)
    commented = {int(number): name for name, number in _NAMED.findall(text)}
    machines = [_machine(block, commented.get(n, "")) for n, block in enumerate(tree.children)]  # type: ignore[arg-type] # blocks alone
    return _Reading(machines, filename).system()


def _machine(block: Tree[Token], commented: str) -> _Machine:
    first, *rest = block.children
    own = str(first) if not hasattr(first, "data") and len(rest) > 0 else ""
    rows: list[Any] = [part for part in block.children if hasattr(part, "data")]
    initial: Token = block.children[-1]  # type: ignore[assignment] # after the rows
    return _Machine(own or commented, rows, initial, (block.meta.line, block.meta.column))


class _Reading:
    """From blocks to tables, with the place of each row."""

    def __init__(self, machines: Sequence[_Machine], filename: str) -> None:
        self.machines = machines
        self.filename = filename
        self.members = ForeignNames("m")
        self.tables = ForeignNames("m", lower=True)
        self.tags = ForeignNames("t")
        names = [machine.name for machine in machines]
        self.theirs = [
            name if name and names.count(name) == 1 else f"m{number}"
            for number, name in enumerate(names)
        ]
        self.names = [self.members.of(name) for name in self.theirs]
        self.faults: list[Fault] = []

    def system(self) -> System:
        """The tables, joined. Raises `TableError` with every fault."""
        tables, places = [], dict[Place, tuple[int, int]]()
        for number, machine in enumerate(self.machines):
            raw, own = self._document(number, machine)
            if not self.faults:
                try:
                    tables.append(table_of(raw, own, self.filename))
                except TableError as error:
                    self.faults += error.faults
            places |= {
                ("members", number, "rows", int(path[1]) + 1): at
                for path, at in own.items()
                if path[:1] == ("rows",)
            }
            places["members", number] = machine.start
        if self.faults:
            raise TableError(self.faults)
        members = tuple(map(Member, self.names, tables))
        try:
            system = System(members)
        except TableError as error:
            raise TableError(located(places, self.filename)(error.faults)) from None
        return replace(
            system, located_findings=tuple(located(places, self.filename)(system.findings))
        )

    def _document(
        self, number: int, machine: _Machine
    ) -> tuple[dict[str, Any], dict[Place, tuple[int, int]]]:
        states = ForeignNames("s")
        rows, places = list[dict[str, Any]](), dict[Place, tuple[int, int]]()
        places[()] = machine.start
        first = states.of(str(machine.initial))
        order = {first: None}
        for tree in machine.rows:
            source, partner, direction, message, target = tree.children
            place = (source.line, source.column)
            other = self._partner(number, partner)
            tag = "_".join(map(str, message.children))
            key = "send" if direction == "!" else "receive"
            row = {"from": states.of(str(source)), "to": states.of(str(target))}
            places["rows", len(rows)] = place
            rows.append({**row, key: self.tags.of(tag), "partner": other})
            order |= {row["from"]: None, row["to"]: None}
        if not rows:
            self._fault(machine.start, "a machine without rows does nothing; leave it out")
        theirs = self.theirs[number]
        # An automaton is at its end where it has nothing to do (Lange and Yoshida 2019, section 2).
        left = {row["from"] for row in rows}
        ends = [name for name in order if name not in left]
        title = f"Machine {number}" + ("" if theirs == f"m{number}" else f", {theirs}")
        return {
            "format": 1,
            "name": self.tables.of(theirs),
            "title": with_names(title, states, self.tags),
            "initial": first,
            **({"final": ends} if ends else {}),
            "states": [{"name": name} for name in order],
            "rows": rows,
        }, places

    def _partner(self, number: int, token: Any) -> str:
        name = str(token)
        if name.isascii() and name.isdigit():
            other = int(name) if len(name) < 6 else len(self.names)
        elif name in self.theirs:
            other = self.theirs.index(name)
        else:
            other = len(self.names)
        if other >= len(self.names):
            last = len(self.names) - 1
            message = f"there is no machine {quoted(name)}; they have the numbers 0 to {last}"
            self._fault((token.line, token.column), message)
            return "nobody"
        if other == number:
            message = f"machine {number} cannot be its own partner"
            self._fault((token.line, token.column), message)
        return self.names[other]

    def _fault(self, at: tuple[int, int], message: str) -> None:
        self.faults.append(Fault((), message, file=self.filename, line=at[0], column=at[1]))


def to_cfsm(composition: Composition, formulas: Sequence[tuple[str, Formula]] = ()) -> WrittenFiles:
    """The system as communicating automata; guards are free choices there, end states are not said.

    Raises `UsageError` for events from outside, for a member without rows, and for formulas.
    """
    if formulas:
        raise UsageError("communicating automata hold no formulas; leave them out")
    system, blocks, tags = composition.system, list[str](), _Words()
    for place, member in enumerate(system.members):
        rows, states = dict[str, None](), _Words()
        for row in member.automaton.transitions:
            if row.kind is Kind.EVENT:
                raise UsageError(
                    f"communicating automata have no events, and {member.name} has {row.label}; "
                    f"export to another format"
                )
            sign = "!" if row.kind is Kind.SEND else "?"
            for other in system.partners(place, row):
                source, target = states.of(row.source), states.of(row.target)
                rows[f"{source} {other} {sign} {tags.of(row.label)} {target}"] = None
        if not rows:
            raise UsageError(f"{member.name} has no rows, and a machine has one at the least")
        blocks += [
            f"-- {member.name} = {place}",
            ".outputs",
            ".state graph",
            *rows,
            f".marking {states.of(member.automaton.initial)}",
            ".end",
            "",
        ]
    return WrittenFiles("\n".join([f"-- {plain(system.name)}", "", *blocks]))


class _Words:
    """Names as KMC reads them, of letters and digits alone; two never become one."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def of(self, name: str) -> str:
        """The name that stands for `name`."""
        if name not in self._names:
            base = candidate = re.sub(r"[\W_]", "", name, flags=re.ASCII) or "x"
            number, taken = 1, set(self._names.values())
            while candidate in taken:
                number += 1
                candidate = f"{base}x{number}"
            self._names[name] = candidate
        return self._names[name]
