"""A table with rules, for given parameters, as one whose states hold its registers.

What is left is a plain table: in each state stand the rows that the rules allow there, and of the
guards those that some answers of the oracles make true. So everything that runs, explores, draws or
exports tables takes rules, over all channels, without knowing of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import product
from types import MappingProxyType

from pxp_fsm.automata.actions import Choose, Deliver, Exchange, Send, SystemAction
from pxp_fsm.automata.automaton import Automaton, Kind, State, Transition, Unfolding
from pxp_fsm.automata.expressions import BOOL, ID, INT, Value, names_in
from pxp_fsm.automata.message_values import NO_VALUES, MessageValues, reads_ids
from pxp_fsm.automata.rules import MessageField, Oracle, Rules, Values
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass

MOST_STATES = 10_000
"""States of a table, its registers included, beyond which it is not unfolded."""

MOST_ANSWERS = 10_000
"""Answers to all that is asked at once beyond which a table that stores some is not unfolded."""

BY_ITSELF = "it happens by itself"
"""What the guard of an event means that an agent causes by itself."""

GIVEN = "given"
"""The key under which a stored table has the parameters with which it is unfolded."""

_Place = tuple[str, Values]
"""A state of the table, and what the registers hold in it."""


Within = Mapping[str, tuple[int, int]]
"""The least and the largest number that a register is followed to."""


def unfolded(
    automaton: Automaton,
    parameters: Mapping[str, object],
    within: Within = MappingProxyType({}),
    messages: MessageValues = NO_VALUES,
) -> Automaton:
    """`automaton` with `parameters`, its registers in the states: `WAIT[tries=1]`.

    A state keeps the name that it has in the table (`State.base`) and the values that hold there.
    An event that an agent causes by itself is a row under a guard of its own. A row that stores
    what an oracle says is a row for each answer, under a guard with what is stored
    (`KEEP[best=2]`): for each truth value or member; for each number of the interval that
    `parameters` give for the oracle (a `range`); and an id is one that is known, or a new one. Ids
    are compared for equality alone, so those of a state are called `#1`, `#2` in the order of its
    registers, whatever they are.

    A row whose message is one of `messages` is a row for each of its values: `ADD[size=3]`, and
    `LARGE[size=3]` where a guard decides. Ids that messages carry keep the names that they have
    there, for other members hold the same.

    From a state in which a register is not `within` its numbers no row leads on.

    >>> import pxp_fsm as pxp
    >>> table = unfolded(pxp.load_automaton("interact"), {"n": 2, "k": 1})
    >>> [state.name for state in table.states][:2]
    ['IDLE[j=0, last=NONE, stop=false]', 'WAIT[j=1, last=INIT, stop=false]']

    Raises `UsageError` for parameters that do not fit, where more than `MOST_STATES` states can be
    reached (`TooManyStates`), where a register becomes a number without an interval, and where one
    becomes what a message carries that is none of `messages`.
    """
    for tag, field in _read_of_messages(automaton):
        if tag not in messages.of:
            raise UsageError(
                f"{automaton.name}: what {tag} carries ({field.name}) depends on its sender, too; "
                f"it is explored in a system of both, and proved for all values (pxp help proofs)"
            )
    asked = {oracle.name: oracle for oracle in automaton.rules.oracles if oracle.type == INT}
    intervals = {name: value for name, value in parameters.items() if name in asked}
    for name, interval in intervals.items():
        _check_interval(asked[name], interval)
    rest = {name: value for name, value in parameters.items() if name not in intervals}
    held = tuple(sorted(intervals.items()))
    return _unfolded(
        automaton, automaton.rules.arguments(rest), held, tuple(sorted(within.items())), messages
    )


def with_messages(automaton: Automaton, messages: MessageValues) -> Automaton:
    """A table whose rules are not looked at, with the `messages` of which others read something.

    Its rows are split as in `unfolded`, and its states stay.
    """
    if not any(row.label in messages.of for row in automaton.transitions):
        return automaton
    rows, decided = list[Transition](), dict[tuple[str, str], dict[str, None]]()
    for row in automaton.transitions:
        for tag in messages.by(row):
            guard = None if row.guard is None else _guard(row.guard, tag.told)
            rows.append(replace(row, label=tag.label, guard=guard))
            if row.guard is not None and guard is not None:
                decided.setdefault((row.source, row.guard), {})[guard] = None
    about = {
        new: automaton.guards.get(old, "") for (_, old), some in decided.items() for new in some
    }
    return replace(
        automaton,
        states=tuple(
            replace(
                state,
                guards=tuple(
                    new for old in state.guards for new in decided.get((state.name, old), (old,))
                ),
                base=state.name,
            )
            for state in automaton.states
        ),
        guards=MappingProxyType({**automaton.guards, **about}),
        transitions=tuple(rows),
        unfolding=automaton.unfolding or Unfolding(automaton),
    )


def running(automaton: Automaton, parameters: Mapping[str, object]) -> Automaton:
    """`automaton` as a session runs it with the parameters `parameters`.

    It is `unfolded`, but where updates read what messages carry, which may be any value: there its
    states stay as they are written, and registers are kept beside (`Registers`). An event that an
    agent causes by itself is a row under a guard of its own in both.

    Raises `UsageError` as `unfolded` does, but for messages, and for parameters of a table that
    has some already.
    """
    if automaton.unfolding is not None:
        for name in parameters:
            raise UsageError(f"{automaton.name} has its parameters; {name} belongs to its table")
        return automaton
    if not any(True for _ in _read_of_messages(automaton)):
        return unfolded(automaton, parameters)
    values, own = automaton.rules.arguments(parameters), dict[str, dict[str, None]]()
    for row in automaton.transitions:
        if _is_own(row):
            own.setdefault(row.source, {})[row.label] = None
    guards = dict.fromkeys((label for some in own.values() for label in some), BY_ITSELF)
    held = [*zip((parameter.name for parameter in automaton.rules.parameters), values, strict=True)]
    told = ", ".join(f"{name}={_shown(value)}" for name, value in held)
    return replace(
        automaton,
        name=f"{automaton.name}({told})" if told else automaton.name,
        states=tuple(
            replace(state, guards=(*state.guards, *own.get(state.name, ())), base=state.name)
            for state in automaton.states
        ),
        guards=MappingProxyType({**guards, **automaton.guards}),
        transitions=tuple(
            replace(row, guard=row.label) if _is_own(row) else row for row in automaton.transitions
        ),
        unfolding=Unfolding(automaton, tuple(held), beside=True),
    )


class Registers:
    """The registers of a table that keeps them beside its state (`running`), as it runs."""

    def __init__(self, automaton: Automaton) -> None:
        made = automaton.unfolding
        if made is None:
            raise AssertionError(f"the registers of {automaton.name} are in its states")
        self._automaton = automaton
        self._rules = made.table.rules
        self._table = _Table(made.table, tuple(value for _, value in made.parameters), {})
        pairs = [*zip(automaton.transitions, made.table.transitions, strict=True)]
        self._written = {id(row): written for row, written in pairs}
        self._rows = {id(written): row for row, written in pairs}

    @property
    def initial(self) -> Values:
        """What they hold at first."""
        return self._rules.initial

    def here(self, state: str, registers: Values) -> Automaton:
        """The table of the one state, with the rows and the guards that the rules allow there."""
        rows = tuple(self._rows[id(row)] for row in self._table.allowed((state, registers)))
        guards = dict.fromkeys(row.guard for row in rows if row.guard is not None)
        return replace(
            self._automaton,
            states=(State(state, "", tuple(guards), state),),
            initial=state,
            transitions=rows,
        )

    def after(self, row: Transition, registers: Values, payload: object) -> Values:
        """What they hold after a row, at a message that carries `payload`.

        Raises `UsageError` where the payload does not have what the row reads.
        """
        written = self._written[id(row)]
        # A row that stores what oracles say is none of a session (`System.by_rules`).
        asked = () if written.guard is None else (False,) * len(self._rules.oracles)
        return self._rules.step(written, (*self._table.given, *registers, *asked), payload)

    def named(self, state: str, registers: Values) -> str:
        """The state with what they hold: `WAIT[tries=1]`."""
        return _name(self._rules, (state, registers))


def _read_of_messages(automaton: Automaton) -> Iterator[tuple[str, MessageField]]:
    """What updates read of what messages carry, each with the tag."""
    for row in automaton.transitions:
        yield from ((row.label, field) for field in automaton.rules.reads(row))


class TooManyStates(UsageError):
    """The registers of a table take more values than are followed."""


def _check_interval(oracle: Oracle, interval: object) -> None:
    name, least = oracle.name, oracle.minimum
    if not isinstance(interval, range) or interval.step != 1 or not interval:
        raise UsageError(
            f"the oracle {name} is asked anew each time; give the interval of what it says, as in "
            f"{name}=0..9, not {quoted(interval)}",
            name,
        )
    if least is not None and interval.start < least:
        raise UsageError(f"the oracle {name} says at least {least}, not {interval.start}", name)


def as_decided(automaton: Automaton, values: Mapping[str, object]) -> Automaton:
    """The table by its rules where their parameters are known, or there are none.

    Otherwise, and where it cannot be unfolded without parameters, the table itself: whoever decides
    there, all that can happen is more than what the rules allow.
    """
    if not automaton.counts or (automaton.rules.parameters and not values):
        return automaton
    try:
        return unfolded(automaton, values)
    except UsageError:
        if values:
            raise
        return automaton


@lru_cache(maxsize=64)
def _unfolded(
    automaton: Automaton,
    parameters: Values,
    intervals: tuple[tuple[str, range], ...],
    within: tuple[tuple[str, tuple[int, int]], ...],
    messages: MessageValues,
) -> Automaton:
    """The same for values that were checked: each has the type that its parameter declares."""
    rules, table = automaton.rules, _Table(automaton, parameters, dict(intervals), messages)
    start = (automaton.initial, rules.initial)
    names, rows, left = {start: _name(rules, start)}, list[Transition](), [start]
    places = [register.name for register in rules.registers]
    limits = [(places.index(name), low, high) for name, (low, high) in within]
    guards = {row.label: BY_ITSELF for row in automaton.transitions if _is_own(row)}
    guards |= automaton.guards
    for place in left:
        for row, guard, label, registers in table.rows(place):
            target = (row.target, registers)
            if target not in names:
                names[target] = _name(rules, target)
                if all(low <= int(registers[at]) <= high for at, low, high in limits):
                    left.append(target)
                _check_size(automaton, names)
            if guard is not None and row.guard is not None:
                guards.setdefault(guard, guards.get(row.guard, ""))
            source, new = names[place], names[target]
            rows.append(Transition(row.row, source, new, guard, row.kind, label, row.partner))
    decided = dict[str, dict[str, None]]()
    for row in rows:
        if row.guard is not None:
            decided.setdefault(row.source, {})[row.guard] = None
    about = {state.name: state.about for state in automaton.states}
    held = [*zip((parameter.name for parameter in rules.parameters), parameters, strict=True)]
    told = [f"{name}={_shown(value)}" for name, value in held]
    told += [f"{name}={interval.start}..{interval.stop - 1}" for name, interval in intervals]
    return replace(
        automaton,
        name=f"{automaton.name}({', '.join(told)})" if told else automaton.name,
        states=tuple(
            State(
                name,
                about[place[0]],
                tuple(decided.get(name, ())),
                place[0],
                tuple(zip(rules.stored, (*parameters, *place[1]), strict=True)),
            )
            for place, name in names.items()
        ),
        initial=names[start],
        final=frozenset(name for place, name in names.items() if place[0] in automaton.final),
        guards=MappingProxyType(guards),
        transitions=tuple(rows),
        rules=Rules(),
        unfolding=Unfolding(automaton, tuple(held)),
    )


def stored_answers(automaton: Automaton) -> Mapping[str, frozenset[str]]:
    """The registers that become what oracles say, each with these oracles."""
    stored = dict[str, frozenset[str]]()
    for row in automaton.transitions if automaton.rules.oracles else ():
        for name, oracles in _stored_by(automaton.rules, row).items():
            stored[name] = stored.get(name, frozenset()) | oracles
    return stored


def written(name: str) -> str:
    """A guard, a state or a tag as the table is written: without values."""
    return name.partition("[")[0]


def is_split(automaton: Automaton) -> bool:
    """Whether some of its rows are those of one message each, with its values."""
    return any(written(row.label) != row.label for row in automaton.transitions)


def as_written(action: SystemAction) -> SystemAction:
    """An action of unfolded tables as it is written, without what guards and messages tell."""
    match action:
        case Exchange(_, _, tag) | Send(_, _, tag) | Deliver(_, _, tag):
            return replace(action, tag=written(tag))
        case Choose(member, guard, tag):
            return Choose(member, written(guard), written(tag))
        case _:
            return action


@dataclass(frozen=True)
class _Table:
    """A table with its parameters, intervals of what its oracles say, and what messages carry."""

    automaton: Automaton
    given: Values
    intervals: Mapping[str, range]
    messages: MessageValues = NO_VALUES

    @cached_property
    def _stored(self) -> dict[int, dict[str, frozenset[str]]]:
        """By the id of each row, the registers to which it gives what oracles say."""
        table = self.automaton
        return {id(row): _stored_by(table.rules, row) for row in table.transitions}

    @cached_property
    def _read(self) -> dict[int, tuple[MessageField, ...]]:
        """By the id of each row, what it reads of its message."""
        return {id(row): self.automaton.rules.reads(row) for row in self.automaton.transitions}

    @cached_property
    def _depends(self) -> dict[str, frozenset[str]]:
        """By the states that decide by rules, the oracles on which their guards depend."""
        rules = self.automaton.rules
        asked = {oracle.name for oracle in rules.oracles}
        whens = {name: names_in(when) & asked for name, when in rules.whens.items() if when}
        return {
            state: frozenset(name for guard in guards for name in whens.get(guard, ()))
            for state, guards in rules.deciding.items()
        }

    def allowed(self, place: _Place) -> Iterator[Transition]:
        """The rows that may be taken in a place, whatever the oracles say that decide there."""
        rows = self._open(place)
        asks = any(row.guard is not None for row in rows)
        ways = self._ways(place[0], (*self.given, *place[1]), rows) if asks else ()
        true = {guard for _, guards in ways for guard in guards}
        return (row for row in rows if row.guard is None or row.guard in true)

    def _open(self, place: _Place) -> list[Transition]:
        """The rows of a place that nothing but its guards forbids.

        While an urgent row may be taken there is no other one, not even to receive.
        """
        rules, (state, registers) = self.automaton.rules, place
        values = (*self.given, *registers)
        rows = [row for row in self.automaton.leaving(state) if rules.when(row, values)]
        return [row for row in rows if row.urgent] or rows

    def rows(self, place: _Place) -> Iterator[tuple[Transition, str | None, str, Values]]:
        """The rows that may be taken in a place, each with its guard, its label with what the
        message carries, and the registers after it.
        """
        rules, (state, registers) = self.automaton.rules, place
        values, rows = (*self.given, *registers), self._open(place)
        ways = [*self._ways(state, values, rows)] if any(row.guard for row in rows) else []
        for row in rows:
            for tag in self.messages.by(row):
                carried = tag.read(self._read[id(row)])
                if row.guard is None:
                    guard = row.label if _is_own(row) else None
                    after = self._renamed(rules.after(row, values, carried))
                    yield row, guard, tag.label, after
                    continue
                taken = dict[tuple[str, Values], None]()
                stored = self._stored[id(row)]
                for answers, guards in ways:
                    if row.guard in guards:
                        replies = (answers.get(oracle.name, False) for oracle in rules.oracles)
                        after = self._renamed(rules.after(row, (*values, *replies), carried))
                        told = (*self._told(stored, after), tag.told)
                        taken[_guard(row.guard, *told), after] = None
                yield from ((row, guard, tag.label, after) for guard, after in taken)

    def _ways(
        self, state: str, values: Values, rows: Sequence[Transition]
    ) -> Iterator[tuple[Mapping[str, Value], Sequence[str]]]:
        """All answers that matter, each with the guards that may be true then.

        Those are asked for that are stored, those that are of an interval, and ids.
        """
        rules = self.automaton.rules
        known = dict(zip(rules.stored, values, strict=True))
        used = self._depends.get(state, frozenset())
        read = {
            name
            for row in rows
            for oracles_read in self._stored[id(row)].values()
            for name in oracles_read
        }
        read |= {
            oracle.name
            for oracle in rules.oracles
            if oracle.name in used and (oracle.type == ID or oracle.name in self.intervals)
        }
        asked = [oracle for oracle in rules.oracles if oracle.name in read]
        some = {oracle.name: self._said(oracle, known, len(asked)) for oracle in asked}
        if state not in rules.deciding:
            guards: Sequence[str] = self.automaton.guards_of(state)
            yield from ((answers, guards) for answers in self._all(some))
            return
        settled = used <= some.keys()
        for answers in self._all(some):
            if settled:
                replies = (answers.get(oracle.name, False) for oracle in rules.oracles)
                yield answers, (rules.decide(state, (*values, *replies)),)
            else:
                yield answers, rules.possible(state, {**known, **answers})

    def _all(self, some: Mapping[str, Sequence[Value]]) -> Iterator[dict[str, Value]]:
        size = 1
        for answers in some.values():
            size *= len(answers)
        if size > MOST_ANSWERS:
            raise UsageError(
                f"{self.automaton.name}: {', '.join(some)} have more than {MOST_ANSWERS:,} answers "
                f"at once; give smaller intervals"
            )
        return (dict(zip(some, answers, strict=True)) for answers in product(*some.values()))

    def _said(self, oracle: Oracle, known: Mapping[str, Value], asked: int) -> Sequence[Value]:
        """What an oracle may say; of ids, those that are known, and as many new ones as asked."""
        if oracle.type == BOOL:
            return (False, True)
        if oracle.type.members:
            return sorted(oracle.type.members)
        if oracle.type == ID:
            types = self.automaton.rules.types
            ids = ["", *(str(known[name]) for name in known if types[name] == ID)]
            new = (f"new {number}" for number in range(asked))
            return [*dict.fromkeys([*ids, *(self.messages.ids if self._shares_ids else new)])]
        if oracle.name not in self.intervals:
            stored = stored_answers(self.automaton).items()
            register = next(name for name, oracles in stored if oracle.name in oracles)
            raise UsageError(
                f"{self.automaton.name}: {register} becomes what the oracle {oracle.name} says, "
                f"which is any number; give an interval, as in {oracle.name}=0..9"
            )
        return self.intervals[oracle.name]

    @cached_property
    def _shares_ids(self) -> bool:
        """Whether its ids are those of messages, which others may hold, too."""
        return reads_ids(self.automaton)

    def _renamed(self, registers: Values) -> Values:
        """The registers, their ids called after their order: nothing but that tells them apart."""
        types = [register.type for register in self.automaton.rules.registers]
        if ID not in types or self._shares_ids:
            return registers
        called, renamed = dict[Value, Value]({"": ""}), list[Value]()
        for type_, value in zip(types, registers, strict=True):
            name = called.setdefault(value, f"#{len(called)}") if type_ == ID else value
            renamed.append(name)
        return tuple(renamed)

    def _told(self, stored: Collection[str], after: Values) -> Iterator[str]:
        """What is stored; with all ids, which may be called otherwise after it."""
        for register, value in zip(self.automaton.rules.registers, after, strict=True):
            if stored and (register.name in stored or register.type == ID):
                yield f"{register.name}={_shown(value)}"


def _guard(guard: str, *told: str) -> str:
    """A guard with the values under which its row is taken."""
    values = ", ".join(filter(None, told))
    return f"{guard}[{values}]" if values else guard


def _stored_by(rules: Rules, row: Transition) -> dict[str, frozenset[str]]:
    """The registers to which a row gives what oracles say, each with these oracles."""
    asked = {oracle.name for oracle in rules.oracles} if row.guard is not None else set[str]()
    oracles = {name: names_in(update) & asked for name, update in rules.updates(row).items()}
    return {name: some for name, some in oracles.items() if some}


def _is_own(row: Transition) -> bool:
    """Whether a row is an event that its agent causes, and no guard decides."""
    return row.kind is Kind.EVENT and row.guard is None and row.by == "self"


def _name(rules: Rules, place: _Place) -> str:
    state, registers = place
    names = (register.name for register in rules.registers)
    held = zip(names, registers, strict=True)
    told = ", ".join(f"{name}={_shown(value)}" for name, value in held)
    return f"{state}[{told}]" if told else state


def _shown(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_size(automaton: Automaton, names: Mapping[_Place, str]) -> None:
    if len(names) > MOST_STATES:
        held = zip(*(registers for _, registers in names), strict=True)
        sizes = {
            register.name: len({*values})
            for register, values in zip(automaton.rules.registers, held, strict=True)
        }
        most = sorted(sizes, key=lambda name: -sizes[name])[:3]
        told = ", ".join(f"{name} {sizes[name]:,}" for name in most if sizes[name] > 1)
        raise TooManyStates(
            f"{automaton.name}: its registers take more than {MOST_STATES:,} states (values met: "
            f"{told}); let a when or an urgent event bound what they count"
        )
