"""k-multiparty compatibility: an answer for FIFO channels of every capacity, or UNKNOWN.

Definitions, theorem and the class of systems are those of Lange and Yoshida, Verifying Asynchronous
Interactions via Communicating Session Automata (CAV 2019, arXiv 1901.09606). A system is
k-exhaustive where whatever a member can send in a state that is reached within capacity k, it can
send within k, if need be after the others have moved. Then no larger capacity lets a member do
anything new, and what is safe within k is safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from proofs.core.explore import Space, TooLarge, Trace, explore
from proofs.core.limits import Effort
from proofs.core.results import Bound, Status, Verdict
from proofs.systems.encoding import Configuration
from proofs.systems.product import Composition
from proofs.systems.replay import shown
from proofs.systems.standard_checks import RECEPTION
from pxp_fsm.automata.automaton import Kind, Transition
from pxp_fsm.automata.channels import LARGEST, Channel
from pxp_fsm.automata.system import System


def still(system: System, configuration: Configuration) -> frozenset[int]:
    """The members that never move again; those that have no rows any more are among them."""
    rows = leaving(system, configuration)
    found = {
        place for place, own in enumerate(rows) if all(row.kind is Kind.RECEIVE for row in own)
    }
    buffers = dict(zip(system.links, configuration.buffers, strict=True))
    while True:
        moving = {
            place
            for place in found
            for row in rows[place]
            for sender in system.partners(place, row)
            if _may_receive(system, buffers.get((sender, place), ()), sender, place, row, found)
        }
        if not moving:
            return frozenset(found)
        found -= moving


def lost_for_good(system: System, configuration: Configuration) -> Iterator[str]:
    """The properties of `proofs.systems.compatibility` that nothing can mend any more."""
    stuck, rows = still(system, configuration), leaving(system, configuration)
    ends = (member.automaton.final for member in system.members)
    ended = [where in final for where, final in zip(configuration.at, ends, strict=True)]
    if any(rows[place] and not ended[place] for place in stuck):
        yield "progress"
    if any(
        buffer and link[1] in stuck
        for link, buffer in zip(system.links, configuration.buffers, strict=True)
    ):
        yield "eventual-reception"


def leaving(system: System, configuration: Configuration) -> tuple[tuple[Transition, ...], ...]:
    """By member: the rows that leave the state it is in."""
    return tuple(
        member.automaton.leaving(where)
        for member, where in zip(system.members, configuration.at, strict=True)
    )


def _may_receive(
    system: System,
    buffer: tuple[str, ...],
    sender: int,
    receiver: int,
    row: Transition,
    found: set[int],
) -> bool:
    """Whether `row` can take the first message, or one may still come."""
    if buffer:
        return row.label == buffer[0]
    return sender not in found and (sender, receiver) in system.links


MOST_STATES = 200_000
"""States of a bounded system that are explored, before the answer is UNKNOWN."""

TITLES = RECEPTION
"""What safety means: two properties, by name."""


class Link(NamedTuple):
    """From whom to whom: numbers of members."""

    sender: int
    receiver: int


@dataclass(frozen=True, slots=True)
class WithinCapacity:
    """What is known within capacity `k`: whether exhaustive, and where each property fails first.

    `fails` is None where the property holds within k; `certain` are states in which it is lost
    whatever the capacity.
    """

    model: Composition
    space: Space[int]
    exhaustive: bool
    fails: dict[str, int | None]
    certain: dict[str, int | None]

    @property
    def k(self) -> int:
        return self.model.channel.capacity

    def trace_to(self, state: int) -> Trace[Configuration]:
        """A shortest trace to `state`, taken by real machines."""
        return shown(self.model, self.space.trace_to(state))


def check_unbounded(
    system: System, most: int = 8, effort: Effort | None = None
) -> dict[str, Verdict]:
    """Safety over FIFO channels of any capacity, by name; see `search_unbounded`."""
    found = dict(search_unbounded(system, most, effort))
    return {name: found[name] for name in TITLES}


def search_unbounded(
    system: System, most: int = 8, effort: Effort | None = None
) -> Iterator[tuple[str, Verdict]]:
    """Each property with its verdict, as soon as there is one; k is tried from 1 to `most`.

    With each k as much is explored as `effort` allows.

    HOLDS: for every capacity from the k in the detail, and for unbounded channels. FAILS: the trace
    leads to a state that unbounded channels reach too, and from which the property is lost.
    UNKNOWN: the system is none of the class, or not k-exhaustive for any k that was tried; and
    nothing was met within them that no capacity can mend.
    """
    effort = Effort(MOST_STATES) if effort is None else effort
    outside = next(outside_the_class(system), None)
    reason = f"not k-exhaustive for any k up to {most}"
    if outside is not None:
        reason = f"k-MC is about other systems: {outside}"
    left = list(TITLES)
    for k in range(1, min(most, LARGEST) + 1):
        if not left or (outside is not None and not _is_deterministic(system)):
            break
        try:
            bounded = (within if outside is None else _searched)(system, k, effort)
        except TooLarge as error:
            stopped = f"with capacity {k} {error}"
            reason = stopped if outside is None else f"{reason}; {stopped}"
            break
        for name in tuple(left):
            verdict = _verdict(bounded, name)
            if verdict is not None:
                left.remove(name)
                yield name, verdict
    for name in left:
        yield name, Verdict(Status.UNKNOWN, reason)


def _searched(system: System, k: int, effort: Effort) -> WithinCapacity:
    """A system of any class: what is lost for good is, and nothing else is known."""
    model = Composition(system.over(Channel(k)))
    space = explore(model, effort=effort)
    certain: dict[str, int | None] = dict.fromkeys(TITLES)
    for state in space.steps:
        for name in lost_for_good(system, model.encoding.configuration(state)):
            certain[name] = state if certain[name] is None else certain[name]
        if None not in certain.values():
            break
    return WithinCapacity(model, space, False, dict.fromkeys(TITLES), certain)


def _verdict(bounded: WithinCapacity, name: str) -> Verdict | None:
    k, stuck, lost = bounded.k, bounded.certain[name], bounded.fails[name]
    if stuck is not None:
        return Verdict(Status.FAILS, f"reached with capacity {k}", bounded.trace_to(stuck))
    if not bounded.exhaustive:
        return None
    if lost is not None:
        detail = f"reached with capacity {k}, and {k}-exhaustive"
        return Verdict(Status.FAILS, detail, bounded.trace_to(lost))
    return Verdict(Status.HOLDS, bound=Bound(capacities_from=k))


def outside_the_class(system: System) -> Iterator[str]:
    """Why `system` is none of directed communicating session automata (Definition 2, section 3).

    They have no events, no state that both sends and receives, one partner a state, and one row a
    tag.
    """
    for place, member in enumerate(system.members):
        for state in member.automaton.states:
            rows = member.automaton.leaving(state.name)
            where = f"state {state.name} of {member.name}"
            if any(row.kind is Kind.EVENT for row in rows):
                yield f"{where} takes an event from outside"
            elif len({row.kind for row in rows}) > 1:
                yield f"{where} both sends and receives"
            elif len({system.partners(place, row) for row in rows}) > 1 or any(
                len(system.partners(place, row)) != 1 for row in rows
            ):
                yield f"{where} does not deal with one partner alone"
            elif len({row.label for row in rows}) < len(rows):
                yield f"{where} has two rows for one tag"


def _is_deterministic(system: System) -> bool:
    """Whether machines can take a trace by its labels."""
    return all(
        len({(row.source, row.action) for row in member.automaton.transitions})
        == len(member.automaton.transitions)
        for member in system.members
    )


def within(system: System, k: int, effort: Effort | None = None) -> WithinCapacity:
    """What holds within capacity `k`. Raises `TooLarge` past `effort`."""
    graph = _Graph(system, k, Effort(MOST_STATES) if effort is None else effort)
    receivable = {link: graph.leading_to(graph.taking[link]) for link in graph.links}
    fails: dict[str, int | None] = dict.fromkeys(TITLES)
    certain: dict[str, int | None] = dict.fromkeys(TITLES)
    for state in graph.space.steps:
        lost = set[str]()
        if any(state not in receivable[link] for link in graph.filled(state)):
            lost.add("eventual-reception")
        if any(state not in receivable[link] for link in graph.waited_for(state)):
            lost.add("progress")
        for name in lost:
            fails[name] = state if fails[name] is None else fails[name]
        if lost and None in certain.values():
            for name in lost_for_good(system, graph.known[state]):
                certain[name] = state if certain[name] is None else certain[name]
    return WithinCapacity(graph.model, graph.space, graph.exhaustive(), fails, certain)


class _Graph:
    """The states within capacity k, with what the conditions ask of them."""

    def __init__(self, system: System, k: int, effort: Effort) -> None:
        self.system = system
        self.k = k
        self.model = Composition(system.over(Channel(k)))
        self.space = explore(self.model, effort=effort)
        self.links = tuple(dict.fromkeys((*map(Link._make, system.links), *self._listened_to())))
        self.known = {state: self.model.encoding.configuration(state) for state in self.space.steps}
        self.taking: dict[Link, list[int]] = {link: [] for link in self.links}
        self.before: dict[int, list[tuple[int, int]]] = {}
        for state in self.space.steps:
            for move in self.model.moves(state):
                ((actor, row),) = move.rows
                target = state + move.difference
                self.before.setdefault(target, []).append((state, actor))
                if row.kind is Kind.RECEIVE:
                    self.taking[self._link(actor, row)].append(state)

    def _link(self, actor: int, row: Transition) -> Link:
        (other,) = self.system.partners(actor, row)
        return Link(other, actor) if row.kind is Kind.RECEIVE else Link(actor, other)

    def _listened_to(self) -> Iterator[Link]:
        """Links from which a member would receive, whether anything is ever sent on them or not."""
        for place, member in enumerate(self.system.members):
            for row in member.automaton.transitions:
                if row.kind is Kind.RECEIVE:
                    yield self._link(place, row)

    def leading_to(self, goals: Iterable[int], without: int | None = None) -> set[int]:
        """The states from which a goal is reached, without a move of the member `without`."""
        found = set(goals)
        left = list(found)
        while left:
            for state, actor in self.before.get(left.pop(), ()):
                if actor != without and state not in found:
                    found.add(state)
                    left.append(state)
        return found

    def exhaustive(self) -> bool:
        """Whatever a member is about to send can be sent, it standing still until then."""
        sending = [
            (place, {r.source: self._link(place, r) for r in rows if r.kind is Kind.SEND})
            for place, rows in enumerate(m.automaton.transitions for m in self.system.members)
        ]
        return all(self._can_send(place, links) for place, links in sending)

    def _can_send(self, place: int, links: dict[str, Link]) -> bool:
        blocked, free = set[int](), list[int]()
        for state, (at, buffers, _) in self.known.items():
            link = links.get(at[place])
            if link is None:
                continue
            if len(buffers[self.links.index(link)]) < self.k:
                free.append(state)
            else:
                blocked.add(state)
        return not blocked or blocked <= self.leading_to(free, without=place)

    def filled(self, state: int) -> Iterator[Link]:
        """The links on which something is on its way."""
        buffers = self.known[state].buffers
        return (link for link, buffer in zip(self.links, buffers, strict=False) if buffer)

    def waited_for(self, state: int) -> Iterator[Link]:
        """The links on which a member waits for a message; in an end state nobody has to."""
        at = self.known[state].at
        return (
            waits[where] for waits, where in zip(self._waits, at, strict=True) if where in waits
        )

    @cached_property
    def _waits(self) -> tuple[dict[str, Link], ...]:
        """By member and its state: on which link it waits there."""
        return tuple(
            {
                row.source: self._link(place, row)
                for row in member.automaton.transitions
                if row.kind is Kind.RECEIVE and row.source not in member.automaton.final
            }
            for place, member in enumerate(self.system.members)
        )
