"""What can be checked, and what core can check: systems of tables, and the protocols of two."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from proofs.claims.catalogue import CLAIMS, NAMED, Claim, assumptions_of, source_of
from proofs.claims.certificates import certify, shipped_proofs
from proofs.claims.checking import Bounds, ClaimChecker, Substitutes
from proofs.claims.system_certificates import (
    OTHERS,
    NotCertified,
    SystemCertificate,
    certify_system,
    uncertified,
)
from proofs.claims.theorems import THEOREMS, Proof, proofs_of
from proofs.core.limits import UNLIMITED, Effort, half_of_memory
from proofs.core.results import Result, Status, Verdict
from proofs.logic import Formula, Runs, parse
from proofs.logic.fairness import demand
from proofs.logic.formulas import atoms
from proofs.logic.sessions import check as check_sessions
from proofs.logic.sessions import is_of_sessions
from proofs.logic.termination import (
    ALWAYS_ENDS,
    FAIR_ENDS,
    NO_TRAP,
    TERMINATION,
    fair_runs_end,
    no_trap,
)
from proofs.requests import ANY_TABLE, NamedProperty, Request, parameters_in
from proofs.rules.certificates import RulesCertificate, name_of_claim, prove_system, prove_table
from proofs.sessions.explicit import check_explicit
from proofs.sessions.running import check_running
from proofs.systems import (
    Composition,
    Interrupted,
    NotReducible,
    Reduction,
    System,
    check_formulas,
    check_standard,
    check_termination,
    check_unbounded,
    compatibility,
    partial_order,
    symmetry,
)
from proofs.systems.intervals import Decided, by_rules
from proofs.systems.results import (
    FINDING,
    MACHINE,
    TITLES,
    check_findings,
    check_machines,
    titles_for,
)
from proofs.systems.standard_checks import EVENTUAL_RECEPTION, PROGRESS, STANDARD
from pxp_fsm import defaults, registry
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.system import is_named
from pxp_fsm.automata.system_files import is_system_file, read_system
from pxp_fsm.automata.table_files import Property
from pxp_fsm.automata.tables import built_in_names, format_of, load_automaton
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.rules import Interact, Pxp, Rules

Answer = Result | SystemCertificate | RulesCertificate | str
"""What comes of a request: results, the certificates that were made on the way, and notes."""


class Checkable(Protocol):
    """A kind of subject that can be checked. Core has tables, systems and the protocols of two;
    plug-ins add theirs."""

    @property
    def kind(self) -> str:
        """What its subjects are called."""
        ...

    def accepts(self, subject: Any) -> bool:
        """Whether `subject`, a name or a value, is such a subject."""
        ...

    def properties(self) -> Iterable[NamedProperty]:
        """What can be asked for by name."""
        ...

    def results(self, request: Request) -> Iterator[Answer]:
        """What comes of a request all of whose subjects it accepts.

        Raises `UsageError` or `TableError`; `Interrupted` after what was found before.
        """
        ...


@runtime_checkable
class OfTables(Checkable, Protocol):
    """A kind whose subjects are several tables: what happens is allowed by each that has it."""

    def tables(self, subject: Any) -> Mapping[str, Automaton]:
        """The tables of a subject, as they run, by their names."""
        ...


PROVED_OF = {"interact": ("interact",), "pxp": ("pxp", "pxp(k)")}
"""For each built-in table, the protocols that have claims about it."""

UNBOUNDED = "fifo"
"""The channel without a capacity."""

NAMES = {**TITLES, **{name: title for name, title in TERMINATION.items() if name not in TITLES}}
"""What can be asked of every system by name, with its title."""


_EXPLAINED: Mapping[str, Callable[..., object]] = {
    **dict.fromkeys((*FAIR_ENDS, ALWAYS_ENDS), fair_runs_end),
    NO_TRAP: no_trap,
    FINDING: check_findings,
    MACHINE: check_machines,
    **{name: standard_check.decide for name, standard_check in STANDARD.items()},
}
"""By check, the function that decides it, whose docstring explains it."""


def explain_check(name: str) -> str:
    """What the check `name` says, why it matters, what to do, and an example that fails.

    "" where it is no check of `NAMES`.

    >>> print(explain_check("no-deadlock").splitlines()[0])
    Every state in which nothing can happen is one in which every member has ended.
    """
    return inspect.getdoc(_EXPLAINED[name]) or "" if name in _EXPLAINED else ""


def explain_claim(claim: Claim) -> str:
    """When a claim of the catalogue holds and fails, its source, and how to see a counterexample.

    >>> from proofs.claims.catalogue import find
    >>> print(explain_claim(find("interact.never-ultra")[0]))  # doctest: +ELLIPSIS
    Holds under tolerance; equivalence, proved for all n and k.
    Fails under noisy; without ...; `pxp check interact --property ...` shows a session.
    Source: observed in [B] Figure 4 and [C] Table 1.
    """
    holds, fails = (
        [name for name, expected in claim.expected.items() if expected is status]
        for status in (Status.HOLDS, Status.FAILS)
    )
    subject = next(table for table, protocols in PROVED_OF.items() if claim.protocol in protocols)
    lines = []
    if holds:
        under = (
            "for any relations"
            if "noisy" in holds and not claim.exact
            else f"under {'; '.join(holds)}"
        )
        proved = ", proved for all n and k" if claim.id in THEOREMS else ""
        lines.append(f"Holds {under}{proved}.")
    if fails:
        name = claim.name if claim.protocol == subject else f"'{claim.id}'"
        relations = fails[0] if fails[0].isalpha() else f"'{fails[0]}'"
        shows = f"pxp check {subject} --property {name} --relations {relations}"
        lines.append(f"Fails under {'; '.join(fails)}; `{shows}` shows a session.")
    return "\n".join([*lines, f"Source: {source_of(claim)}."])


# Systems of tables -------------------------------------------------------------------------------


@dataclass(frozen=True)
class SystemSubjects:
    """Tables that are joined, systems, and system files; a table alone is joined with itself."""

    kind: str = "system"

    def accepts(self, subject: Any) -> bool:
        """A `System`, an `Automaton`, or the name or file of one."""
        return isinstance(subject, System | Automaton | str)

    def properties(self) -> Iterator[NamedProperty]:
        """The standard checks, and the questions about termination."""
        return (
            NamedProperty(name, ANY_TABLE, title, explain_check(name))
            for name, title in NAMES.items()
        )

    def results(self, request: Request) -> Iterator[Answer]:
        """One result per property and channel, those of a property together.

        With `certificate` what holds is in the certificate that comes last, or UNKNOWN.
        """
        table = _with_claims(request)
        if table is not None:
            return _proved_of_table(table, request)
        _, properties = _system(request)
        if any(declared.claim for declared in properties) and not request.formulas:
            return _proved_from_rules(request)
        results = self.checked(request)
        return results if request.certificate_file is None else _certified(request, results)

    def checked(self, request: Request) -> Iterator[Result | str]:
        """What is checked of the tables: by their rules, or with free guards and notes why."""
        request = replace(request, channels=request.channels or _channels_of(request))
        system, properties = _system(request)
        yield from _own_notes(system)
        unbounded = UNBOUNDED in request.channels
        channels = [text for text in dict.fromkeys(request.channels) if text != UNBOUNDED]
        if unbounded:
            _refuse_with_unbounded(request)
            effort = replace(_effort(request), states=request.limit or compatibility.MOST_STATES)
            decided = _decided(request, [system], bounded=False)
            yield from _notes(decided)
            yield from check_unbounded(decided[0].system, request.names, request.k, effort)
            if not channels:
                return
        _check_options(request)
        decided = _decided(request, [system.over(text) for text in channels] or [system])
        yield from _notes(decided)
        over = [declared.system for declared in decided]
        reduction = _reduction(request.reduction)
        try:
            yield from _bounded(request, over, properties, reduction)
        except NotReducible as error:
            raise UsageError(
                f"{error.reduction.value} cannot be used here: {error.reason}", "reduction"
            ) from error
        except UsageError as error:
            left_out = (replace(decision, loose=()) for decision in decided)
            why = "".join(f"; {note}" for note in _notes(left_out))
            if not why:
                raise
            raise UsageError(f"{error}{why}", error.field) from error


SYSTEMS = SystemSubjects()


def is_about_system(request: Request) -> bool:
    """Whether a request is about its tables as one system, not about each protocol by itself."""
    return bool(
        len([subject for subject in request.subjects if not PROTOCOLS.accepts(subject)]) > 2
        or request.channels
        or request.parameters
        or request.given
        or request.formulas
        or request.termination
        or request.fair
        or request.reduction is not None
        or request.limit is not None
        or request.memory is not None
        or request.certificate_file is not None
        or any(map(_is_of_system, request.subjects))
    )


def _is_of_system(subject: Any) -> bool:
    """Whether a subject is a table that no plug-in checks, and is not checked by itself."""
    if not isinstance(subject, str) or PROTOCOLS.accepts(subject):
        return False
    plugged: Iterator[Checkable] = registry.listed("checks")  # they are loaded for nothing else
    return not any(kind.accepts(subject) for kind in plugged) and (
        is_named(subject) or is_system_file(subject) or _stands_alone(subject)
    )


def _stands_alone(name: str) -> bool:
    """Whether a table is not one of two: it names its partners, or what is claimed of it alone."""
    table = load_automaton(name)
    return bool(table.properties) or any(row.partner for row in table.transitions)


def _system(request: Request) -> tuple[System, tuple[Property, ...]]:
    """The system of the subjects, with what it must do; a system or its file stands alone."""
    subjects = request.subjects
    if not subjects:
        raise UsageError("no table is given; name one that is joined with itself, or two or more")
    whole = [
        subject for subject in subjects if isinstance(subject, System) or is_system_file(subject)
    ]
    if whole and len(subjects) > 1:
        others = ", ".join(str(subject) for subject in subjects if subject not in whole)
        raise UsageError(
            f"{whole[0]} is a whole system; check it alone, without {others or 'a second one'}"
        )
    if whole and isinstance(whole[0], System):
        return whole[0], request.properties
    own = read_system(whole[0]).properties if whole else ()
    return System.load(*subjects), (*own, *request.properties)


def properties_of(subject: object) -> tuple[Property, ...]:
    """What the file of a system demands, and what a table claims of itself."""
    if isinstance(subject, str) and is_system_file(subject):
        return read_system(subject).properties
    if isinstance(subject, str) and Path(subject).suffix in (".toml", ".json"):
        subject = load_automaton(subject)
    return subject.properties if isinstance(subject, Automaton) else ()


def _given(request: Request) -> dict[str, object]:
    """The parameters of the system file, and those of the request, which count before them."""
    values = dict[str, object]()
    for subject in request.subjects:
        if is_system_file(subject):
            values |= read_system(subject).parameters
    written = parameters_in(request.parameters) if request.parameters else {}
    return values | written | dict(request.given)


def _proved_from_rules(request: Request) -> Iterator[Answer]:
    """What is checked of the tables, then what is proved for all values of parameters.

    With `certificate` only what is proved is asked for; the certificate comes last.
    """
    system, properties = _system(request)
    wanted = [
        declared
        for declared in properties
        if declared.claim and request.wants(name_of_claim(declared))
    ]
    others = tuple(name for name in request.names if name not in map(name_of_claim, wanted))
    if request.certificate_file is None and (others or not request.names):
        yield from SYSTEMS.checked(replace(request, names=others))
    certificates = list[RulesCertificate]()
    for text in dict.fromkeys(request.channels) or (system.channel.name,):
        over = system.over(text) if request.channels and text != UNBOUNDED else system
        results, certificate = prove_system(over, wanted, text)
        yield from results
        certificates += [] if certificate is None else [certificate]
    if certificates and request.certificate_file is not None:
        yield certificates[0]


def _with_claims(request: Request) -> Automaton | None:
    """The table that is asked about alone, where it states what is so whatever its peers do."""
    settings = request.parameters or request.given or request.termination
    if settings or request.formulas or request.channels or len(request.subjects) != 1:
        return None
    (subject,) = request.subjects
    if isinstance(subject, str) and not is_named(subject) and not is_system_file(subject):
        subject = load_automaton(subject)
    if not isinstance(subject, Automaton) or not subject.properties:
        return None
    known = {name_of_claim(declared) for declared in subject.properties}
    return subject if known >= {*request.names} else None


def _proved_of_table(table: Automaton, request: Request) -> Iterator[Answer]:
    """The claims of a table alone, proved; the certificate comes last."""
    wanted = tuple(
        declared for declared in table.properties if request.wants(name_of_claim(declared))
    )
    results, certificate = prove_table(replace(table, properties=wanted))
    yield from results
    if certificate is not None and request.certificate_file is not None:
        yield certificate


def _decided(request: Request, systems: Sequence[System], *, bounded: bool = True) -> list[Decided]:
    """The systems as far as their rules decide; a certificate is of every decision."""
    if request.certificate_file is not None:
        return [
            Decided(
                system,
                tuple(
                    f"{member.automaton.name}: a certificate is of every decision"
                    for member in system.members
                    if member.automaton.written.counts
                ),
            )
            for system in systems
        ]
    return [by_rules(system, _given(request), bounded=bounded) for system in systems]


def _notes(decided: Iterable[Decided]) -> Iterator[str]:
    """Which rules nothing that is checked looks at, and which ids may not fit; each once."""
    decided = tuple(decided)
    for left_out in dict.fromkeys(reason for decision in decided for reason in decision.left_out):
        yield f"rules left out: {left_out}"
    yield from dict.fromkeys(note for decision in decided for note in decision.loose)


def _own_notes(system: System) -> Iterator[str]:
    """What the user's own tables say of themselves, such as which rows are guesses."""
    tables = {member.automaton.name: member.automaton.note for member in system.members}
    for name, note in tables.items():
        if note and name not in built_in_names():
            yield f"{name}: {note}"


def _channels_of(request: Request) -> tuple[str, ...]:
    """The channel that the format of a file means, where none is given; none of our own format."""
    alone = request.subjects[0] if len(request.subjects) == 1 else None
    form = format_of(Path(alone)) if isinstance(alone, str) else None
    return (form.channel,) if form is not None and form.channel else ()


def _effort(request: Request) -> Effort:
    return Effort(request.limit or UNLIMITED, request.memory or half_of_memory())


def _reduction(name: str | None) -> Reduction | None:
    if name is None:
        return None
    try:
        return Reduction(name)
    except ValueError as error:
        known = ", ".join(Reduction)
        raise UsageError(f"there is no reduction {quoted(name)}; there are: {known}") from error


def _certified(request: Request, answers: Iterator[Result | str]) -> Iterator[Answer]:
    """The results, with the certificate of those that hold; what it has not is UNKNOWN."""
    results, channels = list[Result](), request.channels
    if request.parameters or request.given:
        raise UsageError(
            "a certificate is of every decision, whatever the rules say: leave the parameters out, "
            "or state a claim, which is proved for all parameters (pxp help proofs)",
            "certificate",
        )
    if len(channels) > 1 or request.reduction is not None:
        raise UsageError(
            "a certificate is of one channel and of every state; give one channel, no reduction",
            "certificate",
        )
    try:
        for found in answers:
            if isinstance(found, Result):
                results.append(found)
            else:
                yield found
        system, _ = _system(request)
        over = system if channels in ((), (UNBOUNDED,)) else system.over(channels[0])
        certificate = certify_system(over, results, _effort(request))
    except KeyboardInterrupt:
        yield from results
        raise
    except NotCertified as error:
        yield from uncertified(results, str(error))
    else:
        yield from uncertified(results, OTHERS, certificate.claims)
        yield certificate


def _bounded(
    request: Request,
    over: Sequence[System],
    properties: Sequence[Property],
    reduction: Reduction | None,
) -> Iterator[Result]:
    """The checks over channels with a bound: all of a property, then all of the next one."""
    effort, everything = _effort(request), not request.names and not request.formulas
    if request.termination:
        if not over[0].can_end:
            endless = [member.name for member in over[0].members if not member.automaton.final]
            raise UsageError(
                f"{', '.join(endless)} has no end state, so that nothing ends; leave termination "
                f"out, and {PROGRESS} and {EVENTUAL_RECEPTION} are checked",
                "names",
            )
        for system in over:
            checked = check_termination(system, effort)
            yield from _advised(checked, system, None, reducible=False)
        return
    asked = {text: parse(text) for text in request.formulas}
    demanded = [declared for declared in properties if declared.formula] if everything else []
    parsed = asked | {declared.formula: parse(declared.formula) for declared in demanded}
    for text, formula in parsed.items():
        _check_about_tables(text, formula)
    expected = {
        declared.check: Status(declared.expected)
        for declared in properties
        if declared.check and not declared.claim
    }
    _check_names(tuple(expected), TITLES, "a system", "")
    if everything or request.names:
        for result in standard(over, request.names, effort, reduction):
            yield replace(result, expected=expected.get(result.name, result.expected))
    for text, formula in asked.items():
        for system in over:
            checked = check_formulas(
                system, [text], Runs(request.runs), request.fair, effort, reduction
            )
            reducible = not (reduction or request.fair)
            yield from _advised(checked, system, formula, reducible=reducible)
    for declared in demanded:
        for system in over:
            checked = check_formulas(system, [declared.formula], effort=effort, reduction=reduction)
            reducible = reduction is None
            for result in _advised(checked, system, parsed[declared.formula], reducible=reducible):
                title = declared.about or result.title
                yield replace(result, title=title, expected=Status(declared.expected))


def standard(
    over: Sequence[System],
    names: Sequence[str] = (),
    effort: Effort | None = None,
    reduction: Reduction | None = None,
) -> Iterator[Result]:
    """The standard checks of a system over several channels, or the properties with these names.

    They come in the order of `NAMES`, whatever the channel; termination and machines come last.
    """
    wanted = titles_for(over[0], names)
    results, interrupt = list[Result](), None
    of_system = [name for name in wanted if name not in (FINDING, MACHINE)]
    for system in over if of_system else ():
        checked = check_standard(system, of_system, effort, reduction)
        try:
            results += _advised(checked, system, None, reducible=reduction is None)
        except Interrupted as error:
            interrupt = error
            break
    yield from sorted(results, key=lambda result: wanted.index(result.name))
    if interrupt is not None:
        raise interrupt
    ends = [name for name in TERMINATION if name in names and name not in TITLES]
    for system in over if ends else ():
        yield from _advised(check_termination(system, effort, ends), system, None, reducible=False)
    if FINDING in wanted:
        yield from check_findings(over[0])
    if MACHINE in wanted:
        yield from check_machines(over[0])


def _advised(
    results: Iterator[Result], system: System, formula: Formula | None, *, reducible: bool
) -> Iterator[Result]:
    """The results; an unknown verdict gets advice on what would need less."""
    for result in results:
        if result.status is not Status.UNKNOWN:
            yield result
            continue
        tries = [*_remedies(Composition(system), formula, reducible=reducible)]
        listed = " or ".join(filter(None, (", ".join(tries), "a higher limit of states or memory")))
        verdict = replace(result.verdict, reason=f"{result.reason}; try {listed}")
        yield replace(result, verdict=verdict)


def _remedies(
    composition: Composition, formula: Formula | None, *, reducible: bool
) -> Iterator[str]:
    """What would need fewer states; `formula` is None for the standard checks.

    Not `reducible` is what is reduced already, and what no reduction keeps.
    """
    system, channel = composition.system, composition.channel
    largest = max(declared.capacity for declared in channel.each)
    if reducible and not symmetry.why_not(system, formula):
        classes = symmetry.interchangeable(system)
        alike = " and ".join(
            ", ".join(system.members[place].name for place in alike) for alike in classes
        )
        yield f"reduction by {Reduction.SYMMETRY.value} ({alike} are interchangeable)"
    if reducible and not partial_order.why_not(composition, formula):
        yield f"reduction by {Reduction.PARTIAL_ORDER.value}"
    if largest > 1:
        yield f"a smaller capacity than {largest}"
    elif not channel.synchronous:
        yield "the channel sync"
    if len(system.members) > 2:
        yield "fewer members"


def _check_options(request: Request) -> None:
    if request.relations is not None or request.values is not None:
        raise UsageError(
            "relations and explicit values apply to sessions of the built-in protocols, not to "
            "systems of tables",
            "relations" if request.relations is not None else "values",
        )
    if request.termination and (
        request.formulas
        or len(request.names) > 1
        or request.reduction
        or request.fair
        or request.runs != "complete"
    ):
        raise UsageError(
            "termination has its own properties, each with its own fairness; it cannot be combined "
            "with formulas, properties, a reduction, fairness or a choice of runs",
            "names",
        )
    if (request.fair or request.runs != "complete") and not request.formulas:
        field = "fair" if request.fair else "runs"
        raise UsageError("the choice of runs has no effect without a formula; give one", field)
    request.refuse_folder()
    if not request.termination:
        _check_names(request.names, NAMES, "a system", "")


def _refuse_with_unbounded(request: Request) -> None:
    if request.formulas or request.termination:
        raise UsageError(
            "formulas and termination are not checked over fifo, which has no bound; write fifo:C",
            "channels",
        )
    others = {
        "relations": request.relations is not None,
        "values": request.values is not None,
        "reduction": request.reduction is not None,
        "fair": bool(request.fair),
        "runs": request.runs != "complete",
    }
    for field, is_set in others.items():
        if is_set:
            raise UsageError("this has no effect over fifo, which has no bound", field)
    known = compatibility.TITLES
    _check_names(request.names, known, "channels without a bound", "; or write fifo:C")


def _check_names(names: Sequence[str], known: Mapping[str, str], subject: str, remedy: str) -> None:
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(
            f"{quoted(unknown[0])} is not a property of {subject}; there are: {', '.join(known)}"
            f"{remedy}",
            "names",
        )


def _check_about_tables(text: str, formula: Formula) -> None:
    """Raise `UsageError` for a proposition that only sessions of a protocol have."""
    foreign = [name for name in atoms(formula) if is_of_sessions(name)]
    if foreign:
        raise UsageError(
            f"{quoted(text)} uses {', '.join(foreign)}, which tables do not have but sessions of "
            f"interact and pxp do; give the assumptions on MATCH and AGREE, such as noisy",
            "relations",
        )


# Sessions of the protocols of two ----------------------------------------------------------------


_SMALL = Bounds(n=5, k=1)
"""For what each assumption is needed for, a counterexample in a small session is enough."""

_UNSTATED = "noisy"
"""What is assumed of MATCH and AGREE where rules are checked and nothing is said of it."""


@dataclass(frozen=True)
class ProtocolSubjects:
    """INTERACT and PXP: by the names of their tables, or as rules with their bounds."""

    kind: str = "protocol"

    def accepts(self, subject: Any) -> bool:
        """`interact`, `pxp`, `Interact(...)` or `Pxp(...)`."""
        return isinstance(subject, Interact | Pxp) or (
            isinstance(subject, str) and subject in PROVED_OF
        )

    def properties(self) -> Iterator[NamedProperty]:
        """The claims of the catalogue."""
        return (
            NamedProperty(claim.name, claim.protocol, claim.title, explain_claim(claim))
            for claim in CLAIMS
        )

    def results(self, request: Request) -> Iterator[Answer]:
        """What is known of each: of a name its standard checks and every claim under each set of
        assumptions, of rules their claims at their n and k."""
        bounds = Bounds(request.n, request.k)
        bounds.rules("interact")  # raises where there is no such n or k
        if request.relations is not None:
            assumptions_of(request.relations)
        _refuse_about_sessions(request)
        for table in PROVED_OF:
            if table in request.subjects:
                yield from _of_table(table, request, bounds)
        for rules in request.subjects:
            if isinstance(rules, Interact | Pxp):
                yield from _of_rules(rules, request)


PROTOCOLS = ProtocolSubjects()


def is_about_sessions(request: Request) -> bool:
    """Whether a request is about sessions alone: of rules, of running agents, over relations."""
    if request.running or any(isinstance(subject, Interact | Pxp) for subject in request.subjects):
        return True
    alone = replace(request, formulas=(), fair=())
    return bool(request.relations and request.formulas and not is_about_system(alone))


def _of_table(table: str, request: Request, bounds: Bounds) -> Iterator[Answer]:
    """What is known of the protocols of a built-in table."""
    protocols = [(name, bounds.rules(name)) for name in PROVED_OF[table]]
    if request.running:
        for _, rules in protocols:
            for name in NAMED if request.relations is None else (request.relations,):
                yield check_running(rules, name)
        return
    if request.values is not None:
        yield from _explicit(request, Interact(request.n, request.k))
        return
    if request.names or not request.formulas:
        system = System.load(table)
        names = [name for name in NAMES if name in request.names]
        names = names if request.names else [*titles_for(system)]
        if names:
            yield from standard([system], names, _effort(request))
        claims = _claims(PROVED_OF[table], request)
        proofs, anew = list[Proof](), request.certificate_folder is not None
        for protocol, rules in protocols:
            own = [claim for claim in claims if claim.protocol == protocol and claim.proved_by]
            for proved in _proved(protocol, rules, own, anew=anew) if own else ():
                if isinstance(proved, Proof):
                    proofs.append(proved)
                else:
                    yield proved
        yield from _explored(claims, request, bounds, proofs)
    for text in request.formulas:
        for name, rules in protocols:
            yield _formula(name, rules, text, request.relations or _UNSTATED, request)


def _proved(
    protocol: str, rules: Rules, claims: Sequence[Claim], *, anew: bool
) -> Iterator[RulesCertificate | Proof]:
    """What is proved for all n and k: what comes with the package where it is of what runs."""
    shipped = None if anew else shipped_proofs(rules)
    if anew:
        certified = certify(protocol)
        yield from certified.proofs
        if certified.certificate is not None:
            yield certified.certificate
    else:
        yield from proofs_of(claims) if shipped is None else shipped


def _of_rules(rules: Rules, request: Request) -> Iterator[Answer]:
    """The claims about the sessions of `rules`, or what is asked of them.

    What a certificate proves of the same table is said of all n and k.
    """
    _refuse_with_rules(request)
    relations = request.relations or _UNSTATED
    protocol = rules.name if rules.n is not None or rules.k is None else f"{rules.name}(k)"
    if request.running:
        yield check_running(rules, relations)
        return
    if isinstance(rules, Interact) and request.values is not None:
        yield from _explicit(request, rules)
        return
    if request.names or not request.formulas:
        tables = {} if rules.table is None else {rules.name: rules.table}
        bounds = Bounds(rules.n or defaults.N, rules.k or defaults.K)
        instead = Substitutes(tables)
        checker = ClaimChecker(bounds, instead=instead, proofs=shipped_proofs(rules) or ())
        for claim in _claims((protocol,), request):
            yield _checked(checker, claim, relations)
    for text in request.formulas:
        yield _formula(protocol, rules, text, relations, request)


def _claims(protocols: Sequence[str], request: Request) -> list[Claim]:
    return [
        claim
        for claim in CLAIMS
        if claim.protocol in protocols and request.wants(claim.name, claim.protocol)
    ]


def _explored(
    claims: Sequence[Claim], request: Request, bounds: Bounds, proofs: Sequence[Proof]
) -> Iterator[Result]:
    """Each claim under each set of assumptions of which it says something, or under one."""
    checkers = {small: ClaimChecker(_SMALL if small else bounds, proofs=proofs) for small in (0, 1)}
    for claim in claims:
        names = claim.expected if request.relations is None else (request.relations,)
        for name in names:
            small = request.relations is None and _only_shows_a_need(claim, name)
            yield _checked(checkers[small], claim, name)


def _checked(checker: ClaimChecker, claim: Claim, relations: str) -> Result:
    try:
        return checker.check(claim, relations)
    except KeyboardInterrupt as error:
        cut_off = claim.result(relations, Verdict(Status.UNKNOWN, "interrupted"))
        raise Interrupted(cut_off) from error


def _only_shows_a_need(claim: Claim, assumptions: str) -> bool:
    """Whether it is asked only to show which assumptions the claim needs."""
    return assumptions not in (*NAMED, "reflexive") or (
        claim.protocol == "pxp(k)" and claim.expected.get(assumptions) is Status.FAILS
    )


def _formula(protocol: str, rules: Rules, text: str, relations: str, request: Request) -> Result:
    """A formula over the sessions of a protocol, for any data under assumptions."""
    started, demands = time.perf_counter(), tuple(map(demand, request.fair))
    verdict, messages = check_sessions(
        rules, assumptions_of(relations), parse(text), Runs(request.runs), demands
    )
    return Result(
        protocol,
        text,
        text,
        ", ".join([relations, f"{request.runs} runs", *request.fair]),
        verdict,
        Status.HOLDS,
        time.perf_counter() - started,
        f"{protocol} under {relations}",
        messages,
    )


def _explicit(request: Request, rules: Interact) -> Iterator[Result]:
    if request.relations not in (None, "equivalence"):
        raise UsageError(
            "MATCH and AGREE are equality over explicit values: the relations must be "
            f"equivalence, not {request.relations}",
            "values",
        )
    yield from check_explicit(_claims(("interact",), request), rules, request.values or 1)


def _refuse_about_sessions(request: Request) -> None:
    """Refuse what is no subject of what is asked about sessions, and what does not go with it."""
    others = [subject for subject in request.subjects if not PROTOCOLS.accepts(subject)]
    if request.running:
        if (
            len(request.names) > 1 or request.formulas or request.values is not None
        ) or is_about_system(request):
            raise UsageError(
                "running agents are compared with the model of sessions, which is explored for "
                "--n, --k and --relations; leave the other options out",
                "names",
            )
        if others:
            raise UsageError(
                f"sessions follow interact and pxp; {others[0]} is neither. What pxp check "
                f"{others[0]} says of its machine is {MACHINE}",
                "names",
            )
    elif request.formulas:
        if request.values is not None:
            raise UsageError("formulas cannot be combined with explicit values", "formulas")
        if others or len(request.subjects) != 1:
            raise UsageError(
                "formulas under relations are checked on the sessions of one protocol; the table "
                "must be interact or pxp",
                "relations",
            )
    elif request.values is not None and not all(
        isinstance(subject, Interact) or subject == "interact" for subject in request.subjects
    ):
        raise UsageError(
            "explicit values are explored for INTERACT only; check the table interact alone",
            "values",
        )


def _refuse_with_rules(request: Request) -> None:
    others = {
        "n": request.n != defaults.N,
        "k": request.k != defaults.K,
        "channels": bool(request.channels),
        "parameters": bool(request.parameters or request.given),
        "limit": request.limit is not None,
        "memory": request.memory is not None,
        "reduction": request.reduction is not None,
        "certificate": request.certificate is not None,
        "termination": request.termination,
    }
    for field, is_set in others.items():
        if is_set:
            raise UsageError(
                f"{field} cannot be given with Interact(...) or Pxp(...), which have their own n "
                "and k, and whose states are those of sessions, not of a system",
                field,
            )
