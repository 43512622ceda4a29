"""The exceptions of the project, as one small tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path

from pxp_fsm.lazy_dataclasses import dataclass


class PXPError(Exception):
    """Anything this package refuses or cannot do; its text says what, where and what to do.

    >>> import pxp_fsm as pxp
    >>> try:
    ...     pxp.Interact(n=0)
    ... except pxp.PXPError as error:
    ...     print(type(error).__name__)
    UsageError
    """


class PXPWarning(UserWarning):
    """What was asked for is done, but not as well as it should be; the text says what to do."""


Place = tuple[str | int, ...]
"""The way to a value in a file: keys and list indices from the root, as in `("rows", 3, "to")`."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a file: where, which `value` stands there, and a message with the remedy.

    `kind` is the keyword of JSON Schema that is violated, or a name of its own; `allowed` are the
    values that may stand there, where they can be listed. `offset` (from 0) is where in a text the
    fault is. `file`, `line` and, with an offset, `column` (from 1) are known once it has been
    located; of a JSON file `path` says more than a line.
    """

    path: Place
    message: str
    kind: str = ""
    value: object = field(default=None, compare=False)
    allowed: tuple[str, ...] = ()
    file: str = ""
    line: int | None = None
    column: int | None = None
    offset: int | None = None

    def __str__(self) -> str:
        if not self.file:
            return self.message
        where = f", at {format_path(self.path)}" if self.line is None else f", line {self.line}"
        if self.column is not None:
            where += f", column {self.column}"
        return f"{self.file}{where}: {self.message}"


def format_path(path: Place) -> str:
    """The way to a value as people write it: `agents.machine`, `instances[2]`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).lstrip(".") or "the top"


MOST_TOLD = 20
"""So many faults of a file are told; whoever mends them sees the others."""


class FileError(PXPError):
    """A file that somebody wrote (a table, an experiment, a network, …) and that cannot be used.

    `faults` holds every fault found, each with a remedy.
    """

    def __init__(self, faults: Iterable[Fault | str]) -> None:
        self.faults = tuple(
            Fault((), fault) if isinstance(fault, str) else fault for fault in faults
        )
        super().__init__("\n".join(self.told))

    @property
    def problems(self) -> tuple[str, ...]:
        """The faults in words, with file and line."""
        return tuple(map(str, self.faults))

    @property
    def told(self) -> tuple[str, ...]:
        """The first `MOST_TOLD` of them, and how many follow."""
        left = len(self.problems) - MOST_TOLD
        return (*self.problems[:MOST_TOLD], *([f"and {left:,} more faults"] if left > 0 else []))


class TableError(FileError):
    """An automaton table that cannot be used: it need not be in a file, or it fits no other."""


class NotEnabled(PXPError):
    """The automaton has no row for this event in its present state."""


class GuardError(PXPError):
    """Not exactly one guard is true, or a guard's value is no strict boolean."""


class Refused(PXPError):
    """A channel refused a message; nothing was moved and nothing was stored."""


class DataError(PXPError):
    """Input data that cannot be used: which file, which row, what is wrong with it."""

    @classmethod
    def at(cls, path: Path, line: int, problem: str) -> DataError:
        """A `DataError` that names `path` and `line` (counted from 1) before `problem`."""
        return cls(f"{path}, line {line}: {problem}")


class BlackboardError(PXPError):
    """The database cannot be opened, read or written; nothing half-written is left in it."""


class NotThere(BlackboardError):
    """A database, run or session of that name does not exist."""


class UsageError(PXPError):
    """A parameter outside its range, or an option that does not go with another.

    `field` names the parameter, where it is one of a plan.
    """

    def __init__(self, problem: str = "", field: str | None = None) -> None:
        self.field = field
        super().__init__(problem)


_FEW = 8
"""Of more names an error gives only the nearest ones their meanings."""


def unknown_name(
    kind: str,
    name: str,
    meanings: Mapping[str, str],
    field: str | None = None,
    *,
    listed: str = "",
) -> UsageError:
    """The error for a `name` that is no `kind`: the names that there are, with their meanings.

    Of many only the nearest are named where `listed` says what shows all.
    """
    message = f"there is no {kind} {quoted(name)}"
    if len(meanings) <= _FEW:
        all_of_them = ", ".join(_with_meaning(meaning, meanings) for meaning in meanings)
        return UsageError(f"{message}; there are: {all_of_them or 'none'}", field)
    near = get_close_matches(name, meanings, n=3)
    if near:
        likely = " or ".join(_with_meaning(candidate, meanings) for candidate in near)
        message += f"; did you mean {likely}?"
    if listed:
        see = "See" if near else "see"
        rest = f"{see} {listed} for all {len(meanings)}"
    else:
        there = "There" if near else "there"
        rest = f"{there} are: {', '.join(meanings)}"
    return UsageError(f"{message}{'' if near else ';'} {rest}", field)


def did_you_mean(name: str, known: Iterable[str], folder: str = "") -> str:
    """`; did you mean …?` of the names in `folder` like `name`; empty where none is like it."""
    near = get_close_matches(name, [*known], n=2, cutoff=0.7)
    return (
        f"; did you mean {' or '.join(folder + candidate for candidate in near)}?" if near else ""
    )


def _with_meaning(name: str, meanings: Mapping[str, str]) -> str:
    return f"{name} ({meanings[name]})" if meanings[name] else name


class NotInstalled(UsageError):
    """What is asked for needs a library that is not installed."""


def require_extra(extra: str, purpose: str, modules: Mapping[str, str]) -> None:
    """Raise `NotInstalled`, with the line that installs `extra`, where `purpose` misses a module.

    `modules` maps the names of modules to those of their packages.
    """
    missing = [package for module, package in modules.items() if find_spec(module) is None]
    if missing:
        are = "is" if len(missing) == 1 else "are"
        raise NotInstalled(
            f"{purpose} needs {' and '.join(missing)}, which {are} not installed; install the "
            f"extra {extra}: pip install 'pxp-fsm[{extra}]', "
            f"in a clone .venv/bin/pip install -e '.[{extra}]'"
        )


class WrongType(TypeError):
    """What a session's respondent, relation or guards returned is not of the type they declare.

    A mistake in a program, as `TypeError` is, and so no `PXPError`.
    """


class SessionFailed(PXPError):
    """A member cannot go on; it ends its session only.

    `fault` is what the member's own code raised, where that is the reason.
    """

    def __init__(self, cause: str, fault: Exception | None = None) -> None:
        self.fault = fault
        super().__init__(cause)


class NoAnswer(SessionFailed):
    """A respondent (model, person, database) gave no usable answer; its session ends so.

    >>> import pxp_fsm as pxp
    >>> def silent(question: pxp.Question) -> pxp.Answer:
    ...     raise pxp.NoAnswer("the database has no such instance")
    >>> agent = pxp.Agent(silent, match=pxp.exact, agree=pxp.exact)
    >>> session = pxp.Session(pxp.Interact(), {"m": agent, "h": agent}, instance="a whale")
    >>> session.run_sync().ending.value, session.cause
    ('no answer', 'silent: the database has no such instance')
    """


class Halted(PXPError):
    """The run cannot go on now, and loses nothing by stopping: a cap is reached, a key was refused.

    No session ends by it; the run is resumed at its next message.
    """


NOT_THEIRS = (Halted, BlackboardError)
"""What may be raised while an agent is asked and is no fault of the agent's: no session ends by it.

The call itself could not be stored, or the run cannot go on now.
"""


def counted(number: int, noun: str) -> str:
    """`1 session`, `2 sessions`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def quoted(value: object, longest: int = 60) -> str:
    """`value` as an error quotes it: what was refused may be long."""
    if isinstance(value, (str, bytes)):
        value = value[: longest + 1]
    try:
        text = repr(value)
    except RecursionError:
        text = f"a {type(value).__name__} that is nested too deeply"
    return text if len(text) <= longest else f"{text[:longest]}…"
