"""Policy files: tables, and lines that say which traffic is which of their events.

A table has events alone. One with `per` is followed once for each value of those fields, so that
what is proved of it holds for each file, each account, each set of arguments. Nothing in a file is
ever imported or run.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.expressions import (
    BOOL,
    ID,
    INT,
    Expression,
    ExpressionError,
    Type,
    Value,
    compiled,
    enumeration,
    name_problem,
    names_in,
    parse_expression,
)
from pxp_fsm.automata.rules import ELSE
from pxp_fsm.automata.system import Member, System
from pxp_fsm.automata.table_files import Expression as Text
from pxp_fsm.automata.table_files import (
    LowerName,
    ParameterEntry,
    Property,
    RegisterEntry,
    Several,
    StateEntry,
    Symbol,
    Symbols,
    Updates,
)
from pxp_fsm.automata.tables import automaton_from
from pxp_fsm.documents import read as read_document
from pxp_fsm.documents import text_of
from pxp_fsm.errors import DataError, Fault, FileError, Place, TableError, UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import Option, option, outside
from pxp_fsm.plugins.gateway.frames import Number
from pxp_fsm.plugins.gateway.protocols import PROTOCOLS, STATES, Protocol
from pxp_fsm.registry import load
from pxp_fsm.schemas import FileContent, FileKind

ARGUMENTS = "arguments"
"""The `per` of a table that is followed once for each tool with its very arguments."""

DOUBT = "doubt"
"""The outcome of a call of which nobody knows whether it was carried out."""

Tool = Annotated[str, Option(least=1, most=256)]
Tools = Annotated[
    Tool | Annotated[tuple[Tool, ...], Option(least=1, unique=True)],
    Option(problem="is neither the name of a tool nor a list of such names"),
]
Verdict = Literal["pass", "refuse"]
Outcome = Literal[
    "success",
    "error",
    "doubt",
    "accept",
    "decline",
    "cancel",
    "submitted",
    "working",
    "completed",
    "failed",
    "canceled",
    "rejected",
    "input-required",
    "auth-required",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """A row of a table: an event that leads from its states to another."""

    source: Symbols = option("The state, or the states, that it leaves.", key="from")
    to: Symbol = option("The state that it enters.")
    event: Symbols = option("The event, or the events, that it takes.")
    when: Text | None = option("It may happen only while this is true.", None)
    do: Updates = option("By register: what it becomes.", {})


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTable:
    """A table of events: what may happen next."""

    name: LowerName = option("A short name: lower-case letters, digits and underscores.")
    title: str = option("The name as people write it.", "", default="the name")
    per: Literal["arguments"] | tuple[Symbol, ...] = option(
        "The fields whose values have a copy of the table each; or arguments: each tool with its "
        "very arguments has one.",
        (),
        default="there is one copy",
        problem='is neither "arguments" nor a list of fields',
    )
    initial: Symbol | None = option("Where a copy begins.", None, default="the first row's state")
    final: tuple[Symbol, ...] = option(
        "Where what it counts may end.", (), default="in every state: a client may go", least=1
    )
    states: tuple[StateEntry, ...] = option("What states mean, where that is said.", ())
    rows: tuple[EventRow, ...] = option("What may happen in which state.", least=1)
    parameters: Mapping[str, ParameterEntry] = option("What is fixed: { min = 1 }, ...", {})
    registers: Mapping[str, RegisterEntry] = option("What is counted: { init = 0, min = 0 }.", {})
    let: Mapping[str, Text] = option("Names for expressions.", {})


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFormula:
    """A safety formula over events, past operators included: no event that breaks it happens."""

    name: LowerName = option("A short name: lower-case letters, digits and underscores.")
    formula: str = option("A formula of temporal logic over event.NAME.", most=2_000)
    per: Literal["arguments"] | tuple[Symbol, ...] = option(
        "As of a table: the fields, or arguments, of whose events each copy is.",
        (),
        default="there is one copy",
        problem='is neither "arguments" nor a list of fields',
    )
    about: str = option("What it means, in words.", "", least=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SumEntry:
    """What a field of the calls that are an event may come to, all of them together."""

    name: LowerName = option("A short name: lower-case letters, digits and underscores.")
    event: Symbol = option("The event of those calls.")
    of: Symbol = option("The field that is added, a whole number; a negative one is refused.")
    most: int = option("What the sum may be at most.", least=0, most=10**18)
    per: tuple[Symbol, ...] = option(
        "The fields of whose values each has a sum of its own.", (), default="there is one sum"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldEntry:
    """A named value of a JSON message."""

    at: str = option(
        "The way to it, its keys joined by dots: in a tool's arguments, in the params of another "
        "method, in the structured content of a result.",
        most=500,
    )
    type: Literal["int", "bool", "id"] | None = option(
        "What it is: a whole number, a truth value, or any value that is only compared (id).", None
    )
    of: Several = option("The texts that it may be.", ())

    def problems(self) -> Iterator[Fault]:
        """Where its type is not said, or twice."""
        if (self.type is None) is (not self.of):
            yield Fault((), 'say what it is: type = "int", "bool" or "id", or of = [...]')

    @property
    def kind(self) -> Type:
        """The type of its values in expressions."""
        if self.type is None:
            return enumeration(self.of)
        return {"int": INT, "bool": BOOL, "id": ID}[self.type]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficLine:
    """Which traffic is which event, or passes, or is refused."""

    one_of: ClassVar[tuple[str, ...]] = ("tool", "result_of", "method", "answer_to")

    tool: Tools | None = option("A call of this tool, or of one of these tools.", None)
    result_of: Tools | None = option("The result of such a call, which the server sends.", None)
    method: Tools | None = option("Another request or notification of the client.", None)
    answer_to: Tools | None = option(
        "What the client answers to such a request of the server (elicitation/create).", None
    )
    when: Text | None = option("An expression over fields: else the line does not count.", None)
    outcome: Outcome | None = option(
        "Of a result: success or error; doubt where the gateway was killed before it came; of A2A "
        "the state of a task. Of an answer to an elicitation: what the person did.",
        None,
        default="any",
    )
    event: Symbol | None = option("The event that it is.", None)
    then: Verdict | None = option("In place of an event: it always passes, or never does.", None)
    approval: Symbol | Mapping[Symbol, Symbol] | None = option(
        "Of a call: the event by which a person approves these very arguments; or one event for "
        "each of the people.",
        None,
    )
    denial: Symbol | None = option("The event by which a person refuses them.", None)
    about: str = option("What the model is told where the call is refused.", "")

    def problems(self) -> Iterator[Fault]:
        """What does not go together."""
        if (self.event is None) is (self.then is None):
            yield Fault((), 'a line has an event, or then = "pass" or "refuse"')
        if self.denial is not None and self.approval is None:
            yield Fault(("denial",), "a denial belongs to an approval; add one")
        if self.then == "refuse" and (self.result_of or self.answer_to):
            yield Fault(("then",), "what has happened cannot be refused; write an event, or pass")
        if self.outcome is not None and (self.tool or self.method):
            yield Fault(("outcome",), "an outcome is that of a result or an answer; drop it")
        results = {"success", "error", "doubt", *STATES}
        wrong = results if self.answer_to else {"accept", "decline", "cancel"}
        if self.outcome in wrong:
            there = "accept, decline, cancel" if self.answer_to else "success, error, doubt"
            yield Fault(("outcome",), f"the outcome {self.outcome} is none here; write {there}")

    @property
    def names(self) -> tuple[str, ...]:
        """The tools or methods that it is about."""
        names = self.tool or self.result_of or self.method or self.answer_to or ()
        return (names,) if isinstance(names, str) else names

    @property
    def key(self) -> str:
        """What it is about: tool, result_of, method or answer_to."""
        return next(name for name in self.one_of if getattr(self, name) is not None)

    @property
    def approvals(self) -> Mapping[str, str]:
        """The event of an approval by who gives it; "" is the client's own person."""
        if self.approval is None:
            return {}
        return {"": self.approval} if isinstance(self.approval, str) else self.approval

    @property
    def events(self) -> tuple[str, ...]:
        """The events of tables that it raises."""
        own = (self.event, self.denial, *self.approvals.values())
        return tuple(event for event in own if event is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Otherwise:
    """What becomes of traffic that no line is about."""

    tools: Verdict | None = option("Calls of other tools of MCP.", None, default="A2A has none")
    methods: Verdict = option(
        "Other requests and notifications of the client, but for those by which a session goes on "
        "(initialize, ping, tools/list, cancellation, progress)."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficLimits:
    """What one client may send at most."""

    frame: int = option("The bytes of a message.", 4_000_000, least=1_000, most=100_000_000)
    open: int = option("Requests that wait for an answer.", 100, least=1, most=100_000)
    a_minute: int = option("Calls of tools in any minute.", 6_000, least=1, most=10_000_000)
    copies: int = option("Copies of all tables.", 10_000, least=1, most=1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFile:
    """What a policy file says."""

    name: LowerName = option("A short name: lower-case letters, digits and underscores.")
    title: str = option("The name as people write it.", "", default="the name")
    about: str = option("What it is for.", "", least=0)
    protocol: Literal["mcp", "a2a"] = option("The protocol of the client and the server.", "mcp")
    otherwise: Otherwise = option("What becomes of traffic that no line is about.")
    lines: tuple[TrafficLine, ...] = option(
        "Which traffic is which event; of several lines about a tool the first counts whose when "
        "is true.",
        least=1,
    )
    written: tuple[PolicyTable, ...] = option("What may happen next.", (), least=1, key="tables")
    formulas: tuple[PolicyFormula, ...] = option(
        "What must be true of the events besides; each is enforced as a table is.", ()
    )
    sums: tuple[SumEntry, ...] = option("What amounts may come to, all together.", ())
    fields: Mapping[str, FieldEntry] = option("By name: values of messages.", {})
    parameters: Mapping[str, int | bool | str] = option(
        "By name: the parameters with which the tables count.", {}
    )
    idempotent: tuple[Tool, ...] = option(
        "Tools of which a call may be sent again when nobody knows whether it was carried out.", ()
    )
    secret: tuple[str, ...] = option(
        "Keys of messages whose values are stored as digests only, wherever they stand.", ()
    )
    headers: Mapping[str, str] = option(
        "Headers for a server over HTTP, by name; $NAME in them is the environment variable NAME, "
        "which alone has the credential.",
        {},
    )
    people: tuple[LowerName, ...] = option("Who approves, each with a link of their own.", ())
    limits: TrafficLimits = option("What one client may send at most.", TrafficLimits())
    properties: tuple[Property, ...] = option(
        "Formulas of temporal logic, claims, and checks with another verdict than HOLDS.", ()
    )
    file: FileContent[PolicyFile] | None = outside()


POLICY = FileKind(
    PolicyFile,
    "a policy",
    "A policy of a gateway of pxp-fsm",
    "Tables of events, and lines that say which traffic between a client and a server of MCP or "
    "A2A is which event. Written as TOML; the same structure as JSON is accepted too. What a "
    "schema cannot say (events that no table has, expressions) is checked by the loader.",
    name="policy",
)


class Unfit(DataError):
    """A message does not have a field that the policy needs, or it is of another type."""


@dataclass(frozen=True)
class ReadField:
    """A field as it is read of a message."""

    name: str
    path: tuple[str, ...]
    type: Type

    def at(self, message: object) -> Any:
        """What stands there; raises `Unfit` where nothing does."""
        value = message
        for key in self.path:
            folded = key.casefold().replace("_", "")
            if isinstance(value, dict) and len(value) > 1:
                for other in value:  # some servers read either
                    if other != key and other.casefold().replace("_", "") == folded:
                        raise Unfit(f"{other} and {key} are two keys; write one")
            if not isinstance(value, dict) or key not in value:
                raise Unfit(f"{'.'.join(self.path)} is missing; the policy needs it")
            value = value[key]
        return value

    def of(self, message: object) -> Value:
        """Its value; raises `Unfit` where it is missing or of another type."""
        value = self.at(message)
        is_fine = {"int": type(value) is int, "bool": type(value) is bool, "id": True}
        if not is_fine.get(self.type.name, isinstance(value, str) and value in self.type.members):
            wanted = {"int": "a whole number", "bool": "true or false"}
            expected = wanted.get(self.type.name, f"one of {', '.join(self.type.members)}")
            raise Unfit(f"{'.'.join(self.path)} is {expected}, not {quoted(canonical(value))}")
        return exact(value) if self.type.name == "id" else value


@dataclass(frozen=True)
class ReadLine:
    """A line with what its condition reads, and its place in the file."""

    line: TrafficLine
    place: int
    when: Expression | None
    reads: tuple[ReadField, ...]
    holds: Any = field(repr=False)

    def applies(self, message: object, outcome: str) -> bool:
        """Whether it is about a message; raises `Unfit` where its fields are not there."""
        if outcome != self.line.outcome and (outcome == DOUBT or self.line.outcome is not None):
            return False
        return self.when is None or self.holds(*(read.of(message) for read in self.reads))


@dataclass(frozen=True)
class EventTable:
    """A table of a policy: as it is written, and as it runs; or the monitor of a `formula`."""

    name: str
    automaton: Automaton
    running: System
    arguments: bool
    keys: tuple[ReadField, ...]
    formula: PolicyFormula | None = None

    @cached_property
    def moves(self) -> Mapping[tuple[str, str], str]:
        """Where each event leads from each state, as it runs."""
        return {(row.source, row.label): row.target for row in self.member.transitions}

    def way(self, state: str, event: str) -> tuple[str, ...] | None:
        """The fewest events after which `event` can happen; None where it never can."""
        ways: dict[str, tuple[str, ...]] = {state: ()}
        for at in ways_from(self, ways):
            if (at, event) in self.moves:
                return ways[at]
        return None

    @cached_property
    def ways(self) -> Mapping[str, tuple[str, ...]]:
        """The states that can be reached, with the fewest events that lead there."""
        ways: dict[str, tuple[str, ...]] = {self.member.initial: ()}
        for _ in ways_from(self, ways):
            pass
        return ways

    @cached_property
    def labels(self) -> frozenset[str]:
        """Its events."""
        return frozenset(row.label for row in self.automaton.transitions)

    @property
    def member(self) -> Automaton:
        """The table as it runs."""
        return self.running.members[0].automaton

    def about(self, name: str, message: object) -> object:
        """What a copy is about, as it is stored: a call, or fields by the last of their keys."""
        if self.arguments:
            return [name, message]
        return {read.path[-1]: read.at(message) for read in self.keys}

    def key(self, name: str, message: object) -> str:
        """Which copy a call, a request or an answer is about; `Unfit` as `ReadField.of`."""
        if self.arguments:
            return exact([name, message])
        return canonical([read.of(message) for read in self.keys]) if self.keys else ""


def ways_from(table: EventTable, ways: dict[str, tuple[str, ...]]) -> Iterator[str]:
    """The states that can be reached, the nearest first; `ways` says by which events."""
    left = deque(ways)
    while left:
        state = left.popleft()
        yield state
        for row in table.member.leaving(state):
            if row.target not in ways:
                ways[row.target] = (*ways[state], row.label)
                left.append(row.target)


FITS = "amount >= 0 and total + amount <= most"
"""When a call may be added to a sum: what runs, and what is proved for all values."""

_fits = compiled(
    parse_expression(FITS, dict.fromkeys(("amount", "total", "most"), INT), ()),
    ("amount", "total", "most"),
)


@dataclass(frozen=True)
class ReadSum:
    """A sum of a policy with the fields that it reads."""

    entry: SumEntry
    field: ReadField
    keys: tuple[ReadField, ...]

    def key(self, message: object) -> str:
        """Which of its sums a message is added to; raises `Unfit`."""
        return canonical([self.entry.name, *(read.of(message) for read in self.keys)])

    def after(self, total: int, message: object) -> int | None:
        """What the sum becomes with a message; None where it does not fit. Raises `Unfit`."""
        amount = int(self.field.of(message))
        return total + amount if _fits(amount, total, self.entry.most) else None


@dataclass(frozen=True)
class GatewayPolicy:
    """A policy that was read: its file, its tables, its lines by what they are about."""

    file: PolicyFile
    tables: tuple[EventTable, ...]
    lines: tuple[ReadLine, ...]
    sums: tuple[ReadSum, ...] = ()

    @cached_property
    def _by_name(self) -> Mapping[tuple[str, str], tuple[ReadLine, ...]]:
        known: dict[tuple[str, str], tuple[ReadLine, ...]] = {}
        for read in self.lines:
            for name in dict.fromkeys(map(self.protocol.name, read.line.names)):
                place = read.line.key, name
                known[place] = (*known.get(place, ()), read)
        return known

    def about(self, key: str, name: str) -> tuple[ReadLine, ...]:
        """The lines about a tool or a method, in the file's order."""
        return self._by_name.get((key, name), ())

    def line(self, key: str, name: str, message: object, outcome: str = "") -> ReadLine | None:
        """The line that counts; None where none is about the message. Raises `Unfit`."""
        for read in self._by_name.get((key, name), ()):
            if read.applies(message, outcome):
                return read
        return None

    def tables_of(self, event: str) -> tuple[EventTable, ...]:
        """The tables that have an event: it happens where all of them allow it."""
        return self._tables_of.get(event, ())

    @cached_property
    def _tables_of(self) -> Mapping[str, tuple[EventTable, ...]]:
        return {
            label: tuple(table for table in self.tables if label in table.labels)
            for table in self.tables
            for label in table.labels
        }

    @cached_property
    def tools(self) -> tuple[str, ...]:
        """The tools, or requests of A2A, whose calls lines are about."""
        names = (name for key, name in self._by_name if key == self.protocol.calls)
        return tuple(dict.fromkeys(names))

    @cached_property
    def protocol(self) -> Protocol:
        """What client and server speak."""
        return PROTOCOLS[self.file.protocol]

    @property
    def otherwise(self) -> Verdict:
        """What becomes of calls that no line is about."""
        otherwise = self.file.otherwise
        return otherwise.tools or otherwise.methods

    @cached_property
    def idempotent(self) -> frozenset[str]:
        """The tools or requests whose calls may be sent again."""
        return frozenset(map(self.protocol.name, self.file.idempotent))

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of what the policy's file says."""
        raw = {} if self.file.file is None else self.file.file.raw
        return hashlib.sha256(canonical(raw).encode("utf-8", "surrogatepass")).hexdigest()


VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
"""An environment variable in a header."""

_OWN = re.compile(r"(accept|content-.*|host|connection|transfer-encoding|te|upgrade|mcp-.*|a2a-.*)")


def _header_problem(name: str, text: str) -> str:
    """Why a header is none that a file can give; "" where it is."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", name):
        return f"{quoted(name)} is no name of a header"
    if _OWN.fullmatch(name.lower()):
        return f"the gateway writes the header {name} itself; drop it"
    if not VARIABLE.search(text):
        return f'a credential does not stand in a file; name its variable: {name} = "Bearer $NAME"'
    if not re.fullmatch(r"[ -~]*", text):
        return "a header is of printable ASCII characters"
    return ""


def canonical(value: object) -> str:
    """A JSON value as one text: equal values of one type have one, keys in any order."""
    return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))


def exact(value: object) -> str:
    """`canonical`, then the texts of its floats: 1e2, 100.0 and 100 are three values.

    Whole numbers are exact in it. A text without its floats' texts says where they stand, so that
    two values have one text only where each number is written alike.
    """
    texts, left = list[str](), [value]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            left += [part[key] for key in sorted(part)]
        elif isinstance(part, list):
            left += part
        elif isinstance(part, Number):
            texts.append(part.text)
    return "\n".join([canonical(value), *texts])


def is_policy(path: object) -> bool:
    """Whether `path` is the path of a policy file, by what stands at its top."""
    if not isinstance(path, str | Path) or Path(path).suffix not in (".toml", ".json"):
        return False
    try:
        text = text_of(Path(path), "a policy")
    except FileError:
        return False
    return "otherwise" in text and "lines" in text and _top(text, Path(path))


def _top(text: str, path: Path) -> bool:
    try:
        raw = read_document(text, str(path), error=FileError)
    except FileError:
        return False
    return "otherwise" in raw and "lines" in raw


def load_policy(path: str | Path) -> GatewayPolicy:
    """The policy in the file `path`.

    Raises `FileError` with every fault: file, line and a remedy each.
    """
    file = POLICY.load(path)
    return read_policy(file)


def read_policy(file: FileContent[PolicyFile]) -> GatewayPolicy:
    """The policy that the content of a file means; raises `FileError` as `load_policy` does."""
    value = replace(file.value, file=file)
    reader = _Reader(value, file.raw)
    policy = reader.policy()
    if reader.faults:
        raise file.refusal(*reader.faults)
    return policy


class _Reader:
    """Reads what the form of a file cannot say; `faults` are what is wrong."""

    def __init__(self, file: PolicyFile, raw: Mapping[str, Any]) -> None:
        self.file = file
        self.raw = raw
        self.faults: list[Fault] = []
        self.fields = {
            name: ReadField(name, tuple(entry.at.split(".")), entry.kind)
            for name, entry in file.fields.items()
        }
        for name in file.fields:
            problem = name_problem(name)
            if problem is not None:
                self._fault(("fields", name), problem)

    def _fault(self, place: Place, message: str, **more: Any) -> None:
        self.faults.append(Fault(place, message, **more))

    def policy(self) -> GatewayPolicy:
        entries: tuple[PolicyTable | PolicyFormula, ...]
        entries = (*self.file.written, *self.file.formulas)
        names = [entry.name for entry in entries]
        tables = list[EventTable]()
        for number, entry in enumerate(entries):
            place = number - len(self.file.written)
            at = ("formulas", place) if place >= 0 else ("tables", number)
            if entry.name in names[:number]:
                self._fault((*at, "name"), f"two tables are called {entry.name}; rename one")
            if isinstance(entry, PolicyFormula):
                table = self._monitor(place, entry)
            else:
                table = self._table(at, entry, self.raw["tables"][number])
            tables += [] if table is None else [table]
        lines = [self._line(place, line) for place, line in enumerate(self.file.lines)]
        sums = (self._sum(place, entry) for place, entry in enumerate(self.file.sums))
        known = tuple(read for read in sums if read is not None)
        policy = GatewayPolicy(self.file, tuple(tables), tuple(lines), known)
        if not self.faults:
            self._check(policy)
        return policy

    def _sum(self, place: int, entry: SumEntry) -> ReadSum | None:
        at = ("sums", place)
        if entry.name in [other.name for other in self.file.sums[:place]]:
            self._fault((*at, "name"), f"two sums are called {entry.name}; rename one")
        field = self._field((*at, "of"), entry.of)
        if field is not None and field.type.name != "int":
            self._fault((*at, "of"), f'{entry.of} is no number; give it type = "int"')
        keys = [self._field((*at, "per"), name) for name in entry.per]
        lines = [line for line in self.file.lines if entry.event in line.events]
        if not lines:
            self._fault((*at, "event"), f"no line raises the event {entry.event}; add one")
        for line in lines:
            if line.event != entry.event or line.key not in ("tool", "method"):
                message = f"{entry.event} is raised by more than calls, and no other is refused"
                self._fault((*at, "event"), message)
        return None if field is None else ReadSum(entry, field, tuple(filter(None, keys)))

    def _monitor(self, place: int, entry: PolicyFormula) -> EventTable | None:
        """The table that enforces a formula."""
        try:  # proofs are loaded only where there is a formula
            rows = load("pxp_fsm.plugins.gateway.formulas:rows_of")(entry.formula)
        except UsageError as error:
            self._fault(("formulas", place, "formula"), f"{entry.name}: {error}")
            return None
        written = tuple(
            EventRow(source=row["from"], to=row["to"], event=row["event"]) for row in rows
        )
        table = PolicyTable(name=entry.name, per=entry.per, rows=written)
        raw = {"name": entry.name, "title": entry.formula, "rows": rows}
        monitor = self._table(("formulas", place), table, raw)
        return None if monitor is None else replace(monitor, formula=entry)

    def _table(
        self, at: Place, entry: PolicyTable, content: Mapping[str, Any]
    ) -> EventTable | None:
        raw = dict(content)
        raw.pop("per", None)
        deciding: dict[str, dict[str, Any]] = {}
        for row in entry.rows:
            sources = (row.source,) if isinstance(row.source, str) else row.source
            for state in (*sources, row.to):
                deciding.setdefault(state, {"name": state})
        first = next(iter(deciding))
        for state in raw.get("states", ()):
            deciding[state["name"]] = state
        raw |= {"format": 1, "states": [*deciding.values()]}
        raw.setdefault("initial", first)
        raw.setdefault("title", entry.name)
        raw.setdefault("final", [*deciding])

        def located(faults: Iterable[Fault]) -> Iterator[Fault]:
            return (replace(fault, path=(*at, *fault.path)) for fault in faults)

        try:
            automaton = automaton_from(raw, located)
        except TableError as error:
            self.faults += error.faults
            return None
        needed = {parameter.name for parameter in automaton.rules.parameters}
        parameters = {name: value for name, value in self.file.parameters.items() if name in needed}
        missing = sorted(needed - parameters.keys())
        if missing:
            message = (
                f"the table counts with {missing[0]}; add it: [parameters], {missing[0]} = ..."
            )
            self._fault((*at, "parameters", missing[0]), message)
            return None
        written = System((Member(entry.name, automaton),), free_names=True)
        try:
            system = written.by_rules(parameters)
        except UsageError as error:
            self._fault(at, str(error))
            return None
        per = entry.per
        keys = (
            ()
            if per == ARGUMENTS
            else tuple(read for name in per if (read := self._field((*at, "per"), name)))
        )
        return EventTable(entry.name, automaton, system, per == ARGUMENTS, keys)

    def _field(self, place: Place, name: str) -> ReadField | None:
        if name not in self.fields:
            there = ", ".join(self.fields) or "none"
            self._fault(place, f"there is no field {name}; there are: {there}")
        return self.fields.get(name)

    def _line(self, place: int, line: TrafficLine) -> ReadLine:
        if line.when is None or line.when == ELSE:
            if line.when == ELSE:
                self._fault(("lines", place, "when"), "the last line needs no else; drop the when")
            return ReadLine(line, place, None, (), None)
        types = {name: read.type for name, read in self.fields.items()}
        members = {member for kind in types.values() for member in kind.members}
        try:
            when = parse_expression(line.when, types, members)
        except ExpressionError as error:
            at = ("lines", place, "when")
            self._fault(at, str(error), value=line.when, offset=error.position)
            return ReadLine(line, place, None, (), None)
        if not when.type.fits(BOOL):
            message = f"{quoted(line.when)} is {when.type}, and a truth value belongs here"
            self._fault(("lines", place, "when"), message)
        reads = tuple(self.fields[name] for name in sorted(names_in(when)))
        return ReadLine(line, place, when, reads, compiled(when, [read.name for read in reads]))

    def _check(self, policy: GatewayPolicy) -> None:
        """Events that no table has, or that nothing raises; approvals of what is not the action."""
        self._check_protocol(policy)
        raised = {event for read in policy.lines for event in read.line.events}
        for read in policy.lines:
            for event in read.line.events:
                summed = any(read.entry.event == event for read in policy.sums)
                if not policy.tables_of(event) and not summed:
                    there = ", ".join(sorted({label for t in policy.tables for label in t.labels}))
                    message = f"no table has the event {event}; there are: {there or 'none'}"
                    self._fault(("lines", read.place), message)
            self._check_approvals(policy, read)
        many = len(self.file.written)
        for number, table in enumerate(policy.tables):
            at = ("tables", number, "rows")
            if table.formula is not None:
                at = ("formulas", number - many, "formula")
                self._check_formula(policy, table, table.formula, at)
            for label in sorted(table.labels - raised):
                message = (
                    f"no line raises the event {label} of {table.name}; add one, or drop its rows"
                )
                self._fault(at, message)
        unknown = [
            name
            for name in self.file.parameters
            if not any(
                parameter.name == name
                for table in policy.tables
                for parameter in table.automaton.rules.parameters
            )
        ]
        for name in unknown:
            self._fault(("parameters", name), f"no table has a parameter {name}; drop it")

    def _check_protocol(self, policy: GatewayPolicy) -> None:
        """Lines that are about what the protocol does not have."""
        for name, text in self.file.headers.items():
            problem = _header_problem(name, text)
            if problem:
                self._fault(("headers", name), problem)
        is_mcp = policy.protocol.calls == "tool"
        if is_mcp is (self.file.otherwise.tools is None):
            message = 'say what becomes of other tools: tools = "refuse"' if is_mcp else ""
            self._fault(("otherwise",), message or "A2A has no tools: methods says all; drop tools")
        for read in policy.lines:
            line, at = read.line, ("lines", read.place)
            if not is_mcp and line.key in ("tool", "answer_to"):
                self._fault((*at, line.key), "A2A has requests alone: write method")
            if is_mcp and line.outcome in STATES:
                message = f"{line.outcome} is a state of a task of A2A; write success, error, doubt"
                self._fault((*at, "outcome"), message)
            if line.approvals and line.key != policy.protocol.calls:
                message = (
                    f"approvals are of calls: they belong to a line with a {policy.protocol.calls}"
                )
                self._fault((*at, "approval"), message)
            elif not is_mcp and "" in line.approvals:
                message = (
                    "a client of A2A does not ask its person: give each of the people an event"
                )
                self._fault((*at, "approval"), message)

    def _check_formula(
        self, policy: GatewayPolicy, table: EventTable, formula: PolicyFormula, at: Place
    ) -> None:
        """What has happened cannot be refused: no formula may forbid it."""
        happened = {
            read.line.event
            for read in policy.lines
            if read.line.key in ("result_of", "answer_to") and read.line.event in table.labels
        }
        for event in sorted(filter(None, happened)):
            for state, way in table.ways.items():
                if (state, event) not in table.moves:
                    before = f"after {', '.join(way)}" if way else "at first"
                    message = (
                        f"{formula.name} forbids {event} {before}, which is an answer, and has "
                        f"happened when the gateway hears of it; say what calls may not do"
                    )
                    self._fault(at, message)
                    break

    def _check_approvals(self, policy: GatewayPolicy, read: ReadLine) -> None:
        at = ("lines", read.place, "approval")
        for person, event in read.line.approvals.items():
            for table in policy.tables_of(event):
                if not table.arguments and table.formula is None:
                    message = (
                        f"an approval counts for these very arguments, and the table {table.name} "
                        f'has one copy for others too; write per = "arguments" in it'
                    )
                    self._fault(at, message)
            if person and person not in self.file.people:
                there = ", ".join(self.file.people) or "none"
                message = f"{person} is none of the people; there are: {there}"
                self._fault(at, message)
