"""Whatever is sent is refused with its reason, or stored exactly; the state is always legal.

The messages are numbers (`hostile_messages.py`); those that reached what none before them did,
refused and stored, are kept in `corpus/` (`corpus_growth.py`). Hypothesis draws the numbers of the
quick test, and the deep one goes through those that reach everything, many times over.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event

from backends.databases import SqlBlackboard
from backends.databases.verify import verify_engine
from pxp_fsm.automata.tables import builtin
from pxp_fsm.errors import BlackboardError, Refused
from pxp_fsm.protocol.messages import Answer, Message
from pxp_fsm.protocol.rules import Pxp
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.session import Session
from tests.backends import hostile_messages
from tests.backends.records import RUN, as_stored, record
from tests.sampling import sampled
from tests.sessions.agents import agent

CORPUS = Path(__file__).parent / "corpus" / "hostile.json"
LONGEST = 200
LONG = 87_754
"""A message with a text of ten million characters."""


class Target:
    """A session of two agents beside a blackboard, and what it must have stored."""

    def __init__(self, board: SqlBlackboard, *, checked: bool = True) -> None:
        self.board = board
        self.checked = checked
        self.reasons: Counter[str] = Counter()
        self.stored = 0
        board.start_run(RUN)
        self.position = 0
        self.renew()

    def renew(self) -> None:
        """The next session; the one before it must hold exactly what was accepted."""
        if self.position:
            self.check()
        self.position += 1
        self.name = f"drug-1/1/{self.position}"
        self.accepted: list[Message] = []
        self.board.start_session(
            record(
                self.name, self.position, automaton="pxp", fingerprint=builtin("pxp").fingerprint
            )
        )
        two = {name: agent() for name in ("m", "h")}
        self.session = Session(Pxp(), two, instance="x", name=self.name, record_faults=True)
        self.machines = self.session.live.machines

    def send(self, number: int) -> str:
        """Send one hostile message; the reason why it was refused, or nothing."""
        turn = "m" if len(self.accepted) % 2 == 0 else "h"
        machine = self.machines[turn]
        tags = [row.label for row in machine.enabled() if row.kind.value == "+"]
        if not tags or len(self.accepted) >= LONGEST:
            self.renew()
            return self.send(number)
        sent = hostile_messages.message(number, len(self.accepted) + 1, turn, tags)
        if sent.session == hostile_messages.SESSION:
            sent = Message(
                self.name, sent.number, sent.sender, sent.tag, sent.payload, sent.receiver
            )
        before = {name: machine.state for name, machine in self.machines.items()}
        try:
            if self.checked:
                self.session.replay([Event.of_message(sent)])
            self.board.append(*as_stored(sent, "{}", []))
        except (Refused, BlackboardError) as error:
            assert {name: machine.state for name, machine in self.machines.items()} == before
            assert len(str(error)) < 1000
            reason = str(error).rpartition("refused")[2]
            self.reasons[" ".join(reason.split()[:3])] += 1
            return str(error)
        self.accepted.append(sent)
        self.stored += 1
        return ""

    def check(self) -> None:
        """What is stored is what was accepted, and nothing else."""
        found = [entry.carried for entry in self.board.events(self.name)]
        assert found == self.accepted


@pytest.mark.deep
def test_every_kind_of_hostility_comes() -> None:
    """Parts that are wrong, by kind and by type; each odd text; of the longest, the first."""
    wrong: Counter[str] = Counter()
    said: set[str] = set()
    for number in (*range(20_000), LONG):
        sent = hostile_messages.message(number, 3, "m", ["RATIFY", "REFUTE", "TERM"])
        right = (hostile_messages.SESSION, 3, "m", "h")
        parts = (sent.session, sent.number, sent.sender, sent.receiver)
        for name, part, wanted in zip(
            ("session", "number", "sender", "receiver"), parts, right, strict=True
        ):
            wrong[name] += part != wanted
            wrong[f"type of {name}"] += type(part) is not type(wanted)
        wrong["tag"] += sent.tag not in ("RATIFY", "REFUTE", "TERM")
        wrong["type of tag"] += not isinstance(sent.tag, str)
        wrong["payload"] += not isinstance(sent.payload, Answer)
        if isinstance(sent.payload, Answer):
            for text in (sent.answer.prediction, sent.answer.explanation):
                wrong["type of text"] += not isinstance(text, str)
                wrong["size"] += isinstance(text, str) and len(text) == hostile_messages.HUGE
                if isinstance(text, str) and len(text) < hostile_messages.HUGE:
                    said |= {odd for odd in hostile_messages.TEXTS if odd in text}
    assert said == set(hostile_messages.TEXTS)
    assert wrong.pop("size") == 1
    assert len(wrong) == 12
    assert min(wrong.values()) > 100, wrong


@pytest.fixture
def target(empty: SqlBlackboard) -> Target:
    return Target(empty)


@pytest.mark.parametrize(
    "kept",
    sampled(json.loads(CORPUS.read_text("utf-8")), 9),
)
def test_the_corpus_is_refused_for_its_reason_or_stored_exactly(kept: dict[str, Any]) -> None:
    with SqlBlackboard(":memory:") as board:
        target = Target(board, checked=kept["checked"])
        for number in kept["after"]:
            assert target.send(number) == ""
        said = target.send(int(str(kept["number"])))
        assert str(kept["says"]) in said
        assert bool(kept["says"]) == bool(said)
        target.check()
        problems = verify_engine(board.engine).problems
        assert not kept["checked"] or problems == ()  # alone it does not know the automaton
        assert all("does not" in problem.what for problem in problems)


@given(numbers=st.lists(st.integers(0, 2**64), max_size=60))
@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_hostile_messages_are_refused_or_stored_exactly(target: Target, numbers: list[int]) -> None:
    for number in numbers:
        target.send(number)
    target.check()
    assert verify_engine(target.board.engine).problems == ()


@pytest.mark.parametrize("checked", [True, False], ids=["channel", "blackboard"])
@pytest.mark.parametrize(
    ("dialect", "number"),
    [
        ("sqlite", 250),
        pytest.param("postgresql", 250, marks=pytest.mark.deep),
        pytest.param("sqlite", 8_000, marks=pytest.mark.deep),
        pytest.param("postgresql", 3_000, marks=pytest.mark.deep),
    ],
)
def test_so_many_hostile_messages(empty: SqlBlackboard, number: int, checked: bool) -> None:
    """At the channel, and at the blackboard alone; nothing waits for the disk.

    The messages are the same in each run, so that more of them find nothing new: in the corpus, of
    those that reached something first, none has a number above 4,097.
    """
    sqlite = empty.engine.dialect.name == "sqlite"
    hurry = "PRAGMA synchronous = OFF" if sqlite else "SET synchronous_commit = off"
    empty.engine.dispose()
    event.listen(
        empty.engine, "connect", lambda driver, _: (driver.execute(hurry), driver.commit())
    )
    target = Target(empty, checked=checked)
    for chosen in range(number):
        target.send(chosen)
    target.check()
    problems = verify_engine(empty.engine).problems
    assert not problems or not checked
    assert all("does not" in problem.what for problem in problems)
    assert sum(target.reasons.values()) + target.stored == number
    assert target.stored > number // 50
    assert len(target.reasons) >= 8


@pytest.mark.deep
def test_ten_million_characters_are_stored_exactly(target: Target) -> None:
    long = "\U0001f9ea" + "é" * hostile_messages.HUGE
    sent = Message(target.name, 1, "m", "INIT", Answer(long, "e"), "h")
    target.session.replay([Event.of_message(sent)])
    target.board.append(*as_stored(sent, "{}", []))
    target.accepted.append(sent)
    target.check()
    cut = Message(target.name, 2, "h", "REFUTE", Answer(long + "\ud800", "e"), "m")
    with pytest.raises(Refused, match="half a character"):
        target.session.replay([Event.of_message(cut)])
    with pytest.raises(BlackboardError, match="half a character"):
        target.board.append(*as_stored(cut, "{}", []))
    target.check()
