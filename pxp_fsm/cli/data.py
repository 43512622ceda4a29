"""`pxp data` and `pxp check DATA`: data of one's own, checked, selected, split, summarised."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from pxp_fsm.cli.options import check as check_options
from pxp_fsm.cli.options import data as options
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.documents import nearest_file
from pxp_fsm.errors import DataError, UsageError, counted, quoted
from pxp_fsm.experiments import files, summaries
from pxp_fsm.experiments.costs import Meter
from pxp_fsm.experiments.plan_data import load
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.schemas import read_assignments
from pxp_fsm.tasks import own_data
from pxp_fsm.tasks.own_data import Record
from pxp_fsm.tasks.task import DataSet, find_task, task_meanings

_SHOWN = 12
"""Predictions that are counted one by one."""


def check(request: check_options.CheckData) -> None:
    """Read the data as the task would, and say what is in them."""
    if request.task is None:
        if not request.table.exists():
            raise UsageError(f"there is no file {request.table}{nearest_file(request.table)}")
        tasks = " or ".join(task_meanings()) or "TASK"
        raise UsageError(
            f"{request.table} is read as data; name the task that reads them after it: {tasks}"
        )
    plan = Plan(request.task, data=str(request.table))
    _, data = load(plan, find_task(request.task))
    _print_sets(str(request.table), data, as_json=request.as_json)


def check_experiment(request: check_options.CheckExperiment) -> None:
    """Read the file of an experiment and its data, and say what is in them."""
    experiment = files.load(request.file)
    if not request.as_json:
        summary = f"{request.file}: {experiment.title}, fingerprint {experiment.fingerprint}"
        click.echo(printable(f"{summary}; {experiment.task.about}, {experiment.plan.rules()}"))
    _print_sets(
        experiment.plan.data or experiment.task.name, experiment.data, as_json=request.as_json
    )


def _print_sets(source: str, data: DataSet, *, as_json: bool) -> None:
    """How many rows are in each set of the data, and what they predict."""
    sets = {"sessions": data.sessions, "validation": data.validation, "test": data.test}
    sets |= {"examples": data.examples} if data.examples else {}
    counts = {name: Counter(row.answer.prediction for row in rows) for name, rows in sets.items()}
    if as_json:
        document: dict[str, object] = {"data": source, "origin": data.origin, "sets": counts}
        if data.terms:
            document["terms"] = [list(term) for term in data.terms]
        click.echo(json.dumps(document, indent=1, sort_keys=True))
        return
    click.echo(printable(f"{source}: {data.origin}"))
    for name, predicted in counts.items():
        if not predicted:
            click.echo(f"  {name}: none")
            continue
        shown = ", ".join(f"{label} {many}" for label, many in sorted(predicted.items()))
        distribution = f": {shown}" if len(predicted) <= _SHOWN else ""
        click.echo(printable(f"  {name}: {counted(predicted.total(), 'row')}{distribution}"))
    if data.terms:
        shown = ", ".join(wordings[0] for wordings in data.terms[:_SHOWN])
        more = ", …" if len(data.terms) > _SHOWN else ""
        click.echo(printable(f"  AGREE by {counted(len(data.terms), 'key term')}: {shown}{more}"))


def select(request: options.DataSelectOptions) -> None:
    """Keep the rows that are wanted, draw, and write them."""
    rows = list(_renamed(_rows(request.table, request.output), request.columns))
    kept: Sequence[Record] = rows
    for row_filter in request.filters:
        kept = row_filter.keep(request.table, kept, request.seed, _warn)
    if request.sample is not None:
        kept = own_data.sample(kept, request.sample, request.seed, _warn)
    own_data.write_records(request.output, [row for _, row in kept])
    click.echo(printable(f"{len(kept)} of {counted(len(rows), 'row')} written: {request.output}"))


def _warn(remark: str) -> None:
    click.echo(printable(f"Note: {remark}"), err=True)


def split(request: options.DataSplitOptions) -> None:
    """Draw rows into sets, and write them."""
    rows = _rows(request.table, request.output)
    numbers = read_assignments(options.SetSizes, request.sizes, "sizes")
    if "sessions" not in numbers:
        raise UsageError("a task needs rows for its sessions; write sessions=N, too", "sizes")
    sizes = asdict(options.SetSizes(**numbers))
    drawn = own_data.split(rows, sizes, request.seed)
    own_data.write_records(request.output, drawn)
    parts = ", ".join(f"{size} {name}" for name, size in sizes.items() if size)
    left = len(rows) - len(drawn)
    click.echo(printable(f"{parts}; {left} left out: {request.output}"))


def summarize(request: options.DataSummarizeOptions) -> None:
    """Ask a model for a summary of each explanation, and write them."""
    rows, meter = _rows(request.table, request.output), Meter()
    prompt = summaries.summary_prompt(request.prompts)
    table = own_data.table_of(request.table) or request.table
    asked = summaries.summarized(
        table, rows, request.machine, prompt, request.models.settings, meter
    )
    summarised = asyncio.run(asked)
    own_data.write_records(request.output, summarised)
    if request.as_json:
        document = {"summarised": len(summarised), "of": len(rows), "file": str(request.output)}
        click.echo(json.dumps(document | {"calls": meter.calls}, indent=1))
        return
    click.echo(
        printable(
            f"{len(summarised):,} of {counted(len(rows), 'explanation')} summarised: "
            f"{request.output}"
        )
    )
    click.echo(f"Models were asked: {meter.shown()}")


def _rows(path: Path, output: Path) -> Sequence[Record]:
    table = own_data.table_of(path)
    if table is None:
        raise DataError(f"{path} is no table (.csv, .jsonl) and has no {own_data.FILES[0]}")
    if output.suffix not in (".csv", ".jsonl"):
        raise UsageError(f"a table is .csv or .jsonl, not {quoted(output.name)}", "output")
    rows = own_data.read_records(table)
    elsewhere = table.parent.resolve() != output.parent.resolve()
    paths = (row.get("x") or row.get("picture") for _, row in rows)
    if elsewhere and any((table.parent / path).is_file() for path in paths if path):
        raise UsageError(
            f"its pictures are found from the folder of the table: write it into {table.parent}",
            "output",
        )
    return rows


def _renamed(rows: Sequence[Record], columns: Sequence[str]) -> Iterator[Record]:
    names = {}
    for column in columns:
        name, equals, renamed = column.partition("=")
        if not (name and equals and renamed):
            raise UsageError(f"{quoted(column)} must be NAME=COLUMN, such as x=SMILES", "columns")
        names[renamed] = name
    for line, row in rows:
        missing = [name for name in names if name not in row]
        if missing:
            raise UsageError(
                f"there is no column {quoted(missing[0])}; there are: {', '.join(row)}", "columns"
            )
        yield line, {names.get(name, name): value for name, value in row.items()}
