"""Whether each tag is the one that the recorded judgements lead to, and each pair the due one."""

from __future__ import annotations

from collections.abc import Iterator

from proofs.audit.findings import Finding, Kind
from proofs.audit.recording import Judged, Recording, Said
from pxp_fsm.decisions import Guard
from pxp_fsm.messages import Tag
from pxp_fsm.rules import Interact, Rules

TAGS = {Guard.RAT: "RATIFY", Guard.REF: "REFUTE", Guard.REV: "REVISE", Guard.REJ: "REJECT"}
"""The tag that each guard names, in the tables of both protocols."""


def wrong_answers(recording: Recording, rules: Rules) -> Iterator[Finding]:
    """Tags against their judgements, judgements of other texts, pairs that should not change.

    Looked at are agents whose guards follow from their relations, at messages with answers of
    MATCH and AGREE. Where Changed was not asked, the agent never revises.
    """
    for number, said in enumerate(recording.said, start=1):
        if number == 1 or said.tag == Tag.TERM:
            continue
        own = recording.said[number - 3] if number > 2 else None
        if not isinstance(rules, Interact) and own is not None:
            yield from _kept(number, said, own)
        if not recording.derived[0 if said.initiator else 1]:
            continue
        judged = [one for one in said.judged if one.relation in ("MATCH", "AGREE")]
        if len(judged) < 2 or any(one.held is None for one in judged):
            continue
        yield from _tagged(rules, number, said.tag, judged)
        yield from _asked(rules, number, said, recording.said[number - 2], own, judged)


def _kept(number: int, said: Said, own: Said) -> Iterator[Finding]:
    pair, before = (said.prediction, said.explanation), (own.prediction, own.explanation)
    if said.tag in (Tag.RATIFY, Tag.REJECT) and pair != before:
        yield Finding(Kind.PAIR, number, f"{said.tag} with another pair than message {number - 2}")


def _tagged(rules: Rules, number: int, tag: str, judged: list[Judged]) -> Iterator[Finding]:
    match, agree, *rest = (bool(one.held) for one in judged)
    found = rules.functions.category(match, agree)
    revises = False
    if rules.depends_on_revision(found, number) and rest:
        revises = all(rest) if not rules.asks_each_time else not all(rest)
    due = TAGS[rules.guard(found, revises, number)]
    if tag != due:
        what = f"{tag}, where category {found} makes it {due}"
        yield Finding(Kind.TAG, number, what, possible=(due,))


def _asked(
    rules: Rules, number: int, said: Said, received: Said, own: Said | None, judged: list[Judged]
) -> Iterator[Finding]:
    """Whether what was compared is what was received with one's own, then the new with its due.

    What PXP compares of message 2 was not sent where the agent has learned; it is not looked at.
    """
    each = rules.asks_each_time
    learned = not each and said.tag in (Tag.REFUTE, Tag.REVISE)
    mine = own if own is not None else (None if learned else said)
    second = (own or said) if each else received
    due = [(received, mine)] * 2 + [(said, second) if each or learned else (None, None)] * 2
    for place, (one, (left, right)) in enumerate(zip(judged, due, strict=False)):
        wanted = "MATCH" if place % 2 == 0 else "AGREE"
        texts = (one.left, left), (one.right, right)
        if one.relation != wanted or any(
            side is not None
            and text != (side.prediction if wanted == "MATCH" else side.explanation)
            for text, side in texts
        ):
            yield Finding(Kind.QUESTION, number, f"question {place + 1} to {one.relation}")
            return
