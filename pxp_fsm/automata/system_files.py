"""System files: members, channel, formulas to hold and who answers, as a file names them.

Nothing in a file is ever imported or run: a respondent is named by a word, a function is passed in
code.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from pxp_fsm import defaults, registry
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.channels import SYNCHRONOUS, Channel, parse_channel
from pxp_fsm.automata.table_files import LowerName, Property, Symbol
from pxp_fsm.automata.tables import format_of, is_built_in, load_automaton
from pxp_fsm.documents import located, read, text_of
from pxp_fsm.errors import Fault, TableError, UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import Option, option, outside
from pxp_fsm.schemas import FileKind

PYTHON, TERMINAL, RANDOM, MCP = "python", "terminal", "random", "mcp"
"""Who answers: a function that is passed in code, a person, random choices from a seed, and an
assistant that speaks the Model Context Protocol."""

PREFIXES = ("anthropic:", "openai:", "script:", "program:")
"""What the names of all other respondents begin with."""

RESPONDENTS = (
    "a model (anthropic:NAME, openai:NAME, script:FILE), terminal, program:COMMAND, random, mcp"
)
"""The respondents that can be named, in words."""


def respondent_problem(name: str) -> str | None:
    """Why `name` names no respondent, with the remedy; None where it names one."""
    if name in (PYTHON, TERMINAL, RANDOM, MCP) or any(
        name.startswith(prefix) and len(name) > len(prefix) for prefix in PREFIXES
    ):
        return None
    if re.fullmatch(r"[A-Za-z_][\w.]*[:.][A-Za-z_][\w.]*(\(.*\))?", name) or name.endswith(".py"):
        return (
            f"{quoted(name)} looks like a Python function, and a file names no code; write "
            f'"{PYTHON}", and pass the function in code: pxp.Session(system, {{name: function}})'
        )
    return f"{quoted(name)} is no respondent; write {RESPONDENTS}, or {PYTHON} for a function"


def _respondent(name: str) -> str:
    problem = respondent_problem(name)
    if problem is not None:
        raise UsageError(problem)
    return name


def _event_source(source: str) -> str:
    kind, _, number = source.partition(":")
    if kind == "chance" and float(number) > 1:
        raise UsageError(f"{number} is no probability; write chance:P with P from 0 to 1")
    return source


_EventSource = Annotated[
    str,
    Option(
        pattern=r"^(after|chance):[0-9]+([.][0-9]+)?$(?!\n)",
        problem="raises no event; write after:SECONDS or chance:P",
        parse=_event_source,
    ),
]
_Probability = Annotated[float, Option(least=0, most=1)]


@dataclass(frozen=True, slots=True)
class MemberLine:
    """A member as a file names it; `respondent` is "" where the file names none.

    Once it is read, `table` is "" for a built-in one, and `automaton` has the partners renamed.
    """

    name: Symbol
    table: str = option("The member's table: a file, relative to this one, or a built-in name.")
    partners: Mapping[Symbol, Symbol] = option(
        "Which members the partners are that the table's rows name, so that one table fits several "
        'systems: { client = "agent" }. A partner that is left out is the member of that name.',
        {},
    )
    respondent: str = option(
        "Who answers: a model (anthropic:NAME, openai:NAME[@URL], script:FILE), terminal (a "
        "person), program:COMMAND, random, mcp (an assistant, by pxp serve --mcp), or python (a "
        "function that is passed in code). A command line can replace it.",
        "",
        problem=f"is no respondent; write {RESPONDENTS}, or {PYTHON} for a function",
        parse=_respondent,
    )
    instructions: str = option("What a model or a person is told about the member's part.", "")
    timeout: float | int | None = option(
        "The seconds allowed for each answer.", None, default="there is no limit", above=0
    )
    automaton: Automaton = outside()


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemFile:
    """What a system file says. `faults` are the channel's probabilities, `events` who raises them.

    `located` finds file and line of faults at paths of the file.
    """

    name: LowerName = option(
        "A short name: lower-case letters, digits and underscores. Runs are called NAME-1, NAME-2, "
        "..."
    )
    title: str = option("The name as people write it.", "", default="the name")
    about: str = option("What the sessions are about; every member reads it.", "", least=0)
    channel: Channel = option(
        "The channel between members: sync, fifo:C, lossy:C, duplicating:C, reordering:C, or "
        "several faults joined by +. Another one for a link follows a comma: fifo:1, "
        "far:hub=lossy:1.",
        SYNCHRONOUS,
        default="sync",
        parse=parse_channel,
    )
    limit: int = option("A session ends after so many actions.", defaults.LIMIT, least=1)
    faults: Mapping[str, float] = option(
        "How often a faulty channel loses a message, or delivers it again: probabilities.",
        {},
        default="0.1 each",
        written=Mapping[Literal["loss", "duplication"], _Probability],
    )
    members: tuple[MemberLine, ...] = option(
        "Who takes part.",
        least=2,
        problem="a system has two members or more; add another [[members]]",
    )
    parameters: Mapping[str, int | bool | str] = option(
        "By name: the parameters with which the tables count in a run of the system.", {}
    )
    events: Mapping[Symbol, str] = option(
        "Who raises an event from outside, by its label: after:SECONDS is a timer; chance:P "
        "happens with the probability P before each action. An event that is left out is raised by "
        "nobody.",
        {},
        written=Mapping[Symbol, _EventSource],
    )
    properties: tuple[Property, ...] = option(
        "Formulas of temporal logic and standard checks, with the expected verdict; pxp check "
        "checks them, and pxp run before each run.",
        (),
    )
    path: str = outside("")
    text: str = outside("")

    def problems(self) -> Iterator[Fault]:
        """Members of one name."""
        names = Counter(line.name for line in self.members)
        seen = set[str]()
        for place, line in enumerate(self.members):
            if line.name in seen:
                message = (
                    f"{names[line.name]} members are called {line.name}; give each its own name"
                )
                yield Fault(("members", place, "name"), message, "unique", line.name)
            seen.add(line.name)

    def located(self, faults: Iterable[Fault]) -> Iterator[Fault]:
        """Each fault with its file and line; one of a row, with those of the member's table."""
        for fault in faults:
            if fault.file:
                yield fault
                continue
            path = fault.path
            is_row = path[:1] == ("members",) and len(path) == 4 and path[2] == "rows"
            table = self.members[int(path[1])].table if is_row else ""
            if table:
                yield from in_table(Path(table), fault, int(path[3]))
                continue
            at = (*path[:2], "table") if is_row else path
            yield from located((replace(fault, path=at),), self.text, self.path)


SYSTEM = FileKind(
    SystemFile,
    "a system",
    "A system file of pxp-fsm",
    "Members with their tables, the channel between them, formulas that must hold, and who "
    "answers. Written as TOML; the same structure as JSON is accepted too. What a schema cannot "
    "say (partners, tags that nobody receives, names of respondents) is checked by the loader.",
    name="system",
    error=TableError,
)


def is_system_file(name: object) -> bool:
    """Whether `name` is the path of a system file: of a document that has members, or of another
    tool's text that holds several automata.
    """
    if not isinstance(name, str | Path) or not Path(name).is_file():
        return False
    if Path(name).suffix not in (".toml", ".json"):
        form = format_of(Path(name))
        return form is not None and form.reads_system
    text = text_of(Path(name), "a system", error=TableError)
    try:
        return "members" in read(text, str(name), error=TableError)
    except TableError:
        return _MEMBERS.search(text) is not None


_MEMBERS = re.compile(r'^\s*(\[\[members\]\]|members\s*=|"members"\s*:)', re.MULTILINE)


def read_system(path: str | Path) -> SystemFile:
    """What the system file at `path` says, with its tables.

    Raises `TableError` with every fault found: file, line and a remedy each.
    """
    text = text_of(Path(path), "a system", error=TableError)
    form = format_of(Path(path))
    if form is not None and form.reads_system:
        system = registry.load(form.read)(text, str(path))
        lines = tuple(
            MemberLine(member.name, "", automaton=member.automaton) for member in system.members
        )
        name = Path(path).stem
        over = system.channel
        return SystemFile(
            name=name, title=name, channel=over, members=lines, path=str(path), text=text
        )
    raw = read(text, str(path), error=TableError)
    if "rows" in raw and "members" not in raw:
        message = "this is a table of one member; write a system file with [[members]] that name it"
        raise TableError(located((Fault(("rows",), message),), text, str(path)))
    file = SYSTEM.parse(text, str(path))
    members, problems = list[MemberLine](), list[Fault]()
    for place, line in enumerate(file.value.members):
        table = line.table
        if not is_built_in(table):
            table = str(Path(path).parent / table)
        try:
            automaton = load_automaton(table)
        except TableError as error:
            if not Path(table).is_file():
                message = f"{error}; the path is relative to the system file"
                problems += file.located((Fault(("members", place, "table"), message),))
            else:
                problems += [fault for fault in error.faults if fault not in problems]
            continue
        try:
            automaton = automaton.with_partners(line.partners)
        except TableError as error:
            at = Fault(("members", place, "partners"), str(error), "partners")
            problems += file.located((at,))
            continue
        table = "" if is_built_in(table) else table
        respondent = _resolved(line.respondent, Path(path).parent)
        members.append(replace(line, automaton=automaton, table=table, respondent=respondent))
    if problems:
        raise TableError(problems)
    title = file.value.title or file.value.name
    return replace(file.value, title=title, members=tuple(members), path=str(path), text=text)


def _resolved(respondent: str, folder: Path) -> str:
    """A respondent as it is named from the present folder: a script's path is the file's own."""
    kind, colon, rest = respondent.partition(":")
    if kind != "script" or Path(rest).is_absolute():
        return respondent
    return f"{kind}{colon}{folder / rest}"


def in_table(table: Path, fault: Fault, number: int) -> Iterator[Fault]:
    """A fault of the row with that number, in the file of its table."""
    yield from in_text(text_of(table, "a table", error=TableError), table, fault, number)


def in_text(text: str, table: Path, fault: Fault, number: int) -> Iterator[Fault]:
    """A fault of the row with that number, in the text of the file of its table."""
    rows = read(text, str(table), error=TableError)["rows"]
    index = next(
        (at for at, row in enumerate(rows) if row.get("number", at + 1) == number), number - 1
    )
    yield from located((replace(fault, path=("rows", index)),), text, str(table))
