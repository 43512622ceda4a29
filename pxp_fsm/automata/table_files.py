"""The form of a table's file: what stands at its keys; the published schema is made from it.

What a form cannot say is in `pxp_fsm.automata.soundness`; what expressions mean, in `rules`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pxp_fsm.errors import Fault, TableError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import Option, option
from pxp_fsm.schemas import FileKind

_A_NAME = "is not a valid name; use letters, digits and _, a letter first"

_LETTER = r"[A-Za-z]|[^\x00-\x7f]"
Symbol = Annotated[
    str, Option(pattern=rf"^({_LETTER})({_LETTER}|[0-9_]){{0,63}}$(?!\n)", problem=_A_NAME)
]
"""The name of a member, a state, a guard, a tag: a Unicode identifier.

The pattern, which editors read too, lets every character beyond ASCII stand; `name_problem` says
which letters and digits are meant.
"""

LowerName = Annotated[str, Option(pattern=r"^[a-z][a-z0-9_]{0,63}$(?!\n)", problem=_A_NAME)]
"""The name of a table or a system: lower-case letters, digits and underscores."""


def name_problem(name: str) -> str:
    """Why `name`, which has the form of a `Symbol`, is none; "" where it is one."""
    if not name.isidentifier():
        return f"{quoted(name)} {_A_NAME}"
    normal = unicodedata.normalize("NFC", name)
    if normal != name:
        return f"{quoted(name)} is not in Unicode's normal form C; write {normal}, composed"
    return ""


Symbols = Annotated[
    Symbol | Annotated[tuple[Symbol, ...], Option(least=1)],
    Option(problem="is neither a name nor a list of names"),
]
Several = Annotated[tuple[Symbol, ...], Option(least=1, unique=True)]
Expression = Annotated[str, Option(most=2000)]
Updates = Mapping[str, Expression]
ValueType = Literal["int", "bool", "id"]


@dataclass(frozen=True, slots=True)
class StateEntry:
    """A state."""

    name: Symbol
    about: str = option("What it means, in words.", "", least=0)
    guards: tuple[Symbol, ...] = option("The guards that decide in this state.", (), least=1)
    exclusive: bool = option("At most one of the guards holds at a time.", True)
    complete: bool = option("At least one of the guards holds at a time.", True)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowEntry:
    """A row: from each of its sources, with each of its labels."""

    one_of: ClassVar[tuple[str, ...]] = ("send", "receive", "event")

    number: int | None = option(
        "The row's number in the paper.", None, default="its place in the file", least=1
    )
    source: Symbols = option("The state, or the states, that it leaves.", key="from")
    to: Symbol = option("The state that it enters.")
    guard: Symbol | None = option(
        "The guard that decides for it.", None, default="it is a choice of somebody else (top)"
    )
    send: Symbols | None = option("The tag, or the tags, that it sends.", None)
    receive: Symbols | None = option("The tag, or the tags, that it receives.", None)
    event: Symbols | None = option("The event, or the events, that it takes.", None)
    partner: Symbol | None = option(
        "In a system of several members: to whom the row sends, or from whom it receives.",
        None,
        default="whoever is at the other end",
    )
    when: Expression | None = option(
        "An unguarded row that sends, or an event, may happen only while this is true.",
        None,
        least=0,
    )
    urgent: bool = option(
        "Of an event with a when: while it may happen, the agent does nothing else.", False
    )
    do: Updates = option(
        "By register: what it becomes. All change at once, from what they were before.", {}
    )
    carry: str = option("Which of its answers the agent sends.", "new", choices=("new", "own"))
    by: str = option(
        "Who raises the event: the agent itself, a clock, or the world.",
        "world",
        choices=("self", "clock", "world"),
    )


@dataclass(frozen=True, slots=True)
class ParameterEntry:
    """What is fixed for a session: a number, a truth value, or one of several."""

    type: Literal["int", "bool"] | None = None
    of: Several = ()
    min: int | None = None

    def problems(self) -> Iterator[Fault]:
        """Where nothing is said."""
        if self == ParameterEntry():
            yield Fault((), 'say what it is: { min = 1 }, { type = "bool" } or { of = [...] }')


@dataclass(frozen=True, slots=True)
class RegisterEntry:
    """What an agent remembers."""

    type: ValueType | None = None
    of: Several = ()
    init: int | bool | str | None = None
    min: int | None = None

    def problems(self) -> Iterator[Fault]:
        """Where it has nothing to begin with."""
        if self.init is None and self.type != "id":
            yield Fault((), 'init is missing; add it, or write { type = "id" }')
        if self.init is not None and self.type == "id":
            yield Fault((), "an id has no init: it is none yet, which no other id is; drop init")


@dataclass(frozen=True, slots=True)
class OracleEntry:
    """What is asked anew when it is needed."""

    type: ValueType | None = None
    of: Several = ()
    min: int | None = None
    relation: Literal["MATCH", "AGREE"] | None = None

    def problems(self) -> Iterator[Fault]:
        """Where a relation is not of two pairs."""
        pairs = {"received", "own", "new"}
        if self.relation and not (len(self.of) == 2 and pairs >= set(self.of)):
            yield Fault((), "a relation is of two of received, own and new: of = [..., ...]")
        if self.relation and (self.type is not None or self.min is not None):
            yield Fault((), "a relation has no type and no min; leave them out")


@dataclass(frozen=True, slots=True)
class AnswersEntry:
    """When an agent is asked for an answer."""

    ask: str = option(
        "A fresh answer for each message, or one, and a new one when something was learned.",
        choices=("each", "once"),
    )


@dataclass(frozen=True, slots=True)
class GuardEntry:
    """When a guard is true, and what it means."""

    when: Expression | None = None
    about: str = ""


Guard = Annotated[
    str | GuardEntry,
    Option(problem='is no guard; write what it means, or { when = "...", about = "..." }'),
]


@dataclass(frozen=True, slots=True)
class EachEntry:
    """What registers become."""

    message: Updates = option("At each message that is sent or received.", {})


CLAIMS = ("terminates", "never-stuck", "one-guard")
"""The checks that are proved from rules, for all values of parameters."""


@dataclass(frozen=True, slots=True)
class Property:
    """A formula of the file, or a standard `check`, with the expected verdict: HOLDS or FAILS.

    Or a claim that is proved from rules, for all values of parameters: `never`, `step`, or a
    `check` out of `CLAIMS`.
    """

    one_of: ClassVar[tuple[str, ...]] = ("formula", "check", "never", "step")

    formula: str = option("A formula of temporal logic.", "")
    expected: str = option("The verdict.", "HOLDS", choices=("HOLDS", "FAILS"))
    about: str = option("What it means, in words.", "", least=0)
    check: str = option(
        "The name of a standard check (no-deadlock, ...), where its verdict is expected to be "
        "another than HOLDS; or terminates, never-stuck or one-guard, which are proved for all "
        "values of parameters.",
        "",
    )
    name: str = option("The name of a claim with never or step.", "")
    never: str = option("What is never so, for all values of parameters: an expression.", "")
    step: str = option("What is so in each step, for all values of parameters.", "")
    assume: tuple[str, ...] = option("What a claim assumes of parameters: expressions.", ())

    @property
    def claim(self) -> Mapping[str, Any]:
        """The part of a certificate with this claim alone; nothing where it is none."""
        check = "never" if self.never else "step" if self.step else self.check
        if not (self.never or self.step) and check not in CLAIMS:
            return {}
        claim = {"name": self.name or check, "check": check}
        claim |= {check: self.never or self.step} if check in ("never", "step") else {}
        context: dict[str, Any] = {
            "relations": None,
            "starts": "",
            "assume": [*self.assume],
            "ghosts": {},
        }
        return {**context, "while": "", "claims": [claim]}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFile:
    """A table, as its file says it."""

    name: LowerName = option("A short name: lower-case letters, digits and underscores.")
    title: str = option("The name as people write it.")
    source: str = option("Where the table comes from.", "", least=0)
    note: str = option("Shown wherever the automaton is shown.", "", least=0)
    peer: LowerName | None = option(
        "The name of the automaton at the other end of the channel.", None, default="it is this one"
    )
    initial: Symbol = option("The state in which an agent starts.")
    final: tuple[Symbol, ...] = option(
        "The end states.", (), default="there is none: the agent goes on for ever", least=1
    )
    states: tuple[StateEntry, ...] = option("The states.", least=1)
    rows: tuple[RowEntry, ...] = option("What may happen in which state.", least=1)
    parameters: Mapping[str, ParameterEntry] = option(
        "What is fixed for a session: a whole number { min = 1 }, a truth value "
        '{ type = "bool" }, or one of several { of = [...] }.',
        {},
    )
    registers: Mapping[str, RegisterEntry] = option(
        "What an agent remembers: a whole number { init = 0, min = 0 }, a truth value "
        '{ type = "bool", init = false }, one of several { of = [...], init = ... }, or an opaque '
        'value { type = "id" }, which is compared for equality only.',
        {},
    )
    enums: Mapping[str, Several] = option("Sets of names that definitions may have as values.", {})
    oracles: Mapping[str, OracleEntry] = option(
        "What is asked anew when it is needed, in this order: a truth value {}, one of several "
        '{ of = [...] }, a number { type = "int", min = 0 }, an id { type = "id" }, or a relation '
        'of two pairs { relation = "MATCH", of = ["received", "own"] }.',
        {},
    )
    answers: AnswersEntry | None = option("When an agent is asked for an answer.", None)
    let: Mapping[str, Expression] = option(
        "Names for expressions; each may use the names before it.", {}
    )
    guards: Mapping[Symbol, Guard] = option(
        "Every guard: when it is true (else: where no other one of the state is), and what it "
        "means in words. One without when is decided by a person, a model or a function.",
        {},
    )
    each: EachEntry = option("What registers become.", EachEntry())
    payloads: Mapping[Symbol, Mapping[str, Any]] = option(
        "By tag: the JSON Schema (draft 2020-12) of what a message with it carries, in a system "
        "whose messages are no predictions and explanations. A tag that is left out carries any "
        "JSON value.",
        {},
    )
    properties: tuple[Property, ...] = option(
        "Claims of the table alone, which pxp check proves whatever its peers send: never, step, "
        "or a check out of terminates, never-stuck, one-guard.",
        (),
    )

    def problems(self) -> Iterator[Fault]:
        """What is no claim of one table."""
        for place, claimed in enumerate(self.properties):
            if not claimed.claim:
                message = (
                    "a table states claims of its own: never, step, or check = "
                    f"{', '.join(CLAIMS)}; formulas and other checks stand in a system file"
                )
                yield Fault(("properties", place), message, "no-claim")


TABLE = FileKind(
    TableFile,
    "a table",
    "An automaton table of pxp-fsm",
    "One agent's side of a protocol. Written as TOML; the same structure as JSON is accepted too. "
    "What a schema cannot say (names, guards that fit) is checked by the loader.",
    name="automaton",
    error=TableError,
)
