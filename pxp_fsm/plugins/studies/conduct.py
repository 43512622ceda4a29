"""The conduct of a study: participants come, act, lapse, withdraw; every step is one of the tables.

What a participant does is their own message; the guide's and the study's follow at once, as the
study file decides. Whatever stops a process, the next one goes on where the tables stand.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from backends.databases import RunRecord, SqlBlackboard, disclosure, queries, tokens
from backends.databases.drafts import Timing, keep_timing
from backends.databases.locks import RunLocked
from pxp_fsm import __version__
from pxp_fsm.automata.actions import Exchange
from pxp_fsm.automata.automaton import Kind
from pxp_fsm.defaults import SYSTEMS
from pxp_fsm.errors import NotThere, Refused, UsageError, quoted
from pxp_fsm.experiments.plan_data import read_plan
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.plugins.studies.assignment import Assigned, assignment
from pxp_fsm.plugins.studies.erasures import Erasures
from pxp_fsm.plugins.studies.files import Study, number_of, pseudonym
from pxp_fsm.plugins.studies.lifecycles import (
    GUIDE,
    OVER,
    PARTICIPANT,
    PARTNER,
    STUDY,
    participation,
)
from pxp_fsm.plugins.studies.participations import (
    NOBODY,
    Participation,
    assigned,
    began,
    begin,
    check_stored,
    read,
    run_name,
    runs_of,
)
from pxp_fsm.plugins.studies.questions import checked_answers, understood
from pxp_fsm.plugins.studies.status import ON_WHOM, holds_place
from pxp_fsm.plugins.studies.tasks import TaskSessions, TaskStanding
from pxp_fsm.protocol.messages import text_problem

LINK_SECONDS = 90 * 86400.0
"""For how long a participant's link is valid."""

MAY_LAPSE = tuple(status for status, whom in ON_WHOM.items() if whom == "the participant")
"""The statuses in which it is the participant who is waited for."""

AT_TASK = ("WAITING", "ANSWERING")
"""The statuses of a participant who is at a task."""

LONGEST_IDENTIFIER = 200
"""Characters of an identifier."""


class Conduct:
    """A study on a blackboard, new or gone on with; one process at a time conducts it.

    Whoever does several things between which nothing else may come holds `alone` meanwhile.
    `clock` gives seconds since 1970. `stop` is called with the names of runs whose sessions must
    not go on, before they are erased.

    Raises `RunLocked` where another process conducts it, and `UsageError` where the study there is
    not this one. Use it as a context manager.
    """

    def __init__(
        self,
        study: Study,
        board: SqlBlackboard,
        *,
        clock: Callable[[], float] = time.time,
        stop: Callable[[Iterable[str]], None] = lambda _runs: None,
    ) -> None:
        self.study = study
        self.board = board
        self._clock = clock
        self._stop = stop
        self.alone = threading.RLock()
        self._seen: dict[str, float] = {}
        self._known: dict[str, Participation] = {}
        self._partners = Partners(study, board, clock)
        try:
            board.lock(study.run)
        except RunLocked as error:
            raise RunLocked(
                f"another process conducts study {study.name}, and nothing was changed: go on at "
                f"the researcher's page that it serves, or stop it"
            ) from error
        try:
            self._erasures = Erasures(board, study.run)
            self._open()
        except BaseException:
            board.unlock(study.run)
            raise

    def __enter__(self) -> Conduct:
        return self

    def __exit__(self, *_error: object) -> None:
        self.clean()
        self.board.unlock(self.study.run)

    def _open(self) -> None:
        study, board = self.study, self.board
        stored = {record.run: record for record in board.runs()}.get(study.run)
        if stored is None:
            content = {"study": dict(study.file.raw), "fingerprint": study.fingerprint}
            plan = json.dumps(content, sort_keys=True)
            system = participation().fingerprint
            record = RunRecord(study.run, SYSTEMS, plan, study.seed, __version__, system)
            board.start_run(record)
        else:
            check_stored(study, stored)
        there = [record.session for record in board.sessions(study.run)]
        if f"{study.run}/{NOBODY}" not in there:
            there.append(begin(board, study.run, NOBODY, 1, study.title).name)
        latest = board.read(lambda connection: queries.latest_events(connection, study.run))
        for name in there:
            subject = name.removeprefix(f"{study.run}/")
            self._known[subject] = read(board, study.run, subject)
            self._seen[subject] = latest.get(name, self._clock())
        for subject in self.subjects:
            self._align(self._known[subject])
            self._drive(self._known[subject])
        for subject in set(disclosure.identifiers_of(board, study.run)) & set(self._known):
            if self.state == "ANONYMISED" or self.status(subject) in ("DECLINED", "ERASED"):
                self._erasures.forget(subject)

    @property
    def subjects(self) -> tuple[str, ...]:
        """The pseudonyms of all who came, in their order."""
        return tuple(sorted(set(self._known) - {NOBODY}, key=number_of))

    @property
    def state(self) -> str:
        """The state of the study itself."""
        return self._known[NOBODY].state(STUDY)

    @property
    def statuses(self) -> Counter[str]:
        """How many participants have each status."""
        return Counter(self.status(subject) for subject in self.subjects)

    def raise_event(self, label: str) -> None:
        """OPEN, PAUSE, RESUME, CLOSE or ANONYMISE, for everybody; raises `Refused` where it cannot.

        ANONYMISE removes all identifiers and links as well.
        """
        with self.alone:
            if label not in self.possible:
                there = ", ".join(self.possible) or "nothing"
                raise Refused(f"the study is {self.state}: possible now is {there}")
            self._known[NOBODY].happen(label)
            for subject in self.subjects:
                self._align(self._known[subject])
                self._drive(self._known[subject])
            if label == "ANONYMISE":
                self._erasures.forget()
                self.clean()

    @property
    def possible(self) -> tuple[str, ...]:
        """The events that can happen to the study now."""
        rows = self._known[NOBODY].live.machines[STUDY].enabled()
        events = (row.label for row in rows if row.kind is Kind.EVENT)
        return tuple(label for label in dict.fromkeys(events) if label not in ("LAPSE", "WITHDRAW"))

    def join(self, identifiers: Mapping[str, str] | None = None, mark: str = "") -> str:
        """The pseudonym of who comes with these identifiers: a new one, or that of who came before.

        Who comes before the study is open waits until it is. `mark` is that of a signed address,
        which takes one place only, also after its holder was forgotten. Raises `Refused` where the
        study is paused, closed or full, or the address was used, `UsageError` for identifiers that
        the study file does not name.
        """
        identity = dict(identifiers or {})
        check_identifiers(self.study, identity)
        with self.alone:
            run = self.study.run
            known = disclosure.identifiers_of(self.board, run)
            came = _who_came(known, identity)
            if came in self._known:
                self._use(mark)
                return str(came)
            self._check_unused(mark)
            place = self._next_place()
            numbers = [number_of(who) for who in {*self.subjects, *known}]
            number = number_of(came) if came else max(numbers, default=0) + 1
            subject = pseudonym(number)
            if identity:
                disclosure.identify(self.board, run, subject, identity)
            tasks = assignment(self.study, place)
            does = [{"task": task.task.name, "arm": task.arm.name} for task in tasks]
            about = json.dumps({"place": place, "does": does})
            self._known[subject] = begin(self.board, run, subject, number + 1, about, place)
            self._seen[subject] = self._clock()
            self._align(self._known[subject])
            self._use(mark)
            return subject

    def check_joining(self, identifiers: Mapping[str, str], mark: str = "") -> None:
        """Raise what `join` would raise for these identifiers, and change nothing."""
        check_identifiers(self.study, identifiers)
        with self.alone:
            known = disclosure.identifiers_of(self.board, self.study.run)
            if _who_came(known, identifiers) not in self._known:
                self._check_unused(mark)
                self._next_place()

    def _check_unused(self, mark: str) -> None:
        if mark and tokens.is_used(self.board, self.study.run, mark):
            raise Refused("this address has been used; come again from where you were sent")

    def _use(self, mark: str) -> None:
        if mark:
            tokens.use(self.board, self.study.run, mark, now=self._clock())

    def _next_place(self) -> int:
        """The place of whoever comes next; raises `Refused` where nobody new can."""
        if self.state not in ("PREPARED", "OPEN"):
            raise Refused("the study does not take anybody new at present")
        free = self._free_places()
        if not free:
            raise Refused("the study has no place left")
        return free[0]

    def _free_places(self) -> list[int]:
        """The places in the assignment that nobody holds, lowest first.

        Who has declined, lapsed, withdrawn, or is at the end without all tasks, holds none.
        """
        held = {
            participation.place
            for who in self.subjects
            if holds_place(self.study, participation := self._known[who])
        }
        return [place for place in range(1, self.study.experts + 1) if place not in held]

    @property
    def places_left(self) -> int:
        """How many more can take part."""
        return len(self._free_places())

    def give_up(self, subject: str) -> None:
        """Let `subject` lapse now: their place is given to who comes next.

        Raises `Refused` where they cannot lapse, since they have finished or left.
        """
        with self.alone:
            participation = self.participation(subject)
            if participation.status not in (*MAY_LAPSE, "INVITED", "READY", "WAITING"):
                raise Refused(
                    f"{subject} is {participation.status}, and holds no place that could be given"
                )
            self._lapse(participation)

    def invite(self, subject: str, seconds: float = LINK_SECONDS) -> str:
        """A new token for the link of `subject`; it is not stored."""
        self.participation(subject)
        return tokens.issue(self.board, self.study.run, subject, seconds=seconds, now=self._clock())

    def participation(self, subject: str) -> Participation:
        """The lifecycle of `subject`; raises `NotThere` where nobody has that pseudonym."""
        known = None if subject == NOBODY else self._known.get(subject)
        if known is not None:
            return known
        raise NotThere(f"study {self.study.run} has no participant {quoted(subject)}")

    def status(self, subject: str) -> str:
        """The status of `subject`."""
        return self.participation(subject).status

    def act(
        self, subject: str, label: str, payload: Any = None, timing: Timing | None = None
    ) -> str:
        """Let a participant do what their page offers; their status after it.

        Raises `Refused` where it is not offered, and `UsageError` for answers that are none. A
        second device, or a second click, finds the status already changed, and is refused.
        """
        with self.alone:
            participation = self.participation(subject)
            if label == "WITHDRAW":
                self._leave(participation)
                self.clean()
                return participation.status
            check_payload(self.study, participation, label, payload)
            participation.send(PARTICIPANT, label, payload)
            self._seen[subject] = self._clock()
            if timing is not None:
                keep_timing(self.board, participation.name, len(participation.history), timing)
            self._drive(participation)
            if participation.status == "DECLINED":
                self._erasures.forget(subject)
            return participation.status

    def runs_of(self, subject: str) -> tuple[str, ...]:
        """The runs of the tasks that `subject` was given, in order."""
        return runs_of(self.study, self.participation(subject))

    def assigned(self, subject: str) -> tuple[Assigned, ...]:
        """What `subject` does, in order; nothing where that was erased."""
        return assigned(self.study, self.participation(subject))

    def doing(self, subject: str) -> tuple[Assigned, ...]:
        """What `subject` was given so far, in order; the debrief tells which arms these were."""
        tasks_given = len(self.participation(subject).messages("TASK"))
        return self.assigned(subject)[:tasks_given]

    def task(self, subject: str) -> tuple[str, Assigned, Plan]:
        """The run that `subject` is at, what it is, and its plan; raises `Refused` if at none."""
        participation = self.participation(subject)
        if participation.status not in AT_TASK:
            raise Refused(f"{subject} is {participation.status}, and at no task")
        does = self.doing(participation.subject)[-1]
        run = run_name(self.study, subject, does.place)
        return run, does, self.study.plan(does.arm, does.task, subject)

    def follow(self, subject: str) -> TaskStanding:
        """Bring the partner in line with what is stored of the task, as far as it is released.

        May be called at any time, and again.
        """
        with self.alone:
            participation = self.participation(subject)
            if participation.status not in AT_TASK:
                return TaskStanding()
            standing = self._partners.standing(participation, self.doing(subject)[-1])
            if self._partners.move(participation, standing):
                self._seen[subject] = self._clock()
            return standing

    def lose(self, subject: str) -> None:
        """The partner of `subject` has gone: the participant is told, and can go on.

        In a blinded arm they are told at the end of a slot, as of every other answer.
        """
        with self.alone:
            participation = self.participation(subject)
            if participation.status in AT_TASK:
                self._partners.lose(participation)
                self.follow(subject)

    def finish(self, subject: str) -> None:
        """A task about a network is done; raises `Refused` where there is none."""
        with self.alone:
            participation = self.participation(subject)
            if (
                participation.status not in AT_TASK
                or not self.doing(participation.subject)[-1].task.network
            ):
                raise Refused(
                    f"{subject} is {participation.status}, and at no task about a network"
                )
            self._partners.move(participation, TaskStanding(is_over=True))
            self._seen[subject] = self._clock()

    def catch_up(self) -> None:
        """Erase what could not be erased when its author withdrew, since a run went on."""
        with self.alone:
            for subject in self.subjects:
                self._drive(self._known[subject])
            self.clean()

    def lapse(self) -> tuple[str, ...]:
        """Let those lapse who have given no sign since the deadline; their pseudonyms."""
        with self.alone:
            now, gone = self._clock(), list[str]()
            for subject in self.subjects:
                participation = self._known[subject]
                late = now - self._seen[subject] > self.study.deadline
                if late and participation.status in MAY_LAPSE:
                    self._lapse(participation)
                    gone.append(subject)
            return tuple(gone)

    def _lapse(self, participation: Participation) -> None:
        self._stop(self.runs_of(participation.subject))
        participation.happen("LAPSE")
        if participation.status == "DECLINED":
            self._erasures.forget(participation.subject)

    def _leave(self, participation: Participation) -> None:
        """A withdrawal: what was said is erased at once, or as soon as it can be."""
        if participation.status in (*OVER, "WITHDRAWN"):
            raise Refused(
                f"{participation.subject} is {participation.status}: there is nothing to withdraw "
                "from"
            )
        participation.happen("WITHDRAW")
        self._drive(participation)

    def _align(self, participation: Participation) -> None:
        """Let what happened to the study happen to a participation, as far as it has not."""
        if participation.subject in self._erasures.done:
            return
        of_study = set(self._known[NOBODY].events())
        there = [label for label in participation.events() if label in of_study]
        for label in self._known[NOBODY].events()[len(there) :]:
            if label in ("CLOSE", "ANONYMISE"):
                self._stop(self.runs_of(participation.subject))
            participation.happen(label)

    def _drive(self, participation: Participation) -> None:
        """Let the guide and the study do what is theirs, until somebody else is to act."""
        if participation.subject in self._erasures.done:
            return
        while participation.state(GUIDE) != "ERASING":
            chosen = next_message(self.study, participation)
            if chosen is None:
                break
            participation.send(*chosen)
            self._seen[participation.subject] = self._clock()
        if participation.state(GUIDE) == "ERASING":
            self._erase(participation)
        elif participation.status == "ERASED":
            self._erasures.finish(participation.subject)

    def _erase(self, participation: Participation) -> None:
        """Erase what was said, then say so; where a run goes on, it is tried again later."""
        runs = self.runs_of(participation.subject)
        self._stop(runs)
        if self._erasures.erase(runs):
            participation.send(GUIDE, "ERASED")
            self._erasures.finish(participation.subject)

    @property
    def unclean(self) -> bool:
        """Whether pages of the database's files may still hold what was erased."""
        return self._erasures.unclean

    def clean(self) -> None:
        """Rewrite the database's files, if they may still hold what was erased; see `unclean`."""
        self._erasures.clean()


class NextMessage(NamedTuple):
    """A message that the study or the guide sends now."""

    member: str
    label: str
    payload: Any = None


def next_message(study: Study, participation: Participation) -> NextMessage | None:
    """The message that is the server's to send; None where somebody else is to act."""
    for member in (STUDY, GUIDE):
        for row in participation.live.rows(member):
            if row.guard is not None and row.guard != true_guard(study, participation):
                continue
            if any(
                isinstance(action, Exchange) for action in participation.live.by_row(member, row)
            ):
                payload = _task(study, participation) if row.label == "TASK" else None
                return NextMessage(member, row.label, payload)
    return None


def true_guard(study: Study, participation: Participation) -> str:
    """The one guard that is true where the guide decides.

    It is decided from the study file and from what is stored of the participation alone.
    """
    state = participation.state(GUIDE)
    if state == "CHOOSING":
        if len(participation.messages("TASK")) < len(study.tasks):
            return "MORE"
        return "ASKS" if study.after else "PLAIN"
    if state == "PREPARING" and study.training:
        return "TRAINS"
    if state == "WEIGHING":
        tried = participation.messages("TRAINED")
        if not understood(study.training, tried[-1].value):
            return "AGAIN" if len(tried) < study.attempts else "EXCLUDED"
    return "ASKS" if study.before else "PLAIN"


def _task(study: Study, participation: Participation) -> dict[str, Any]:
    place = len(participation.messages("TASK")) + 1
    return {"place": place, "run": run_name(study, participation.subject, place)}


def _who_came(known: Mapping[str, Mapping[str, str]], identifiers: Mapping[str, str]) -> str | None:
    """The pseudonym of who came before with these identifiers."""
    return next((who for who, values in known.items() if identifiers == values), None)


def check_identifiers(study: Study, identity: Mapping[str, str]) -> None:
    """Raise `UsageError` for identifiers that the study file does not name, or that are none."""
    for name, value in identity.items():
        if name not in study.payment.parameters:
            there = ", ".join(study.payment.parameters) or "none"
            raise UsageError(f"the study takes no identifier {quoted(name)}; there are: {there}")
        if (
            not isinstance(value, str)
            or not 0 < len(value) <= LONGEST_IDENTIFIER
            or text_problem(value)
        ):
            raise UsageError(f"{name} is a text of at most {LONGEST_IDENTIFIER} characters")
        if value not in study.payment.accepted.get(name, (value,)):
            raise UsageError(f"the study does not accept this {name}; the study file says which")


def check_payload(study: Study, participation: Participation, label: str, payload: Any) -> None:
    """Raise `Refused` where a page does not offer `label`, `UsageError` for what is no answer."""
    if label == "ANSWER" or not participation.may_send(label):
        raise Refused(
            f"{participation.subject} is {participation.status}, where {quoted(label)} is not "
            "possible"
        )
    if label == "CONSENT" and payload != {"version": study.consent.version}:
        raise Refused("the consent has changed since the page was shown; read it again")
    if label == "ANSWERED":
        checked_answers(study.before if participation.status == "BEFORE" else study.after, payload)
    elif label == "TRAINED":
        checked_answers(study.training, payload)
    elif label != "CONSENT" and payload is not None:
        raise UsageError(f"{label} carries nothing")


class Partners:
    """The partners of the participants of `study`: the other sides of tasks.

    Their table is moved by what is stored on `board` of a run, as far as it is released.
    """

    def __init__(self, study: Study, board: SqlBlackboard, clock: Callable[[], float]) -> None:
        self._study, self._board, self._clock = study, board, clock
        self._noticed: dict[str, float] = {}
        self._totals: dict[object, int] = {}
        self._began: dict[str, float] = {}
        self._lost: set[str] = set()

    def standing(self, participation: Participation, does: Assigned) -> TaskStanding:
        """How the task `does` stands, as far as its participant may know it now."""
        if does.task.network:
            return TaskStanding(is_theirs=True)
        run = run_name(self._study, participation.subject, does.place)
        total = self._total(self._study.plan(does.arm, does.task, participation.subject))
        if run not in self._began:
            self._began[run] = began(self._board, participation, does.place)
        sessions = TaskSessions(
            self._study, self._board, participation.subject, does, run, total, self._began[run]
        )
        return sessions.standing(self._clock(), self._noticed, is_lost=run in self._lost)

    def lose(self, participation: Participation) -> None:
        """The run of the present task cannot go on."""
        self._lost.add(
            run_name(self._study, participation.subject, len(participation.messages("TASK")))
        )

    def move(self, participation: Participation, standing: TaskStanding) -> bool:
        """Let the table of the partner say what was found; whether it moved."""
        listening = participation.state(PARTNER) == "LISTENING"
        if standing.is_over:
            if listening:
                participation.send(PARTICIPANT, "ANSWER")
            if standing.is_lost:
                self._leave(participation)
            else:
                participation.send(PARTNER, "OVER")
        elif standing.is_theirs and not listening:
            participation.send(PARTNER, "TURN")
        elif not standing.is_theirs and listening:
            participation.send(PARTICIPANT, "ANSWER")
        else:
            return False
        return True

    def _leave(self, participation: Participation) -> None:
        if participation.state(PARTNER) != "LEAVING":
            participation.happen("LOST")
        participation.send(PARTNER, "GONE")

    def _total(self, plan: Plan) -> int:
        """How many sessions a run of `plan` has."""
        about = plan.task, plan.data, plan.instances, plan.label, plan.repetitions
        if about not in self._totals:
            self._totals[about] = len(read_plan(plan)[1].sessions) * plan.repetitions
        return self._totals[about]
