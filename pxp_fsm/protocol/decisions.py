"""Categories, guards, turns, the policy of TERM, and which bounds there are.

What decides and stops is in the tables (`pxp_fsm.automata.rules`). Sources: arXiv 2410.20600,
Procedures 1-2 (INTERACT); arXiv 2301.01819v2, Definition 5 and Table 4, as cited (PXP).
"""

from __future__ import annotations

from enum import StrEnum

from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.protocol.messages import Tag


class Category(StrEnum):
    """How a received pair compares with one's own: A both, B y only, C e only, D neither."""

    A = "A"
    B = "B"
    C = "C"
    D = "D"


class Guard(StrEnum):
    """The four guards of which exactly one is true when an agent must answer."""

    RAT = "RAT"
    REF = "REF"
    REV = "REV"
    REJ = "REJ"


GUARDS = tuple(Guard)
"""The guards in the order of the table's rows."""


def category(match: bool, agree: bool) -> Category:
    """The category of a received pair: `match` is MATCH(y', y''), `agree` is AGREE(e', e'')."""
    if match:
        return Category.A if agree else Category.B
    return Category.C if agree else Category.D


def initiator_speaks(number: int) -> bool:
    """Whether message `number` is the initiator's: the two alternate, and it has the first."""
    return number % 2 == 1


def concluded(received: str, own: str) -> bool:
    """PXP's default policy for TERM: a RATIFY or REJECT came that one has oneself already sent.

    `own` is the tag of one's own latest message, to which `received` is the answer in kind.
    """
    return received == own and received in (Tag.RATIFY, Tag.REJECT)


def check_bounds(n: object, k: object) -> None:
    """Raise `UsageError` unless n >= 1 and k >= 1 (arXiv 2410.20600, Procedure 1)."""
    check_bound(n, "n is the largest number of messages, so")
    check_bound(k, "k is the message after which REJECT is allowed,")


def check_bound(value: object, meaning: str) -> None:
    """Raise `UsageError` unless `value` is exactly an `int` of at least 1.

    No subclass, fraction or NumPy number either: what is proved is proved of whole numbers, and
    nobody knows what others do.
    """
    if type(value) is not int:
        refused = f"{quoted(value)} ({type(value).__name__})"
        raise UsageError(f"{meaning} at least 1, a whole number (an int); it was {refused}")
    if value < 1:
        raise UsageError(f"{meaning} at least 1; it was {value}")
