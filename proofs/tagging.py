"""Claims about the definitions of intelligibility themselves, for sequences of any length.

A definition is written as a predicate on the set of tags that an agent sent and as an automaton
that reads them one by one. Both agents' tags are read by every automaton at once; the sets that
have been sent are finitely many, so what is explored is every sequence there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NamedTuple

from proofs.actions import Say
from proofs.explore import Space, explore
from proofs.model import Step
from proofs.properties import always
from proofs.saying import Check
from proofs.sessions import AGENTS, SessionModel, State
from proofs.verdicts import Verdict
from pxp_fsm.intelligibility import DEFINITIONS, ONE_WAY, STRONG, ULTRA_STRONG, two_way
from pxp_fsm.messages import Answer, Message, Tag

_READ = (Tag.RATIFY, Tag.REFUTE, Tag.REVISE, Tag.REJECT)
_NAMES = tuple(DEFINITIONS)


class Read(NamedTuple):
    """What each agent has sent, and where each definition's automaton is, agent by agent."""

    sent: tuple[frozenset[str], frozenset[str]]
    at: tuple[tuple[str, ...], tuple[str, ...]]


class Tags:
    """The model: two agents that send any of the four tags that count, in any order."""

    name = "any tags"

    def initial(self) -> Iterable[Read]:
        start = tuple(next(iter(DEFINITIONS[name].moves)) for name in _NAMES)
        yield Read((frozenset(), frozenset()), (start, start))

    def successors(self, state: Read) -> Iterator[Step[Read]]:
        for agent, name in enumerate(AGENTS):
            for place, tag in enumerate(_READ):
                sent, at = list(state.sent), list(state.at)
                sent[agent] |= {str(tag)}
                at[agent] = tuple(
                    DEFINITIONS[d].moves[where][place]
                    for d, where in zip(_NAMES, at[agent], strict=True)
                )
                yield Step(Say(name, tag), Read((sent[0], sent[1]), (at[0], at[1])))

    def propositions(self, state: Read) -> frozenset[str]:
        return frozenset(
            f"{name}:{d}"
            for agent, name in enumerate(AGENTS)
            for d in _NAMES
            if DEFINITIONS[d].holds(state.sent[agent])
        )


@cache
def _space() -> Space[Read]:
    return explore(Tags())


def _each(holds: Callable[[frozenset[str]], bool]) -> Check:
    """Something is so of the tags that an agent has sent, whichever they are."""
    return _of(lambda state: all(map(holds, state.sent)))


def _of(holds: Callable[[Read], bool]) -> Check:
    def check(_model: SessionModel, _sessions: Space[State]) -> Verdict:
        found = always(_space(), holds)
        return Verdict(found.status, ", ".join(found.trace.labels) if found.trace else "")

    return check


def _read_alike(state: Read) -> bool:
    """Each automaton accepts what its predicate says."""
    return all(
        DEFINITIONS[name].holds(sent) is (where in DEFINITIONS[name].accepting)
        for sent, at in zip(state.sent, state.at, strict=True)
        for name, where in zip(_NAMES, at, strict=True)
    )


def _both_one_way(state: Read) -> bool:
    return two_way(_messages(state), *AGENTS) is all(map(ONE_WAY.holds, state.sent))


def _messages(state: Read) -> list[Message]:
    """Messages with the tags that have been sent."""
    sent = [(agent, tag) for agent in (0, 1) for tag in sorted(state.sent[agent])]
    return [
        Message("tags", number, AGENTS[agent], tag, Answer("y", "e"), AGENTS[1 - agent])
        for number, (agent, tag) in enumerate(sent, start=1)
    ]


STATEMENTS: tuple[tuple[str, str, Check], ...] = (
    (
        "ultra-is-strong",
        "whoever is Ultra-Strong is Strong, in any session whatever",
        _each(lambda sent: STRONG.holds(sent) or not ULTRA_STRONG.holds(sent)),
    ),
    (
        "strong-is-one-way",
        "a session that is Strong for an agent is one-way intelligible for it",
        _each(lambda sent: ONE_WAY.holds(sent) or not STRONG.holds(sent)),
    ),
    (
        "two-way-is-both",
        "a session is two-way intelligible just where it is one-way for both agents",
        _of(_both_one_way),
    ),
    (
        "read-alike",
        "each definition says the same as a predicate and as an automaton",
        _of(_read_alike),
    ),
)
"""Name, title and check of each."""
