"""What is reported of the runs of systems: what can be counted without MATCH and AGREE."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from statistics import median
from typing import TYPE_CHECKING, Any

from backends.databases import Cost, RunRecord, SessionRecord, SqlBlackboard
from backends.databases.recordings import action_counts, durations
from pxp_fsm.automata.actions import ActionRecord
from pxp_fsm.diagrams.latex import Cell, Table
from pxp_fsm.experiments.reports.pictures import Gallery
from pxp_fsm.experiments.reports.tallies import NOT_OVER
from pxp_fsm.experiments.run_kinds import ReportedSession
from pxp_fsm.experiments.statistics import CONFIDENCE, rounded, wilson
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.messages import NOTHING
from pxp_fsm.sessions.events import Event

if TYPE_CHECKING:
    from markupsafe import Markup

CAUSES = 10
"""Causes of endings that are listed, the most frequent first."""

MESSAGES = ("sent", "lost", "delivered", "delivered again")
_COUNTED = {
    "exchange": ("sent", "delivered"),
    "send": ("sent",),
    "lose": ("sent", "lost"),
    "deliver": ("delivered",),
    "duplicate": ("delivered", "delivered again"),
}


@dataclass(frozen=True, slots=True)
class SystemReport:
    """A run of a system as it is reported.

    `seconds` are, by session, from its opening to its last action; `counts` how often each action
    happened.
    """

    record: RunRecord
    sessions: tuple[SessionRecord, ...]
    seconds: Mapping[str, float]
    counts: Mapping[ActionRecord, int]
    costs: tuple[Cost, ...]

    @property
    def name(self) -> str:
        return self.record.run

    title = name
    kind = "systems"

    @property
    def notes(self) -> Markup:
        """How it is to be read."""
        from markupsafe import Markup

        return Markup(
            "Sessions of systems have no predictions, and so no classes of intelligibility. A "
            "session that <em>finished</em> has every member in an end state; in a "
            "<em>deadlock</em> nothing can happen, and <em>idle</em> is one in which nobody wants "
            "what can. Shares have Wilson's interval."
        )

    @property
    def first(self) -> SessionRecord:
        """The session that says what the run was; sessions of one's own may be of others too."""
        return self.sessions[0]

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """What the run was, in words."""
        systems = len({session.fingerprint for session in self.sessions})
        others = f"; and {systems - 1} other systems" if systems > 1 else ""
        told = (
            ", ".join(f"{member.name} ({member.automaton})" for member in self.first.members)
            + others
        )
        who = ", ".join(f"{member.name}: {member.description}" for member in self.first.members)
        return (
            ("about", self.first.instance.x),
            ("members", told),
            ("who answered", who),
            ("channel", self.first.channel),
            ("faults", self.first.faults),
            ("sessions begun", f"{len(self.sessions):,}"),
            ("fingerprint", self.first.fingerprint[:12]),
            ("begun at", self.record.created),
            ("version", self.record.version),
        )

    @property
    def tables(self) -> tuple[Table, ...]:
        """What was counted; a table without rows is left out."""
        tables = self.endings(), self.causes(), self.messages(), self.decisions(), self.spent()
        return tuple(table for table in tables if table.rows)

    @property
    def files(self) -> Mapping[str, Table]:
        """The tables that are written as CSV: how often each action happened, and each session."""
        actions = tuple((self.name, *words, many) for words, many in self.counts.items())
        sessions = tuple(
            (
                line.session,
                self.name,
                line.ending or "",
                line.cause or "",
                line.messages,
                self.seconds.get(line.session, 0.0),
            )
            for line in self.sessions
        )
        headings = ("session", "run", "ending", "cause", "actions", "seconds")
        return {
            "-actions.csv": Table("", "", ("run", *ActionRecord._fields, "times"), actions),
            "-endings.csv": Table("", "", headings, sessions),
        }

    def figures(self, gallery: Gallery) -> Iterator[tuple[str, Markup]]:
        """Pictures with their captions: a system has none."""
        return iter(())

    def whole_sessions(
        self, board: SqlBlackboard, names: Iterable[str], gallery: Gallery
    ) -> Iterator[ReportedSession]:
        """The sessions of `names`, one at a time."""
        wanted = frozenset(names)
        of_system = (line.session for line in self.sessions if line.session in wanted)
        for stored in board.stored(of_system):
            line = stored.record
            rows = tuple(
                (event.number, str(event.action), event.guard, _payload(event))
                for event in islice(stored.events, LONGEST)
            )
            chart = gallery.chart(stored) if len(stored.events) <= DRAWN else None
            yield ReportedSession(
                line.session, line.ending or NOT_OVER, line.cause or "", chart, rows
            )

    def endings(self) -> Table:
        """How sessions ended: how many, and how long they were."""
        headings = "ending", "sessions", "share", f"{CONFIDENCE:.0%}", "actions", "seconds"
        groups = dict[str, list[SessionRecord]]()
        for line in self.sessions:
            groups.setdefault(line.ending or NOT_OVER, []).append(line)
        rows = []
        for ending, lines in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
            share = wilson(len(lines), len(self.sessions))
            rows.append(
                (
                    ending,
                    len(lines),
                    _percent(len(lines) / len(self.sessions)),
                    f"{_percent(share.low)} to {_percent(share.high)}",
                    _spread([line.messages for line in lines]),
                    _spread([self.seconds.get(line.session, 0.0) for line in lines]),
                )
            )
        caption = (
            "How sessions ended; actions and seconds of a session: the median, and in parentheses "
            "least to most. Seconds are from its opening to its last action; a session that was "
            "resumed waited in them."
        )
        return self._table("endings", caption, headings, rows)

    def causes(self) -> Table:
        """Why sessions ended that did not finish, the most frequent first."""
        causes = Counter(
            (line.ending, line.cause or "")
            for line in self.sessions
            if line.ending not in (None, "finished")
        )
        rows = [(ending, cause, times) for (ending, cause), times in causes.most_common(CAUSES)]
        caption = f"Why sessions ended that did not finish; at most {CAUSES} causes."
        return self._table("causes", caption, ("ending", "cause", "sessions"), rows)

    def messages(self) -> Table:
        """What became of the messages of each member, by receiver and tag."""
        by_link = dict[tuple[str, str, str], Counter[str]]()
        for action, times in self.counts.items():
            if action.kind in _COUNTED:
                link = action.member, action.partner, action.label
                counted = by_link.setdefault(link, Counter())
                counted.update(dict.fromkeys(_COUNTED[action.kind], times))
        rows = list[tuple[Cell, ...]]()
        for link in sorted(by_link):
            rows.append((*link, *(by_link[link][fate] for fate in MESSAGES)))
        headings = "sender", "receiver", "tag", *MESSAGES
        return self._table("messages", "Messages by sender, receiver and tag.", headings, rows)

    def decisions(self) -> Table:
        """What was decided and what happened besides: guards, and events from outside."""
        decisions = Counter[tuple[str, str, str]]()
        for action, times in self.counts.items():
            if action.kind == "external":
                decisions["outside", "", action.label] += times
            elif action.guard and action.kind != "choose":  # its message is sent by the same guard
                decisions[action.member, action.guard, action.label] += times
        rows = [(*key, times) for key, times in sorted(decisions.items())]
        caption = "Guards that were true for what members did; events from outside."
        return self._table("decisions", caption, ("member", "guard", "tag or event", "times"), rows)

    def spent(self) -> Table:
        """What models cost."""
        rows = [
            (
                cost.model,
                cost.calls,
                cost.cached,
                cost.failed,
                cost.usage.sent + cost.usage.cache_read + cost.usage.cache_written,
                cost.usage.received,
                "not known" if cost.dollars is None else f"{cost.dollars:.4f}",
                f"{cost.seconds / cost.calls:.2f}" if cost.calls else "",
            )
            for cost in self.costs
        ]
        headings = "model", "calls", "cached", "failed", "tokens in", "tokens out", "dollars"
        return self._table("costs", "What models cost.", (*headings, "seconds a call"), rows)

    def as_data(self) -> dict[str, Any]:
        """The report as JSON values, in the format of `schema.json`."""
        return {
            "run": self.name,
            "created": self.record.created,
            "version": self.record.version,
            "members": [
                {"name": member.name, "table": member.automaton, "respondent": member.description}
                for member in self.first.members
            ],
            "channel": self.first.channel,
            "fingerprint": self.first.fingerprint,
            "sessions": [
                {
                    "session": line.session,
                    "ending": line.ending,
                    "cause": line.cause,
                    "actions": line.messages,
                    "seconds": self.seconds.get(line.session, 0.0),
                }
                for line in self.sessions
            ],
            "actions": [
                {**record._asdict(), "times": many} for record, many in self.counts.items()
            ],
        }

    def _table(
        self, key: str, caption: str, headings: Iterable[str], rows: Iterable[tuple[Cell, ...]]
    ) -> Table:
        return Table(f"{key}-{self.name}", caption, tuple(headings), tuple(rows))


def gather_system(board: SqlBlackboard, record: RunRecord) -> SystemReport:
    """Everything that is reported of a run that has sessions of a system."""
    lines = tuple(session for session in board.sessions(record.run) if session.channel)
    return SystemReport(
        record,
        lines,
        durations(board, record.run),
        action_counts(board, record.run),
        board.costs(record.run),
    )


LONGEST, DRAWN = 1000, 60
"""Actions of a session that are listed, and actions up to which it is drawn."""


def _payload(event: Event) -> str:
    return "" if event.message is None or event.message.payload == NOTHING else event.message.json


def _percent(share: float) -> str:
    return f"{rounded(100 * share, 0)}%"


def _spread(values: list[float] | list[int]) -> str:
    least, middle, most = map(_short, (min(values), median(values), max(values)))
    return middle if least == most else f"{middle} ({least} to {most})"


def _short(number: float) -> str:
    """Three significant digits, and all before the point."""
    whole = number == int(number) or abs(number) >= 1000
    return f"{number:,.0f}" if whole else f"{number:.3g}"
