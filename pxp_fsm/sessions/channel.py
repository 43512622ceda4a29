"""The channel between two machines: it delivers a message, or refuses it without any effect.

Synchronous by default: sending and receiving are one step, as in the proofs. With a capacity it
is a bounded FIFO queue each way: sending moves the sender, delivering moves the receiver. What the
receiver cannot take is then known only on delivery, since it may have moved meanwhile: it is an
unspecified reception, refused there, and the message stays at the head of the queue.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NoReturn

from pxp_fsm.automata.automaton import Event, Valuation, one_hot, sending
from pxp_fsm.automata.channels import Channel as Behaviour
from pxp_fsm.automata.soundness import check_peers
from pxp_fsm.errors import PXPError, Refused, UsageError, quoted
from pxp_fsm.protocol.messages import Message, answer_problem
from pxp_fsm.sessions.machine import Machine

Store = Callable[[Message], None]


class Channel:
    """Connects the machines of two named agents in one session.

    >>> import pxp_fsm as pxp
    >>> table = pxp.load_automaton("interact")
    >>> m, h = pxp.Machine(table), pxp.Machine(table)
    >>> channel = pxp.Channel("talk", {"m": m, "h": h})
    >>> channel.carry(pxp.Message("talk", 1, "m", "INIT", pxp.Answer("", ""), "h"))
    >>> m.state, h.state
    ('WAIT', 'DECIDE')

    `ends` maps each agent's name to its machine. Raises `TableError` where one of them sends what
    the other receives in no state, `UsageError` where there are not two.
    """

    def __init__(self, session: str, ends: dict[str, Machine], capacity: int = 0) -> None:
        if len(ends) != 2:
            raise UsageError(f"a channel joins two agents of different names, not {len(ends)}")
        self.session = session
        self._ends = dict(ends)
        self._behaviour = Behaviour(capacity)
        self._queues: dict[str, deque[Message]] = {name: deque() for name in ends}
        self._sent = 0
        left, right = ends.values()
        check_peers(left.automaton, right.automaton)

    def carry(
        self,
        message: Message,
        valuation: Valuation | None = None,
        store: Store | None = None,
    ) -> None:
        """Check `message`, `store` it, and only then move the machines.

        `valuation` is what the sender's guards said; without one (a message from outside, or a
        replay) the guard of the row that sends the tag counts as the true one.

        Raises `Refused`, with the reason, for anything the session or the two automata do not
        allow; and whatever `store` raises. In either case nothing has moved.
        """
        event, taken = self._check(message, valuation)
        if store is not None:
            store(message)
        self._ends[message.sender].fire(event, taken)
        self._sent += 1
        self._queues[message.receiver].append(message)
        if self._behaviour.synchronous:
            self.deliver(message.receiver)

    def deliver(self, name: str) -> Message | None:
        """Move the receiver `name` by the oldest message on its way to it; None if there is none.

        Raises `Refused` where the receiver cannot take it (an unspecified reception).
        """
        if name not in self._queues:
            raise UsageError(
                f"there is no agent {name!r} here; there are {', '.join(self._queues)}"
            )
        queue = self._queues[name]
        if not queue:
            return None
        machine = self._ends[name]
        self._check_reception(machine, queue[0])
        machine.receive(queue[0].tag, queue[0].sender)
        return queue.popleft()

    def withdrawing(self) -> Callable[[], None]:
        """A function that takes machines and queues back to where they are now."""
        sent, states = self._sent, {name: end.state for name, end in self._ends.items()}
        queues = {name: tuple(queue) for name, queue in self._queues.items()}

        def withdraw() -> None:
            self._sent = sent
            for name, machine in self._ends.items():
                machine.return_to(states[name])
                self._queues[name] = deque(queues[name])

        return withdraw

    def _check(
        self, message: Message, valuation: Valuation | None
    ) -> tuple[Event, Valuation | None]:
        self._check_envelope(message)
        machine = self._ends[message.sender]
        row = machine.automaton.sends(machine.state, message.tag, message.receiver)
        if row is None:
            allowed = [t.label for t in machine.enabled() if t.kind.value == "+"]
            self._refuse(
                message,
                f"{message.sender} is in state {machine.state}, in which it sends "
                f"{', '.join(allowed) or 'nothing'}",
            )
        if row.guard is None:
            event, taken = sending(message.tag, message.receiver), None
        else:
            event = row.event
            taken = valuation
            if taken is None:
                taken = one_hot(row.guard, machine.automaton.guards_of(machine.state))
            try:
                decided = machine.automaton.step(machine.state, event, taken)
            except PXPError as error:
                self._refuse(message, str(error))
            if decided.label != message.tag:
                self._refuse(message, f"the guards of {message.sender} say {decided.label}")
        waiting = tuple(each.tag for each in self._queues[message.receiver])
        if self._behaviour.synchronous:
            self._check_reception(self._ends[message.receiver], message)
        elif not any(self._behaviour.after_sending(waiting, message.tag)):
            self._refuse(message, f"{len(waiting)} messages are on their way already")
        return event, taken

    def _check_envelope(self, message: Message) -> None:
        """Everything about a message that no automaton is needed for."""
        if message.session != self.session:
            self._refuse(message, f"this channel belongs to session {self.session!r}")
        if type(message.number) is not int or message.number != self._sent + 1:
            self._refuse(message, f"the next message is number {self._sent + 1}")
        if not isinstance(message.sender, str) or message.sender not in self._ends:
            self._refuse(message, f"the agents here are {', '.join(self._ends)}")
        others = [name for name in self._ends if name != message.sender]
        if message.receiver not in others:
            self._refuse(message, "the receiver must be the other agent of this channel")
        problem = answer_problem(message.answer)
        if problem is not None:
            self._refuse(message, problem)
        if not isinstance(message.tag, str):
            self._refuse(message, "a tag is text")

    def _check_reception(self, machine: Machine, message: Message) -> None:
        if machine.automaton.receives(machine.state, message.tag, message.sender) is None:
            taken = [t.label for t in machine.enabled() if t.kind.value == "-"]
            self._refuse(
                message,
                f"{message.receiver} is in state {machine.state}, in which it takes "
                f"{', '.join(taken) or 'nothing'}",
            )

    def _refuse(self, message: Message, reason: str) -> NoReturn:
        raise Refused(
            f"message {quoted(message.number)} ({quoted(message.tag)} from "
            f"{quoted(message.sender)}) "
            f"was refused: {reason}"
        )
