"""Taking a trace with real machines and the channel between them, before anybody sees it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from proofs.core.actions import Choose, Decide, Deliver, Exchange, External, Send
from proofs.core.explore import Trace
from proofs.core.results import NotReplayed
from proofs.systems.channels import Buffer
from proofs.systems.encoding import Configuration
from proofs.systems.product import Composition
from proofs.systems.propositions import Noted
from pxp_fsm.automata.automaton import DECIDE, Kind, happening, one_hot, sending
from pxp_fsm.errors import GuardError, NotEnabled
from pxp_fsm.sessions.machine import Machine


def shown(composition: Composition, trace: Trace[Any]) -> Trace[Configuration]:
    """`trace` in words, taken by a real machine a member.

    Raises `NotReplayed` where the machines or the buffers come somewhere else than the model.
    """
    words = trace.map(lambda state: composition.encoding.configuration(_state(state)))
    run = _Run(composition)
    try:
        run.compare(words.start)
        for step in words.steps:
            run.take(step.action)
            run.compare(step.target)
    except (AssertionError, GuardError, NotEnabled) as error:
        raise NotReplayed(str(error), words) from error
    return words


class _Run:
    """Machines that stand where a trace has led them, and what is on its way between them."""

    def __init__(self, composition: Composition) -> None:
        self._composition = composition
        self._machines = {
            member.name: Machine(member.automaton) for member in composition.system.members
        }
        self._guards = dict.fromkeys(self._machines, "")
        names = [member.name for member in composition.system.members]
        self._buffers: dict[tuple[str, str], Buffer] = {
            (names[sender], names[receiver]): () for sender, receiver in composition.encoding.links
        }

    def take(self, action: Hashable) -> None:
        """Let an action happen."""
        match action:
            case External(label):
                for name, machine in self._machines.items():
                    rows = () if self._guards[name] else machine.enabled()
                    if any(row.event == happening(label) for row in rows):
                        machine.happen(label)
            case Choose(member, guard, tag):
                self._choose(member, guard, tag)
            case Decide(guard, label, member):
                row = self._machines[member].decide(self._valuation(member, guard))
                if (row.kind, row.label) != (Kind.EVENT, label):
                    raise AssertionError(f"{guard} of {member} names {row.action}, not !{label}")
            case Exchange(sender, receiver, tag):
                self._send(sender, receiver, tag)
                self._receive(sender, receiver, tag)
            case Send(sender, receiver, tag, lost):
                self._send(sender, receiver, tag)
                self._put((sender, receiver), tag, lost=lost)
            case Deliver(sender, receiver, tag, kept):
                self._deliver((sender, receiver), tag, kept=kept)
                self._receive(sender, receiver, tag)
            case _:
                raise AssertionError(f"no system does {action}")

    def compare(self, configuration: Configuration) -> None:
        """An `AssertionError` where the machines or the buffers are somewhere else."""
        at = tuple(machine.state for machine in self._machines.values())
        guards = tuple(self._guards.values())
        reached = Configuration(at, tuple(self._buffers.values()), guards if any(guards) else ())
        if reached != configuration:
            raise AssertionError(f"the machines are at {reached}, the model at {configuration}")

    def _choose(self, member: str, guard: str, tag: str) -> None:
        """The guard of a member names `tag`, and nobody can be sent it."""
        machine, system = self._machines[member], self._composition.system
        table, valuation = machine.automaton, self._valuation(member, guard)
        row, place = table.step(machine.state, DECIDE, valuation), system.places[member]
        if row.label != tag:
            raise AssertionError(f"{guard} of {member} names {row.label}, not {tag}")
        for other in system.partners(place, row):
            receiver = system.members[other].name
            if self._composition.channel.synchronous:
                if not self._guards[receiver] and self._takes(receiver, tag, member):
                    raise AssertionError(f"{receiver} takes {tag} of {member} at once")
            elif [*self._composition.channel.after_sending(self._buffers[member, receiver], tag)]:
                raise AssertionError(f"the channel from {member} to {receiver} takes {tag} at once")
        self._guards[member] = guard

    def _takes(self, receiver: str, tag: str, sender: str) -> bool:
        machine = self._machines[receiver]
        try:
            Machine(machine.automaton, machine.state).receive(tag, sender)
        except NotEnabled:
            return False
        return True

    def _send(self, sender: str, receiver: str, tag: str) -> None:
        """Send `tag` by its row; where a guard allows it, that guard is true."""
        machine = self._machines[sender]
        row = machine.automaton.sends(machine.state, tag, receiver)
        guard = None if row is None else row.guard
        if self._guards[sender] not in ("", guard):
            raise AssertionError(f"{sender} has settled {self._guards[sender]}, not {guard}")
        self._guards[sender] = ""
        if guard is None:
            machine.fire(sending(tag, receiver))
        else:
            machine.fire(DECIDE, self._valuation(sender, guard))

    def _valuation(self, member: str, guard: str) -> dict[str, bool]:
        machine = self._machines[member]
        return one_hot(guard, machine.automaton.guards_of(machine.state))

    def _receive(self, sender: str, receiver: str, tag: str) -> None:
        if self._guards[receiver]:
            raise AssertionError(f"{receiver} has a message to send first")
        self._machines[receiver].receive(tag, sender)

    def _put(self, link: tuple[str, str], tag: str, *, lost: bool) -> None:
        possible = self._composition.channel.after_sending(self._buffers[link], tag)
        found = [sent.buffer for sent in possible if sent.lost is lost]
        if not found:
            raise AssertionError(f"the channel from {link[0]} to {link[1]} does not do that")
        self._buffers[link] = found[0]

    def _deliver(self, link: tuple[str, str], tag: str, *, kept: bool) -> None:
        possible = self._composition.channel.offers(self._buffers[link])
        found = [offer.buffer for offer in possible if (offer.tag, offer.kept) == (tag, kept)]
        if not found:
            raise AssertionError(f"{tag} is not what comes next from {link[0]} to {link[1]}")
        self._buffers[link] = found[0]


def _state(state: Noted | int) -> int:
    return state.state if isinstance(state, Noted) else state
