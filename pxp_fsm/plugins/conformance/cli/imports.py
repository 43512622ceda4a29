"""`pxp import --traces`: a table from recordings, with what supports each row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pxp_fsm.artifacts import write_atomically
from pxp_fsm.automata.foreign_names import ForeignNames
from pxp_fsm.automata.serialization import to_json, to_toml
from pxp_fsm.errors import UsageError, counted
from pxp_fsm.plugins.conformance.trace_files import read_traces
from pxp_fsm.plugins.conformance.trace_learning import LearnedTable, learn_traces


def import_traces(
    paths: Sequence[Path], agent: str | None, mapping: Path | None, output: Path | None
) -> Iterator[str]:
    """Learn a table, write it, and say how far the traces support its rows."""
    target = output or Path("learned.toml")
    if target.suffix not in (".toml", ".json"):
        raise UsageError(f"a table is written as .toml or .json, not {target.name}", "output")
    if target.exists():
        raise UsageError(f"{target} already exists; give another name, or remove it", "output")
    traces = [*read_traces(paths, agent, mapping)]
    name = ForeignNames("table_", lower=True).of(agent or "learned")
    learned = learn_traces(traces, name, title=f"Learned from {len(traces):,} traces")
    table = replace(learned.table, note=_note(learned))
    write_atomically(target, to_json(table) if target.suffix == ".json" else to_toml(table))
    yield (
        f"Imported as {target}: {counted(len(table.states), 'state')}, "
        f"{counted(len(table.transitions), 'transition')}, learned from "
        f"{counted(learned.traces, 'trace')} of {counted(learned.actions, 'action')}"
    )
    for row in learned.support:
        yield f"  {row}"
    once = sum(supported.taken == 1 for supported in learned.support)
    if once:
        yield f"Seen once: {counted(once, 'row')}"
    yield _note(learned)


def _note(learned: LearnedTable) -> str:
    guesses = [f"{support.row.source} {support.row.action}" for support in learned.guesses]
    if not guesses:
        return "No row is a guess; what no trace shows is not in the table."
    return (
        f"{len(guesses)} of {counted(len(learned.support), 'row')} are guesses: more traces would "
        f"tell; what no trace shows is not in the table. Guessed: {', '.join(guesses)}."
    )
