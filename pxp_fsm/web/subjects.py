"""What is explored: the system of tables or of a system file, as a value that processes share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from proofs.systems import Composition
from proofs.systems.paths import Choices, choices_of
from pxp_fsm import defaults
from pxp_fsm.automata.actions import SystemAction
from pxp_fsm.automata.channels import parse_channel
from pxp_fsm.automata.serialization import canonical_json
from pxp_fsm.automata.system import Member, System
from pxp_fsm.automata.system_files import is_system_file, read_system
from pxp_fsm.automata.table_files import Property
from pxp_fsm.automata.tables import stored_automaton
from pxp_fsm.errors import Refused
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.rules import Interact, Pxp, Rules


@dataclass(frozen=True, slots=True)
class SystemSubject:
    """A system by value: its members' names and tables (as JSON), its channel, and what it must do.

    `choices` is the trace that a page begins with; `bounds` are n and k of sessions of a protocol;
    `free_names` says that members may be called by any text.
    """

    members: tuple[tuple[str, str], ...]
    channel: str
    properties: tuple[Property, ...] = ()
    choices: Choices = ()
    bounds: tuple[int | None, int | None] = (defaults.N, None)
    free_names: bool = False

    @property
    def protocol(self) -> str:
        """The protocol that two members follow in one step a message; "" where it is none."""
        tables = [stored_automaton(table) for _, table in self.members]
        (first, *others), known = tables, ("interact", "pxp")
        alike = len(others) == 1 and others[0].fingerprint == first.fingerprint
        return first.name if alike and self.channel == "sync" and first.name in known else ""

    @property
    def rules(self) -> Rules:
        """The rules of the protocol that the two members follow.

        Raises `Refused` where they follow none, `UsageError` where the table is none of it.
        """
        (n, k), table = self.bounds, stored_automaton(self.members[0][1])
        if self.protocol == "interact":
            return Interact(n or defaults.N, k or defaults.K, table)
        if self.protocol == "pxp":
            return Pxp(k, table=table)
        raise Refused("these tables are none of a protocol that asks MATCH and AGREE")

    def system(self) -> System:
        """The system itself."""
        members = (Member(name, stored_automaton(table)) for name, table in self.members)
        channel = parse_channel(self.channel)
        return System(tuple(members), channel, free_names=self.free_names)


def subject_of(
    system: System, properties: Sequence[Property] = (), actions: Iterable[SystemAction] = ()
) -> SystemSubject:
    """`system` as a subject; a page begins after `actions`, which raise `Refused` where they cannot
    happen."""
    return SystemSubject(
        tuple((member.name, canonical_json(member.automaton)) for member in system.members),
        system.channel.name,
        tuple(properties),
        choices_of(Composition(system), actions),
        free_names=system.free_names,
    )


def subject_in(tables: Sequence[str], channel: str | None) -> SystemSubject:
    """The system of tables, or in a system file with the properties that it demands.

    Raises `TableError` or `UsageError`.
    """
    system = System.load(*tables, channel=channel)
    properties: tuple[Property, ...] = ()
    if len(tables) == 1 and is_system_file(tables[0]):
        properties = read_system(tables[0]).properties
    return subject_of(system, properties)
