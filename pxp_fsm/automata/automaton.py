"""The automaton table as one frozen object: states, guards and transitions.

Everything else is made from this object: the machine that runs, the product that is checked, the
diagrams and the exports. Read one with `pxp_fsm.automata.tables.load_automaton`, which validates
it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import field, replace
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Any

from pxp_fsm.automata.expressions import Expression, Value
from pxp_fsm.automata.rules import Rules, meaning_of
from pxp_fsm.automata.table_files import Property
from pxp_fsm.errors import Fault, GuardError, NotEnabled, TableError
from pxp_fsm.lazy_dataclasses import dataclass

Valuation = Mapping[str, bool]
"""The truth of every guard that a state declares: exactly one is true."""


class Kind(StrEnum):
    """What a transition does: send a tag, receive a tag, or follow an event from outside."""

    SEND = "+"
    RECEIVE = "-"
    EVENT = "!"


@dataclass(frozen=True, slots=True)
class Trigger:
    """What can happen to an automaton in a state.

    Three kinds carry a label: a tag is received, an unguarded tag is sent because somebody chose
    to, something outside happens. `DECIDE` carries none: the guards choose among the guarded rows.
    `partner` is who is at the other end, where there may be several; "" says nothing of it.
    """

    kind: Kind | None
    label: str
    partner: str = ""

    def __str__(self) -> str:
        return _written(self.kind, self.label, self.partner) if self.kind else "decide"


DECIDE = Trigger(None, "")
"""The event in which the guards of the present state choose the transition."""


def sending(tag: str, partner: str = "") -> Trigger:
    """The event of sending `tag` (to `partner`) on an unguarded row."""
    return Trigger(Kind.SEND, tag, partner)


def receiving(tag: str, partner: str = "") -> Trigger:
    """The event of receiving `tag` (from `partner`)."""
    return Trigger(Kind.RECEIVE, tag, partner)


def happening(name: str) -> Trigger:
    """The event `name` that the schedule or another outsider causes."""
    return Trigger(Kind.EVENT, name)


@dataclass(frozen=True, slots=True)
class State:
    """A state; where guards leave it, exactly one of `guards` is true when it must decide.

    In an unfolded table (`unfolding`) `base` is the state of the table as it is written, and
    `values` what parameters and registers hold here.
    """

    name: str
    about: str = ""
    guards: tuple[str, ...] = ()
    base: str = ""
    values: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True, slots=True)
class Transition:
    """One row of the table: from `source` to `target`, under `guard` (None is ⊤).

    `row` is the number of the written row, as in the paper's table; a written row that lists
    several tags or sources is several transitions with the same number. `partner` names the member
    of a system to which the row sends or from which it receives; "" is whoever is at the other end.

    By rule, an unguarded row may be taken only `when` that is true, and while an `urgent` one may
    be taken its member does nothing else. `do` are the updates of registers, `carry` is which of
    its answers an agent sends ("new" or "own"), and `by` who raises an event: the member ("self"),
    a "clock" or the "world".
    """

    row: int
    source: str
    target: str
    guard: str | None
    kind: Kind
    label: str
    partner: str = ""
    when: Expression | None = None
    urgent: bool = False
    do: tuple[tuple[str, Expression], ...] = ()
    carry: str = "new"
    by: str = "world"

    @property
    def trigger(self) -> Trigger:
        """What takes this transition."""
        return DECIDE if self.guard is not None else Trigger(self.kind, self.label, self.partner)

    @property
    def action(self) -> str:
        """What is written at the arrow: `+RATIFY`, `-INIT`, `!CLOSE`, `+TASK to left`."""
        return _written(self.kind, self.label, self.partner)


@dataclass(frozen=True, slots=True)
class Unfolding:
    """What an automaton is made from: a table, with the values of its parameters.

    `beside` says whether its registers are kept beside its states as it runs, or are in them.
    """

    table: Automaton
    parameters: tuple[tuple[str, Value], ...] = ()
    beside: bool = False


@dataclass(frozen=True, repr=False)
class Automaton:
    """A validated automaton table: read by `load_automaton`, or built by `build_automaton`.

    `peer` names the automaton at the other end of a channel (by default this very one);
    `note` is shown wherever the automaton is shown. `payloads` gives the JSON Schema of what a tag
    carries, in a system whose messages are no `Answer`s. `rules` are what it decides and counts by;
    where its registers are in its states it has none, and `unfolding` is what it was made from.
    Without `final` states it goes on for ever. `properties` are what is claimed of it, whatever its
    peers do. `findings` are the faults of a table that can be
    meant as it stands (see `pxp_fsm.automata.soundness`), each with its place and remedy. `regions`
    are names for sets of states, by which a formula speaks of them (`agent@REGION`); one that is
    called like a state stands for the states of its set.

    >>> import pxp_fsm as pxp
    >>> interact = pxp.load_automaton("interact")
    >>> [transition.action for transition in interact.leaving("IDLE")]
    ['+INIT', '-INIT']
    """

    name: str
    title: str
    states: tuple[State, ...]
    initial: str
    final: frozenset[str]
    guards: Mapping[str, str]
    transitions: tuple[Transition, ...]
    source: str = ""
    note: str = ""
    peer: str = ""
    payloads: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    rules: Rules = field(default_factory=Rules)
    properties: tuple[Property, ...] = ()
    findings: tuple[Fault, ...] = field(default=(), compare=False)
    unfolding: Unfolding | None = None
    regions: Mapping[str, frozenset[str]] = field(
        default_factory=lambda: MappingProxyType({}), compare=False
    )

    def __hash__(self) -> int:
        return hash(self.fingerprint)  # equal tables mean the same

    def __repr__(self) -> str:
        sizes = f"{len(self.states)} states, {len(self.transitions)} transitions"
        return f"<Automaton {self.name}: {sizes}>"

    @cached_property
    def _decided(self) -> dict[tuple[str, str], Transition]:
        return {(t.source, t.guard): t for t in self.transitions if t.guard is not None}

    @cached_property
    def _guards(self) -> dict[str, tuple[str, ...]]:
        return {state.name: state.guards for state in self.states}

    @cached_property
    def _leaving(self) -> dict[str, tuple[Transition, ...]]:
        leaving: dict[str, tuple[Transition, ...]] = {}
        for t in self.transitions:
            leaving[t.source] = (*leaving.get(t.source, ()), t)
        return leaving

    @cached_property
    def _labelled(self) -> dict[tuple[str, Kind, str], tuple[Transition, ...]]:
        labelled: dict[tuple[str, Kind, str], tuple[Transition, ...]] = {}
        for t in self.transitions:
            place = (t.source, t.kind, t.label)
            labelled[place] = (*labelled.get(place, ()), t)
        return labelled

    def leaving(self, state: str) -> tuple[Transition, ...]:
        """The transitions that leave `state`, in the table's order."""
        return self._leaving.get(state, ())

    @cached_property
    def _own(self) -> dict[str, tuple[Transition, ...]]:
        return {
            source: tuple(row for row in rows if row.kind is Kind.SEND or row.guard is not None)
            for source, rows in self._leaving.items()
        }

    def own_rows(self, state: str) -> tuple[Transition, ...]:
        """The rows that a member takes by its own decision in `state`."""
        return self._own.get(state, ())

    def guards_of(self, state: str) -> tuple[str, ...]:
        """The guards of which exactly one is true in `state`; empty where nothing is decided."""
        return self._guards[state]

    def step(self, state: str, event: Trigger, valuation: Valuation | None = None) -> Transition:
        """The transition that `event` takes in `state`; a pure look-up.

        A row that names no partner takes the event whoever the partner is.

        Raises `NotEnabled` where the table has no such row, and `GuardError` where `valuation`
        is not exactly one strict `True` over exactly the state's guards.
        """
        if event.kind is None:
            taken = self._decided.get((state, self.true_guard(state, valuation)))
        else:
            rows = self._labelled.get((state, event.kind, event.label), ())
            alike = {t.partner: t for t in rows if t.guard is None}
            taken = alike.get(event.partner) or alike.get("")
        if taken is None:
            offered = ", ".join(dict.fromkeys(str(t.trigger) for t in self.leaving(state)))
            raise NotEnabled(
                f"{self.name}: nothing in state {state} takes {event}; "
                f"possible there: {offered or 'nothing, it is an end state'}"
            )
        return taken

    def true_guard(self, state: str, valuation: Valuation | None) -> str:
        """The one guard that `valuation` makes true in `state`."""
        declared = self.guards_of(state)
        if not declared:
            raise NotEnabled(
                f"{self.name}: state {state} has no guards, so nothing is decided in it"
            )
        truths = {} if valuation is None else valuation
        if not isinstance(truths, Mapping):
            raise GuardError(
                f"{self.name}: a valuation maps each guard to True or False, it is not {truths!r}"
            )
        if set(truths) != set(declared):
            raise GuardError(
                f"{self.name}: state {state} decides by {', '.join(declared)}, "
                f"but the valuation speaks of {', '.join(map(str, truths)) or 'none'}"
            )
        loose = [f"{name}={value!r}" for name, value in truths.items() if type(value) is not bool]
        if loose:
            raise GuardError(f"{self.name}: a guard must be True or False, not {', '.join(loose)}")
        true = [name for name in declared if truths[name]]
        if len(true) != 1:
            raise GuardError(
                f"{self.name}: in state {state} exactly one of {', '.join(declared)} must hold, "
                f"but {', '.join(true) or 'none'} did"
            )
        return true[0]

    def sends(self, state: str, tag: str, partner: str = "") -> Transition | None:
        """The row, guarded or not, that sends `tag` (to `partner`) in `state`, if there is one."""
        return self._row(state, Kind.SEND, tag, partner)

    def receives(self, state: str, tag: str, partner: str = "") -> Transition | None:
        """The row that receives `tag` (from `partner`) in `state`, if there is one."""
        return self._row(state, Kind.RECEIVE, tag, partner)

    def _row(self, state: str, kind: Kind, label: str, partner: str) -> Transition | None:
        for row in self._labelled.get((state, kind, label), ()):
            if row.partner in ("", partner):
                return row
        return None

    @property
    def partners(self) -> tuple[str, ...]:
        """The members that rows name, in the table's order."""
        return tuple(dict.fromkeys(t.partner for t in self.transitions if t.partner))

    def with_partners(self, names: Mapping[str, str]) -> Automaton:
        """The same table whose rows name their partners by `names`; others keep their name.

        >>> import pxp_fsm as pxp
        >>> table = pxp.build_automaton(
        ...     "call",
        ...     [{"from": "IDLE", "to": "DONE", "send": "CALL", "partner": "server"}],
        ...     final=["DONE"],
        ... )
        >>> table.with_partners({"server": "tool"}).transitions[0].action
        '+CALL to tool'

        Raises `TableError` where no row names such a partner, or two would be one.
        """
        unknown = [name for name in names if name not in self.partners]
        if unknown:
            there = ", ".join(self.partners) or "none"
            raise TableError(
                (f"no row of {self.name} names the partner {unknown[0]}; its rows name {there}",)
            )
        new = [names.get(name, name) for name in self.partners]
        twice = [name for name in new if new.count(name) > 1]
        if twice:
            raise TableError((f"two partners of {self.name} cannot both be {twice[0]}",))
        rows = tuple(replace(t, partner=names.get(t.partner, t.partner)) for t in self.transitions)
        made = self.unfolding
        if made is not None:
            made = replace(made, table=made.table.with_partners(names))
        return replace(self, transitions=rows, unfolding=made)

    @property
    def counts(self) -> bool:
        """Whether which rows may be taken depends on parameters or registers."""
        rules = self.rules
        ruled = (row.when is not None for row in self.transitions)
        return bool(rules.parameters or rules.registers) or any(ruled)

    def without_rules(self) -> Automaton:
        """The same states and rows, whoever decides: guards are free, and so are events."""
        if not self.rules and not any(row.when for row in self.transitions):
            return self
        rows = (
            Transition(t.row, t.source, t.target, t.guard, t.kind, t.label, t.partner)
            for t in self.transitions
        )
        return replace(self, transitions=tuple(rows), rules=Rules())

    @property
    def registers_beside(self) -> bool:
        """Whether registers are kept beside the state as it runs (`unfolding.running`)."""
        return self.unfolding is not None and self.unfolding.beside

    @property
    def written(self) -> Automaton:
        """The table as it is written, where registers are kept beside its states; else itself."""
        made = self.unfolding if self.registers_beside else None
        return self if made is None else made.table

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of what the table means: prose, row numbers and order do not count.

        The hashed text is UTF-8: `initial STATE`, one `final STATE` a final state, one
        `SOURCE TARGET GUARD ACTION` a transition (⊤ for no guard; one that names its partner
        says so: `+TASK to left`; then what its rules say), one `payload TAG SCHEMA` a payload (as
        JSON, its keys sorted), the lines of `Rules.meaning`, one `given NAME VALUE` a parameter
        with which registers are kept beside the state, the lines sorted, each ended by a newline.
        """
        lines = [f"initial {self.initial}", *(f"final {state}" for state in self.final)]
        lines += [
            f"{t.source} {t.target} {t.guard or '⊤'} {t.action}{meaning_of(t)}"
            for t in self.transitions
        ]
        lines += self.rules.meaning
        lines += [
            f"payload {tag} {json.dumps(schema, sort_keys=True, ensure_ascii=False)}"
            for tag, schema in self.payloads.items()
        ]
        if self.unfolding is not None and self.registers_beside:
            lines += [f"given {name} {value}" for name, value in self.unfolding.parameters]
        return hashlib.sha256("".join(f"{line}\n" for line in sorted(lines)).encode()).hexdigest()


def _written(kind: Kind, label: str, partner: str) -> str:
    between = {Kind.SEND: " to ", Kind.RECEIVE: " from "}.get(kind, "") if partner else ""
    return f"{kind.value}{label}{between}{partner}"


def one_hot(guard: str, guards: tuple[str, ...]) -> dict[str, bool]:
    """The valuation in which `guard` alone of `guards` is true."""
    return {name: name == guard for name in guards}
