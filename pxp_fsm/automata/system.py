"""Systems: several members, each a table with a name, and who can talk to whom."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from itertools import chain, groupby, pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pxp_fsm import registry
from pxp_fsm.automata.automaton import Automaton, Kind, Transition
from pxp_fsm.automata.channels import SYNCHRONOUS, Channel, parse_channel
from pxp_fsm.automata.expressions import INT
from pxp_fsm.automata.message_values import MessageValues, message_values
from pxp_fsm.automata.rules import Parameter, value_problem
from pxp_fsm.automata.soundness import UNRECEIVED, check_peers
from pxp_fsm.automata.system_files import SystemFile, in_table, is_system_file, read_system
from pxp_fsm.automata.table_files import name_problem
from pxp_fsm.automata.tables import automaton_of, format_of, load_automaton, table_called
from pxp_fsm.automata.unfolding import running, stored_answers, unfolded, written
from pxp_fsm.documents import located, text_of
from pxp_fsm.errors import Fault, TableError, UsageError
from pxp_fsm.lazy_dataclasses import dataclass

NAME = re.compile(r"[^\W\d_]\w{0,63}")
"""What a member may be called: as rows can name it."""

NO_MEMBER, OTHER_PEER = "no-member", "other-peer"
"""Kinds of faults: a row's partner, or a table's peer, is not among the members."""

_NAMED = re.compile(rf"({NAME.pattern})=(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Member:
    """One of a system's agents: its name there, and the table that it follows."""

    name: str
    automaton: Automaton


@dataclass(frozen=True, repr=False, init=False)
class System:
    """Two or more members that talk to each other over a channel.

    >>> import pxp_fsm as pxp
    >>> pxp.System.load("pxp", channel="fifo:2")
    <System pxp1, pxp2 over fifo:2>

    A row that sends and names no partner goes to any member that can take its tag in some state;
    one that receives and names none takes the tag from whoever sends it. Raises `TableError` with
    every fault: names that are used twice, partners that are no members, tags for which there is no
    receiver among several. What is probably a mistake, and has a meaning, is in `findings`.
    With `free_names` the members, two or one, may be called by any text, for no row names them and
    nothing of the system is exported: two agents of a session, whose rows may name partners
    elsewhere; a table that is carried out alone, by what happens from outside.
    """

    members: tuple[Member, ...]
    channel: Channel = SYNCHRONOUS
    free_names: bool = field(default=False, kw_only=True)
    located_findings: tuple[Fault, ...] | None = field(
        default=None, kw_only=True, compare=False, repr=False
    )

    def __init__(
        self,
        members: tuple[Member, ...] = (),
        channel: Channel | str = SYNCHRONOUS,
        *,
        free_names: bool = False,
        located_findings: tuple[Fault, ...] | None = None,
        **tables: Any,
    ) -> None:
        """The system of `members`, or of `tables` by the names of their members.

        A table is what `load_automaton` takes: `System(author="author.toml", order=machine)`.
        """
        if members and tables:
            raise UsageError("give the members of a system by their names, or as a tuple, not both")
        named = tuple(Member(name, load_automaton(table)) for name, table in tables.items())
        over = parse_channel(channel) if tables and isinstance(channel, str) else channel
        object.__setattr__(self, "members", members or named)
        object.__setattr__(self, "channel", over)
        object.__setattr__(self, "free_names", free_names)
        object.__setattr__(self, "located_findings", located_findings)
        self._check()

    @classmethod
    def load(cls, *tables: Any, channel: str | None = None) -> System:
        """The system in a system file, or of tables; one table alone is joined with itself.

        Each table is an automaton, a built-in name, a file, or NAME=FILE where a member is to be
        called so. `channel` replaces that of a system file; tables alone have "sync".

        Raises `TableError` for a table or a system that cannot be, `UsageError` for a channel.
        """
        over = None if channel is None else parse_channel(channel)
        alone = tables[0] if len(tables) == 1 else None
        form = format_of(Path(alone)) if isinstance(alone, str | Path) else None
        if form is not None and form.reads_system:
            text = text_of(Path(str(alone)), "a system", error=TableError)
            read: System = registry.load(form.read)(text, str(alone))
            return read if over is None else read.over(over)
        if len(tables) == 1 and is_system_file(tables[0]):
            return system_in(read_system(str(tables[0])), over)
        members, files = [], list[Path | None]()
        for argument in tables * 2 if len(tables) == 1 else tables:
            if not isinstance(argument, str | Path):
                members.append(("", automaton_of(argument)))
                files.append(None)
                continue
            match = _NAMED.fullmatch(str(argument))
            name, table = (match[1], match[2]) if match else ("", argument)
            members.append((name, load_automaton(table)))
            files.append(Path(table) if Path(table).is_file() else None)
        try:
            system = system_of(members, over or SYNCHRONOUS)
        except TableError as error:
            raise TableError(
                chain.from_iterable(_located(fault, files) for fault in error.faults)
            ) from None
        noted = chain.from_iterable(_located(finding, files) for finding in system.findings)
        return replace(system, located_findings=tuple(noted))

    def __repr__(self) -> str:
        return f"<System {self.name} over {self.channel.name}>"

    def over(self, channel: Channel | str) -> System:
        """The same members over another channel."""
        parsed = parse_channel(channel) if isinstance(channel, str) else channel
        return replace(self, channel=parsed)

    def with_parameters(self, values: Mapping[str, object]) -> System:
        """The system whose members decide and count by their rules, with these parameters.

        The registers are in the states (`unfolding.unfolded`), and messages have the values that
        rules read (`messages`). An oracle whose numbers are stored has an interval: `{"right":
        range(10)}`.

        >>> import pxp_fsm as pxp
        >>> system = pxp.System.load("m=interact", "h=interact")
        >>> [len(one.automaton.states) for one in system.with_parameters({"n": 2, "k": 1}).members]
        [20, 20]

        Raises `UsageError` for a parameter that no table has, as `unfolded` does, and for messages
        whose values are not known, or too many.
        """
        messages = self.messages(range(len(self.members)))
        return self._counting(values, partial(unfolded, messages=messages))

    def messages(self, ruled: Collection[int], *, bounded: bool = True) -> MessageValues:
        """What messages can carry, as far as the rules of the members with these numbers read it.

        Not `bounded` is a channel without a capacity. Raises `UnknownValues` where the values are
        not known, or too many.
        """
        routes = dict[str, list[tuple[int, int]]]()
        for place, member in enumerate(self.members):
            for row in member.automaton.transitions:
                for other in self.partners(place, row) if row.kind is Kind.SEND else ():
                    routes.setdefault(row.label, []).append((place, other))
        room = {link: self.channel_of(link).capacity for link in self.links} if bounded else None
        tables = [member.automaton for member in self.members]
        return message_values(tables, ruled, routes, room)

    def _counting(
        self,
        values: Mapping[str, object],
        made: Callable[[Automaton, Mapping[str, object]], Automaton],
    ) -> System:
        self.check_given(values)
        members = (
            replace(member, automaton=made(member.automaton, settable(member.automaton, values)))
            for member in self.members
        )
        return replace(self, members=tuple(members))

    def by_rules(self, values: Mapping[str, object] = MappingProxyType({})) -> System:
        """The system as a session runs it: `with_parameters`, or itself where no table counts.

        A table whose updates read what messages carry keeps its registers beside its states
        (`unfolding.running`). Guards by themselves are decided by the members, who may be asked to
        follow the rules.

        Raises `UsageError` as `with_parameters` does, and for a table that stores what oracles say.
        """
        for member in self.members:
            made = member.automaton.unfolding
            for name, oracles in stored_answers(made.table if made else member.automaton).items():
                raise UsageError(
                    f"{member.automaton.name}: {name} becomes what the oracle {', '.join(oracles)} "
                    f"says; tables like this are explored, and no session runs them"
                )
        counts = any(member.automaton.counts for member in self.members)
        return self._counting(values, running) if counts or values else self

    def check_given(self, values: Mapping[str, object]) -> None:
        """Raise `UsageError` for a name that is no parameter of a table, and no oracle's."""
        known = {name for member in self.members for name in _names(member.automaton)}
        unknown = [name for name in values if name not in known]
        if unknown:
            there = ", ".join(sorted(known)) or "none"
            message = f"no table of {self.name} has a parameter {unknown[0]}; there are: {there}"
            raise UsageError(message, "parameters")

    def _check(self) -> None:
        if not isinstance(self.members, tuple) or not all(
            isinstance(member, Member) for member in self.members
        ):
            raise UsageError(
                "a system is made of tables by System.load: System.load(client, server), or "
                'System.load("author.toml", "hub=hub.toml")'
            )
        if any(member.automaton.unfolding for member in self.members):
            return  # unfolded: what the rules never let a member send need not be received
        if self.free_names:
            for left, right in pairwise(self.members):
                check_peers(left.automaton, right.automaton)
            return
        faults = _once(_problems_of_names(self)) or _once(_problems_of_parameters(self))
        faults = faults or _once(_problems_of_rows(self))
        faults = faults or tuple(_problems_of_links(self))
        if faults:
            raise TableError(faults)

    @property
    def can_end(self) -> bool:
        """Whether every member has an end state, as its table is written: with parameters, whether
        it can be reached is what is to be found out.
        """
        made = ((member.automaton, member.automaton.unfolding) for member in self.members)
        return all((table if of is None else of.table).final for table, of in made)

    @property
    def decides(self) -> str:
        """Who decides, in the words of results: rules where tables are unfolded, or anybody."""
        if not any(member.automaton.unfolding for member in self.members):
            return "free guards"
        free = any(member.automaton.counts for member in self.members)
        return "by rules, free guards" if free else "by rules"

    @property
    def name(self) -> str:
        """The members in words, with their table where it is called something else."""
        told = []
        for table, some in groupby(self.members, key=lambda member: member.automaton.name):
            names = [member.name for member in some]
            same = all(name.rstrip("0123456789") == table or name == table for name in names)
            told.append(", ".join(names) + ("" if same else f": {table}"))
        return "; ".join(told)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of what the system means.

        The hashed text is UTF-8: `channel NAME`, and one `NAME FINGERPRINT` a member, in order.
        """
        lines = [f"channel {self.channel.name}"]
        lines += [f"{member.name} {member.automaton.fingerprint}" for member in self.members]
        return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()

    @cached_property
    def places(self) -> dict[str, int]:
        """The number of each member, from 0, by its name."""
        return {member.name: place for place, member in enumerate(self.members)}

    def partners(self, place: int, row: Transition) -> tuple[int, ...]:
        """The members to which a row of member `place` may send, or from which it may receive."""
        partners = self._partners.get((place, row))
        if partners is None:
            partners = self._partners[place, row] = self._partners_of(place, row)
        return partners

    @cached_property
    def _partners(self) -> dict[tuple[int, Transition], tuple[int, ...]]:
        return {}

    def _partners_of(self, place: int, row: Transition) -> tuple[int, ...]:
        if row.kind is Kind.EVENT:
            return ()
        if row.partner:
            return (self.places[row.partner],) if row.partner in self.places else ()
        name, opposite, tag = self.members[place].name, _OPPOSITE[row.kind], written(row.label)
        others = tuple(other for other in range(len(self.members)) if other != place)
        # By the tables as they are written: who never comes to take it is sent it, too.
        made = [member.automaton.unfolding for member in self.members]
        tables = [
            member.automaton if of is None else of.table
            for member, of in zip(self.members, made, strict=True)
        ]
        receivers = tuple(
            other
            for other in others
            if any(
                t.kind is opposite and t.label == tag and t.partner in ("", name)
                for t in tables[other].transitions
            )
        )
        # Of two members, what nobody receives can only be sent to the other one.
        return others if not receivers and row.kind is Kind.SEND and len(others) == 1 else receivers

    @cached_property
    def findings(self) -> tuple[Fault, ...]:
        """What is probably a mistake in the tables, or in how they are joined: each says where, and
        what to do. A table that is joined with itself alone has found its own unreceived tags.
        """
        if self.located_findings is not None:
            return self.located_findings
        tables = {member.automaton.fingerprint: member.automaton for member in self.members}
        own = [
            fault
            for table in tables.values()
            for fault in table.findings
            if fault.kind != UNRECEIVED or len(tables) == 1
        ]
        unreceived = {fault.value for fault in own if fault.kind == UNRECEIVED}
        unheard = [fault for fault in _unheard_rows(self) if fault.value not in unreceived]
        return _once(iter([*own, *unheard]))

    @cached_property
    def links(self) -> tuple[tuple[int, int], ...]:
        """Every pair of members, sender and receiver, between which something may be sent."""
        links = {
            (place, other)
            for place, member in enumerate(self.members)
            for row in member.automaton.transitions
            if row.kind is Kind.SEND
            for other in self.partners(place, row)
        }
        return tuple(sorted(links))

    def channel_of(self, link: tuple[int, int]) -> Channel:
        """The channel of a link, of `links`."""
        sender, receiver = link
        return self.channel.of(self.members[sender].name, self.members[receiver].name)

    @cached_property
    def events(self) -> tuple[str, ...]:
        """The events from outside for which some member has a row."""
        labels = (
            row.label
            for member in self.members
            for row in member.automaton.transitions
            if row.kind is Kind.EVENT and row.guard is None
        )
        return tuple(dict.fromkeys(labels))

    def event_problem(self, label: str) -> str | None:
        """Why nobody can raise the event `label`; None where some member has it.

        It may have it in its table alone, where the parameters let it never happen.
        """
        made = (member.automaton.unfolding for member in self.members)
        written = (
            row
            for unfolding in made
            if unfolding is not None
            for row in unfolding.table.transitions
        )
        if label in self.events or any(
            (row.kind, row.guard, row.label) == (Kind.EVENT, None, label) for row in written
        ):
            return None
        there = ", ".join(self.events) or "none"
        return f"no member has an event {label!r} from outside; there are: {there}"

    def choosable(self, place: int) -> tuple[Transition, ...]:
        """The rows of member `place` whose guard it may settle before it can send.

        Over a buffer these are the rows of states that have another way on, which does not wait for
        the same buffers: else it is the same to wait first and to choose then.
        """
        return self._choosable[place]

    @cached_property
    def _choosable(self) -> tuple[tuple[Transition, ...], ...]:
        return tuple(tuple(self._settled_ahead(place)) for place in range(len(self.members)))

    def _settled_ahead(self, place: int) -> Iterator[Transition]:
        table = self.members[place].automaton
        for state in table.states:
            rows = table.leaving(state.name)
            deciding = [row for row in rows if row.kind is Kind.SEND and row.guard is not None]
            ways = {self.partners(place, row) for row in deciding}
            if self.channel.synchronous or len(deciding) < len(rows) or len(ways) > 1:
                yield from (row for row in deciding if not self._may_lose(place, row))

    def _may_lose(self, place: int, row: Transition) -> bool:
        """Whether a row that sends never waits, since the message may be lost instead."""
        return any(self.channel_of((place, other)).lossy for other in self.partners(place, row))

    @cached_property
    def stops(self) -> bool:
        """Whether nothing happens any more where a message has been chosen that cannot be sent.

        Of two members that meet there is nobody else whose steps could lead to where it can.
        """
        return self.channel.synchronous and len(self.members) == 2

    def taken(self, sender: int, receiver: int, state: str, tag: str) -> Transition | None:
        """The row by which `receiver`, in `state`, takes `tag` from `sender`, if it has one."""
        return self.members[receiver].automaton.receives(state, tag, self.members[sender].name)


def settable(automaton: Automaton, values: Mapping[str, object]) -> dict[str, object]:
    """What is `values` of a table: its parameters, and intervals of numbers that are asked."""
    return {name: values[name] for name in _names(automaton) if name in values}


def _names(automaton: Automaton) -> list[str]:
    numbers = (oracle.name for oracle in automaton.rules.oracles if oracle.type == INT)
    return [*(parameter.name for parameter in automaton.rules.parameters), *numbers]


_OPPOSITE = {Kind.SEND: Kind.RECEIVE, Kind.RECEIVE: Kind.SEND}


def system_in(file: SystemFile, channel: Channel | None = None) -> System:
    """The system that a file describes, over its own channel or another.

    Raises `TableError` with the file and line of each fault.
    """
    try:
        system = system_of(
            [(member.name, member.automaton) for member in file.members], channel or file.channel
        )
    except TableError as error:
        raise TableError(file.located(error.faults)) from None
    problems = {label: system.event_problem(label) for label in file.events}
    faults = [Fault(("events", label), problem) for label, problem in problems.items() if problem]
    faults += _problems_of_given(system, file.parameters)
    if faults:
        raise TableError(file.located(faults))
    return replace(system, located_findings=tuple(file.located(system.findings)))


def running_system(file: SystemFile) -> System:
    """The system of a file as it runs: by the rules of its tables, with the file's parameters.

    Raises `TableError` with file and line where a parameter is missing, and as `system_in` does.
    """
    system = system_in(file)
    needed = {
        parameter.name
        for member in system.members
        for parameter in member.automaton.rules.parameters
    }
    missing = sorted(needed - file.parameters.keys())
    if missing:
        message = (
            f"the tables count with the parameter {missing[0]}; add it: "
            f"[parameters], {missing[0]} = ..."
        )
        raise TableError(file.located([Fault(("parameters",), message)]))
    return system.by_rules(file.parameters)


def _problems_of_given(system: System, values: Mapping[str, object]) -> Iterator[Fault]:
    """Parameters that no table has, or that do not fit."""
    known = {
        parameter.name: parameter
        for member in system.members
        for parameter in member.automaton.rules.parameters
    }
    for name, value in values.items():
        if name not in known:
            there = ", ".join(sorted(known)) or "none"
            message = f"no table of the system has a parameter {name}; there are: {there}"
            yield Fault(("parameters", name), message)
            continue
        problem = value_problem(value, known[name].type, known[name].minimum)
        if problem is not None:
            yield Fault(("parameters", name), f"{name} {problem}")


def _located(fault: Fault, files: Sequence[Path | None]) -> Iterator[Fault]:
    """A fault of a member's table with the line of its file, and the file of a partner who lacks.

    Names and channels are given beside the tables.
    """
    if fault.file:
        yield fault
        return
    of_table = fault.path[2:3] in (("rows",), ("table",))
    file = files[int(fault.path[1])] if of_table else None
    if file is None:
        yield fault
        return
    hint = table_called(fault.value, file) if fault.kind in (NO_MEMBER, OTHER_PEER) else ""
    hinted = replace(fault, message=f"{fault.message}; {hint}" if hint else fault.message)
    if fault.path[2] == "rows":
        yield from in_table(file, hinted, int(fault.path[3]))
    else:
        text = text_of(file, "a table", error=TableError)
        yield from located((replace(hinted, path=("peer",)),), text, str(file))


def is_named(text: str) -> bool:
    """Whether a table is given with the name of a member (NAME=TABLE)."""
    return _NAMED.fullmatch(text) is not None


def system_of(members: Sequence[tuple[str, Automaton]], channel: Channel = SYNCHRONOUS) -> System:
    """A system of tables with their names; where a name is "" the table's, numbered if need be.

    Raises `TableError` as `System` does.
    """
    chosen = Counter(name for name, _ in members if name)
    own = Counter(automaton.name for name, automaton in members if not name)
    seen: Counter[str] = Counter()
    numbered = []
    for name, automaton in members:
        if name:
            numbered.append(Member(name, automaton))
            continue
        seen[automaton.name] += 1
        twice = own[automaton.name] > 1 or automaton.name in chosen
        number = str(seen[automaton.name]) if twice else ""
        numbered.append(Member(automaton.name + number, automaton))
    return System(tuple(numbered), channel)


def _once(faults: Iterator[Fault]) -> tuple[Fault, ...]:
    """The faults, those of one message once: a table may be that of several members."""
    return tuple({fault.message: fault for fault in faults}.values())


def _problems_of_names(system: System) -> Iterator[Fault]:
    if len(system.members) < 2:
        message = f"a system has two members or more, not {len(system.members)}"
        yield Fault(("members",), message)
    times = Counter(member.name for member in system.members)
    for place, name in enumerate(member.name for member in system.members):
        if not NAME.fullmatch(name) or name_problem(name):
            message = (
                f"a member cannot be called {name!r}; use letters, digits and _, a letter first"
            )
        elif times[name] > 1:
            message = f"{times[name]} members are called {name}; name each once (NAME=TABLE)"
        else:
            continue
        yield Fault(("members", place, "name"), message)


def _problems_of_parameters(system: System) -> Iterator[Fault]:
    """Parameters that two tables declare in two ways: they are one, for all members."""
    declared = dict[str, tuple[str, Parameter]]()
    for place, member in enumerate(system.members):
        for parameter in member.automaton.rules.parameters:
            first, other = declared.setdefault(parameter.name, (member.automaton.name, parameter))
            if other != parameter:
                message = (
                    f"{first} and {member.automaton.name} declare the parameter {parameter.name} "
                    "in two ways; it is one for all members: declare it alike, or call one "
                    "otherwise"
                )
                yield Fault(("members", place, "table"), message, "other-parameter", parameter.name)


def _problems_of_rows(system: System) -> Iterator[Fault]:
    """What cannot be, at the member, or at the number of a row of its table."""
    names = ", ".join(member.name for member in system.members)
    for place, member in enumerate(system.members):
        table, at = member.automaton, ("members", place)
        others = {
            neighbour.automaton.name for neighbour in system.members if neighbour is not member
        }
        if table.peer and table.peer not in others:
            yield Fault(
                (*at, "table"),
                f"{table.name} names {table.peer} as its peer, but is joined with "
                f"{', '.join(sorted(others))}; give the table of {table.peer} beside it",
                OTHER_PEER,
                table.peer,
            )
            continue
        for row in table.transitions:
            where = f"row {row.row} of {table.name} ({row.source} {row.action})"
            path = (*at, "rows", row.row)
            if row.partner and row.partner not in system.places:
                yield Fault(
                    path,
                    f"{where}: there is no member {row.partner}; the members are {names}; "
                    f"write one of them, or name the table so (NAME=TABLE)",
                    NO_MEMBER,
                    row.partner,
                )
            elif row.partner == member.name:
                message = f"{where}: {member.name} cannot be its own partner; write another member"
                yield Fault(path, message)
            elif row.kind is Kind.SEND and not system.partners(place, row):
                remedy = "or name the one to whom it is sent"
                message = f"{where}: {_unheard(system, place, row)}, {remedy}"
                yield Fault(path, message, UNRECEIVED, row.label)


def _unheard_rows(system: System) -> Iterator[Fault]:
    """Rows that send what the member to whom they send it receives in no state."""
    for place, member in enumerate(system.members):
        for row in member.automaton.transitions:
            if row.kind is Kind.SEND and not _is_heard(system, place, row):
                path = ("members", place, "rows", row.row)
                yield Fault(path, _unheard(system, place, row), UNRECEIVED, row.label)


def _problems_of_links(system: System) -> Iterator[Fault]:
    """Links with a channel of their own over which nothing is sent."""
    names = [member.name for member in system.members]
    links = [(names[sender], names[receiver]) for sender, receiver in system.links]
    for sender, receiver, channel in system.channel.links:
        if (sender, receiver) not in links:
            there = ", ".join(":".join(link) for link in links)
            message = (
                f"{sender}:{receiver}={channel.name}: {sender} sends nothing to {receiver}; the "
                f"links are {there}"
            )
            yield Fault(("channel",), message)


def _is_heard(system: System, place: int, row: Transition) -> bool:
    name = system.members[place].name
    return any(
        t.kind is Kind.RECEIVE and t.label == row.label and t.partner in ("", name)
        for other in system.partners(place, row)
        for t in system.members[other].automaton.transitions
    )


def _unheard(system: System, place: int, row: Transition) -> str:
    """As `pxp_fsm.automata.soundness.check_peers` says it of two tables."""
    sender = system.members[place]
    others = [member.automaton.name for member in system.members if member is not sender]
    if row.partner:
        others = [system.members[system.places[row.partner]].automaton.name]
    receiver = " or ".join(dict.fromkeys(others))
    return (
        f"{sender.automaton.name} sends {row.label}"
        f"{f' to {row.partner}' if row.partner else ''}, which {receiver} receives in no state; "
        f'add a row with receive = "{row.label}" to {receiver}, or drop the one that sends it'
    )
