"""The channel between two agents: it carries a message, or refuses it without any effect.

It is a running system of two (`LiveSystem`) whose letters are messages. What it adds is what no
table knows: the session, the number, both names, the answer, and what the guards said.

Synchronous by default: sending and receiving are one step, as in the proofs. With a capacity it
is a bounded FIFO queue each way: sending moves the sender, delivering moves the receiver. What the
receiver cannot take is then known only on delivery, since it may have moved meanwhile: it is an
unspecified reception, refused there, and the message stays at the head of the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import NoReturn

from pxp_fsm.automata.actions import Deliver, Exchange, External, Send
from pxp_fsm.automata.automaton import DECIDE, Automaton, Transition, Valuation, happening
from pxp_fsm.automata.channels import Channel as Behaviour
from pxp_fsm.automata.soundness import check_peers
from pxp_fsm.automata.system import Member, System
from pxp_fsm.errors import PXPError, Refused, UsageError, quoted
from pxp_fsm.protocol.messages import Message, answer_problem
from pxp_fsm.sessions.live import Letter, LiveSystem
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

    def __init__(self, session: str, ends: Mapping[str, Machine], capacity: int = 0) -> None:
        if len(ends) != 2:
            raise UsageError(f"a channel joins two agents of different names, not {len(ends)}")
        self.session = session
        pair = _pair(tuple((name, end.automaton) for name, end in ends.items()), capacity)
        self._live = LiveSystem(pair, ends)
        self._sent = 0
        self._under_way: dict[int, Message] = {}

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
        self._check_envelope(message)
        number, sender, tag, receiver = (
            message.number,
            message.sender,
            message.tag,
            message.receiver,
        )
        meets = self._live.system.channel.synchronous
        action = Exchange(sender, receiver, tag) if meets else Send(sender, receiver, tag)
        if valuation is not None:
            self._check_guards(message, valuation)
        letter = Letter(number, sender, receiver, tag)
        storing = None if store is None else partial(store, message)
        self._live.take(action, letter, storing, partial(_called, message))
        self._sent += 1
        if not meets:
            self._under_way[number] = message

    def deliver(self, name: str) -> Message | None:
        """Move the receiver `name` by the oldest message on its way to it; None if there is none.

        Raises `Refused` where the receiver cannot take it (an unspecified reception).
        """
        if name not in self._live.machines:
            there = ", ".join(self._live.machines)
            raise UsageError(f"there is no agent {name!r} here; there are {there}")
        (sender,) = (other for other in self._live.machines if other != name)
        letters = self._live.letters.get((sender, name))
        if not letters:
            return None
        message = self._under_way[letters[0].number]
        what = partial(_called, message)
        self._live.take(Deliver(sender, name, message.tag), letters[0], None, what)
        return self._under_way.pop(message.number)

    def close(self, event: str) -> None:
        """Let the event from outside bring both agents to their end, where TERM has not.

        Raises `NotEnabled`, and moves neither, where one of them has no row for it.
        """
        open_ends = [end for end in self._live.machines.values() if not end.ended]
        for end in open_ends:
            end.automaton.step(end.state, happening(event))
        if open_ends:
            self._live.take(External(event))

    def withdrawing(self) -> Callable[[], None]:
        """A function that takes machines and messages back to where they are now."""
        sent, under_way, back = self._sent, dict(self._under_way), self._live.withdrawing()

        def withdraw() -> None:
            self._sent, self._under_way = sent, dict(under_way)
            back()

        return withdraw

    def _check_guards(self, message: Message, valuation: Valuation) -> None:
        """Refuse a message of which the guards of a state that decides say something else."""
        machine = self._live.machines[message.sender]
        row = machine.automaton.sends(machine.state, message.tag, message.receiver)
        if row is None or row.guard is None:
            return
        try:
            decided = machine.automaton.step(machine.state, DECIDE, valuation)
        except PXPError as error:
            self._refuse(message, str(error))
        if decided != row:
            self._refuse(message, f"the guards of {message.sender} say {decided.label}")

    def _check_envelope(self, message: Message) -> None:
        """Everything about a message that no automaton is needed for."""
        names = self._live.machines
        if message.session != self.session:
            self._refuse(message, f"this channel belongs to session {self.session!r}")
        if type(message.number) is not int or message.number != self._sent + 1:
            self._refuse(message, f"the next message is number {self._sent + 1}")
        if not isinstance(message.sender, str) or message.sender not in names:
            self._refuse(message, f"the agents here are {', '.join(names)}")
        if message.receiver not in [name for name in names if name != message.sender]:
            self._refuse(message, "the receiver must be the other agent of this channel")
        problem = answer_problem(message.answer)
        if problem is not None:
            self._refuse(message, problem)
        if not isinstance(message.tag, str):
            self._refuse(message, "a tag is text")

    def _refuse(self, message: Message, reason: str) -> NoReturn:
        raise Refused(f"{_called(message)} was refused: {reason}")


class _Pair(System):
    """Two agents that talk. Any printable text is a name here, for nothing of it is exported."""

    def __post_init__(self) -> None:
        left, right = self.members
        check_peers(left.automaton, right.automaton)

    def _partners_of(self, place: int, row: Transition) -> tuple[int, ...]:
        known = row.partner in ("", *self.places)
        return super()._partners_of(place, row) if known else ()


@lru_cache(maxsize=128)
def _pair(ends: tuple[tuple[str, Automaton], ...], capacity: int) -> _Pair:
    return _Pair(tuple(Member(*end) for end in ends), Behaviour(capacity))


def _called(message: Message) -> str:
    return f"message {quoted(message.number)} ({quoted(message.tag)} from {quoted(message.sender)})"
