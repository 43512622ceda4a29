"""What the explorer's page is sent: systems, states, verdicts and traces as plain data.

Everything that a page shows is computed here or below; a page arranges it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proofs.core.results import Result
from proofs.systems import Composition, System
from proofs.systems.folding import Fold, folds
from proofs.systems.options import Option, Options
from proofs.systems.paths import Choices, choices_of
from proofs.systems.product import Move
from proofs.systems.propositions import named, vocabulary
from pxp_fsm.automata.actions import SystemAction, Unreceived, record_of
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.diagrams import state_diagram
from pxp_fsm.diagrams.placement import Placement, place
from pxp_fsm.errors import PXPError


@dataclass(frozen=True, slots=True)
class RowView:
    """A transition of a member's table; `row` is the number of the written row."""

    row: int
    source: str
    target: str
    guard: str
    action: str


@dataclass(frozen=True, slots=True)
class MemberView:
    """A member of a system and its automaton, laid out."""

    name: str
    title: str
    note: str
    guards: dict[str, str]
    rows: tuple[RowView, ...]
    layout: Placement


@dataclass(frozen=True, slots=True)
class SystemView:
    """A system: its members, the links that have a buffer, the propositions that there are, and how
    its states can be folded in a picture."""

    name: str
    channel: str
    capacities: tuple[int, ...]
    fingerprint: str
    members: tuple[MemberView, ...]
    links: tuple[tuple[str, str], ...]
    propositions: tuple[str, ...]
    folds: tuple[Fold, ...]


@dataclass(frozen=True, slots=True)
class MoveView:
    """Something that can happen: its text, the action as words, and the rows that members take.

    A row is given by the member's number and its place in the member's `rows`.
    """

    text: str
    kind: str
    member: str
    partner: str
    label: str
    guard: str
    rows: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class BlockedView:
    """A row of a member's present state that cannot be taken, or not with each partner: why."""

    member: int
    row: int
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeadlockView:
    """Nothing can happen: the messages that nobody receives (sender, receiver, tag), in words."""

    text: str
    unreceived: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class StateView:
    """A state of a system: where each member is, the guard that it has settled, the buffers."""

    at: tuple[str, ...]
    settled: tuple[str, ...]
    buffers: tuple[tuple[str, ...], ...]
    ended: bool
    deadlock: DeadlockView | None
    moves: tuple[MoveView, ...]
    blocked: tuple[BlockedView, ...]
    propositions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResultView:
    """A verdict; `choices` is its trace in numbers of moves, None where there is none to play.

    The last `cycle` steps of the trace repeat for ever.
    """

    name: str
    title: str
    assumptions: str
    status: str
    as_expected: bool
    explanation: str
    seconds: float
    choices: tuple[int, ...] | None
    cycle: int


class Views:
    """The views of one system and its states.

    >>> views = Views(System.load("machine=interact", "human=interact"))
    >>> [move.text for move in views.state(views.start).moves]
    ['machine>human INIT', 'human>machine INIT']
    """

    def __init__(self, system: System) -> None:
        self.composition = Composition(system)
        (self.start,) = self.composition.initial()
        self._options = Options(self.composition)
        self._rows = [
            {row: number for number, row in enumerate(member.automaton.transitions)}
            for member in system.members
        ]
        of_states = [n for n in named(self.composition) if not n.split("@")[0].isdigit()]
        self._shown = frozenset(of_states)

    def system(self) -> SystemView:
        """The system itself."""
        system, links = self.composition.system, self.composition.encoding.links
        names = [member.name for member in system.members]
        return SystemView(
            system.name,
            system.channel.name,
            tuple(system.channel_of(link).capacity for link in links),
            system.fingerprint,
            tuple(member_view(member.name, member.automaton) for member in system.members),
            tuple((names[sender], names[receiver]) for sender, receiver in links),
            tuple(sorted(vocabulary(self.composition) & self._shown)),
            folds(self.composition),
        )

    def state(self, state: int) -> StateView:
        """One state of it."""
        moves = self.composition.moves(state)
        here = self.composition.encoding.configuration(state)
        options = self._options.of(state, moves)
        return StateView(
            here.at,
            here.chosen or ("",) * len(here.at),
            here.buffers,
            self.composition.ended(state),
            self._deadlock(state),
            tuple(map(self._move, moves)),
            tuple(self._blocked(option) for option in options if option.reasons),
            tuple(sorted(self.composition.propositions(state) & self._shown)),
        )

    def _deadlock(self, state: int) -> DeadlockView | None:
        found = self._options.deadlock(state)
        if found is None:
            return None
        return DeadlockView(str(found), tuple(map(_message, found.unreceived)))

    def _move(self, move: Move) -> MoveView:
        rows = tuple((place, self._rows[place][row]) for place, row in move.rows)
        return MoveView(str(move.action), *record_of(move.action), rows)

    def _blocked(self, option: Option) -> BlockedView:
        return BlockedView(
            option.place, self._rows[option.place][option.row], tuple(map(str, option.reasons))
        )

    def result(self, result: Result) -> ResultView:
        """A verdict, with its trace as choices where it is a trace of this system."""
        return ResultView(
            result.name,
            result.title,
            result.assumptions,
            result.status.value,
            result.as_expected,
            result.verdict.detail,
            round(result.seconds, 3),
            self._choices(result),
            result.cycle,
        )

    def _choices(self, result: Result) -> tuple[int, ...] | None:
        if result.trace is None:
            return None
        try:
            return choices_of(self.composition, (step.action for step in result.trace.steps))
        except PXPError:
            return None

    def choices_along(self, actions: Sequence[SystemAction]) -> Choices:
        """The choices that take `actions`, as far as they can happen."""
        state, found = self.start, list[int]()
        for action in actions:
            moves = self.composition.moves(state)
            place = next((n for n, move in enumerate(moves) if move.action == action), None)
            if place is None:
                break
            found.append(place)
            state += moves[place].difference
        return tuple(found)

    def actions(self, choices: Sequence[int]) -> tuple[SystemAction, ...]:
        """What happens on a path that the system has."""
        state, found = self.start, list[SystemAction]()
        for choice in choices:
            move = self.composition.moves(state)[choice]
            found.append(move.action)
            state += move.difference
        return tuple(found)


def member_view(name: str, automaton: Automaton) -> MemberView:
    """A member and its automaton, laid out."""
    return MemberView(
        name,
        automaton.title,
        automaton.note,
        dict(automaton.guards),
        tuple(
            RowView(row.row, row.source, row.target, row.guard or "", row.action)
            for row in automaton.transitions
        ),
        place(state_diagram(automaton)),
    )


def _message(one: Unreceived) -> tuple[str, str, str]:
    return one.sender, one.receiver, one.tag
