"""A system as it runs: a machine for each member, and what is on its way between them.

What can happen follows from the tables (`System`) and from what a channel may do (`Channel`), as in
the model that is checked. Whoever chooses among it, an action that is taken here is one of those:
it is checked, then stored, and only then the machines move. All sessions move their machines here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pxp_fsm.automata.actions import (
    Choose,
    Decide,
    Deliver,
    Exchange,
    External,
    Send,
    SystemAction,
)
from pxp_fsm.automata.automaton import DECIDE, Kind, Transition, one_hot, sending
from pxp_fsm.automata.channels import Buffer
from pxp_fsm.automata.payloads import payload_problem
from pxp_fsm.automata.system import System
from pxp_fsm.errors import Refused
from pxp_fsm.protocol.messages import NOTHING, Message
from pxp_fsm.sessions.machine import Machine

Link = tuple[str, str]
"""Sender and receiver."""

Called = Callable[[], str]
"""What a refusal calls what it refuses: asked for only then."""


class LiveSystem:
    """The machines of `system`, the guards that they have settled ahead, and messages on their way.

    `machines`, by member, are those that run already; without them new ones are wound.

    >>> import pxp_fsm as pxp
    >>> live = LiveSystem(pxp.System.load("m=interact", "h=interact"))
    >>> [str(action) for action in live.possible()]
    ['m>h INIT', 'h>m INIT']
    """

    def __init__(self, system: System, machines: Mapping[str, Machine] | None = None) -> None:
        self.system = system
        self.machines = dict(machines or {}) or {
            member.name: Machine(member.automaton) for member in system.members
        }
        self.chosen: dict[str, Transition | None] = dict.fromkeys(self.machines)
        names = tuple(self.machines)
        links = () if system.channel.synchronous else system.links
        self.messages: dict[Link, list[Message]] = {
            (names[sender], names[receiver]): [] for sender, receiver in links
        }

    @property
    def states(self) -> dict[str, str]:
        """The present state of each member, with what its registers hold."""
        return {name: machine.described for name, machine in self.machines.items()}

    @property
    def ended(self) -> bool:
        """Whether every member is in an end state, and none has a message to send."""
        over = all(machine.ended for machine in self.machines.values())
        return over and not any(self.chosen.values())

    @property
    def stopped(self) -> bool:
        """Whether nothing happens any more, since a chosen message cannot be sent."""
        return any(self.chosen.values()) and self.system.stops

    def buffer(self, link: Link) -> Buffer:
        """The tags on their way over a link, as its channel orders them."""
        tags = tuple(message.tag for message in self.messages[link])
        return tuple(sorted(tags)) if self.system.channel.of(*link).reordering else tags

    def possible(self) -> list[SystemAction]:
        """Everything that can happen now."""
        actions: list[SystemAction] = []
        for name in self.machines:
            for row in self.rows(name):
                actions += self.by_row(name, row)
        return [*actions, *self.deliveries(), *self.externals()]

    def rows(self, name: str) -> tuple[Transition, ...]:
        """The rows by which a member can go on: where it has settled a guard, that one alone."""
        if self.stopped:
            return ()
        row = self.chosen[name]
        return self.machines[name].enabled() if row is None else (row,)

    def by_row(self, name: str, row: Transition) -> list[SystemAction]:
        """What a member can do by one of its rows now, by its own decision."""
        own = row.kind is Kind.SEND or (row.kind is Kind.EVENT and row.guard is not None)
        if not own:
            return []
        if row.kind is Kind.EVENT:
            return [Decide(row.guard or "", row.label, name)]
        sendings: list[SystemAction] = [*self.sendings(name, row)]
        if sendings or row.guard is None or self.chosen[name] is not None:
            return sendings
        ahead = row in self.system.choosable(self.system.places[name])
        return [Choose(name, row.guard, row.label)] if ahead else []

    def sendings(self, name: str, row: Transition) -> Iterator[Exchange | Send]:
        """The ways in which the message of `row` can be sent now; none where it has to wait."""
        place = self.system.places[name]
        for other in self.system.partners(place, row):
            receiver = self.system.members[other].name
            channel = self.system.channel.of(name, receiver)
            if channel.synchronous:
                if self._taken(name, receiver, row.label) is not None:
                    yield Exchange(name, receiver, row.label)
            else:
                for sent in channel.after_sending(self.buffer((name, receiver)), row.label):
                    yield Send(name, receiver, row.label, lost=sent.lost)

    def deliveries(self) -> Iterator[Deliver]:
        """The messages that can be delivered now."""
        for link, messages in self.messages.items():
            if messages:
                yield from self._deliveries(link)

    def _deliveries(self, link: Link) -> Iterator[Deliver]:
        if link in self.messages:
            for offer in self.system.channel.of(*link).offers(self.buffer(link)):
                if self._taken(*link, offer.tag) is not None:
                    yield Deliver(*link, offer.tag, kept=offer.kept)

    def externals(self) -> list[External]:
        """The events from outside that can happen now."""
        if not self.system.events:
            return []
        labels = dict.fromkeys(
            row.label for name in self.machines for row in self._external_rows(name)
        )
        return list(map(External, labels))

    def offered(self, action: Deliver) -> tuple[Message, ...]:
        """The messages of which `action` may deliver any, the oldest first."""
        link = action.sender, action.receiver
        same = tuple(message for message in self.messages[link] if message.tag == action.tag)
        return same if self.system.channel.of(*link).reordering else same[:1]

    def check(self, action: SystemAction, called: Called | None = None) -> None:
        """Raise `Refused` where `action` cannot happen: why, and what is possible.

        `called` gives the name by which the refusal calls it; by default that is the action itself.
        """
        if action not in self._alike(action):
            raise Refused(self.refusal(action, called))

    def _alike(self, action: SystemAction) -> Iterable[SystemAction]:
        """What is possible of the same kind: by the member's row, over the link, from outside."""
        match action:
            case Exchange(member, receiver, tag) | Send(member, receiver, tag):
                rows = self.rows(member) if member in self.machines else ()
                return (
                    possible
                    for row in rows
                    if (row.kind, row.label) == (Kind.SEND, tag) and row.partner in ("", receiver)
                    for possible in self.by_row(member, row)
                )
            case Choose(member, guard) | Decide(guard, _, member):
                rows = self.rows(member) if member in self.machines else ()
                return (
                    possible
                    for row in rows
                    if row.guard == guard
                    for possible in self.by_row(member, row)
                )
            case Deliver(sender, receiver):
                return self._deliveries((sender, receiver))
            case External():
                return self.externals()

    def take(
        self,
        action: SystemAction,
        message: Message | None = None,
        store: Callable[[], None] | None = None,
        called: Called | None = None,
    ) -> tuple[tuple[str, Transition], ...]:
        """Check `action`, `store` it, and let it happen (`move`).

        Raises `Refused`, with the reason, where it cannot happen, and whatever `store` raises. In
        either case nothing has moved. `called` is as in `check`.
        """
        self.check(action, called)
        if store is not None:
            store()
        return self.move(action, message)

    def move(
        self, action: SystemAction, message: Message | None = None
    ) -> tuple[tuple[str, Transition], ...]:
        """Let `action`, which was checked, happen; the members that moved, each with its row.

        `message` is what is sent, or which of the offered ones is delivered; without it a message
        without a payload, or the oldest. Raises `Refused`, and nothing has moved, where rules read
        what it does not carry.
        """
        match action:
            case Exchange(sender, receiver, tag):
                carried = self._carried(action, message, sender, receiver)
                sent = self._send(sender, receiver, tag, carried)
                return sent, (receiver, self.machines[receiver].receive(tag, sender, carried))
            case Send(sender, receiver, tag, lost):
                carried = self._carried(action, message, sender)
                if not lost:
                    posted = message or Message("", 0, sender, tag, NOTHING, receiver)
                    self.messages[sender, receiver].append(posted)
                return (self._send(sender, receiver, tag, carried),)
            case Deliver(sender, receiver, tag, kept):
                taken = message or self.offered(action)[0]
                if taken not in self.offered(action):
                    raise Refused(f"{action} was refused: another message comes next")
                carried = self._carried(action, taken, receiver)
                if not kept:
                    self.messages[sender, receiver].remove(taken)
                return ((receiver, self.machines[receiver].receive(tag, sender, carried)),)
            case Choose(member, guard, _tag):
                row = self._decided(member, guard)
                self.chosen[member] = row
                return ((member, row),)
            case Decide(guard, _label, member):
                valuation = self._valuation(member, guard)
                return ((member, self.machines[member].decide(valuation)),)
            case External(label):
                moving = [
                    name
                    for name in self.machines
                    if any(row.label == label for row in self._external_rows(name))
                ]
                return tuple((name, self.machines[name].happen(label)) for name in moving)

    def _carried(
        self, action: Exchange | Send | Deliver, message: Message | None, *moving: str
    ) -> Any:
        """What the updates of the members that move with a message read of it, if any do."""
        tables = [self.machines[name].automaton for name in moving]
        if not any(table.registers_beside for table in tables):
            return None
        text = NOTHING if message is None else message.json
        for table in tables:
            problem = payload_problem(table, action.tag, text)
            if problem is not None:
                raise Refused(
                    f"{action} was refused: its payload does not fit {table.name}: {problem}"
                )
        return json.loads(text)

    def row_of(self, action: Exchange | Send | Choose | Decide) -> Transition:
        """The row by which a member does what it has decided, in its present state."""
        if isinstance(action, Exchange | Send):
            machine = self.machines[action.sender]
            row = machine.automaton.sends(machine.state, action.tag, action.receiver)
            if row is None:
                raise Refused(self.refusal(action))
            return row
        return self._decided(action.member, action.guard)

    def withdrawing(self) -> Callable[[], None]:
        """A function that takes machines, guards and messages back to where they are now."""
        places = {
            name: (machine.state, machine.registers) for name, machine in self.machines.items()
        }
        chosen = dict(self.chosen)
        messages = {link: tuple(some) for link, some in self.messages.items()}

        def withdraw() -> None:
            self.chosen.update(chosen)
            for name, place in places.items():
                self.machines[name].return_to(*place)
            for link, some in messages.items():
                self.messages[link][:] = some

        return withdraw

    def refusal(self, action: SystemAction, called: Called | None = None) -> str:
        """Why `action` cannot happen now, and what can."""
        there = ", ".join(map(str, self.possible())) or "nothing"
        why = self._reason(action)
        others = "".join(f"; {obstacle}" for obstacle in self.obstacles() if obstacle != why)
        return (
            f"{called() if called else action} was refused: {why}; possible now is {there}{others}"
        )

    def _reason(self, action: SystemAction) -> str:
        """Why `action` in particular cannot happen now."""
        match action:
            case Exchange(member, receiver, tag) | Send(member, receiver, tag):
                rows = self.rows(member) if member in self.machines else ()
                sends = any((row.kind, row.label) == (Kind.SEND, tag) for row in rows)
                passes = sends and receiver in self.machines
                return self._not_passed(member, receiver) if passes else self._not_sent(member)
            case Deliver(sender, receiver, tag):
                tags = [message.tag for message in self.messages.get((sender, receiver), ())]
                reordering = self.system.channel.of(sender, receiver).reordering
                if tag in tags[: None if reordering else 1]:
                    return self._not_taken(receiver)
                return f"on the way from {sender} to {receiver} is {', '.join(tags) or 'nothing'}"
            case Choose(member) | Decide(_, _, member):
                return self._not_sent(member)
            case External():
                return f"no member takes it, for {', '.join(map(self._at, self.machines))}"

    def obstacles(self) -> Iterator[str]:
        """Why members cannot do now what their tables say, and messages cannot be delivered."""
        for name, machine in self.machines.items():
            settled = self.chosen[name]
            for row in machine.enabled() if settled is None else (settled,):
                if row.kind is Kind.SEND and not any(self.sendings(name, row)):
                    chosen = f" has chosen {row.guard} and" if settled else ""
                    why = ", ".join(
                        self._not_passed(name, self.system.members[other].name)
                        for other in self.system.partners(self.system.places[name], row)
                    )
                    yield f"{name} in {machine.state}{chosen} cannot send {row.label}: {why}"
        for sender, receiver in self.messages:
            link = sender, receiver
            for tag in dict.fromkeys(
                offer.tag for offer in self.system.channel.of(*link).offers(self.buffer(link))
            ):
                if self._taken(sender, receiver, tag) is None:
                    yield f"{self._not_taken(receiver)}, and {tag} from {sender} comes next"

    def waits(self) -> Iterator[str]:
        """What the members wait for that only others can move, and which are over."""
        for name, machine in self.machines.items():
            rows = machine.enabled()
            if any(row.kind is Kind.SEND for row in rows) or self.stopped:
                continue
            awaited = f"waits for {', '.join(row.action for row in rows)}"
            yield f"{name} in {machine.state} {'is over' if machine.ended else awaited}"

    def _at(self, name: str) -> str:
        return f"{name} is in {self.machines[name].state}"

    def _not_sent(self, sender: str) -> str:
        """What `sender` can do, which is something else."""
        if sender not in self.machines:
            return f"the members are {', '.join(self.machines)}"
        settled = self.chosen[sender]
        if settled is not None:
            return f"{sender} has {settled.label} to send first"
        sends = [row.action for row in self.rows(sender) if row.kind is Kind.SEND]
        return f"{self._at(sender)}, which sends {', '.join(sends) or 'nothing'}"

    def _not_passed(self, sender: str, receiver: str) -> str:
        """Why a message from `sender` to `receiver` cannot go now."""
        channel = self.system.channel.of(sender, receiver)
        if channel.synchronous:
            return self._not_taken(receiver)
        return f"the buffer to {receiver} is full ({channel.capacity})"

    def _not_taken(self, receiver: str) -> str:
        settled = self.chosen[receiver]
        if settled is not None:
            return f"{receiver} has {settled.label} to send first"
        takes = [
            row.action for row in self.machines[receiver].enabled() if row.kind is Kind.RECEIVE
        ]
        return f"{self._at(receiver)}, which takes {', '.join(takes) or 'nothing'}"

    def _taken(self, sender: str, receiver: str, tag: str) -> Transition | None:
        if self.chosen[receiver] is not None:
            return None
        places, machine = self.system.places, self.machines[receiver]
        if machine.automaton.registers_beside:  # what it takes depends on what they hold
            return machine.automaton.receives(machine.state, tag, sender)
        return self.system.taken(places[sender], places[receiver], machine.state, tag)

    def _external_rows(self, name: str) -> list[Transition]:
        rows = () if self.chosen[name] is not None else self.rows(name)
        return [row for row in rows if row.kind is Kind.EVENT and row.guard is None]

    def _send(self, sender: str, receiver: str, tag: str, carried: Any) -> tuple[str, Transition]:
        machine = self.machines[sender]
        row = machine.automaton.sends(machine.state, tag, receiver)
        if row is None:
            raise AssertionError(f"{sender} does not send {tag} in {machine.state}")
        self.chosen[sender] = None
        if row.guard is None:
            return sender, machine.fire(sending(tag, receiver), payload=carried)
        return sender, machine.fire(DECIDE, self._valuation(sender, row.guard), carried)

    def _decided(self, member: str, guard: str) -> Transition:
        machine = self.machines[member]
        return machine.automaton.step(machine.state, DECIDE, self._valuation(member, guard))

    def _valuation(self, member: str, guard: str) -> dict[str, bool]:
        machine = self.machines[member]
        return one_hot(guard, machine.automaton.guards_of(machine.state))
