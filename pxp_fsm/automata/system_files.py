"""System files: members, channel, formulas to hold and who answers, as a file names them.

The structure is what `data/system.schema.json` says, and this loader uses that very schema. Nothing
in a file is ever imported or run: a respondent is named by a word, a function is passed in code.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pxp_fsm import defaults
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.channels import SYNCHRONOUS, Channel, parse_channel
from pxp_fsm.automata.tables import is_built_in, load_automaton
from pxp_fsm.documents import faults, located, read, text_of
from pxp_fsm.errors import Fault, TableError, UsageError, quoted

PYTHON, TERMINAL, RANDOM, MCP = "python", "terminal", "random", "mcp"
"""Who answers: a function that is passed in code, a person, random choices from a seed, and an
assistant that speaks the Model Context Protocol."""

PREFIXES = ("anthropic:", "openai:", "script:", "program:")
"""What the names of all other respondents begin with."""

RESPONDENTS = (
    "a model (anthropic:NAME, openai:NAME, script:FILE), terminal, program:COMMAND, random, mcp"
)
"""The respondents that can be named, in words."""


@dataclass(frozen=True, slots=True)
class MemberLine:
    """A member as a file names it; `respondent` is "" where the file names none.

    `partners` says which members the partners are that its table names; `automaton` has them so.
    """

    name: str
    automaton: Automaton
    table: str = ""
    respondent: str = ""
    instructions: str = ""
    timeout: float | None = None
    partners: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Property:
    """A formula of the file, or a standard `check`, with the expected verdict: HOLDS or FAILS."""

    formula: str
    expected: str = "HOLDS"
    about: str = ""
    check: str = ""


@dataclass(frozen=True, slots=True)
class SystemFile:
    """What a system file says. `faults` are the channel's probabilities, `events` who raises them.

    `located` finds file and line of faults at paths of the file.
    """

    path: str
    name: str
    title: str
    about: str
    channel: Channel
    members: tuple[MemberLine, ...]
    properties: tuple[Property, ...] = ()
    events: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    faults: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    limit: int = defaults.LIMIT
    text: str = field(default="", repr=False)

    def located(self, found: Iterable[Fault]) -> Iterator[Fault]:
        """Each fault with its file and line; one of a row, with those of the member's table."""
        for fault in found:
            path = fault.path
            is_row = path[:1] == ("members",) and len(path) == 4 and path[2] == "rows"
            table = self.members[int(path[1])].table if is_row else ""
            if table:
                yield from in_table(Path(table), fault, int(path[3]))
                continue
            at = (*path[:2], "table") if is_row else path
            yield from located((replace(fault, path=at),), self.text, self.path)


def system_schema() -> dict[str, Any]:
    """The JSON Schema of system files, as published with the package."""
    file = resources.files("pxp_fsm.automata").joinpath("data", "system.schema.json")
    loaded: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return loaded


def is_system_file(name: object) -> bool:
    """Whether `name` is the path of a system file: of a document that has members."""
    if not isinstance(name, str | Path) or Path(name).suffix not in (".toml", ".json"):
        return False
    if not Path(name).is_file():
        return False
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
    raw = read(text, str(path), error=TableError)
    if "rows" in raw and "members" not in raw:
        said = "this is a table of one member; write a system file with [[members]] that name it"
        raise TableError(located((Fault(("rows",), said),), text, str(path)))
    found = faults(raw, system_schema(), _in_words) or list(_named_faults(raw))
    if found:
        raise TableError(located(found, text, str(path)))
    members, problems = list[MemberLine](), list[Fault]()
    for place, line in enumerate(raw["members"]):
        table = line["table"]
        if not is_built_in(table):
            table = str(Path(path).parent / table)
        try:
            automaton = load_automaton(table)
        except TableError as error:
            if not Path(table).is_file():
                said = f"{error}; the path is relative to the system file"
                at = Fault(("members", place, "table"), said)
                problems += located((at,), text, str(path))
            else:
                problems += [one for one in error.faults if one not in problems]
            continue
        partners = line.get("partners", {})
        try:
            automaton = automaton.with_partners(partners)
        except TableError as error:
            at = Fault(("members", place, "partners"), str(error), "partners")
            problems += located((at,), text, str(path))
            continue
        members.append(
            MemberLine(
                line["name"],
                automaton,
                "" if is_built_in(table) else table,
                _resolved(line.get("respondent", ""), Path(path).parent),
                line.get("instructions", ""),
                line.get("timeout"),
                MappingProxyType(dict(partners)),
            )
        )
    if problems:
        raise TableError(problems)
    return SystemFile(
        path=str(path),
        name=raw["name"],
        title=raw.get("title", raw["name"]),
        about=raw.get("about", ""),
        channel=parse_channel(raw["channel"]) if "channel" in raw else SYNCHRONOUS,
        members=tuple(members),
        properties=tuple(
            Property(
                one.get("formula", ""),
                one.get("expected", "HOLDS"),
                one.get("about", ""),
                one.get("check", ""),
            )
            for one in raw.get("properties", ())
        ),
        events=MappingProxyType(dict(raw.get("events", {}))),
        faults=MappingProxyType(dict(raw.get("faults", {}))),
        limit=raw.get("limit", 1000),
        text=text,
    )


def _resolved(respondent: str, folder: Path) -> str:
    """A respondent as it is named from the present folder: a script's path is the file's own."""
    kind, colon, rest = respondent.partition(":")
    if kind != "script" or Path(rest).is_absolute():
        return respondent
    return f"{kind}{colon}{folder / rest}"


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


def _named_faults(raw: Mapping[str, Any]) -> Iterator[Fault]:
    """What a schema cannot say of the file alone: names, the channel, who answers."""
    names = Counter(line["name"] for line in raw["members"])
    seen = set[str]()
    for place, line in enumerate(raw["members"]):
        name = line["name"]
        if name in seen:
            said = f"{names[name]} members are called {name}; give each a name of its own"
            yield Fault(("members", place, "name"), said, "unique", name)
        seen.add(name)
        problem = respondent_problem(line["respondent"]) if "respondent" in line else None
        if problem is not None:
            yield Fault(("members", place, "respondent"), problem, "respondent")
    try:
        parse_channel(raw.get("channel", "sync"))
    except UsageError as error:
        yield Fault(("channel",), str(error), "channel", raw.get("channel"))
    for label, source in raw.get("events", {}).items():
        kind, _, number = source.partition(":")
        if kind == "chance" and float(number) > 1:
            said = f"{number} is no probability; write chance:P with P from 0 to 1"
            yield Fault(("events", label), said, "maximum", source)


def _in_words(error: Any) -> str | None:
    """What a violation means to somebody who edits a system file."""
    path = tuple(error.absolute_path)
    if error.validator == "type" and path[:1] == ("members",) and path[-1:] == ("respondent",):
        return f"{quoted(error.instance)} is no name; write {RESPONDENTS}, or {PYTHON}"
    if error.validator == "pattern" and path[:1] == ("events",):
        return f"{quoted(error.instance)} raises no event; write after:SECONDS or chance:P"
    if error.validator == "oneOf" and path[:1] == ("properties",):
        return "a property has either a formula or a check, and not both; write one of them"
    if error.validator == "minItems" and path == ("members",):
        return "a system has two members or more; add another [[members]]"
    if error.validator == "pattern":
        return f"{error.instance!r} is not a valid name; use letters, digits and _, a letter first"
    return None


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
