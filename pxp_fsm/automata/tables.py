"""Reading automaton tables: from a TOML (or JSON) file to a validated `Automaton`.

The structure of the file is that of `pxp_fsm.automata.table_files`. What it cannot say is in
`pxp_fsm.automata.soundness`. Nothing in a file is ever imported or run.
"""

from __future__ import annotations

import hashlib
import json
import pkgutil
import shlex
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pxp_fsm import registry
from pxp_fsm.automata.automaton import Automaton, Kind, State, Transition
from pxp_fsm.automata.rules import RuleReader
from pxp_fsm.automata.soundness import UNRECEIVED, faults_of, findings_of
from pxp_fsm.automata.table_files import TABLE, Property
from pxp_fsm.automata.unfolding import GIVEN, running
from pxp_fsm.documents import located, read, text_of
from pxp_fsm.errors import Fault, TableError, UsageError, format_path, quoted

_MOST, _LARGEST = 200, 1_000_000
"""Files of a folder that are looked into, and the bytes of a file that may be a table."""


def table_called(name: object, path: Path) -> str:
    """What to do where the table of that `name` is beside `path`, and was not given; else ""."""
    beside = next(((file, raw) for file, raw in _beside(path) if raw["name"] == name), None)
    if beside is None:
        return ""
    file, raw = beside
    return f"{file} is the table {raw['name']}: give both, as in {_both(path, file)}"


def table_receiving(tag: object, path: Path) -> str:
    """What to do where a table that receives `tag` is beside `path`, and was not given; else "".

    Of several it is the one whose tags fit best: those that one sends and the other receives.
    """
    receiving = [(file, raw) for file, raw in _beside(path) if tag in _tags(raw, "receive")]
    if not receiving:
        return ""
    own = _read(path)
    sent, received, name = _tags(own, "send"), _tags(own, "receive"), own["name"]

    def misfits(candidate: tuple[Path, Mapping[str, Any]]) -> int:
        return len(sent - _tags(candidate[1], "receive")) + len(
            received ^ _tags(candidate[1], "send")
        )

    file, raw = min(receiving, key=misfits)
    peers = [(path, raw["name"], None), (file, name, raw.get("peer"))]
    written = " and ".join(
        f"peer = {json.dumps(peer, ensure_ascii=False)} below the name in {where}"
        for where, peer, now in peers
        if now != peer
    )
    return f"{file} receives it: write {written}, then give both, as in {_both(path, file)}"


def _tags(raw: Mapping[str, Any], key: str) -> set[str]:
    """The tags that a document's rows send, or receive, as far as they are texts."""
    written = [row.get(key) for row in raw["rows"] if isinstance(row, dict)]
    return {
        tag
        for tags in written
        for tag in (tags if isinstance(tags, list) else [tags])
        if isinstance(tag, str)
    }


def _both(path: Path, file: Path) -> str:
    return shlex.join(["pxp", "check", str(path), str(file)])


def _beside(path: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The other documents of the folder that have the shape of a table."""
    for file in toml_files(path.parent):
        if file == path:
            continue
        try:
            raw = _read(file)
        except (TableError, OSError):
            continue
        if isinstance(raw.get("name"), str) and isinstance(raw.get("rows"), list):
            yield file, raw


def _read(file: Path) -> Mapping[str, Any]:
    return read(text_of(file, "a table", error=TableError), str(file), error=TableError)


def toml_files(folder: Path) -> Iterator[Path]:
    """The regular files of a folder that may be tables or systems in TOML, 200 at the most."""
    return islice(filter(_is_small, sorted(folder.glob("*.toml"))), _MOST)


def _is_small(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size <= _LARGEST
    except OSError:
        return False


BUILTIN = ("interact", "pxp", "pxp_hang_up", "pxp_k")
"""The protocols' automata that come with the package."""

VALIDATED = {
    "interact": "7e48b824a15430fcc3d174e6f947ce488661f2b0d9b96d35372b28dbbc412ab4",
    "pxp": "b01a5c9260bb7bb735a588e09df45512349e47d45bf5d56fb0a91d03c500f6b4",
    "pxp_hang_up": "04ff0d9b8ce026d2b679ee62d16d646b9ff85f4aca32b627e6845b222d231f0a",
    "pxp_k": "616b9e1484cc98f2eb9603144fd029829fc2be629d1470e884473eb8554103c4",
}
"""SHA-256 (hex) of the files that come with the package and were found to be without a fault.

A file that is still that very file is not validated again, which takes most of the time of a short
command; any other is. A test validates them all."""


def built_in_names() -> tuple[str, ...]:
    """The names of every table that comes with the package or a plug-in."""
    return tuple(dict.fromkeys((*BUILTIN, *registry.contributions("tables"))))


def is_built_in(name: object) -> bool:
    """Whether `name` is that of a table that comes with the package or a plug-in."""
    # A plug-in's table has a plain name, so that a path never makes us look what is installed.
    plain = isinstance(name, str) and name.isidentifier()
    return plain and (name in BUILTIN or registry.contribution("tables", str(name)) is not None)


@cache
def builtin(name: str) -> Automaton:
    """A built-in automaton by its name (`interact`, `lan_agent`, …)."""
    where = None if name in BUILTIN else registry.contribution("tables", name)
    if name not in BUILTIN and where is None:
        names = _listed(built_in_names())
        raise TableError((f"there is no built-in automaton {name!r}; there are {names}",))
    package, _, file = (where or f"pxp_fsm.automata:data/{name}.toml").partition(":")
    data = pkgutil.get_data(package, file)  # `importlib.resources` takes longer than the table
    if data is None:
        raise TableError((f"{package} has no file {file}, the table {name!r} of a plug-in",))
    text = data.decode("utf-8").replace("\r\n", "\n")
    if hashlib.sha256(text.encode()).hexdigest() == VALIDATED.get(name):
        return _build(tomllib.loads(text))[0]
    return parse_automaton(text, f"{name}.toml")


def load_automaton(name_or_path: Any) -> Automaton:
    """A built-in automaton by name, a table from a `.toml` or `.json` file, or what a value is.

    Values of other libraries are those that a plug-in reads, such as a `transitions.Machine`.

    >>> import pxp_fsm as pxp
    >>> pxp.load_automaton("interact")
    <Automaton interact: 4 states, 12 transitions>

    Raises `TableError` with every fault found: file, line and a remedy each.
    """
    if not isinstance(name_or_path, str | Path):
        return automaton_of(name_or_path)
    if is_built_in(name_or_path):
        return builtin(str(name_or_path))
    path = Path(name_or_path)
    text = text_of(path, "a table", f", or one of {_listed(BUILTIN)}", error=TableError)
    form = format_of(path)
    if form is not None:
        if form.reads_system:
            message = f"{path} holds a system of several tables; give it alone, or pxp import it"
            raise TableError((message,))
        table: Automaton = registry.load(form.read)(text, str(path))
        return table
    own = parse_automaton(text, str(path))
    return replace(own, findings=tuple(_with_partner(finding, path) for finding in own.findings))


def foreign_automaton(value: Any) -> Automaton | None:
    """The table that a value of another library is; None where no plug-in knows such a value."""
    readers: Iterator[Callable[[Any], Automaton | None]] = registry.listed("automata")
    return next((table for read in readers if (table := read(value)) is not None), None)


def automaton_of(value: Any) -> Automaton:
    """An automaton as it is, or the table that a value of another library is.

    Raises `UsageError` where no plug-in knows such a value.
    """
    table = value if isinstance(value, Automaton) else foreign_automaton(value)
    if table is None:
        raise UsageError(
            f"a table is an Automaton, a name, a file, or a machine of transitions, "
            f"python-statemachine or LangGraph, not {quoted(value)}"
        )
    return table


def format_of(path: Path) -> registry.Format | None:
    """The format of another tool in which a file of this ending is read.

    None for our own formats, and for an ending that no plug-in knows.
    """
    if path.suffix in ("", ".toml", ".json"):
        return None
    formats = registry.contributions("formats").values()
    return next((form for form in formats if form.read and form.ending == path.suffix), None)


def _with_partner(fault: Fault, path: Path) -> Fault:
    """The fault of a tag that nobody receives, with the file of a table that does."""
    hint = table_receiving(fault.value, path) if fault.kind == UNRECEIVED else ""
    return replace(fault, message=f"{fault.message}; {hint}") if hint else fault


def parse_automaton(text: str, filename: str = "table.toml") -> Automaton:
    """The automaton that a TOML text (JSON, if `filename` ends so) describes."""
    raw = read(text, filename, error=TableError)
    return automaton_from(raw, lambda faults: located(faults, text, filename))


def build_automaton(
    name: str,
    rows: Iterable[Mapping[str, Any]],
    *,
    final: Iterable[str] = (),
    initial: str | None = None,
    states: Mapping[str, str] = MappingProxyType({}),
    guards: Mapping[str, str | Mapping[str, str]] = MappingProxyType({}),
    title: str = "",
    note: str = "",
    peer: str = "",
    payloads: Mapping[str, Any] = MappingProxyType({}),
    **rules: Any,
) -> Automaton:
    """An automaton from rows in Python, checked as a file is.

    A row has the keys of a file's: `from`, `to`, one of `send`, `receive` and `event`, and where
    they apply `guard`, `partner` and `number`. The states are those of the rows, in their order;
    `initial` is the first of them unless it is named. `states` and `guards` say what they mean,
    `payloads` which JSON Schema fits what a tag carries. `rules` are the sections of a file by
    which a table decides and counts, `parameters`, `registers`, `oracles`, `let`, `each`, and what
    is claimed of it, `properties`.

    >>> import pxp_fsm as pxp
    >>> pxp.build_automaton(
    ...     "asking",
    ...     [
    ...         {"from": "IDLE", "to": "ASKED", "send": "ASK"},
    ...         {"from": "IDLE", "to": "CHOOSE", "receive": "ASK"},
    ...         {"from": "CHOOSE", "to": "DONE", "guard": "FREE", "send": "GRANT"},
    ...         {"from": "CHOOSE", "to": "DONE", "guard": "TAKEN", "send": "DENY"},
    ...         {"from": "ASKED", "to": "DONE", "receive": ["GRANT", "DENY"]},
    ...     ],
    ...     final=["DONE"],
    ... )
    <Automaton asking: 4 states, 6 transitions>

    Raises `TableError` with every fault found, the row and a remedy each.
    """
    written = [dict(row) if isinstance(row, Mapping) else row for row in rows]
    deciding: dict[str, dict[str, None]] = {state: {} for state in states}
    for row in written:
        for state in _names_in(row, "from"):
            deciding.setdefault(state, {}).update(dict.fromkeys(_names_in(row, "guard")))
        for state in _names_in(row, "to"):
            deciding.setdefault(state, {})
    used = dict.fromkeys(guard for own in deciding.values() for guard in own)
    raw: dict[str, Any] = {
        "format": 1,
        "name": name,
        "title": title or name,
        "initial": next(iter(deciding), "") if initial is None else initial,
        **({"final": ends} if (ends := list(final)) else {}),
        "states": [
            {"name": state, "about": states.get(state, "")} | ({"guards": [*own]} if own else {})
            for state, own in deciding.items()
        ],
        "rows": written,
        "guards": dict.fromkeys(used, "") | dict(guards),
        "note": note,
        "payloads": dict(payloads),
        **rules,
    }
    if peer:
        raw["peer"] = peer

    def in_words(fault: Fault) -> Fault:
        path, where = fault.path, format_path(fault.path)
        if path[:1] == ("rows",) and len(path) > 1:
            index = int(path[1])
            where = f"row {index + 1} {quoted(written[index], 90)}"
        return replace(fault, message=f"{name}, {where}: {fault.message}")

    return automaton_from(raw, lambda faults: map(in_words, faults))


def _names_in(row: object, key: str) -> list[str]:
    """The names at `key` of a row that may be written wrongly."""
    entry = row.get(key) if isinstance(row, Mapping) else None
    names = [entry] if isinstance(entry, str) else entry if isinstance(entry, list) else []
    return [text for text in names if isinstance(text, str)]


def automaton_from(
    raw: Mapping[str, Any], located: Callable[[list[Fault]], Iterable[Fault]]
) -> Automaton:
    """The automaton that the content of a file describes, however the file is written.

    `located` finds file and line of faults at paths of `raw`: those of the `TableError`, or the
    automaton's `findings`.
    """
    faults = list(TABLE.read(raw)[1]) or _size_faults(raw)
    if not faults:
        automaton, faults = _build(raw)
        faults = faults or faults_of(automaton, raw)
        if not faults:
            noted = tuple(located(findings_of(automaton, raw)))
            # A row that is written twice is taken as one; the finding says where it stands.
            rows = {replace(row, row=0): row for row in reversed(automaton.transitions)}
            kept = tuple(row for row in automaton.transitions if rows[replace(row, row=0)] is row)
            return replace(automaton, transitions=kept, findings=noted)
    raise TableError(located(faults))


@lru_cache(maxsize=256)
def stored_automaton(text: str) -> Automaton:
    """The automaton that a session was stored with, as JSON, sound or not; sessions are alike.

    Where it says which parameters were `given`, it counts with them (`unfolding.running`). Raises
    `TableError` where it is none in its form.
    """
    raw = read(text, "table.json", error=TableError)
    parameters = raw.pop(GIVEN, None)
    faults = list(TABLE.read(raw)[1])
    if not faults:
        automaton, faults = _build(raw)
        if not faults and parameters is None:
            return automaton
    if not faults:
        faults = [Fault((GIVEN,), "it is a mapping of parameters to their values")]
        if isinstance(parameters, dict):
            try:
                return running(automaton, parameters)
            except UsageError as error:
                faults = [Fault((GIVEN,), str(error))]
    raise TableError(faults)


MOST_TRANSITIONS = 10_000


def _size_faults(raw: Mapping[str, Any]) -> list[Fault]:
    """The row with which a table has more transitions than it may: each source has each label."""
    count = 0
    for index, row in enumerate(raw["rows"]):
        labels = sum(len(_many(row.get(key, ()))) for key in ("send", "receive", "event"))
        count += len(_many(row["from"])) * labels
        if count > MOST_TRANSITIONS:
            message = f"the rows up to this one are {count:,} transitions; a table has at most "
            return [Fault(("rows", index), f"{message}{MOST_TRANSITIONS:,}")]
    return []


def _build(raw: Mapping[str, Any]) -> tuple[Automaton, list[Fault]]:
    """The automaton of a file whose structure is right, and the faults of its expressions.

    With any, what is built is of no use.
    """
    reader, guards = RuleReader(raw), raw.get("guards", {})
    states = tuple(
        State(item["name"], item.get("about", ""), tuple(item.get("guards", ())))
        for item in raw["states"]
    )
    transitions = tuple(
        Transition(
            row.get("number", place),
            source,
            row["to"],
            row.get("guard"),
            kind,
            label,
            row.get("partner", ""),
            **rules,
        )
        for place, row in enumerate(raw["rows"], start=1)
        for rules in (reader.row(place - 1),)
        for source in _many(row["from"])
        for kind, key in ((Kind.SEND, "send"), (Kind.RECEIVE, "receive"), (Kind.EVENT, "event"))
        for label in _many(row.get(key, ()))
    )
    automaton = Automaton(
        name=raw["name"],
        title=raw["title"],
        states=states,
        initial=raw["initial"],
        final=frozenset(raw.get("final", ())),
        guards=MappingProxyType({name: _about(guard) for name, guard in guards.items()}),
        transitions=transitions,
        source=raw.get("source", ""),
        note=raw.get("note", ""),
        peer=raw.get("peer", ""),
        payloads=MappingProxyType(dict(raw.get("payloads", {}))),
        rules=reader.rules,
        properties=tuple(
            Property(**{**stated, "assume": tuple(stated.get("assume", ()))})
            for stated in raw.get("properties", ())
        ),
    )
    return automaton, reader.faults


def _about(guard: str | Mapping[str, str]) -> str:
    return guard if isinstance(guard, str) else guard.get("about", "")


def _many(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _listed(names: Any) -> str:
    return ", ".join(names)
