"""Consistency of recorded judgements with a tolerance or an equivalence.

A recorded set of answers about pairs of texts extends to a tolerance that both agents share just
where no pair, in either order, was answered in two ways, and no text was judged unlike itself. It
extends to an equivalence just where, besides, no pair that was answered no is linked by pairs that
were answered yes. Both conditions are necessary at once and sufficient by taking the answered
pairs, or the classes that they link, as the relation; so nothing is missed and nothing is guessed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from proofs.audit.findings import Answer, Finding, Kind, Recording
from proofs.sessions.model import AGENTS
from pxp_fsm.protocol.messages import Tag


class Given(NamedTuple):
    """An answer with whose it is, at which message; `implied` where its tag alone tells it."""

    number: int
    agent: int
    relation: str
    left: str
    right: str
    held: bool
    implied: bool = False


def given(recording: Recording) -> list[Given]:
    """Every answer that was given, in order; judges that gave none are left out.

    Where none is recorded, the tag was named by somebody. A RATIFY then stands for yes, and a
    REJECT for no, of both relations; REFUTE and REVISE stand for one of several, and for nothing
    here.
    """
    found = []
    for number, said in enumerate(recording.said, start=1):
        agent = 0 if said.initiator else 1
        for one in said.judged:
            if one.held is not None:
                found.append(Given(number, agent, one.relation, one.left, one.right, one.held))
        if number > 1 and not said.judged and said.tag in (Tag.RATIFY, Tag.REJECT):
            got, own = (
                recording.said[number - 2],
                recording.said[number - 3] if number > 2 else said,
            )
            held = said.tag == Tag.RATIFY
            sides = ("MATCH", got.prediction, own.prediction), (
                "AGREE", got.explanation, own.explanation,
            )  # fmt: skip
            found += [Given(number, agent, *side, held, True) for side in sides]
    after = len(recording.said) + 1
    for one in recording.closing:
        if one.held is not None:
            agent = 1 if recording.said and recording.said[-1].initiator else 0
            found.append(Given(after, agent, one.relation, one.left, one.right, one.held))
    return found


def contradictions(recording: Recording) -> Iterator[Finding]:
    """Everything in a session's answers that no tolerance, or no equivalence, can have said.

    Each pair that was answered in two ways is told once a relation, by its first two answers that
    differ; a chain is a shortest one.
    """
    answers = given(recording)
    for relation in dict.fromkeys(one.relation for one in answers):
        own = [one for one in answers if one.relation == relation]
        where = _places(recording, relation)
        yield from _differing(own, where)
        yield from _chains(own, where)


def _differing(answers: Iterable[Given], where: Mapping[str, int]) -> Iterator[Finding]:
    """Texts unlike themselves, and pairs answered in two ways."""
    first: dict[tuple[str, str], list[Given]] = {}
    told = set[tuple[str, str]]()
    for one in answers:
        if one.left == one.right:
            pair = (one.left, one.right)
            if not one.held and pair not in told:
                told.add(pair)
                shown = _shown(one, where)
                yield Finding(Kind.ITSELF, one.number, _agent(one), (shown,))
            continue
        pair = (min(one.left, one.right), max(one.left, one.right))
        before = first.setdefault(pair, [])
        other = next((known for known in before if known.held is not one.held), None)
        before.append(one)
        if other is None or pair in told:
            continue
        told.add(pair)
        evidence = _shown(other, where), _shown(one, where)
        if one.agent != other.agent:
            yield Finding(Kind.APART, one.number, "both agents", evidence)
        elif one.left == other.left:
            yield Finding(Kind.TWICE, one.number, _agent(one), evidence)
        else:
            yield Finding(Kind.MIRROR, one.number, _agent(one), evidence)


def _chains(answers: Iterable[Given], where: Mapping[str, int]) -> Iterator[Finding]:
    """Pairs answered no whose texts are linked by yes; pairs answered both ways are told apart."""
    yes: dict[str, dict[str, Given]] = {}
    refused: dict[tuple[str, str], Given] = {}
    for one in answers:
        if one.held:
            yes.setdefault(one.left, {}).setdefault(one.right, one)
            yes.setdefault(one.right, {}).setdefault(one.left, one)
        elif one.left != one.right:
            refused.setdefault((min(one.left, one.right), max(one.left, one.right)), one)
    for one in refused.values():
        path = _path(yes, one.left, one.right)
        if len(path) > 1:
            links = tuple(_shown(link, where) for link in path)
            number = max(link.number for link in (*path, one))
            what = f"{len(path) + 1} texts in a row"
            yield Finding(Kind.CHAIN, number, what, (*links, _shown(one, where)))


def _path(yes: Mapping[str, Mapping[str, Given]], start: str, end: str) -> tuple[Given, ...]:
    """A shortest way of yes from one text to another; empty where there is none."""
    came: dict[str, Given | None] = {start: None}
    waiting = deque([start])
    while waiting and end not in came:
        text = waiting.popleft()
        for following, link in yes.get(text, {}).items():
            if following not in came:
                came[following] = link
                waiting.append(following)
    found, at, step = list[Given](), end, came.get(end)
    while step is not None:
        found.append(step)
        at = step.left if step.right == at else step.right
        step = came[at]
    return tuple(reversed(found))


def _places(recording: Recording, relation: str) -> dict[str, int]:
    """The first message that carries each text that the relation is about."""
    found: dict[str, int] = {}
    for number, said in enumerate(recording.said, start=1):
        found.setdefault(said.prediction if relation == "MATCH" else said.explanation, number)
    return found


def _shown(one: Given, where: Mapping[str, int]) -> Answer:
    left, right = where.get(one.left, 0), where.get(one.right, 0)
    return Answer(one.number, _agent(one), one.relation, left, right, one.held, one.implied)


def _agent(one: Given) -> str:
    return AGENTS[one.agent]
