"""The complete tag sequences of a protocol, from the model of its sessions.

The model keeps how the values in play are related and nothing else of the data, so that its labels
are those of all sessions, for any number of values; forgetting the states leaves the language.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, TypeVar

from proofs.claims.catalogue import name_of
from proofs.core.explore import Model, Step, TooLarge, Trace, explore
from proofs.languages.language import SYMBOLS, Language, of_automaton, symbol
from proofs.sessions.model import AGENTS, SessionModel, SessionState, action_of
from proofs.sessions.relational import Theory
from proofs.sessions.replay import PrefixModel, ReplayPoint, replay
from pxp_fsm.automata.actions import Say
from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.intelligibility import (
    ALPHABET,
    DEFINITIONS,
    require_automata,
    two_way_automaton,
)
from pxp_fsm.protocol.messages import Message
from pxp_fsm.protocol.relations import Assumption
from pxp_fsm.protocol.rules import Interact, Rules

if TYPE_CHECKING:
    from automata.fa.dfa import DFA

S = TypeVar("S", bound=Hashable)

ENDLESS = sys.maxsize
"""The n of a session of INTERACT that no bound closes."""


LARGEST = 200_000
"""States of a model of which a language is made: beyond it that takes minutes."""


@dataclass(frozen=True)
class ProtocolReading:
    """Sessions whose tags are asked about: rules, and what is assumed of MATCH and AGREE.

    INTERACT with `bounded` false goes on until it is ratified or rejected, whatever n is.
    """

    rules: Rules
    assumptions: frozenset[Assumption]
    bounded: bool = True

    @property
    def title(self) -> str:
        n, k = self.rules.n, self.rules.k
        bounds = [] if n is None else [f"n = {n}" if self.bounded else "any n"]
        bounds += [] if k is None else [f"k = {k}"]
        shown = f"({', '.join(bounds)})" if bounds else ""
        return f"{self.rules.name}{shown}, {name_of(self.assumptions)}"

    @property
    def model(self) -> SessionModel:
        """The sessions; of an unbounded INTERACT with an n that nothing reaches."""
        rules = self.rules
        if isinstance(rules, Interact) and not self.bounded:
            rules = replace(rules, n=ENDLESS)
        return SessionModel(rules, Theory(self.assumptions), observes=False)


@dataclass(frozen=True)
class Folded:
    """INTERACT without its bound, as a finite model.

    Message numbers matter up to 2 (whose answer is compared) and up to k (REJECT); after that only
    whose turn it is. So numbers above both are counted back by two.
    """

    sessions: SessionModel

    @property
    def name(self) -> str:
        return f"{self.sessions.name} without its bound"

    def initial(self) -> Iterable[SessionState]:
        return self.sessions.initial()

    def successors(self, state: SessionState) -> Iterable[Step[SessionState]]:
        for step in self.sessions.successors(state):
            yield replace(step, target=self._folded(step.target))

    def propositions(self, state: SessionState) -> frozenset[str]:
        return self.sessions.propositions(state)

    def _folded(self, state: SessionState) -> SessionState:
        last = max(self.sessions.rules.k or 0, 2) + 1
        return state._replace(sent=state.sent - 2) if state.sent > last else state


@cache
def sequences(reading: ProtocolReading) -> Language:
    """The complete tag sequences: those of sessions that the protocol itself has ended.

    PXP's are open: who must answer may hang up, and need not. Raises `UsageError` where the
    sessions are more than can be explored.
    """
    complete = automaton_of(_model(reading), lambda state: bool(state.over))
    return of_automaton(reading.title, complete)


@cache
def started(reading: ProtocolReading) -> Language:
    """The tag sequences of sessions that have got so far, ended or not."""
    complete = automaton_of(_model(reading), lambda _state: True)
    return of_automaton(f"{reading.title}, begun", complete)


def _model(reading: ProtocolReading) -> Model[SessionState]:
    endless = isinstance(reading.rules, Interact) and not reading.bounded
    return Folded(reading.model) if endless else reading.model


def automaton_of(model: Model[S], accepts: Callable[[S], bool]) -> DFA:
    """The labels of the runs of a model of sessions to states that it accepts, made deterministic.

    Raises `UsageError` where there are more than `LARGEST` states.
    """
    require_automata()
    from automata.fa.dfa import DFA
    from automata.fa.nfa import NFA

    try:
        space = explore(model, limit=LARGEST)
    except TooLarge as error:
        raise UsageError(f"{error}; take a smaller n or k, or other relations") from error
    numbers = {state: number for number, state in enumerate(space.steps)}
    moves: dict[int, dict[str, set[int]]] = {}
    for state, steps in space.steps.items():
        row = moves.setdefault(numbers[state], {})
        for step in steps:
            row.setdefault(_symbol(step), set()).add(numbers[step.target])
    (start,) = (numbers[state] for state, parent in space.parents.items() if parent is None)
    return DFA.from_nfa(
        NFA(
            states=set(numbers.values()),
            input_symbols=set(SYMBOLS),
            transitions=moves,
            initial_state=start,
            final_states={number for state, number in numbers.items() if accepts(state)},
        ),
        retain_names=False,
        minify=True,
    )


def _symbol(step: Step[Any]) -> str:
    action = action_of(step)
    if isinstance(action, Say) and (letter := symbol(action.agent, action.tag)) in SYMBOLS:
        return letter
    raise UsageError(f"{step.label!r} happens in a session, which is none of the six tags")


TWO_WAY = "two_way"
_ROLES = {"machine": "m", "human": "h", "initiator": "m", "responder": "h"}

CLASSES = (*(f"{name}:{agent}" for name in DEFINITIONS for agent in AGENTS), TWO_WAY)
"""The classes by name: a definition for an agent (`strong:h`), and `two_way`."""


@cache
def class_language(name: str) -> Language:
    """Every tag sequence whatever that is in the class `name`.

    The agent may be called machine or initiator (m), human or responder (h); dashes count as
    underscores. Raises `UsageError` for a name that is none of `CLASSES`.
    """
    definition, _, agent = name.replace("-", "_").partition(":")
    agent = _ROLES.get(agent, agent)
    if definition == TWO_WAY and not agent:
        return of_automaton(TWO_WAY, two_way_automaton(*AGENTS))
    if definition not in DEFINITIONS or agent not in AGENTS:
        raise UsageError(
            f"there is no class {name!r}; there are: {', '.join(CLASSES)} "
            "(human and machine stand for h and m)"
        )
    class_automaton = DEFINITIONS[definition].automaton_for(agent, AGENTS)
    return of_automaton(f"{definition}:{agent}", class_automaton)


_MESSAGES: dict[str, Say] = {
    symbol(agent, tag): Say(agent, tag) for agent, tag in product(AGENTS, ALPHABET)
}


def realised(
    reading: ProtocolReading, word: Iterable[str], *, complete: bool = True
) -> Trace[SessionState] | None:
    """A trace whose tags are `word`, of a session that is then over; None where there is none.

    With `complete` false it need not be over.
    """
    followed = tuple(_MESSAGES.get(letter) for letter in word)
    space = explore(PrefixModel(reading.model, followed))
    trace = space.find(
        lambda place: place.followed == len(followed) and bool(place.state.over or not complete)
    )
    return None if trace is None else trace.map(_state)


def _state(place: ReplayPoint[SessionState]) -> SessionState:
    return place.state


def replayed(
    reading: ProtocolReading, word: Iterable[str], *, complete: bool = True
) -> tuple[Message, ...]:
    """The messages of a real session with the tags `word`, sent by two running agents.

    Empty where the protocol has no such session. Raises `NotReplayed` where the machines do
    something else than the model, which would be a fault of ours.
    """
    trace = realised(reading, word, complete=complete)
    return () if trace is None else replay(reading.model, trace)
