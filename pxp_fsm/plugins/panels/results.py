"""Results of stored sessions of panels: verdicts, who persuaded whom, who was right and when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from statistics import median

from backends.databases import RunRecord, SessionRecord, SqlBlackboard
from backends.databases.records import CONCLUDED
from pxp_fsm.diagrams import Edge, EdgeRow, Node, StateDiagram
from pxp_fsm.errors import DataError, UsageError, counted
from pxp_fsm.experiments.accuracy import normal_form
from pxp_fsm.experiments.members import agent_names
from pxp_fsm.experiments.outcomes import Outcomes, Place
from pxp_fsm.experiments.plan_data import recorded_data, stored_plan
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.sheets import Sheet
from pxp_fsm.experiments.statistics import rounded
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.panels.panel import PanelVerdict
from pxp_fsm.plugins.panels.verdicts import (
    agent_classes,
    first_correct,
    persuasions,
    verdicts_of,
)
from pxp_fsm.protocol.rules import Ending

_OVER = (*CONCLUDED, Ending.FINISHED.value, Ending.LIMIT.value)

VERDICTS = tuple(map(str, PanelVerdict))
ALL = "all of them"
"""The panel, beside the names of its agents: it is in a class if all its agents are."""

ROWS = (*VERDICTS, "most right at the end", "all right at the end")
"""What two runs of panels are compared by."""


@dataclass(frozen=True, slots=True)
class PanelSession:
    """A session of a panel: its verdicts, and of each agent what it was right about.

    `first_right` are the messages with which agents were right first, None where they never were;
    it and `right`, who is right at the end, are None where nothing is known to be right.
    `persuaded` counts who took over the prediction of whom. `classes` are those of Remark 6, of
    each agent and of `ALL`, the panel. `unopened` are how many channels never had a message.
    """

    record: SessionRecord
    verdicts: frozenset[str]
    right: Mapping[str, bool] | None
    first_right: Mapping[str, int | None] | None
    persuaded: Mapping[tuple[str, str], int]
    classes: Mapping[str, tuple[str, ...]]
    unopened: int


def ending_of(record: SessionRecord) -> str:
    """How a session of a panel ended, with the verdict that ended it."""
    ending, verdict = record.ending or "not over", (record.cause or "").partition(":")[0]
    return f"{ending} ({verdict})" if verdict in VERDICTS else ending


def panel_sessions(board: SqlBlackboard, record: RunRecord) -> Iterator[PanelSession]:
    """The sessions of a panel's run that are over and were not erased, one at a time."""
    plan = stored_plan(record)
    panel, names = plan.talks(), agent_names(plan)
    rightness = _rightness(record)
    erased = {erasure.session for erasure in board.erasures(record.run)}
    left = {name for name, _ in panel.without}
    over = (
        session.session
        for session in board.sessions(record.run)
        if session.ending in _OVER and session.session not in erased
    )
    for stored in board.stored(over):
        session, events = stored.record, stored.events
        is_right = rightness.get(session.instance.key)
        latest = {event.carried.sender: event.carried.answer.prediction for event in events}
        classes = agent_classes([event.carried for event in events])
        shared = set.intersection(*(set(classes.get(name, ())) for name in names))
        opened = {frozenset((event.carried.sender, event.carried.receiver)) for event in events}
        yield PanelSession(
            session,
            frozenset(map(str, verdicts_of(panel, names, events))),
            None
            if is_right is None
            else {
                name: name in latest and is_right(latest[name])
                for name in names
                if name not in left
            },
            None if is_right is None else first_correct(names, events, is_right),
            Counter((persuasion.by, persuasion.agent) for persuasion in persuasions(events)),
            {**classes, ALL: tuple(shared)},
            len(panel.links(names)) - len(opened),
        )


def _rightness(record: RunRecord) -> Mapping[str, Callable[[str], bool]]:
    """Whether a prediction is right, by instance; empty where the data are not as they were."""
    try:
        _, task, data = recorded_data(record)
    except (UsageError, DataError):
        return {}
    normal = normal_form(task)

    def is_right(wanted: str) -> Callable[[str], bool]:
        return lambda prediction: normal(prediction) == normal(wanted)

    return {row.instance.key: is_right(row.answer.prediction) for row in data.sessions}


def panel_outcomes(board: SqlBlackboard, record: RunRecord) -> Outcomes:
    """The outcomes of a panel's run, for a comparison with another."""
    positions, classes = dict[Place, int](), dict[Place, tuple[bool, ...]]()
    lengths, endings = dict[Place, int](), dict[Place, str]()
    for counted_session in panel_sessions(board, record):
        session = counted_session.record
        place = session.repetition, session.instance.key
        right = list(counted_session.right.values()) if counted_session.right is not None else []
        verdicts = (name in counted_session.verdicts for name in VERDICTS)
        rights = 2 * sum(right) > len(right), bool(right) and all(right)
        positions[place], classes[place] = session.position, (*verdicts, *rights)
        lengths[place], endings[place] = session.messages, ending_of(session)
    many = sum(1 for _ in board.sessions(record.run))
    return Outcomes(record.run, positions, classes, many - len(classes), ROWS, lengths, endings)


@dataclass(frozen=True, slots=True)
class PanelResults:
    """The tables of a panel's run."""

    sessions: int
    verdicts: Sheet
    agents: Sheet
    persuasion: Mapping[tuple[str, str], int]


def panel_results(board: SqlBlackboard, record: RunRecord) -> PanelResults:
    """Count the verdicts of a panel's run, and what each agent was right about."""
    names = agent_names(stored_plan(record))
    verdicts, persuaded = Counter[str](), Counter[tuple[str, str]]()
    strong: dict[str, Counter[str]] = {name: Counter() for name in (*names, ALL)}
    first: dict[str, list[int]] = {name: [] for name in names}
    right, judged, many, unopened = Counter[str](), 0, 0, 0
    for counted_session in panel_sessions(board, record):
        many += 1
        unopened += counted_session.unopened > 0
        verdicts.update(counted_session.verdicts or {"none of these"})
        persuaded.update(counted_session.persuaded)
        for name, classes in counted_session.classes.items():
            strong[name].update(classes)
        judged += counted_session.right is not None
        right.update(name for name, is_right in (counted_session.right or {}).items() if is_right)
        right[ALL] += bool(counted_session.right) and all((counted_session.right or {}).values())
        for name, number in (counted_session.first_right or {}).items():
            first[name] += [] if number is None else [number]

    def counts(name: str) -> tuple[str, ...]:
        classes = (str(strong[name][strength]) for strength in ("strong", "ultra_strong"))
        return (name, *classes, str(right[name]) if judged else "-")

    return PanelResults(
        many,
        _verdict_sheet(verdicts, many, unopened),
        Sheet(
            "Agents, in how many sessions",
            (
                "agent",
                "strong",
                "ultra-strong",
                "right at the end",
                "ever right",
                "first right with message, median",
                "persuaded others",
                "was persuaded",
            ),
            (
                *(
                    (
                        *counts(name),
                        str(len(first[name])) if judged else "-",
                        f"{median(first[name]):g}" if first[name] else "-",
                        str(sum(n for (by, _), n in persuaded.items() if by == name)),
                        str(sum(n for (_, who), n in persuaded.items() if who == name)),
                    )
                    for name in names
                ),
                (*counts(ALL), "-", "-", "-", "-"),
            ),
        ),
        dict(persuaded),
    )


def persuasion_diagram(plan: Plan, persuasion: Mapping[tuple[str, str], int]) -> StateDiagram:
    """Who persuaded whom, as a graph: an arrow, with how often, to who took a prediction over."""
    nodes = tuple(Node(name) for name in agent_names(plan))
    edges = tuple(
        Edge(by, who, (EdgeRow(f"{times:,}"),)) for (by, who), times in sorted(persuasion.items())
    )
    return StateDiagram("Who persuaded whom", "", nodes, edges)


def _verdict_sheet(verdicts: Mapping[str, int], many: int, unopened: int) -> Sheet:
    counted_rows = {name: verdicts.get(name, 0) for name in (*VERDICTS, "none of these")}
    counted_rows["a channel never opened"] = unopened
    rows = [
        (name, str(times), rounded(times / many) if many else "-")
        for name, times in counted_rows.items()
    ]
    title = f"Verdicts on {counted(many, 'session')}, of which several may hold"
    return Sheet(title, ("verdict", "sessions", "share"), tuple(rows))
