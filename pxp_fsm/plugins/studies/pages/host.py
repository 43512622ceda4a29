"""A study on a server: its tables move with what participants do, its runs are carried meanwhile.

A page hears that something has changed when what it may show has changed: of a blinded arm that is
at the end of a slot, whenever within it the partner has answered, or was ready again after a
restart.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from typing import Any

from backends.databases import SqlBlackboard
from backends.databases.drafts import Timing, read_draft
from backends.people.browser import OWN, WHY
from backends.people.choices import THEIRS
from backends.people.waiting import SessionMoved
from pxp_fsm.errors import BlackboardError, PXPError, Refused
from pxp_fsm.experiments import runs
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.runs import log
from pxp_fsm.plugins.studies import slots
from pxp_fsm.plugins.studies.conduct import AT_TASK, Conduct
from pxp_fsm.plugins.studies.files import Arm, Study
from pxp_fsm.plugins.studies.tasks import TaskStanding
from pxp_fsm.plugins.studies.views import participant_page, without_sources
from pxp_fsm.prompting.model import Image
from pxp_fsm.web.experts.answers import PostedReply, TypedDraft, give, save, will_ask
from pxp_fsm.web.experts.pages import picture_of
from pxp_fsm.web.experts.views import Released, session_view
from pxp_fsm.web.hosting import Host, HostedRun, RunState, SeatPlace
from pxp_fsm.web.news import News

ROUND = 20.0
"""Seconds between two rounds, in which those lapse who have not come back."""

ASKING = ("TRAINING", "BEFORE", "AFTER")
"""The statuses whose page has questions: what is typed there is kept as a draft."""

_LATE = 0.005
"""Seconds after the end of a slot in which its answer is looked for: clocks are not exact."""


class StudyHost:
    """The study `study` on `board`, conducted and carried on; use it as a context manager.

    Raises what `Conduct` raises. It goes on while it is `served`.
    """

    def __init__(self, study: Study, board: SqlBlackboard) -> None:
        self.runner = Host(board, ())
        self.conduct = Conduct(study, board, stop=self._stop)
        self.pages, self.sessions = News(), News()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._looks = set[asyncio.Task[None]]()
        self._told: dict[str, object] = {}
        self._resumed: dict[str, float] = {}
        self._ready: dict[str, float] = {}

    def __enter__(self) -> StudyHost:
        return self

    def __exit__(self, *error: object) -> None:
        self.conduct.__exit__(*error)

    @asynccontextmanager
    async def served(self) -> AsyncIterator[None]:
        """Carry on the runs of everybody who is at a task, while this loop serves pages."""
        self._loop = asyncio.get_running_loop()
        self.pages.begin()
        self.sessions.begin()
        self.runner.on_change = self._changed
        self.runner.start()
        for subject in self.conduct.subjects:
            self._due(subject)
        self._looking(self._rounds())
        try:
            yield
        finally:
            for timer in self._timers.values():
                timer.cancel()
            for look in self._looks:
                look.cancel()
            await asyncio.gather(*self._looks, return_exceptions=True)
            await asyncio.to_thread(self.runner.stop)

    def page(self, subject: str) -> dict[str, Any]:
        """What the page of `subject` receives now."""
        with self.conduct.alone:
            standing = self.attend(subject)
            asks = self._asks(subject, standing)
            return page_of(self.conduct, self.runner, subject, standing, asks=asks)

    def act(self, subject: str, label: str, payload: Any, timing: Timing) -> None:
        """Let a participant do what their page offers; raises what `Conduct.act` raises."""
        self.conduct.act(subject, label, payload, timing)
        self.attend(subject)

    def attend(self, subject: str) -> TaskStanding:
        """Carry the run on that `subject` is at, and no other of theirs; how their task stands.

        A run that cannot go on has lost its participant's partner.
        """
        conduct = self.conduct
        with conduct.alone:  # or somebody could withdraw while their run is begun
            standing = conduct.follow(subject)
            run = ""
            if conduct.status(subject) in AT_TASK and not conduct.doing(subject)[-1].task.network:
                run, _does, plan = conduct.task(subject)
                hosted = self._hosted(run, plan)
                if hosted is None or hosted.state is RunState.STOPPED:
                    conduct.lose(subject)
                    standing = conduct.follow(subject)
            for name in conduct.runs_of(subject):
                if name != run:
                    self.runner.detach(name)
            return standing

    def _hosted(self, run: str, plan: Plan) -> HostedRun | None:
        """The run, carried on here from now on if it was not; None where it cannot be."""
        hosted, board = self.runner.hosted.get(run), self.conduct.board
        if hosted is not None:
            return hosted
        try:
            if any(record.run == run for record in board.runs()):
                self._resumed[run] = time.time()
                self._ready.pop(run, None)
                return self.runner.attach(runs.resume(run, board, may_be_over=True))
            return self.runner.attach(runs.start(plan, board, name=run))
        except BlackboardError:
            raise
        except PXPError as error:
            log(f"run {run} cannot begin: {error}")
            return None

    def save(self, subject: str, typed: TypedDraft) -> None:
        """Keep what is typed for a message; raises `SessionMoved` where it is not asked for."""
        save(self.runner, self._asked(subject)[0], typed)

    def reply(self, subject: str, posted: PostedReply) -> tuple[SeatPlace, int | None]:
        """Answer what is asked; the session's place, and the number of a message that is sent.

        Who takes the other side's answer takes it as it was shown to them.
        """
        place, standing = self._asked(subject)
        does = self.conduct.doing(subject)[-1]
        if does.arm.blinded and posted.choice == WHY:
            raise Refused("that is not told in this study")
        if posted.choice == THEIRS and standing.shown:
            theirs = standing.shown[-1].answer
            text = released(self.conduct.study, does.arm, standing).shown(theirs.explanation)
            changes = {"choice": OWN, "prediction": theirs.prediction, "explanation": text}
            posted = posted.model_copy(update=changes)
        return place, give(self.runner, place, posted, self.conduct.study.consent.version)

    def picture(self, subject: str, number: int) -> Image | None:
        """The picture of the present instance (0), or of the prediction of a message shown."""
        standing = self.conduct.follow(subject)
        place = self._place(standing)
        return None if place is None else picture_of(self.runner, place, number, standing.shown)

    def _asked(self, subject: str) -> tuple[SeatPlace, TaskStanding]:
        """Where `subject` is to answer; raises `SessionMoved` where they do not know that yet."""
        standing = self.conduct.follow(subject)
        place = self._place(standing)
        if place is None or not self._asks(subject, standing):
            raise SessionMoved("this question has been answered, or the session has moved on")
        return place, standing

    def will_ask(self, subject: str) -> bool:
        """Whether `subject` is about to be asked again what they were asked before a restart."""
        with self.conduct.alone:
            standing = self.conduct.follow(subject)
            if self.conduct.status(subject) != "ANSWERING" or not standing.session:
                return False
            place = self._place(standing)
            if place is None:
                return True
            asked = self._asked_from(place)
            return will_ask(self.runner, place) if asked is None else asked > time.time()

    def _asks(self, subject: str, standing: TaskStanding) -> bool:
        """Whether it may be shown that a question waits for `subject`."""
        place = self._place(standing)
        if self.conduct.status(subject) != "ANSWERING" or place is None:
            return False
        asked = self._asked_from(place)
        return asked is not None and asked <= time.time()

    def _asked_from(self, place: SeatPlace) -> float | None:
        """When the question that waits may be shown, in seconds since 1970; None where none waits.

        After a restart that is at the end of a slot: partners take unlike times to get ready.
        """
        if self.runner.waiting(place.session) is None:
            return None
        began = self._resumed.get(place.run)
        if began is None:
            return 0.0
        ready = self._ready.setdefault(place.run, time.time())
        least = self.conduct.study.slots.least
        return slots.released(began, ready, slots.opening_length(least)).at

    def _place(self, standing: TaskStanding) -> SeatPlace | None:
        name = standing.session
        places = list(self.runner.places.values())
        return next((place for place in places if place.session == name), None)

    def _stop(self, names: Any) -> None:
        for name in names:
            self.runner.detach(name)

    def _changed(self, name: str) -> None:
        """Something of a run may look otherwise; told by the thread that carries runs."""
        self.sessions.tell(name)
        hosted = self.runner.hosted.get(name if "/" not in name else name.rsplit("/", 2)[0])
        if hosted is not None:
            self._call(self._due, hosted.subject)

    def _call(self, work: Callable[..., None], *arguments: Any) -> None:
        """Do something in the loop that serves pages, from any thread."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended: nobody is served any more
                self._loop.call_soon_threadsafe(work, *arguments)

    def _due(self, subject: str, at: float = 0.0) -> None:
        """Look at what has become of a task at a time, in seconds since 1970, or before it."""
        if self._loop is None:
            return
        seconds = max(0.0, at - time.time() + _LATE) if at else 0.0
        timer = self._timers.get(subject)
        if timer is not None and timer.when() <= self._loop.time() + seconds:
            return
        if timer is not None:
            timer.cancel()
        self._timers[subject] = self._loop.call_later(seconds, self._look_at, subject)

    def _look_at(self, subject: str) -> None:
        self._timers.pop(subject, None)
        self._looking(asyncio.to_thread(self.look, subject))

    def _looking(self, work: Any) -> None:
        look = asyncio.ensure_future(work)
        self._looks.add(look)
        look.add_done_callback(self._looks.discard)

    def look(self, subject: str) -> None:
        """Tell the page of `subject` where what it may show has changed; look again when it may."""
        with self.conduct.alone:
            standing = self.attend(subject)
            status = self.conduct.status(subject)
            place = self._place(standing) if status == "ANSWERING" else None
            waiting = None if place is None else self.runner.waiting(place.session)
            asked = None if place is None else self._asked_from(place)
            held = asked is not None and asked > time.time()
            key = None if waiting is None or held else waiting.key
            now = (status, standing.session, len(standing.shown), key)
            if self._told.get(subject) != now:
                self._told[subject] = now
                self.pages.tell(subject)
            until = asked if held else standing.until
        if until is not None:
            self._call(self._due, subject, until)

    async def _rounds(self) -> None:
        """Now and then: let those lapse who gave no sign, and erase what could not be erased."""
        while True:
            await asyncio.sleep(ROUND)
            await asyncio.to_thread(self._round)
            for subject in self.conduct.subjects:
                self._due(subject)

    def _round(self) -> None:
        self.conduct.lapse()
        self.conduct.catch_up()


def released(study: Study, arm: Arm, standing: TaskStanding, *, asks: bool = True) -> Released:
    """What a participant may know of the session that goes on."""

    def plain(text: str) -> str:
        return without_sources(text, study.longest) if arm.blinded else text

    return Released(standing.shown, asks, not arm.blinded, plain)


def page_of(
    conduct: Conduct, runner: Host, subject: str, standing: TaskStanding, *, asks: bool
) -> dict[str, Any]:
    """What the page of `subject` receives now, as JSON; `asks` if what waits for them is shown."""
    page = participant_page(conduct, subject, standing) | {"subject": subject}
    participation = conduct.participation(subject)
    if participation.status in ASKING:
        page["draft"] = read_draft(
            conduct.board, participation.name, len(participation.history) + 1
        )
    if participation.status in AT_TASK and standing.session:
        arm = conduct.doing(subject)[-1].arm
        place = next(
            (
                candidate
                for candidate in list(runner.places.values())
                if candidate.session == standing.session
            ),
            None,
        )
        if place is not None:
            release = released(conduct.study, arm, standing, asks=asks)
            session = session_view(runner, place, release)
            page["session"] = None if session is None else asdict(session)
    return page
