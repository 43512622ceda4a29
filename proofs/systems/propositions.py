"""What formulas can say of a system: where members are, what is on its way, what just happened.

Of a state: `hub@IDLE` (or by its number, `1@IDLE`), `ended` (every member is in an end state), of
parameters and registers that it was given `hub.tries<=most` and `hub.late` (or `1.late`), and
of the buffer from hub to left `hub:left@empty`, `hub:left@full`, `hub:left@has.TASK`. Of the step
that led to it: `hub.TASK` (hub sent TASK; `1.TASK` too), `hub:left.TASK` (to left), `hub:READY`
(by a row with that guard; `1:READY` too), `left?TASK` (left received TASK), `hub:left?TASK` (from
hub), `lost` (the channel lost it; false over one that loses nothing), `event.CLOSE`. With a
synchronous channel a message is sent and received in one step. A name is looked up once, in the
vocabulary of the system; what it means is a value of one of the types here.
"""

from __future__ import annotations

import operator
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

from proofs.core.explore import Step
from proofs.logic.formulas import And, Atom, Formula, Not, Or, Truth
from proofs.systems.product import Action, Composition, Move
from pxp_fsm.automata.actions import Choose, Decide, Deliver, Exchange, External, Send
from pxp_fsm.automata.automaton import Automaton, Kind
from pxp_fsm.automata.expressions import ID, INT, Value
from pxp_fsm.automata.unfolding import written
from pxp_fsm.lazy_dataclasses import dataclass

Holds = Callable[[int], bool]
"""Whether a proposition holds in a state."""


@dataclass(frozen=True, slots=True)
class AllEnded:
    """Every member is in an end state."""


@dataclass(frozen=True, slots=True)
class AtState:
    """A member is in one of these states: the one of that name, or those with such registers."""

    place: int
    states: frozenset[str]


@dataclass(frozen=True, slots=True)
class Empty:
    """Nothing is on its way on a link."""

    link: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Full:
    """The buffer of a link has no room."""

    link: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Has:
    """A tag is on its way on a link, whatever it carries: one of these labels."""

    link: tuple[int, int]
    labels: frozenset[str]


@dataclass(frozen=True, slots=True)
class SentTag:
    """In the latest step a member sent a tag, to that receiver or to any (None)."""

    sender: int
    receiver: int | None
    tag: str


@dataclass(frozen=True, slots=True)
class ReceivedTag:
    """In the latest step a member received a tag, from that sender or from any (None)."""

    sender: int | None
    receiver: int
    tag: str


@dataclass(frozen=True, slots=True)
class GuardTaken:
    """In the latest step a member sent by a row with that guard."""

    sender: int
    guard: str


@dataclass(frozen=True, slots=True)
class Lost:
    """In the latest step the channel lost what was sent."""


@dataclass(frozen=True, slots=True)
class Happened:
    """In the latest step an event from outside happened."""

    label: str


OfState = AllEnded | AtState | Empty | Full | Has
OfStep = SentTag | ReceivedTag | GuardTaken | Lost | Happened
Proposition = OfState | OfStep


class NotedState(NamedTuple):
    """A state of the composition, and what is true of the step that led to it."""

    state: int
    latest: frozenset[OfStep]


def vocabulary(composition: Composition, asked: Iterable[str] = ()) -> frozenset[str]:
    """The name of every proposition, whether it holds in some reachable state or not.

    Registers are compared with the numbers that they have, and with those of which `asked` speaks.
    """
    known = named(composition)
    return frozenset(known).union(name for name in asked if name in known)


def of_steps(composition: Composition) -> frozenset[str]:
    """The names of the propositions that speak of the latest step."""
    return frozenset(dict(_of_steps(composition)))


def named(composition: Composition) -> Mapping[str, Proposition]:
    """Every proposition by its name; several names can mean one.

    A register can be compared with any whole number, also with those that are not listed.
    """
    known = {**dict(_of_states(composition)), **dict(_of_steps(composition))}
    return _Named(known, dict(_of_registers(composition)), dict(_numbers(composition)))


def describe(known: Mapping[str, Proposition], composition: Composition, name: str) -> str:
    """A proposition in words, for readers who do not know the signs.

    >>> import pxp_fsm as pxp
    >>> composition = Composition(pxp.System.load("machine=pxp", "human=pxp", channel="fifo:1"))
    >>> for name in ("human@IDLE", "machine.INIT", "machine:human@empty"):
    ...     describe(named(composition), composition, name)
    'human is in IDLE'
    'machine has just sent INIT'
    'nothing is on the way from machine to human'
    """
    names = list(composition.system.places)

    def link(sender: int | None, receiver: int | None) -> str:
        ends = (("from", sender), ("to", receiver))
        return "".join(f" {word} {names[place]}" for word, place in ends if place is not None)

    words = name
    match known[name]:
        case AllEnded():
            words = "every member is in an end state"
        case AtState(place):
            _, at, where = name.rpartition("@")
            if at:
                words = f"{names[place]} is in {where}"
        case Empty(ends):
            words = f"nothing is on the way{link(*ends)}"
        case Full(ends):
            words = f"there is no room on the way{link(*ends)}"
        case Has(ends):
            words = f"{name.partition('@has.')[2]} is on the way{link(*ends)}"
        case SentTag(sender, receiver, tag):
            words = f"{names[sender]} has just sent {tag}{link(None, receiver)}"
        case ReceivedTag(sender, receiver, tag):
            words = f"{names[receiver]} has just received {tag}{link(sender, None)}"
        case GuardTaken(sender, guard):
            words = f"{names[sender]} has just sent because {guard}"
        case Lost():
            words = "the channel has just lost a message"
        case Happened(label):
            words = f"{label} has just happened"
    return words


class _Named(Mapping[str, Proposition]):
    """Propositions by name; of those about registers, which are many, what they mean comes last:
    there is one for each two numbers, and a formula names a few. `numbers` are the registers that
    are compared with whole numbers."""

    def __init__(
        self,
        known: dict[str, Proposition],
        later: dict[str, Callable[[], AtState]],
        numbers: dict[str, Callable[[str, int], AtState]],
    ) -> None:
        self._known, self._later, self._numbers = known, later, numbers

    def __getitem__(self, name: str) -> Proposition:
        if name not in self._known:
            later = self._later.get(name) or self._compared(name)
            if later is None:
                raise KeyError(name)
            self._known[name] = later()
        return self._known[name]

    def _compared(self, name: str) -> Callable[[], AtState] | None:
        """The comparison of a register with a number that it never has, nor the next one."""
        parts = _COMPARISON.fullmatch(name)
        if parts is None or parts["register"] not in self._numbers:
            return None
        return partial(self._numbers[parts["register"]], parts["sign"], int(parts["number"]))

    def __iter__(self) -> Iterator[str]:
        yield from self._known
        yield from (name for name in self._later if name not in self._known)

    def __len__(self) -> int:
        return len(self._known.keys() | self._later.keys())

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        return name in self._known or name in self._later or self._compared(name) is not None


def test_of(composition: Composition, proposition: OfState) -> Holds:
    """How to tell whether a proposition holds in a state."""
    match proposition:
        case AllEnded():
            return composition.ended
        case AtState(place, names):
            own = composition.encoding.fields[place]
            numbers = {n for n in range(own.mask + 1) if _is_at(composition, place, n, names)}
            return lambda state: own.of(state) in numbers
    number = composition.encoding.links.index(proposition.link)
    field, contents = composition.encoding.buffers[number], composition.encoding.contents[number]
    match proposition:
        case Empty():
            return lambda state: field.of(state) == 0
        case Full():
            capacity = composition.system.channel_of(proposition.link).capacity
            return lambda state: len(contents.known[field.of(state)]) == capacity
        case Has(_, labels):
            return lambda state: not labels.isdisjoint(contents.known[field.of(state)])


def _is_at(composition: Composition, place: int, number: int, names: Set[str]) -> bool:
    return (
        number < composition.encoding.sizes[place]
        and composition.encoding.state_name(place, number) in names
    )


def bits_of(composition: Composition, proposition: OfState) -> int:
    """The bits of a state on which a proposition depends."""
    match proposition:
        case AllEnded():
            return sum(field.bits for field in composition.encoding.fields)
        case AtState(place):
            return composition.encoding.fields[place].bits
        case Empty(link) | Full(link) | Has(link):
            return composition.encoding.buffers[composition.encoding.links.index(link)].bits


def guard_of(move: Move) -> str:
    """The guard of the row by which a message is sent; "" where there is none."""
    return next((written(row.guard or "") for _, row in move.rows if row.kind is Kind.SEND), "")


def told_by(composition: Composition, action: Action, guard: str = "") -> frozenset[OfStep]:
    """What is true of a step: of its action, and of the guard under which its sender sent.

    Nothing is true of a choice: its message has not been sent.
    """
    places = composition.system.places
    facts: set[OfStep] = set()
    match action:
        case External(label) | Decide(_, label):
            facts.add(Happened(label))
        case Exchange() | Send() | Deliver():
            sender, receiver = places[action.sender], places[action.receiver]
            tag = written(action.tag)
            if not isinstance(action, Deliver):
                facts |= {SentTag(sender, None, tag), SentTag(sender, receiver, tag)}
                facts |= {GuardTaken(sender, guard)} if guard else set()
            if not isinstance(action, Send):
                facts |= {ReceivedTag(None, receiver, tag), ReceivedTag(sender, receiver, tag)}
            elif action.lost:
                facts.add(Lost())
        case Choose():
            pass
    return frozenset(facts)


class Noting:
    """The composition, of which only `wanted` propositions are looked at.

    What is true of the latest step is part of the state, as far as it is wanted.
    """

    def __init__(self, composition: Composition, wanted: Iterable[str]) -> None:
        self.composition = composition
        self.name = composition.name
        known = named(composition)
        self._names = {name: known[name] for name in sorted({*wanted}) if name in known}
        self.noted = frozenset(
            proposition for proposition in self._names.values() if isinstance(proposition, OfStep)
        )
        self._tests = {
            name: test_of(composition, proposition)
            for name, proposition in self._names.items()
            if not isinstance(proposition, OfStep)
        }
        self._known: dict[tuple[Action, str], frozenset[OfStep]] = {}

    def initial(self) -> Iterable[NotedState]:
        return (NotedState(state, frozenset()) for state in self.composition.initial())

    def successors(self, state: NotedState) -> Iterator[Step[NotedState]]:
        for move in self.composition.moves(state.state):
            yield Step(move.action, NotedState(state.state + move.difference, self.latest(move)))

    def propositions(self, state: NotedState) -> frozenset[str]:
        there = {name for name, holds in self._tests.items() if holds(state.state)}
        if state.latest:
            there |= {
                name for name, proposition in self._names.items() if proposition in state.latest
            }
        return frozenset(there)

    def latest(self, move: Move) -> frozenset[OfStep]:
        """What is true of a step, as far as it is wanted."""
        key = (move.action, guard_of(move))
        if key not in self._known:
            self._known[key] = told_by(self.composition, *key) & self.noted
        return self._known[key]


def _of_states(composition: Composition) -> Iterator[tuple[str, OfState]]:
    yield "ended", AllEnded()
    for place, member in enumerate(composition.system.members):
        own = {state.name: frozenset({state.name}) for state in member.automaton.states}
        for name, states in (own | dict(member.automaton.regions)).items():
            for subject in (member.name, str(place + 1)):
                yield f"{subject}@{name}", AtState(place, states)
    for link in composition.encoding.links:
        name = composition.encoding.link_name(link)
        yield from ((f"{name}@empty", Empty(link)), (f"{name}@full", Full(link)))
        by_tag = defaultdict[str, set[str]](set)
        for label in composition.encoding.tags(link):
            by_tag[written(label)].add(label)
        yield from (
            (f"{name}@has.{tag}", Has(link, frozenset(labels))) for tag, labels in by_tag.items()
        )


def _of_registers(composition: Composition) -> Iterator[tuple[str, Callable[[], AtState]]]:
    for place, member in enumerate(composition.system.members):
        for name, states in _of_values(member.automaton):
            for subject in (member.name, str(place + 1)):
                yield f"{subject}{name}", partial(_at, place, states)


def _numbers(composition: Composition) -> Iterator[tuple[str, Callable[[str, int], AtState]]]:
    """The registers and parameters of members that are numbers, and how they are compared."""
    for place, member in enumerate(composition.system.members):
        made = member.automaton.unfolding
        if made is None:
            continue
        held = {state.name: dict(state.values) for state in member.automaton.states}
        types = made.table.rules.types
        for name in dict.fromkeys(name for values in held.values() for name in values):
            if types[name] == INT:
                for subject in (member.name, str(place + 1)):
                    yield f"{subject}.{name}", partial(_at_number, place, held, name)


def _at_number(
    place: int, held: Mapping[str, Mapping[str, Value]], name: str, sign: str, number: int
) -> AtState:
    return _at(place, partial(_where, held, name, _SIGNS[sign], partial(_constant, number)))


def _at(place: int, states: Callable[[], list[str]]) -> AtState:
    return AtState(place, frozenset(states()))


def _of_values(automaton: Automaton) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    """What can be said of the values in the states of an unfolded table, and where it is true.

    Numbers are compared with all numbers that a register has, and with the parameters; ids, which
    have no names, with each other.
    """
    made = automaton.unfolding
    if made is None:
        return
    written, types = defaultdict[str, list[str]](list), made.table.rules.types
    for state in automaton.states:
        written[state.base].append(state.name)
    for base, names in written.items():
        yield f"@{base}", partial(list, names)
    for base in (state.name for state in made.table.states if state.name not in written):
        yield f"@{base}", list
    held = {state.name: dict(state.values) for state in automaton.states}
    names = [*dict.fromkeys(name for values in held.values() for name in values)]
    for name in names:
        if types[name] not in (INT, ID):
            for value in dict.fromkeys(values[name] for values in held.values()):
                label = f".{name}" if value is True else f".{name}={value}"
                if value is not False:
                    yield label, partial(_where, held, name, operator.eq, partial(_constant, value))
            continue
        others: dict[str, Callable[[Mapping[str, Value]], Value]] = {
            other: itemgetter(other)
            for other in names
            if other != name and types[other] == types[name]
        }
        if types[name] == INT:
            numbers = {int(values[name]) for values in held.values()}
            met = range(min(0, *numbers, 0), max(numbers) + 2)
            others |= {str(number): partial(_constant, number) for number in met}
        for sign, compared in _SIGNS.items():
            if types[name] == INT or sign in ("=", "!="):
                for other, read in others.items():
                    yield f".{name}{sign}{other}", partial(_where, held, name, compared, read)


def _where(
    held: Mapping[str, Mapping[str, Value]],
    name: str,
    compared: Callable[[Any, Any], bool],
    read: Callable[[Mapping[str, Value]], Value],
) -> list[str]:
    return [at for at, values in held.items() if compared(values[name], read(values))]


def _constant(value: Value, _values: object) -> Value:
    return value


_SIGNS = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
    "!=": operator.ne,
}


_COMPARISON = re.compile(
    rf"(?P<register>.+?)(?P<sign>{'|'.join(_SIGNS)})(?P<number>-?[1-9][0-9]{{0,8}}|0)", re.ASCII
)


def _of_steps(composition: Composition) -> Iterator[tuple[str, OfStep]]:
    yield "lost", Lost()
    for place, member in enumerate(composition.system.members):
        for row in member.automaton.transitions:
            label = written(row.label)
            for subject in (member.name, str(place + 1)):
                if row.kind is Kind.EVENT:
                    yield f"event.{label}", Happened(label)
                elif row.kind is Kind.RECEIVE:
                    yield f"{subject}?{label}", ReceivedTag(None, place, label)
                else:
                    yield f"{subject}.{label}", SentTag(place, None, label)
                    if row.guard is not None:
                        guard = written(row.guard)
                        yield f"{subject}:{guard}", GuardTaken(place, guard)
    for sender, receiver in composition.system.links:
        name = composition.encoding.link_name((sender, receiver))
        for tag in dict.fromkeys(map(written, composition.encoding.tags((sender, receiver)))):
            yield f"{name}.{tag}", SentTag(sender, receiver, tag)
            yield f"{name}?{tag}", ReceivedTag(sender, receiver, tag)


def is_propositional(formula: Formula) -> bool:
    """Whether there is no temporal operator and no quantifier in it."""
    match formula:
        case Truth() | Atom():
            return True
        case Not(of):
            return is_propositional(of)
        case And(left, right) | Or(left, right):
            return is_propositional(left) and is_propositional(right)
        case _:
            return False


def value(formula: Formula, true: Mapping[str, bool]) -> bool:
    """The truth of a propositional formula."""
    match formula:
        case Truth(constant):
            return constant
        case Atom(name):
            return true[name]
        case Not(of):
            return not value(of, true)
        case And(left, right):
            return value(left, true) and value(right, true)
        case Or(left, right):
            return value(left, true) or value(right, true)
        case _:
            raise AssertionError(f"not propositional: {formula}")
