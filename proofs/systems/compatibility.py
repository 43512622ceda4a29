"""k-multiparty compatibility: an answer for FIFO channels of every capacity, or UNKNOWN.

Definitions, theorem and the class of systems are those of Lange and Yoshida, Verifying Asynchronous
Interactions via Communicating Session Automata (CAV 2019, arXiv 1901.09606). A system is
k-exhaustive where whatever a member can send in a state that is reached within capacity k, it can
send within k, if need be after the others have moved. Then no larger capacity lets a member do
anything new, and what is safe within k is safe.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from proofs.core.explore import Space, Step, TooLarge, Trace, explore
from proofs.core.limits import Effort
from proofs.core.results import Bound, Status, Verdict
from proofs.systems.encoding import Configuration
from proofs.systems.product import Composition
from proofs.systems.replay import shown
from proofs.systems.standard_checks import EVENTUAL_RECEPTION, PROGRESS, RECEPTION
from pxp_fsm.automata.automaton import Kind, Transition
from pxp_fsm.automata.channels import LARGEST, Channel
from pxp_fsm.automata.system import System
from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass


def still(system: System, configuration: Configuration) -> frozenset[int]:
    """The members that never move again; those that have no rows any more are among them."""
    rows = leaving(system, configuration)
    resting = {
        place for place, own in enumerate(rows) if all(row.kind is Kind.RECEIVE for row in own)
    }
    buffers = dict(zip(system.links, configuration.buffers, strict=True))
    while True:
        moving = {
            place
            for place in resting
            for row in rows[place]
            for sender in system.partners(place, row)
            if _may_receive(system, buffers.get((sender, place), ()), sender, place, row, resting)
        }
        if not moving:
            return frozenset(resting)
        resting -= moving


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
    resting: set[int],
) -> bool:
    """Whether `row` can take the first message, or one may still come."""
    if buffer:
        return row.label == buffer[0]
    return sender not in resting and (sender, receiver) in system.links


MOST_CHAINS = 20_000
"""States with who depends on what that are searched for each way to receive."""

MOST_STATES = 200_000
"""States of a bounded system that are explored, before the answer is UNKNOWN."""

WHOLE = 5_000
"""States up to which all are explored; from there on those in which members take turns."""

TITLES = RECEPTION
"""What safety means: two properties, by name."""


class Link(NamedTuple):
    """From whom to whom: numbers of members."""

    sender: int
    receiver: int


class TakenStep(NamedTuple):
    """A step: who takes it, by which row, over which link, and where it leads."""

    actor: int
    row: Transition
    link: Link
    target: BoundedNode


@dataclass(frozen=True, slots=True)
class Unmet:
    """A condition of the theorem that does not hold within capacity k, and the state where."""

    condition: str
    reason: str
    state: BoundedNode

    def __str__(self) -> str:
        return f"not {self.condition}: {self.reason}"


@dataclass(frozen=True, slots=True)
class WithinCapacity:
    """What is known within capacity `k`: the first condition that is unmet, if any, and where each
    property fails first.

    `fails` is None where the property holds within k; `certain` are states in which it is lost
    whatever the capacity. `conditions` says of each condition that was asked whether it holds.
    `reduced` says whether the states are those in which members take turns.
    """

    model: Composition
    space: Space[BoundedNode]
    conditions: Mapping[str, bool]
    unmet: Unmet | None
    fails: dict[str, BoundedNode | None]
    certain: dict[str, BoundedNode | None]
    reduced: bool = False

    @property
    def k(self) -> int:
        return self.model.channel.capacity

    @property
    def exhaustive(self) -> bool:
        """Whether whatever a member is about to send can be sent within k."""
        return self.conditions.get(EXHAUSTIVE, False)

    @property
    def safe(self) -> bool:
        """Whether both properties hold within k."""
        return set(self.fails.values()) == {None}

    def trace_to(self, node: BoundedNode) -> Trace[Configuration]:
        """A trace to `node`, taken by real machines; a shortest one of those explored."""
        return shown(
            self.model, self.space.trace_to(node).map(lambda bounded_node: bounded_node.state)
        )


def check_unbounded(
    system: System, most: int = 8, effort: Effort | None = None
) -> dict[str, Verdict]:
    """Safety over FIFO channels of any capacity, by name; see `search_unbounded`."""
    verdicts = dict(search_unbounded(system, most, effort))
    return {name: verdicts[name] for name in TITLES}


def search_unbounded(
    system: System, most: int, effort: Effort | None = None
) -> Iterator[tuple[str, Verdict]]:
    """Each property with its verdict, as soon as there is one; k is tried from 1 to `most`.

    With each k as much is explored as `effort` allows.

    HOLDS: for every capacity from the k in the detail, and for unbounded channels. FAILS: the trace
    leads to a state that unbounded channels reach too, and from which the property is lost.
    UNKNOWN: the system is none of the class, or a condition does not hold for any k that was tried,
    with a trace to where it does not hold for the last; and nothing was met within them that no
    capacity can mend.
    """
    effort = Effort(MOST_STATES) if effort is None else effort
    outside = next(outside_the_class(system), None)
    reason, trace = "", None
    if outside is not None:
        reason = f"k-MC is about other systems: {outside}"
    left = list(TITLES)
    for k in range(1, min(most, LARGEST) + 1):
        if not left or (outside is not None and not _is_deterministic(system)):
            break
        try:
            bounded = (within if outside is None else _searched)(system, k, effort)
        except TooLarge as error:
            reason = "; ".join(filter(None, (reason, f"with capacity {k} {error}")))
            break
        for name in tuple(left):
            verdict = _verdict(bounded, name)
            if verdict is not None:
                left.remove(name)
                yield name, verdict
        if bounded.unmet is not None:
            kind = re.sub(r"^\d+", "k", bounded.unmet.condition)
            reason = f"not {kind} for any k up to {k}; with {k}, {bounded.unmet.reason}"
            trace = bounded.trace_to(bounded.unmet.state)
    for name in left:
        remedy = "check one capacity: --channel fifo:2"
        yield name, Verdict(Status.UNKNOWN, reason, trace, remedy=remedy)


def _searched(system: System, k: int, effort: Effort) -> WithinCapacity:
    """A system of any class: what is lost for good is, and nothing else is known."""
    model = Composition(system.over(Channel(k)))
    space = explore(_Whole(model), effort=effort)
    certain: dict[str, BoundedNode | None] = dict.fromkeys(TITLES)
    for state in space.steps:
        for name in lost_for_good(system, model.encoding.configuration(state.state)):
            certain[name] = state if certain[name] is None else certain[name]
        if None not in certain.values():
            break
    return WithinCapacity(model, space, {}, None, dict.fromkeys(TITLES), certain)


def _verdict(bounded: WithinCapacity, name: str) -> Verdict | None:
    k, stuck, lost = bounded.k, bounded.certain[name], bounded.fails[name]
    if stuck is not None:
        return Verdict(Status.FAILS, f"reached with capacity {k}", bounded.trace_to(stuck))
    if bounded.unmet is not None or not bounded.conditions:
        return None
    if lost is not None:
        detail = f"reached with capacity {k}, and {k}-exhaustive"
        return Verdict(Status.FAILS, detail, bounded.trace_to(lost))
    return Verdict(Status.HOLDS, bound=Bound(capacities_from=k))


def outside_the_class(system: System) -> Iterator[str]:
    """Why `system` is none of communicating session automata (section 2).

    They have no events, no state that both sends and receives, and one row a tag and partner.
    """
    for place, member in enumerate(system.members):
        for state in member.automaton.states:
            rows = member.automaton.leaving(state.name)
            where = f"state {state.name} of {member.name}"
            ways = [(row.label, system.partners(place, row)) for row in rows]
            if any(row.kind is Kind.EVENT for row in rows):
                yield f"{where} takes an event from outside"
            elif len({row.kind for row in rows}) > 1:
                yield f"{where} both sends and receives"
            elif any(len(partners) > 1 for _, partners in ways):
                yield f"a row of {where} does not deal with one partner alone"
            elif len(set(ways)) < len(ways):
                yield f"{where} has two rows for one tag"


def is_directed(system: System) -> bool:
    """Whether each state deals with one partner alone."""
    return all(
        len({system.partners(place, row) for row in member.automaton.leaving(state.name)}) <= 1
        for place, member in enumerate(system.members)
        for state in member.automaton.states
    )


def _is_deterministic(system: System) -> bool:
    """Whether machines can take a trace by its labels."""
    return all(
        len({(row.source, row.action) for row in member.automaton.transitions})
        == len(member.automaton.transitions)
        for member in system.members
    )


EXHAUSTIVE, OUTPUTS, STRONG_INPUTS, CHAINED_INPUTS = "exhaustive", "obi", "sibi", "cibi"
"""The conditions of the theorem, by name."""


def within(system: System, k: int, effort: Effort | None = None) -> WithinCapacity:
    """What holds within capacity `k`, of all states or, where they are many or a condition is not
    met, of those in which members take turns. Raises `TooLarge` past `effort`, and `UsageError` for
    a system outside the class.
    """
    for reason in outside_the_class(system):
        raise UsageError(f"k-MC is about other systems: {reason}")
    effort = Effort(MOST_STATES) if effort is None else effort
    small = replace(effort, states=min(effort.states, WHOLE))
    try:
        whole = _within(system, k, small, reduced=False)
    except TooLarge as error:
        try:
            return _within(system, k, effort, reduced=True)
        except TooLarge:
            if effort.states > WHOLE:
                raise
            raise error from None
    if whole.unmet is None:
        return whole
    # What is not met where receivers are idle may be met where they take their turns.
    reduced = _within(system, k, effort, reduced=True)
    return whole if reduced.unmet is not None else reduced


def _within(system: System, k: int, effort: Effort, *, reduced: bool) -> WithinCapacity:
    graph = _Graph(system, k, effort, reduced=reduced)
    obstacles = dict(graph.conditions())
    conditions = {name: obstacle is None for name, obstacle in obstacles.items()}
    unmet = next((obstacle for obstacle in obstacles.values() if obstacle is not None), None)
    received = {link: graph.leading_to(graph.taking(link)) for link in graph.links}
    can = {place: graph.leading_to(graph.receiving(place)) for place in range(len(system.members))}
    fails: dict[str, BoundedNode | None] = dict.fromkeys(TITLES)
    certain: dict[str, BoundedNode | None] = dict.fromkeys(TITLES)
    for state in graph.space.steps:
        lost = set[str]()
        if any(state not in received[link] for link in graph.filled(state)):
            lost.add(EVENTUAL_RECEPTION)
        if any(state not in can[place] for place in graph.waiting(state)):
            lost.add(PROGRESS)
        for name in lost:
            fails[name] = state if fails[name] is None else fails[name]
        if lost and None in certain.values():
            for name in lost_for_good(system, graph.known[state]):
                certain[name] = state if certain[name] is None else certain[name]
    return WithinCapacity(graph.model, graph.space, conditions, unmet, fails, certain, reduced)


class BoundedNode(NamedTuple):
    """A state; of the reduced graph also whose turn it is, one after the other."""

    state: int
    turns: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Whole:
    """Every state within a capacity."""

    model: Composition

    @property
    def name(self) -> str:
        return self.model.name

    def initial(self) -> Iterator[BoundedNode]:
        return map(BoundedNode, self.model.initial())

    def successors(self, node: BoundedNode) -> Iterator[Step[BoundedNode]]:
        return (Step(s.action, BoundedNode(s.target)) for s in self.model.successors(node.state))

    def propositions(self, node: BoundedNode) -> frozenset[str]:
        return self.model.propositions(node.state)


@dataclass(frozen=True)
class _InTurns(_Whole):
    """One order of what members do independently: they take turns, round by round.

    In a round each member acts once that is ready: it can receive, or has room for whatever it may
    send; who receives comes first, which keeps buffers short. See `_Graph` for why that is enough.
    """

    ready: Callable[[int, int], bool]
    receives: Callable[[int, int], bool]

    def successors(self, node: BoundedNode) -> Iterator[Step[BoundedNode]]:
        members = range(len(self.model.system.members))
        turns = [place for place in node.turns if self.ready(node.state, place)]
        if not turns:
            turns = [place for place in members if self.ready(node.state, place)]
            turns.sort(key=lambda place: not self.receives(node.state, place))
        for move in self.model.moves(node.state) if turns else ():
            if move.rows[0][0] == turns[0]:
                yield Step(move.action, BoundedNode(node.state + move.difference, tuple(turns[1:])))


class _Graph:
    """The states within capacity k, with what the conditions ask of them.

    `reduced`: in each state the steps of the one member are followed whose turn it is.

    Why that is enough, where the conditions hold (compare the paper's section 4). Let T be the
    system over unbounded channels. In T nobody but a member itself changes what it can send; and
    what it can receive stays as it is if nobody sends it another message that it could take as
    well. A member that sends is followed with all that it may send. Of receptions `sibi` or `cibi`
    say that no such other message is sent, in a run that is followed, unless it depends on what is
    received. So let a run of T lead from a node, and let member m have the turn there. If m acts in
    the run, its first action is one of the steps that are followed (else another message for m
    was sent, without need of them, by a shorter run: by induction a run that is followed sends it
    too, which was excluded), and it can be taken first: the rest of the run is shorter. If m does
    not act in it, any step of m can be taken besides. So who is ready and acts first in the run
    gets its turn; there remain runs that begin with members that send and lack room. There
    `exhaustive` has a way that makes room without the sender; the first action on it of a member
    that also acts in the run is that member's first action there as well, or one may take that
    instead, by the same two reasons, and again the rest is shorter. So every run of T is one that
    is followed, up to the order of independent actions and to actions besides, and whether a
    message can be received from somewhere on is the same in both.
    """

    def __init__(self, system: System, k: int, effort: Effort, *, reduced: bool) -> None:
        self.system = system
        self.k = k
        self.reduced = reduced
        self.model = Composition(system.over(Channel(k)))
        encoding = self.model.encoding
        self._number = {Link(*link): number for number, link in enumerate(encoding.links)}
        self._rows = [
            {
                state.name: [
                    (row, self._link(place, row)) for row in member.automaton.leaving(state.name)
                ]
                for state in member.automaton.states
            }
            for place, member in enumerate(system.members)
        ]
        self.links = tuple(
            dict.fromkeys(
                (
                    *self._number,
                    *(
                        link
                        for states in self._rows
                        for rows in states.values()
                        for row, link in rows
                        if row.kind is Kind.RECEIVE
                    ),
                )
            )
        )
        self._waiting = [
            {
                name
                for name, rows in states.items()
                if rows and rows[0][0].kind is Kind.RECEIVE and name not in member.automaton.final
            }
            for states, member in zip(self._rows, system.members, strict=True)
        ]
        graph = _InTurns(self.model, self._ready, self._receives) if reduced else _Whole(self.model)
        self.space = explore(graph, effort=effort)
        self.known = {node: self._configuration(node.state) for node in self.space.steps}
        self.steps = {node: tuple(self._taken(node)) for node in self.space.steps}
        self.before: dict[BoundedNode, list[tuple[BoundedNode, int]]] = {}
        for node, steps in self.steps.items():
            for step in steps:
                self.before.setdefault(step.target, []).append((node, step.actor))

    def _configuration(self, state: int) -> Configuration:
        configuration = self._configurations.get(state)
        if configuration is None:
            configuration = self._configurations[state] = self.model.encoding.configuration(state)
        return configuration

    @cached_property
    def _configurations(self) -> dict[int, Configuration]:
        return {}

    def _receives(self, state: int, place: int) -> bool:
        """Whether a member is in a state in which it receives."""
        rows = self._rows[place][self._configuration(state).at[place]]
        return bool(rows) and rows[0][0].kind is Kind.RECEIVE

    def _ready(self, state: int, place: int) -> bool:
        """Whether a member can receive, or has room for whatever it may send."""
        at, buffers, _ = self._configuration(state)
        rows = self._rows[place][at[place]]
        if rows and rows[0][0].kind is Kind.SEND:
            return all(len(buffers[self._number[link]]) < self.k for _, link in rows)
        numbers = ((row, self._number.get(link)) for row, link in rows)
        return any(n is not None and buffers[n][:1] == (row.label,) for row, n in numbers)

    def _link(self, actor: int, row: Transition) -> Link:
        # Without a partner no message is ever on the link; in the class nobody has several.
        (other,) = self.system.partners(actor, row) or (actor,)
        return Link(other, actor) if row.kind is Kind.RECEIVE else Link(actor, other)

    def _taken(self, node: BoundedNode) -> Iterator[TakenStep]:
        targets = {(step.action, step.target.state): step.target for step in self.space.steps[node]}
        for move in self.model.moves(node.state):
            target = targets.get((move.action, node.state + move.difference))
            if target is not None:
                ((actor, row),) = move.rows
                yield TakenStep(actor, row, self._link(actor, row), target)

    def leading_to(
        self, goals: Iterable[BoundedNode], without: int | None = None
    ) -> set[BoundedNode]:
        """The nodes from which a goal is reached, without a move of the member `without`."""
        leading = set(goals)
        left = list(leading)
        while left:
            for state, actor in self.before.get(left.pop(), ()):
                if actor != without and state not in leading:
                    leading.add(state)
                    left.append(state)
        return leading

    def _where(self, wanted: Callable[[TakenStep], bool]) -> list[BoundedNode]:
        """The states in which a step that is wanted is followed."""
        return [state for state, steps in self.steps.items() if any(map(wanted, steps))]

    def taking(self, link: Link) -> list[BoundedNode]:
        """The states in which a message is received on a link."""
        return self._where(lambda step: step.row.kind is Kind.RECEIVE and step.link == link)

    def receiving(self, place: int) -> list[BoundedNode]:
        """The states in which a member receives."""
        return self._where(lambda step: step.row.kind is Kind.RECEIVE and step.actor == place)

    def filled(self, state: BoundedNode) -> Iterator[Link]:
        """The links on which something is on its way."""
        buffers = self.known[state].buffers
        return (link for link, number in self._number.items() if buffers[number])

    def waiting(self, state: BoundedNode) -> Iterator[int]:
        """The members that wait for a message; in an end state nobody has to."""
        at = self.known[state].at
        return (place for place, names in enumerate(self._waiting) if at[place] in names)

    # The conditions of the theorem, each with the first state where it does not hold.

    def conditions(self) -> Iterator[tuple[str, Unmet | None]]:
        """Each condition, as far as it is asked: of a directed system it is the first alone, and
        chained inputs where strong ones are not met. In turns a member is ready for all that it may
        send, so that nothing is asked of outputs.
        """
        yield EXHAUSTIVE, self._exhaustive()
        if not is_directed(self.system):
            if not self.reduced:
                yield OUTPUTS, self._outputs()
            strong = self._strong_inputs()
            if strong is None:
                yield STRONG_INPUTS, None
            else:
                yield CHAINED_INPUTS, self._chained_inputs()

    def _exhaustive(self) -> Unmet | None:
        """Whatever a member is about to send can be sent, it standing still until then (Def. 9)."""
        blocked: dict[tuple[int, Link, str], list[BoundedNode]] = {}
        free: dict[tuple[int, Link, str], list[BoundedNode]] = {}
        for node, (at, buffers, _) in self.known.items():
            for place, where in enumerate(at):
                for link in dict.fromkeys(
                    link for row, link in self._rows[place][where] if row.kind is Kind.SEND
                ):
                    can = len(buffers[self._number[link]]) < self.k
                    if self.reduced:  # whose turn it never is, sends nothing
                        can = any(step.actor == place for step in self.steps[node])
                    (free if can else blocked).setdefault((place, link, where), []).append(node)
        first: Unmet | None = None
        order = {node: number for number, node in enumerate(self.known)}
        for (place, link, where), nodes in blocked.items():
            leading = self.leading_to(free.get((place, link, where), ()), without=place)
            lost = next((node for node in nodes if node not in leading), None)
            if lost is not None and (first is None or order[lost] < order[first.state]):
                names = self._names(place, link.receiver)
                first = Unmet(
                    f"{self.k}-exhaustive",
                    f"{names[0]} in {where} cannot send to {names[1]} before it has received more",
                    lost,
                )
        return first

    def _outputs(self) -> Unmet | None:
        """Who can send one of its messages can send all of them (k-OBI, Def. 6)."""
        for state, (at, buffers, _) in self.known.items():
            for place, where in enumerate(at):
                rows = [pair for pair in self._rows[place][where] if pair[0].kind is Kind.SEND]
                full = [link for _, link in rows if len(buffers[self._number[link]]) == self.k]
                if full and len(full) < len(rows):
                    names = self._names(place, full[0].receiver)
                    reason = f"{names[0]} in {where} can send, but not to {names[1]}"
                    return Unmet(f"{self.k}-OBI", reason, state)
        return None

    def _choices(self) -> Iterator[tuple[BoundedNode, TakenStep, list[tuple[Link, str]]]]:
        """Where a member receives that listens to several: the state, what it receives, and what
        it could receive from others.
        """
        for state, steps in self.steps.items():
            for step in steps:
                if step.row.kind is Kind.RECEIVE:
                    rows = self._rows[step.actor][self.known[state].at[step.actor]]
                    others = [(link, row.label) for row, link in rows if link != step.link]
                    if others:
                        yield state, step, others

    def _is_next(self, state: BoundedNode, link: Link, tag: str) -> bool:
        number = self._number.get(link)
        return number is not None and self.known[state].buffers[number][:1] == (tag,)

    def _both(
        self, state: BoundedNode, step: TakenStep, others: list[tuple[Link, str]]
    ) -> Unmet | None:
        """Two messages from different senders that a member could receive (IBI, Def. 7)."""
        for link, tag in others:
            if self._is_next(state, link, tag):
                return self._inputs("IBI", state, step, link, tag)
        return None

    def _inputs(
        self, name: str, state: BoundedNode, step: TakenStep, link: Link, tag: str
    ) -> Unmet:
        receiver, sender = self._names(step.actor, link.sender)
        other = self.system.members[step.link.sender].name
        reason = (
            f"{receiver} receives {step.row.label} from {other}, while {sender} may send it {tag}"
        )
        return Unmet(f"{self.k}-{name}", reason, state)

    def _strong_inputs(self) -> Unmet | None:
        """What a member could receive from others is not sent from there on (k-SIBI, Def. 11)."""
        sent: dict[tuple[Link, str], set[BoundedNode]] = {}
        for state, step, others in self._choices():
            unmet = self._both(state, step, others)
            if unmet is not None:
                return unmet
            for link, tag in others:
                if (link, tag) not in sent:
                    sent[link, tag] = self.leading_to(self._where(_sends(link, tag)))
                if state in sent[link, tag]:
                    return self._inputs("SIBI", state, step, link, tag)
        return None

    def _chained_inputs(self) -> Unmet | None:
        """What a member could receive from others is sent, if at all, only because of what it
        receives (k-CIBI, Def. 10).
        """
        seen: dict[tuple[int, str, Link], set[DependenceChain]] = {}
        for state, step, others in self._choices():
            unmet = self._both(state, step, others)
            if unmet is not None:
                return unmet
            buffers = self.known[step.target].buffers
            empty = frozenset(link for link, number in self._number.items() if not buffers[number])
            start = DependenceChain(
                step.target, frozenset({step.actor}), frozenset((o, 0) for o in empty)
            )
            met = seen.setdefault((step.actor, self.known[state].at[step.actor], step.link), set())
            sent = self._independent(start, dict.fromkeys(others), met)
            if sent is not None:
                return self._inputs("CIBI", state, step, *sent)
        return None

    def _independent(
        self,
        start: DependenceChain,
        others: Collection[tuple[Link, str]],
        met: set[DependenceChain],
    ) -> tuple[Link, str] | None:
        """Something of `others` that is sent in some run though it does not depend on the start."""
        senders = {link.sender for link, _ in others}
        left = [] if start in met else [start]
        met.add(start)
        while left:
            chain = left.pop()
            if senders <= chain.members:
                continue  # whatever they send depends on it from now on
            for step in self.steps[chain.state]:
                sent = (step.link, step.row.label)
                if step.actor not in chain.members and sent in others:  # its receiver is in them
                    return sent
                after = chain.after(step)
                if after not in met:
                    if len(met) > MOST_CHAINS:  # then nothing is known of it, as if it were sent
                        return next(iter(others))
                    met.add(after)
                    left.append(after)
        return None

    def _names(self, *places: int) -> tuple[str, ...]:
        return tuple(self.system.members[place].name for place in places)


class DependenceChain(NamedTuple):
    """A state, and who has acted because of the first action: members that depend on it.

    Of each link that was empty at first, how many messages are on it that do not depend on it; a
    message that does makes its receiver dependent. Other links carry no dependence (as in the
    paper), so that no more is called dependent than is.
    """

    state: BoundedNode
    members: frozenset[int]
    free: frozenset[tuple[Link, int]]

    def after(self, step: TakenStep) -> DependenceChain:
        """Where a step leads."""
        members, free = self.members, dict(self.free)
        count = free.get(step.link)
        if count is not None and step.row.kind is Kind.SEND and step.actor not in members:
            free[step.link] = count + 1
        elif count is not None and step.row.kind is Kind.RECEIVE:
            if count:
                free[step.link] = count - 1
            else:
                members |= {step.actor}
        return DependenceChain(step.target, members, frozenset(free.items()))


def _sends(link: Link, tag: str) -> Callable[[TakenStep], bool]:
    return lambda step: (step.row.kind, step.link, step.row.label) == (Kind.SEND, link, tag)
