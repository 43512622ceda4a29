"""Plug-ins: what each adds to the toolkit, by names that are loaded when they are asked for.

A plug-in is a `Plugin` value in a light module. Ours are listed in `BUILTIN`; one that is absent is
skipped. Others come as installed entry points of the group `pxp_fsm.plugins`; nothing is ever
imported by a name from a file. Core asks here, and imports no plug-in.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pxp_fsm.errors import PXPWarning
from pxp_fsm.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["Entry", "Format", "Plugin", "SubjectKind"]

GROUP = "pxp_fsm.plugins"

BUILTIN = (
    "drug",
    "rad",
    "easylan",
    "studies",
    "odds",
    "conformance",
    "languages",
    "exports",
    "scribble",
    "integrations",
    "panels",
    "machines",
    "gateway",
)
"""The plug-ins that come with the package, in the order in which their names are listed."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A command: one line on it, and where it is.

    `options` names the dataclass of its options, `body` the function of such a value that does the
    work; without `options`, `body` names a click command, such as a group. `section` is the heading
    of `pxp --help` under which it stands.
    """

    short: str
    body: str
    options: str = ""
    section: str = ""


@dataclass(frozen=True, slots=True)
class SubjectKind:
    """What the argument of a general command (`pxp check`, `run`, `show`, …) can be.

    A file is of this kind by its ending, one of `endings`, or because more of these `keys` stand at
    its top than of any other kind. `names` is a function without arguments that returns the names
    of what is of this kind; `pattern` is how such an argument is written that is no file.
    `about` says what it is ("a network"). `verbs` are the commands that
    take it, each with what it does with one: `short` in words, `body`, and the dataclass of its
    `options`.
    `others` are further commands for it, in words, for whom a verb cannot help.
    """

    about: str
    verbs: Mapping[str, Entry]
    endings: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    names: str = ""
    pattern: str = ""
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Format:
    """A format of files of other tools: the ending of a file, and who writes and reads it.

    `table` writes one table (a function of an `Automaton` that returns text), `system` tables that
    are joined (of a composition and formulas; it returns the text, and the texts of files beside it
    by their endings), `read` makes a table of a text (a function of the text and the file's name),
    or a system where it `reads_system`; "" where the format has no such. A system of such a file is
    checked over `channel`, unless another is given. The text of a `named` system holds the file's
    name without its ending, which `system` takes as a third argument.
    """

    ending: str
    table: str = ""
    system: str = ""
    read: str = ""
    named: bool = False
    reads_system: bool = False
    channel: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """What a plug-in adds. Every value that names code is `"module:name"`, loaded on use.

    `names` stand in the public face (`pxp.NAME`): a module, or `"module:name"`. `tasks` are what
    sessions can be about. `tables` are built-in tables: a package and the name of a file in it.
    `checks` are subjects of `check` (`proofs.check.Checkable`), `subjects` functions of a value of
    your own that return how a `Session` runs it: a system and its policy, or the protocol of agents
    and who makes their policy (None where they cannot). `formats` are files of other tools,
    `recordings` forms of recorded sessions (`analysis.recordings.forms.RecordingForm`), `runs`
    kinds of runs (`experiments.run_kinds.RunKind`), by the field of a plan that makes a run one,
    `sessions` functions of a blackboard and a `StoredSession` that return the `Sheet` which stands
    for its events, by the table that its one member follows.
    `relations` are relations that an agent can name (`match="reactants"`), `automata` functions of
    a value of another library that return the `Automaton` that it is (None where it is none),
    `pictures` draw texts of a kind, such as molecules. `pages` are pages of `pxp serve`: the path
    below which they stand, and a function of the `web.SystemSubject` that returns a `web.PageSet`.
    `options` are further options of a general command: the command's name, and their dataclass
    (of `run`, which is of a task, an `experiments.run_kinds.ForkChange`).
    `kinds` are further kinds of what the general commands take (`SubjectKind`). `lists` are
    further kinds of `pxp list`
    (entries whose body is a function that returns each name with its meaning), `purposes` what
    models are asked for besides, as scripts name it, `help` pages of the documentation: a package
    and the name of a file in it.

    >>> import pxp_fsm as pxp
    >>> pxp.registry.Plugin(
    ...     name="greetings",
    ...     about="sessions about greetings",
    ...     tasks={"greetings": "my_package.task:GREETINGS"},
    ...     commands={"greet": pxp.registry.Entry("greet somebody", "my_package.cli:greet")},
    ... ).name
    'greetings'
    """

    name: str
    about: str
    commands: Mapping[str, Entry] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    tasks: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, str] = field(default_factory=dict)
    checks: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    automata: tuple[str, ...] = ()
    formats: Mapping[str, Format] = field(default_factory=dict)
    recordings: tuple[str, ...] = ()
    runs: Mapping[str, str] = field(default_factory=dict)
    sessions: Mapping[str, str] = field(default_factory=dict)
    relations: Mapping[str, str] = field(default_factory=dict)
    pictures: Mapping[str, str] = field(default_factory=dict)
    pages: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, SubjectKind] = field(default_factory=dict)
    lists: Mapping[str, Entry] = field(default_factory=dict)
    purposes: tuple[str, ...] = ()
    help: Mapping[str, str] = field(default_factory=dict)


CORE = Plugin(
    name="labels",
    about="labels of your own texts or pictures",
    tasks={"labels": "pxp_fsm.tasks.labels.task:LABELS"},
    options={"data select": "pxp_fsm.tasks.labels.selection:LabelFilter"},
)
"""What core itself adds in the form of a plug-in: it is always there."""


def load(where: str) -> Any:
    """What `"module:name"` means, or the module where no name is given."""
    module, _, name = where.partition(":")
    there = import_module(module)
    return getattr(there, name) if name else there


def plugins() -> Iterator[Plugin]:
    """Every plug-in that is there, ours first: no other takes a name from one of ours.

    One of others that cannot be loaded is told in a warning, and left out.
    """
    yield CORE
    yield from _builtin()
    yield from _installed(tuple(sys.path))


def contributions(hook: str) -> dict[str, Any]:
    """What plug-ins add by the field `hook`, by name; the first that has a name counts."""
    contributed: dict[str, Any] = {}
    for plugin in plugins():
        for name, value in getattr(plugin, hook).items():
            contributed.setdefault(name, value)
    return contributed


def contribution(hook: str, name: str) -> Any:
    """What the first plug-in that has `name` adds by the field `hook`; None where none has it."""
    return next(
        (value for plugin in plugins() if (value := getattr(plugin, hook).get(name)) is not None),
        None,
    )


def source(hook: str, name: str) -> Plugin | None:
    """The plug-in that adds `name` by the field `hook`."""
    return next((plugin for plugin in plugins() if name in getattr(plugin, hook)), None)


def listed(hook: str) -> Iterator[Any]:
    """What plug-ins add by the field `hook`, a list of names of code; each is loaded in turn."""
    for plugin in plugins():
        for where in getattr(plugin, hook):
            yield load(where)


@cache
def _builtin() -> tuple[Plugin, ...]:
    builtin = []
    for name in BUILTIN:
        module = f"{GROUP}.{name}.plugin"
        try:
            builtin.append(import_module(module).PLUGIN)
        except ModuleNotFoundError as error:
            # Only the folder itself may be absent; what it misses inside is a fault to be seen.
            if error.name is None or not module.startswith(error.name):
                raise
    return tuple(builtin)


@cache
def _installed(_path: tuple[str, ...]) -> tuple[Plugin, ...]:
    """Those that were installed there when this process first asked: looking takes long."""
    if not _announced(_path):
        return ()
    from importlib import metadata

    return tuple(
        plugin
        for entry in metadata.entry_points(group=GROUP)
        if (plugin := _loaded(entry)) is not None
    )


def _announced(path: Iterable[str]) -> bool:
    """Whether some distribution that is installed in these folders may name us.

    `importlib.metadata` takes longer than most of what a command imports, and reads all that is
    installed. It is asked where our group stands in a file, and where we cannot know: in archives,
    eggs and what other finders find.
    """
    if any(
        finder is not PathFinder and hasattr(finder, "find_distributions")
        for finder in sys.meta_path
    ):
        return True
    heading = f"[{GROUP}]".encode()
    for folder in map(Path, dict.fromkeys(path)):
        if folder.suffix == ".egg" or folder.is_file():
            return True
        with suppress(OSError):
            for there in folder.iterdir():
                if there.suffix in (".dist-info", ".egg-info"):
                    with suppress(OSError):
                        if heading in (there / "entry_points.txt").read_bytes():
                            return True
    return False


def _loaded(entry: EntryPoint) -> Plugin | None:
    try:
        plugin = entry.load()
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the rest goes on
        problem = f"{type(error).__name__}: {error}"
    else:
        if isinstance(plugin, Plugin):
            return plugin
        problem = f"{entry.value} is no pxp_fsm.registry.Plugin"
    dist = entry.dist.name if entry.dist is not None else "a distribution"
    warnings.warn(
        f"the plug-in {entry.name} of {dist} is left out ({problem}); update or uninstall {dist}",
        PXPWarning,
        stacklevel=2,
    )
    return None
