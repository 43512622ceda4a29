"""The intelligibility of a session, inferred from the tags that were sent.

T_XY is the tags that X sent to Y, with INIT and TERM left out. Each definition is written here
twice, as a predicate on the set of tags in T_XY and as a finite automaton that reads T_XY tag by
tag; `backends.databases` has them as SQL. The tests hold the three together.

Sources: arXiv 2410.20600, Definitions 1 and 2; section 4.2 for the variant without the second
clause; arXiv 2301.01819v2, Remark 6, for definitions of a system. An agent that sent none of the
four tags is in no class: "every element of T" is not granted where there is no element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from pxp_fsm.errors import UsageError, quoted, require_extra
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.messages import Message, Tag

if TYPE_CHECKING:
    from automata.fa.dfa import DFA

ALPHABET = tuple(str(tag) for tag in Tag)
"""The tags that the automata read."""

_UNCOUNTED = frozenset({Tag.INIT, Tag.TERM})
_ACCEPTING = frozenset({Tag.RATIFY, Tag.REVISE})


def require_automata() -> None:
    """Raise `UsageError` without the extra `audit`: sequences of tags are its automata."""
    require_extra("audit", "a set of tag sequences", {"automata": "automata-lib"})


@dataclass(frozen=True)
class Definition:
    """A class of sessions for one agent X.

    `holds` takes the set of tags in T_XY; `moves` is the automaton: for each state the state after
    each of RATIFY, REFUTE, REVISE, REJECT (INIT and TERM stay). The first state is initial.
    """

    name: str
    about: str
    holds: Callable[[frozenset[str]], bool]
    moves: Mapping[str, tuple[str, str, str, str]]
    accepting: frozenset[str]

    def automaton(self) -> DFA:
        """The definition as an automaton over `ALPHABET`, read as lists of tags."""
        return self._dfa({tag: tag for tag in ALPHABET}, ())

    def automaton_for(self, agent: str, agents: Sequence[str]) -> DFA:
        """The same over `AGENT:TAG` symbols of a whole session; only `agent`'s tags move it."""
        others = tuple(f"{a}:{tag}" for a in agents if a != agent for tag in ALPHABET)
        return self._dfa({tag: f"{agent}:{tag}" for tag in ALPHABET}, others)

    def _dfa(self, symbols: Mapping[str, str], ignored: tuple[str, ...]) -> DFA:
        require_automata()
        from automata.fa.dfa import DFA

        read = (Tag.RATIFY, Tag.REFUTE, Tag.REVISE, Tag.REJECT)
        transitions = {}
        for state, targets in self.moves.items():
            row = dict.fromkeys((*symbols.values(), *ignored), state)
            row.update({symbols[tag]: target for tag, target in zip(read, targets, strict=True)})
            transitions[state] = row
        return DFA(
            states=set(self.moves),
            input_symbols={*symbols.values(), *ignored},
            transitions=transitions,
            initial_state=next(iter(self.moves)),
            final_states=set(self.accepting),
        )


def _one_way(tags: frozenset[str]) -> bool:
    return bool(tags & _ACCEPTING) and Tag.REJECT not in tags


def _one_way_any(tags: frozenset[str]) -> bool:
    return bool(tags & _ACCEPTING)


def _strong(tags: frozenset[str]) -> bool:
    return bool(tags) and tags <= _ACCEPTING


def _ultra_strong(tags: frozenset[str]) -> bool:
    return _strong(tags) and Tag.REVISE in tags


ONE_WAY = Definition(
    "one_way",
    "sent RATIFY or REVISE, and no REJECT",
    _one_way,
    {
        "none": ("some", "none", "some", "rejected"),
        "some": ("some", "some", "some", "rejected"),
        "rejected": ("rejected",) * 4,
    },
    frozenset({"some"}),
)
ONE_WAY_ANY = Definition(
    "one_way_any",
    "sent RATIFY or REVISE (variant of arXiv 2410.20600, section 4.2, which lets a REJECT pass)",
    _one_way_any,
    {"none": ("some", "none", "some", "none"), "some": ("some",) * 4},
    frozenset({"some"}),
)
STRONG = Definition(
    "strong",
    "sent at least one tag, and only RATIFY and REVISE",
    _strong,
    {
        "nothing": ("only", "mixed", "only", "mixed"),
        "only": ("only", "mixed", "only", "mixed"),
        "mixed": ("mixed",) * 4,
    },
    frozenset({"only"}),
)
ULTRA_STRONG = Definition(
    "ultra_strong",
    "strong, and sent a REVISE",
    _ultra_strong,
    {
        "nothing": ("only", "mixed", "revised", "mixed"),
        "only": ("only", "mixed", "revised", "mixed"),
        "revised": ("revised", "mixed", "revised", "mixed"),
        "mixed": ("mixed",) * 4,
    },
    frozenset({"revised"}),
)
DEFINITIONS: Mapping[str, Definition] = MappingProxyType(
    {d.name: d for d in (ONE_WAY, ONE_WAY_ANY, STRONG, ULTRA_STRONG)}
)
"""The definitions for one agent, by name. `two_way` is `one_way` for both."""


def sent_tags(messages: Iterable[Message], agent: str) -> frozenset[str]:
    """The set of tags in T_XY for X = `agent`: INIT and TERM are left out."""
    return frozenset(m.tag for m in messages if m.sender == agent) - _UNCOUNTED


def holds_for(definition: Definition, messages: Iterable[Message], agent: str) -> bool:
    """Whether the session is in the class for `agent`."""
    return definition.holds(sent_tags(messages, agent))


def classify(messages: Sequence[Message]) -> dict[str, tuple[str, ...]]:
    """The classes that a session is in for each agent of its `messages`, by the agent's name.

    It is two-way intelligible if it is `one_way` for both.

    >>> import pxp_fsm as pxp
    >>> def whale(question: pxp.Question) -> pxp.Answer:
    ...     return pxp.Answer("mammal", "It breathes air.")
    >>> agent = pxp.Agent(whale, match=pxp.exact, agree=pxp.exact)
    >>> session = pxp.Session(pxp.Interact(), {"m": agent, "h": agent}, instance="a whale")
    >>> pxp.classify(session.run_sync().history)["m"]
    ('one_way', 'one_way_any', 'strong')
    """
    if not isinstance(messages, Sequence):
        raise UsageError(f"classify takes messages (session.history), not {quoted(messages)}")
    agents = dict.fromkeys(name for m in messages for name in (m.sender, m.receiver))
    return {
        agent: tuple(d.name for d in DEFINITIONS.values() if holds_for(d, messages, agent))
        for agent in agents
    }


def two_way(messages: Sequence[Message], left: str, right: str) -> bool:
    """Whether the session is one-way intelligible for both agents."""
    return all(holds_for(ONE_WAY, messages, agent) for agent in (left, right))


def two_way_automaton(left: str, right: str) -> DFA:
    """`two_way` as an automaton over `AGENT:TAG` symbols of a whole session."""
    agents = (left, right)
    first, second = (ONE_WAY.automaton_for(agent, agents) for agent in agents)
    return first & second
