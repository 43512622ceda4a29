"""Labelled transition systems with inputs and outputs, and what can be observed of them.

Source: Tretmans, "Test generation with inputs, outputs and repetitive quiescence", Software:
Concepts and Tools 17(3), 1996 (suspension traces, quiescence); van der Bijl, Rensink, Tretmans,
"Compositional testing with ioco", FATES 2003 (inputs that may be refused are not given: uioco);
distinguishable states as in Petrenko, Yevtushenko, "Adaptive testing of nondeterministic systems
with FSM", HASE 2014.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import combinations
from typing import Any, Generic, TypeVar

from pxp_fsm.automata.automaton import Automaton, Kind
from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.conformance.mealy import Stimulus

I = TypeVar("I")  # noqa: E741 - the field's letter for an input
States = frozenset[int]
Steps = tuple[Mapping[Any, States], ...]


@dataclass(frozen=True)
class Transitions(Generic[I]):
    """A labelled transition system; states and inputs are numbers from 0.

    `receives[s][i]` and `sends[s][o]` are where input i and output o lead from state s, `silent[s]`
    where it may go unseen. An input without an entry is not specified there.
    """

    inputs: tuple[I, ...]
    receives: tuple[Mapping[int, States], ...]
    sends: tuple[Mapping[str, States], ...]
    silent: tuple[States, ...]
    initial: int = 0

    def closed(self, states: Iterable[int]) -> States:
        """`states`, and all that they reach unseen."""
        closed = set(states)
        waiting = list(closed)
        while waiting:
            new = self.silent[waiting.pop()] - closed
            closed |= new
            waiting += new
        return frozenset(closed)

    def after(self, states: Iterable[int], steps: Steps, label: int | str) -> States:
        """Where `label`, an input or an output of `steps`, leads from any of `states`."""
        none: States = frozenset()
        return self.closed(t for s in states for t in steps[s].get(label, none))

    def quiet(self, states: Iterable[int]) -> States:
        """Those of `states` that neither send nor move unseen: they wait for an input."""
        return frozenset(s for s in states if not self.sends[s] and not self.silent[s])


def as_transitions(automaton: Automaton) -> Transitions[Stimulus]:
    """`automaton` as a program that decides by itself: guards and sends are its own choice.

    Inputs are what it receives and its unguarded events; outputs are what it sends. A guarded event
    is not seen. Raises `UsageError` where the table can go round for ever unseen.
    """
    number = {state.name: place for place, state in enumerate(automaton.states)}
    receives: list[dict[int, States]] = [{} for _ in number]
    sends: list[dict[str, States]] = [{} for _ in number]
    silent: list[States] = [frozenset() for _ in number]
    inputs: dict[Stimulus, int] = {}
    for row in automaton.transitions:
        source, target = number[row.source], number[row.target]
        if row.kind is Kind.SEND:
            sends[source][row.action] = sends[source].get(row.action, frozenset()) | {target}
        elif row.kind is Kind.EVENT and row.guard is not None:
            silent[source] |= {target}
        else:
            place = inputs.setdefault(Stimulus(row.trigger), len(inputs))
            receives[source][place] = receives[source].get(place, frozenset()) | {target}
    system = Transitions(
        tuple(inputs), tuple(receives), tuple(sends), tuple(silent), number[automaton.initial]
    )
    for name, state in number.items():
        if state in system.closed(system.silent[state]):
            raise UsageError(
                f"{automaton.name} can go round for ever from {name} without an input or an "
                f"output, and is then never quiet; it cannot be tested by what it sends"
            )
    return system


Pair = tuple[int, int]


@dataclass
class Suspension(Generic[I]):
    """The deterministic automaton of what is observed where inputs are given to a quiet program.

    A node is a set of states in which the program may be. `receives[n]` leads from a quiet node by
    an input that all of its states specify, `sends[n]` by an output, `settles[n]` by quiescence, or
    is None where the program must send something more.
    """

    system: Transitions[I]
    members: list[States] = field(default_factory=list)
    receives: list[dict[int, int]] = field(default_factory=list)
    sends: list[dict[str, int]] = field(default_factory=list)
    settles: list[int | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        system = self.system
        self._numbers: dict[tuple[States, bool], int] = {}
        self._waiting: deque[tuple[int, bool]] = deque()
        self._node(system.closed({system.initial}))
        while self._waiting:
            node, waits = self._waiting.popleft()
            states = self.members[node]
            if waits:
                for label in sorted(set.intersection(*(set(system.receives[s]) for s in states))):
                    after = system.after(states, system.receives, label)
                    self.receives[node][label] = self._node(after)
                continue
            for output in dict.fromkeys(o for s in sorted(states) for o in system.sends[s]):
                self.sends[node][output] = self._node(system.after(states, system.sends, output))
            quiet = system.quiet(states)
            self.settles[node] = self._node(quiet, waits=True) if quiet else None

    def _node(self, states: States, waits: bool = False) -> int:
        """The number of a node; `waits` where the program is known to be quiet."""
        key = (states, waits)
        if key not in self._numbers:
            self._numbers[key] = len(self.members)
            self.members.append(states)
            self.receives.append({})
            self.sends.append({})
            self.settles.append(self._numbers[key] if waits else None)
            self._waiting.append((self._numbers[key], waits))
        return self._numbers[key]

    def follow(self, node: int, outputs: Sequence[object]) -> tuple[int | None, int]:
        """The quiet node after all of `outputs`, or None, and how many of them are allowed."""
        for place, output in enumerate(outputs):
            after = self.sends[node].get(output) if isinstance(output, str) else None
            if after is None:
                return None, place
            node = after
        return self.settles[node], len(outputs)

    def allowed(self, node: int, outputs: Sequence[object]) -> tuple[str | None, ...]:
        """What may come after `outputs`, all of them allowed; None stands for nothing."""
        for output in outputs:
            node = self.sends[node][str(output)]
        nothing = () if self.settles[node] is None else (None,)
        return (*self.sends[node], *nothing)

    @cached_property
    def waiting(self) -> tuple[int, ...]:
        """The quiet nodes."""
        return tuple(node for (_, waits), node in self._numbers.items() if waits)

    @cached_property
    def apart(self) -> Mapping[Pair, int]:
        """For two quiet nodes that no program can conform to at once: the input that shows it.

        After that input each answer that both allow leads again to such a pair, by fewer inputs.
        """
        apart: dict[Pair, int] = {}
        while True:
            new = dict(self._newly_apart(apart))
            if not new:
                return apart
            apart |= new | {(q, p): number for (p, q), number in new.items()}

    def _newly_apart(self, apart: Mapping[Pair, int]) -> Iterator[tuple[Pair, int]]:
        differs: dict[Pair, bool] = {}
        for p, q in combinations(self.waiting, 2):
            if (p, q) not in apart:
                for number in sorted(self.receives[p].keys() & self.receives[q].keys()):
                    pair = (self.receives[p][number], self.receives[q][number])
                    if self._differ(pair, apart, differs):
                        yield (p, q), number
                        break

    def _differ(self, pair: Pair, apart: Mapping[Pair, int], differs: dict[Pair, bool]) -> bool:
        """Whether all answers that both nodes allow end in a pair of `apart`."""
        if pair not in differs:
            differs[pair] = False  # answers that go on for ever tell nothing apart
            p, q = pair
            settled = (self.settles[p], self.settles[q])
            differs[pair] = (None in settled or settled in apart) and all(
                self._differ((self.sends[p][o], self.sends[q][o]), apart, differs)
                for o in self.sends[p].keys() & self.sends[q].keys()
            )
        return differs[pair]
