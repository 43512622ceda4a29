"""Tables that are edited in a page: as text, checked as a file is, written only where it was read.

Nothing in a text is executed. What is written is the text as it was typed.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from proofs.systems import System
from pxp_fsm.artifacts import write_atomically
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.system import Member, is_named
from pxp_fsm.automata.system_files import in_text, is_system_file, read_system
from pxp_fsm.automata.tables import parse_automaton
from pxp_fsm.documents import bytes_of, text_of
from pxp_fsm.errors import DataError, Fault, FileError, TableError, UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.web.subjects import SystemSubject, subject_in, subject_of

MOST_STATES, MOST_ROWS = 80, 400
"""The states and transitions of a table that is drawn while it is typed."""


@dataclass(frozen=True, slots=True)
class TableText:
    """A table that can be edited: its file, the members that follow it, and its text."""

    file: str
    members: tuple[str, ...]
    text: str
    saved: bool = True


@dataclass(frozen=True, slots=True)
class FaultView:
    """What is wrong with a text, and in which line, from 1; 0 where it is in no single line."""

    line: int
    text: str


class Editor:
    """The system of `tables` (a system file, or tables), those in files to be edited.

    Raises what `subject_in` raises, and `UsageError` where no table is in a file.
    """

    def __init__(self, tables: Sequence[str], channel: str | None) -> None:
        self.subject = subject_in(tables, channel)
        names = [name for name, _ in self.subject.members]
        paths, self._partners = _paths(tables), _partners(tables)
        if len(paths) == 1 and len(names) == 2:
            paths *= 2  # a table joined with itself
        self._paths = dict(zip(names, paths, strict=True))
        self._files = [path for path in dict.fromkeys(paths) if path is not None]
        if not self._files:
            raise UsageError("no table of this system is in a file, so that there is none to edit")
        self._saved = {path: text_of(path, "a table", error=TableError) for path in self._files}
        self._texts = {path: _typed(text) for path, text in self._saved.items()}

    @property
    def tables(self) -> tuple[TableText, ...]:
        """The tables as they are now."""
        return tuple(
            TableText(
                str(path),
                tuple(name for name, file in self._paths.items() if file == path),
                self._texts[path],
                self._texts[path] == _typed(self._saved[path]),
            )
            for path in self._files
        )

    def edit(self, number: int, text: str) -> tuple[FaultView, ...]:
        """Take `text` for a table; what is wrong with it, in which case the system stays as it is.

        Raises `UsageError` where there is no such table.
        """
        path = self._file(number)
        try:
            automaton = parse_automaton(text, str(path))
            _check_size(automaton)
            self.subject = self._with(path, automaton, text)
        except FileError as error:
            return tuple(_view(fault, path) for fault in error.faults)
        self._texts[path] = text
        return ()

    def save(self, number: int) -> None:
        """Write the latest text without a fault to the file that it was read from.

        Raises `UsageError` where another program has changed that file since, or it cannot be
        written.
        """
        path = self._file(number)
        try:
            data = bytes_of(path, "a table", error=DataError)
            there = data.decode("utf-8-sig")
            if there != self._saved[path]:
                raise UsageError(
                    f"{path} was changed by another program since it was read; nothing was "
                    f"written: start pxp serve again"
                )
            text = self._texts[path]
            text = text.replace("\n", "\r\n") if "\r\n" in there else text
            start = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
            write_atomically(path, start + text.encode())
        except (OSError, UnicodeDecodeError, DataError) as error:
            raise UsageError(f"{path} cannot be written: {error}; nothing was changed") from error
        self._saved[path] = text

    def _file(self, number: int) -> Path:
        if number >= len(self._files):
            raise UsageError(f"there is no table {number}; there are {len(self._files)}, from 0")
        return self._files[number]

    def _with(self, path: Path, automaton: Automaton, text: str) -> SystemSubject:
        old = self.subject.written()
        members = tuple(
            replace(member, automaton=automaton.with_partners(self._partners.get(member.name, {})))
            if self._paths[member.name] == path
            else member
            for member in old.members
        )
        try:
            system = System(members, old.channel)
        except TableError as error:
            raise TableError(
                _of_row(fault, members, self._paths, path, text) for fault in error.faults
            ) from None
        subject = subject_of(system, self.subject.properties)
        return replace(subject, parameters=self.subject.parameters)


def _typed(text: str) -> str:
    """A text as a page gives it back: lines end as they do on a page."""
    return text.replace("\r\n", "\n")


def _paths(tables: Sequence[str]) -> list[Path | None]:
    """The file of each table that is named, None for a built-in one."""
    if len(tables) == 1 and is_system_file(tables[0]):
        return [
            Path(member.table) if member.table else None
            for member in read_system(tables[0]).members
        ]
    paths = list[Path | None]()
    for table in tables:
        path = Path(table.partition("=")[2] if is_named(table) else table)
        paths.append(path if path.is_file() else None)
    return paths


def _partners(tables: Sequence[str]) -> dict[str, Mapping[str, str]]:
    """By member: who the partners are that its table names, as a system file says."""
    if len(tables) == 1 and is_system_file(tables[0]):
        return {member.name: member.partners for member in read_system(tables[0]).members}
    return {}


def _check_size(automaton: Automaton) -> None:
    states, rows = len(automaton.states), len(automaton.transitions)
    if states > MOST_STATES or rows > MOST_ROWS:
        raise TableError(
            (
                f"{states} states and {rows} transitions are too many to be drawn while one types; "
                f"at most {MOST_STATES} and {MOST_ROWS} are: edit the file, and explore it",
            )
        )


def _of_row(
    fault: Fault, members: Sequence[Member], paths: dict[str, Path | None], path: Path, text: str
) -> Fault:
    """A fault of a system with the line of the edited table, where it is in that."""
    at = fault.path
    if at[:1] != ("members",) or len(at) < 4 or paths[members[int(at[1])].name] != path:
        return fault
    (located,) = in_text(text, path, fault, int(at[3]))
    return located


def _view(fault: Fault, path: Path) -> FaultView:
    return FaultView(fault.line or 0, fault.message.removeprefix(f"{path}: "))
