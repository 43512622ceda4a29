"""Tables and systems as files of other tools, and tables from such files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from proofs.export import (
    from_scxml,
    to_json,
    to_prism,
    to_promela,
    to_scxml,
    to_smv,
    to_tla,
    to_toml,
)
from proofs.logic import parse
from proofs.systems import Composition, System
from pxp_fsm.artifacts import write_atomically
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.documents import text_of
from pxp_fsm.automata.tables import BUILTIN, load_automaton
from pxp_fsm.diagrams import render, state_diagram
from pxp_fsm.errors import TableError, UsageError, quoted
from pxp_fsm.experiments.drawings import file_name

OF_TABLES = {
    "toml": ".toml",
    "json": ".json",
    "scxml": ".scxml",
    "dot": ".dot",
    "mermaid": ".mmd",
}
"""Formats of one table, with the endings of their files."""

OF_SYSTEMS = {"promela": ".pml", "prism": ".prism", "smv": ".smv", "tla": ".tla"}
"""Formats of tables that are joined, for other model checkers."""

READ = (".toml", ".json", ".scxml")
"""The endings of files that hold a table."""

_MODULE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_MODULES_OF_TLA = ("Integers", "Naturals", "Sequences", "FiniteSets", "Reals", "TLC", "Bags")


def is_table(what: str) -> bool:
    """Whether `what` can only be a table: a built-in one, or a file that holds one."""
    return what in BUILTIN or what.partition("=")[2] in BUILTIN or what.endswith(READ)


def table_in(name_or_path: str) -> Automaton:
    """A built-in table by its name, or one from a TOML, JSON or SCXML file.

    Raises `TableError` as `load_automaton` does.
    """
    path = Path(name_or_path)
    if name_or_path in BUILTIN or path.suffix != ".scxml":
        return load_automaton(name_or_path)
    return from_scxml(text_of(path, "a table", error=TableError), str(path))


def export_table(table: Automaton, path: Path, form: str) -> tuple[Path, ...]:
    """`table` in the format `form` as the file `path`; nothing that is there is replaced."""
    text = {"toml": to_toml, "json": to_json, "scxml": to_scxml}.get(form)
    told = render(state_diagram(table), form) if text is None else text(table).encode()
    return _left({path: told})


def export_system(
    tables: Sequence[str], path: Path, form: str, channel: str, formulas: Sequence[str]
) -> tuple[Path, ...]:
    """The system of `tables` over `channel`, with `formulas`, as `path` and what belongs beside it.

    Raises `UsageError` for a formula that the language cannot say.
    """
    system = Composition(System.load(*tables, channel=channel))
    told = [(text, parse(text)) for text in formulas]
    if form == "tla":
        written = to_tla(system, told, _module(path))
    else:
        written = {"promela": to_promela, "prism": to_prism, "smv": to_smv}[form](system, told)
    beside = {path.with_suffix(ending): text for ending, text in written.beside.items()}
    return _left({one: text.encode() for one, text in {path: written.text, **beside}.items()})


def _module(path: Path) -> str:
    """The name of a TLA+ module: that of its file."""
    if not _MODULE.fullmatch(path.stem) or path.stem in _MODULES_OF_TLA:
        raise UsageError(
            f"{path.name}: a TLA+ module is called as its file, and {quoted(path.stem)} cannot be "
            f"one's own; use letters, digits and _, a letter first"
        )
    return path.stem


def default_path(tables: Sequence[str], form: str) -> Path:
    """A file named after the tables, in the folder where one is."""
    stems = [file_name(one.rpartition("=")[2]) for one in tables]
    joined = "-".join(dict.fromkeys(stems))
    if form == "tla":
        joined = re.sub(r"\W", "_", joined, flags=re.ASCII)
    return Path(joined + (OF_TABLES | OF_SYSTEMS)[form])


def import_table(path: Path, output: Path | None) -> tuple[Automaton, Path]:
    """The table of a file, checked, and the file that it is written to: by default, as TOML."""
    table = table_in(str(path))
    target = output or Path(f"{table.name}.toml")
    if target.suffix not in READ:
        raise UsageError(f"{target.name} must end in {' or '.join(READ)}")
    export_table(table, target, target.suffix.removeprefix("."))
    return table, target


def _left(files: dict[Path, bytes]) -> tuple[Path, ...]:
    for path in files:
        if path.exists():
            raise UsageError(f"{path} already exists; give another name, or remove it")
    for path, text in files.items():
        write_atomically(path, text)
    return tuple(files)
