"""What is proved of a policy: of its lines, of each of its tables, and what its file claims.

A table is checked as it runs, with its registers in the states. What is proved of a table with
`per` is proved of each copy, whatever the values: its events are those of one value alone. Other
tables and limits allow less, so what never happens by a table never happens in the gateway.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from proofs.core.explore import Step, Trace
from proofs.core.results import Result, Status, Verdict
from proofs.logic.formulas import atoms
from proofs.logic.parsing import parse
from proofs.requests import NamedProperty, Request
from proofs.rules.certificates import RulesCertificate, name_of_claim, prove_system
from proofs.systems import check_formulas
from proofs.systems.product import Composition
from proofs.systems.propositions import named
from proofs.systems.results import MACHINE, TITLES, machine_result
from pxp_fsm.automata.actions import External
from pxp_fsm.automata.arithmetic import Case, TooManyCases, cases, value_in
from pxp_fsm.automata.system import Member, System
from pxp_fsm.automata.table_files import Property
from pxp_fsm.errors import Fault, FileError, UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.gateway.policy import (
    DOUBT,
    EventTable,
    GatewayPolicy,
    ReadLine,
    is_policy,
    load_policy,
    ways_from,
)

Answer = Result | RulesCertificate | str

LINES, ROWS, CALLABLE, FORBIDS, POSSIBLE = (
    "no-dead-line",
    "no-dead-row",
    "tools-can-be-called",
    "tables-forbid-something",
    "calls-stay-possible",
)

TERMINATES = "terminates"
"""A claim of a file: only so many events can happen. Where no rank is found for all values of
parameters, it is decided as the table runs."""

CHECKS = {
    LINES: "each line counts for some message, whatever the lines before it say",
    ROWS: "each row can be taken",
    CALLABLE: "each tool that a line lets through can be called",
    FORBIDS: "each table refuses some call in some state",
    POSSIBLE: "whatever has happened, each call can become possible again",
    MACHINE: TITLES[MACHINE],
}
"""What is checked of each policy."""


@dataclass(frozen=True)
class Policies:
    """Policy files of the gateway."""

    kind: str = "policy"

    def accepts(self, given: Any) -> bool:
        """The path of a policy file, or a policy."""
        return isinstance(given, GatewayPolicy) or is_policy(given)

    def properties(self) -> Iterator[NamedProperty]:
        """The checks of every policy."""
        return (NamedProperty(name, "a policy", title) for name, title in CHECKS.items())

    def results(self, request: Request) -> Iterator[Answer]:
        """The checks of each policy, then what its file claims; certificates come last.

        Raises `FileError` for a file that cannot be read, and where a formula is of no table.
        """
        for subject in request.subjects:
            policy = subject if isinstance(subject, GatewayPolicy) else load_policy(subject)
            yield from results(policy, request)


POLICIES = Policies()


def results(policy: GatewayPolicy, request: Request) -> Iterator[Answer]:
    """What comes of a request about one policy."""
    properties = policy.file.properties
    expected = {one.check: one for one in properties if one.check in CHECKS and not one.claim}
    _check_properties(policy)
    for name, title, run in _checks(policy):
        if request.wants(name):
            started = time.perf_counter()
            verdict, stated = run(), expected.get(name)
            yield Result(
                policy.file.name,
                name,
                title if stated is None or not stated.about else stated.about,
                "as the tables run",
                verdict,
                Status.HOLDS if stated is None else Status(stated.expected),
                time.perf_counter() - started,
                policy.file.name,
            )
    if request.wants(MACHINE):
        yield from (machine_result(table.member) for table in policy.tables)
    asked = [Property(formula=text) for text in request.formulas]
    whole = not request.names and not request.formulas
    for stated in (*(properties if whole else ()), *asked):
        if stated.formula:
            table = _table_of(policy, stated.formula)
            for result in check_formulas(table.running, [stated.formula]):
                title, wanted = stated.about or result.title, Status(stated.expected)
                yield replace(result, title=title, expected=wanted)
    yield from _claimed(policy, request)
    if whole and policy.otherwise == "pass":
        yield f"{policy.protocol.calls}s that no line is about pass, and nothing is proved of them"


@dataclass(frozen=True)
class _Approved(Property):
    """That an event never happens but after an approval of its own; proved for all parameters.

    A ghost remembers whether an approval came after the last event; the table knows nothing of it.
    """

    event: str = ""
    approval: str = ""

    @property
    def claim(self) -> Mapping[str, Any]:
        after = f"true if tag == {self.approval} else (approved and tag != {self.event})"
        wrong = f"wrong or tag == {self.event} and not approved"
        ghosts = {
            "approved": {"type": "bool", "init": False, "step": after},
            "wrong": {"type": "bool", "init": False, "step": wrong},
        }
        claims = [{"name": self.name, "check": "never", "never": "wrong"}]
        return {**_PART, "ghosts": ghosts, "claims": claims}


def _replayed(table: EventTable, one: _Approved, result: Result) -> Result:
    """A result without the ghosts among its assumptions; what is not proved may have a trace."""
    result = replace(result, assumptions="by rules")
    if result.status is Status.HOLDS:
        return result
    first = f"(!event.{one.event} W event.{one.approval})"
    text = f"{first} & G (event.{one.event} -> N {first})"
    for found in check_formulas(table.running, [text]):
        if found.status is Status.FAILS:
            return replace(found, name=one.name, title=one.about, expected=Status.HOLDS)
    return result


def _decided(table: EventTable, one: Property, result: Result) -> Result:
    """What is not proved for all values of parameters, as the table runs."""
    if isinstance(one, _Approved):
        return _replayed(table, one, result)
    if one.check == TERMINATES and result.status is not Status.HOLDS:
        return replace(result, assumptions="as the tables run", verdict=_terminates(table))
    return result


_PART: Mapping[str, Any] = {"relations": None, "starts": "", "assume": [], "while": ""}


def _approved(policy: GatewayPolicy, table: EventTable) -> Iterator[_Approved]:
    """What approvals are for: no call without one of its very arguments, which counts once."""
    pairs = {
        (read.line.event, approval)
        for read in policy.lines
        for approval in read.line.approvals.values()
        if read.line.event is not None
    }
    for event, approval in sorted(pairs):
        if {event, approval} <= table.labels:
            yield _Approved(
                name=f"no-{event}-without-{approval}",
                about=f"each {event} has an {approval} of these very arguments, which counts once",
                event=event,
                approval=approval,
            )


def _claimed(policy: GatewayPolicy, request: Request) -> Iterator[Answer]:
    """What is proved for all values of parameters, each table by itself."""
    for table in policy.tables:
        stated: list[Property] = [*_approved(policy, table)]
        stated += [one for one in policy.file.properties if one.claim and _names(table, one)]
        claims = [one for one in stated if request.wants(name_of_claim(one))]
        if claims:
            written = System((Member(table.name, table.automaton),), free_names=True)
            found, certificate = prove_system(written, claims)
            for one, result in zip(claims, found, strict=True):
                yield _decided(table, one, result)
            if certificate is not None and request.certificate is not None:
                yield certificate


def _names(table: EventTable, stated: Property) -> bool:
    """Whether a claim is about a table: by its name, or about every table."""
    text = f"{stated.never} {stated.step}"
    return not text.strip() or f"{table.name}." in text


def _check_properties(policy: GatewayPolicy) -> None:
    """Raise `FileError` for a property that is of no table, with its place in the file."""
    problems = map(partial(_property_problem, policy), policy.file.properties)
    faults = [
        Fault(("properties", place), problem) for place, problem in enumerate(problems) if problem
    ]
    if faults and policy.file.file is not None:
        raise policy.file.file.refusal(*faults)
    if faults:
        raise FileError(faults)


def _property_problem(policy: GatewayPolicy, stated: Property) -> str:
    """Why a property is about no table; "" where it is."""
    if stated.formula:
        try:
            _table_of(policy, stated.formula)
        except UsageError as error:
            return str(error)
    elif stated.check and not stated.claim and stated.check not in CHECKS:
        there = ", ".join((*CHECKS, TERMINATES, "never-stuck"))
        return f"there is no check {stated.check}; there are: {there}"
    elif stated.claim and not any(_names(table, stated) for table in policy.tables):
        names = ", ".join(table.name for table in policy.tables)
        return f"the claim is about no table; the tables are {names}"
    return ""


def _table_of(policy: GatewayPolicy, text: str) -> EventTable:
    """The table that a formula is about; raises `UsageError` where it is about none."""
    wanted = set(atoms(parse(text)))
    missing = list[str]()
    for table in policy.tables:
        left = wanted - named(Composition(table.running)).keys()
        if not left:
            return table
        missing.append(f"{table.name} has no {', '.join(sorted(left))}")
    raise UsageError(f"the formula is about no table: {'; '.join(missing) or 'there is none'}")


def _checks(policy: GatewayPolicy) -> Iterator[tuple[str, str, Callable[[], Verdict]]]:
    for name, run in (
        (LINES, _dead_lines),
        (ROWS, _dead_rows),
        (CALLABLE, _callable),
        (FORBIDS, _forbids),
        (POSSIBLE, _possible),
    ):
        yield name, CHECKS[name], lambda run=run: run(policy)  # type: ignore[misc]


def _verdict(problems: Iterable[str], trace: Trace[str] | None = None) -> Verdict:
    told = "; ".join(problems)
    return Verdict(Status.FAILS if told else Status.HOLDS, told, trace)


def _calls(policy: GatewayPolicy) -> Iterator[ReadLine]:
    """The lines whose events the client raises: those that can be refused."""
    return (
        read for read in policy.lines if read.line.event and read.line.key in ("tool", "method")
    )


# Lines ------------------------------------------------------------------------------------------


def _dead_lines(policy: GatewayPolicy) -> Verdict:
    problems = []
    for read in policy.lines:
        try:
            dead = [name for name in read.line.names if not _counts(policy, read, name)]
        except TooManyCases:
            return Verdict(Status.UNKNOWN, f"{_place(policy, read)} has too many cases")
        if dead:
            problems.append(f"{_place(policy, read)} never counts for {', '.join(dead)}")
    return _verdict(problems)


def _counts(policy: GatewayPolicy, read: ReadLine, name: str) -> bool:
    """Whether a line is the first one that is true of some message."""
    before = []
    for other in policy.about(read.line.key, name):
        if other is read:
            break
        of_any = read.line.outcome != DOUBT and other.line.outcome is None
        if of_any or other.line.outcome == read.line.outcome:
            before.append(other)

    def counts(case: Case) -> bool:
        rest = (value_in(one.when, case) is True if one.when else True for one in before)
        if any(rest):
            return False
        return read.when is None or value_in(read.when, case) is True

    return any(found for _, found in cases(counts))


def _place(policy: GatewayPolicy, read: ReadLine) -> str:
    file = policy.file.file
    if file is None:
        return f"line {read.place + 1}"
    (fault,) = file.located([Fault(("lines", read.place), "")])
    return f"the line at {fault.file}:{fault.line}"


# Tables -----------------------------------------------------------------------------------------


def _ways(table: EventTable) -> Mapping[str, tuple[str, ...]]:
    """The states that can be reached, with the fewest events that lead there."""
    ways: dict[str, tuple[str, ...]] = {table.member.initial: ()}
    for _ in ways_from(table, ways):
        pass
    return ways


def _dead_rows(policy: GatewayPolicy) -> Verdict:
    problems = []
    for table in policy.tables:
        ways = _ways(table)
        bases = {state.name: state.base or state.name for state in table.member.states}
        taken = {
            (row.row, bases[row.source], row.label)
            for row in table.member.transitions
            if row.source in ways
        }
        dead = dict.fromkeys(
            f"row {row.row} of {table.name} ({row.source} {row.action})"
            for row in table.automaton.transitions
            if (row.row, row.source, row.label) not in taken
        )
        problems += [f"{row} can never be taken" for row in dead]
    return _verdict(problems)


def _callable(policy: GatewayPolicy) -> Verdict:
    problems = []
    for tool in policy.tools:
        lines = policy.about(policy.protocol.calls, tool)
        if all(read.line.then == "refuse" for read in lines):
            continue
        if not any(_can_happen(policy, read) for read in lines):
            problems.append(f"{tool} can never be called")
    return _verdict(problems)


def _can_happen(policy: GatewayPolicy, read: ReadLine) -> bool:
    event = read.line.event
    if event is None:
        return read.line.then == "pass"
    return all(
        any((state, event) in table.moves for state in _ways(table))
        for table in policy.tables_of(event)
    )


def _forbids(policy: GatewayPolicy) -> Verdict:
    events = {read.line.event for read in _calls(policy)}
    problems = [
        f"{table.name} allows {', '.join(sorted(table.labels & events)) or 'no call'} in every "
        f"state: it forbids nothing"
        for table in policy.tables
        if not any(
            (state, event) not in table.moves
            for state in _ways(table)
            for event in table.labels & events
        )
    ]
    return _verdict(problems)


def _possible(policy: GatewayPolicy) -> Verdict:
    for event in dict.fromkeys(read.line.event or "" for read in _calls(policy)):
        for table in policy.tables_of(event):
            ways = _ways(table)
            lost = next((state for state in ways if table.way(state, event) is None), None)
            if lost is not None:
                trace = _trace(table, ways[lost])
                return _verdict([f"{event} is never possible again in {table.name}"], trace)
    return _verdict([])


def _trace(table: EventTable, labels: Iterable[str]) -> Trace[str]:
    """What comes of events from the beginning on."""
    steps, at = [], table.member.initial
    for label in labels:
        at = table.moves[at, label]
        steps.append(Step(External(label), at))
    return Trace(table.member.initial, tuple(steps))


def _terminates(table: EventTable) -> Verdict:
    """Whether only so many events can happen, and the last of them leads to an end state."""
    ways, before = _ways(table), defaultdict[str, list[str]](list)
    for (source, _), target in table.moves.items():
        if source in ways:
            before[target].append(source)
    going_on = Counter(source for sources in before.values() for source in sources)
    left = [state for state in ways if not going_on[state]]
    bases = {state.name: state.base or state.name for state in table.member.states}
    stuck = next((state for state in left if bases[state] not in table.automaton.final), None)
    while left:  # a state goes on for ever where one after it does
        for source in before[left.pop()]:
            going_on[source] -= 1
            if not going_on[source]:
                left.append(source)
    endless = {state for state in ways if going_on[state]}
    if endless:
        at, labels, seen = table.member.initial, list[str](), dict[str, int]()
        while at not in seen:
            seen[at] = len(labels)
            row = next(row for row in table.member.leaving(at) if row.target in endless)
            labels.append(row.label)
            at = row.target
        return Verdict(Status.FAILS, trace=_trace(table, labels), cycle=len(labels) - seen[at])
    if stuck is not None:
        said = f"{table.name} stops in {bases[stuck]}, which is no end state"
        return Verdict(Status.FAILS, said, _trace(table, ways[stuck]))
    return Verdict(Status.HOLDS)
