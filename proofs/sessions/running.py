"""Two running agents in every reachable state of the model: do they do what it says?

What is proved is proved of `SessionModel`. Here a real `Session`, over its real channel and with
the guards that follow from MATCH and AGREE, is brought to each state of the model by its own
messages. There everything happens that the relations may say, and what the session does is compared
with the model's step (`proofs.sessions.scripted`). What a session sees of its data is what MATCH
and AGREE answer; where they are noisy every answer is possible in every state, so a session that
agrees there agrees under all assumptions, up to which texts are equal and what is remembered.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass

from proofs.claims.catalogue import assumptions_of
from proofs.core.explore import Space, TooLarge, Trace, explore
from proofs.core.results import Bound, Result, Status, Verdict, stopped
from proofs.sessions.model import SessionModel, State
from proofs.sessions.relational import Theory
from proofs.sessions.scripted import Expected, ScriptedSession
from pxp_fsm.protocol.relations import Assumption
from pxp_fsm.protocol.rules import Interact, Rules

NAME = "sessions-agree-with-model"
TITLE = "two running agents do in every reachable state of the model what it says"


@dataclass(frozen=True)
class Agreement:
    """How many states and messages were compared; the first difference, and the trace to it."""

    states: int
    messages: int
    difference: str = ""
    trace: Trace[State] | None = None


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
        found = compare(model, limit)
        counted = f"{found.states:,} states, {found.messages:,} messages"
        if found.difference:
            verdict = Verdict(Status.FAILS, found.difference, found.trace)
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
    """A scripted session that is led through the states of a model."""

    def __init__(self, model: SessionModel, space: Space[State]) -> None:
        self._model = model
        self._space = space
        self._session = ScriptedSession(model.rules, model.theory.assumptions)
        self._met: set[State] = set()
        self._messages = 0

    async def walk(self) -> Agreement:
        """Compare everything, up to the first difference."""
        # what two agents share counts only where its answers are fixed
        assumed = self._model.theory.assumptions
        fixed = Assumption.DETERMINISTIC in assumed
        if self._session.assumptions != (assumed if fixed else assumed - {Assumption.SHARED}):
            found = ", ".join(sorted(self._session.assumptions)) or "nothing"
            return Agreement(0, 0, f"a session of such agents is said to assume {found}")
        (start,) = self._model.initial()
        try:
            await self._continue(start)
        except _Differs as error:
            difference, state, step = error.args
            before = self._space.trace_to(state)
            trace = Trace(before.start, (*before.steps, step))
            return Agreement(len(self._met), self._messages, difference, trace)
        return Agreement(len(self._met), self._messages)

    async def _continue(self, state: State) -> None:
        """Let everything happen in `state`, where the session is, and in the states after it."""
        self._met.add(state)
        for expected in () if state.over else self._expected(state):
            back = self._session.withdrawing()
            difference = await self._session.send(expected)
            if difference:
                raise _Differs(difference, state, expected.step)
            self._messages += 1
            target = expected.step.target
            if target not in self._met and self._space.parents[target] == (state, expected.step):
                await self._continue(target)
            back()

    def _expected(self, state: State) -> Iterable[Expected]:
        """Everything that the model lets happen in `state`, each with texts that realise it."""
        free = [step for step in self._model.successors(state) if not step.facts]
        if not state.sent:
            return [self._session.unasked(step) for step in free]
        found = {(step, step.facts): self._session.unasked(step) for step in free}
        for y, e in self._model.judgements(state):
            for step in self._model.after(state, y, e):
                if (step, step.facts) not in found:
                    found[step, step.facts] = self._session.answer(step, y, e)
        return found.values()
