"""The papers' procedures as functions: what the rules of the tables must come to.

Sources: arXiv 2410.20600, Procedures 1-2 (INTERACT); arXiv 2301.01819v2, Definition 5 and Table 4,
as cited (PXP).
"""

from __future__ import annotations

from collections.abc import Sequence

from pxp_fsm.protocol.decisions import Category, Guard, category
from pxp_fsm.protocol.messages import Tag
from pxp_fsm.protocol.rules import AGREE, CATEGORY, MATCH, Comparison, Interact, Role, Rules


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


def depends_on_revision(rules: Rules, found: Category, number: int) -> bool:
    """Whether the guard depends on what an agent would send now."""
    if isinstance(rules, Interact):
        return interact_depends_on_change(found, number, rules.k)
    return pxp_depends_on_learning(found)


def derived(
    rules: Rules, number: int, answers: Sequence[bool], *, revises: bool = True
) -> Comparison | Guard:
    """What is compared next for message `number` after these `answers`, or the guard."""
    is_interact = isinstance(rules, Interact)
    if len(answers) < 2:
        return Comparison((MATCH, AGREE)[len(answers)], *CATEGORY)
    match, agree, *revision = answers
    found, changes = category(match, agree), False
    if revises and depends_on_revision(rules, found, number):
        if all(revision) and len(revision) < 2:
            pair = Role.NEW, Role.OWN if is_interact else Role.RECEIVED
            return Comparison((MATCH, AGREE)[len(revision)], *pair)
        changes = all(revision) is not is_interact
    if isinstance(rules, Interact):
        return interact_guard(found, changes, number, rules.k)
    return pxp_guard(found, changes)
