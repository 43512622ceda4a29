"""The decision functions of the protocols: category, guard, turn, stop. Pure, written once.

A session calls these functions with what its agents' relations said; the checker calls the same
functions with every value that they could have said. Sources: arXiv 2410.20600, Procedures 1-2
(INTERACT); arXiv 2301.01819 as cited there (PXP).
"""

from __future__ import annotations

from enum import StrEnum

from pxp_fsm.errors import UsageError
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


def interact_depends_on_change(found: Category, number: int, k: int) -> bool:
    """Whether message `number`'s guard depends on Changed at all (it need not be asked else)."""
    return found in (Category.B, Category.C) or (found is Category.D and number <= k)


def interact_guard(found: Category, changed: bool, number: int, k: int) -> Guard:
    """The guard that INTERACT makes true at message `number` (j >= 2), with REJECT after k."""
    if found is Category.A:
        return Guard.RAT
    if found is Category.D and number > k:
        return Guard.REJ
    return Guard.REV if changed else Guard.REF


def pxp_depends_on_learning(found: Category) -> bool:
    """Whether an agent LEARNs from the message before it answers (B and C do, A and D do not)."""
    return found in (Category.B, Category.C)


def pxp_guard(found: Category, reconciled: bool) -> Guard:
    """The guard that PXP makes true.

    `reconciled` is g' of arXiv 2301.01819: after learning, MATCH and AGREE hold between one's new
    pair and the received one. It is not looked at in categories A and D.
    """
    if found is Category.A:
        return Guard.RAT
    if found is Category.D:
        return Guard.REJ
    return Guard.REV if reconciled else Guard.REF


def initiator_speaks(number: int) -> bool:
    """Whether message `number` is the initiator's: the two alternate, and it has the first."""
    return number % 2 == 1


def stops(tag: str, previous: str) -> bool:
    """INTERACT's Stop after a message with `tag`, when the peer's latest was `previous`."""
    return tag == Tag.REJECT or (tag == Tag.RATIFY and previous == Tag.RATIFY)


def done(sent: int, n: int, stopped: bool) -> bool:
    """INTERACT's Done after `sent` messages of at most `n`."""
    return stopped or sent + 1 > n


def repeats(received: str, answer: str) -> bool:
    """Whether answering `received` with `answer` takes a self-loop on that tag."""
    return received == answer and answer not in (Tag.INIT, Tag.TERM)


def exhausted(loops: int, k: int | None) -> bool:
    """PXP(k): whether one more self-loop on a tag that was taken `loops` times is too many."""
    return k is not None and loops >= k


def concluded(received: str, own: str) -> bool:
    """PXP's default policy for TERM: a RATIFY or REJECT came that one has oneself already sent.

    `own` is the tag of one's own latest message, to which `received` is the answer in kind.
    """
    return received == own and received in (Tag.RATIFY, Tag.REJECT)


def check_bounds(n: int, k: int) -> None:
    """Raise `UsageError` unless n >= 1 and k >= 1 (arXiv 2410.20600, Procedure 1)."""
    check_bound(n, "n is the largest number of messages, so")
    check_bound(k, "k is the message after which REJECT is allowed,")


def check_bound(value: int, meaning: str) -> None:
    """Raise `UsageError` unless `value` is a whole number of at least 1."""
    if isinstance(value, bool | float | str):
        raise UsageError(f"{meaning} at least 1, a whole number; it was {value!r}")
    if value < 1:
        raise UsageError(f"{meaning} at least 1; it was {value}")
