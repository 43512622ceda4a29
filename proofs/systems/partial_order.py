"""Partial order: where what members do does not depend on the order, one order is enough.

In a state the steps of one member alone are followed (an ample set; Peled, Combining partial order
reductions with on-the-fly model-checking, FMSD 8, 1996) if

- nothing that others do before can disable them, enable more of that member, or change what
  they do;
- no proposition of the formula can change by them;
- none leads back to a state that has been looked at, so that nothing is put off for ever;
- and, where the formula says E or A inside, there is just one (Gerth, Kuiper, Peled and Penczek,
  A partial order approach to branching time logic model checking, Inf. Comput. 150, 1999).

That keeps every formula without X and N that speaks of states. The states are explored before the
formula is joined to them, so that what Siegel found (What's wrong with on-the-fly partial order
reduction, CAV 2019) cannot happen. For deadlocks alone the first is enough (Godefroid,
Partial-order methods for the verification of concurrent systems, LNCS 1032, 1996).

The first and the third alone keep what the standard checks ask (Valmari, Stubborn sets for reduced
state space generation, LNCS 483, 1991: the liveness of transitions, and livelocks that cannot be
exited). Let a run lead from a state that is followed. Either a step of the run is among those that
are followed there, and can be taken first, or one of them can be taken besides, before the run or
after it. By the third condition the former comes about in the end, and the run gets shorter. So

- every row that is taken in some run is taken in one that is followed, and with it every state of
  each member is met;
- what is true for ever once it is true (a member waits to send; the next message of a queue is
  none that its receiver takes) is met if it can be;
- from a state that is followed, a run to the end of all members is followed where there is one, if
  no step that is followed alone leaves an end state.

What may become false again needs the second condition: a member that has ended may go on, and where
messages are reordered another may be taken first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from proofs.core.explore import Step
from proofs.logic.formulas import Exists, Formula, Not, Unary, atoms, parts
from proofs.systems.product import Composition, LinkRows, Move
from proofs.systems.propositions import (
    AllEnded,
    AtState,
    Empty,
    Full,
    Has,
    NotedState,
    named,
    of_steps,
)
from pxp_fsm.automata.automaton import Kind, Transition

Closed = Callable[[int], bool]
"""Whether a state has been looked at already."""


def why_not(composition: Composition, formula: Formula | None) -> str:
    """Why partial order cannot be used for `formula` (None: deadlocks); "" where it can."""
    if composition.channel.synchronous:
        return "over a synchronous channel no member does anything alone; it needs buffers (fifo:1)"
    if formula is None:
        return ""
    if any(isinstance(part, Unary) for part in parts(formula)):
        return "X, N, Y and Z count the very steps that are left out; say it without them"
    step_atoms = sorted(set(atoms(formula)) & of_steps(composition))
    if step_atoms:
        return (
            f"{', '.join(step_atoms)} speaks of single steps, which are reordered; say it of "
            "states (name@STATE, name:name@has.TAG)"
        )
    return ""


def for_check(composition: Composition, name: str) -> PartialOrder:
    """What keeps a standard check."""
    if name == "no-deadlock":
        return PartialOrder(composition)
    if name == "end-reachable-from-everywhere":
        return PartialOrder(composition, may_end=True)
    system, encoding, seen = composition.system, composition.encoding, list[str]()
    if name in ("no-orphan-message", "no-unspecified-reception"):
        reordering = (link for link in encoding.links if system.channel_of(link).reordering)
        seen += (f"{encoding.link_name(link)}@empty" for link in reordering)
    if name == "no-orphan-message":
        receivers = (system.members[place] for place in {link[1] for link in encoding.links})
        seen += (
            f"{receiver.name}@{end}" for receiver in receivers for end in receiver.automaton.final
        )
    return PartialOrder(composition, seen)


class PartialOrder:
    """Chooses what is followed in a state, for formulas that speak of `visible` propositions.

    Without such (None) it keeps deadlocks alone, or with `may_end` whether all members can end.
    """

    def __init__(
        self,
        composition: Composition,
        visible: Iterable[str] | None = None,
        *,
        branching: bool = False,
        may_end: bool = False,
    ) -> None:
        self.composition = composition
        self._branching = branching
        self._may_end = may_end
        self._deadlocks = visible is None and not may_end
        self._ended = False
        self._states: set[tuple[int, str]] = set()
        self._links: set[int] = set()
        known = named(composition) if visible else {}
        for name in visible or ():
            match known[name]:
                case AllEnded():
                    self._ended = True
                case AtState(place, states):
                    self._states.update((place, state) for state in states)
                case Empty(link) | Full(link) | Has(link):
                    self._links.add(composition.encoding.links.index(link))
        self._alone = [self._acts_alone(place) for place in range(len(composition.encoding.fields))]

    def followed(self, state: int, closed: Closed) -> list[Move]:
        """The moves of `state` that are followed."""
        for moves in self._ample(state):
            if self._deadlocks or not any(closed(state + move.difference) for move in moves):
                return moves
        return self.composition.moves(state)

    def steps(
        self,
        state: NotedState,
        steps: tuple[Step[NotedState], ...],
        closed: Callable[[NotedState], bool],
    ) -> tuple[Step[NotedState], ...]:
        """Those of `steps` that are followed, where nothing is said of steps."""
        kept = self.followed(state.state, lambda target: closed(NotedState(target, frozenset())))
        if len(kept) == len(steps):
            return steps
        targets = {(move.action, state.state + move.difference) for move in kept}
        return tuple(step for step in steps if (step.action, step.target.state) in targets)

    def _ample(self, state: int) -> Iterator[list[Move]]:
        """For each member the moves that it can make, where they are all that is needed."""
        for place, alone in enumerate(self._alone):
            if not alone:
                continue
            moves = self._moves_of(state, place)
            if moves and not (self._branching and len(moves) > 1):
                yield moves

    def _moves_of(self, state: int, place: int) -> list[Move]:
        """What a member can do; empty where others could change that, or where it is visible."""
        composition, possible = self.composition, list[Move]()
        own = composition.encoding.fields[place].of(state)
        if (place, own) in composition.choices:
            return []
        for unit in composition.units_of[place][own]:
            other = unit.other.of(state)
            if not self._is_settled(unit, own, other):
                return []
            if unit.link in self._links:
                return []
            possible += unit.at(own, other)
        if composition.events:
            possible += (move for move in composition.outside(state) if move.rows[0][0] == place)
        return [] if any(self._shows(*move.rows[0]) for move in possible) else possible

    def _is_settled(self, unit: LinkRows, own: int, other: int) -> bool:
        """Whether nothing that others do can enable more of the unit."""
        rows, encoding, link = unit.rows[own], self.composition.encoding, unit.link or 0
        channel = self.composition.system.channel_of(encoding.links[link])
        buffer = encoding.contents[link].known[other]
        if rows[0].kind is Kind.SEND:
            return len(buffer) < channel.capacity
        if len(buffer) == channel.capacity and self.composition.choices:
            return False  # that somebody chose to send here would be a step no more
        if not channel.reordering:
            return bool(buffer)
        return {row.label for row in rows} <= set(buffer)

    def _shows(self, place: int, row: Transition) -> bool:
        """Whether a proposition may change by a row."""
        final = self.composition.system.members[place].automaton.final
        if row.source == row.target:
            return self._ended and row.guard is not None and row.source in final
        if (place, row.source) in self._states or (place, row.target) in self._states:
            return True
        before, after = row.source in final, row.target in final
        return (self._may_end and before and not after) or (self._ended and before is not after)

    def _acts_alone(self, place: int) -> bool:
        """Whether no event from outside moves this member together with another."""
        return not any(
            place in members and len(members) > 1 for members in self.composition.events.values()
        )


def is_branching(formula: Formula) -> bool:
    """Whether it quantifies over runs inside; one A in front changes nothing."""
    inner = formula
    if isinstance(formula, Not) and isinstance(formula.of, Exists):
        inner = formula.of.path
    return any(isinstance(part, Exists) for part in parts(inner))
