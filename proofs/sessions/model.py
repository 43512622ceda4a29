"""Sessions as a model: two tables, a synchronous channel, the protocol's rules, any data.

The model calls the decision functions that sessions call and takes the rows of the tables that
sessions run on. What MATCH and AGREE say is decided by a `Theory`: everything that any relation
under its assumptions could say, for any number of values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache, cached_property
from itertools import product
from typing import Any, NamedTuple, TypeVar

from proofs.core.explore import Step
from proofs.sessions.relational import (
    EMPTY,
    Data,
    GuardOutcome,
    Judgements,
    RelationOutcome,
    Said,
    Structure,
    Theory,
)
from pxp_fsm.automata.actions import Blocked, Say
from pxp_fsm.automata.automaton import DECIDE, Automaton, happening, one_hot, sending
from pxp_fsm.automata.rules import Values
from pxp_fsm.errors import PXPError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.decisions import Guard, initiator_speaks
from pxp_fsm.protocol.messages import Tag
from pxp_fsm.protocol.rules import Ending, Pxp, Rules
from pxp_fsm.sessions.policy import CLOSE

T = TypeVar("T")

AGENTS = ("m", "h")
"""The initiator and the responder, as the papers name them."""


class SentSoFar(NamedTuple):
    """What intelligibility asks of the tags that an agent has sent so far."""

    accepted: bool = False
    rejected: bool = False
    only_accepted: bool = True
    revised: bool = False

    def and_then(self, tag: str) -> SentSoFar:
        """The same after `tag`; INIT and TERM do not count."""
        if tag in (Tag.INIT, Tag.TERM):
            return self
        accepting = tag in (Tag.RATIFY, Tag.REVISE)
        return SentSoFar(
            self.accepted or accepting,
            self.rejected or tag == Tag.REJECT,
            self.only_accepted and accepting,
            self.revised or tag == Tag.REVISE,
        )


class SessionState(NamedTuple):
    """A session after `sent` messages.

    `at` are the two machines' states, `tags` the latest tag of each agent, `history` what each has
    sent, `counted` the registers of PXP(k); `over` says how it ended ("" while it has not, "stuck"
    where the tables do not allow what the rules demand).
    """

    sent: int
    at: Pair
    tags: Pair
    predictions: Structure
    explanations: Structure
    history: tuple[SentSoFar, SentSoFar]
    counted: Values = ()
    over: str = ""


class Taken(NamedTuple):
    """What the two machines make of a message, and where they are after it."""

    action: Say | Blocked
    at: Pair


class SessionMove(NamedTuple):
    """A step without its data and registers: the action, and the state after it.

    `tag` is what is sent.
    """

    action: Say | Blocked
    after: SessionState
    tag: str = ""


Moved = tuple[SessionMove, Values, Data, tuple[bool, ...]]
"""A move, the registers and data that it leads to, and the answers behind it."""

Pair = tuple[str, str]


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

    def initial(self) -> Iterable[SessionState]:
        start = (self.both[0].initial, self.both[1].initial)
        first = self.rules.first if isinstance(self.rules, Pxp) else ()
        yield SessionState(0, start, ("", ""), EMPTY, EMPTY, (SentSoFar(), SentSoFar()), first)

    def successors(self, state: SessionState) -> Iterable[Step[SessionState]]:
        if state.over:
            return ()
        if state.sent and not isinstance(self.rules, Pxp):
            data, number = (state.predictions, state.explanations), state.sent + 1
            outcomes = self._judgements.outcomes(data, self._speaker(state), number)
            moves = {
                guard: self._move(state, guard)
                for guard in {outcome.guard: None for outcome in outcomes}
            }
            if _apart(moves.values()):
                return [
                    _step(moves[guard], (), carried, facts) for guard, carried, facts in outcomes
                ]
        return self._steps(state, self._moves(state))

    def propositions(self, state: SessionState) -> frozenset[str]:
        names = {f"{agent}:{tag}" for agent, tag in zip(AGENTS, state.tags, strict=True) if tag}
        if state.over:
            names.add(f"over:{state.over}")
        return frozenset(names)

    def answering(self, state: SessionState, y: Said, e: Said) -> Step[SessionState]:
        """INTERACT's step from `state`, at message 2 or later, by `same` and `revision` of each.

        It keeps the relations between values as they are: for callers that keep the values.
        """
        guard, answers, _ = self._judgements.derived(state.sent + 1, y, e)
        data = state.predictions, state.explanations
        return _step(self._move(state, guard), state.counted, data, answers)

    def guard(self, number: int, y: Said, e: Said) -> Guard:
        """The guard of INTERACT at a message; where `answering` leads depends on nothing else."""
        return self._judgements.derived(number, y, e).guard

    def judgements(self, state: SessionState) -> Iterator[tuple[RelationOutcome, RelationOutcome]]:
        """Everything that MATCH and AGREE may say in `state`, at message 2 or later."""
        number, speaker = state.sent + 1, self._speaker(state)
        judge = self._judgements.judge
        return product(
            judge(state.predictions, speaker, number), judge(state.explanations, speaker, number)
        )

    def after(
        self, state: SessionState, y: RelationOutcome, e: RelationOutcome
    ) -> Iterable[Step[SessionState]]:
        """The steps from `state`, at message 2 or later, where the relations say `y` and `e`."""
        outcome = self._judgements.outcome(y, e, state.sent + 1)
        return self._steps(state, self._answers(state, (outcome,)))

    @cached_property
    def _judgements(self) -> Judgements:
        return Judgements(self.rules, self.theory, self.keeps_unchanged)

    def _steps(self, state: SessionState, moves: Iterable[Moved]) -> Iterable[Step[SessionState]]:
        """Each step once; a message that cannot be sent changes neither registers nor data."""
        distinct: dict[tuple[int, Data], Step[SessionState]] = {}
        kept = state.counted, (state.predictions, state.explanations)
        for move, registers, carried, facts in moves:
            counted, data = kept if isinstance(move.action, Blocked) else (registers, carried)
            key = (id(move), data)
            if key not in distinct:
                distinct[key] = _step(move, counted, data, facts)
        return distinct.values()

    def _moves(self, state: SessionState) -> Iterator[Moved]:
        number = state.sent + 1
        data = (state.predictions, state.explanations)
        if number == 1:
            init = self._move(state, Tag.INIT)
            for pair in product(*(self.theory.extensions(EMPTY),) * 2):
                yield init, self._counted(state, init), pair, ()
            return
        if isinstance(self.rules, Pxp):
            yield from self._terms(state, data)
        yield from self._answers(
            state, self._judgements.outcomes(data, self._speaker(state), number)
        )

    def _answers(self, state: SessionState, outcomes: Iterable[GuardOutcome]) -> Iterator[Moved]:
        """What an agent does whose guards are settled: its row, or TERM for one loop too many."""
        moves = dict[Guard, tuple[SessionMove, Values | None]]()
        for guard, data, answers in outcomes:
            if guard not in moves:
                move = self._move(state, guard)
                forbidden = self._forbidden(state, move)
                moves[guard] = move, None if forbidden else self._counted(state, move)
            move, counted = moves[guard]
            if counted is None:
                yield from self._terms(state, data, answers)
            else:
                yield move, counted, data, answers

    def _terms(
        self, state: SessionState, data: Data, answers: tuple[bool, ...] = ()
    ) -> Iterator[Moved]:
        """Hanging up, which row 8 allows whoever must answer; `data` is what is sent."""
        term = self._move(state, Tag.TERM)
        counted = self._counted(state, term)
        if state.sent > 1:
            yield term, counted, data, answers
            return
        for pair in product(self.theory.extensions(data[0]), self.theory.extensions(data[1])):
            yield term, counted, pair, answers

    def _forbidden(self, state: SessionState, move: SessionMove) -> bool:
        """Whether PXP(k) forbids one more self-loop, so that TERM is sent instead."""
        return isinstance(self.rules, Pxp) and self.rules.forbids(state.counted, move.tag)

    def _counted(self, state: SessionState, move: SessionMove) -> Values:
        """The registers of PXP(k) after a move."""
        if not isinstance(self.rules, Pxp):
            return ()
        return self.rules.remembers(state.counted, move.tag)

    def _speaker(self, state: SessionState) -> int:
        return 0 if initiator_speaks(state.sent + 1) else 1

    def _move(self, state: SessionState, decision: Guard | Tag) -> SessionMove:
        """The move where a guard is true, or a tag is sent without one; equal ones are one object.

        It depends on nothing but the state's control.
        """
        moves = self._known.setdefault((state.sent, state.at, state.tags, state.history), {})
        if decision not in moves:
            sent, at, tags, _, _, history, _, over = state
            new = self._moved(
                SessionState(sent, at, tags, EMPTY, EMPTY, history, (), over), decision
            )
            moves[decision] = next((move for move in moves.values() if move == new), new)
        return moves[decision]

    @cached_property
    def _known(
        self,
    ) -> dict[tuple[int, Pair, Pair, tuple[SentSoFar, SentSoFar]], dict[Guard | Tag, SessionMove]]:
        return {}

    def _moved(self, state: SessionState, decision: Guard | Tag) -> SessionMove:
        """The speaker takes its row, the peer receives, and the rules may close."""
        speaker = 0 if decision is Tag.INIT else self._speaker(state)
        received = state.tags[1 - speaker]
        sent = self._tag(speaker, state.at[speaker], decision)
        taken = self._exchange(speaker, state.at, decision)
        if isinstance(taken.action, Blocked):
            return SessionMove(taken.action, state._replace(over="stuck"), sent)
        tag = taken.action.tag
        following = SessionState(  # `_replace` takes ten times as long
            self._count(state.sent + 1),
            taken.at,
            _put(state.tags, speaker, tag),
            state.predictions,
            state.explanations,
            self._observed(state, speaker, tag),
            state.counted,
            state.over,
        )
        return SessionMove(taken.action, self._close(following, tag, received), sent)

    def _tag(self, speaker: int, at: str, decision: Guard | Tag) -> str:
        """The tag that is sent, where PXP(k) counts it; "" for none."""
        if not isinstance(self.rules, Pxp) or self.rules.k is None:
            return ""
        rows = (row for row in self.both[speaker].leaving(at) if row.guard == decision)
        return (
            decision.value if isinstance(decision, Tag) else next((row.label for row in rows), "")
        )

    @cached_property
    def _exchange(self) -> Callable[[int, tuple[str, str], Guard | Tag], Taken]:
        """What the two tables say of a message, remembered."""
        return cache(self._exchanged)

    def _exchanged(self, speaker: int, at: Pair, decision: Guard | Tag) -> Taken:
        """What the two tables say of a message: the sender's row, then the receiver's."""
        table, where, listener = self.both[speaker], at[speaker], 1 - speaker
        guarded = isinstance(decision, Guard)
        event = DECIDE if guarded else sending(decision)
        valuation = one_hot(decision, table.guards_of(where)) if guarded else None
        try:
            row = table.step(where, event, valuation)
        except PXPError:
            return Taken(Blocked(AGENTS[speaker], f"cannot {event}"), at)
        heard = self.both[listener].receives(at[listener], row.label)
        if heard is None:
            return Taken(Blocked(AGENTS[speaker], f"{row.label} is not taken"), at)
        after = _put(_put(at, speaker, row.target), listener, heard.target)
        return Taken(Say(AGENTS[speaker], row.label), after)

    def _observed(self, state: SessionState, speaker: int, tag: str) -> tuple[SentSoFar, SentSoFar]:
        if not self.observes:
            return state.history
        return _put(state.history, speaker, state.history[speaker].and_then(tag))

    def _count(self, sent: int) -> int:
        """PXP has no bound: after three messages only whose turn it is counts."""
        if self.counting or self.rules.n is not None or sent < 4:
            return sent
        return sent - 2

    def _close(self, state: SessionState, tag: str, previous: str) -> SessionState:
        if isinstance(self.rules, Pxp):
            return state._replace(over="term") if tag == Tag.TERM else state
        key = state.sent, tag, previous
        if key not in self._endings:
            self._endings[key] = self.rules.ending_after(*key)
        ending = self._endings[key]
        if ending is None:
            return state
        after = self._closing(state.at)
        return (
            state._replace(over="stuck") if after is None else state._replace(at=after, over=ending)
        )

    @cached_property
    def _endings(self) -> dict[tuple[int, str, str], Ending | None]:
        """Why the schedule closes a session, remembered."""
        return {}

    @cached_property
    def _closing(self) -> Callable[[tuple[str, str]], tuple[str, str] | None]:
        """Where the schedule's close leads the machines, remembered."""
        return cache(self._closed)

    def _closed(self, at: Pair) -> tuple[str, str] | None:
        """Where the schedule's close leads the machines; None where a table has no row for it."""
        try:
            rows = [t.step(s, happening(CLOSE)) for t, s in zip(self.both, at, strict=True)]
        except PXPError:
            return None
        return rows[0].target, rows[1].target


def _apart(moves: Collection[SessionMove]) -> bool:
    """Whether moves differ and all send something: then different data are different steps."""
    return len({*map(id, moves)}) == len(moves) and not any(
        isinstance(move.action, Blocked) for move in moves
    )


def _step(
    move: SessionMove, counted: Values, data: Data, facts: tuple[bool, ...]
) -> Step[SessionState]:
    action, (sent, at, tags, _, _, history, _, over), _ = move
    return Step(action, SessionState(sent, at, tags, *data, history, counted, over), facts)


def _put(pair: tuple[T, T], agent: int, value: T) -> tuple[T, T]:
    return (pair[0], value) if agent else (value, pair[1])
