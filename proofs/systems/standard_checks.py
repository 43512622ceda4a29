"""What every system must pass over any channel, each with a shortest trace where it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial

from proofs.core.results import Status, Verdict
from proofs.logic.termination import END_REACHABLE, TERMINATION
from proofs.systems.encoding import BitField
from proofs.systems.options import Options
from proofs.systems.product import LinkRows, Move
from proofs.systems.reachability import Reached
from proofs.systems.receptions import Parts, Receptions
from proofs.systems.replay import shown
from proofs.systems.symmetry import Symmetry
from pxp_fsm.automata.actions import Deliver
from pxp_fsm.automata.automaton import Kind, Transition
from pxp_fsm.automata.system import System
from pxp_fsm.automata.unfolding import written
from pxp_fsm.lazy_dataclasses import dataclass

Part = tuple[int, ...]
"""A member, or a link from the first to the second, by the numbers of members."""

Due = dict[Part, tuple[int, Callable[[int], bool]]]
"""By part: which bits of a state say whether something is due for it, and a test of them."""


class StandardChecks:
    """The standard checks of what was reached of a composition."""

    def __init__(self, reached: Reached) -> None:
        self._reached = reached
        self._composition = reached.composition
        self._system = reached.composition.system
        self._receptions = Receptions(reached.composition)

    def no_deadlock(self) -> Verdict:
        """Every state in which nothing can happen is one in which every member has ended.

        Why it matters: in a deadlock all members wait, each for a message that nobody will send. A
        session that runs ends there as stuck.

        What to do: the trace leads to the state, and says what each member waits for. Give one of
        them a row that sends, or let another send what it waits for.

        >>> import pxp_fsm as pxp
        >>> row = {"from": "WAIT", "to": "END", "receive": "GO"}
        >>> a = pxp.build_automaton("a", [row], final=["END"])
        >>> row = {"from": "WAIT", "to": "END", "receive": "GO"}
        >>> b = pxp.build_automaton("b", [row], final=["END"])
        >>> [result] = pxp.check(pxp.System(a=a, b=b), "no-deadlock")
        >>> print(result.status, result.verdict.explanation)  # doctest: +NORMALIZE_WHITESPACE
        FAILS a waits in WAIT for GO: nobody sends GO; b waits in WAIT for GO: nobody sends GO:
        (at once, before any step)
        """
        states, ended = self._reached.states, self._composition.ended
        dead = (int(n) for n in self._reached.ends if not ended(int(states[n])))
        verdict = self._never(number := next(dead, None))
        if number is None:
            return verdict
        stopped = Options(self._composition).deadlock(int(states[number]))
        return replace(verdict, waiting=stopped.waiting if stopped else ())

    def no_unspecified_reception(self) -> Verdict:
        """Whatever can be sent is received, there and then or after waiting.

        Why it matters: the sender has decided, and the receiver has no row for the message. It is
        the most frequent fault of a protocol: two tables that name a message differently, or a
        reply that was forgotten.

        What to do: add a row to the receiver's state, or remove the row that sends.

        >>> import pxp_fsm as pxp
        >>> row = {"from": "IDLE", "to": "END", "send": "HELLO"}
        >>> a = pxp.build_automaton("a", [row], final=["END"])
        >>> row = {"from": "IDLE", "to": "END", "receive": "HALLO"}
        >>> b = pxp.build_automaton("b", [row], final=["END"])
        >>> [result] = pxp.check(pxp.System(a=a, b=b), "no-unspecified-reception")
        >>> print(result.status, result.verdict.explanation)
        FAILS a sends HELLO; b in IDLE does not receive it: (at once, before any step)
        """
        earliest = self._first(self._receptions.unspecified())
        if not self._reached.cut:
            waiting = self._waits_for_ever()
            earliest = min(
                (number for number in (earliest, waiting) if number is not None), default=None
            )
        return self._never(earliest)

    def no_orphan_message(self) -> Verdict:
        """Nothing is left, or can be sent, for a member that has ended.

        Why it matters: a message to a member that is gone is lost, and whoever sent it believes
        that it was read.

        What to do: let the receiver end later, or the sender end with it.

        >>> import pxp_fsm as pxp
        >>> a = pxp.build_automaton(
        ...     "a",
        ...     [
        ...         {"from": "IDLE", "to": "MORE", "send": "ONE"},
        ...         {"from": "MORE", "to": "END", "send": "TWO"},
        ...     ],
        ...     final=["END"],
        ... )
        >>> row = {"from": "IDLE", "to": "END", "receive": "ONE"}
        >>> b = pxp.build_automaton("b", [row], final=["END"])
        >>> [result] = pxp.check(pxp.System(a=a, b=b), "no-orphan-message")
        >>> print(result.status, result.verdict.explanation)
        FAILS a sends TWO; b in END does not receive it: a>b ONE
        """
        return self._never(self._first(self._receptions.orphans()), ended=True)

    def nothing_sent_after_the_end(self) -> Verdict:
        """A member in an end state has no row that sends.

        Why it matters: an end that is left again is none. Members that count on it, and sessions
        that are closed there, miss what follows.

        What to do: take the state from `final`, or the row from the table.

        >>> import pxp_fsm as pxp
        >>> a = pxp.build_automaton(
        ...     "a",
        ...     [
        ...         {"from": "IDLE", "to": "END", "send": "ONE"},
        ...         {"from": "END", "to": "END", "send": "MORE"},
        ...     ],
        ...     final=["END"],
        ... )
        >>> b = pxp.build_automaton(
        ...     "b",
        ...     [
        ...         {"from": "IDLE", "to": "END", "receive": "ONE"},
        ...         {"from": "END", "to": "END", "receive": "MORE"},
        ...     ],
        ...     final=["END"],
        ... )
        >>> [result] = pxp.check(pxp.System(a=a, b=b), "nothing-sent-after-the-end")
        >>> print(result.status, result.verdict.explanation)
        FAILS a>b ONE
        """
        return self._never(self._first(self._talking_on()), told=False)

    def can_always_end(self) -> Verdict:
        """From every reachable state some run leads to where every member has ended.

        Why it matters: the protocol can get to where it moves, and will never end, whatever anybody
        does. No deadlock shows it, because something still happens.

        What to do: the trace leads to the first such state. Give it a way out: a row that leads
        back, or to an end.

        >>> import pxp_fsm as pxp
        >>> a = pxp.build_automaton(
        ...     "a",
        ...     [
        ...         {"from": "IDLE", "to": "END", "send": "ONE"},
        ...         {"from": "IDLE", "to": "LOST", "send": "BAD"},
        ...         {"from": "LOST", "to": "LOST", "send": "BAD"},
        ...     ],
        ...     final=["END"],
        ... )
        >>> b = pxp.build_automaton(
        ...     "b",
        ...     [
        ...         {"from": "IDLE", "to": "END", "receive": "ONE"},
        ...         {"from": "IDLE", "to": "IDLE", "receive": "BAD"},
        ...     ],
        ...     final=["END"],
        ... )
        >>> [result] = pxp.check(pxp.System(a=a, b=b), "end-reachable-from-everywhere")
        >>> print(result.status, result.verdict.explanation)
        FAILS a>b BAD
        """
        if self._reached.cut:
            return Verdict(Status.UNKNOWN, self._reached.cut)
        ended = self._reached.all_marks(
            (field.bits, partial(self._has_ended, place))
            for place, field in enumerate(self._composition.encoding.fields)
        )
        can = self._reached.leading_to(ended)
        missing = can.find(0)
        verdict = self._never(None if missing < 0 else missing)
        return replace(verdict, impossible=verdict.status is Status.FAILS)

    def no_dead_row(self) -> Verdict:
        """Every row of every member is taken in some run.

        Why it matters: a row that no run takes was written for a case that cannot occur, or that
        another fault hides.

        What to do: remove the row, or add what is to send its message.

        >>> import pxp_fsm as pxp
        >>> row = {"from": "IDLE", "to": "END", "send": "YES"}
        >>> a = pxp.build_automaton("a", [row], final=["END"])
        >>> b = pxp.build_automaton(
        ...     "b",
        ...     [
        ...         {"from": "IDLE", "to": "END", "receive": "YES"},
        ...         {"from": "IDLE", "to": "END", "receive": "NO"},
        ...     ],
        ...     final=["END"],
        ... )
        >>> [result] = pxp.check(pxp.System(a=a, b=b), "no-dead-row")
        >>> print(result.status, result.verdict.explanation)
        FAILS never taken: row 2 of b (IDLE -NO)
        """
        rows = [
            (place, row)
            for place, member in enumerate(self._system.members)
            for row in member.automaton.transitions
        ]
        taken = {self._kind_of(*pair) for pair in self._taken()}
        dead = [self._row_in_words(*pair) for pair in rows if self._kind_of(*pair) not in taken]
        if not dead:
            return Verdict(Status.HOLDS)
        if self._reached.cut:
            return Verdict(Status.UNKNOWN, self._reached.cut)
        return Verdict(Status.FAILS, f"never taken: {', '.join(dict.fromkeys(dead))}")

    def _taken(self) -> Iterator[tuple[int, Transition]]:
        """Every row that is taken, with its member."""
        composition = self._composition
        for unit in composition.units:
            own = composition.encoding.fields[unit.member]
            for part in self._reached.parts(own.bits | unit.other.bits):
                if own.of(part) in unit.rows:
                    for move in unit.at(own.of(part), unit.other.of(part)):
                        yield from move.rows
        for place, field in enumerate(composition.encoding.fields):
            there = {field.of(part) for part in self._reached.parts(field.bits)}
            decided = (row for row in composition.decisions(place))
            yield from (
                (place, row)
                for row in decided
                if composition.encoding.numbers[place][row.source] in there
            )
        for members in composition.events.values():
            for place, rows in members.items():
                field = composition.encoding.fields[place]
                there = {field.of(part) for part in self._reached.parts(field.bits)}
                yield from ((place, row) for number, row in rows.items() if number in there)

    def _kind_of(self, place: int, row: Transition) -> tuple[object, ...]:
        """What a row shares with those that are it by another name, where symmetry is used."""
        partner = self._alike[self._system.places[row.partner]] if row.partner else ""
        source, target = (self._written[place].get(at, at) for at in (row.source, row.target))
        return (self._alike[place], source, row.kind, written(row.label), target, partner)

    @cached_property
    def _written(self) -> tuple[dict[str, str], ...]:
        """By member, the states of an unfolded table as the table is written: a row is taken where
        it is taken with some registers."""
        return tuple(
            {state.name: state.base for state in member.automaton.states if state.base}
            for member in self._system.members
        )

    @cached_property
    def _alike(self) -> tuple[int, ...]:
        """For each member one that stands for it: itself, where symmetry is not used."""
        representatives = list(range(len(self._system.members)))
        if isinstance(self._reached.reduction, Symmetry):
            for alike in self._reached.reduction.classes:
                for place in alike:
                    representatives[place] = alike[0]
        return tuple(representatives)

    def _never(self, number: int | None, *, told: bool = True, ended: bool = False) -> Verdict:
        """FAILS with a trace to the state with this number, if any, and what is not received."""
        if number is None:
            cut = self._reached.cut
            return Verdict(Status.UNKNOWN, cut) if cut else Verdict(Status.HOLDS)
        state = int(self._reached.states[number])
        unreceived = self._receptions.unreceived(state, ended=ended) if told else ()
        trace = shown(self._composition, self._reached.trace_to(number))
        return Verdict(Status.FAILS, trace=trace, unreceived=unreceived)

    def _first(self, wrong: Iterable[Parts]) -> int | None:
        """The number of the first state that is wrong in all of some parts."""
        first = (self._reached.all_marks(parts).find(1) for parts in wrong)
        return min((number for number in first if number >= 0), default=None)

    def progress(self) -> Verdict:
        """A member that waits to receive can receive in some run.

        Why it matters: asked of systems without an end, in which others may go on for ever while
        one member starves.

        What to do: let somebody send what the member waits for, or let it receive what is sent.

        >>> import pxp_fsm as pxp
        >>> a = pxp.build_automaton(
        ...     "a",
        ...     [
        ...         {"from": "IDLE", "to": "BUSY", "send": "STOP"},
        ...         {"from": "BUSY", "to": "BUSY", "send": "PING"},
        ...     ],
        ... )
        >>> b = pxp.build_automaton(
        ...     "b",
        ...     [
        ...         {"from": "IDLE", "to": "WAIT", "receive": "STOP"},
        ...         {"from": "WAIT", "to": "WAIT", "receive": "GO"},
        ...     ],
        ... )
        >>> [result] = pxp.check(pxp.System(a=a, b=b), "progress")
        >>> print(result.status, result.verdict.explanation)
        FAILS a sends PING; b in WAIT does not receive it: a>b STOP
        """
        waits: Due = {
            (place,): (field.bits, partial(self._receptions.waits, place))
            for place, field in enumerate(self._composition.encoding.fields)
        }
        return self._comes_about(waits, lambda move, part: _receives(move, *part))

    def eventual_reception(self) -> Verdict:
        """What is on its way can be received in some run.

        Why it matters: asked of systems without an end. A message that stays in a buffer blocks
        those behind it.

        What to do: let the receiver have a row for it in the states that it can come to.

        >>> import pxp_fsm as pxp
        >>> a = pxp.build_automaton(
        ...     "a",
        ...     [
        ...         {"from": "IDLE", "to": "BUSY", "send": "STOP"},
        ...         {"from": "BUSY", "to": "BUSY", "send": "PING"},
        ...     ],
        ... )
        >>> b = pxp.build_automaton(
        ...     "b",
        ...     [
        ...         {"from": "IDLE", "to": "WAIT", "receive": "STOP"},
        ...         {"from": "WAIT", "to": "WAIT", "receive": "GO"},
        ...     ],
        ... )
        >>> [result] = pxp.check(pxp.System(a=a, b=b), "eventual-reception", channels=["fifo:1"])
        >>> print(result.status, result.verdict.explanation)
        FAILS a>b +STOP, a>b -STOP, a>b +PING
        """
        encoding = self._composition.encoding
        filled: Due = {
            link: (buffer.bits, lambda state, buffer=buffer: buffer.of(state) > 0)  # type: ignore[misc] # mypy sees no default in a lambda
            for link, buffer in zip(encoding.links, encoding.buffers, strict=True)
        }
        names = [member.name for member in self._system.members]

        def delivers(move: Move, part: Part) -> bool:
            action = move.action
            link = tuple(names[place] for place in part)
            return isinstance(action, Deliver) and (action.sender, action.receiver) == link

        return self._comes_about(filled, delivers)

    def _comes_about(
        self,
        due: Due,
        done: Callable[[Move, Part], bool],
    ) -> Verdict:
        """For each part: where something is due (a test of these bits), a run leads to its move."""
        if self._reached.cut:
            return Verdict(Status.UNKNOWN, self._reached.cut)
        return self._never(self._never_done(due, done))

    def _never_done(
        self,
        due: Due,
        done: Callable[[Move, Part], bool],
    ) -> int | None:
        """The first state in which something is due for a part that no run does."""
        reached, firsts = self._reached, list[int]()
        if isinstance(reached.reduction, Symmetry):
            return self._never_done_among_equals(reached.reduction, due, done)
        for part, (mask, is_due) in due.items():
            due_now = int.from_bytes(reached.marks(mask, is_due))
            if due_now:
                can = int.from_bytes(reached.leading_to(self._enabling(part, done)))
                firsts.append((due_now & ~can).to_bytes(len(reached.states)).find(1))
        return min((number for number in firsts if number >= 0), default=None)

    def _enabling(self, part: Part, done: Callable[[Move, Part], bool]) -> bytearray:
        """For each state a 1 where a move that is `done` for the part can be made."""
        composition, enabling = self._composition, 0
        for unit in composition.units:
            own, other = composition.encoding.fields[unit.member], unit.other

            def enables(state: int, unit: LinkRows = unit, own: BitField = own) -> bool:
                number = own.of(state)
                return number in unit.rows and any(
                    done(move, part) for move in unit.at(number, unit.other.of(state))
                )

            if any(place in part for place in self._places(unit)):
                enabling |= int.from_bytes(self._reached.marks(own.bits | other.bits, enables))
        return bytearray(enabling.to_bytes(len(self._reached.states)))

    def _places(self, unit: LinkRows) -> tuple[int, ...]:
        """The members that move by a unit."""
        if unit.link is not None:
            return (unit.member,)
        return (unit.member, self._composition.encoding.fields.index(unit.other))

    def _waits_for_ever(self) -> int | None:
        """The first state in which a member has a message that it cannot send in any run."""
        encoding = self._composition.encoding
        bound: Due = {
            (place,): (field.bits, partial(encoding.is_bound, place))
            for place, field in enumerate(encoding.fields)
            if encoding.chosen[place]
        }
        return self._never_done(bound, lambda move, part: _moves(move, *part))

    def _never_done_among_equals(
        self,
        symmetry: Symmetry,
        due: Due,
        done: Callable[[Move, Part], bool],
    ) -> int | None:
        """The same, where a part is followed by other numbers if a renaming moves its members."""
        waiting = dict[tuple[int, Part], int]()
        before = dict[tuple[int, Part], list[tuple[int, Part]]]()
        left = list[tuple[int, Part]]()
        for part, (mask, is_due) in due.items():
            marks = self._reached.marks(mask, is_due)
            for number in (number for number, mark in enumerate(marks) if mark):
                waiting[int(self._reached.states[number]), part] = number
        for state, part in waiting:
            for move in self._composition.moves(state):
                if done(move, part):
                    left.append((state, part))
                else:
                    target, renaming = symmetry.standing_for(state + move.difference)
                    now = tuple(renaming[place] for place in part)
                    before.setdefault((target, now), []).append((state, part))
        sent = set(left)
        while left:
            for node in before.get(left.pop(), ()):
                if node not in sent:
                    sent.add(node)
                    left.append(node)
        return min((number for node, number in waiting.items() if node not in sent), default=None)

    def _talking_on(self) -> Iterator[Parts]:
        for place, field in enumerate(self._composition.encoding.fields):
            yield ((field.bits, partial(self._talks_on, place)),)

    def _has_ended(self, place: int, state: int) -> bool:
        field = self._composition.encoding.fields[place]
        return field.of(state) in self._composition.finals[place]

    def _talks_on(self, place: int, state: int) -> bool:
        number = self._composition.encoding.fields[place].of(state)
        rows = self._composition.leaving(place, number)
        ended = number in self._composition.finals[place]
        return ended and any(row.kind is Kind.SEND for row in rows)

    def _row_in_words(self, place: int, row: Transition) -> str:
        source = self._written[place].get(row.source, row.source)
        action = replace(row, label=written(row.label)).action
        return f"row {row.row} of {self._system.members[place].name} ({source} {action})"


def _receives(move: Move, place: int) -> bool:
    return any(taken == place and row.kind is Kind.RECEIVE for taken, row in move.rows)


def _moves(move: Move, place: int) -> bool:
    return any(taken == place for taken, _ in move.rows)


def _always(_system: System) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class StandardCheck:
    """A standard check: what it says, how it is decided, and of which systems it is asked."""

    title: str
    decide: Callable[[StandardChecks], Verdict]
    applies: Callable[[System], bool] = _always


NO_DEADLOCK = "no-deadlock"
PROGRESS, EVENTUAL_RECEPTION = "progress", "eventual-reception"

RECEPTION = {
    EVENTUAL_RECEPTION: "whatever is sent can be received later",
    PROGRESS: "whoever waits for a message can receive one later",
}
"""What safety means over channels of any capacity (Lange and Yoshida, CAV 2019, Definition 3)."""


def applying(system: System) -> tuple[str, ...]:
    """The standard checks that are asked of `system`, by name."""
    return tuple(name for name, check in STANDARD.items() if check.applies(system))


STANDARD: Mapping[str, StandardCheck] = {
    NO_DEADLOCK: StandardCheck(
        "no reachable state is without a step before the end", StandardChecks.no_deadlock
    ),
    "no-unspecified-reception": StandardCheck(
        "what is sent can be taken, there and then or after waiting",
        StandardChecks.no_unspecified_reception,
    ),
    "no-orphan-message": StandardCheck(
        "nothing is left for a member that has ended", StandardChecks.no_orphan_message
    ),
    "nothing-sent-after-the-end": StandardCheck(
        "a member that has ended sends nothing",
        StandardChecks.nothing_sent_after_the_end,
        lambda system: any(member.automaton.final for member in system.members),
    ),
    END_REACHABLE: StandardCheck(
        TERMINATION[END_REACHABLE], StandardChecks.can_always_end, lambda system: system.can_end
    ),
    PROGRESS: StandardCheck(
        RECEPTION[PROGRESS], StandardChecks.progress, lambda system: not system.can_end
    ),
    EVENTUAL_RECEPTION: StandardCheck(
        RECEPTION[EVENTUAL_RECEPTION],
        StandardChecks.eventual_reception,
        lambda system: not system.can_end,
    ),
    "no-dead-row": StandardCheck("every row can be taken", StandardChecks.no_dead_row),
}
"""The standard checks by name. Of a system that never ends, progress and eventual reception are
asked instead of what is about its end."""
