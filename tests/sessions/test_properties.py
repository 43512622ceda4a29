"""Any two agents, any answers, any faults, any interruption: what holds of every session.

Hypothesis plays every oracle of two running agents, breaks some of them, pushes messages in from
outside and interrupts the session anywhere. What is expected is in `reading`, in the words of the
papers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from guards import Derived, FreeChoice
from pxp_fsm.automata.automaton import one_hot
from pxp_fsm.errors import Refused, UsageError
from pxp_fsm.protocol.messages import Answer, Instance, Message
from pxp_fsm.protocol.relations import LEARN, Outcome
from pxp_fsm.protocol.rules import Interact, Pxp
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.session import Session
from tests.oracles.session_rules import TAG, Reading, about, comparing, context_of, in_order, judged
from tests.sessions.agents import (
    Asked,
    Deciding,
    ListBoard,
    Saying,
    agent,
    channel_of,
    now,
    session,
)

GUARDS = tuple(TAG)
KINDS = ("derived", "derived", "oracle", "free", "direct")
FINE = object()
WRONG: dict[str, list[Any]] = {
    "respondent": [None, "y", ("y", "e"), Answer(None, "e"), Answer("y", b"e")],  # type: ignore[arg-type] # they are refused
    "guards": [None, {}, "REF", 1, one_hot("", GUARDS), one_hot("RAT", GUARDS) | {"REF": True}],
    "relation": [True, False, None, 1, "yes", Outcome.BROKEN],
}
FAULTS = [(where, how) for where in WRONG for how in ("raises", "late", "wrong")]
ENDINGS = {
    (where, how): "late" if how == "late" else "no answer" if where == "respondent" else "broken"
    for where, how in FAULTS
}
NAMES = st.sampled_from(["m", "h", "m", "h", "x", "", None])
TAGS = st.sampled_from(["INIT", *TAG.values(), "TERM", "ratify", "", None])
VALUES = st.builds(Answer, st.sampled_from("abc"), st.sampled_from("abc"))
INJECTED = st.builds(
    Message,
    st.sampled_from(["s", "s", "s", "t", None]),
    st.integers(0, 14) | st.sampled_from([None, "1", True]),
    NAMES,
    TAGS,
    VALUES | st.none(),
    NAMES,
)


def hang_up(sent: str, answered: str) -> bool:
    return sent == "REVISE" or (sent, answered) == ("REFUTE", "INIT")


class Played(Saying):
    """A respondent that Hypothesis plays, and that keeps what it has learned."""

    def __init__(self, talk: Talk) -> None:
        super().__init__(lambda _question: talk.answer(), "played")
        self.learned: list[Message] = []

    def learn(self, instance: Instance, message: Message) -> None:
        self.learned.append(message)


class Talk(RuleBasedStateMachine):
    """One session between two agents, whose every oracle Hypothesis plays."""

    protocols: st.SearchStrategy[Reading]

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        self.data = data
        self.reading = data.draw(self.protocols, "protocol")
        self.capacity = data.draw(st.sampled_from([0, 0, 0, 1, 2]), "capacity")
        self.kinds = {who: data.draw(st.sampled_from(KINDS), who) for who in "mh"}
        memos = {who: data.draw(st.booleans(), f"memo of {who}") for who in "mh"}
        self.fault, self.struck = ("", ""), False
        self.answers: list[Answer] = []
        self.decided = ""
        self.players = {who: Played(self) for who in "mh"}
        self.agents = {who: self.make_agent(who, memos[who]) for who in "mh"}
        self.board = ListBoard()
        self.session = self.make_session()

    def make_session(self) -> Session:
        n, k = self.reading.n, self.reading.k
        rules = Pxp(k, hang_up=self.reading.hang_up) if n is None else Interact(n, k or 0)
        return session(
            self.agents["m"],
            self.agents["h"],
            rules,
            self.board,
            channel=channel_of(self.capacity),
            limit=1000 if n else 25,
        )

    def make_agent(self, who: str, memo: bool) -> Agent:
        guards: Any = {
            "derived": Derived(),
            "oracle": Derived(revises=False),
            "free": FreeChoice(self.decide),
            "direct": Deciding(lambda _: one_hot(self.decide(GUARDS), GUARDS)),
        }[self.kinds[who]]
        return agent(
            self.players[who],
            guards=Deciding(lambda situation: self.struck_or("guards", guards.decide, situation)),
            match=Asked(lambda *_: self.struck_or("relation", self.judge)),
            memo=memo,
            timeout=60,
        )

    def struck_or(self, where: str, otherwise: Any, *given: Any) -> Any:
        """What an oracle says: what is due, or the fault that is due there."""
        if self.fault[0] != where:
            return otherwise(*given)
        self.struck = True
        if self.fault[1] == "raises":
            raise RuntimeError("struck")
        if self.fault[1] == "late":
            raise TimeoutError("too late")
        return self.data.draw(st.sampled_from(WRONG[where]), "wrong")

    def answer(self) -> Any:
        said = self.struck_or("respondent", lambda: self.data.draw(VALUES, "answer"))
        self.answers.append(said)
        return said

    def judge(self) -> Outcome:
        return self.data.draw(st.sampled_from([Outcome.YES, Outcome.NO, Outcome.UNSURE]), "judged")

    def decide(self, options: Sequence[str]) -> str:
        self.decided = self.data.draw(st.sampled_from(options), "guard")
        return self.decided

    @precondition(lambda self: self.session.ending is None)
    @rule(data=st.data(), fault=st.sampled_from([("", "")] * 30 + FAULTS))
    def step(self, data: st.DataObject, fault: tuple[str, str]) -> None:
        """The next message, or the end for which the fault is to blame."""
        self.data, self.fault, self.struck = data, fault, False
        self.answers, self.decided = [], ""
        before = self.session.history
        states = self.session.states
        event = now(self.session.step())
        message = None if event is None else event.carried
        self.fault = ("", "")
        number = len(before) + 1
        if self.struck or (self.decided and not self.reading.possible(self.decided, number)):
            assert message is None
            assert self.session.history == before
            assert self.capacity or self.session.states == states
            assert str(self.session.ending) == (ENDINGS[fault] if self.struck else "broken")
            assert self.session.cause
            return
        assert message is not None
        assert self.session.history == (*before, message)
        self.justified(message, before)

    def justified(self, message: Message, before: tuple[Message, ...]) -> None:
        """Tag, answer, judgements and learning follow from what the oracles have said."""
        reading, entry = self.reading, self.board.entries[-1]
        tags = [earlier.tag for earlier in before]
        learned = False
        if not before:
            tag, answer = "INIT", self.answers[0]
        elif reading.hangs_up(tags):
            tag, answer = "TERM", before[-1].answer
        elif reading.concluded(tags):
            tag, answer = "TERM", before[-2].answer
        else:
            own = before[-2].answer if len(before) > 1 else self.answers[0]
            kind = self.kinds[message.sender]
            guard = self.decided
            if kind in ("derived", "oracle"):
                said = judged(entry)
                guard = reading.guard(said, message.number, kind == "derived")
                received, mine = before[-1].answer, self.answers[-1:] or [own]
                expected = comparing(received, own)
                expected += comparing(mine[0], received if reading.n is None else own)
                assert about(entry.judgements) == expected[: len(said)]
            else:
                assert about(entry.judgements) == []
            tag = TAG[guard]
            stands = kind == "oracle"
            learned = reading.n is None and guard in ("REF", "REV") and not stands
            answer = own if stands or not (learned or reading.n) else self.answers[-1]
            if reading.term_instead(tags, tag):
                tag = "TERM"
        assert (message.tag, message.answer) == (tag, answer)
        assert entry.carried == message
        assert entry.addition == context_of(message)
        assert any(j.relation == LEARN for j in entry.judgements) is learned
        if learned:
            assert self.players[message.sender].learned[-1] == before[-1]
        if reading.n is not None:
            assert self.players[message.receiver].learned[-1] == message
            assert len(self.answers) == 1
        else:
            assert len(self.answers) == (len(before) < 2) + learned

    @precondition(lambda self: not self.capacity)
    @rule(message=INJECTED)
    def inject(self, message: Message) -> None:
        """What the automata do not allow leaves no trace; what they do is left alone here."""
        states = self.session.states
        sent = len(self.session.history)
        proper = isinstance(message.number, int) and message.number is not True and message.payload
        if proper and self.reading.allows(states, sent, message):
            return
        rows, history = list(self.board.entries), self.session.history
        with pytest.raises(Refused, match="was refused"):
            self.session.replay([Event.of_message(message)])
        assert self.session.states == states
        assert (self.board.entries, self.session.history) == (rows, history)

    @rule()
    def resume(self) -> None:
        """A new session that replays what is stored is where the old one was, and goes on."""
        old, learned = self.session, {who: list(p.learned) for who, p in self.players.items()}
        tags = [x.tag for x in old.history]
        failed = old.ending is not None and not (tags and self.reading.over(tags))
        for player in self.players.values():
            player.learned.clear()
        self.session = self.make_session()
        self.session.replay(list(self.board.entries), list(self.board.left))
        assert self.session.history == old.history
        assert self.session.context == old.context
        assert {who: p.learned for who, p in self.players.items()} == learned
        if failed:
            assert self.session.ending is None
            self.go_on_as_if_nothing_had_failed()
            return
        assert self.session.ending == old.ending
        assert self.session.states == old.states
        for name, was in old._seats.items():
            new = self.session._seats[name]
            known = {key: j.outcome for key, j in new.relations._known.items()}
            assert {
                key: j.outcome for key, j in was.relations._known.items()
            }.items() <= known.items()

    def go_on_as_if_nothing_had_failed(self) -> None:
        """A fault ends a session for good; here the same messages go on without it."""
        self.board.left.clear()
        for player in self.players.values():
            player.learned.clear()
        self.session = self.make_session()
        self.session.replay(list(self.board.entries))

    @precondition(lambda self: self.session.ending is not None)
    @rule()
    def nothing_after_the_end(self) -> None:
        rows, endings = list(self.board.entries), len(self.board.endings)
        with pytest.raises(UsageError, match="has ended"):
            now(self.session.step())
        assert now(self.session.run()) is self.session
        assert (self.board.entries, len(self.board.endings)) == (rows, endings)

    @invariant()
    def the_session_is_in_order(self) -> None:
        history, ending = self.session.history, self.session.ending
        in_order(self.reading, history)
        assert tuple(entry.carried for entry in self.board.entries) == history
        for message in history:
            assert message.tag != "REVISE" or self.kinds[message.sender] != "oracle"
        over = self.reading.over([message.tag for message in history]) if history else ""
        if over:
            assert str(ending) == over
            assert self.session.states == {"m": "END", "h": "END"}
        elif ending is not None:
            assert str(ending) in ("late", "broken", "no answer", "limit")
        if ending is not None:
            assert self.board.endings[-1] == ("s", str(ending), self.session.cause)


class InteractTalk(Talk):
    protocols = st.builds(Reading, st.integers(1, 40), st.integers(1, 40))


class PxpTalk(Talk):
    protocols = st.builds(
        Reading, st.none(), st.none() | st.integers(1, 3), st.sampled_from([None, None, hang_up])
    )


@pytest.mark.parametrize("examples", [5, pytest.param(150, marks=pytest.mark.deep)])
@pytest.mark.parametrize("talk", [InteractTalk, PxpTalk])
def test_whatever_the_agents_do_the_session_is_in_order(talk: type[Talk], examples: int) -> None:
    steps = settings(max_examples=examples, stateful_step_count=40, deadline=None)
    run_state_machine_as_test(talk, settings=steps)
