"""Checks of systems of tables: valid combinations of options, and the results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from proofs.core.limits import UNLIMITED, Effort
from proofs.core.results import Result, Status
from proofs.logic import Formula, Runs, parse
from proofs.logic.formulas import atoms
from proofs.logic.sessions import is_of_sessions
from proofs.systems import (
    Channel,
    Composition,
    Interrupted,
    NotReducible,
    Reduction,
    System,
    check_formulas,
    check_machines,
    check_standard,
    check_termination,
    check_unbounded,
    compatibility,
    parse_channel,
)
from proofs.systems.advice import Advice, FewerMembers, Reduce, SmallerCapacity, Synchronous, advice
from proofs.systems.results import MACHINE, TITLES
from proofs.systems.system import is_named
from pxp_fsm.analysis.requests import PROVED_OF, Request
from pxp_fsm.automata.tables import BUILTIN, load_automaton
from pxp_fsm.errors import UsageError, quoted

UNBOUNDED = "fifo"
"""The channel without a capacity."""


def is_about_system(request: Request) -> bool:
    """Whether a request is about its tables as one system, not about each protocol by itself."""
    return bool(
        len([table for table in request.tables if table not in PROVED_OF]) > 2
        or request.channels
        or request.formulas
        or request.termination
        or request.fair
        or request.reduce is not None
        or request.limit is not None
        or request.memory is not None
        or any(map(is_named, request.tables))
        or any(map(_names_partners, request.tables))
    )


def results(request: Request) -> Iterator[Result]:
    """One result per property and channel, those of a property together.

    Raises `UsageError` or `TableError`; `Interrupted` after what was found before.
    """
    unbounded = UNBOUNDED in request.channels
    channels = tuple(text for text in dict.fromkeys(request.channels) if text != UNBOUNDED)
    if unbounded:
        _refuse_with_unbounded(request)
        effort = Effort(request.limit or compatibility.MOST_STATES, request.memory or UNLIMITED)
        yield from check_unbounded(System.load(*request.tables), request.names, request.k, effort)
        if not channels:
            return
    _check_options(request)
    parsed = [parse_channel(text) for text in channels or ("sync",)]
    system = System.load(*request.tables)
    try:
        yield from _bounded(request, system, parsed)
    except NotReducible as error:
        raise UsageError(
            f"{error.reduction.value} cannot be used here: {error.reason}", "reduce"
        ) from error


def counterexample(tables: tuple[str, ...], name: str, channel: str) -> Result:
    """The result of one standard check or formula."""
    request = Request(tables, channels=(channel,))
    known = {**TITLES, **compatibility.TITLES}
    asked = replace(request, names=(name,)) if name in known else replace(request, formulas=(name,))
    result, *_ = results(asked)
    return result


def _bounded(request: Request, system: System, channels: list[Channel]) -> Iterator[Result]:
    limit, memory = request.limit, request.memory
    effort = Effort(UNLIMITED if limit is None else limit, UNLIMITED if memory is None else memory)
    reduction = None if request.reduce is None else Reduction(request.reduce)
    if request.termination:
        for channel in channels:
            over = system.over(channel)
            yield from _advised(check_termination(over, effort), over, None, reducible=False)
    elif request.formulas:
        formulas = {text: parse(text) for text in request.formulas}
        for text, formula in formulas.items():
            _check_about_tables(text, formula)
        for text, formula in formulas.items():
            for channel in channels:
                over = system.over(channel)
                found = check_formulas(
                    over, [text], Runs(request.runs), request.fair, effort, reduction
                )
                reducible = not (reduction or request.fair)
                yield from _advised(found, over, formula, reducible=reducible)
    else:
        names = [name for name in TITLES if name in (request.names or TITLES)]
        yield from _standard(system, channels, names, effort, reduction)


def _standard(
    system: System,
    channels: list[Channel],
    names: list[str],
    effort: Effort,
    reduction: Reduction | None,
) -> Iterator[Result]:
    """The standard checks, those over all channels in the order of their names."""
    found, stopped = list[Result](), None
    of_system = [name for name in names if name != MACHINE]
    for channel in channels if of_system else ():
        over = system.over(channel)
        checked = check_standard(over, of_system, effort, reduction)
        try:
            for result in _advised(checked, over, None, reducible=reduction is None):
                found.append(result)
        except Interrupted as error:
            stopped = error
            break
    yield from sorted(found, key=lambda result: names.index(result.name))
    if stopped is not None:
        raise stopped
    if MACHINE in names:
        yield from check_machines(system)


def _advised(
    found: Iterator[Result], system: System, formula: Formula | None, *, reducible: bool
) -> Iterator[Result]:
    """The results; an unknown verdict gets advice on what would need less."""
    for result in found:
        if result.status is not Status.UNKNOWN:
            yield result
            continue
        advised = [*advice(Composition(system), formula, reducible=reducible)]
        tries = [*map(_advice_text, advised), "a higher limit of states or memory"]
        listed = f"{', '.join(tries[:-1])} or {tries[-1]}" if advised else tries[-1]
        verdict = replace(result.verdict, reason=f"{result.reason}; try {listed}")
        yield replace(result, verdict=verdict)


def _advice_text(advised: Advice) -> str:
    match advised:
        case Reduce(Reduction.SYMMETRY, classes):
            alike = " and ".join(", ".join(names) for names in classes)
            return f"reduction by {Reduction.SYMMETRY.value} ({alike} are interchangeable)"
        case Reduce(reduction, _, deadlocks_only):
            only = " (for the property no-deadlock)" if deadlocks_only else ""
            return f"reduction by {reduction.value}{only}"
        case SmallerCapacity(capacity):
            return f"a smaller capacity than {capacity}"
        case Synchronous():
            return "the channel sync"
        case FewerMembers():
            return "fewer members"


def _check_options(request: Request) -> None:
    if not request.tables:
        raise UsageError("no table is given; name one that is joined with itself, or two or more")
    if request.relations is not None or request.values is not None:
        raise UsageError(
            "relations and explicit values apply to sessions of the built-in protocols, not to "
            "systems of tables",
            "relations" if request.relations is not None else "values",
        )
    if request.termination and (
        request.formulas
        or request.names
        or request.reduce
        or request.fair
        or request.runs != "complete"
    ):
        raise UsageError(
            "termination has its own properties, each with its own fairness; it cannot be combined "
            "with formulas, properties, a reduction, fairness or a choice of runs",
            "termination",
        )
    if (request.fair or request.runs != "complete") and not request.formulas:
        field = "fair" if request.fair else "runs"
        raise UsageError("the choice of runs has no effect without a formula; give one", field)
    if request.names and request.formulas:
        raise UsageError(
            "formulas cannot be combined with properties or explicit values", "formulas"
        )
    _check_names(request.names, TITLES, "a system", "")


def _refuse_with_unbounded(request: Request) -> None:
    if request.formulas or request.termination:
        raise UsageError(
            "formulas and termination are not checked over fifo, which has no bound; write fifo:C",
            "channels",
        )
    others = {
        "relations": request.relations is not None,
        "values": request.values is not None,
        "reduce": request.reduce is not None,
        "fair": bool(request.fair),
        "runs": request.runs != "complete",
    }
    for field, is_set in others.items():
        if is_set:
            raise UsageError("this has no effect over fifo, which has no bound", field)
    known = compatibility.TITLES
    _check_names(request.names, known, "channels without a bound", "; or write fifo:C")


def _check_names(names: tuple[str, ...], known: dict[str, str], subject: str, remedy: str) -> None:
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(
            f"{quoted(unknown[0])} is not a property of {subject}; there are: {', '.join(known)}"
            f"{remedy}",
            "names",
        )


def _check_about_tables(text: str, formula: Formula) -> None:
    """Raise `UsageError` for a proposition that only sessions of a protocol have."""
    found = [name for name in atoms(formula) if is_of_sessions(name)]
    if found:
        raise UsageError(
            f"{quoted(text)} uses {', '.join(found)}, which tables do not have but sessions of "
            f"interact and pxp do; give the assumptions on MATCH and AGREE, such as noisy",
            "relations",
        )


def _names_partners(table: str) -> bool:
    if table in BUILTIN or is_named(table):
        return False
    return any(row.partner for row in load_automaton(table).transitions)
