"""What is reported of the runs of panels: verdicts, directions, agents, who persuaded whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from backends.databases import RunRecord, SessionRecord, SqlBlackboard
from pxp_fsm.diagrams.latex import Table
from pxp_fsm.experiments.members import agent_names
from pxp_fsm.experiments.plan_data import run_title, stored_plan
from pxp_fsm.experiments.reports.pictures import Gallery
from pxp_fsm.experiments.reports.systems import DRAWN, LONGEST
from pxp_fsm.experiments.reports.tallies import NOT_OVER
from pxp_fsm.experiments.run_kinds import ReportedSession
from pxp_fsm.experiments.sheets import Sheet, directions
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.panels.results import PanelResults, panel_results, persuasion_diagram

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class PanelReport:
    """A run of a panel as it is reported."""

    record: RunRecord
    title: str
    sessions: tuple[SessionRecord, ...]
    results: PanelResults
    directions: Sheet

    @property
    def name(self) -> str:
        return self.record.run

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """What the run was, in words."""
        plan = stored_plan(self.record)
        agents = self.sessions[0].agents if self.sessions else ()
        described = plan.talks().describe(agent_names(plan))
        return (
            ("task", self.record.task),
            ("protocol", ", ".join(filter(None, (plan.rules_in_words(), described)))),
            *agents,
            ("sessions begun", f"{len(self.sessions):,}"),
            ("repetitions", f"{plan.repetitions:,}, seed {plan.seed}"),
            ("begun at", self.record.created),
            ("version", self.record.version),
        )

    kind = "panels"

    @property
    def notes(self) -> Markup:
        """How it is to be read."""
        from markupsafe import Markup

        return Markup(
            "Of a panel each two agents talk in a channel of their own. In a <em>consensus</em> "
            "both latest messages of every channel are RATIFYs since which neither end has "
            "changed, and all current predictions and explanations match and agree; in an "
            "<em>agreement</em> these do; a <em>split</em> is the end of all channels without one. "
            "In an <em>impasse</em> nothing has changed in the last answers of each open channel. "
            "An agent is <em>strong</em> if all its conversations are one-way intelligible for it, "
            "and <em>ultra-strong</em> if it has sent a REVISE too; <em>all of them</em> is the "
            "panel. A channel that was <em>never opened</em> is in no class."
        )

    @property
    def _sheets(self) -> Mapping[str, Sheet]:
        """What was counted, by what it is about."""
        return {
            "verdicts": self.results.verdicts,
            "agents": self.results.agents,
            "directions": self.directions,
        }

    @property
    def tables(self) -> tuple[Table, ...]:
        """What was counted."""
        return tuple(
            Table(f"{key}-{self.name}", f"{sheet.title}.", sheet.headings, sheet.rows)
            for key, sheet in self._sheets.items()
        )

    @property
    def files(self) -> Mapping[str, Table]:
        """The tables as they are written as CSV, with the run in front."""
        return {
            f"-{key}.csv": Table(
                key,
                sheet.title,
                ("run", *sheet.headings),
                tuple((self.name, *row) for row in sheet.rows),
            )
            for key, sheet in self._sheets.items()
        }

    def figures(self, gallery: Gallery) -> Iterator[tuple[str, Markup]]:
        """Pictures with their captions: who persuaded whom, where somebody did."""
        if self.results.persuasion:
            diagram = persuasion_diagram(stored_plan(self.record), self.results.persuasion)
            drawn = gallery.diagram(diagram, f"who persuaded whom in {self.name}")
            if drawn is not None:
                yield _PERSUASION, drawn

    def whole_sessions(
        self, board: SqlBlackboard, names: Iterable[str], gallery: Gallery
    ) -> Iterator[ReportedSession]:
        """The sessions of `names`, one at a time."""
        wanted = frozenset(names)
        shown = (line.session for line in self.sessions if line.session in wanted)
        for stored in board.stored(shown):
            line = stored.record
            rows = tuple(
                (
                    message.number,
                    f"{message.sender} to {message.receiver}",
                    message.tag,
                    message.answer.prediction,
                    message.answer.explanation,
                )
                for message in islice(stored.history, LONGEST)
            )
            chart = gallery.chart(stored) if len(stored.events) <= DRAWN else None
            name = f"{line.session}, {line.instance.key}"
            yield ReportedSession(
                name, line.ending or NOT_OVER, line.cause or "", chart, rows, _HEADINGS
            )

    def as_data(self) -> dict[str, Any]:
        """The report as JSON values, in the format of `report.schema.json`."""
        tables = {
            key: [dict(zip(sheet.headings, row, strict=True)) for row in sheet.rows]
            for key, sheet in self._sheets.items()
        }
        return {
            "run": self.name,
            "created": self.record.created,
            "version": self.record.version,
            "sessions": [
                {
                    "session": line.session,
                    "instance": line.instance.key,
                    "ending": line.ending,
                    "cause": line.cause,
                    "messages": line.messages,
                }
                for line in self.sessions
            ],
            **tables,
            "persuasion": [
                {"from": by, "to": who, "times": times}
                for (by, who), times in sorted(self.results.persuasion.items())
            ],
        }


_PERSUASION = (
    "Who persuaded whom: an arrow to each agent that took over a prediction, from the one that had "
    "told it last, with how often."
)


def gather_panel(board: SqlBlackboard, record: RunRecord) -> PanelReport:
    """Everything that is reported of a run of a panel."""
    return PanelReport(
        record,
        run_title(record),
        board.sessions(record.run),
        panel_results(board, record),
        directions(board, record.run),
    )


_HEADINGS = ("number", "from and to", "tag", "prediction", "explanation")
