"""A blinded page is the same, byte for byte, whoever the partner is: over all sessions of a model.

Two partners say the same. They differ in everything else: what they are made of, how their run was
planned, which of their calls failed, what a fault says, and when within a slot they answered.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pxp_fsm as pxp
from backends.databases import CallsOf, RunRecord, SqlBlackboard, rows
from pxp_fsm.plugins.studies.assignment import assignment
from pxp_fsm.plugins.studies.files import SlotLengths, load_study
from pxp_fsm.plugins.studies.slots import opening_length, released, slot_length
from pxp_fsm.plugins.studies.tasks import TaskSessions
from pxp_fsm.plugins.studies.views import LEFT_OUT, OWN, page_bytes, view, without_sources
from pxp_fsm.prompting.model import Call, ModelRequest
from pxp_fsm.protocol.messages import Message
from pxp_fsm.sessions.events import Event
from tests.backends.records import record
from tests.plugins.studies.experts import DRUG
from tests.sampling import WHOLE

STUDY = replace(load_study(DRUG), slots=SlotLengths(20.0, 40.0))
BLINDED = assignment(STUDY, 1)[0]
BEGAN = 1_000_000.0


class Clock:
    """The time at which everything is stored."""

    def __init__(self) -> None:
        self.at = BEGAN

    def now(self) -> str:
        return datetime.fromtimestamp(self.at, UTC).isoformat(timespec="microseconds")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(rows, "now", found.now)
    return found


def words(n: int, k: int) -> Iterator[tuple[str, ...]]:
    """The tags of every session of INTERACT(n, k), over and cut off after each message."""
    for word in pxp.language(pxp.Interact(n=n, k=k)).prefixes().words():
        yield tuple(str(letter).partition(":")[2] for letter in word)


@dataclass
class Side:
    """A blackboard on which one partner's sessions are held; it uses `speed` of each slot."""

    clock: Clock
    partner: str
    speed: float
    board: SqlBlackboard = field(default_factory=lambda: SqlBlackboard(":memory:"))
    held: int = 0

    def pages(
        self,
        *sessions: tuple[str, ...],
        ending: str | None = None,
        blinded: bool = True,
        total: int = 1,
    ) -> list[bytes]:
        """The pages of sessions of these tags, at instants from before them to after them.

        All but the last end after their last message.
        """
        self.held += 1
        arm = replace(BLINDED.arm, blinded=blinded)
        does = BLINDED._replace(place=self.held, arm=arm)
        run, before = f"drug-experts-p001-{self.held}", BEGAN
        plan = json.dumps({"machine": self.partner, "task": "drug"})
        record = RunRecord(run, "drug", plan, 7, self.partner, self.partner, subject="p001")
        self.board.start_run(record)
        for position, tags in enumerate(sessions, 1):
            last = position == len(sessions)
            before = self.hold(run, position, tags, ending if last else "bound", before)
        about = TaskSessions(STUDY, self.board, "p001", does, run, total, BEGAN)
        found, noticed, now = list[bytes](), dict[str, float](), BEGAN
        while now < BEGAN + 40.0 * (sum(map(len, sessions)) + 2 * total):
            standing = about.standing(now, noticed)
            status = "ANSWERING" if standing.is_theirs else "WAITING"
            status = "ABANDONED" if standing.is_lost else "BREAK" if standing.is_over else status
            found.append(page_bytes(view(STUDY, status, standing, [does])))
            now += 5.3
        return found

    def hold(
        self, run: str, position: int, tags: tuple[str, ...], ending: str | None, before: float
    ) -> float:
        """Hold a session that is waited for from `before` on; when its last message is shown."""
        partner, board = self.partner, self.board
        opening = opening_length(STUDY.slots.least)
        self.clock.at = before + opening * self.speed
        agents = (("m", partner), ("h", "person in a browser"))
        name, asked = f"{run}/1/{position}", released(before, self.clock.at, opening).at
        opened = record(name, position, run=run, agents=agents, assumptions=(partner,))
        board.start_session(opened)
        log = CallsOf(board, run)
        for number, tag in enumerate(tags, 1):
            sender, receiver = ("m", "h") if number % 2 else ("h", "m")
            if sender == "m":
                place = f"drug-experts/p001/{self.held}/{position}/{number}"
                length = slot_length(STUDY.seed, place, STUDY.slots.least, STUDY.slots.most)
                self.clock.at = asked + length * self.speed
                asked = released(asked, self.clock.at, length).at
                asks = ModelRequest("", (), session=name)
                log.keep(Call(partner, asks, None, self.speed, failure=partner))
            else:
                self.clock.at = asked = asked + 5.0
            answer = pxp.Answer(f"C{'C' * number}O", f"Because of {number}.")
            board.append(
                name, Event.of_message(Message(name, number, sender, tag, answer, receiver), "", [])
            )
        if ending is not None:
            board.end(name, ending, f"{partner} said {partner}", [])
        return asked


def two(clock: Clock, quick: float = 0.02, slow: float = 0.93) -> tuple[Side, Side]:
    return Side(clock, "anthropic:one", quick), Side(clock, OWN, slow)


@pytest.mark.deep
@pytest.mark.parametrize(("n", "k"), [(2, 1), (5, 2) if WHOLE else (3, 2)])
def test_the_views_of_two_partners_are_the_same_over_all_sessions(
    n: int, k: int, clock: Clock
) -> None:
    everything, sides = list(words(n, k)), two(clock)
    assert len(everything) > n
    for tags in everything:
        # a partner that failed answers no more; where it is the person's turn, nothing has ended
        for ending in (None, "bound", "no answer") if len(tags) % 2 == 0 else (None, "bound"):
            first, other = (side.pages(tags, ending=ending) for side in sides)
            assert first == other, (tags, ending)
            assert all(len(page) % 4096 == 0 for page in first)


@pytest.mark.deep
@pytest.mark.parametrize(
    "said",
    [("INIT", "RATIFY"), *(pytest.param(tags, marks=pytest.mark.deep) for tags in ((), ("INIT",)))],
    ids=len,
)
def test_the_next_session_is_shown_at_the_end_of_a_slot(
    said: tuple[str, ...], clock: Clock
) -> None:
    """Also after a message of the person's, where the other side has nothing to wait with."""
    sides = two(clock)
    for before in (("INIT", "RATIFY"), ("INIT", "REFUTE", "RATIFY")):
        first, other = (side.pages(before, said, total=3) for side in sides)
        assert first == other
        assert len(set(first)) >= len(before) + len(said)
    opened = [side.pages(("INIT", "RATIFY"), blinded=False, total=2) for side in sides]
    assert opened[0] != opened[1]


def test_without_blinding_they_differ(clock: Clock) -> None:
    tags = ("INIT", "REFUTE", "REVISE")
    first, other = (side.pages(tags, blinded=False) for side in two(clock))
    assert first != other


def test_slots_that_went_by_are_the_only_thing_that_speed_shows(clock: Clock) -> None:
    """What is admitted: a partner that needs a slot more is seen to."""
    tags = ("INIT", "REFUTE", "REVISE")
    first, other = (side.pages(tags) for side in two(clock, 0.5, 1.5))
    assert first != other
    assert [page for page in first if page not in other] == []


@given(
    st.floats(0, 1e6), st.floats(0, 1e5), st.floats(1, 1e4), st.integers(0, 99), st.text(max_size=9)
)
def test_an_answer_is_shown_at_the_end_of_the_slot_in_which_it_came(
    asked: float, took: float, length: float, seed: int, place: str
) -> None:
    release = released(asked, asked + took, length)
    assert release.slots >= 1
    assert release.at == asked + release.slots * length
    assert release.at >= asked + took - 1e-6
    assert release.slots == 1 or release.at - length <= asked + took + 1e-6
    assert 3 <= slot_length(seed, place, 3, 9) <= 9


SOURCES = [
    "It is known from US08440830B2.",
    "The nearest precedents are in patents US05238962 (similarity 0.35) and WO2012/123456.",
    "See https://example.org/a.",
    "Smith et al. did it.",
    "As in [12, 13].",
    "Its doi is 10.1021/ja01234.",
    "Look it up in Reaxys.",
    "Compare ref. 7.",
]


@pytest.mark.parametrize("source", SOURCES)
def test_sources_are_left_out(source: str) -> None:
    kept = without_sources(f"An amide coupling. {source} Use DCC.", 500)
    assert kept == "An amide coupling. Use DCC."
    assert without_sources(source, 500) == LEFT_OUT


@given(st.text(), st.integers(10, 60))
def test_nothing_is_longer_than_allowed_and_nothing_is_added(text: str, longest: int) -> None:
    kept = without_sources(text, longest)
    assert len(kept) <= longest
    assert kept == LEFT_OUT or kept.removesuffix(LEFT_OUT) in " ".join(text.split())


def test_chemistry_is_left_as_it_is() -> None:
    said = "Cut the C(=O)-N bond [marked]: 4-chlorobenzoyl chloride acylates it. Yield 85 %."
    assert without_sources(said, 500) == said


def test_a_debrief_names_the_arm_and_no_page_before_it_does() -> None:
    about = BLINDED.arm.about
    for status in ("READY", "WAITING", "ANSWERING", "BREAK", "ABANDONED", "AFTER"):
        assert about.encode() not in page_bytes(view(STUDY, status, None, [BLINDED]))
    debrief = view(STUDY, "DEBRIEF", None, [BLINDED])
    assert debrief["arms"][0]["about"] == about
    assert "WITHDRAW" in debrief["offers"]
