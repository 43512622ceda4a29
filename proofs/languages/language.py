"""A set of tag sequences as a minimal deterministic automaton, with its operations.

A sequence is a word of symbols `AGENT:TAG` (`m:INIT`, `h:REFUTE`); the initiator is m, the
responder h, whatever their names in a recording. The automata are automata-lib's, without the
state from which nothing is accepted; two of them are compared, never what they were made from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any

from proofs.sessions.model import AGENTS
from pxp_fsm.diagrams import Edge, EdgeRow, Node, StateDiagram, svg
from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.intelligibility import ALPHABET, require_automata

if TYPE_CHECKING:
    from automata.fa.dfa import DFA


class Letter(str):
    """A symbol that says of what: `tag` sent by `agent` (m or h)."""

    agent: str
    tag: str

    def __new__(cls, agent: str, tag: str) -> Letter:
        letter = super().__new__(cls, f"{agent}:{tag}")
        letter.agent, letter.tag = agent, tag
        return letter

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override] # str's is (str,)
        return self.agent, self.tag


DRAWN = 150
"""States that a picture has at most: more cannot be read."""


@lru_cache(maxsize=10_000)
def symbol(agent: str, tag: str) -> Letter:
    """The symbol for `tag` sent by `agent` (m or h)."""
    return Letter(agent, tag)


Word = tuple[Letter, ...]
"""A tag sequence, symbol by symbol."""

SYMBOLS: tuple[str, ...] = tuple(sorted(symbol(agent, tag) for agent in AGENTS for tag in ALPHABET))
"""The symbols that every language here is over, in alphabetical order."""


_LETTERS = {
    str(letter): letter for agent in AGENTS for tag in ALPHABET for letter in (symbol(agent, tag),)
}


@dataclass(frozen=True)
class Language:
    """A set of tag sequences; `title` says of what.

    `automaton` is over `SYMBOLS` and minimal; make one with `of_automaton` or `of_words`. Two
    languages are equal (`==`) where they have the same sequences, whatever their titles.
    """

    title: str
    automaton: DFA

    def __repr__(self) -> str:
        return f"<Language {self.title}: minimal automaton of {self.states} states>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Language) and bool(self.automaton == other.automaton)

    def __hash__(self) -> int:
        return hash((self.states, self.shortest()))

    def __contains__(self, word: Iterable[str]) -> bool:
        read = tuple(word)
        followed, state = self._read(read)
        return followed == len(read) and state in self.automaton.final_states

    def __and__(self, other: Language) -> Language:
        combined = self.automaton.intersection(other.automaton)
        return of_automaton(f"{self.title} & {other.title}", combined)

    def __or__(self, other: Language) -> Language:
        combined = self.automaton.union(other.automaton)
        return of_automaton(f"{self.title} | {other.title}", combined)

    def __sub__(self, other: Language) -> Language:
        combined = self.automaton.difference(other.automaton)
        return of_automaton(f"{self.title} - {other.title}", combined)

    def __le__(self, other: Language) -> bool:
        return bool(self.automaton.issubset(other.automaton))

    @property
    def states(self) -> int:
        """How many states the minimal automaton has; 1 for the empty language."""
        return len(self.automaton.states)

    def diagram(self) -> StateDiagram:
        """Its minimal automaton, states numbered as they are reached; at an arrow its symbols.

        Raises `UsageError` where there are more than `DRAWN` states.
        """
        if self.states > DRAWN:
            raise UsageError(
                f"{self.title}: its automaton has {self.states} states, and a picture with "
                f"more than {DRAWN} cannot be read; take a smaller n or k, or no bound"
            )
        moves, ends = self.automaton.transitions, self.automaton.final_states
        order = {state: number for number, state in enumerate(_reached(self))}
        nodes = tuple(
            Node(str(number), initial=number == 0, final=state in ends)
            for state, number in order.items()
        )
        edges = []
        for state, number in order.items():
            lines: dict[int, list[str]] = {}
            for letter in sorted(moves[state]):
                lines.setdefault(order[moves[state][letter]], []).append(letter)
            for target, symbols in lines.items():
                edges.append(Edge(str(number), str(target), tuple(map(EdgeRow, symbols))))
        return StateDiagram(self.title, _note(self), nodes, tuple(edges))

    def _repr_svg_(self) -> str | None:
        return svg(self.diagram()) if self.states <= DRAWN else None

    @cached_property
    def finite(self) -> bool:
        """Whether it has finitely many sequences."""
        return bool(self.automaton.isfinite())

    def count(self) -> int | None:
        """How many sequences there are, exactly; None where they are infinitely many."""
        return int(self.automaton.cardinality()) if self.finite else None

    def counts(self, longest: int) -> tuple[int, ...]:
        """How many sequences there are of each length from 0 to `longest`, exactly."""
        lengths = range(longest + 1)
        return tuple(int(self.automaton.count_words_of_length(length)) for length in lengths)

    def lengths(self) -> tuple[int, int | None] | None:
        """The shortest and the longest length (None: no longest); None where it is empty."""
        if self.automaton.isempty():
            return None
        longest = self.automaton.maximum_word_length()
        return int(self.automaton.minimum_word_length()), None if longest is None else int(longest)

    def shortest(self) -> Word | None:
        """The shortest sequence, and of several the alphabetically first; None where it is empty.

        So `(one - other).shortest()` is the witness that one is not included in the other.
        """
        return next(self.words(), None)

    def words(self) -> Iterator[Word]:
        """Every sequence, the shortest first, those of one length in alphabetical order."""
        bounds = self.lengths()
        if bounds is None:
            return
        least, longest = bounds
        for length in count(least) if longest is None else range(least, longest + 1):
            yield from self._of_length(length)

    def _of_length(self, length: int) -> Iterator[Word]:
        """The sequences of `length`, following only what can still be accepted."""
        moves, ends = self.automaton.transitions, self.automaton.final_states
        while len(self._reach) <= length:
            later = self._reach[-1] if self._reach else None
            self._reach.append(
                frozenset(ends)
                if later is None
                else frozenset(s for s, row in moves.items() if not later.isdisjoint(row.values()))
            )
        if self.automaton.initial_state not in self._reach[length]:
            return
        waiting: list[tuple[Any, Word]] = [(self.automaton.initial_state, ())]
        while waiting:
            state, word = waiting.pop()
            left = length - len(word)
            if not left:
                yield word
                continue
            for letter in sorted(moves[state], reverse=True):
                if moves[state][letter] in self._reach[left - 1]:
                    waiting.append((moves[state][letter], (*word, _LETTERS[letter])))

    @cached_property
    def _reach(self) -> list[frozenset[Any]]:
        """For each number of steps, the states from which that many can lead to acceptance."""
        return []

    def prefixes(self) -> Language:
        """Everything with which one of its sequences begins."""
        from automata.fa.dfa import DFA

        dfa = self.automaton
        if dfa.isempty():
            return self
        live = DFA(
            states=dfa.states,
            input_symbols=dfa.input_symbols,
            transitions=dfa.transitions,
            initial_state=dfa.initial_state,
            final_states=dfa.states,
            allow_partial=True,
        )
        return of_automaton(f"beginnings of {self.title}", live)

    def after(self, word: Iterable[str]) -> tuple[str, ...]:
        """The symbols that may follow `word` in one of its sequences; none where it left it."""
        read = tuple(word)
        followed, state = self._read(read)
        return tuple(sorted(self.automaton.transitions[state])) if followed == len(read) else ()

    def follows(self, word: Iterable[str]) -> int:
        """How many symbols of `word` one of its sequences begins with."""
        return self._read(word)[0]

    def _read(self, word: Iterable[str]) -> tuple[int, Any]:
        """How many symbols were read before there was no move, and the state that led to."""
        state: Any = self.automaton.initial_state
        followed = 0
        for letter in word:
            row = self.automaton.transitions[state]
            if letter not in row:
                break
            state = row[letter]
            followed += 1
        return followed, state


def of_automaton(title: str, automaton: DFA) -> Language:
    """The language of an automaton over `SYMBOLS`, minimised; the empty one has a single state."""
    least = automaton.minify(retain_names=False).to_partial()
    if least.isempty():  # what is left of it would accept nothing in many ways
        least = type(automaton)(
            states={0},
            input_symbols=set(SYMBOLS),
            transitions={0: {}},
            initial_state=0,
            final_states=set(),
            allow_partial=True,
        )
    return Language(title, least)


def of_words(title: str, words: Iterable[Iterable[str]]) -> Language:
    """The language that has just these sequences: a recorded set of sessions, as a prefix tree.

    Raises `UsageError` for a symbol that is not one of `SYMBOLS`.
    """
    require_automata()
    from automata.fa.dfa import DFA

    known = frozenset(SYMBOLS)
    tree: dict[int, dict[str, int]] = {0: {}}
    ends = set[int]()
    for word in words:
        at = 0
        for letter in word:
            if letter not in known:
                raise UsageError(
                    f"{letter!r} is not a symbol of a tag sequence; an example is m:INIT"
                )
            following = tree[at].setdefault(letter, len(tree))
            if following == len(tree):
                tree[following] = {}
            at = following
        ends.add(at)
    tree_automaton = DFA(
        states=set(tree),
        input_symbols=set(SYMBOLS),
        transitions=tree,
        initial_state=0,
        final_states=ends,
        allow_partial=True,
    )
    return of_automaton(title, tree_automaton)


def _reached(language: Language) -> Sequence[Any]:
    """The states in breadth-first order, symbols in alphabetical order."""
    moves = language.automaton.transitions
    reached = dict[Any, None].fromkeys([language.automaton.initial_state])
    waiting = list(reached)
    for state in waiting:  # grows while it is read
        for letter in sorted(moves[state]):
            if moves[state][letter] not in reached:
                reached[moves[state][letter]] = None
                waiting.append(moves[state][letter])
    return waiting


def _note(language: Language) -> str:
    size = language.count()
    told = "infinitely many" if size is None else f"{size:,}"
    return f"the minimal automaton of {told} tag sequences"
