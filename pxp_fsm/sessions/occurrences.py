"""What happens in a session of a system, as it is stored, and what its channel does amiss."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pxp_fsm.automata.actions import Deliver, Exchange, Send, SystemAction
from pxp_fsm.automata.system import System
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.protocol.relations import Judgement
from pxp_fsm.sessions.live import Letter, LiveSystem


@dataclass(frozen=True, slots=True)
class Faults:
    """How often a faulty channel loses a message, or delivers it again: probabilities, 0 to 1.

    A lossy channel loses what finds its buffer full in any case.

    >>> import pxp_fsm as pxp
    >>> pxp.Faults(loss=0.5)
    Faults(loss=0.5, duplication=0.1)
    """

    loss: float = 0.1
    duplication: float = 0.1

    def __str__(self) -> str:
        return f"loss {self.loss}, duplication {self.duplication}"

    def __post_init__(self) -> None:
        for name in ("loss", "duplication"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise UsageError(f"{name} is a probability from 0 to 1, not {quoted(value)}")


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An action that happened in a session, by its number from 1.

    `guard` is the one that was true for it. `letter` is the message that was sent, lost, delivered
    or chosen (its number is that of the action that sent it, or will). `memory` is what the member
    that decided it remembers from then on, as JSON; "" is what it did before.
    """

    number: int
    action: SystemAction
    guard: str = ""
    letter: Letter | None = None
    memory: str = ""
    judgements: tuple[Judgement, ...] = ()


def occurrences_of(system: System, actions: Iterable[SystemAction]) -> tuple[Occurrence, ...]:
    """A trace as what would be stored of it, without payloads; the oldest letter is delivered.

    Raises `Refused` where an action cannot happen.
    """
    live, found = LiveSystem(system), list[Occurrence]()
    for number, action in enumerate(actions, 1):
        letter = None
        if isinstance(action, Exchange | Send):
            letter = Letter(number, action.sender, action.receiver, action.tag)
        elif isinstance(action, Deliver):
            letter = next(iter(live.offered(action)), None)
        live.take(action, letter)
        found.append(Occurrence(number, action, letter=letter))
    return tuple(found)
