"""What the argument of `pxp check`, `run`, `show`, `draw` or `serve` is: one place says so.

Core's kinds stand here; plug-ins add files of theirs (`SubjectKind`). Names come first, then files
by their endings and by the keys at their top, then what the database holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pxp_fsm import defaults
from pxp_fsm.automata.tables import format_of
from pxp_fsm.documents import nearest_file, read, text_of
from pxp_fsm.errors import FileError, NotThere, UsageError
from pxp_fsm.registry import Entry, SubjectKind, contributions, listed, load

_HERE = "pxp_fsm.cli"


def _entry(short: str, body: str, options: str) -> Entry:
    return Entry(short, f"{_HERE}.{body}", f"{_HERE}.options.{options}")


DATABASE, RUN, SESSION, DATA = "database", "run", "session", "data"

_EXPORT_TABLES = _entry("in the format of another tool", "exchange:tables", "storage:ExportTables")
_CHECK_TABLES = _entry("its properties, or a formula", "check:tables", "check:CheckTables")

_COMPARE_TABLES = _entry("inclusion and equivalence", "compare:tables", "results:CompareTables")

_SERVE_TABLES = _entry("its behaviour, step by step", "explore:tables", "serve:ServeTables")
_SERVE_RUNS = _entry("its people and assistants", "serve:serve", "serve:ServeRuns")
_SERVE_SYSTEM = _entry(
    "its behaviour, step by step, or its assistants", "serve:system", "serve:ServeSystem"
)
_RUN_TASK = _entry("its sessions", "run:run", "sessions:RunTask")

_OWN = {
    "table": SubjectKind(
        "a table",
        {
            "check": _CHECK_TABLES,
            "compare": _COMPARE_TABLES,
            "draw": _entry("its automaton, or a counterexample", "draw:tables", "draw:DrawTable"),
            "export": _EXPORT_TABLES,
            "serve": _SERVE_TABLES,
        },
        keys=("initial", "final", "states", "rows"),
        names="pxp_fsm.automata.tables:built_in_names",
        others=("conform",),
    ),
    "system": SubjectKind(
        "a system",
        {
            "check": _CHECK_TABLES,
            "compare": _COMPARE_TABLES,
            "draw": _entry("its members, or a counterexample", "draw:tables", "draw:DrawSystem"),
            "export": _EXPORT_TABLES,
            "run": _RUN_TASK,
            "serve": _SERVE_SYSTEM,
        },
        keys=("members",),
    ),
    "checked": SubjectKind(
        "what a plug-in checks",
        {"check": _CHECK_TABLES},
        names="pxp_fsm.cli.kinds:checked_names",
    ),
    "experiment": SubjectKind(
        "an experiment",
        {
            "check": _entry(
                "its file and its data", "data:check_experiment", "check:CheckExperiment"
            ),
            "compare": _entry("with another", "report:compare", "results:CompareRuns"),
            "run": _entry("what of it has not run yet", "run:experiment", "sessions:RunExperiment"),
            "serve": _SERVE_RUNS,
        },
        keys=("task", "protocol", "instances", "repetitions", "learning"),
    ),
    "task": SubjectKind(
        "a task",
        {"run": _RUN_TASK, "serve": _SERVE_RUNS},
        names="pxp_fsm.tasks.task:task_meanings",
    ),
    DATA: SubjectKind(
        "data",
        {"check": _entry("as a task would read them", "data:check", "check:CheckData")},
        endings=(".csv", ".jsonl"),
        others=("data select", "data split", "data summarize"),
    ),
    DATABASE: SubjectKind(
        "a database",
        {
            "show": _entry("its sessions", "show:database", "show:ShowDatabase"),
            "verify": _entry("the marks of its runs", "verify:verify", "storage:VerifyDatabase"),
        },
        others=("report", "audit"),
    ),
    "archive": SubjectKind(
        "an archive",
        {"verify": _entry("its files and marks", "exchange:verify", "storage:VerifyArchive")},
        endings=(".zip",),
    ),
    RUN: SubjectKind(
        "a run",
        {
            "show": _entry("its sessions", "show:run", "show:ShowRun"),
            "compare": _entry("session by session", "report:compare", "results:CompareRuns"),
            "export": _entry("as files, or an archive", "exchange:runs", "storage:ExportRuns"),
            "serve": _SERVE_RUNS,
        },
        others=("report", "audit", "monitor"),
    ),
    SESSION: SubjectKind(
        "a session",
        {
            "show": _entry("its messages and why their tags", "show:session", "show:ShowSession"),
            "draw": _entry("its messages, or an agent's way", "draw:session", "draw:DrawSession"),
            "serve": _entry(
                "what happened, and what could have", "explore:session", "serve:ServeSession"
            ),
        },
        others=("monitor", "erase", "run SESSION@MESSAGE"),
    ),
    "claim": SubjectKind(
        "a property or claim",
        {},
        others=("check --property NAME", "draw --counterexample NAME", "help NAME", "list claims"),
    ),
    "message": SubjectKind(
        "a message of a session",
        {"run": _entry("another continuation", "run:run", "sessions:RunTask")},
        pattern=r"[^/]+/.+@[^/@]*",
    ),
}
"""Core's kinds. A system file and a table differ by what stands at their top."""


@cache
def kinds() -> Mapping[str, SubjectKind]:
    """Every kind by its name, ours first."""
    return {
        **_OWN,
        **{name: kind for name, kind in contributions("kinds").items() if name not in _OWN},
    }


def checked_names() -> frozenset[str]:
    """What plug-ins check by its name."""
    return frozenset(checked.subject for kind in listed("checks") for checked in kind.properties())


def kind_of(word: str, database: str | None = None, verb: str = "") -> SubjectKind:
    """What `word` is: a name, a file, a database, or a run or session in `database`.

    A name that means two things is what the command `verb` takes; NAME=TABLE, a member of a system,
    is what TABLE is. Raises `UsageError` where it is nothing that is known, and `NotThere` where it
    could only stand in a database.
    """
    if not word.strip():
        raise UsageError("X is empty; give a name or a file")
    named = _MEMBER.sub("", word)
    by_name = _kind_of_name(named, verb)
    if by_name is not None:
        return by_name
    if "://" in word:
        return _OWN[DATABASE]
    path = Path(named)
    if path.exists():
        return _kind_of_file(path)
    for kind in _written_as(named):
        if verb in kind.verbs:
            return kind
    for kind in kinds().values():
        if kind.endings and named.endswith(kind.endings) and (verb in kind.verbs or not verb):
            return kind  # which is not there: some commands begin one
    if path.suffix[1:].isalpha():
        raise UsageError(f"there is no file {named}{nearest_file(path)}")
    return _kind_of_stored(word, database or defaults.STORED)


def _kind_of_name(named: str, verb: str) -> SubjectKind | None:
    """The kind whose names have it; one that means two things is what the command takes.

    Names are plain, so that a path or a run never makes us load what lists them.
    """
    if not named.isidentifier():
        return None
    known = [kind for kind in kinds().values() if kind.names]
    known.sort(key=lambda kind: verb not in kind.verbs)
    return next((kind for kind in known if named in load(kind.names)()), None)


def _written_as(named: str) -> Iterator[SubjectKind]:
    """The kinds of what is no file that are written so."""
    return (
        kind
        for kind in kinds().values()
        if kind.pattern and re.fullmatch(kind.pattern, named) is not None
    )


def _kind_of_stored(word: str, database: str) -> SubjectKind:
    """A run or a session; where it is neither, what is known that this command does not take."""
    # Databases take long to import, and most arguments are none of what is in one.
    is_session = load("pxp_fsm.cli.stored:find_session")
    try:
        return _OWN[SESSION if is_session(word, database) else RUN]
    except NotThere:
        known: Iterable[Any] = load("proofs.check:known_properties")()
        if any(word == prop.name for prop in known):
            return _OWN["claim"]
        kind = next(_written_as(word), None)
        if kind is None:
            raise
        return kind


_MEMBER = re.compile(r"^[^\W\d]\w*=(?=.)")


def _kind_of_file(path: Path) -> SubjectKind:
    every = kinds().values()
    for kind in every:
        if kind.endings and path.name.endswith(kind.endings):
            return kind
    if path.is_dir():  # the task that reads it says what is missing there
        return _OWN[DATA]
    if not path.is_file():  # its beginning could not be read a second time
        raise UsageError(f"{path} is a pipe or a device; give a file")
    form = format_of(path)
    if form is not None:  # of another tool, whose format a plug-in reads
        return _OWN["system" if form.reads_system else "table"]
    with path.open("rb") as file:
        head = file.read(len(_SQLITE))
    if head in (b"", _SQLITE):
        return _OWN[DATABASE]
    top, fault = _keys(path)
    best = max(every, key=lambda kind: len(top.intersection(kind.keys)))
    if top.intersection(best.keys):
        return best
    if fault is not None:
        raise fault
    known = "; ".join(
        f"{subject_kind.about} has {', '.join(subject_kind.keys)}"
        for subject_kind in every
        if subject_kind.keys
    )
    raise UsageError(f"{path} is none of what is known by what stands at its top: {known}")


_SQLITE = b"SQLite format 3"
_PICTURE = "a picture, which no command reads; give what it was drawn of"
_FOREIGN = {
    ".py": "Python; a machine in it is given as {stem}:NAME (pxp help machines)",
    **dict.fromkeys((".svg", ".png", ".pdf", ".tex", ".jpg", ".jpeg", ".gif"), _PICTURE),
}
"""What a file with such a suffix is, where no format of ours has it."""

_KEY = re.compile(r'^(?:\[\[?\s*"?(\w+)|\s*"?(\w+)"?\s*[=:])', re.MULTILINE)


def _keys(path: Path) -> tuple[frozenset[str], FileError | None]:
    """The keys at the top of a TOML or JSON file; where its syntax is at fault, any, and the fault.

    So a file with a fault is still known for what it is, and its own reader says where the fault
    stands. Raises `UsageError` for a file of another format.
    """
    if path.suffix not in (".toml", ".json"):
        raise UsageError(
            f"{path} is {_FOREIGN[path.suffix].format(stem=path.stem)}"
            if path.suffix in _FOREIGN
            else f"{path} is neither TOML (.toml) nor JSON (.json), nor a database"
        )
    text = text_of(path, "a table, a system, an experiment, a study or a network")
    try:
        return frozenset(read(text, path.name)), None
    except FileError as error:
        return frozenset(key for pair in _KEY.findall(text) for key in pair if key), error
