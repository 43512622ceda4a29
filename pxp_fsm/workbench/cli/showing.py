"""Sessions on a terminal. Texts of models and people are shown as text, never as markup."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.console import Console
from rich.text import Text

from backends.databases import SessionRecord, StoredSession
from pxp_fsm.decisions import category
from pxp_fsm.intelligibility import DEFINITIONS, holds_for, two_way
from pxp_fsm.messages import Message
from pxp_fsm.relations import Judgement, Outcome
from pxp_fsm.session import Entry
from pxp_fsm.workbench.cli.printing import console as opened
from pxp_fsm.workbench.cli.printing import printable
from pxp_fsm.workbench.recorded import check_table


def protocol(name: str, n: int | None, k: int | None) -> str:
    """A protocol with its bounds."""
    bounds = (f"{bound}={value}" for bound, value in (("n", n), ("k", k)) if value)
    return " ".join((name, *bounds))


def show(stored: StoredSession) -> None:
    """One session: what it is about, every message and why its tag, and how it ended.

    Raises `UsageError` where it followed another table than today's of that name.
    """
    record, console = stored.record, opened()
    check_table(record)
    for label, value in _facts(record):
        console.print(Text.assemble((f"{printable(label):<12}", "bold"), printable(value)))
    for entry in stored.entries:
        console.print()
        _show_entry(console, entry)
    console.print()
    ended = f"{record.ending} ({record.cause})" if record.ending else "not over"
    console.print(Text.assemble((f"{'ended':<12}", "bold"), printable(ended)))
    messages = [entry.message for entry in stored.entries]
    for line in _classes(record, messages):
        click.echo(printable(line))


def _facts(record: SessionRecord) -> Sequence[tuple[str, str]]:
    said = protocol(record.protocol, record.n, record.k)
    return [
        ("session", record.session),
        ("instance", f"{record.instance.key}: {record.instance.x}"),
        ("protocol", f"{said}, table {record.automaton} {record.fingerprint[:12]}"),
        *((name, description) for name, description in record.agents),
        ("assumptions", " ".join(record.assumptions) or "none (noisy)"),
        ("memo", "on" if record.memo else "off"),
    ]


def _show_entry(console: Console, entry: Entry) -> None:
    message = entry.message
    head = f"{message.number:>3}  {message.sender} → {message.receiver}  {message.tag}"
    console.print(Text(printable(head), style="bold"))
    console.print(Text(f"     {printable(message.answer.prediction)}"))
    console.print(Text(f"     {printable(message.answer.explanation)}", style="italic"))
    why = _why(entry.judgements)
    if why:
        console.print(Text(f"     because {printable(why)}", style="dim"))


def _why(judgements: Sequence[Judgement]) -> str:
    """The comparison that gave the category, and what was asked of a revision after it."""
    if len(judgements) < 2:
        return ", ".join(map(_judged, judgements))
    match, agree = (judgement.outcome is Outcome.YES for judgement in judgements[:2])
    compared = ", ".join(map(_judged, judgements[:2]))
    found = f"{compared}: category {category(match, agree).value}"
    revised = ", ".join(map(_judged, judgements[2:]))
    return f"{found}; new answer: {revised}" if revised else found


def _judged(judgement: Judgement) -> str:
    known = "" if judgement.asked else f" ({judgement.detail})"
    return f"{judgement.relation} {judgement.outcome.value}{known}"


def _classes(record: SessionRecord, messages: Sequence[Message]) -> Sequence[str]:
    names = [name for name, _ in record.agents]
    lines = [
        f"{definition.name.replace('_', '-'):<13} "
        + ", ".join(
            f"{name}: {'yes' if holds_for(definition, messages, name) else 'no'}" for name in names
        )
        for definition in DEFINITIONS.values()
    ]
    return [*lines, f"{'two-way':<13} {'yes' if two_way(messages, *names) else 'no'}"]
