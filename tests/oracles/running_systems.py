"""What real machines can do in a system, by trying everything: an oracle for its model.

Each machine is put where it is, and every event is tried on it; buffers are written anew. Nothing
is taken from the model but the types of its actions.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from proofs.systems import Channel, System
from pxp_fsm.automata.actions import Choose, Decide, Deliver, Exchange, External, Send
from pxp_fsm.automata.automaton import (
    DECIDE,
    Kind,
    Transition,
    Trigger,
    happening,
    one_hot,
    sending,
)
from pxp_fsm.automata.automaton import receiving as receives
from pxp_fsm.errors import PXPError
from pxp_fsm.sessions.machine import Machine
from tests.oracles.system_explorer import commits

Action = Exchange | Send | Deliver | Choose | Decide | External
Link = tuple[int, int]


class Where(NamedTuple):
    """By member its state and the guard that it has settled; by link what is on its way."""

    at: tuple[str, ...]
    guards: tuple[str, ...]
    buffers: tuple[tuple[Link, tuple[str, ...]], ...] = ()

    def moved(self, member: int, state: str) -> Where:
        """The same with `member` in `state`, where it has settled nothing."""
        return self._replace(at=_put(self.at, member, state), guards=_put(self.guards, member, ""))

    def buffer(self, link: Link) -> tuple[str, ...]:
        """What is on its way over a link."""
        return dict(self.buffers).get(link, ())

    def with_buffer(self, link: Link, tags: tuple[str, ...]) -> Where:
        """The same with these tags on their way over a link."""
        kept = {**dict(self.buffers), link: tags}
        return self._replace(buffers=tuple(sorted((k, v) for k, v in kept.items() if v)))


class RunningSystem:
    """Real machines, one a member, and what is on its way between them."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._channel: Channel = system.channel
        self._names = [member.name for member in system.members]
        self._machines = [Machine(member.automaton) for member in system.members]
        rows = [row for member in system.members for row in member.automaton.transitions]
        self._taken: dict[tuple[int, str, Trigger, str], Transition | None] = {}
        self._tags = sorted({row.label for row in rows if row.kind is not Kind.EVENT})
        self._events = sorted({row.label for row in rows if row.kind is Kind.EVENT})

    @property
    def start(self) -> Where:
        machines = [machine.automaton.initial for machine in self._machines]
        return Where(tuple(machines), ("",) * len(machines))

    def steps(self, here: Where) -> set[tuple[Action, Where]]:
        """Everything that can happen, and where it leads."""
        found: set[tuple[Action, Where]] = set()
        meeting = not self._channel.capacity
        if meeting and len(self._names) == 2 and any(here.guards):
            return found
        for member in range(len(self._names)):
            found.update(self._decided(here, member))
            if not here.guards[member]:
                found.update(self._unguarded(here, member))
                found.update(self._delivered(here, member))
        found.update(self._external(here))
        return found

    def _decided(self, here: Where, member: int) -> Iterator[tuple[Action, Where]]:
        """What follows from each guard that the member may settle, or has settled."""
        name, table = self._names[member], self._machines[member].automaton
        settled = here.guards[member]
        guards = table.guards_of(here.at[member])
        for guard in (settled,) if settled else guards:
            row = self._fired(here, member, DECIDE, one_hot(guard, guards))
            if row is None:
                continue
            if row.kind is Kind.EVENT:
                yield Decide(guard, row.label, name), here.moved(member, row.target)
                continue
            sent = list(self._sent(here, member, row))
            yield from sent
            if not (sent or settled) and commits(self._system, self._channel, member, row):
                waiting = here._replace(guards=_put(here.guards, member, guard))
                yield Choose(name, guard, row.label), waiting

    def _unguarded(self, here: Where, member: int) -> Iterator[tuple[Action, Where]]:
        for tag, other in product(self._tags, range(len(self._names))):
            if other != member:
                row = self._fired(here, member, sending(tag, self._names[other]))
                if row is not None:
                    yield from self._sent(here, member, row, only=other)

    def _sent(
        self, here: Where, member: int, row: Transition, only: int | None = None
    ) -> Iterator[tuple[Action, Where]]:
        """Whoever a message can be sent to, at once or into a buffer."""
        name, moved = self._names[member], here.moved(member, row.target)
        for other, partner in enumerate(self._names):
            if other == member or only not in (None, other) or row.partner not in ("", partner):
                continue
            if not self._channel.capacity:
                heard = None
                if not here.guards[other]:
                    heard = self._fired(here, other, receives(row.label, name))
                if heard is not None:
                    yield Exchange(name, partner, row.label), moved.moved(other, heard.target)
            elif self._may_be_sent(other, row, name):
                link, tags = (member, other), here.buffer((member, other))
                channel = self._channel.of(name, partner)
                if len(tags) < channel.capacity:
                    longer = (*tags, row.label)
                    kept = tuple(sorted(longer)) if channel.reordering else longer
                    yield Send(name, partner, row.label), moved.with_buffer(link, kept)
                if channel.lossy:
                    yield Send(name, partner, row.label, lost=True), moved

    def _delivered(self, here: Where, member: int) -> Iterator[tuple[Action, Where]]:
        name = self._names[member]
        for other, sender in enumerate(self._names):
            tags, channel = here.buffer((other, member)), self._channel.of(sender, name)
            for place in range(len(tags) if channel.reordering else min(1, len(tags))):
                heard = self._fired(here, member, receives(tags[place], sender))
                if heard is None:
                    continue
                moved = here.moved(member, heard.target)
                rest = tags[:place] + tags[place + 1 :]
                yield Deliver(sender, name, tags[place]), moved.with_buffer((other, member), rest)
                if channel.duplicating:
                    yield Deliver(sender, name, tags[place], kept=True), moved

    def _external(self, here: Where) -> Iterator[tuple[Action, Where]]:
        for label in self._events:
            rows = [
                None if settled else self._fired(here, member, happening(label))
                for member, settled in enumerate(here.guards)
            ]
            after = here
            for member, row in enumerate(rows):
                after = after if row is None else after.moved(member, row.target)
            if any(rows):
                yield External(label), after

    def _may_be_sent(self, member: int, row: Transition, sender: str) -> bool:
        """What names nobody is sent to those who ever receive it; of two, to the other."""
        named = row.partner or len(self._names) == 2
        return bool(named) or self._ever_receives(member, row.label, sender)

    def _ever_receives(self, member: int, tag: str, sender: str) -> bool:
        machine = self._machines[member]
        states = (state.name for state in machine.automaton.states)
        return any(self._row(member, state, receives(tag, sender), None) for state in states)

    def _fired(
        self, here: Where, member: int, event: Trigger, valuation: dict[str, bool] | None = None
    ) -> Transition | None:
        return self._row(member, here.at[member], event, valuation)

    def _row(
        self, member: int, state: str, event: Trigger, valuation: dict[str, bool] | None
    ) -> Transition | None:
        """The row that the real machine takes, tried once; None where it refuses."""
        key = member, state, event, str(valuation)
        if key not in self._taken:
            self._taken[key] = self._tried(member, state, event, valuation)
        return self._taken[key]

    def _tried(
        self, member: int, state: str, event: Trigger, valuation: dict[str, bool] | None
    ) -> Transition | None:
        machine = self._machines[member]
        machine.return_to(state)
        try:
            row = machine.fire(event, valuation)
        except PXPError:
            assert machine.state == state
            return None
        assert machine.state == row.target
        return row


def _put(items: tuple[str, ...], place: int, item: str) -> tuple[str, ...]:
    return (*items[:place], item, *items[place + 1 :])
