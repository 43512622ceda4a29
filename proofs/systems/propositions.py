"""What formulas can say of a system: where members are, what is on its way, what just happened.

Of a state: `hub@IDLE` (or by its number, `1@IDLE`), `ended` (every member is in an end state), and
of the buffer from hub to left `hub:left@empty`, `hub:left@full`, `hub:left@has.TASK`. Of the step
that led to it: `hub.TASK` (hub sent TASK; `1.TASK` too), `hub:left.TASK` (to left), `hub:READY`
(by a row with that guard; `1:READY` too), `left?TASK` (left received TASK), `hub:left?TASK` (from
hub), `lost` (the channel lost it; false over one that loses nothing), `event.CLOSE`. With a
synchronous channel a message is sent and received in one step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from proofs.model import Step
from proofs.systems.product import EVENT, Composition, Move
from pxp_fsm.automaton import Kind

Holds = Callable[[int], bool]
"""Whether a proposition holds in a state."""


class Noted(NamedTuple):
    """A state of the composition, and what is said of the step that led to it."""

    state: int
    said: frozenset[str]


def vocabulary(composition: Composition) -> frozenset[str]:
    """Every proposition, whether some reachable state has it or not."""
    return frozenset(_of_states(composition)) | frozenset(_of_steps(composition))


def of_steps(composition: Composition) -> frozenset[str]:
    """The propositions that speak of the latest step."""
    return frozenset(_of_steps(composition))


def test_of(composition: Composition, name: str) -> Holds:
    """How to tell whether the proposition `name`, which speaks of states, holds in one."""
    if name == "ended":
        return composition.ended
    subject, _, what = name.partition("@")
    if ":" not in subject:
        place = composition.system.member_number(subject)
        field, number = composition.fields[place], composition.numbers[place][what]
        return lambda state: field.of(state) == number
    link = [composition.system.member_number(one) for one in subject.split(":")]
    where = composition.links.index((link[0], link[1]))
    field, contents = composition.buffers[where], composition.contents[where]
    if what == "empty":
        return lambda state: field.of(state) == 0
    if what == "full":
        capacity = composition.channel.capacity
        return lambda state: len(contents.known[field.of(state)]) == capacity
    tag = what.removeprefix("has.")
    return lambda state: tag in contents.known[field.of(state)]


def bits_of(composition: Composition, name: str) -> int:
    """The bits of a state on which the proposition `name`, which speaks of states, depends."""
    subject, _, _ = name.partition("@")
    if subject == "ended":
        return sum(field.bits for field in composition.fields)
    numbers = [composition.system.member_number(one) for one in subject.split(":")]
    if len(numbers) == 1:
        return composition.fields[numbers[0]].bits
    return composition.buffers[composition.links.index((numbers[0], numbers[1]))].bits


def guard_of(move: Move) -> str:
    """The guard of the row by which a message is sent; "" where there is none."""
    return next((row.guard or "" for _, row in move.rows if row.kind is Kind.SEND), "")


def said_by(composition: Composition, label: str, guard: str = "") -> frozenset[str]:
    """What the label of a step says happened, and the guard under which its sender sent."""
    where, _, what = label.partition(" ")
    if where == EVENT:
        return frozenset({f"event.{what}"})
    names = where.split(">")
    sender, receiver = (composition.system.places[name] for name in names)
    tag, _, fate = what.lstrip("+-").partition(" ")
    link, said = ":".join(names), set()
    if not what.startswith("-"):
        said |= {f"{names[0]}.{tag}", f"{sender + 1}.{tag}", f"{link}.{tag}"}
        said |= {f"{names[0]}:{guard}", f"{sender + 1}:{guard}"} if guard else set()
    if not what.startswith("+"):
        said |= {f"{names[1]}?{tag}", f"{receiver + 1}?{tag}", f"{link}?{tag}"}
    return frozenset(said | ({"lost"} if fate == "lost" else set()))


class Noting:
    """The composition, of which only `wanted` propositions are looked at.

    What is said of the latest step is part of the state, as far as it is wanted.
    """

    def __init__(self, composition: Composition, wanted: Iterable[str]) -> None:
        self.composition = composition
        self.name = composition.name
        names = frozenset(wanted) & vocabulary(composition)
        self.noted = names & of_steps(composition)
        self._tests = {name: test_of(composition, name) for name in sorted(names - self.noted)}
        self._known: dict[tuple[str, str], frozenset[str]] = {}

    def initial(self) -> Iterable[Noted]:
        return (Noted(state, frozenset()) for state in self.composition.initial())

    def successors(self, state: Noted) -> Iterator[Step[Noted]]:
        for move in self.composition.moves(state.state):
            yield Step(move.label, Noted(state.state + move.difference, self.said(move)))

    def propositions(self, state: Noted) -> frozenset[str]:
        there = {name for name, holds in self._tests.items() if holds(state.state)}
        return state.said | there

    def said(self, move: Move) -> frozenset[str]:
        """What is said of a step, as far as it is wanted."""
        key = (move.label, guard_of(move))
        if key not in self._known:
            self._known[key] = said_by(self.composition, *key) & self.noted
        return self._known[key]

    @cached_property
    def notes(self) -> bool:
        """Whether a wanted proposition speaks of the latest step."""
        return bool(self.noted)


def _of_states(composition: Composition) -> Iterator[str]:
    yield "ended"
    for place, member in enumerate(composition.system.members):
        for state in member.automaton.states:
            yield f"{member.name}@{state.name}"
            yield f"{place + 1}@{state.name}"
    for link in composition.links:
        name = composition.link_name(link)
        yield from (f"{name}@empty", f"{name}@full")
        yield from (f"{name}@has.{tag}" for tag in composition.tags(link))


def _of_steps(composition: Composition) -> Iterator[str]:
    yield "lost"
    for place, member in enumerate(composition.system.members):
        for row in member.automaton.transitions:
            if row.kind is Kind.EVENT:
                yield f"event.{row.label}"
            elif row.kind is Kind.SEND and row.guard is not None:
                yield from (f"{member.name}:{row.guard}", f"{place + 1}:{row.guard}")
    for link in composition.system.links:
        sender, receiver = (composition.system.members[place].name for place in link)
        for tag in composition.tags(link):
            yield from (f"{sender}.{tag}", f"{link[0] + 1}.{tag}", f"{sender}:{receiver}.{tag}")
            yield from (f"{receiver}?{tag}", f"{link[1] + 1}?{tag}", f"{sender}:{receiver}?{tag}")
