"""What is explored: the system of tables or of a system file, as a value that processes share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from proofs.systems import Composition
from proofs.systems.intervals import by_rules
from proofs.systems.paths import Choices, choices_of
from pxp_fsm import defaults
from pxp_fsm.automata.actions import SystemAction
from pxp_fsm.automata.channels import parse_channel
from pxp_fsm.automata.serialization import canonical_json
from pxp_fsm.automata.system import Member, System
from pxp_fsm.automata.system_files import is_system_file, read_system
from pxp_fsm.automata.table_files import Property
from pxp_fsm.automata.tables import stored_automaton
from pxp_fsm.errors import Refused, UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.rules import Interact, Pxp, Rules

MOST_SHOWN = 1_000
"""Rows of a table whose registers are in its states, beyond which it is shown as it is written."""


@dataclass(frozen=True, slots=True)
class SystemSubject:
    """A system by value: its members' names and tables (as JSON), its channel, and what it must do.

    `choices` is the trace that a page begins with; `bounds` are n and k of sessions of a protocol;
    `free_names` says that members may be called by any text. With `parameters`, by name, its rules
    decide as far as they are known; None is a system that runs, or is explored as it is.
    """

    members: tuple[tuple[str, str], ...]
    channel: str
    properties: tuple[Property, ...] = ()
    choices: Choices = ()
    bounds: tuple[int | None, int | None] = (defaults.N, None)
    free_names: bool = False
    parameters: tuple[tuple[str, int | bool | str], ...] | None = None

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
        """The system as a page shows it: by its rules, where that is not too large to be shown."""
        written = self.written()
        if self.parameters is None:
            return written
        try:
            ruled = by_rules(written, dict(self.parameters)).system
        except UsageError:  # a check says what is wrong
            return written
        sizes = (len(member.automaton.transitions) for member in ruled.members)
        return ruled if max(sizes) <= MOST_SHOWN else written

    def written(self) -> System:
        """The system as its tables are written."""
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
    parameters: Mapping[str, int | bool | str] = {}
    if len(tables) == 1 and is_system_file(tables[0]):
        file = read_system(tables[0])
        properties, parameters = file.properties, file.parameters
    return replace(subject_of(system, properties), parameters=tuple(parameters.items()))
