"""Sessions as a model: two tables, a synchronous channel, the protocol's rules, any data.

The model calls the decision functions that sessions call and takes the rows of the tables that
sessions run on. What MATCH and AGREE say is decided by a `Theory`: everything that any relation
under its assumptions could say, for any number of values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import product
from typing import Any, NamedTuple, TypeVar

from proofs.core.model import Step
from proofs.sessions.relational import EMPTY, Structure, Theory
from pxp_fsm.automata.actions import Blocked, Say
from pxp_fsm.automata.automaton import DECIDE, Automaton, Event, happening, one_hot, sending
from pxp_fsm.errors import PXPError
from pxp_fsm.protocol.decisions import Guard
from pxp_fsm.protocol.messages import Tag
from pxp_fsm.protocol.rules import CATEGORY, MATCH, Pxp, Role, Rules, derive
from pxp_fsm.sessions.session import CLOSE

T = TypeVar("T")

AGENTS = ("m", "h")
"""The initiator and the responder, as the papers name them."""


class Sent(NamedTuple):
    """What intelligibility asks of the tags that an agent has sent so far."""

    accepted: bool = False
    rejected: bool = False
    only_accepted: bool = True
    revised: bool = False

    def and_then(self, tag: str) -> Sent:
        """The same after `tag`; INIT and TERM do not count."""
        if tag in (Tag.INIT, Tag.TERM):
            return self
        accepting = tag in (Tag.RATIFY, Tag.REVISE)
        return Sent(
            self.accepted or accepting,
            self.rejected or tag == Tag.REJECT,
            self.only_accepted and accepting,
            self.revised or tag == Tag.REVISE,
        )


class State(NamedTuple):
    """A session after `sent` messages.

    `at` are the two machines' states, `tags` the latest tag of each agent, `history` what each has
    sent, `loops` how often each self-loop was taken (PXP(k)); `over` says how it ended ("" while it
    has not, "stuck" where the tables do not allow what the rules demand).
    """

    sent: int
    at: tuple[str, str]
    tags: tuple[str, str]
    predictions: Structure
    explanations: Structure
    history: tuple[Sent, Sent]
    loops: tuple[tuple[str, int], ...] = ()
    over: str = ""


class Judged(NamedTuple):
    """What one relation said at a message, and how the latest two values are related after it.

    `same` compares the received value with one's own; `revision` is the answer on which REVISE
    depends (INTERACT: the new value with one's own; PXP: the new value with the received one).
    `kept` and `taken` are the structures if the agent keeps its value, or takes the new one.
    """

    same: bool
    revision: bool
    kept: Structure
    taken: Structure


class Taken(NamedTuple):
    """What the two machines make of a message, and where they are after it."""

    action: Say | Blocked
    at: tuple[str, str]


def action_of(step: Step[Any]) -> Say | Blocked:
    """The action of a step of a session."""
    if not isinstance(step.action, Say | Blocked):
        raise TypeError(f"{step.label} is not a step of a session")
    return step.action


def tag_of(step: Step[Any]) -> str:
    """The tag that a step of a session says; "" where the speaker is blocked."""
    return step.action.tag if isinstance(step.action, Say) else ""


def speaker_of(step: Step[Any]) -> int:
    """Whose step it is: 0 for the initiator, 1 for the responder."""
    return AGENTS.index(action_of(step).agent)


def session(*tags: Tag) -> tuple[Say, ...]:
    """The messages with these tags, of the two agents in turn."""
    return tuple(Say(AGENTS[number % 2], tag.value) for number, tag in enumerate(tags))


class Decision(NamedTuple):
    """A guard that may hold, the data that follow, and the answers of MATCH and AGREE to it.

    `answers` are in the order in which an agent with derived guards asks.
    """

    guard: Guard
    data: tuple[Structure, Structure]
    answers: tuple[bool, ...]


@dataclass(frozen=True)
class SessionModel:
    """Sessions under `rules` between two agents with the tables `tables`, for any data.

    `tables` are the initiator's and the responder's; by default both are the rules' own. PXP's
    TERM policy is left open: an agent that must answer may always hang up, and need not. Where
    nothing is asked of intelligibility, `observes=False` leaves `State.history` out. With
    `counting`, PXP's messages are counted without end. With `keeps_unchanged`, one's previous
    answer is sent in place of one that counts as unchanged, as the authors' published code has it.
    """

    rules: Rules
    theory: Theory
    tables: tuple[Automaton, Automaton] | None = None
    observes: bool = True
    counting: bool = False
    keeps_unchanged: bool = False

    @cached_property
    def both(self) -> tuple[Automaton, Automaton]:
        """The two tables."""
        return self.tables or (self.rules.automaton, self.rules.automaton)

    @property
    def name(self) -> str:
        bounds = ", ".join(
            f"{letter} = {value}"
            for letter, value in (("n", self.rules.n), ("k", self.rules.k))
            if value is not None
        )
        return f"{self.rules.name}({bounds})"

    def initial(self) -> Iterable[State]:
        start = (self.both[0].initial, self.both[1].initial)
        yield State(0, start, ("", ""), EMPTY, EMPTY, (Sent(), Sent()))

    def successors(self, state: State) -> Iterable[Step[State]]:
        if state.over:
            return ()
        return dict.fromkeys(self._moves(state))

    def propositions(self, state: State) -> frozenset[str]:
        names = {f"{agent}:{tag}" for agent, tag in zip(AGENTS, state.tags, strict=True) if tag}
        if state.over:
            names.add(f"over:{state.over}")
        return frozenset(names)

    def answering(self, state: State, y: tuple[bool, bool], e: tuple[bool, bool]) -> Step[State]:
        """INTERACT's step from `state`, at message 2 or later, by `same` and `revision` of each.

        It keeps the relations between values as they are: for callers that keep the values.
        """
        kept_y, kept_e = state.predictions, state.explanations
        judged = Judged(*y, kept_y, kept_y), Judged(*e, kept_e, kept_e)
        outcome = self._outcome(*judged, state.sent + 1)
        return self._send(state, self._speaker(state), DECIDE, *outcome)

    def _moves(self, state: State) -> Iterator[Step[State]]:
        number = state.sent + 1
        data = (state.predictions, state.explanations)
        if number == 1:
            for y, e in product(*(self.theory.extensions(EMPTY),) * 2):
                yield self._send(state, 0, sending(Tag.INIT), None, (y, e))
            return
        speaker = self._speaker(state)
        if isinstance(self.rules, Pxp):
            yield from self._terms(state, speaker, data)
        for outcome in self._outcomes(*data, speaker, number):
            yield from self._follow(state, speaker, outcome)

    def judgements(self, state: State) -> Iterator[tuple[Judged, Judged]]:
        """Everything that MATCH and AGREE may say in `state`, at message 2 or later."""
        number, speaker = state.sent + 1, self._speaker(state)
        return product(
            self._judge(state.predictions, speaker, number),
            self._judge(state.explanations, speaker, number),
        )

    def after(self, state: State, y: Judged, e: Judged) -> Iterator[Step[State]]:
        """The steps from `state`, at message 2 or later, where the relations say `y` and `e`."""
        return self._follow(state, self._speaker(state), self._outcome(y, e, state.sent + 1))

    def _follow(self, state: State, speaker: int, outcome: Decision) -> Iterator[Step[State]]:
        """What an agent does whose guards are settled: its row, or TERM for one loop too many."""
        if self._forbidden(state, speaker, state.tags[1 - speaker], outcome.guard):
            for step in self._terms(state, speaker, outcome.data):
                yield replace(step, facts=outcome.answers)
        else:
            yield self._send(state, speaker, DECIDE, *outcome)

    def _speaker(self, state: State) -> int:
        return 0 if self.rules.functions.initiator_speaks(state.sent + 1) else 1

    def _outcomes(
        self, predictions: Structure, explanations: Structure, speaker: int, number: int
    ) -> tuple[Decision, ...]:
        """Every guard that may hold at message `number`, with every data that may follow."""
        key = (predictions, explanations, speaker, number)
        if key not in self._known:
            found: dict[tuple[object, ...], Decision] = {}
            for y, e in product(
                self._judge(predictions, speaker, number),
                self._judge(explanations, speaker, number),
            ):
                outcome = self._outcome(y, e, number)
                found.setdefault((outcome.guard, outcome.data), outcome)
            self._known[key] = tuple(found.values())
        return self._known[key]

    @cached_property
    def _known(self) -> dict[tuple[Structure, Structure, int, int], tuple[Decision, ...]]:
        return {}

    def _outcome(self, y: Judged, e: Judged, number: int) -> Decision:
        """What the protocol's decision functions make of the two relations' answers."""
        answers = list[bool]()
        while not isinstance(found := derive(self.rules, number, answers), Guard):
            judged = y if found.relation == MATCH else e
            compared = (found.left, found.right)
            answers.append(judged.same if compared == CATEGORY else judged.revision)
        takes = self.rules.carries(found) is Role.NEW
        if self.keeps_unchanged and y.revision and e.revision:
            takes = False
        data = (y.taken, e.taken) if takes else (y.kept, e.kept)
        return Decision(found, data, tuple(answers))

    def _judge(self, base: Structure, speaker: int, number: int) -> tuple[Judged, ...]:
        """Everything that the speaker's relation may say."""
        key = (base, speaker, number == 2)
        if key not in self._judgements:
            # agreement first, not in a set's order: traces are always the same
            found = dict.fromkeys(self._judged(*key))
            self._judgements[key] = tuple(sorted(found, key=lambda one: one[:2], reverse=True))
        return self._judgements[key]

    @cached_property
    def _judgements(self) -> dict[tuple[Structure, int, bool], tuple[Judged, ...]]:
        return {}

    def _judged(self, base: Structure, speaker: int, second: bool) -> Iterator[Judged]:
        """The same for message 2, or for a later one: nothing else of the number matters."""
        theory, changes = self.theory, self.rules.asks_each_time
        for mine in theory.extensions(base) if second else (base,):
            own, other = (1, 0) if second else (speaker, 1 - speaker)
            at_once = second and changes
            fresh = own if at_once else mine.points
            for one in (mine,) if at_once else theory.extensions(mine):
                taken = one.keep(0, fresh) if speaker else one.keep(fresh, 1)
                points = {Role.RECEIVED: other, Role.OWN: own, Role.NEW: fresh}
                pairs = ([points[role] for role in of] for of in (CATEGORY, self.rules.revision))
                first, then = (theory.answers(one, speaker, *pair) for pair in pairs)
                for same, revision in product(first, then):
                    yield Judged(same, revision, mine, taken)

    def _tag(self, speaker: int, state: str, guard: Guard) -> str | None:
        """The tag that the speaker's table names under `guard`; None where it has no such row."""
        rows = (t for t in self.both[speaker].leaving(state) if t.guard == guard)
        return next((row.label for row in rows), None)

    def _forbidden(self, state: State, speaker: int, received: str, guard: Guard) -> bool:
        """PXP(k): whether answering under `guard` would take its tag's self-loop too often."""
        if not isinstance(self.rules, Pxp) or self.rules.k is None:
            return False
        tag = self._tag(speaker, state.at[speaker], guard)
        if tag is None or not self.rules.functions.repeats(received, tag):
            return False
        return self.rules.functions.exhausted(dict(state.loops).get(tag, 0), self.rules.k)

    def _send(
        self,
        state: State,
        speaker: int,
        event: Event,
        guard: Guard | None,
        data: tuple[Structure, Structure],
        facts: tuple[bool, ...] = (),
    ) -> Step[State]:
        """The step in which `speaker` takes its row, the peer receives, and the rules may close."""
        listener = 1 - speaker
        taken = self._exchange(speaker, state.at, event, guard)
        if isinstance(taken.action, Blocked):
            return Step(taken.action, state._replace(over="stuck"), facts)
        tag, received = taken.action.tag, state.tags[listener]
        following = State(
            self._count(state.sent + 1),
            taken.at,
            _put(state.tags, speaker, tag),
            *data,
            self._observed(state, speaker, tag),
            self._looped(state, received, tag),
        )
        return Step(taken.action, self._close(following, tag, received), facts)

    @cached_property
    def _exchange(self) -> Callable[[int, tuple[str, str], Event, Guard | None], Taken]:
        """What the two tables say of a message, remembered."""
        return cache(self._exchanged)

    def _exchanged(
        self, speaker: int, at: tuple[str, str], event: Event, guard: Guard | None
    ) -> Taken:
        """What the two tables say of a message: the sender's row, then the receiver's."""
        table, where, listener = self.both[speaker], at[speaker], 1 - speaker
        valuation = one_hot(guard, table.guards_of(where)) if guard else None
        try:
            row = table.step(where, event, valuation)
        except PXPError:
            return Taken(Blocked(AGENTS[speaker], f"cannot {event}"), at)
        heard = self.both[listener].receives(at[listener], row.label)
        if heard is None:
            return Taken(Blocked(AGENTS[speaker], f"{row.label} is not taken"), at)
        after = _put(_put(at, speaker, row.target), listener, heard.target)
        return Taken(Say(AGENTS[speaker], row.label), after)

    def _observed(self, state: State, speaker: int, tag: str) -> tuple[Sent, Sent]:
        if not self.observes:
            return state.history
        return _put(state.history, speaker, state.history[speaker].and_then(tag))

    def _count(self, sent: int) -> int:
        """PXP has no bound: after three messages only whose turn it is counts."""
        if self.counting or self.rules.n is not None or sent < 4:
            return sent
        return sent - 2

    def _looped(self, state: State, received: str, tag: str) -> tuple[tuple[str, int], ...]:
        """How often each self-loop has been taken, where PXP(k) counts it."""
        if (
            self.rules.n is not None
            or self.rules.k is None
            or not self.rules.functions.repeats(received, tag)
        ):
            return state.loops
        loops = dict(state.loops)
        loops[tag] = loops.get(tag, 0) + 1
        return tuple(sorted(loops.items()))

    def _terms(
        self, state: State, speaker: int, data: tuple[Structure, Structure]
    ) -> Iterator[Step[State]]:
        """Hanging up, which row 8 allows whoever must answer; `data` is what is sent."""
        number = state.sent + 1
        if number > 2:
            yield self._send(state, speaker, sending(Tag.TERM), None, data)
            return
        for y, e in product(*(self.theory.extensions(part) for part in data)):
            yield self._send(state, speaker, sending(Tag.TERM), None, (y, e))

    def _close(self, state: State, tag: str, previous: str) -> State:
        if isinstance(self.rules, Pxp):
            return state._replace(over="term") if tag == Tag.TERM else state
        stopped = self.rules.functions.stops(tag, previous or Tag.INIT)
        if not self.rules.functions.done(state.sent, self.rules.n, stopped):
            return state
        after = self._closing(state.at)
        if after is None:
            return state._replace(over="stuck")
        why = "bound" if not stopped else "rejected" if tag == Tag.REJECT else "ratified"
        return state._replace(at=after, over=why)

    @cached_property
    def _closing(self) -> Callable[[tuple[str, str]], tuple[str, str] | None]:
        """Where the schedule's close leads the machines, remembered."""
        return cache(self._closed)

    def _closed(self, at: tuple[str, str]) -> tuple[str, str] | None:
        """Where the schedule's close leads the machines; None where a table has no row for it."""
        try:
            rows = [t.step(s, happening(CLOSE)) for t, s in zip(self.both, at, strict=True)]
        except PXPError:
            return None
        return rows[0].target, rows[1].target


def _put(pair: tuple[T, T], agent: int, value: T) -> tuple[T, T]:
    return (pair[0], value) if agent else (value, pair[1])
