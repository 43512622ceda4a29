"""What has happened in a run of a gateway, as far as its policy depends on it.

The tables of a policy are followed in copies, one for each key: each copy is a session of its own,
whose events are stored before anything passes. Sums are counted beside them. From both follows what
may happen now, and why something may not.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from backends.databases import SqlBlackboard
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.gateway.policy import (
    EventTable,
    GatewayPolicy,
    ReadLine,
    ReadSum,
    canonical,
    exact,
)
from pxp_fsm.protocol.messages import Instance, storable
from pxp_fsm.sessions.actors import Turn
from pxp_fsm.sessions.session import Session


@dataclass
class _Followed:
    """A copy of a table: its state; its session, once something has happened in it."""

    state: str
    session: Session | None = None


class PolicyState:
    """The copies of a policy's tables and its sums, in the run `run` that is stored on `board`."""

    def __init__(self, policy: GatewayPolicy, board: SqlBlackboard | None, run: str) -> None:
        self.policy = policy
        self.run = run
        self.salt = ""
        self.sums: dict[str, int] = {}
        self._board = board
        self._copies: dict[tuple[str, str], _Followed] = {}
        self._states: dict[str, Counter[str]] = {table.name: Counter() for table in policy.tables}

    def clear(self) -> None:
        """Forget everything, to read it from the store again."""
        self._copies.clear()
        self.sums.clear()
        for states in self._states.values():
            states.clear()

    def digest(self, value: object) -> str:
        """A value's SHA-256 (hex) with the run's salt, the same in all of the run."""
        text = self.salt + exact(value)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def without_secrets(self, value: object) -> Any:
        """A value whose secret parts are digests."""
        secret = self.policy.file.secret
        if isinstance(value, dict):
            return {
                key: {"digest": self.digest(part)} if key in secret else self.without_secrets(part)
                for key, part in value.items()
            }
        if isinstance(value, list):
            return [self.without_secrets(part) for part in value]
        return value

    def session(self, table: EventTable, name: str, instance: Instance) -> Session:
        """The session of a copy of a table."""
        return Session(
            table.running,
            {table.name: nobody_decides},
            name=name,
            instance=instance,
            blackboard=self._board,
        )

    def follow(self, table: EventTable, key: str, session: Session) -> None:
        """Take note of where the copy of a table with this key is now."""
        place = table.name, key
        before = self._copies.get(place)
        after = session.states[table.name]
        if before is not None:
            self._states[table.name][before.state] -= 1
        self._states[table.name][after] += 1
        self._copies[place] = _Followed(after, session)

    def state_of(self, table: EventTable, key: str) -> str:
        """The state of a copy; the first one where nothing has happened in it."""
        copy = self._copies.get((table.name, key))
        return table.member.initial if copy is None else copy.state

    def copies_in(self, event: str, name: str, message: object) -> list[tuple[EventTable, str]]:
        """The copies of tables that an event happens in; raises `Unfit`."""
        return [
            (table, self.digest(table.key(name, message))) for table in self.policy.tables_of(event)
        ]

    def refusing(
        self, event: str, copies: list[tuple[EventTable, str]]
    ) -> list[tuple[EventTable, str]]:
        """Those in which the event cannot happen now."""
        return [
            (table, key)
            for table, key in copies
            if (self.state_of(table, key), event) not in table.moves
        ]

    def happen(
        self,
        event: str,
        copies: list[tuple[EventTable, str]],
        name: str,
        message: object,
    ) -> Mapping[str, int]:
        """Let an event that is allowed happen in all its tables; each is stored first.

        Its number in each session, as the event of `calls` names it.
        """
        numbers = dict[str, int]()
        for table, key in copies:
            copy = self._copies.get((table.name, key))
            session = None if copy is None else copy.session
            if session is None:
                of = self.without_secrets(table.about(name, message))
                about = canonical({"digest": key, "of": of})
                single = not table.arguments and not table.keys
                place = table.name if single else f"{table.name}/{key[:24]}"
                session = self.session(
                    table, f"{self.run}/{place}", Instance(table.name, storable(about))
                )
            happened = session.raise_event(event)
            numbers[session.name.removeprefix(f"{self.run}/")] = happened.number
            self.follow(table, key, session)
        return numbers

    def too_many(self, copies: list[tuple[EventTable, str]]) -> str:
        """Why no further copy of a table is followed; "" where these can be."""
        new = sum((table.name, key) not in self._copies for table, key in copies)
        most = self.policy.file.limits.copies
        if len(self._copies) + new > most:
            return (
                f"the policy follows at most {most:,} copies of its tables, and there are as many."
            )
        return ""

    def _totals(self, event: str, message: object) -> Iterator[tuple[ReadSum, str, int]]:
        """The sums that an event is added to, their keys, and what they are; raises `Unfit`."""
        for read in self.policy.sums:
            if read.entry.event == event:
                key = f"{read.entry.name}/{self.digest(read.key(message))}"
                yield read, key, self.sums.get(key, 0)

    def exceeded(self, event: str, name: str, message: object) -> str:
        """Why an event would take a sum beyond what it may be; "" where it does not."""
        for read, _, total in self._totals(event, message):
            if read.after(total, message) is None:
                entry = read.entry
                return (
                    f"{name} was not carried out: {entry.name} allows {entry.most - total} more "
                    f"of {entry.of} ({total} of {entry.most} are used), and no negative ones."
                )
        return ""

    def add(self, event: str, message: object) -> dict[str, Any]:
        """Add an event to its sums; what they are then, as it is stored."""
        after = {
            key: read.after(total, message) for read, key, total in self._totals(event, message)
        }
        self.sums |= {key: total for key, total in after.items() if total is not None}
        return {"sums": after} if after else {}

    def is_visible(self, tool: str, *, approved: bool = True) -> bool:
        """Whether a call of a tool may be allowed now, for some arguments.

        Also after an approval, if `approved`; else no approval that was given counts either.
        """
        lines = self.policy.about(self.policy.protocol.calls, tool)
        if not lines or lines[-1].when is not None:
            passes = self.policy.otherwise == "pass"
            if passes or not lines:
                return passes
        return any(self._may_pass(read, approved) for read in lines)

    def _may_pass(self, read: ReadLine, approved: bool) -> bool:
        line = read.line
        if line.event is None:
            return line.then == "pass"
        if line.approvals:
            return approved or all(
                (table.member.initial, line.event) in table.moves
                for table in self.policy.tables_of(line.event)
            )
        return all(
            self._some_copy(table, line.event) for table in self.policy.tables_of(line.event)
        )

    def _some_copy(self, table: EventTable, event: str) -> bool:
        states = [state for state, many in self._states[table.name].items() if many > 0]
        if table.arguments or table.keys or not states:
            states.append(table.member.initial)
        return any((state, event) in table.moves for state in states)

    def all_visible(self) -> tuple[bool, ...]:
        """Of each of the policy's tools whether it is visible now."""
        return tuple(map(self.is_visible, self.policy.tools))

    def why(self, name: str, read: ReadLine, refusing: list[tuple[EventTable, str]]) -> str:
        """Why an event cannot happen now, and what has to come first."""
        event = read.line.event or ""
        parts = []
        for table, key in refusing:
            way = table.way(self.state_of(table, key), event)
            if way is None:
                missing = "nothing will allow it again in this run"
            else:
                missing = f"it needs first: {', then '.join(map(self._words, way))}"
            if table.formula is not None:
                broken = table.formula.about or table.formula.formula
                missing = f"it would break {table.name} ({broken}); {missing}"
            parts.append(missing)
        about = f" {read.line.about}" if read.line.about else ""
        return f"{name} was not carried out: {'; '.join(dict.fromkeys(parts))}.{about}"

    def _words(self, event: str) -> str:
        """What raises an event."""
        return next(self._raising(event), event)

    def _raising(self, event: str) -> Iterator[str]:
        for read in self.policy.lines:
            line, names = read.line, " or ".join(read.line.names)
            for person, approval in line.approvals.items():
                if approval == event:
                    whose = f" by {person}" if person else ""
                    yield f"an approval of these very arguments{whose}"
            if line.event == event:
                match line.key:
                    case "tool":
                        yield f"a call of {names}"
                    case "result_of":
                        yield f"{line.outcome or 'a result'} of {names}"
                    case _:
                        yield names
            if line.denial == event:
                yield "a refusal by a person"


def nobody_decides(turn: Turn) -> None:
    """What happens comes from outside: no member decides."""
