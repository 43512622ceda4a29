"""What is proved of a policy: of its lines, of each of its tables, and what its file claims.

A table is checked as it runs, with its registers in the states. What is proved of a table with
`per` is proved of each copy, whatever the values: its events are those of one value alone. Other
tables and limits allow less, so what never happens by a table never happens in the gateway.
"""

from __future__ import annotations

import inspect
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from proofs.core.explore import Step, TooLarge, Trace
from proofs.core.results import Result, Status, Verdict
from proofs.logic.formulas import atoms
from proofs.logic.parsing import parse
from proofs.requests import NamedProperty, Request
from proofs.rules.certificates import RulesCertificate, name_of_claim, prove_system
from proofs.subjects import explain_check
from proofs.systems import check_formulas
from proofs.systems.product import Composition
from proofs.systems.propositions import named
from proofs.systems.results import MACHINE, TITLES, machine_result
from pxp_fsm.automata.actions import External
from pxp_fsm.automata.arithmetic import Case, TooManyCases, cases, value_in
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.system import Member, System
from pxp_fsm.automata.table_files import Property
from pxp_fsm.automata.tables import automaton_from
from pxp_fsm.errors import Fault, FileError, UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.gateway.formulas import ghost_claim
from pxp_fsm.plugins.gateway.policy import (
    DOUBT,
    FITS,
    EventTable,
    GatewayPolicy,
    ReadLine,
    is_policy,
    load_policy,
)

Answer = Result | RulesCertificate | str

LINES, ROWS, CALLABLE, FORBIDS, POSSIBLE = (
    "no-dead-line",
    "no-dead-row",
    "tools-can-be-called",
    "tables-forbid-something",
    "calls-stay-possible",
)

MOST_TOGETHER = 100_000
"""States of the tables that share events with a formula, together."""

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

    def accepts(self, subject: Any) -> bool:
        """The path of a policy file, or a policy."""
        return isinstance(subject, GatewayPolicy) or is_policy(subject)

    def tables(self, subject: Any) -> Mapping[str, Automaton]:
        """The tables of a policy as they run, each for calls about the same values."""
        policy = subject if isinstance(subject, GatewayPolicy) else load_policy(subject)
        return {table.name: table.member for table in policy.tables}

    def properties(self) -> Iterator[NamedProperty]:
        """The checks of every policy."""
        about = {name: inspect.getdoc(run) or "" for name, run in _CHECKS.items()}
        about[MACHINE] = explain_check(MACHINE)
        return (
            NamedProperty(name, "a policy", title, about[name]) for name, title in CHECKS.items()
        )

    def results(self, request: Request) -> Iterator[Answer]:
        """The checks of each policy, then what its file claims; certificates come last.

        Raises `FileError` for a file that cannot be read, and where a formula is of no table, and
        `UsageError` where certificates are wanted in a folder.
        """
        request.refuse_folder()
        for subject in request.subjects:
            policy = subject if isinstance(subject, GatewayPolicy) else load_policy(subject)
            yield from results(policy, request)


POLICIES = Policies()


def results(policy: GatewayPolicy, request: Request) -> Iterator[Answer]:
    """What comes of a request about one policy."""
    properties = policy.file.properties
    expected = {prop.check: prop for prop in properties if prop.check in CHECKS and not prop.claim}
    _check_properties(policy)
    for name, title, run in _checks(policy):
        if request.wants(name):
            started = time.perf_counter()
            stated = expected.get(name)
            try:
                verdict = run()
            except TooLarge as error:
                verdict = Verdict(Status.UNKNOWN, str(error))
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
    whole = not request.names and not request.formulas
    formulas = [Property(formula=text) for text in request.formulas]
    if whole:
        formulas = [*_kept(policy), *(prop for prop in properties if prop.formula)]
    yield from _claimed(policy, request, formulas)
    yield from _sums(policy, request)
    if whole and policy.otherwise == "pass":
        yield f"{policy.protocol.calls}s that no line is about pass, and nothing is proved of them"


def _kept(policy: GatewayPolicy) -> Iterator[Property]:
    """The formulas that are enforced, which their monitors keep true."""
    for formula in policy.file.formulas:
        yield Property(formula=formula.formula, about=formula.about, name=formula.name)


@dataclass(frozen=True)
class _Remembered(Property):
    """A formula; G p, with past operators in p, is a claim: ghosts remember what has been."""

    number: int = 0

    @property
    def claim(self) -> Mapping[str, Any]:
        if self.expected != Status.HOLDS:
            return {}
        return ghost_claim(parse(self.formula), self.name or f"formula-{self.number}") or {}


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


def _replayed(table: EventTable, stated: _Approved, result: Result) -> Result:
    """A result without the ghosts among its assumptions; what is not proved may have a trace."""
    result = replace(result, assumptions="by rules")
    if result.status is Status.HOLDS:
        return result
    first = f"(!event.{stated.event} W event.{stated.approval})"
    text = f"{first} & G (event.{stated.event} -> N {first})"
    for replayed in check_formulas(table.running, [text]):
        if replayed.status is Status.FAILS:
            return replace(replayed, name=stated.name, title=stated.about, expected=Status.HOLDS)
    return result


def _decided(table: EventTable, stated: Property, result: Result) -> Result:
    """What is not proved for all values of parameters, as the table runs."""
    if isinstance(stated, _Approved):
        return _replayed(table, stated, result)
    if isinstance(stated, _Remembered):
        if result.status is not Status.HOLDS:
            [result] = check_formulas(table.running, [stated.formula])
        else:
            result = replace(result, name=stated.formula, assumptions="by rules")
        title, wanted = stated.about or stated.formula, Status(stated.expected)
        return replace(result, title=title, expected=wanted)
    if stated.check == TERMINATES and result.status is not Status.HOLDS:
        return replace(result, assumptions="as the tables run", verdict=_terminates(table))
    return result


_PART: Mapping[str, Any] = {"relations": None, "starts": "", "assume": [], "while": ""}


def _approved(policy: GatewayPolicy, table: EventTable) -> Iterator[_Approved]:
    """What approvals are for: no call without one of its very arguments, which counts once."""
    if table.formula is not None:
        return
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


def _claimed(
    policy: GatewayPolicy, request: Request, formulas: Sequence[Property]
) -> Iterator[Answer]:
    """What is proved for all values of parameters, each table by itself; then its certificate.

    Formulas of which that is not tried, or does not succeed, are decided as the table runs.
    """
    about = [_formula_table(policy, prop) for prop in formulas]
    remembered = [
        _Remembered(prop.formula, prop.expected, prop.about, name=prop.name, number=number)
        for number, prop in enumerate(formulas, start=1)
    ]
    for table in policy.tables:
        own = [prop for prop, of in zip(remembered, about, strict=True) if of is table]
        stated: list[Property] = [*_approved(policy, table)]
        stated += [prop for prop in policy.file.properties if prop.claim and _names(table, prop)]
        claims = [*own, *(prop for prop in stated if request.wants(name_of_claim(prop)))]
        yield from _proved_of(table, claims, request)


def _proved_of(table: EventTable, stated: Sequence[Property], request: Request) -> Iterator[Answer]:
    claims = [prop for prop in stated if prop.claim]
    for prop in stated:
        if not prop.claim:
            [result] = check_formulas(table.running, [prop.formula])
            title, wanted = prop.about or result.title, Status(prop.expected)
            yield replace(result, title=title, expected=wanted)
    if claims:
        written = System((Member(table.name, table.automaton),), free_names=True)
        proved, certificate = prove_system(written, claims)
        for prop, result in zip(claims, proved, strict=True):
            yield _decided(table, prop, result)
        if certificate is not None and request.certificate_file is not None:
            yield certificate


def _sums(policy: GatewayPolicy, request: Request) -> Iterator[Answer]:
    """That no sum is ever more than it may be, for all amounts and bounds."""
    for read in policy.sums:
        name = read.entry.name
        if not request.wants(f"{name}-stays-within"):
            continue
        row = {"from": "OPEN", "to": "OPEN"}
        raw = {
            "format": 1,
            "name": name,
            "title": f"the sum of {read.entry.of} over all {read.entry.event}",
            "initial": "OPEN",
            "final": ["OPEN"],
            "states": [{"name": "OPEN", "guards": ["FITS", "OVER"]}],
            "parameters": {"most": {"min": 0}},
            "registers": {"total": {"init": 0, "min": 0}},
            "oracles": {"amount": {"type": "int"}},
            "guards": {"FITS": {"when": FITS}, "OVER": {"when": "else"}},
            "rows": [
                {**row, "guard": "FITS", "event": "ADDED", "do": {"total": "total + amount"}},
                {**row, "guard": "OVER", "event": "REFUSED"},
            ],
        }
        table = automaton_from(raw, iter)
        stated = Property(
            name=f"{name}-stays-within",
            never=f"{name}.total > most or {name}.total < 0",
            about=f"the sum of {read.entry.of} is never more than {read.entry.most}",
        )
        [result], certificate = prove_system(
            System((Member(name, table),), free_names=True), [stated]
        )
        yield replace(result, assumptions="by rules")
        if certificate is not None and request.certificate_file is not None:
            yield certificate


def _formula_table(policy: GatewayPolicy, stated: Property) -> EventTable:
    """The table of a formula: its monitor, if it is enforced."""
    kept = (table for table in policy.tables if table.formula is not None)
    own = (table for table in kept if stated.name and table.name == stated.name)
    return next(own, None) or _table_of(policy, stated.formula)


def _names(table: EventTable, stated: Property) -> bool:
    """Whether a claim is about a table: by its name, or about every table."""
    text = f"{stated.never} {stated.step}"
    if table.formula is not None:  # it goes on for ever, and counts nothing
        return False
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
    for name, run in _CHECKS.items():
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
    """Each line is the first that is true of some message.

    Why it matters: a line that never counts was written for messages that an earlier line takes:
    what it refuses may pass.

    What to do: move the line before the one that takes its messages, or remove it.
    """
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
        rest = (value_in(stated.when, case) is True if stated.when else True for stated in before)
        if any(rest):
            return False
        return read.when is None or value_in(read.when, case) is True

    return any(is_counted for _, is_counted in cases(counts))


def _place(policy: GatewayPolicy, read: ReadLine) -> str:
    file = policy.file.file
    if file is None:
        return f"line {read.place + 1}"
    (fault,) = file.located([Fault(("lines", read.place), "")])
    return f"the line at {fault.file}:{fault.line}"


# Tables -----------------------------------------------------------------------------------------


def _dead_rows(policy: GatewayPolicy) -> Verdict:
    """Each row of each table is taken after some events.

    Why it matters: a row that is never taken allows a call that in fact is always refused.

    What to do: remove the row, or add the row that leads to its state.
    """
    problems = []
    for table in policy.tables:
        ways = table.ways
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
    """Each tool that some line does not refuse can be called after some events.

    Why it matters: otherwise the policy takes a tool away that it says it allows.

    What to do: add a row for the event of its line, or refuse the tool by `then = "refuse"`.
    """
    problems, unclear = list[str](), list[str]()
    for tool in policy.tools:
        lines = policy.about(policy.protocol.calls, tool)
        if all(read.line.then == "refuse" for read in lines):
            continue
        if not any(_can_happen(policy, read) for read in lines):
            problems.append(f"{tool} can never be called")
        elif not any(_can_happen(policy, read, together=True) for read in lines):
            unclear.append(tool)
    if unclear and not problems:
        reason = f"{', '.join(unclear)} cannot be called with the events of one copy of each table"
        return Verdict(Status.UNKNOWN, reason)
    return _verdict(problems)


def _can_happen(policy: GatewayPolicy, read: ReadLine, *, together: bool = False) -> bool:
    """Whether some event of a line can happen: in each table, or in a formula's `together`."""
    event = read.line.event
    if event is None:
        return read.line.then == "pass"
    joint = _joint(policy, event)
    if joint is not None and (together or joint.alike):
        return any(event in leaving for leaving in joint.moves.values())
    return all(
        any((state, event) in table.moves for state in table.ways)
        for table in policy.tables_of(event)
    )


@dataclass(frozen=True)
class _Joint:
    """Tables that share events, together: what can happen in one copy of each.

    With `alike` copies, of the same fields, that is all that can happen.
    """

    alike: bool
    moves: Mapping[tuple[str, ...], Mapping[str, tuple[str, ...]]]
    ways: Mapping[tuple[str, ...], tuple[str, ...]]


def _joint(policy: GatewayPolicy, event: str) -> _Joint | None:
    """The tables that an event has to do with; None where no formula is among them."""
    tables, labels = list[EventTable](), set[str]()
    left_labels = [event]
    while left_labels:
        label = left_labels.pop()
        labels.add(label)
        for table in policy.tables_of(label):
            if all(table is not other for other in tables):
                tables.append(table)
                left_labels += sorted(table.labels - labels)
    if all(table.formula is None for table in tables):
        return None
    start = tuple(table.member.initial for table in tables)
    moves: dict[tuple[str, ...], dict[str, tuple[str, ...]]] = {}
    ways: dict[tuple[str, ...], tuple[str, ...]] = {start: ()}
    left = deque([start])
    while left:
        at = left.popleft()
        moves[at] = {}
        for label in sorted(labels):
            pairs = list(zip(tables, at, strict=True))
            if all(label not in t.labels or (state, label) in t.moves for t, state in pairs):
                then = tuple(t.moves.get((state, label), state) for t, state in pairs)
                moves[at][label] = then
                if then not in ways:
                    if len(ways) >= MOST_TOGETHER:
                        raise TooLarge(f"more than {MOST_TOGETHER:,} states of tables together")
                    ways[then] = (*ways[at], label)
                    left.append(then)
    return _Joint(len({(t.arguments, t.keys) for t in tables}) == 1, moves, ways)


def _forbids(policy: GatewayPolicy) -> Verdict:
    """Each table has a state in which one of the calls of its events is refused.

    Why it matters: a table that allows each call in every state protects from nothing.

    What to do: take the rows out that allow a call too early, or the table.
    """
    events = {read.line.event for read in _calls(policy)}
    problems = [
        f"{table.name} allows {', '.join(sorted(table.labels & events)) or 'no call'} in every "
        f"state: it forbids nothing"
        for table in policy.tables
        if not any(
            (state, event) not in table.moves
            for state in table.ways
            for event in table.labels & events
        )
    ]
    return _verdict(problems)


def _possible(policy: GatewayPolicy) -> Verdict:
    """From each state that events can lead to, events can lead to one that allows each call.

    Why it matters: after the trace, a client is refused for ever. Of a sum or of a login that is
    spent, that may be what the policy is for: then write `expected = "FAILS"` for it.

    What to do: add a row that leads back, such as one for a new approval.
    """
    if policy.sums:
        entry = policy.sums[0].entry
        reason = f"once the sum of {entry.of} is {entry.most}, no {entry.event} adds to it again"
        return _verdict([reason])
    for event in dict.fromkeys(read.line.event or "" for read in _calls(policy)):
        joint = _joint(policy, event)
        if joint is not None and joint.alike:
            lost = _lost(joint, event)
            if lost is not None:
                trace = _trace_together(joint, joint.ways[lost])
                return _verdict([f"{event} is never possible again"], trace)
            continue
        for table in policy.tables_of(event):
            stuck = next((s for s in table.ways if table.way(s, event) is None), None)
            if stuck is not None:
                trace = _trace(table, table.ways[stuck])
                return _verdict([f"{event} is never possible again in {table.name}"], trace)
    return _verdict([])


def _lost(joint: _Joint, event: str) -> tuple[str, ...] | None:
    """The nearest state from which no state is reached in which an event is possible."""
    before = defaultdict[tuple[str, ...], list[tuple[str, ...]]](list)
    for at, leaving in joint.moves.items():
        for then in leaving.values():
            before[then].append(at)
    left = [at for at, leaving in joint.moves.items() if event in leaving]
    fine = set(left)
    while left:
        new = [at for at in before[left.pop()] if at not in fine]
        fine.update(new)
        left += new
    return next((at for at in joint.ways if at not in fine), None)


def _trace_together(joint: _Joint, labels: Sequence[str]) -> Trace[str]:
    """What comes of events from the beginning on, in tables together."""
    at = next(iter(joint.ways))
    start, steps = ", ".join(at), list[Step[str]]()
    for label in labels:
        at = joint.moves[at][label]
        steps.append(Step(External(label), ", ".join(at)))
    return Trace(start, tuple(steps))


def _trace(table: EventTable, labels: Iterable[str]) -> Trace[str]:
    """What comes of events from the beginning on."""
    steps, at = [], table.member.initial
    for label in labels:
        at = table.moves[at, label]
        steps.append(Step(External(label), at))
    return Trace(table.member.initial, tuple(steps))


def _terminates(table: EventTable) -> Verdict:
    """Whether only so many events can happen, and the last of them leads to an end state."""
    ways, before = table.ways, defaultdict[str, list[str]](list)
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
        reason = f"{table.name} stops in {bases[stuck]}, which is no end state"
        return Verdict(Status.FAILS, reason, _trace(table, ways[stuck]))
    return Verdict(Status.HOLDS)


_CHECKS: Mapping[str, Callable[[GatewayPolicy], Verdict]] = {
    LINES: _dead_lines,
    ROWS: _dead_rows,
    CALLABLE: _callable,
    FORBIDS: _forbids,
    POSSIBLE: _possible,
}
"""By check, the function that decides it, whose docstring explains it."""
