"""`pxp list`: the names that commands take, each with its meaning; a shell completes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

import proofs
from backends import databases
from proofs.requests import ANY_TABLE
from pxp_fsm.cli import costs
from pxp_fsm.cli.options import about as options
from pxp_fsm.cli.presentation.text import aligned, printable
from pxp_fsm.defaults import STORED
from pxp_fsm.errors import FileError, PXPError, UsageError, counted
from pxp_fsm.registry import contribution, load

Row = tuple[str, ...]


def list_(request: options.ListOptions) -> None:
    """Print a table of the names, or JSON."""
    if request.kind is None:
        headings, rows = _named(options.KINDS)
    else:
        headings, rows = rows_of(request.kind, request.database, request.run)
    if request.as_json:
        click.echo(json.dumps([dict(zip(headings, row, strict=True)) for row in rows], indent=1))
        return
    if not rows:
        click.echo(f"There are no {request.kind}.")
        return
    for line in aligned([headings, *rows]):
        click.echo(printable(line))


def _named(meanings: Mapping[str, str]) -> tuple[Row, list[Row]]:
    return ("name", "meaning"), list(meanings.items())


def rows_of(
    kind: str, database: str | None = None, run: str | None = None
) -> tuple[Row, list[Row]]:
    """The headings and the rows of what is of this kind, the name first.

    Of costs, those of one `run` where it is given.
    """
    if kind == "costs":
        return costs.rows(database or STORED, run)
    if run is not None:
        raise UsageError(f"a run is given to pxp list costs alone, not to pxp list {kind}", "run")
    own = _KINDS.get(kind)
    if own is not None:
        return own(database or STORED)
    return _named(load(contribution("lists", kind).body)())


def completed(kind: str, text: str, database: str | None) -> list[CompletionItem]:
    """The names of `kind` that begin with `text`, with their meanings, then files.

    Where they cannot be listed, as without a database, there are only files.
    """
    try:
        _headings, rows = rows_of(kind, database)
    except (PXPError, OSError):
        rows = []
    named = [CompletionItem(row[0], help=row[-1]) for row in rows if row[0].startswith(text)]
    return [*named, CompletionItem(text, type="file")]


def _tasks(_database: str) -> tuple[Row, list[Row]]:
    return _named(load("pxp_fsm.tasks.task:task_meanings")())


def _claims(_database: str) -> tuple[Row, list[Row]]:
    claims = [claim for claim in proofs.known_properties() if claim.subject != ANY_TABLE]
    return ("name", "of", "meaning"), [claim[:3] for claim in claims]


def _checks(_database: str) -> tuple[Row, list[Row]]:
    known = proofs.known_properties()
    return _named({check.name: check.title for check in known if check.subject == ANY_TABLE})


def _runs(database: str) -> tuple[Row, list[Row]]:
    with databases.SqlBlackboard(database, create=False) as board:
        rows: list[Row] = [
            (
                summary.run,
                summary.task,
                f"{counted(summary.sessions, 'session')}, {summary.over} over",
                summary.created,
            )
            for summary in board.summaries()
        ]
    return ("name", "task", "sessions", "created"), rows


def _models(_database: str) -> tuple[Row, list[Row]]:
    """The prices of the catalogue: dollars for a million tokens, and when they were read."""
    prices_known = load("backends.models.catalogue:catalogue")()
    retired = {
        retirement.models: f"retired {retirement.on}" for retirement in prices_known.retirements
    }
    rows: list[Row] = [
        (price.models, *_price(price), retired.pop(price.models, ""))
        for price in prices_known.prices
    ]
    rows += [(models, "", "", "", when) for models, when in retired.items()]
    return ("name", "$/M input", "$/M output", "read on", "remark"), rows


def _price(price: Any) -> Row:
    return f"{price.rates.input:g}", f"{price.rates.output:g}", str(price.as_of)


def _systems(_database: str) -> tuple[Row, list[Row]]:
    tables = load("pxp_fsm.automata.tables")
    names = tables.built_in_names()
    rows: list[Row] = [(name, "built-in table", tables.builtin(name).title) for name in names]
    rows += filter(None, map(_in_file, tables.toml_files(Path())))
    return ("name", "kind", "title"), rows


def _in_file(path: Path) -> Row | None:
    """A table or system file of this folder; None where the file is neither, or cannot be used."""
    systems = load("pxp_fsm.automata.system_files")
    try:
        if systems.is_system_file(str(path)):
            members: Iterable[str] = (member.name for member in systems.read_system(path).members)
            return str(path), "system file", f"members: {', '.join(members)}"
        return str(path), "table", load("pxp_fsm.automata.tables:load_automaton")(path).title
    except (FileError, OSError):
        return None


# What lists one kind is loaded for it alone: most of it has nothing to do with the others.
_KINDS: Mapping[str, Callable[[str], tuple[Row, list[Row]]]] = {
    "tasks": _tasks,
    "claims": _claims,
    "checks": _checks,
    "runs": _runs,
    "models": _models,
    "systems": _systems,
}
