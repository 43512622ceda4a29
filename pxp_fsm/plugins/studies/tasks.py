"""How a task of a participant stands, from what is stored of its run, as far as it is released.

Of a blinded arm a partner's message is there once its slot is over, and a session once that is in
which it was opened; of another, at once.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from backends.databases import FAULTS, SessionRecord, SqlBlackboard, queries
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.studies.assignment import Assigned
from pxp_fsm.plugins.studies.files import Study
from pxp_fsm.plugins.studies.slots import AnswerRelease, opening_length, released, slot_length
from pxp_fsm.protocol.messages import Message
from pxp_fsm.tasks.task import HUMAN


class Timed(NamedTuple):
    """A message with when it is shown; slots are 0 where it was not held back."""

    message: Message
    release: AnswerRelease


@dataclass(frozen=True, slots=True)
class TaskStanding:
    """A task as its participant may know it now.

    `shown` are the released messages of the session that goes on, about the instance `x`, number
    `position` of them; `is_theirs` says that it is the participant's turn, `is_over` that all
    sessions are over, `is_lost` that the partner failed in the last one. `until` is the end of the
    slot that is waited for; `slots` are how many went by for each of the partner's messages.
    `earlier` are the messages of the sessions of the task that are over, in order.
    """

    session: str = ""
    position: int = 0
    x: str = ""
    shown: tuple[Message, ...] = ()
    is_theirs: bool = False
    is_over: bool = False
    is_lost: bool = False
    until: float | None = None
    slots: tuple[int, ...] = ()
    earlier: tuple[tuple[Message, ...], ...] = ()


@dataclass(frozen=True)
class TaskSessions:
    """The sessions of the task `does` of `subject`, `total` of them, carried as `run`.

    `began` is when the task was given, in seconds since 1970.
    """

    study: Study
    board: SqlBlackboard
    subject: str
    does: Assigned
    run: str
    total: int
    began: float

    def standing(
        self, now: float, noticed: MutableMapping[str, float], *, is_lost: bool = False
    ) -> TaskStanding:
        """How the task stands at `now`; `is_lost`: its run cannot go on.

        `noticed` keeps when a fault was first seen, which is stored nowhere.
        """
        stored = self.board.sessions(self.run)
        standing, before, earlier = TaskStanding(), self.began, list[tuple[Message, ...]]()
        for session in stored:
            opened = self.opened(session, before)
            if opened > now:
                return replace(_open(standing), until=opened)
            messages = self.timed(session, before)
            fails = session.ending in FAULTS or (session.ending is None and is_lost)
            standing = self._at(session, messages, opened, now, noticed, fails=fails)
            standing = replace(standing, earlier=tuple(earlier))
            if standing.until is not None or not standing.is_over:
                return standing
            before = messages[-1].release.at if messages else opened
            earlier.append(standing.shown)
        cut = is_lost and stored and stored[-1].ending is None
        if standing.is_over and (cut or len(stored) >= self.total):
            return standing
        if is_lost:
            return self._unopened(_open(standing), before, now, noticed)
        return replace(_open(standing), until=self._opening(before, now))

    def _unopened(
        self, standing: TaskStanding, before: float, now: float, noticed: MutableMapping[str, float]
    ) -> TaskStanding:
        """The run failed before the next session was opened."""
        seen = noticed.setdefault(self.run, now)
        end = self._slot_end(f"{self.run}/{len(standing.earlier)}", before, seen)
        if self.does.arm.blinded and end > now:
            return replace(standing, until=end)
        return replace(standing, is_over=True, is_lost=True)

    def timed(self, session: SessionRecord, before: float) -> tuple[Timed, ...]:
        """The messages of a session, each with when it is shown; `before` is the end of the last.

        That is when the last message of the session before was shown, or the task given.
        """
        messages = [entry.carried for entry in self.board.events(session.session)]
        times = list(self._times(session))
        times[0] = self.opened(session, before)
        if not self.does.arm.blinded:
            return tuple(
                Timed(message, AnswerRelease(ready, 0))
                for message, ready in zip(messages, times[1:], strict=False)
            )
        return tuple(held_back(self.study, self._place(session), messages, times))

    def opened(self, session: SessionRecord, before: float) -> float:
        """When a session is shown that was waited for from `before` on, in seconds since 1970."""
        opened = max(self._times(session)[0], before)
        return self._opening(before, opened) if self.does.arm.blinded else opened

    def _opening(self, before: float, ready: float) -> float:
        return released(before, ready, opening_length(self.study.slots.least)).at

    def _times(self, session: SessionRecord) -> tuple[float, ...]:
        return self.board.read(lambda connection: queries.times(connection, session.session))

    def _place(self, session: SessionRecord) -> str:
        return f"{self.study.name}/{self.subject}/{self.does.place}/{session.position}"

    def _at(
        self,
        session: SessionRecord,
        messages: Sequence[Timed],
        opened: float,
        now: float,
        noticed: MutableMapping[str, float],
        *,
        fails: bool,
    ) -> TaskStanding:
        out = [message for message in messages if message.release.at <= now]
        shown = tuple(timed.message for timed in out)
        until = messages[len(out)].release.at if len(out) < len(messages) else None
        if fails and until is None and self.does.arm.blinded:
            seen = noticed.setdefault(session.session, now)
            asked = messages[-1].release.at if messages else opened
            place = f"{self._place(session)}/{len(messages) + 1}"
            end = self._slot_end(place, asked, seen)
            until = end if end > now else None
        over = (fails or session.ending is not None) and until is None
        theirs = shown[-1].sender != HUMAN if shown else session.agents[0][0] == HUMAN
        return TaskStanding(
            session.session,
            session.position,
            session.instance.x,
            shown,
            is_theirs=theirs and not over and until is None,
            is_over=over,
            is_lost=over and fails,
            until=until,
            slots=tuple(timed.release.slots for timed in out if timed.release.slots),
        )

    def _slot_end(self, place: str, asked: float, ready: float) -> float:
        length = slot_length(self.study.seed, place, self.study.slots.least, self.study.slots.most)
        return released(asked, ready, length).at


def _open(standing: TaskStanding) -> TaskStanding:
    """A session is over and the next one has not been opened: the partner is waited for."""
    return replace(standing, is_theirs=False, is_over=False, is_lost=False, until=None)


def held_back(
    study: Study, place: str, messages: Sequence[Message], times: Sequence[float]
) -> Iterator[Timed]:
    """Messages with their release: `times` are the opening of the session, and of each message.

    The participant's own are shown at once. A partner's message was asked for by what was shown
    last before it.
    """
    asked = times[0]
    for message, ready in zip(messages, times[1:], strict=False):
        if message.sender == HUMAN:
            release = AnswerRelease(max(ready, asked), 0)
        else:
            drawn_by = f"{place}/{message.number}"
            length = slot_length(study.seed, drawn_by, study.slots.least, study.slots.most)
            release = released(asked, ready, length)
        yield Timed(message, release)
        asked = release.at
