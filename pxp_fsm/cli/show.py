"""`pxp show`: list the sessions of a database or a run, or show one in full.

Texts of models and people are shown as text, never as markup.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import repeat
from typing import TYPE_CHECKING, Any

import click

from backends.databases import (
    FAULTS,
    Origin,
    RecordedCall,
    SessionLine,
    SessionRecord,
    SqlBlackboard,
    StoredSession,
    calls_of_session,
    origin_of,
)
from backends.databases.records import SYSTEM
from backends.databases.session_documents import (
    closing_part,
    message_part,
    session_document,
    session_part,
)
from pxp_fsm.automata.actions import Deliver
from pxp_fsm.cli.options import show as options
from pxp_fsm.cli.presentation.text import console, printable
from pxp_fsm.errors import NotThere, counted
from pxp_fsm.experiments.drawings import check_table
from pxp_fsm.experiments.plan_data import stored_plan
from pxp_fsm.experiments.run_kinds import kind_of
from pxp_fsm.experiments.sheets import Sheet, as_rich, board_sheet, directions
from pxp_fsm.protocol.decisions import category
from pxp_fsm.protocol.intelligibility import DEFINITIONS, holds_for, two_way
from pxp_fsm.protocol.messages import NOTHING, Message
from pxp_fsm.protocol.relations import COMPARISONS, Judgement, Outcome
from pxp_fsm.registry import contribution, load
from pxp_fsm.sessions.events import Event

if TYPE_CHECKING:
    from rich.console import Console

_HEADINGS = ("session", "instance", "protocol", "events", "ended")
_MESSAGES, _ACTIONS = "messages", "actions"
"""What the events of two agents are, and those of a system: a message there is sent and delivered.
"""


def database(request: options.ShowDatabase) -> None:
    """List every session of a database."""
    with SqlBlackboard(request.file or request.database, create=False) as board:
        _list(board, None, request)


def run(request: options.ShowRun) -> None:
    """List the sessions of a run."""
    with SqlBlackboard(request.database, create=False) as board:
        _list(board, request.name, request)


def session(request: options.ShowSession) -> None:
    """Show a session."""
    with SqlBlackboard(request.database, create=False) as board:
        stored = board.session(request.name)
        if request.as_json:
            click.echo(json.dumps(_document(board, stored), indent=1))
            return
        calls = calls_of_session(board, request.name) if request.verbose else None
        sheet = None if request.verbose else _sheet(board, stored)
        show(stored, calls, origin_of(board.run(stored.record.run).plan), sheet)
        run = board.run(stored.record.run)
        kind = kind_of(run)
        if kind is not None:
            overview = kind.overview(stored_plan(run), request.name, stored.events)
            console().print(as_rich(board_sheet(overview)))


def _sheet(board: SqlBlackboard, stored: StoredSession) -> Sheet | None:
    """What a plug-in shows in place of the events of a session of its table."""
    members = stored.record.members
    where = contribution("sessions", members[0].automaton) if len(members) == 1 else None
    if where is None:
        return None
    sheet: Sheet = load(where)(board, stored)
    return sheet


def _document(board: SqlBlackboard, stored: StoredSession) -> dict[str, Any]:
    """A session of two as audits read one; of a system, its members and what happened."""
    record = stored.record
    if record.channel:
        return {
            "session": record.session,
            "instance": record.instance.x,
            "channel": record.channel,
            "members": {member.name: member.description for member in record.members},
            "events": [
                {
                    "number": event.number,
                    "action": str(event.action),
                    "payload": None if event.message is None else event.message.payload,
                    "judgements": [
                        {"relation": j.relation, "outcome": j.outcome.value, "detail": j.detail}
                        for j in event.judgements
                    ],
                }
                for event in stored.events
            ],
            "ending": record.ending,
            "cause": record.cause,
        }
    messages = [message_part(event) for event in stored.events]
    closing = None
    if record.ending is not None:
        closing = closing_part(record.ending, record.cause or "", board.closing(record.session))
    return session_document(session_part(record), messages, closing)


def _list(board: SqlBlackboard, name: str | None, request: _Listing) -> None:
    if request.as_json:
        lines = board.listing(name, limit=request.limit, skipped=request.skip)
        rows = [
            dict(zip(_headings([line]), row, strict=True))
            for line, row in zip(lines, zip(*_columns(lines), strict=True), strict=True)
        ]
        click.echo(json.dumps(rows, indent=1))
    else:
        list_all(board, name, request.limit, request.skip)
        if name is not None and _is_of_a_panel(board, name):
            console().print(as_rich(directions(board, name)))


def _is_of_a_panel(board: SqlBlackboard, run: str) -> bool:
    if kind_of(board.run(run)) is not None:
        return True
    return any(
        len(record.agents) > 2 and not record.channel for record in board.sessions(run, limit=1)
    )


_Listing = options.ShowDatabase | options.ShowRun


def list_all(board: SqlBlackboard, run: str | None, limit: int, skipped: int) -> None:
    """A line for each session of `run`, or of every run; `limit` at most after `skipped` others."""
    lines = board.listing(run, limit=limit, skipped=skipped)
    runs = [summary for summary in board.summaries() if run in (None, summary.run)]
    total = sum(summary.sessions for summary in runs)
    if not lines:
        missing = f"no run {run!r} with sessions" if run else "no sessions"
        if total:
            missing = f"{counted(total, 'session')}, and none after the first {skipped:,}"
        known = ", ".join(record.run for record in board.runs()) or "none"
        raise NotThere(f"{board.shown} has {missing}; runs: {known}")
    columns = _columns(lines)
    if sys.stdout.isatty():
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD)
        for heading in _headings(lines):
            table.add_column(heading, no_wrap=heading == "session")
        for line in zip(*columns, strict=True):
            table.add_row(*map(Text, line))
        console().print(table)
    else:  # a table for eyes takes a minute for a hundred thousand lines
        click.echo("\n".join(_lines(_headings(lines), columns)))
    shown_runs = {line.run for line in lines}
    for record in board.runs():
        origin = origin_of(record.plan) if record.run in shown_runs else None
        if origin is not None:
            click.echo(printable(f"{record.run} carries on {origin}"))
    left = total - skipped - len(lines)
    if left or skipped:
        counts = f"… and {left:,} more" if left else "… and no more"
        after = f"; {skipped:,} before" if skipped else ""
        click.echo(f"{counts}{after}; --limit N lists more of them, --skip N others; the runs are")
        for summary in runs:
            over = f"{counted(summary.sessions, 'session')}, {summary.over:,} over"
            click.echo(f"  {printable(summary.run)}: {over}")


def _headings(lines: Sequence[SessionLine]) -> Sequence[str]:
    """The headings of a list: what its sessions have is named, where they are of one kind."""
    kinds = {_ACTIONS if line.protocol == SYSTEM else _MESSAGES for line in lines}
    events = kinds.pop() if len(kinds) == 1 else _HEADINGS[3]
    return (*_HEADINGS[:3], events, *_HEADINGS[4:])


def _columns(lines: Sequence[SessionLine]) -> list[list[str]]:
    """What is said of each session, column by column: a list may have a hundred thousand lines."""
    sessions, _runs, instances, protocols, ns, ks, messages, endings, causes = zip(
        *lines, strict=True
    )
    ended = cache(_ended)
    columns = (
        sessions,
        instances,
        map(cache(protocol), protocols, ns, ks),
        map(str, messages),
        map(ended, endings, causes),
    )
    return [list(map(printable, column)) for column in columns]


def _ended(ending: str | None, cause: str | None) -> str:
    if ending in FAULTS:
        return f"{ending}: {cause}"
    return ending or "not over"


def _lines(headings: Sequence[str], columns: Sequence[list[str]]) -> Iterable[str]:
    """Each session a line below the headings; made by columns, since a loop over lines is slow."""
    headed = ([heading, *column] for heading, column in zip(headings, columns, strict=True))
    return map(str.rstrip, map("  ".join, zip(*map(_aligned, headed), strict=True)))


def _aligned(column: Sequence[str]) -> Iterable[str]:
    """The cells of a column, equally wide on a terminal."""
    if "".join(column).isascii():  # as nearly always: a character is a column wide
        return map(str.ljust, column, repeat(max(map(len, column))))
    from rich.cells import cell_len

    width = max(map(cell_len, column))
    return (cell + " " * (width - cell_len(cell)) for cell in column)


def protocol(name: str, n: int | None, k: int | None) -> str:
    """A protocol with its bounds."""
    bounds = (f"{bound}={value}" for bound, value in (("n", n), ("k", k)) if value)
    return " ".join((name, *bounds))


def show(
    stored: StoredSession,
    calls: Sequence[RecordedCall] | None = None,
    origin: Origin | None = None,
    sheet: Sheet | None = None,
) -> None:
    """One session: what it is about, every message and why its tag, and how it ended.

    `calls` are shown with the messages that they led to, where they are given; `origin` is what
    the session carries on, `sheet` stands for its events. Raises `UsageError` where it followed
    another table than today's of that name.
    """
    from rich.text import Text

    record, shown = stored.record, console()
    check_table(record)
    for label, value in [*_facts(record), *_carried(record, origin)]:
        shown.print(Text.assemble((f"{printable(label):<11} ", "bold"), printable(value)))
    asked = _Asked(calls)
    if sheet is not None:
        rows = tuple(tuple(map(printable, row)) for row in sheet.rows)
        shown.print(as_rich(replace(sheet, rows=rows), numbers=("call", "seconds")))
        return
    for event in stored.events:
        if record.channel:
            _show_action(shown, event)
            continue
        shown.print()
        _show_entry(shown, event)
        for line in asked.lines(event.number):
            click.echo(line)
    shown.print()
    for line in asked.lines(None):
        click.echo(line)
    ended = f"{record.ending} ({record.cause})" if record.ending else "not over"
    shown.print(Text.assemble((f"{'ended':<12}", "bold"), printable(ended)))
    for line in () if record.channel else _classes(record, stored.history):
        click.echo(printable(line))


def _facts(record: SessionRecord) -> Sequence[tuple[str, str]]:
    if record.channel:
        about = record.instance.x
        return [
            ("session", record.session),
            *([("instance", about)] if about else []),
            ("channel", f"{record.channel} ({record.faults})"),
            *(
                (
                    member.name,
                    f"{member.description}, table {member.automaton} {member.fingerprint[:12]}",
                )
                for member in record.members
            ),
        ]
    rules = protocol(record.protocol, record.n, record.k)
    key, x = record.instance.key, record.instance.x
    return [
        ("session", record.session),
        ("instance", x if key == x else f"{key}: {x}"),
        ("protocol", f"{rules}, table {record.automaton} {record.fingerprint[:12]}"),
        *((name, description) for name, description in record.agents),
        ("assumptions", " ".join(record.assumptions) or "none (noisy)"),
        ("memo", "on" if record.memo else "off"),
    ]


def _carried(record: SessionRecord, origin: Origin | None) -> Sequence[tuple[str, str]]:
    if origin is None:
        return []
    noun = "action" if record.channel else "message"
    return [("carries on", f"{origin.session}, from {noun} {origin.number}")]


def _show_entry(shown: Console, entry: Event) -> None:
    from rich.text import Text

    message = entry.carried
    head = f"{message.number:>3}  {message.sender} → {message.receiver}  {message.tag}"
    shown.print(Text(printable(head), style="bold"))
    shown.print(Text(f"     {printable(message.answer.prediction)}"))
    shown.print(Text(f"     {printable(message.answer.explanation)}", style="italic"))
    why = _why(entry.judgements)
    if why:
        shown.print(Text(f"     because {printable(why)}", style="dim"))


def _show_action(shown: Console, event: Event) -> None:
    from rich.text import Text

    message, sent = event.message, not isinstance(event.action, Deliver)
    shown.print(
        Text.assemble(
            (printable(f"{event.number:>3}  {event.action}"), "bold"),
            printable(f"  {message.payload}")
            if message and sent and message.payload != NOTHING
            else "",
        )
    )
    why = ", ".join(map(_judged, event.judgements))
    if why:
        shown.print(Text(f"     because {printable(why)}", style="dim"))


class _Asked:
    """What models were asked, message by message; a system text is shown when it is a new one."""

    def __init__(self, calls: Sequence[RecordedCall] | None) -> None:
        self._calls = calls
        self._known = set[str]()

    def lines(self, message: int | None) -> Iterator[str]:
        """What was asked for `message`, as lines to print; None: for none that was sent."""
        if self._calls is None:
            return
        if not self._calls and message == 1:
            yield "     No model was asked in this session."
        asked = [call for call in self._calls if call.message == message]
        if asked and message is None:
            yield "For no message that was sent:"
        for call in asked:
            yield from self._call(call)

    def _call(self, call: RecordedCall) -> Iterator[str]:
        again = ", from the call cache" if call.cached else ""
        yield f"     {printable(call.model)} was asked ({printable(call.purpose)}{again}):"
        if call.prompt is None:
            yield "       its prompt was not stored"
        else:
            if call.prompt.system not in self._known:
                self._known.add(call.prompt.system)
                yield from _indented("system", call.prompt.system)
            pictures = f", {counted(call.prompt.images, 'image')}" if call.prompt.images else ""
            before = counted(call.prompt.before, "turn")
            yield from _indented(f"after {before}{pictures}", call.prompt.asked)
        replied = call.failure if call.reply is None else call.reply
        yield from _indented("failed" if call.reply is None else "replied", replied)


def _indented(label: str, text: str) -> Iterator[str]:
    yield f"       {label}:"
    yield from (f"         {printable(line)}" for line in text.splitlines())


def _why(judgements: Sequence[Judgement]) -> str:
    """The comparison that gave the category, and what was asked of a revision after it.

    What decided whether the pair was learned from, and the like, is told before.
    """
    compared = [judgement for judgement in judgements if judgement.relation in COMPARISONS]
    others = [judgement for judgement in judgements if judgement.relation not in COMPARISONS]
    told = [", ".join(map(_judged, some)) for some in (others, compared[:2], compared[2:])]
    if len(compared) >= 2:
        match, agree = (judgement.outcome is Outcome.YES for judgement in compared[:2])
        told[1] += f": category {category(match, agree).value}"
    told[2] = told[2] and f"new answer: {told[2]}"
    return "; ".join(filter(None, told))


def _judged(judgement: Judgement) -> str:
    known = "" if judgement.asked else f" ({judgement.detail})"
    return f"{judgement.relation} {judgement.outcome.value}{known}"


def _classes(record: SessionRecord, messages: Sequence[Message]) -> Sequence[str]:
    names = [name for name, _ in record.agents]
    if len(names) > 2:
        return _directions(messages)
    lines = [
        f"{definition.name.replace('_', '-'):<13} "
        + ", ".join(
            f"{name}: {'yes' if holds_for(definition, messages, name) else 'no'}" for name in names
        )
        for definition in DEFINITIONS.values()
    ]
    return [*lines, f"{'two-way':<13} {'yes' if two_way(messages, *names) else 'no'}"]


def _directions(messages: Sequence[Message]) -> Sequence[str]:
    """The classes of what each of several agents sent to each other."""
    sent: dict[tuple[str, str], list[Message]] = {}
    for message in messages:
        sent.setdefault((message.sender, message.receiver), []).append(message)
    lines = []
    for (sender, receiver), exchanged in sent.items():
        classes = [
            definition.name.replace("_", "-")
            for definition in DEFINITIONS.values()
            if holds_for(definition, exchanged, sender)
        ]
        lines.append(f"{sender} to {receiver}: {', '.join(classes) or 'in no class'}")
    return lines
