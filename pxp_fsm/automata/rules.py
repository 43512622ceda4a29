"""The rules of a table: by what its guards decide, what it counts, when its rows may be taken.

Everything is an expression over parameters (fixed for a session), registers (an agent's own memory)
and oracles (what is asked anew). Whoever runs, explores or proves a table takes its rules from
here; which oracle to ask next is derived from the expressions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from itertools import product
from types import MappingProxyType
from typing import Any, Literal, Protocol, TypeVar, cast

from pxp_fsm.automata.arithmetic import (
    Atom,
    Case,
    Linear,
    TooManyCases,
    atom,
    cases,
    cases_of_all,
    linear,
    value_in,
    whole_numbers,
)
from pxp_fsm.automata.expressions import (
    BOOL,
    FALSE,
    ID,
    INT,
    Constant,
    Expression,
    ExpressionError,
    Name,
    Type,
    Value,
    children,
    compiled,
    compiled_choice,
    compiled_update,
    enumeration,
    evaluate,
    name_problem,
    names_in,
    parse_expression,
    str_of,
    substituted,
)
from pxp_fsm.errors import Fault, GuardError, Place, UsageError, format_path, quoted
from pxp_fsm.lazy_dataclasses import dataclass

TAG = "tag"
"""In an update: the label of the row."""

MESSAGE = "msg"
"""In an update at a message: all that the message carries, an id; `msg.NAME` is a part of it."""

LONGEST_ID = 64
"""Characters of an id that a message carries beyond which its digest stands for it."""

RESERVED = ("tag", "who", "kind", "over", "ends", "msg", "next")
"""Names with a meaning of their own, in updates and in claims."""

T = TypeVar("T")

_MOST_FOUND = 1024
"""Questions, and guards that are possible, which are kept; where there are more, all go."""

_FEW = 6
"""Of so many truth values each way is looked at; where there are more, cases are told apart."""

ELSE = "else"
"""The `when` of a guard that is true where no other one of its state is."""

Values = tuple[Value, ...]
"""Values of names, in the order that `Rules` gives."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """What is fixed for a session; a number is at least `minimum` where that is given."""

    name: str
    type: Type
    minimum: int | None = None


@dataclass(frozen=True, slots=True)
class Register:
    """What an agent remembers, `initial` at first; a number is never below `minimum`."""

    name: str
    type: Type
    initial: Value
    minimum: int | None = None


@dataclass(frozen=True, slots=True)
class Oracle:
    """What is asked when it is needed, anew each time: a truth value, a member, a number, an id.

    One with a `relation` (MATCH or AGREE) compares the pairs of two `roles`: received, own, new.
    """

    name: str
    type: Type = BOOL
    minimum: int | None = None
    relation: str = ""
    roles: tuple[str, str] | tuple[()] = ()


@dataclass(frozen=True, slots=True)
class MessageField:
    """A part of what a message carries, `msg.args`: a number where its schema says so, else an id.

    `path` is the name of the property; "" is all that is carried.
    """

    name: str
    path: str
    type: Type
    minimum: int | None = None

    def value(self, payload: Any) -> Value:
        """The value in a payload; of an id its canonical JSON, or the digest of a long one.

        Raises `UsageError` for a payload that does not have it, or of another type.
        """
        if not self.path:
            carried = payload
        elif isinstance(payload, Mapping) and self.path in payload:
            carried = payload[self.path]
        else:
            raise UsageError(f"{self.name}: the message carries no {self.path}: {quoted(payload)}")
        if self.type == ID:
            return id_of(carried)
        problem = value_problem(carried, self.type, self.minimum)
        if problem is not None:
            raise UsageError(f"{self.name} {problem}")
        return int(carried)


def id_of(value: object) -> str:
    """What stands for a JSON value where ids are compared: its canonical text, or its digest."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    if len(text) <= LONGEST_ID:
        return text
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"  # no JSON: equal to none


Declared = Parameter | Register | Oracle
"""A name whose value expressions read."""


class RuledRow(Protocol):
    """What rules read of a row; a `Transition` has it."""

    @property
    def source(self) -> str: ...
    @property
    def guard(self) -> str | None: ...
    @property
    def kind(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def action(self) -> str: ...
    @property
    def when(self) -> Expression | None: ...
    @property
    def urgent(self) -> bool: ...
    @property
    def do(self) -> tuple[tuple[str, Expression], ...]: ...
    @property
    def carry(self) -> str: ...
    @property
    def by(self) -> str: ...


@dataclass(frozen=True, repr=False)
class Rules:
    """What a table declares and decides by; without any, people or functions decide.

    `asks` says whether a fresh answer is asked for each message ("each"), or one that is replaced
    by what was learned ("once"). `definitions` are those of `[let]`, `whens` the expression of each
    guard that has one (None is `else`), `on_message` the updates at every message sent or received,
    `deciding` the guards of each state that decides by rules. `carried` are by tag the fields that
    expressions read of a message.
    """

    parameters: tuple[Parameter, ...] = ()
    registers: tuple[Register, ...] = ()
    oracles: tuple[Oracle, ...] = ()
    enums: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    asks: Literal["each", "once"] = "each"
    definitions: Mapping[str, Expression] = field(default_factory=lambda: MappingProxyType({}))
    whens: Mapping[str, Expression | None] = field(default_factory=lambda: MappingProxyType({}))
    on_message: Mapping[str, Expression] = field(default_factory=lambda: MappingProxyType({}))
    deciding: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    carried: Mapping[str, tuple[MessageField, ...]] = field(
        default_factory=lambda: MappingProxyType({})
    )

    def __bool__(self) -> bool:
        """Whether anything is declared."""
        return bool(self.names or self.whens or self.enums or self.definitions)

    def __repr__(self) -> str:
        parts = (("parameters", self.parameters), ("registers", self.registers))
        told = [
            f"{name} {', '.join(declared.name for declared in some)}"
            for name, some in parts
            if some
        ]
        return f"<Rules {'; '.join(told) or 'none'}>"

    @cached_property
    def stored(self) -> tuple[str, ...]:
        """The parameters and registers: the names of values that are known without asking."""
        return tuple(
            declared.name for declared in self._declared if not isinstance(declared, Oracle)
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All names in the order of `values`: parameters, registers, oracles."""
        return (*self.stored, *(oracle.name for oracle in self.oracles))

    @cached_property
    def types(self) -> Mapping[str, Type]:
        """The type of each name."""
        return MappingProxyType({declared.name: declared.type for declared in self._declared})

    @cached_property
    def initial(self) -> Values:
        """What the registers hold at first."""
        return tuple(register.initial for register in self.registers)

    def arguments(self, values: Mapping[str, object]) -> Values:
        """The values of the parameters, checked.

        A number is exactly an `int`: what only looks like one is refused, and never rounded. Raises
        `UsageError` for a parameter that is missing, unknown, of another type or too small.
        """
        there = ", ".join(parameter.name for parameter in self.parameters) or "none"
        unknown = [
            name for name in values if name not in {parameter.name for parameter in self.parameters}
        ]
        if unknown:
            raise UsageError(f"there is no parameter {unknown[0]}; there are: {there}", unknown[0])
        arguments = list[Value]()
        for parameter in self.parameters:
            if parameter.name not in values:
                raise UsageError(
                    f"the parameter {parameter.name} has no value; give one", parameter.name
                )
            problem = value_problem(values[parameter.name], parameter.type, parameter.minimum)
            if problem is not None:
                raise UsageError(f"{parameter.name} {problem}", parameter.name)
            arguments.append(values[parameter.name])  # type: ignore[arg-type] # value_problem has checked it
        return tuple(arguments)

    def decide(self, state: str, values: Values) -> str:
        """The guard that is true in `state`; `values` are those of `names`, in their order."""
        return self._deciders[state](*values)

    @cached_property
    def _deciders(self) -> dict[str, Callable[..., str]]:
        return {
            state: compiled_choice(*self._choices(guards), self.names)
            for state, guards in self.deciding.items()
        }

    def _choices(self, guards: Sequence[str]) -> tuple[list[tuple[str, Expression]], str]:
        """The guards with their expressions, and the one that is left where none of them is true.

        Exactly one is true, so the last need not be looked at where none is `else`.
        """
        choices = [(guard, when) for guard in guards if (when := self.whens[guard]) is not None]
        rest = next((guard for guard in guards if self.whens[guard] is None), None)
        return (choices, rest) if rest is not None else (choices[:-1], choices[-1][0])

    def next_question(self, state: str, known: Mapping[str, Value]) -> Oracle | str:
        """The oracle to ask next in `state`, or the guard that is true whatever the others say.

        `known` are the values of the parameters, the registers and the oracles that have answered.
        Nothing is asked once all answers that are left would give the same guard. Until then it is
        the first oracle that is met when the guards are evaluated in the order of the state, each
        from left to right and no further than needed.
        """
        return self._kept(self._found_question, state, known)

    def possible(self, state: str, known: Mapping[str, Value]) -> tuple[str, ...]:
        """The guards that may be true in `state`, of what is not `known` whatever it is."""
        return self._kept(self._found_possible, state, known)

    def _kept(
        self, find: Callable[[str, Mapping[str, Value]], T], state: str, known: Mapping[str, Value]
    ) -> T:
        """What `find` finds, found once for all registers of which the guards say the same."""
        try:
            settled = self._settled[state](*[known[name] for name in self.stored])
        except KeyError:  # not all is known that may count
            return find(state, known)
        asked = (
            find.__name__,
            state,
            settled,
            *[known.get(oracle.name) for oracle in self.oracles],
        )
        if asked not in self._found:
            if len(self._found) >= _MOST_FOUND:
                self._found.clear()
            self._found[asked] = find(state, known)
        return cast("T", self._found[asked])

    @cached_property
    def _found(self) -> dict[object, object]:
        return {}

    @cached_property
    def _settled(self) -> dict[str, Callable[..., Values]]:
        """By state, what its guards ask of parameters and registers: no oracle changes it.

        What is asked next depends on them by this alone, and counters that grow change it rarely.
        """
        stored = {*self.stored}

        def parts(expression: Expression) -> Iterator[Expression]:
            if names_in(expression) <= stored:
                yield expression
            else:
                for part in children(expression):
                    yield from parts(part)

        return {
            state: compiled_update(
                [part for _, when in self._choices(guards)[0] for part in parts(when)], self.stored
            )
            for state, guards in self.deciding.items()
        }

    def _found_question(self, state: str, values: Mapping[str, Value]) -> Oracle | str:
        guards = self.possible(state, values)
        if len(guards) == 1:
            return guards[0]
        choices, _ = self._choices(self.deciding[state])
        try:
            for _, when in choices:
                evaluate(when, values)
        except KeyError as missing:
            oracle = next(
                (oracle for oracle in self.oracles if oracle.name == missing.args[0]), None
            )
            if oracle is not None:
                return oracle
        missing_names = ", ".join(name for name in self.stored if name not in values)
        raise GuardError(f"what is decided in state {state} depends on {missing_names}; set it")

    def _found_possible(self, state: str, known: Mapping[str, Value]) -> tuple[str, ...]:
        left = [oracle for oracle in self.oracles if oracle.name not in known]
        plain = len(left) <= _FEW and all(oracle.type == BOOL for oracle in left)
        if plain and known.keys() >= {*self.stored}:
            names = [oracle.name for oracle in left]
            ways = product((False, True), repeat=len(left))
            worlds = (dict(known) | dict(zip(names, way, strict=True)) for way in ways)
            guards = {self.decide(state, tuple(world[x] for x in self.names)) for world in worlds}
        else:
            guards = {*self._chosen(state, known)}
        return tuple(guard for guard in self.deciding[state] if guard in guards)

    def _chosen(self, state: str, known: Mapping[str, Value]) -> Iterator[str]:
        """The guard that is true in each case of what is not `known`, numbers among it."""
        choices, rest = self._choices(self.deciding[state])

        def chosen(case: Case) -> str:
            names = (guard for guard, when in choices if value_in(when, case, known) is True)
            return next(names, rest)

        return (guard for _, guard in cases(chosen, self.bounds))

    def when(self, row: RuledRow, values: Values) -> bool:
        """Whether an unguarded row may be taken; `values` are those of `stored`, or of `names`."""
        if row.when is None:
            return True
        return bool(self._rows(row)[0](*values[: len(self.stored)]))

    def step(self, row: RuledRow, values: Values, payload: Any = None) -> Values:
        """The registers after a row: all are updated at once, from what they were before it.

        `values` are those of `names` for a row under a guard, else of `stored`; `payload` is what
        the message carries, of which rows read what `reads` names.

        Raises `UsageError` where the payload does not have what the row reads.
        """
        _, update, fields = self._rows(row)
        registers: Values = update(*values, *[field.value(payload) for field in fields])
        return registers

    def after(self, row: RuledRow, values: Values, carried: Sequence[Value] = ()) -> Values:
        """The registers after a row whose message has these values of what it `reads`."""
        registers: Values = self._rows(row)[1](*values, *carried)
        return registers

    def reads(self, row: RuledRow) -> tuple[MessageField, ...]:
        """What the updates of a row read of its message."""
        if row.kind == "!" or row.label not in self.carried:
            return ()
        return tuple(f for f in self.carried[row.label] if f.name in self._read_in(row))

    def _read_in(self, row: RuledRow) -> frozenset[str]:
        """The names in the updates of a row, which most rows share; `do` is kept with its id."""
        names = self._names_read.get(id(row.do))
        if names is None:
            found = (name for update in self.updates_of(row).values() for name in names_in(update))
            names = row.do, frozenset(found)
            self._names_read[id(row.do)] = names
        return names[1]

    @cached_property
    def _names_read(self) -> dict[int, tuple[object, frozenset[str]]]:
        return {}

    def _rows(
        self, row: RuledRow
    ) -> tuple[Callable[..., Any], Callable[..., Values], tuple[MessageField, ...]]:
        # The row is kept beside what was made of it, so that no other row can have its id.
        compiled_row = self._compiled.get(id(row))
        if compiled_row is None:
            compiled_row = self._compiled[id(row)] = (row, self._compile(row))
        return compiled_row[1]

    @cached_property
    def _compiled(self) -> dict[int, Any]:
        return {}

    def _compile(
        self, row: RuledRow
    ) -> tuple[Callable[..., Any], Callable[..., Values], tuple[MessageField, ...]]:
        fields = self.reads(row)
        names = self.names if row.guard is not None else self.stored
        updates = self.updates(row)
        after = [
            updates.get(register.name, Name(register.name, register.type))
            for register in self.registers
        ]
        when = Constant(True, BOOL) if row.when is None else row.when
        of_message = (field.name for field in fields)
        return compiled(when, self.stored), compiled_update(after, (*names, *of_message)), fields

    def updates(self, row: RuledRow) -> dict[str, Expression]:
        """What a row gives the registers that it changes; `tag` is replaced by its label."""
        tag = {TAG: Constant(row.label, enumeration({row.label}))}
        return {name: substituted(update, tag) for name, update in self.updates_of(row).items()}

    def updates_of(self, row: RuledRow) -> dict[str, Expression]:
        """The same as they are written."""
        return {**({} if row.kind == "!" else dict(self.on_message)), **dict(row.do)}

    @cached_property
    def bounds(self) -> list[Atom]:
        """That numbers are at least what they are declared to be at least."""
        return [*_bounds(self._declared)]

    @cached_property
    def _declared(self) -> tuple[Declared, ...]:
        return (*self.parameters, *self.registers, *self.oracles)

    @cached_property
    def meaning(self) -> list[str]:
        """What the rules mean, one line each, with definitions replaced by what they mean.

        The orders of oracles and of a state's guards count: by them it is asked.
        """
        lines = [f"asks {self.asks}"] if self.oracles and self.asks != "each" else []
        for declared in self._declared:
            kind = type(declared).__name__.lower()
            bound = "" if declared.minimum is None else f" min {declared.minimum}"
            more = ""
            if isinstance(declared, Register):
                more = f" init {json.dumps(declared.initial)}"
            elif isinstance(declared, Oracle):
                roles = " ".join(declared.roles)
                more = f" {self.oracles.index(declared)} {declared.relation} {roles}"
            lines.append(f"{kind} {declared.name}: {declared.type}{bound}{more}".rstrip())
        lines += [f"decides {state}: {' '.join(some)}" for state, some in self.deciding.items()]
        lines += [
            f"guard {name}: {ELSE if when is None else str_of(when, expanded=True)}"
            for name, when in self.whens.items()
        ]
        lines += [
            f"message {name}: {str_of(update, expanded=True)}"
            for name, update in self.on_message.items()
        ]
        return lines


def _bounds(declared: Iterable[Declared | MessageField]) -> Iterator[Atom]:
    for declaration in declared:
        if declaration.minimum is not None:
            yield atom(Linear((), declaration.minimum).plus(linear(declaration.name), -1))


def fields_of(label: str, schema: object) -> Iterator[MessageField]:
    """What expressions may read of a message with this label, by the schema of what it carries.

    That is all of it, and each property that its schema, of an object, requires: a whole number
    where the property says so (`type = "integer"`, with its `minimum`), else an id.
    """
    yield MessageField(MESSAGE, "", ID)
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        return
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, Mapping) or not isinstance(required, list | tuple):
        return  # whether it is a schema at all is checked with the payloads
    for name in required:
        if isinstance(name, str) and name in properties and name_problem(name) is None:
            declared = properties[name]
            if isinstance(declared, Mapping) and declared.get("type") == "integer":
                least = declared.get("minimum")
                least = least if type(least) is int else None
                yield MessageField(f"{MESSAGE}.{name}", name, INT, least)
            else:
                yield MessageField(f"{MESSAGE}.{name}", name, ID)


def meaning_of(row: RuledRow) -> str:
    """What the rules of a row mean, as it stands behind what the row does; "" of none."""
    meaning = "" if row.when is None else f" when {str_of(row.when, expanded=True)}"
    meaning += " urgent" if row.urgent else ""
    meaning += "".join(f" {name} = {str_of(update, expanded=True)}" for name, update in row.do)
    meaning += "" if row.carry == "new" else f" carry {row.carry}"
    return meaning + ("" if row.by == "world" else f" by {row.by}")


def value_problem(value: object, type_: Type, minimum: int | None = None) -> str | None:
    """Why `value` is none of a type, as what follows its name in an error; None where it is one."""
    match type_.name:
        case "int":
            if type(value) is not int:  # no subclass either: what it does is not known
                return f"is a whole number (an int), not {quoted(value)} ({type(value).__name__})"
            if minimum is not None and value < minimum:
                return f"is at least {minimum}, not {value}"
        case "bool":
            if type(value) is not bool:
                return f"is True or False, not {quoted(value)}"
        case "enum":
            if type(value) is not str or value not in type_.members:
                return f"is {type_}, not {quoted(value)}"
        case "id":
            if type(value) is not str:
                return f"is an id, a text, not {quoted(value)}"
    return None


class RuleReader:
    """Reads the rules of a file whose structure its schema allows; `faults` are what is wrong.

    `raw` is the file's content. With a fault, what was read is of no use.
    """

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.faults = list[Fault]()
        self._raw = raw
        self._labels = frozenset(label for row in raw["rows"] for label in _labels(row))
        self._members = self._labels | {
            member
            for section in ("parameters", "registers", "oracles")
            for declared in raw.get(section, {}).values()
            if "relation" not in declared
            for member in declared.get("of", ())
        }
        self._members |= {member for some in raw.get("enums", {}).values() for member in some}
        self._fields = {
            label: tuple(fields_of(label, raw.get("payloads", {}).get(label)))
            for row in raw["rows"]
            if "event" not in row
            for label in _labels(row)
        }
        self._seen = dict[str, str]()
        self._definitions = dict[str, Expression]()
        self.rules = self._read()

    def row(self, index: int) -> dict[str, Any]:
        """What the row with this index says of rules, as the fields of a `Transition`."""
        row, place = self._raw["rows"][index], ("rows", index)
        fields: dict[str, Any] = {key: row[key] for key in ("urgent", "carry", "by") if key in row}
        self._check_row(row, place)
        if "when" in row:
            names = self._known(self.rules, self.rules.stored)
            fields["when"] = self._parse(row["when"], (*place, "when"), names, BOOL)
        if "do" in row:
            readable = self.rules.names if "guard" in row else self.rules.stored
            names = self._known(self.rules, readable) | {TAG: enumeration(_labels(row))}
            names |= self._carried(_labels(row)) if "event" not in row else {}
            updates = self._updates(row["do"], (*place, "do"), names, self.rules)
            fields["do"] = tuple(updates.items())
        return fields

    def _check_row(self, row: Mapping[str, Any], place: Place) -> None:
        if "when" in row and ("guard" in row or "receive" in row):
            message = (
                "a row that receives has no when: what is received is the peer's choice, and never "
                "refused; decide in the state that follows"
                if "receive" in row
                else "a row under a guard has no when of its own; write it at the guard, as in "
                f'{row["guard"]} = {{ when = "..." }}'
            )
            self._fault((*place, "when"), message, "misplaced-when")
        if row.get("urgent") and ("event" not in row or "when" not in row):
            message = (
                "urgent belongs to an event with a when: while that is true nothing else happens"
            )
            self._fault((*place, "urgent"), message, "misplaced-urgent")
        for key, kind in (("carry", "send"), ("by", "event")):
            if key in row and kind not in row:
                message = f"{key} belongs to a row with {kind}; drop it"
                self._fault((*place, key), message, f"misplaced-{key}")

    def _read(self) -> Rules:
        raw = self._raw
        parameters = tuple(
            Parameter(name, _type(declaration), declaration.get("min"))
            for name, declaration in self._declared("parameters")
        )
        registers = tuple(
            Register(name, _type(declaration), declaration.get("init", ""), declaration.get("min"))
            for name, declaration in self._declared("registers")
        )
        oracles = tuple(
            Oracle(
                name,
                BOOL if "relation" in declaration else _type(declaration),
                declaration.get("min"),
                declaration.get("relation", ""),
                tuple(declaration["of"]) if "relation" in declaration else (),
            )
            for name, declaration in self._declared("oracles")
        )
        for register in registers:
            problem = value_problem(register.initial, register.type, register.minimum)
            if problem is not None:
                place = ("registers", register.name, "init")
                self._fault(place, f"init of {register.name} {problem}", "bad-initial-value")
        rules = Rules(parameters, registers, oracles)
        for name, text in self._declared("let"):
            self._definitions[name] = self._parse(text, ("let", name), rules.types)
        if self.faults:
            return rules  # what follows would complain of the same names
        whens = {
            name: None
            if mapping["when"] == ELSE
            else self._parse(mapping["when"], ("guards", name, "when"), rules.types, BOOL)
            for name, mapping in raw.get("guards", {}).items()
            if isinstance(mapping, Mapping) and "when" in mapping
        }
        tags = {label for row in raw["rows"] if "event" not in row for label in _labels(row)}
        names = self._known(rules, rules.stored) | {TAG: enumeration(tags)} | self._carried(tags)
        message = raw.get("each", {}).get("message", {})
        return replace(
            rules,
            enums=MappingProxyType({name: tuple(some) for name, some in self._declared("enums")}),
            asks=raw.get("answers", {}).get("ask", "each"),
            definitions=MappingProxyType(dict(self._definitions)),
            whens=MappingProxyType(whens),
            on_message=MappingProxyType(self._updates(message, ("each", "message"), names, rules)),
            deciding=MappingProxyType(dict(self._deciding(whens))),
            carried=MappingProxyType(self._fields),
        )

    def _declared(self, section: str) -> Iterator[tuple[str, Any]]:
        """What a section declares; a name that cannot be, or stands for two things, is a fault."""
        for name, declaration in self._raw.get(section, {}).items():
            problem = name_problem(name)
            if name in RESERVED:
                problem = f"{name} has a meaning of its own in expressions; choose another name"
            elif name in self._seen:
                problem = f"{name} is declared under [{self._seen[name]}] too; use another name"
            elif name in self._members:
                problem = f"{name} is a label or a member of an enumeration too; use another name"
            if problem is not None:
                self._fault((section, name), problem, "bad-name", name)
            self._seen[name] = section
            yield name, declaration

    def _carried(self, labels: Iterable[str]) -> dict[str, Type]:
        """What messages with any of these labels carry."""
        every = [{field.name: field.type for field in self._fields[label]} for label in labels]
        return {
            name: kind
            for name, kind in (every[0] if every else {}).items()
            if all(fields.get(name) == kind for fields in every)
        }

    def _known(self, rules: Rules, names: Sequence[str]) -> dict[str, Type]:
        return {name: rules.types[name] for name in names}

    def _parse(
        self, text: str, place: Place, names: Mapping[str, Type], wanted: Type | None = None
    ) -> Expression:
        """The expression at `place`; where it has a fault, that is noted."""
        # A definition is known only where all that it reads is: an oracle is not asked everywhere.
        known = {
            name: definition
            for name, definition in self._definitions.items()
            if names_in(definition) <= names.keys()
        }
        try:
            expression = parse_expression(text, names, self._members, known)
        except ExpressionError as error:
            message = str(error)
            for name in (*self._definitions, *self._raw.get("oracles", {})):
                if f"unknown name {quoted(name)}" in message:
                    message = (
                        f"{name} asks an oracle, and oracles are asked where guards decide alone"
                    )
            if f"unknown name '{MESSAGE}" in message:
                message = (
                    f"{message.partition(';')[0]}; updates at a message read msg, all that it "
                    f"carries, and msg.NAME, where the schema of each tag under [payloads] is of "
                    f"an object that requires NAME (properties and required)"
                )
            self._fault(place, message, "bad-expression", text, error.position)
            return FALSE
        if wanted is not None and not expression.type.fits(wanted):
            message = f"{quoted(text)} is {expression.type}, and {wanted} belongs here"
            self._fault(place, message, "bad-type", text, 0)
        return expression

    def _updates(
        self, updates: Mapping[str, str], place: Place, names: Mapping[str, Type], rules: Rules
    ) -> dict[str, Expression]:
        registers = {register.name: register for register in rules.registers}
        parsed = dict[str, Expression]()
        for name, text in updates.items():
            if name in registers:
                parsed[name] = self._parse(text, (*place, name), names, registers[name].type)
                continue
            there = ", ".join(registers) or "none"
            message = (
                f"there is no register {name} (there are: {there}); declare it under [registers]"
            )
            self._fault((*place, name), message, "undeclared-register", name, 0)
        return parsed

    def _deciding(
        self, whens: Mapping[str, Expression | None]
    ) -> Iterator[tuple[str, tuple[str, ...]]]:
        for index, state in enumerate(self._raw["states"]):
            guards = tuple(state.get("guards", ()))
            ruled = [guard for guard in guards if guard in whens]
            others = [guard for guard in guards if guard not in whens]
            place = ("states", index, "guards")
            if ruled and others:
                message = (
                    f"{', '.join(ruled)} decide by rules in {state['name']}, and "
                    f"{', '.join(others)} do not; give each a when, or none"
                )
                self._fault(place, message, "mixed-guards", others)
            elif ruled:
                rest = [guard for guard in guards if whens[guard] is None]
                if len(rest) > 1:
                    message = (
                        f'{", ".join(rest)} are "else" in {state["name"]}; one guard is at most'
                    )
                    self._fault(place, message, "second-else", rest)
                yield state["name"], guards

    def _fault(
        self, place: Place, message: str, kind: str, value: object = None, offset: int | None = None
    ) -> None:
        where = f"{format_path(place)}: " if place[0] != "rows" else f"{place[-1]}: "
        self.faults.append(Fault(place, where + message, kind, value, offset=offset))


def _labels(row: Mapping[str, Any]) -> tuple[str, ...]:
    labels = row.get("send") or row.get("receive") or row.get("event") or ()
    return (labels,) if isinstance(labels, str) else tuple(labels)


def _type(declared: Mapping[str, Any]) -> Type:
    """The type that a declaration names, or else that of its bounds, or a truth value."""
    if "of" in declared:
        return enumeration(declared["of"])
    if "type" in declared:
        return {"int": INT, "bool": BOOL, "id": ID}[declared["type"]]
    return INT if declared.keys() & {"min", "init"} else BOOL


def static_faults(
    rules: Rules, rows: Sequence[tuple[RuledRow, Place]], states: Mapping[str, Place]
) -> Iterator[Fault]:
    """What is wrong for some values of the types, with such values.

    In each state exactly one guard is true, and no update takes a number below its minimum.
    """
    for state, guards in rules.deciding.items():
        yield from _decision_faults(rules, state, guards, states[state])
    least = {register.name: register.minimum for register in rules.registers}
    seen = set[tuple[str, str, str | None, str]]()
    fine = dict[tuple[str, str, str], bool]()
    texts = dict[int, str]()  # most rows have the updates of messages alone
    for row, place in rows:
        own = dict(row.do)
        for name, written in rules.updates_of(row).items():
            minimum = least[name]
            if minimum is None:
                continue
            # A message has bounds of its own, and in `do` a tag is one of the row's. Most updates
            # stay above the minimum whatever the row demands and whatever the tag is.
            about = row.label if name in own or rules.reads(row) else ""
            if id(written) not in texts:
                texts[id(written)] = str_of(written)
            key = (name, texts[id(written)], about)
            if key not in fine:
                fine[key] = _below(rules, row, None, written, minimum) is None
            if fine[key]:
                continue
            update = rules.updates(row)[name]
            when = "" if row.when is None else str_of(row.when)
            told = (name, str_of(update) + about, row.guard, when)
            if told not in seen:
                seen.add(told)
                yield from _minimum_faults(rules, row, place, name, update, minimum)


def _decision_faults(
    rules: Rules, state: str, guards: Sequence[str], place: Place
) -> Iterator[Fault]:
    whens = {guard: when for guard in guards if (when := rules.whens[guard]) is not None}

    def fault(problem: str) -> Fault:
        return Fault((*place, "guards"), f"in state {state} {problem}", "not-one-guard", state)

    try:
        conditions = [partial(value_in, when) for when in whens.values()]
        for case, values_of in cases_of_all(conditions, rules.bounds):
            true = [guard for guard, value in zip(whens, values_of, strict=True) if value is True]
            if len(true) == 1 or (not true and len(whens) < len(guards)):
                continue
            values = witness(rules, case)
            if values is None:
                yield fault(
                    f"it cannot be decided whether exactly one guard is true; write the conditions "
                    f'more simply, or make one guard "{ELSE}"'
                )
            elif true:
                listed = " and ".join(true)
                yield fault(
                    f"{listed} are {'both' if len(true) == 2 else 'all'} true at {values}; let "
                    f"them exclude each other, as with and not"
                )
            else:
                yield fault(f'no guard is true at {values}; add a guard with when = "{ELSE}"')
            return
    except TooManyCases:
        yield fault("the guards have too many cases to be decided; write them more simply")


def _minimum_faults(
    rules: Rules, row: RuledRow, place: Place, name: str, update: Expression, minimum: int
) -> Iterator[Fault]:
    condition = row.when if row.guard is None else rules.whens.get(row.guard)
    case = _below(rules, row, condition, update, minimum)
    if case is not None:
        values = witness(rules, case)
        message = (
            f"{row.source} {row.action}: {name} = {str_of(update)} is below its min {minimum} "
            f"at {values}; add a when that excludes it, or change the min of {name}"
        )
        yield Fault(place, message, "below-minimum", name)


def _below(
    rules: Rules, row: RuledRow, condition: Expression | None, update: Expression, minimum: int
) -> Case | None:
    """A case in which the condition is true and the update gives less than the minimum, if any."""

    def stays(case: Case) -> bool:
        if condition is not None and value_in(condition, case) is not True:
            return True
        after = value_in(update, case)
        return isinstance(after, Linear) and case.holds(Linear((), minimum).plus(after, -1))

    bounds = [*rules.bounds, *_bounds(rules.reads(row))]
    return next((case for case, holds in cases(stays, bounds) if not holds), None)


def witness(rules: Rules, case: Case) -> str | None:
    """Values of a case as people write them (`j=0, k=1, not match`); None where none were found."""
    numbers = whole_numbers(case.atoms)
    if numbers is None:
        return None
    asked = {
        name for assumed in case.atoms if assumed not in rules.bounds for name, _ in assumed.terms
    }
    told = list[str]()
    for name in (*rules.names, *sorted(asked - {*rules.names})):
        value = numbers[name] if name in asked else next(iter(case.options.get(name, ())), None)
        if isinstance(value, bool):
            told.append(name if value else f"not {name}")
        elif value is not None:
            told.append(f"{name}={value}")
    return ", ".join(told) or "all values"
