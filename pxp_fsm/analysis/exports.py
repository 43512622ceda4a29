"""Tables and systems as files, of our own format and of other tools, and tables from such files."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from proofs.logic import parse
from proofs.subjects import UNBOUNDED
from proofs.systems import Composition, System
from proofs.systems.intervals import by_rules
from pxp_fsm import registry
from pxp_fsm.artifacts import file_name, write_atomically
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.serialization import to_toml
from pxp_fsm.automata.system_files import is_system_file, read_system
from pxp_fsm.automata.tables import format_of, load_automaton
from pxp_fsm.diagrams import render, state_diagram
from pxp_fsm.errors import PXPWarning, UsageError
from pxp_fsm.registry import Format

_TABLES = "pxp_fsm.automata.tables:parse_automaton"
_OWN = {
    "toml": Format(".toml", "pxp_fsm.automata.serialization:to_toml", read=_TABLES),
    "json": Format(".json", "pxp_fsm.automata.serialization:to_json", read=_TABLES),
    "dot": Format(".dot", f"{__name__}:_dot"),
    "mermaid": Format(".mmd", f"{__name__}:_mermaid"),
}


@cache
def formats() -> dict[str, Format]:
    """The formats of tables and systems by name: our own, and those of plug-ins."""
    return _OWN | {
        name: form for name, form in registry.contributions("formats").items() if name not in _OWN
    }


def of_tables() -> tuple[str, ...]:
    """The formats that hold one table."""
    return tuple(name for name, form in formats().items() if form.table)


def of_systems() -> tuple[str, ...]:
    """The formats that hold tables that are joined, for other model checkers."""
    return tuple(name for name, form in formats().items() if form.system)


def endings_read() -> tuple[str, ...]:
    """The endings of files that hold a table which can be read."""
    return tuple(form.ending for form in formats().values() if form.read)


def export_table(table: Automaton, path: Path, form: str) -> tuple[Path, ...]:
    """`table` in the format `form` as the file `path`; nothing that is there is replaced."""
    text: str = registry.load(formats()[form].table)(table)
    return _written({path: text})


def export_system(
    tables: Sequence[str], path: Path, form: str, channel: str, formulas: Sequence[str]
) -> tuple[Path, ...]:
    """The system of `tables` over `channel`, with `formulas`, as `path` and what belongs beside it.

    It is what `pxp check` explores: as its rules decide, with a system file's parameters. Warns
    (`PXPWarning`) of rules that are left out, as their parameters have no values.

    Raises `UsageError` for a formula that the language cannot say.
    """
    loaded = System.load(*tables, channel=channel)
    values = read_system(tables[0]).parameters if is_system_file(tables[0]) else {}
    decided = by_rules(loaded, values, bounded=loaded.channel.capacity is not None)
    for reason in decided.left_out:
        warnings.warn(f"rules left out: {reason}", PXPWarning, stacklevel=2)
    system = Composition(decided.system)
    parsed = [(text, parse(text)) for text in formulas]
    export = formats()[form]
    name = (path.stem,) if export.named else ()
    written = registry.load(export.system)(system, parsed, *name)
    beside = {path.with_suffix(ending): text for ending, text in written.beside.items()}
    return _written({path: written.text, **beside})


def default_path(tables: Sequence[str], form: str) -> Path:
    """A file named after the tables, in the folder where one is."""
    stems = [file_name(table.rpartition("=")[2]) for table in tables]
    joined = "-".join(dict.fromkeys(stems))
    if formats()[form].named:
        joined = re.sub(r"\W", "_", joined, flags=re.ASCII)
    return Path(joined + formats()[form].ending)


def import_table(path: Path, output: Path | None) -> tuple[Automaton, Path]:
    """The table of a file, checked, and the file that it is written to: by default, as TOML."""
    table = load_automaton(path)
    target = output or Path(f"{table.name}.toml")
    if target.is_dir() or not target.suffix:
        target.mkdir(exist_ok=True)
        target /= f"{table.name}.toml"
    writable = {form.ending: name for name, form in formats().items() if form.table and form.read}
    if target.suffix not in writable:
        raise UsageError(f"{target.name} must end in {' or '.join(writable)}")
    export_table(table, target, writable[target.suffix])
    return table, target


def import_system(path: Path, folder: Path | None) -> tuple[Path, ...]:
    """Write a system of another tool as a system file, with a table for each of its members, into a
    folder: by default, one that is named after the file. Nothing that is there is replaced.
    """
    import tomlkit

    system, target = System.load(path), folder or Path(path.stem)
    if target.suffix or target.is_file():
        raise UsageError(f"{target} must be a folder: {path} holds several tables")
    files, members = dict[Path, str](), list[dict[str, str]]()
    for member in system.members:
        name = f"{member.automaton.name}.toml"
        files[target / name] = to_toml(member.automaton)
        members.append({"name": member.name, "table": name})
    document = tomlkit.document()
    document["format"] = 1
    document["name"] = LOWER.sub("_", f"s_{path.stem}".lower())[:64]
    document["title"] = path.stem
    document["channel"] = f"{UNBOUNDED}:1" if is_unbounded(path) else system.channel.name
    for member_line in members:
        document.setdefault("members", tomlkit.aot()).append(tomlkit.item(member_line))
    files[target / "system.toml"] = tomlkit.dumps(document)
    target.mkdir(exist_ok=True)
    return _written(files)


def is_unbounded(path: Path) -> bool:
    """Whether what a file of another tool sends waits in channels without a bound.

    Members are run over bounded ones: the system file that is made of it has FIFO channels of one
    message, and `--channel fifo` asks about every capacity.
    """
    form = format_of(path)
    return form is not None and form.channel == UNBOUNDED


LOWER = re.compile("[^a-z0-9_]+")
"""What cannot stand in the name of a system."""


def _dot(table: Automaton) -> str:
    return render(state_diagram(table), "dot").decode()


def _mermaid(table: Automaton) -> str:
    return render(state_diagram(table), "mermaid").decode()


def _written(files: dict[Path, str]) -> tuple[Path, ...]:
    for path in files:
        if path.exists():
            raise UsageError(f"{path} already exists; give another name, or remove it")
    for path, text in files.items():
        write_atomically(path, text.encode())
    return tuple(files)
