"""Scripted sessions of two: rules, agents and options drawn from a seed, and all that comes of it.

Agents answer by a digest of all that they are asked and have learned, so that whatever a session
does otherwise shows in what is said, asked, judged, stored or learned.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from backends.databases.blackboard import SqlBlackboard
from pxp_fsm.errors import NoAnswer
from pxp_fsm.protocol.decisions import concluded
from pxp_fsm.protocol.messages import Answer, Episode, Instance, Message, Question
from pxp_fsm.protocol.relations import (
    EQUIVALENCE,
    NOISY,
    Assumption,
    Judgement,
    Outcome,
    RelationReply,
)
from pxp_fsm.protocol.rules import Interact, Pxp, Rules, TermPolicy
from pxp_fsm.protocol.situation import Derived, Guards, Situation
from pxp_fsm.sessions.agent import DERIVED, Agent
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.learning import Gate, Gated, Keep
from pxp_fsm.sessions.session import FAILED, Session
from tests.sessions.agents import channel_of


def drawn(*parts: object) -> int:
    """A number drawn from what it depends on."""
    text = "|".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


@dataclass(frozen=True)
class Chances:
    """Out of a thousand answers: those before `none` are none, then bugs, then nonsense."""

    none: int = 0
    bug: int = 0
    nonsense: int = 0


@dataclass
class Scripted:
    """A respondent whose answers are drawn from all that it is asked; it notes what that is."""

    seed: int
    name: str
    values: int
    chances: Chances
    log: list[object] = field(default_factory=list)
    learned: str = ""

    async def answer(self, question: Question) -> Answer:
        known = [
            self.name,
            question.session,
            question.query,
            question.instance.key,
            question.purpose,
            [fields_of(message) for message in question.history],
            list(question.context),
            list(question.categories),
            [episode_fields(episode) for episode in question.earlier],
            self.learned,
        ]
        self.log.append(known)
        draw = drawn(self.seed, known) % 1000
        if draw < self.chances.none:
            raise NoAnswer("no idea")
        if draw < self.chances.bug:
            raise ValueError("bug")
        if draw < self.chances.nonsense:
            return "nonsense"  # type: ignore[return-value]
        if draw % 3 == 0:
            await asyncio.sleep(0)
        return Answer(
            f"y{drawn('y', self.seed, known) % self.values}",
            f"e{drawn('e', self.seed, known) % self.values}",
        )


@dataclass
class ScriptedLearner(Scripted):
    """The same, and it learns."""

    def learn(self, instance: Instance, message: Message) -> None:
        said = message.answer
        if drawn(self.seed, "learn", message.number, said.prediction) % 1000 < self.chances.none:
            raise NoAnswer("cannot learn")
        self.learned += f"{instance.key}:{message.number}{message.tag}{said.prediction};"

    def copy(self) -> ScriptedLearner:
        return ScriptedLearner(
            self.seed, self.name, self.values, self.chances, self.log, self.learned
        )


@dataclass
class ScriptedReviewer(Scripted):
    """The same, and it sends only some of its messages at once."""

    reviews: int = 0

    async def review(self, question: Question, tag: str, answer: Answer) -> bool:
        self.reviews += 1
        self.log.append(["review", question.session, tag, list(fields_of_answer(answer))])
        return drawn(self.seed, "review", tag, self.reviews) % 3 > 0


@dataclass
class ScriptedRelation:
    """Equality, or an oracle whose verdicts are drawn, which is unsure or broken at times."""

    seed: int
    name: str
    unsure: int
    broken: int
    equality: bool
    log: list[tuple[str, str]] = field(default_factory=list)

    @property
    def assumptions(self) -> frozenset[Assumption]:
        return EQUIVALENCE if self.equality else NOISY

    async def holds(self, left: str, right: str) -> Outcome | RelationReply:
        self.log.append((left, right))
        if self.equality:
            return Outcome.YES if left == right else Outcome.NO
        draw = drawn(self.seed, self.name, left, right) % 1000
        if draw < self.broken:
            raise KeyError("oracle bug")
        if draw < self.unsure:
            return RelationReply(Outcome.UNSURE, "perhaps")
        return Outcome.YES if draw % 2 else Outcome.NO


@dataclass
class Script:
    """What a session is made of, and when it is stopped and resumed, if it is."""

    seed: int
    rules: Rules
    members: dict[str, Agent]
    limit: int
    capacity: int
    update_context: Callable[[Instance, Message, tuple[str, ...]], str] | None
    earlier: Mapping[str, tuple[Episode, ...]]
    stop: int | None

    @property
    def name(self) -> str:
        return f"lab/{self.seed}"

    @property
    def instance(self) -> Instance:
        return Instance(f"x{self.seed}", f"text {self.seed}")

    def forget(self) -> None:
        """Forget what the agents have learned, as where a program was stopped and started anew."""
        for agent in self.members.values():
            scripted(agent).learned = ""
            if agent.gate is not None:
                agent.gate.standing = None


def scripted(agent: Agent) -> Scripted:
    """The respondent of one of the agents of a script."""
    assert isinstance(agent.respondent, Scripted)
    return agent.respondent


def script(seed: int) -> Script:
    """The script of that seed."""
    chance = random.Random(seed)
    faulty = chance.random() < 0.25
    rules = _rules(chance, seed)
    equality, values = chance.random() < 0.4, chance.choice([2, 3, 5])
    members = {
        name: _agent(chance, seed, name, values, faulty=faulty, equality=equality)
        for name in ("m", "h")
    }
    update = _context_of if chance.random() < 0.3 else None
    earlier: dict[str, tuple[Episode, ...]] = {}
    if chance.random() < 0.2:
        said = Message("z", 1, "m", "INIT", Answer("y0", "e0"), "h")
        earlier["m"] = (Episode(Instance("old", "old"), (said,), ("c",), ("",)),)
    limit, capacity = chance.randint(3, 20), chance.choice([0, 0, 0, 0, 1, 2])
    stop = chance.randint(1, 6) if chance.random() < 0.4 and not faulty else None
    return Script(seed, rules, members, limit, capacity, update, earlier, stop)


def _rules(chance: random.Random, seed: int) -> Rules:
    if chance.random() < 0.6:
        return Interact(n=chance.randint(1, 12), k=chance.randint(1, 4))
    policies: tuple[TermPolicy, ...] = (
        lambda _received, _own: False,
        lambda received, own: received in ("RATIFY", "REJECT") and own == received,
        lambda received, own: drawn(seed, received, own) % 4 == 0,
    )
    policy = chance.choice(policies)
    term = policy if chance.random() < 0.8 else concluded
    hang_up: TermPolicy | None = None
    if chance.random() < 0.35:

        def hang_up(sent: str, answered: str) -> bool:
            return drawn(seed, "hang up", sent, answered) % 3 == 0

    return Pxp(k=chance.choice([None, 1, 2, 3]), term=term, hang_up=hang_up)


def _agent(
    chance: random.Random, seed: int, name: str, values: int, *, faulty: bool, equality: bool
) -> Agent:
    kind = chance.choice([Scripted, ScriptedLearner, ScriptedLearner, ScriptedReviewer])
    respondent = kind(seed, name, values, Chances(30, 45, 60) if faulty else Chances())
    draw = chance.random()
    guards: Guards | Callable[[Situation], Awaitable[str]] = DERIVED
    if draw < 0.2:
        guards = Derived(revises=False)
    elif draw < 0.35:

        async def direct(situation: Situation) -> str:
            allowed, received = situation.allowed, situation.received.tag
            return allowed[drawn(seed, "guard", name, situation.number, received) % len(allowed)]

        guards = direct
    gate = None
    if chance.random() < 0.35:
        keep = chance.choice([Keep.BETTER, Keep.EQUAL, Keep.NEVER])
        rows = [(Instance(f"v{i}", f"v{i}"), f"y{i % values}") for i in range(5)]
        gate = Gate(keep, chance.choice(list(Gated)), rows)
    unsure, broken = (80, 20) if faulty else (0, 0)
    return Agent(
        respondent,
        match=ScriptedRelation(seed, "MATCH", unsure, broken, equality),
        agree=ScriptedRelation(seed, "AGREE", unsure, broken, equality),
        guards=guards,
        memo=chance.random() < 0.7,
        query=chance.choice(["", "q?"]),
        gate=gate,
        timeout=chance.choice([None, None, 5.0]),
    )


def _context_of(instance: Instance, message: Message, context: tuple[str, ...]) -> str:
    return f"{instance.key}/{message.number}/{len(context)}/{message.answer.prediction}"


def opened(
    given: Script,
    board: SqlBlackboard | None,
    on_event: Callable[[Event], None],
    opens: Callable[..., Session] = Session,
) -> Session:
    """The session of a script, not run yet; `opens` makes it."""
    return opens(
        given.rules,
        given.members,
        instance=given.instance,
        name=given.name,
        blackboard=board,
        limit=given.limit,
        on_event=on_event,
        record_faults=True,
        update_context=given.update_context,
        earlier=given.earlier,
        channel=channel_of(given.capacity),
    )


def played(
    given: Script, board: SqlBlackboard, opens: Callable[..., Session] = Session
) -> dict[str, Any]:
    """Everything that came of a script: what was said, asked, judged, stored and learned."""
    said: list[object] = []
    session = opened(given, board, lambda event: said.append(fields_of(event.carried)), opens)
    raised = None

    async def play() -> None:
        nonlocal session
        steps = 0
        while session.ending is None:
            await session.step()
            steps += 1
            if steps == given.stop and session.ending is None:
                given.forget()
                session = opened(
                    given, board, lambda event: said.append(fields_of(event.carried)), opens
                )
                board.resume(session)

    try:
        asyncio.run(play())
    except Exception as error:  # noqa: BLE001 - whatever it is, it is to stay the same
        raised = f"{type(error).__name__}: {error}"
    found = told(given, session)
    found["said"] |= {"raised": raised, "as it was said": said}
    found["stored"] = stored(board, given.name)
    return found


def told(given: Script, session: Session) -> dict[str, Any]:
    """What a session says of itself, and what its agents were asked and have learned."""
    agents = given.members.values()
    episodes = session.episodes().items()
    fault = session.fault
    return {
        "said": {
            "history": [fields_of(message) for message in session.history],
            "context": list(session.context),
            "categories": list(session.categories),
            "states": session.states,
            "ending": None if session.ending is None else session.ending.value,
            "cause": session.cause,
            "fault": None if fault is None else [type(fault).__name__, str(fault)],
            "assumptions": sorted(session.assumptions),
            "episodes": {name: episode_fields(episode) for name, episode in episodes},
        },
        "asked": [scripted(agent).log for agent in agents],
        "judged": [[log_of(agent.match), log_of(agent.agree)] for agent in agents],
        "learned": [
            [scripted(agent).learned, None if agent.gate is None else agent.gate.standing]
            for agent in agents
        ],
    }


def stored(board: SqlBlackboard, name: str) -> dict[str, Any]:
    """What a blackboard holds of a session."""
    record = board.session(name).record
    return {
        "events": [
            [fields_of(entry.carried), entry.addition, judgement_fields(entry.judgements)]
            for entry in board.events(name)
        ],
        "closing": judgement_fields(board.closing(name)),
        "session": [
            record.run,
            record.repetition,
            record.position,
            record.instance.key,
            record.instance.x,
            record.protocol,
            record.n,
            record.k,
            record.automaton,
            record.fingerprint,
            record.memo,
            list(record.assumptions),
            list(map(list, record.agents)),
            record.ending,
            record.cause,
            record.messages,
        ],
    }


def log_of(relation: object) -> list[tuple[str, str]]:
    """The pairs that a relation of a script was asked about."""
    assert isinstance(relation, ScriptedRelation)
    return relation.log


def fields_of(message: Message) -> list[object]:
    """A message as its parts, whatever its class is called."""
    return [
        message.session,
        message.number,
        message.sender,
        message.tag,
        *fields_of_answer(message.answer),
        message.receiver,
    ]


def fields_of_answer(answer: Answer) -> tuple[str, str]:
    """An answer as its two texts."""
    return answer.prediction, answer.explanation


def episode_fields(episode: Episode) -> list[object]:
    """An episode as its parts."""
    return [
        episode.instance.key,
        [fields_of(message) for message in episode.history],
        list(episode.context),
        list(episode.categories),
    ]


def judgement_fields(judgements: Sequence[Judgement]) -> list[list[object]]:
    """Judgements as their parts, but for times, digests with a salt, and tracebacks."""
    return [
        [one.relation, one.outcome.value, one.asked, one.detail]
        for one in judgements
        if one.relation != FAILED
    ]
