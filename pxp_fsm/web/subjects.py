"""What is explored: tables, a system file, or a stored session, as values that processes share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from backends.databases import FAULTS, SqlBlackboard, StoredSession
from backends.databases.records import stored_system
from proofs.systems import Composition
from proofs.systems.paths import Choices, choices_of, states_along
from pxp_fsm.automata.actions import Exchange, External, SystemAction
from pxp_fsm.automata.channels import parse_channel
from pxp_fsm.automata.serialization import canonical_json
from pxp_fsm.automata.system import Member, System
from pxp_fsm.automata.system_files import Property, is_system_file, read_system
from pxp_fsm.automata.tables import builtin, stored_automaton
from pxp_fsm.experiments.drawings import check_table
from pxp_fsm.sessions.session import CLOSE


@dataclass(frozen=True, slots=True)
class Subject:
    """A system by value: its members' names and tables (as JSON), its channel, and what it must do.

    `choices` is the trace that a page begins with.
    """

    members: tuple[tuple[str, str], ...]
    channel: str
    properties: tuple[Property, ...] = ()
    choices: Choices = ()

    def system(self) -> System:
        """The system itself."""
        members = (Member(name, stored_automaton(table)) for name, table in self.members)
        return System(tuple(members), parse_channel(self.channel))


def subject_of(
    system: System, properties: Sequence[Property] = (), actions: Iterable[SystemAction] = ()
) -> Subject:
    """`system` as a subject; a page begins after `actions`, which raise `Refused` where they cannot
    happen."""
    return Subject(
        tuple((one.name, canonical_json(one.automaton)) for one in system.members),
        system.channel.name,
        tuple(properties),
        choices_of(Composition(system), actions),
    )


def subject_in(tables: Sequence[str], channel: str | None) -> Subject:
    """The system of tables, or in a system file with the properties that it demands.

    Raises `TableError` or `UsageError`.
    """
    system = System.load(*tables, channel=channel)
    properties: tuple[Property, ...] = ()
    if len(tables) == 1 and is_system_file(tables[0]):
        properties = read_system(tables[0]).properties
    return subject_of(system, properties)


def subject_recorded(session: str, database: str) -> Subject:
    """The system of a stored session, with what happened in it as the trace.

    Raises `NotThere` where there is no such session, `UsageError` where its table was another one.
    """
    with SqlBlackboard(database, create=False) as board:
        stored = board.session(session)
    if stored.record.channel:
        system = stored_system(stored.record.members, stored.record.channel)
        return subject_of(system, (), (one.action for one in stored.actions))
    return _of_protocol(stored)


def _of_protocol(stored: StoredSession) -> Subject:
    """A session of INTERACT or PXP: each message is sent and received in one step."""
    record = stored.record
    check_table(record)
    table = builtin(record.automaton)
    system = System(tuple(Member(name, table) for name, _ in record.agents))
    actions: list[SystemAction] = [
        Exchange(one.sender, one.receiver, one.tag) for one in stored.history
    ]
    subject, close = subject_of(system, (), actions), External(CLOSE)
    if record.ending is None or record.ending in FAULTS:
        return subject
    composition = Composition(system)
    here = states_along(composition, subject.choices)[-1]
    if any(move.action == close for move in composition.moves(here)):
        return subject_of(system, (), [*actions, close])  # the schedule closed it
    return subject
