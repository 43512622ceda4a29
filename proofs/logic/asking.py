"""Formulas about the sessions of a protocol: the verdict, its bound, its trace by real machines."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from proofs.explore import TooLarge, explore
from proofs.logic.checking import Checker, Runs
from proofs.logic.formulas import Formula, atoms
from proofs.logic.sessions import Noted, Sessions, reading, vocabulary
from proofs.logic.steps import Demand, fairness
from proofs.relational import Theory
from proofs.replay import replay
from proofs.sessions import SessionModel, State
from proofs.verdicts import Bound, Status, Verdict
from pxp_fsm.messages import Message
from pxp_fsm.relations import Assumption
from pxp_fsm.rules import Rules


def check(
    rules: Rules,
    assumptions: frozenset[Assumption],
    formula: Formula,
    runs: Runs = Runs.COMPLETE,
    demands: Iterable[Demand] = (),
    limit: int = 300_000,
) -> tuple[Verdict, tuple[Message, ...]]:
    """Whether every session under `rules` satisfies `formula`, for any data under `assumptions`.

    The messages are those of the real session that a failing trace was replayed in. HOLDS UP TO the
    n and k of `rules`, where there are such; UNKNOWN past `limit` states. Raises `UsageError` for a
    proposition that there is none of.
    """
    wanted = tuple(demands)
    described = (one.of for one in wanted if not isinstance(one.of, str))
    names = tuple(dict.fromkeys(chain(atoms(formula), *map(atoms, described))))
    sessions = SessionModel(rules, Theory(assumptions), observes=False)
    model = Sessions(sessions, reading(names, sessions.both))
    try:
        space = explore(model, limit)
    except TooLarge as error:
        return Verdict(Status.UNKNOWN, str(error)), ()
    known = frozenset(names)
    there = known | frozenset(vocabulary(sessions.both))
    fairly = fairness(wanted, model, space, there, model.rows, model.agents)
    verdict = Checker(model, space, runs, fairly, known).check(formula)
    messages = () if verdict.trace is None else replay(sessions, verdict.trace.map(_state))
    return bounded(verdict, rules), messages


def bounded(verdict: Verdict, rules: Rules) -> Verdict:
    """HOLDS UP TO the n and k that were explored, where there are such."""
    bound = Bound(rules.n, rules.k)
    if verdict.status is not Status.HOLDS or not bound.parameters:
        return verdict
    return Verdict(Status.HOLDS_UP_TO, bound=bound)


def _state(noted: Noted) -> State:
    return noted.state
