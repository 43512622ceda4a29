"""Kinds of runs that a plug-in adds: what their sessions follow, how they are counted and reported.

A run is of a kind where its plan sets the field by which a plug-in has registered the kind.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pxp_fsm import registry
from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass

if TYPE_CHECKING:  # the types of an interface; a command that only asks for a kind loads none
    from markupsafe import Markup

    from backends.databases import RunRecord, SessionRecord, SqlBlackboard
    from proofs.audit.sessions import AuditSubject
    from pxp_fsm.diagrams.latex import Cell, Table
    from pxp_fsm.experiments.outcomes import Outcomes
    from pxp_fsm.experiments.plan_data import StoredRun
    from pxp_fsm.experiments.plans import Plan
    from pxp_fsm.experiments.reports.pictures import Gallery
    from pxp_fsm.protocol.messages import Overview
    from pxp_fsm.sessions.events import Event
    from pxp_fsm.sessions.policy import Conversing
    from pxp_fsm.tasks.task import Task


@dataclass(frozen=True, slots=True)
class ReportedSession:
    """A session as a report shows it whole: its chart, and one row per message or action."""

    name: str
    ending: str
    cause: str
    chart: Markup | None
    rows: tuple[tuple[Cell, ...], ...]
    headings: tuple[str, ...] = ("number", "action", "guard", "payload")


class ReportedRun(Protocol):
    """A run whose report has no Table 1: facts, tables, figures and sessions.

    `kind` is the key of such runs in the report as JSON, `notes` how they are to be read, and
    `files` the tables that are written as CSV, by the ending of the file's name.
    """

    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def facts(self) -> Sequence[tuple[str, str]]: ...
    @property
    def tables(self) -> Sequence[Table]: ...
    @property
    def files(self) -> Mapping[str, Table]: ...
    @property
    def notes(self) -> Markup: ...
    def figures(self, gallery: Gallery) -> Iterator[tuple[str, Markup]]: ...
    def whole_sessions(
        self, board: SqlBlackboard, names: Iterable[str], gallery: Gallery
    ) -> Iterator[ReportedSession]: ...
    def as_data(self) -> dict[str, Any]: ...


class ForkChange(Protocol):
    """Options by which a plug-in lets a fork change the message that it makes anew."""

    @property
    def chosen(self) -> Sequence[str]:
        """The fields that are set; none where nothing is changed."""

    def applied(self, plan: Plan, names: Sequence[str], number: int) -> Plan:
        """The plan of a fork, by what is changed after message `number` of a stored session.

        `plan` is that of the stored session, `names` those of its agents. Raises `UsageError`, with
        the field, where such a session cannot be changed so.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class RunKind:
    """What a plug-in knows of runs of a kind, which is `about` ("a panel").

    `subject` is what the sessions of a plan follow, in place of the protocol of two. `outcomes` are
    what a run is compared by, `report` what is reported of it, `remarks` what is said where one
    begins, `ending` how a session ended. `overview` is what everybody may see of a session: of the
    plan, the session's name and its events. `policy` is that of a session of a plan, with the
    system that is explored, `audited` what the audit follows a stored session by. Each raises
    `UsageError` for what cannot be.
    """

    about: str
    subject: Callable[[Plan], Any]
    outcomes: Callable[[SqlBlackboard, RunRecord], Outcomes]
    report: Callable[[SqlBlackboard, RunRecord], ReportedRun]
    remarks: Callable[[Plan, Task], Iterable[str]]
    ending: Callable[[SessionRecord], str]
    overview: Callable[[Plan, str, Sequence[Event]], Overview]
    policy: Callable[[Plan], Conversing]
    audited: Callable[[Plan, SessionRecord], AuditSubject]


def kind_of(record: StoredRun) -> RunKind | None:
    """The kind of a stored run; None where no plug-in adds it, or the run has no plan."""
    try:
        plan = json.loads(record.plan)
    except (ValueError, RecursionError):
        return None
    return _kind(plan.get) if isinstance(plan, dict) else None


def check_of_two(record: StoredRun, aspect: str) -> None:
    """Raise `UsageError` where `aspect`, of a machine and a human, is wanted of other runs.

    Runs without a plan pass.
    """
    kind = kind_of(record)
    if kind is not None:
        raise UsageError(
            f"run {record.run} is of {kind.about}, and {aspect} is of a machine and a human; pxp "
            f"show {record.run} shows its sessions, and intelligibility by direction"
        )


def kind_of_plan(plan: Plan) -> RunKind | None:
    """The kind of the runs of a plan."""
    return _kind(lambda name: getattr(plan, name, None))


def _kind(field: Callable[[str], object]) -> RunKind | None:
    for name, where in registry.contributions("runs").items():
        if field(name) is not None:
            kind: RunKind = registry.load(where)
            return kind
    return None
