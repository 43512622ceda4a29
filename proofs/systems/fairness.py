"""What runs of a system can be fair to, and whether it comes to its end."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator

from proofs.core.explore import Space, Step, TooLarge, explore
from proofs.core.limits import Effort
from proofs.core.results import Status, Verdict
from proofs.logic.fairness import Demand, Keys
from proofs.logic.formulas import atoms
from proofs.logic.termination import ENDED, TERMINATION, TerminationQuestion, questions
from proofs.systems.product import Composition, Move
from proofs.systems.propositions import NotedState, Noting
from proofs.systems.replay import shown
from pxp_fsm.automata.actions import Choose, Decide, Deliver, Exchange, Send
from pxp_fsm.automata.automaton import Transition
from pxp_fsm.automata.unfolding import written


def acting(composition: Composition) -> Keys[NotedState]:
    """Whose step it is; nobody's where an event comes from outside."""

    def agents(state: NotedState, step: Step[NotedState]) -> Iterable[Hashable]:
        moves = moves_of(composition, state, step)
        return {agent for move in moves for agent in agents_of(composition, move)}

    return agents


def agents_of(composition: Composition, move: Move) -> Iterator[str]:
    """Who acts in a move: who sends, chooses or receives, and who causes an event by itself.

    Events that a clock or the outside world raises are nobody's: no run is unfair to them.
    """
    agent = agent_of(move.action)
    if agent is not None:
        yield agent
        return
    for place, row in move.rows:
        if row.by == "self":
            yield composition.system.members[place].name


def whose(composition: Composition) -> str:
    """Whose steps fairness to agents means, where events come from outside; else "", all steps."""
    names = ", ".join(member.name for member in composition.system.members)
    others = ", ".join(
        event
        for event, members in sorted(composition.events.items())
        if any(row.by != "self" for rows in members.values() for row in rows.values())
    )
    return others and f", fair to {names} (not to {others})"


def agent_of(action: Hashable) -> str | None:
    """The member that sends, chooses or receives; None where an event happens."""
    match action:
        case Exchange(sender) | Send(sender):
            return sender
        case Deliver(_, receiver):
            return receiver
        case Choose(member) | Decide(member=member):
            return member
        case _:
            return None


def taking(composition: Composition) -> Keys[NotedState]:
    """Which rows a step takes or chooses, each with its member."""

    def rows(state: NotedState, step: Step[NotedState]) -> Iterable[Hashable]:
        moves = moves_of(composition, state, step)
        return {row_of(*taken) for move in moves for taken in move.rows}

    return rows


def row_of(place: int, row: Transition) -> Hashable:
    """A member's row, whatever its message carries: who is fair to it need not send each value."""
    if written(row.label) == row.label:
        return place, row
    return place, row.row, row.source, written(row.guard or ""), written(row.label), row.partner


def moves_of(composition: Composition, state: NotedState, step: Step[NotedState]) -> Iterator[Move]:
    """The moves that a step may be."""
    for move in composition.moves(state.state):
        if move.action == step.action and state.state + move.difference == step.target.state:
            yield move


def asked(demands: Iterable[Demand]) -> frozenset[str]:
    """The propositions that `demands` speak of."""
    return frozenset(
        name for demand in demands if not isinstance(demand.of, str) for name in atoms(demand.of)
    )


def terminates(
    composition: Composition, effort: Effort | None = None, names: Collection[str] = TERMINATION
) -> Iterator[tuple[TerminationQuestion[NotedState], Verdict]]:
    """Whether the system ends, by the questions with these names; traces have been taken by real
    machines.

    Every answer is UNKNOWN where `effort` does not suffice.
    """
    model, unknown = Noting(composition, (ENDED,)), ""
    try:
        space = explore(model, effort=effort)
    except TooLarge as error:
        space, unknown = Space({}, {}), str(error)
    for question in questions(model, space, taking(composition), acting(composition)):
        if question.name not in names:
            continue
        if unknown:
            yield question, Verdict(Status.UNKNOWN, unknown)
            continue
        verdict = question.answer()
        trace = None if verdict.trace is None else shown(composition, verdict.trace)
        yield question, Verdict(verdict.status, verdict.detail, trace, verdict.cycle)
