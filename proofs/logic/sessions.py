"""Propositions of sessions: what holds after each message, in the model and in real sessions.

A run's first state is before message 1; each further one is after a message, the last also after
the schedule's close. Propositions (agent 1 is the initiator, also m or machine; 2 the responder,
also h or human): `1@WAIT`, `1.RATIFY` (agent 1 sent it just now), `2?RATIFY` (agent 2 received it
just now), `1:REV` (1 sent by the row with that guard just now), `1.strong` and the other classes of
`pxp_fsm.protocol.intelligibility` (of what 1 has sent up to here), `two_way`, `number>=3` (messages
so far), `ended`, `ended.bound` and the like.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import NamedTuple

from proofs.core.explore import Step, TooLarge, explore
from proofs.core.results import Bound, NotReplayed, Status, Verdict, stopped
from proofs.logic import parsing
from proofs.logic.checking import FormulaChecker, Runs
from proofs.logic.fairness import Demand, fairness
from proofs.logic.formulas import Formula, atoms
from proofs.logic.graph import graph_of
from proofs.sessions.model import SessionModel, SessionState, action_of, speaker_of, tag_of
from proofs.sessions.relational import Theory
from proofs.sessions.replay import replay
from pxp_fsm.automata.automaton import Automaton, Kind
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.intelligibility import DEFINITIONS, ONE_WAY, Definition
from pxp_fsm.protocol.messages import Message, Tag
from pxp_fsm.protocol.relations import Assumption
from pxp_fsm.protocol.rules import Ending, Rules

Tables = tuple[Automaton, Automaton]

NAMES = (("1", "m", "machine"), ("2", "h", "human"))
"""What each agent may be called in a formula."""

ENDINGS = tuple(
    ending.value for ending in (Ending.RATIFIED, Ending.REJECTED, Ending.BOUND, Ending.TERM)
)
"""How a protocol ends a session."""

_READ = {Tag.RATIFY: 0, Tag.REFUTE: 1, Tag.REVISE: 2, Tag.REJECT: 3}
"""Which of a definition's moves a tag is; INIT and TERM move none."""

_NUMBER = re.compile(r"number(<=|>=|!=|<|>|=)([0-9]+)")
_COMPARE: Mapping[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}


class Seen(NamedTuple):
    """What formulas can ask of a session just now.

    `number` counts messages as far as the formula needs; `sender` is 0 or 1, or -1 before the first
    message and where no formula asks who sent what; `classes` are where each definition's automaton
    is, for both agents; `over` says how it ended, as that of `proofs.sessions.model.SessionState`.
    """

    number: int
    at: tuple[str, str]
    sender: int
    tag: str
    guard: str
    classes: tuple[tuple[str, str], ...]
    over: str


Test = Callable[[Seen], bool]


@dataclass(frozen=True)
class SessionReading:
    """The propositions that a formula asks for, and how a message changes what is seen."""

    tables: Tables
    tests: Mapping[str, Test]
    definitions: tuple[Definition, ...]
    most: int
    notes: bool
    """Whether a proposition speaks of the latest message."""

    def start(self) -> Seen:
        """Before the first message."""
        places = tuple((next(iter(d.moves)),) * 2 for d in self.definitions)
        left, right = self.tables
        return Seen(0, (left.initial, right.initial), -1, "", "", places, "")

    def after(self, seen: Seen, sender: int, tag: str, at: tuple[str, str], over: str) -> Seen:
        """After `sender` has sent `tag`: the machines are `at`, the session is `over` or not."""
        number, classes = min(seen.number + 1, self.most), self._classes(seen, sender, tag)
        if not self.notes:
            return Seen(number, at, -1, "", "", classes, over)
        row = self.tables[sender].sends(seen.at[sender], tag)
        guard = (row.guard if row is not None else None) or ""
        return Seen(number, at, sender, tag, guard, classes, over)

    def true(self, seen: Seen) -> frozenset[str]:
        """The propositions asked for that are true."""
        return frozenset(name for name, holds in self.tests.items() if holds(seen))

    def _classes(self, seen: Seen, sender: int, tag: str) -> tuple[tuple[str, str], ...]:
        move = _READ.get(Tag(tag)) if tag in _READ else None
        if move is None or not self.definitions:
            return seen.classes
        places = []
        for definition, (left, right) in zip(self.definitions, seen.classes, strict=True):
            moved = definition.moves[right if sender else left][move]
            places.append((left, moved) if sender else (moved, right))
        return tuple(places)


def reading(names: Iterable[str], tables: Tables) -> SessionReading:
    """How to read the propositions `names`. Raises `UsageError` for one that there is none of."""
    asked = dict.fromkeys(names)
    numbers = {name: match for name in asked if (match := _NUMBER.fullmatch(name))}
    classes = {name: named for name in asked if (named := _class(name))}
    called = tuple(dict.fromkeys(definition.name for definition, _ in classes.values()))
    known = vocabulary(tables)
    unknown = [name for name in asked if name not in known and name not in numbers]
    if unknown:
        raise parsing.unknown(unknown, (*known, "number>=3"), "no session has")
    tests: dict[str, partial[bool]] = {}
    for name in asked:
        if name in numbers:
            tests[name] = partial(_compares, _COMPARE[numbers[name][1]], int(numbers[name][2]))
        elif name in classes:
            definition, agents = classes[name]
            tests[name] = partial(_in_class, called.index(definition.name), definition, agents)
        else:
            tests[name] = known[name]
    most = max((int(match[2]) + 1 for match in numbers.values()), default=0)
    definitions = tuple(DEFINITIONS[key] for key in called)
    notes = any(tests[name].func in (_sent, _by_guard) for name in asked)
    return SessionReading(tables, tests, definitions, most, notes)


def vocabulary(tables: Tables) -> Mapping[str, partial[bool]]:
    """Every proposition but comparisons of `number`, whether some session has it or not."""
    known: dict[str, partial[bool]] = {"ended": partial(_ended, tables)}
    known |= {f"ended.{why}": partial(_ended_by, why) for why in ENDINGS}
    classes = [*(f"{name}.{d}" for both in NAMES for name in both for d in DEFINITIONS), "two_way"]
    known |= dict.fromkeys(classes, partial(_never))
    for agent, (names, table) in enumerate(zip(NAMES, tables, strict=True)):
        for name in names:
            known |= {f"{name}@{s.name}": partial(_at, agent, s.name) for s in table.states}
            for row in table.transitions:
                if row.kind is Kind.SEND:
                    known[f"{name}.{row.label}"] = partial(_sent, agent, row.label)
                    if row.guard is not None:
                        known[f"{name}:{row.guard}"] = partial(_by_guard, agent, row.guard)
                elif row.kind is Kind.RECEIVE:
                    known[f"{name}?{row.label}"] = partial(_sent, 1 - agent, row.label)
    return known


def is_of_sessions(name: str) -> bool:
    """Whether a proposition is one that sessions have and tables by themselves do not."""
    return bool(_NUMBER.fullmatch(name) or _class(name) or name.removeprefix("ended.") in ENDINGS)


def _class(name: str) -> tuple[Definition, tuple[int, ...]] | None:
    """The definition, and the agents that it must hold for, of a class's name."""
    if name == "two_way":
        return ONE_WAY, (0, 1)
    who, _, called = name.partition(".")
    agent = next((agent for agent, names in enumerate(NAMES) if who in names), None)
    return (DEFINITIONS[called], (agent,)) if agent is not None and called in DEFINITIONS else None


def _never(_seen: Seen) -> bool:
    return False


def _compares(holds: Callable[[int, int], bool], number: int, seen: Seen) -> bool:
    return holds(seen.number, number)


def _in_class(place: int, definition: Definition, agents: tuple[int, ...], seen: Seen) -> bool:
    return all(seen.classes[place][agent] in definition.accepting for agent in agents)


def _at(agent: int, state: str, seen: Seen) -> bool:
    return seen.at[agent] == state


def _sent(agent: int, tag: str, seen: Seen) -> bool:
    return seen.sender == agent and seen.tag == tag


def _by_guard(agent: int, guard: str, seen: Seen) -> bool:
    return seen.sender == agent and seen.guard == guard


def _ended(tables: Tables, seen: Seen) -> bool:
    return all(where in table.final for table, where in zip(tables, seen.at, strict=True))


def _ended_by(why: str, seen: Seen) -> bool:
    return seen.over == why


class SeenState(NamedTuple):
    """A state of the session model, with what formulas see of it."""

    state: SessionState
    seen: Seen


@dataclass(frozen=True)
class ObservedSessions:
    """The session model, with what a formula asks for as part of its states."""

    model: SessionModel
    reading: SessionReading

    @property
    def name(self) -> str:
        return self.model.name

    def initial(self) -> Iterable[SeenState]:
        return (SeenState(state, self.reading.start()) for state in self.model.initial())

    def successors(self, state: SeenState) -> Iterator[Step[SeenState]]:
        for step in self.model.successors(state.state):
            yield Step(
                step.action, SeenState(step.target, self._seen(state.seen, step)), step.facts
            )

    def propositions(self, state: SeenState) -> frozenset[str]:
        return self.reading.true(state.seen)

    def rows(self, state: SeenState, step: Step[SeenState]) -> Iterable[Hashable]:
        """The rows that a step takes, each with its agent."""
        where, tables = state.state.at, self.reading.tables
        if step.target.state.over == "stuck":
            return ()
        sender, tag = speaker_of(step), tag_of(step)
        sent = tables[sender].sends(where[sender], tag)
        heard = tables[1 - sender].receives(where[1 - sender], tag)
        return ((sender, sent), (1 - sender, heard))

    def agents(self, _state: SeenState, step: Step[SeenState]) -> Iterable[Hashable]:
        """Whose step it is: the agent's that sends."""
        return (action_of(step).agent,)

    def _seen(self, before: Seen, step: Step[SessionState]) -> Seen:
        if step.target.over == "stuck":
            return before._replace(sender=-1, tag="", guard="", over="stuck")
        sender, tag = speaker_of(step), tag_of(step)
        return self.reading.after(before, sender, tag, step.target.at, step.target.over)


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
    described = (demand.of for demand in wanted if not isinstance(demand.of, str))
    names = tuple(dict.fromkeys(chain(atoms(formula), *map(atoms, described))))
    sessions = SessionModel(rules, Theory(assumptions), observes=False)
    model = ObservedSessions(sessions, reading(names, sessions.both))
    try:
        space = explore(model, limit)
    except TooLarge as error:
        return Verdict(Status.UNKNOWN, str(error)), ()
    except Exception as error:  # noqa: BLE001 - whatever a decision function does
        return stopped(error), ()
    known = frozenset(names)
    there = known | frozenset(vocabulary(sessions.both))
    fairly = fairness(wanted, model, space, there, model.rows, model.agents)
    try:
        verdict = FormulaChecker(graph_of(model, space, fairly, known), runs).check(formula)
    except TooLarge as error:
        return Verdict(Status.UNKNOWN, str(error)), ()
    try:
        messages = () if verdict.trace is None else replay(sessions, verdict.trace.map(_state))
    except NotReplayed as error:
        return stopped(error), ()
    return bounded(verdict, rules), messages


def bounded(verdict: Verdict, rules: Rules) -> Verdict:
    """HOLDS UP TO the n and k that were explored, where there are such."""
    bound = Bound(rules.n, rules.k)
    if verdict.status is not Status.HOLDS or not bound.parameters:
        return verdict
    return Verdict(Status.HOLDS_UP_TO, bound=bound)


def _state(noted: SeenState) -> SessionState:
    return noted.state
