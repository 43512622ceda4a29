"""Sessions of panels: of two they are sessions of two; they are stored, resumed and forked."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

import pxp_fsm as pxp
from backends.databases import SqlBlackboard
from backends.databases.verify import verify
from guards import ScriptedGuards
from pxp_fsm.errors import UsageError
from pxp_fsm.protocol.messages import Answer, Message
from pxp_fsm.protocol.rules import Ending
from pxp_fsm.protocol.situation import Situation
from tests.plugins.panels.random_panels import Related
from tests.sessions.test_worked_examples import GUARDS, in_answer_to

PAIRS = tuple((y, e) for y in ("y1", "y2", "y3") for e in ("e1", "e2"))


class Learner:
    """A respondent whose answers depend on how many messages it has learned."""

    name = "learner"

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.heard: list[tuple[str, str]] = []

    def learn(self, instance: pxp.Instance, message: Message) -> None:
        self.heard.append((message.sender, message.answer.prediction))

    async def answer(self, question: pxp.Question) -> Answer:
        return Answer(*random.Random(f"{self.seed}/{self.heard}").choice(PAIRS))


def agents(seed: int, names: str) -> dict[str, pxp.Agent]:
    alike = Related(frozenset({("y1", "y2"), ("y2", "y1")}))
    same = Related(frozenset())
    return {
        name: pxp.Agent(Learner(seed * 10 + place), match=alike, agree=same)
        for place, name in enumerate(names)
    }


RULES: Mapping[str, Callable[[int], pxp.Interact | pxp.Pxp]] = {
    "interact": lambda seed: pxp.Interact(n=1 + seed % 9, k=1 + seed % 3),
    "pxp": lambda seed: pxp.Pxp(),
    "pxp_k": lambda seed: pxp.Pxp(k=1 + seed % 2),
}


def rows(board: SqlBlackboard, session: str) -> list[tuple[object, ...]]:
    """Everything that is stored of a session, but for times, salts and links."""
    found: list[tuple[object, ...]] = []
    queries = (
        "SELECT repetition, position, instance, protocol, n, k, automaton, fingerprint, memo, "
        "assumptions, initiator, initiator_description, responder, responder_description, channel, "
        "faults, ending, cause, length FROM sessions WHERE session = :s",
        "SELECT place, name, description FROM members WHERE session = :s",
        "SELECT number, kind, member, partner, label, guard, message, addition FROM events "
        "WHERE session = :s ORDER BY number",
        "SELECT number, sender, tag, prediction, explanation, receiver FROM messages "
        "WHERE session = :s ORDER BY number",
        "SELECT number, place, relation, outcome, asked FROM judgements WHERE session = :s "
        "ORDER BY number, place",
        "SELECT agent, one_way, one_way_any, strong, ultra_strong FROM intelligibility "
        "WHERE session = :s ORDER BY agent",
        "SELECT two_way FROM two_way_intelligibility WHERE session = :s",
    )
    with board.engine.connect() as connection:
        for query in queries:
            found += [tuple(row) for row in connection.execute(text(query), {"s": session})]
    return found


@pytest.mark.parametrize("protocol", RULES)
@pytest.mark.parametrize("schedule", ["free", "fifo", "round-robin"])
def test_a_panel_of_two_is_a_session_of_two(protocol: str, schedule: str) -> None:
    with pxp.open_blackboard(":memory:") as board:
        for seed in range(4):
            rules = RULES[protocol](seed)
            for number, subject in enumerate((rules, pxp.Panel(rules, schedule))):
                name = f"{('two', 'panel')[number]}{seed}/1"
                pxp.Session(
                    subject,
                    agents(seed, "mh"),
                    instance="x",
                    name=name,
                    blackboard=board,
                    limit=30,
                ).run_sync()
            assert rows(board, f"two{seed}/1") == rows(board, f"panel{seed}/1")


@pytest.mark.parametrize("rule", ["call", "alone", "commit", "reopen"])
@pytest.mark.parametrize("protocol", RULES)
def test_the_rules_of_panels_are_neutral_between_two(rule: str, protocol: str) -> None:
    for seed in range(4):
        rules = RULES[protocol](seed)
        added: Any = {rule: True}
        panel = pxp.Panel(rules, **added)
        sessions = [
            pxp.Session(subject, agents(seed, "mh"), instance="x", limit=30).run_sync()
            for subject in (rules, panel)
        ]
        assert sessions[0].history == sessions[1].history
        assert (sessions[0].ending, sessions[0].cause) == (sessions[1].ending, sessions[1].cause)


@pytest.mark.parametrize(
    "seed", [4, *(pytest.param(seed, marks=pytest.mark.deep) for seed in (0, 1, 2, 3, 5))]
)
def test_a_panel_that_was_stopped_goes_on_at_the_next_message(seed: int, tmp_path: Path) -> None:
    rules = list(RULES.values())[seed % 3](seed + 4)
    panel = pxp.Panel(rules, ("free", "fifo", "round-robin")[seed % 3], reopen=seed > 2)
    members = agents(seed, "abc")
    whole = pxp.Session(panel, members, instance="x", name="run/1", limit=25).run_sync()
    database = str(tmp_path / "b.sqlite")
    for _ in range(len(whole.history)):
        with pxp.open_blackboard(database) as board:
            session = pxp.Session(
                panel, agents(seed, "abc"), instance="x", name="run/1", blackboard=board, limit=25
            )
            if board.next_event("run/1") > 1:
                board.resume(session)
            asyncio.run(session.step())
    with pxp.open_blackboard(database) as board:
        stored = board.session("run/1")
        assert stored.history == whole.history
        assert stored.record.ending == (whole.ending and whole.ending.value)
        assert [name for name, _ in stored.record.agents] == ["a", "b", "c"]
    assert verify(database).problems == ()


def test_a_panel_is_resumed_as_it_was_alone() -> None:
    with pxp.open_blackboard(":memory:") as board:

        def session(panel: pxp.Panel) -> pxp.Session:
            return pxp.Session(
                panel, agents(1, "abc"), instance="x", name="run/1", blackboard=board
            )

        first = session(pxp.Panel(pxp.Interact()))
        asyncio.run(first.step())
        with pytest.raises(UsageError, match="panel fifo"):
            board.resume(session(pxp.Panel(pxp.Interact(), "free")))
        with pytest.raises(UsageError, match="cannot be resumed"):
            board.resume(session(pxp.Panel(pxp.Interact(n=3))))


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(3, 8))]
)
def test_a_fork_shows_what_would_have_come_without_an_agent(seed: int) -> None:
    rules = list(RULES.values())[seed % 3](seed + 4)
    schedule = ("free", "fifo", "round-robin")[seed % 3]
    with pxp.open_blackboard(":memory:") as board:
        first = pxp.Session(
            pxp.Panel(rules, schedule),
            agents(seed, "abc"),
            instance="x",
            name="run/1",
            blackboard=board,
            limit=30,
        ).run_sync()
        at = min(5, len(first.history) - 1)
        other = pxp.Panel(rules, schedule, without=[("b", at)], reopen=True)
        fork = pxp.experiments.fork(
            board, f"run/1@{at}", agents(seed, "abc"), name="other/1", subject=other, limit=30
        ).run_sync()
        assert said_without_names(fork)[:at] == said_without_names(first)[:at]
        later = fork.history[at:]
        assert all("b" not in (message.sender, message.receiver) for message in later)
        assert fork.ending is not None
        assert "without b" in board.session("other/1").record.faults


def said_without_names(session: pxp.Session) -> list[tuple[str, str, str, Answer]]:
    return [(m.sender, m.receiver, m.tag, m.answer) for m in session.history]


def test_a_passed_turn_is_that_of_the_next_who_owes_a_message() -> None:
    def first(**options: Any) -> str:
        panel = pxp.Panel(pxp.Interact(), **options)
        session = pxp.Session(panel, agents(1, "abc"), instance="x")
        asyncio.run(session.step())
        message = session.history[0]
        return f"{message.sender}>{message.receiver}"

    assert first() == "a>b"
    assert first(skips=[0]) == "a>c"
    assert first(schedule="round-robin", skips=[0]) == "a>c"
    assert first(without=[("a", 0)]) == "b>c"


def test_nobody_goes_on_without_a_stranger() -> None:
    panel = pxp.Panel(pxp.Interact(), without=[("z", 1)])
    with pytest.raises(UsageError, match="no agent 'z'"):
        pxp.Session(panel, agents(1, "abc"), instance="x")
    with pytest.raises(UsageError, match="numbers of messages"):
        pxp.Panel(pxp.Interact(), skips=[-1])


class ToEach:
    """Guards of an agent by whom it answers."""

    name = "to each"
    follows_relations = False

    def __init__(self, scripts: Mapping[str, ScriptedGuards]) -> None:
        self.scripts = scripts

    async def decide(self, situation: Situation) -> Mapping[str, bool]:
        return await self.scripts[situation.received.sender].decide(situation)


WORKED = [
    ("INIT REFUTE TERM", pxp.Pxp(term=in_answer_to("REFUTE")), ""),
    ("INIT REJECT TERM", pxp.Pxp(term=in_answer_to("REJECT")), ""),
    ("INIT REFUTE REFUTE TERM", pxp.Pxp(k=1), ""),
    ("INIT REFUTE REFUTE REFUTE REFUTE TERM", pxp.Pxp(k=3), ""),
    ("INIT REVISE RATIFY TERM", pxp.Pxp(term=in_answer_to("RATIFY")), "both"),
    ("INIT REFUTE REVISE RATIFY TERM", pxp.Pxp(term=in_answer_to("RATIFY")), "both"),
]


@pytest.mark.parametrize(("sequence", "rules", "classes"), WORKED, ids=[one[0] for one in WORKED])
@pytest.mark.parametrize("schedule", ["free", "fifo", "round-robin"])
def test_each_channel_of_three_agents_is_a_worked_example_of_the_two_party_paper(
    schedule: str, sequence: str, rules: pxp.Pxp, classes: str
) -> None:
    said, names = sequence.split(), "mhx"
    answers = {
        (name, other): said[2::2] if names.index(name) < names.index(other) else said[1::2]
        for name in names
        for other in names
    }

    def sits(name: str) -> pxp.Agent:
        scripts = {
            other: ScriptedGuards([*(GUARDS[tag] for tag in tags if tag in GUARDS), "REF"])
            for (one, other), tags in answers.items()
            if one == name
        }
        same = Answer("same", "same")
        return pxp.Agent(lambda _: same, match=pxp.exact, agree=pxp.exact, guards=ToEach(scripts))

    panel = pxp.Panel(rules, schedule)
    session = pxp.Session(panel, {name: sits(name) for name in names}, instance="x").run_sync()
    assert session.ending is Ending.TERM
    for link in panel.links(names):
        channel = [one for one in session.history if {one.sender, one.receiver} == {*link}]
        assert [str(one.tag) for one in channel] == said
        assert [one.sender for one in channel] == [link[n % 2] for n in range(len(said))]
    held = ["one_way" in found for found in pxp.panels.directions(session.history).values()]
    assert held == [classes == "both"] * 6
    strong = ["strong" in found for found in pxp.panels.agent_classes(session.history).values()]
    assert strong == [classes == "both"] * 3
