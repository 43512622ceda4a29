"""The policy of a panel's session: who speaks next, in which channel, and when it is over.

Everything follows from the messages, so that a session that is resumed or forked goes on alike.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial

from pxp_fsm.automata.actions import Deliver, Exchange, SystemAction
from pxp_fsm.automata.automaton import Automaton, Kind
from pxp_fsm.automata.system import Member, System
from pxp_fsm.errors import Refused, UsageError, quoted
from pxp_fsm.plugins.panels.board import ChannelStatus, Owed, PanelBoard, PanelLayout
from pxp_fsm.plugins.panels.panel import Panel, PanelVerdict
from pxp_fsm.plugins.panels.verdicts import KnownAnswers
from pxp_fsm.protocol.messages import Answer, Episode, Message
from pxp_fsm.protocol.relations import Judgement
from pxp_fsm.protocol.rules import Ending, Rules
from pxp_fsm.sessions.actors import Turn
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.machine import Machine
from pxp_fsm.sessions.policy import (
    CLOSE,
    Close,
    ContextFunction,
    Course,
    Moved,
    Ready,
    Schedule,
    impossible,
    of_content,
    of_envelope,
)

_Owing = tuple[PanelBoard, tuple[Owed, ...], tuple[Owed, ...]]


class PanelPolicy:
    """Who speaks next in a session of `panel` between agents of these `names`.

    `context` is UPDATE_CONTEXT, as for two. Raises `UsageError` for what no panel can be.
    """

    counts = "message"

    def __init__(
        self,
        panel: Panel,
        names: tuple[str, ...],
        context: ContextFunction | None = None,
        channel: str = "sync",
    ) -> None:
        if channel != "sync":
            raise UsageError(f"the agents of a panel talk over sync, not {channel}")
        self.panel = panel
        self.layout = PanelLayout(panel, names)
        self.channels = panel.links(names)
        self._talks = tuple(Schedule(panel.rules, link, context) for link in self.channels)
        self._boards = [self.layout.start()]
        self._judged = KnownAnswers()
        # What follows from a board is found once for each; a place is found by a look-up.
        self._places = self.layout.places
        self._asked = self._owing(self._boards[0])
        self._keys: list[PanelBoard] = []
        self._episodes: dict[int, Episode] = {}

    @property
    def described(self) -> str:
        return self.panel.describe(self.layout.names)

    def system(self) -> System:
        return panel_system(self.channels, self.panel.rules.automaton)

    def seated(self, action: SystemAction) -> SystemAction:
        if isinstance(action, Exchange):
            here, there = action.sender, action.receiver
            return Exchange(end(here, there), end(there, here), action.tag)
        return action

    def board(self, course: Course) -> PanelBoard:
        """The board after the messages so far; a session may have gone back since."""
        boards, after = self._boards, len(course.history) + 1
        if len(boards) != after:
            del boards[after:]
            while len(boards) < after:
                boards.append(self.layout.take(boards[-1], course.history))
        return boards[-1]

    def conversation(self, course: Course, name: str, partner: str) -> tuple[Message, ...]:
        return tuple(course.history[number - 1] for number in self._numbers(course, name, partner))

    def _numbers(self, course: Course, name: str, partner: str) -> tuple[int, ...]:
        talk = self.board(course).talks[self._channel(name, partner)]
        return () if talk.status is ChannelStatus.WAITS else talk.numbers

    def _channel(self, name: str, partner: str) -> int:
        return self.layout.channels[self._places[name], self._places[partner]]

    def speaker(self, course: Course) -> tuple[str, str] | None:
        owed = self._next(course)
        names = self.layout.names
        return None if owed is None else (names[owed.member], names[owed.partner])

    def _next(self, course: Course, name: str = "") -> Owed | None:
        """Whose message comes next; with a `name`, what that agent owes first."""
        due = self._due(course)
        if name and name not in [self.layout.names[duty.member] for duty in due]:
            due = self._owed(course)[1]
        if name:
            due = tuple(duty for duty in due if self.layout.names[duty.member] == name)
        return self.layout.drawn(self.board(course), due, course.name)

    def _due(self, course: Course) -> tuple[Owed, ...]:
        """Who may speak next."""
        return self._owed(course)[2]

    def _owed(self, course: Course) -> _Owing:
        """The board, who owes a message there, and who of them may speak next."""
        board = self.board(course)
        if self._asked[0] is not board:
            self._asked = self._owing(board)
        return self._asked

    def _owing(self, board: PanelBoard) -> _Owing:
        owed = self.layout.owed(board)
        return board, owed, self.layout.due(board, owed)

    def turn(self, course: Course, name: str) -> Turn:
        owed = self._next(course, name)
        if owed is None:
            place = self._places[name]
            number = self.layout.own[place][0]
            first, second = self.layout.links[number]
            owed = Owed(place, first + second - place, number)
        return self._turn(course, owed)

    def _turn(self, course: Course, owed: Owed) -> Turn:
        board, owing, _ = self._owed(course)
        names = self.layout.names
        name, partner = names[owed.member], names[owed.partner]
        machine = course.live.machines[end(name, partner)]
        episode = self._episode(course, owed.channel, self._numbers(course, name, partner))
        current = board.current[owed.member]
        return Turn(
            course.name,
            course.instance,
            name,
            machine.state,
            machine.automaton.guards_of(machine.state),
            (),
            episode.history,
            to=partner,
            context=episode.context,
            categories=episode.categories,
            current=current if isinstance(current, Answer) else None,
            learns=self.layout.learns(board, owed.member, owed.channel),
            settled=self.layout.settled(board, owed.channel),
            others=tuple(self._others(course, owed)),
            overview=self.layout.overview(board, course.history, owing, owed),
        )

    def _others(self, course: Course, owed: Owed) -> Iterator[Episode]:
        """The conversations that an agent has with others, which its context holds too."""
        board = self.board(course)
        for number in self.layout.own[owed.member]:
            numbers = board.talks[number].numbers
            if number != owed.channel and numbers:
                yield self._episode(course, number, numbers)

    def _episode(self, course: Course, channel: int, numbers: tuple[int, ...]) -> Episode:
        """The messages of a channel of these numbers.

        It is kept and lengthened: every turn of its two ends asks for it. The session may have
        gone back since: where the latest message that is kept is still in its place, so are those
        before it.
        """
        nothing = Episode(course.instance, ())
        known = self._episodes.get(channel, nothing)
        kept = len(known.history)
        if not 0 < kept <= len(numbers) or (
            course.history[numbers[kept - 1] - 1] is not known.history[-1]
        ):
            known, kept = nothing, 0
        if kept == len(numbers):
            return known
        places = [number - 1 for number in numbers[kept:]]
        known = self._episodes[channel] = Episode(
            course.instance,
            known.history + tuple([course.history[place] for place in places]),
            known.context + tuple([course.context[place] for place in places]),
            known.categories + tuple([course.categories[place] for place in places]),
        )
        return known

    def category(self, judgements: Sequence[Judgement]) -> str:
        return self._talks[0].category(judgements)

    def learns(self, course: Course, message: Message) -> bool:
        channel = self._channel(message.receiver, message.sender)
        return self.layout.learns(self.board(course), self._places[message.receiver], channel)

    def is_last(self, course: Course, message: Message) -> bool:
        channel = self._channel(message.receiver, message.sender)
        return self.board(course).talks[channel].status is ChannelStatus.CLOSED

    async def next(self, course: Course) -> Ready | Close:
        await asyncio.sleep(0)  # other sessions go on, and it can be stopped here
        owed = self._next(course)
        if owed is None:
            raise AssertionError("a session in which nobody owes a message is over")
        name, partner = self.layout.names[owed.member], self.layout.names[owed.partner]
        seat = course.seat(name, partner)
        decision = await seat.decide(self._turn(course, owed), self.panel.rules.automaton)
        if decision is None:
            return Close(Ending.IDLE, f"it is the turn of {name}, who waits")
        return Exchange(name, partner, decision.row.label), decision

    def before(self, course: Course) -> None:
        """Nothing is on its way: messages are exchanged."""

    def check(self, course: Course, event: Event) -> Event:
        """What no table knows: the envelope, who owes a message, j and k."""
        message = event.carried
        where = f"stored event {quoted(message.number)} of {course.name} ({quoted(message.tag)})"
        problem = next(self._problems(course, message), None)
        if problem is not None:
            raise Refused(f"{where} was refused: {problem}")
        action = Exchange(message.sender, message.receiver, message.tag)
        return replace(event, number=message.number, action=action)

    def _problems(self, course: Course, message: Message) -> Iterator[str]:
        names = self.layout.names
        yield from of_envelope(course, message)
        for name in (message.sender, message.receiver):
            if name not in names:
                yield f"the agents here are {', '.join(names)}"
        due = [(names[duty.member], names[duty.partner]) for duty in self._due(course)]
        if (message.sender, message.receiver) not in due:
            owed = ", ".join(f"{name} to {partner}" for name, partner in due) or "nobody"
            yield f"{message.sender} owes {message.receiver} no message now; possible is {owed}"
        yield from of_content(message)
        machine = course.live.machines[end(message.sender, message.receiver)]
        number = len(self._numbers(course, message.sender, message.receiver)) + 1
        yield from impossible(self.panel.rules, machine, message, number)

    def delivered(self, course: Course, action: Deliver) -> Message:
        raise AssertionError("messages are exchanged")

    def addition(self, course: Course, message: Message) -> str:
        return self._talks[0].addition(course, message)

    def happened(self, event: Event, moved: Moved) -> None:
        """Whose turn it is follows from the messages."""

    def after(self, course: Course) -> Close | None:
        board, message = self.board(course), course.history[-1]
        was = self._boards[-2]
        if self.panel.stops:
            self._judged.note(course.events)
        self._move_machines(course, message, was, board)
        stopped = self._stopped(course, board)
        if stopped:
            return Close(Ending.FINISHED, stopped)
        if not self._owed(course)[1]:
            return self._conclusion(course, board)
        many = len(self.layout.names) > 2 or self.panel.rules.n is None
        if many and len(course.history) >= course.limit:
            return Close(Ending.LIMIT, f"stopped after {course.limit} messages")
        return None

    def _move_machines(
        self, course: Course, message: Message, was: PanelBoard, board: PanelBoard
    ) -> None:
        """Bring the machines of a channel that has closed to their end; wind those that reopen."""
        names = self.layout.names
        for number, (first, second) in enumerate(self.layout.links):
            status = board.talks[number].status
            if status is was.talks[number].status:
                continue
            for here, there in ((first, second), (second, first)):
                machine = course.live.machines[end(names[here], names[there])]
                if status is ChannelStatus.WAITS:
                    machine.return_to(machine.automaton.initial)
                elif status is ChannelStatus.CLOSED and not machine.ended:
                    self._close(machine)

    def _close(self, machine: Machine) -> None:
        """Bring a machine to its end, by the table's CLOSE where it has that here.

        An agent that leaves is gone whatever its table says: its machines stay where they are.
        """
        labels = [row.label for row in machine.enabled() if row.kind is Kind.EVENT]
        if CLOSE in labels or not self.panel.without:
            machine.happen(CLOSE)

    def _stopped(self, course: Course, board: PanelBoard) -> str:
        """The verdict that ends the session now, if one does."""
        for stop in self.panel.stops:
            if stop.verdict is PanelVerdict.OSCILLATION:
                del self._keys[len(self._boards) - 1 :]
                self._keys += map(self.layout.key, self._boards[len(self._keys) :])
                if self.layout.recurs(self._boards, self._keys):
                    return str(stop)
            elif stop.verdict in self.layout.verdicts(board, self._judged.alike, stop.window):
                return str(stop)
        return ""

    def _conclusion(self, course: Course, board: PanelBoard) -> Close:
        """All channels are closed: as two would end, or each as it did."""
        closed = []
        for (first, second), talk in zip(self.channels, board.talks, strict=True):
            conversation = [course.history[number - 1] for number in talk.numbers]
            ending = self.panel.rules.ending(conversation) if conversation else None
            closed.append((f"{first}-{second}", ending or Ending.FINISHED, conversation))
        endings = {ending for _, ending, _ in closed}
        if len(closed) == 1 and not self.panel.without:
            close = self._talks[0].concluded(closed[0][2])
            assert close is not None  # noqa: S101 - its channel is closed
            return close
        cause = ", ".join(f"{link} {ending.value}" for link, ending, _ in closed)
        return Close(endings.pop() if len(endings) == 1 else Ending.FINISHED, cause)

    def wake(self) -> None:
        """Nobody waits but for the agent whose turn it is."""

    def stop(self) -> None:
        """Nobody is asked ahead."""


def policy_of(subject: object) -> tuple[Rules, partial[PanelPolicy]] | None:
    """The protocol of a panel's channels, and who makes the policy of its session."""
    return (subject.rules, partial(PanelPolicy, subject)) if isinstance(subject, Panel) else None


@lru_cache(maxsize=4096)
def end(name: str, partner: str) -> str:
    """What the end of a channel is called in the panel's system: a name of a table where it can."""
    plain = all(
        name_of_end.isascii() and name_of_end.isidentifier() and "_" not in name_of_end
        for name_of_end in (name, partner)
    )
    return f"{name}_to_{partner}" if plain else f"{name}>{partner}"


@lru_cache(maxsize=64)
def panel_system(channels: tuple[tuple[str, str], ...], automaton: Automaton) -> System:
    """The system of a panel: a member for each end of each channel; its table names the other."""
    members = []
    for first, second in channels:
        for name, partner in ((first, second), (second, first)):
            rows = tuple(
                row if row.kind is Kind.EVENT else replace(row, partner=end(partner, name))
                for row in automaton.transitions
            )
            members.append(Member(end(name, partner), replace(automaton, transitions=rows)))
    return System(tuple(members), free_names=True)
