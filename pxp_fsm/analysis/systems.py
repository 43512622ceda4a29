"""Checks of systems of tables: valid combinations of options, and the results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from proofs.claims.system_certificates import (
    OTHERS,
    NotCertified,
    SystemCertificate,
    certify_system,
    uncertified,
)
from proofs.core.limits import UNLIMITED, Effort, half_of_memory
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
from pxp_fsm.analysis.requests import PROVED_OF, Request
from pxp_fsm.automata.system import is_named
from pxp_fsm.automata.system_files import Property, SystemFile, is_system_file, read_system
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
        or request.certificate is not None
        or any(map(is_named, request.tables))
        or any(map(is_system_file, request.tables))
        or any(map(_names_partners, request.tables))
    )


def certified_results(request: Request) -> Iterator[Result | SystemCertificate]:
    """The results, of which those that hold are in the certificate that comes last, or UNKNOWN.

    Raises as `results` does.
    """
    found, channels = list[Result](), request.channels or ("sync",)
    if len(channels) > 1 or request.reduce is not None:
        raise UsageError(
            "a certificate is of one channel and of every state; give one channel, no reduction",
            "certificate",
        )
    try:
        for result in results(replace(request, certificate=None)):
            found.append(result)
        system = System.load(*request.tables)
        over = system if channels == (UNBOUNDED,) else system.over(channels[0])
        certificate = certify_system(over, found, _effort(request))
    except KeyboardInterrupt:
        yield from found
        raise
    except NotCertified as error:
        yield from uncertified(found, str(error))
    else:
        yield from uncertified(found, OTHERS, certificate.claims)
        yield certificate


def results(request: Request) -> Iterator[Result]:
    """One result per property and channel, those of a property together.

    Raises `UsageError` or `TableError`; `Interrupted` after what was found before.
    """
    file = _file(request.tables)
    unbounded = UNBOUNDED in request.channels
    channels = tuple(text for text in dict.fromkeys(request.channels) if text != UNBOUNDED)
    if unbounded:
        _refuse_with_unbounded(request)
        effort = replace(_effort(request), states=request.limit or compatibility.MOST_STATES)
        yield from check_unbounded(System.load(*request.tables), request.names, request.k, effort)
        if not channels:
            return
    _check_options(request)
    system = System.load(*request.tables)
    parsed = [parse_channel(text) for text in channels] or [system.channel]
    try:
        yield from _bounded(request, system, parsed, () if file is None else file.properties)
    except NotReducible as error:
        raise UsageError(
            f"{error.reduction.value} cannot be used here: {error.reason}", "reduce"
        ) from error


def counterexample(tables: tuple[str, ...], name: str, channel: str | None) -> Result:
    """The result of one standard check or formula."""
    request = Request(tables, channels=() if channel is None else (channel,))
    known = {**TITLES, **compatibility.TITLES}
    asked = replace(request, names=(name,)) if name in known else replace(request, formulas=(name,))
    result, *_ = results(asked)
    return result


def _file(tables: Sequence[str]) -> SystemFile | None:
    """The system file that is to be checked, if it is one; it stands alone."""
    found = [table for table in tables if is_system_file(table)]
    if found and len(tables) > 1:
        raise UsageError(
            f"{found[0]} is a whole system; check it alone, without "
            f"{', '.join(table for table in tables if table != found[0]) or 'a second one'}"
        )
    return read_system(found[0]) if found else None


def _bounded(
    request: Request, system: System, channels: list[Channel], properties: Sequence[Property] = ()
) -> Iterator[Result]:
    effort = _effort(request)
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
        yield from demanded(system, properties, channels, effort, request.names, reduction)


def demanded(
    system: System,
    properties: Sequence[Property],
    channels: Sequence[Channel],
    effort: Effort,
    names: Sequence[str] = (),
    reduction: Reduction | None = None,
) -> Iterator[Result]:
    """The standard checks over each channel, and what a file's `properties` demand.

    With `names` only those standard checks. Raises `UsageError`, and `Interrupted` after what was
    found before.
    """
    wanted = [name for name in TITLES if name in (names or TITLES)]
    expected = {one.check: one for one in properties if one.check}
    _check_names(tuple(expected), TITLES, "a system", "")
    for result in _standard(system, channels, wanted, effort, reduction):
        other = expected.get(result.name)
        yield result if other is None else replace(result, expected=Status(other.expected))
    for one in properties if not names else ():
        if one.check:
            continue
        parsed = parse(one.formula)
        _check_about_tables(one.formula, parsed)
        for channel in channels:
            over = system.over(channel)
            found = check_formulas(over, [one.formula], effort=effort, reduction=reduction)
            for result in _advised(found, over, parsed, reducible=reduction is None):
                title = one.about or result.title
                yield replace(result, title=title, expected=Status(one.expected))


def _effort(request: Request) -> Effort:
    return Effort(request.limit or UNLIMITED, request.memory or half_of_memory())


def _standard(
    system: System,
    channels: Sequence[Channel],
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
        case Reduce(reduction):
            return f"reduction by {reduction.value}"
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
    if table in BUILTIN or is_named(table) or is_system_file(table):
        return False
    return any(row.partner for row in load_automaton(table).transitions)
