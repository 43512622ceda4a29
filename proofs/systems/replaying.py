"""Taking a trace with real machines and the channel between them, before anybody sees it."""

from __future__ import annotations

from typing import Any

from proofs.explore import Trace
from proofs.model import Step
from proofs.systems.channels import Buffer
from proofs.systems.product import EVENT, Composition, Configuration
from proofs.systems.propositions import Noted
from pxp_fsm.automaton import DECIDE, Kind, one_hot, sending
from pxp_fsm.machine import Machine


def shown(composition: Composition, trace: Trace[Any]) -> Trace[Configuration]:
    """`trace` in words, taken by a real machine a member.

    An `AssertionError` where the machines or the buffers come somewhere else than the model.
    """
    start, steps = _state(trace.start), list[Step[Configuration]]()
    run = _Run(composition)
    run.compare(composition.configuration(start))
    for step in trace.steps:
        run.take(step.label)
        reached = composition.configuration(_state(step.target))
        run.compare(reached)
        steps.append(Step(step.label, reached))
    return Trace(composition.configuration(start), tuple(steps))


class _Run:
    """Machines that stand where a trace has led them, and what is on its way between them."""

    def __init__(self, composition: Composition) -> None:
        self._composition = composition
        self._machines = {
            member.name: Machine(member.automaton) for member in composition.system.members
        }
        names = [member.name for member in composition.system.members]
        self._buffers: dict[tuple[str, str], Buffer] = {
            (names[sender], names[receiver]): () for sender, receiver in composition.links
        }

    def take(self, label: str) -> None:
        """Let happen what the label of a step says."""
        where, _, what = label.partition(" ")
        if where == EVENT:
            for machine in self._machines.values():
                if any(r.kind is Kind.EVENT and r.label == what for r in machine.enabled()):
                    machine.happen(what)
            return
        sender, receiver = where.split(">")
        tag, _, fate = what.lstrip("+-").partition(" ")
        if not what.startswith("-"):
            _send(self._machines[sender], tag, receiver)
        if what.startswith("+"):
            self._put((sender, receiver), tag, lost=fate == "lost")
        else:
            if what.startswith("-"):
                self._deliver((sender, receiver), tag, kept=fate == "kept")
            self._machines[receiver].receive(tag, sender)

    def compare(self, configuration: Configuration) -> None:
        """An `AssertionError` where the machines or the buffers are somewhere else."""
        at = tuple(machine.state for machine in self._machines.values())
        reached = Configuration(at, tuple(self._buffers.values()))
        if reached != configuration:
            raise AssertionError(f"the machines are at {reached}, the model at {configuration}")

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


def _send(machine: Machine, tag: str, partner: str) -> None:
    """Send `tag` by its row; where a guard allows it, that guard is true."""
    row = machine.automaton.sends(machine.state, tag, partner)
    guard = None if row is None else row.guard
    if guard is None:
        machine.fire(sending(tag, partner))
    else:
        machine.fire(DECIDE, one_hot(guard, machine.automaton.guards_of(machine.state)))


def _state(state: Noted | int) -> int:
    return state.state if isinstance(state, Noted) else state
