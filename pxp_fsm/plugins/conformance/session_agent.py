"""An agent in a session of INTERACT(n, k): its specification, and the running one as a subject.

What its relations say is the input, so that guards, decision functions, counters and the stop rule
are under test together with the table.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import field, replace
from itertools import product

from pxp_fsm.automata.automaton import DECIDE, Automaton, Transition, Valuation, one_hot, sending
from pxp_fsm.errors import Halted, NotEnabled
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.conformance.endpoints import Run
from pxp_fsm.plugins.conformance.mealy import Answer, Mealy
from pxp_fsm.plugins.conformance.testing import Output, ProgramFault
from pxp_fsm.protocol.decisions import GUARDS, category, initiator_speaks
from pxp_fsm.protocol.messages import Answer as Said
from pxp_fsm.protocol.messages import Instance, Message, Question, Tag
from pxp_fsm.protocol.relations import NOISY, Assumption, Outcome
from pxp_fsm.protocol.rules import Interact
from pxp_fsm.protocol.situation import Situation
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.policy import update_context
from pxp_fsm.sessions.session import Session


@dataclass(frozen=True, slots=True)
class Reception:
    """The other agent sends a tag."""

    tag: str

    def __str__(self) -> str:
        return f"receive {self.tag}"


@dataclass(frozen=True, slots=True)
class JudgedInput:
    """It is the agent's turn, and this is what MATCH and AGREE say; has its answer changed?"""

    match: bool
    agree: bool
    changed: bool

    def __str__(self) -> str:
        facts = ("match", self.match), ("agree", self.agree), ("changed", self.changed)
        return "answer, " + " ".join(word if true else f"no-{word}" for word, true in facts)


Given = Reception | JudgedInput

INPUTS: tuple[Given, ...] = (
    *(Reception(tag) for tag in (Tag.INIT, Tag.RATIFY, Tag.REFUTE, Tag.REVISE, Tag.REJECT)),
    *(JudgedInput(*facts) for facts in product((True, False), repeat=3)),
)
"""Five tags that may come, and eight outcomes of MATCH, AGREE and revision."""


@dataclass(frozen=True, slots=True)
class _At:
    """Where a session is: both agents' states, messages sent, the latest tag, why it is over."""

    mine: str
    theirs: str
    sent: int = 0
    latest: str = Tag.INIT
    over: bool = False


def counted(rules: Interact, *, initiator: bool) -> Mealy[Given, Answer]:
    """What the agent of a session by `rules` must do: table, decision functions and stop rule.

    An answer is the action, and after it why the session is over if it then is (`+REFUTE, bound`).
    """
    table = rules.automaton
    start = _At(table.initial, table.initial)
    number = {start: 0}
    waiting = deque([start])
    rows: list[tuple[list[int], list[Answer]]] = []
    while waiting:
        at = waiting.popleft()
        steps = [_step(rules, at, stimulus, initiator) for stimulus in INPUTS]
        for _, target in steps:
            if target not in number:
                number[target] = len(number)
                waiting.append(target)
        rows.append(([number[target] for _, target in steps], [answer for answer, _ in steps]))
    return Mealy(
        INPUTS,
        tuple(tuple(targets) for targets, _ in rows),
        tuple(tuple(answer) for _, answer in rows),
    )


def _step(rules: Interact, at: _At, stimulus: Given, initiator: bool) -> tuple[Answer, _At]:
    number = at.sent + 1
    table = rules.automaton
    my_turn = initiator_speaks(number) is initiator
    if at.over or my_turn is isinstance(stimulus, Reception):
        return None, at
    if isinstance(stimulus, Reception):
        row = table.sends(at.theirs, stimulus.tag)
        if row is not None and row.guard is not None and row.guard not in rules.allowed(number):
            row = None
    else:
        row = _decided(rules, table, at, stimulus)
    taken = row and table.receives(
        at.mine if isinstance(stimulus, Reception) else at.theirs, row.label
    )
    if row is None or taken is None:
        return None, at
    mine, theirs = (taken, row) if isinstance(stimulus, Reception) else (row, taken)
    over = rules.ending_after(number, row.label, at.latest)
    ending = f", {over.value}" if over else ""
    sign = "-" if isinstance(stimulus, Reception) else "+"
    after = _At(mine.target, theirs.target, number, row.label, over is not None)
    return f"{sign}{row.label}{ending}", after


def _decided(
    rules: Interact, table: Automaton, at: _At, stimulus: JudgedInput
) -> Transition | None:
    try:
        if at.sent == 0:
            return table.step(at.mine, sending(Tag.INIT))
        own_category = category(stimulus.match, stimulus.agree)
        guard = rules.guard(own_category, stimulus.changed, at.sent + 1)
        return table.step(at.mine, DECIDE, one_hot(guard, tuple(GUARDS)))
    except NotEnabled:
        return None


@dataclass
class _Mind:
    """Respondent, relations and guards in one, which say what `said` tells them to."""

    name: str = "driven"
    assumptions: frozenset[Assumption] = field(default=NOISY)
    follows_relations: bool = True
    said: JudgedInput = JudgedInput(match=True, agree=True, changed=False)

    async def answer(self, _question: Question) -> Said:
        return Said("mine", "mine")

    async def decide(self, situation: Situation) -> Valuation:
        return await situation.derived()

    def compared(self, left: str, holds: bool) -> Outcome:
        """Of what the other says, `holds`; of one's own two answers, whether they are the same."""
        if left == "mine":
            holds = not self.said.changed
        return Outcome.YES if holds else Outcome.NO


@dataclass(frozen=True)
class _Match:
    mind: _Mind
    name: str = "driven MATCH"
    assumptions: frozenset[Assumption] = field(default=NOISY)

    async def holds(self, left: str, _right: str) -> Outcome:
        return self.mind.compared(left, self.mind.said.match)


@dataclass(frozen=True)
class _Agree:
    mind: _Mind
    name: str = "driven AGREE"
    assumptions: frozenset[Assumption] = field(default=NOISY)

    async def holds(self, left: str, _right: str) -> Outcome:
        return self.mind.compared(left, self.mind.said.agree)


class _Absent:
    """The other agent's respondent: what it says is carried in from outside."""

    name = "absent"

    async def answer(self, _question: Question) -> Said:
        raise Halted("it is the other agent's turn")


class InSession:
    """The agent under test in a real `Session` by `rules`, as a black box; see `counted`."""

    def __init__(self, rules: Interact, *, initiator: bool, run: Run = asyncio.run) -> None:
        self._rules = rules
        self._initiator = initiator
        self._run = run
        self.reset()

    def reset(self) -> None:
        self._mind = mind = _Mind()
        match, agree = _Match(mind), _Agree(mind)
        mine = Agent(mind, match=match, agree=agree, guards=mind, memo=False)
        theirs = replace(mine, respondent=_Absent())
        members = {"mine": mine, "theirs": theirs}
        if not self._initiator:
            members = {"theirs": theirs, "mine": mine}
        self._session = Session(
            self._rules,
            members,
            instance=Instance("x", ""),
            name="conformance",
            record_faults=True,
        )

    def step(self, stimulus: Given) -> Output:
        session = self._session
        if isinstance(stimulus, Reception):
            number = len(session.history) + 1
            answer = Said("theirs", "theirs")
            message = Message(session.name, number, "theirs", stimulus.tag, answer, "mine")
            session.replay([Event.of_message(message, update_context(message))])
            return self._told(f"-{message.tag}")
        self._mind.said = stimulus
        sent = self._run(session.step())
        if sent is None:
            return ProgramFault(f"the session ended: {session.cause}")
        return self._told(f"+{sent.carried.tag}")

    def _told(self, action: str) -> str:
        ending = self._session.ending
        return action if ending is None else f"{action}, {ending.value}"
