"""Two running agents in every reachable state of the model: do they do what it says?

What is proved is proved of `SessionModel`. Here a real `Session`, over its real channel and with
the guards that follow from MATCH and AGREE, is brought to each state of the model by its own
messages. There everything happens that the relations may say, and what the session does is compared
with the model's step (`proofs.sessions.replay`). What a session sees of its data is what MATCH
and AGREE answer, which texts are equal, and what a judge remembers. Where nothing is remembered and
no text is equal to another, states that differ in nothing but how their values are related are one
for the session: it is brought there once, and there everything happens that happens in any of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from proofs.claims.catalogue import assumptions_of
from proofs.core.explore import Space, Step, TooLarge, Trace, explore
from proofs.core.results import Bound, Result, Status, Verdict, stopped
from proofs.sessions.model import SessionModel, SessionState
from proofs.sessions.relational import RelationOutcome, Structure, Theory
from proofs.sessions.replay import Expected, ScriptedSession
from pxp_fsm.lazy import asyncio
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.relations import MEMO_GIVES, Assumption
from pxp_fsm.protocol.rules import Interact, Rules

NAME = "sessions-agree-with-model"
TITLE = "two running agents do in every reachable state of the model what it says"


@dataclass(frozen=True)
class Agreement:
    """How many states and messages were compared; the first difference, and the trace to it.

    `distinct` states differ in what a session sees of them.
    """

    states: int
    distinct: int
    messages: int
    difference: str = ""
    trace: Trace[SessionState] | None = None


MOST_STATES = 20_000
"""States in which two agents are brought together: some hundred a second."""


def compare(model: SessionModel, limit: int = MOST_STATES) -> Agreement:
    """What two running agents do in every reachable state of `model`, compared with its steps.

    Raises `TooLarge` where there are more than `limit` states.

    >>> from proofs.sessions.relational import Theory
    >>> from pxp_fsm.protocol.relations import EQUIVALENCE
    >>> from pxp_fsm.protocol.rules import Interact
    >>> found = compare(SessionModel(Interact(n=4, k=2), Theory(EQUIVALENCE)))
    >>> found.states, found.difference
    (40, '')
    """
    return asyncio.run(_Running(model, explore(model, limit)).walk())


def check_running(rules: Rules, relations: str, limit: int = MOST_STATES) -> Result:
    """The same as a result, for `rules` under the assumptions called `relations`.

    FAILS with a trace to the message at which a session does something else. Raises `UsageError`
    for assumptions that there are not.
    """
    started = time.perf_counter()
    interact = isinstance(rules, Interact)
    bounded = rules.n is not None or rules.k is not None
    model = SessionModel(rules, Theory(assumptions_of(relations)), observes=interact)
    try:
        agreement = compare(model, limit)
        counted = f"{agreement.states:,} states, {agreement.messages:,} messages"
        if agreement.distinct < agreement.states:
            counted = f"{counted}; a session tells {agreement.distinct:,} of the states apart"
        if agreement.difference:
            verdict = Verdict(Status.FAILS, agreement.difference, agreement.trace)
        elif bounded:
            verdict = Verdict(Status.HOLDS_UP_TO, counted, bound=Bound(n=rules.n, k=rules.k))
        else:
            verdict = Verdict(Status.HOLDS, counted)
    except TooLarge as error:
        verdict = Verdict(Status.UNKNOWN, str(error))
    except Exception as error:  # noqa: BLE001 - whatever a decision function does
        verdict = stopped(error)
    seconds = time.perf_counter() - started
    protocol = "pxp(k)" if bounded and not interact else rules.name
    return Result(protocol, NAME, TITLE, relations, verdict, Status.HOLDS, seconds, model.name)


class _Differs(Exception):
    """A session does something else than the model says: what, in which state, at which step."""


class _Running:
    """A scripted session that is led through the states of a model, those alike at once."""

    def __init__(self, model: SessionModel, space: Space[SessionState]) -> None:
        self._model = model
        self._space = space
        self._session = ScriptedSession(model.rules, model.theory.assumptions)
        assumed = model.theory.assumptions
        self._hides = Assumption.DETERMINISTIC in assumed and not assumed >= MEMO_GIVES
        self._alike: dict[SessionState, list[SessionState]] = {}
        for state in space.steps:  # breadth first
            self._alike.setdefault(self._seen(state), []).append(state)
        self._met: set[SessionState] = set()
        self._messages = 0

    async def walk(self) -> Agreement:
        """Compare everything, up to the first difference."""
        # what two agents share counts only where its answers are fixed
        assumed = self._model.theory.assumptions
        fixed = Assumption.DETERMINISTIC in assumed
        if self._session.assumptions != (assumed if fixed else assumed - {Assumption.SHARED}):
            assumed_here = ", ".join(sorted(self._session.assumptions)) or "nothing"
            return Agreement(0, 0, 0, f"a session of such agents is said to assume {assumed_here}")
        (start,) = self._model.initial()
        difference, trace = "", None
        try:
            await self._continue(start)
        except _Differs as error:
            difference, state, due = error.args
            before = self._space.trace_to(state)
            step = next(
                possible for possible in self._space.steps[state] if self._key(possible)[0] == due
            )
            trace = Trace(before.start, (*before.steps, step))
        states = sum(len(self._alike[session_state]) for session_state in self._met)
        return Agreement(states, len(self._met), self._messages, difference, trace)

    async def _continue(self, here: SessionState) -> None:
        """Let everything happen in the states like `here`, where the session is, and after them."""
        self._met.add(here)
        for state, expected in () if here.over else self._expected(here):
            back = self._session.withdrawing()
            difference = await self._session.send(expected)
            if difference:
                raise _Differs(difference, state, self._key(expected.step)[0])
            self._messages += 1
            target = self._seen(expected.step.target)
            if target not in self._met and self._follows(target, here, expected.step):
                await self._continue(target)
            back()

    def _follows(self, target: SessionState, here: SessionState, step: Step[SessionState]) -> bool:
        """Whether a shortest way to the first state like `target` ends so."""
        before = self._space.parents[self._alike[target][0]]
        if before is None:
            return False
        state, last = before
        return self._seen(state) == here and last.action == step.action

    def _expected(self, here: SessionState) -> Iterable[tuple[SessionState, Expected]]:
        """Everything that the model lets happen in the states like `here`, and in which of them.

        Each comes with texts that realise it.
        """
        expected = dict[
            tuple[Step[SessionState], tuple[bool, ...]], tuple[SessionState, Expected]
        ]()
        for state in self._alike[here]:
            for step in self._space.steps[state]:
                if not step.facts and self._key(step) not in expected:
                    expected[self._key(step)] = state, self._session.unasked(step)
            for y, e in self._judgements(state) if state.sent else ():
                for step in self._model.after(state, y, e):
                    if self._key(step) not in expected:
                        expected[self._key(step)] = state, self._session.answer(step, y, e)
        return expected.values()

    def _judgements(self, state: SessionState) -> Iterable[tuple[RelationOutcome, RelationOutcome]]:
        """What the relations may say in `state`, as far as a session sees it."""
        judgements = self._model.judgements(state)
        if not self._hides:
            return judgements
        return dict.fromkeys((_unrelated(y), _unrelated(e)) for y, e in judgements)

    def _key(self, step: Step[SessionState]) -> tuple[Step[SessionState], tuple[bool, ...]]:
        """What a session sees of a step."""
        return Step(step.action, self._seen(step.target)), step.facts

    def _seen(self, state: SessionState) -> SessionState:
        """The state, without what two agents cannot see of it."""
        if not self._hides:
            return state
        y, e = _hidden(state.predictions), _hidden(state.explanations)
        return state._replace(predictions=y, explanations=e)


def _hidden(structure: Structure) -> Structure:
    return Structure(structure.points)


def _unrelated(judged: RelationOutcome) -> RelationOutcome:
    return judged._replace(kept=_hidden(judged.kept), taken=_hidden(judged.taken))
