"""Checks of tables and protocols: which claims on which tables, and their results."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from proofs.claims.catalogue import CLAIMS, NAMED, Claim, assumptions_of, find
from proofs.claims.certificates import Certificate, certify, shipped_proofs
from proofs.claims.checking import Bounds, Checker
from proofs.claims.system_certificates import SystemCertificate
from proofs.claims.theorems import Proof, unproved
from proofs.core.results import Result, Status, Verdict, stopped
from proofs.induction.numbers import Unknown
from proofs.logic import Runs, parse
from proofs.logic.fairness import demand
from proofs.logic.sessions import check
from proofs.networks import checking
from proofs.networks import claims as update_claims
from proofs.sessions.explicit import check_explicit
from proofs.sessions.running import check_running
from proofs.systems import Interrupted, System, check_standard
from proofs.systems.results import MACHINE, TITLES, machine_result
from pxp_fsm import defaults
from pxp_fsm.analysis import systems
from pxp_fsm.analysis.requests import PROVED_OF, Request
from pxp_fsm.automata.tables import NETWORKS, load_automaton
from pxp_fsm.errors import UsageError, unknown_name

UNEXPECTED, UNKNOWN = 1, 4

_SMALL = Bounds(n=5, k=1)
"""For what each assumption is needed for, a counterexample in a small session is enough."""


@dataclass(frozen=True)
class Checked:
    """The lines of a check, and the certificates of what was proved on the way.

    Where it was `interrupted` there are lines of what was checked before.
    """

    lines: tuple[Result, ...]
    certificates: tuple[Certificate, ...] = ()
    certificate: SystemCertificate | None = None
    interrupted: bool = False

    def write(self, folder: Path) -> tuple[Path, ...]:
        """Write the certificates into `folder`, which is made if need be."""
        if self.certificates:
            folder.mkdir(parents=True, exist_ok=True)
        return tuple(one.write(folder) for one in self.certificates)


def run(request: Request) -> Checked:
    """Check what is asked for. Raises `UsageError` or `TableError`.

    Interrupted, it gives what was found so far.
    """
    lines, certificates = list[Result](), list[Certificate]()
    certificate: SystemCertificate | None = None
    try:
        for one in _checked(request):
            if isinstance(one, Certificate):
                certificates.append(one)
            elif isinstance(one, SystemCertificate):
                certificate = one
            else:
                lines.append(one)
    except KeyboardInterrupt as error:
        if isinstance(error, Interrupted):
            lines.append(error.result)
        return Checked(tuple(lines), tuple(certificates), interrupted=True)
    return Checked(tuple(lines), tuple(certificates), certificate)


def _checked(request: Request) -> Iterator[Result | Certificate | SystemCertificate]:
    """The lines, and the certificates, as they are found."""
    bounds = Bounds(request.n, request.k)
    bounds.rules("interact")
    if request.relations is not None:
        assumptions_of(request.relations)
    if request.running:
        yield from _running(request, bounds)
        return
    alone = replace(request, formulas=(), fair=())
    if request.relations is not None and request.formulas and not systems.is_about_system(alone):
        yield from _over_sessions(request, bounds)
        return
    if systems.is_about_system(request):
        certify_it = request.certificate is not None
        yield from (systems.certified_results if certify_it else systems.results)(request)
        return
    own = [table for table in request.tables if table not in (*PROVED_OF, *NETWORKS)]
    builtin = [table for table in PROVED_OF if table in request.tables or not request.tables]
    _check_names(request.names)
    if own and not builtin:
        _refuse_bounds(request)
    if request.values is not None:
        _check_values(request, own, builtin)
        yield from check_explicit(_claims_of("interact", request), bounds, request.values)
        return
    found = False
    for one in _everything(request, bounds, own, builtin):
        found = found or isinstance(one, Result)
        yield one
    if not found:
        raise UsageError(
            f"{', '.join(request.names)} is not a property of {', '.join(request.tables)}; "
            f"a table of your own has: {', '.join(TITLES)}"
        )


def _refuse_bounds(request: Request) -> None:
    """Refuse what applies to sessions of the built-in protocols alone."""
    for field, is_set in (
        ("relations", request.relations is not None),
        ("n", request.n != defaults.N),
        ("k", request.k != defaults.K),
    ):
        if is_set:
            raise UsageError(
                "this applies to sessions of interact and pxp; the guards of tables of your own "
                "are free",
                field,
            )


def _running(request: Request, bounds: Bounds) -> Iterator[Result]:
    """Running agents beside the model, for each protocol of the tables."""
    if request.names or request.values is not None or systems.is_about_system(request):
        raise UsageError(
            "running agents are compared with the model of sessions, which is explored for --n, "
            "--k and --relations; leave the other options out",
            "running",
        )
    for table in request.tables:
        if table not in PROVED_OF:
            raise UsageError(
                f"sessions follow interact and pxp; {table} is neither. What pxp check {table} "
                f"says of its machine is {MACHINE}",
                "running",
            )
    names = NAMED if request.relations is None else (request.relations,)
    for table in PROVED_OF:
        for protocol in PROVED_OF[table] if table in (request.tables or PROVED_OF) else ():
            for name in names:
                yield check_running(bounds.rules(protocol), name)


def _everything(
    request: Request, bounds: Bounds, own: Sequence[str], builtin: Sequence[str]
) -> Iterator[Result | Certificate]:
    """What is known to ask of each table."""
    proofs = list[Proof]()
    for table in builtin:
        yield from _standard(System.load(table), request)
        claims = _claims_of(table, request)
        if any(claim.induction for claim in claims):
            shipped = None if request.certificates else shipped_proofs(table)
            try:
                certificate = None if shipped else certify(table)
            except Unknown as error:
                proofs += unproved(claims, error)
            except Exception as error:  # noqa: BLE001 - whatever a decision function does
                proofs += unproved(claims, Unknown(stopped(error).reason))
            else:
                proofs += shipped or ()
                if certificate:
                    proofs += certificate.proofs
                    yield certificate
        yield from _claims(claims, request, bounds, proofs)
    for table in NETWORKS:
        if table in request.tables:
            yield from _wanted(checking.checked(table), request)
            if not request.names or MACHINE in request.names:
                yield machine_result(load_automaton(table))
    if own:
        yield from _standard(System.load(*own), request)


def _standard(system: System, request: Request) -> Iterator[Result]:
    """The standard checks of a system that are asked for, if any."""
    names = [name for name in TITLES if name in (request.names or TITLES)]
    return check_standard(system, names) if names else iter(())


def _check_names(names: Sequence[str]) -> None:
    known = properties()
    for name in names:
        if name not in known.keys() | {claim.id for claim in CLAIMS}:
            raise unknown_name("property", name, known)


def properties() -> dict[str, str]:
    """Every property that can be asked for by name, with what it says of the first that has it."""
    return {name: title for name, _, title in sorted(properties_of_tables(), reverse=True)}


def properties_of_tables() -> list[tuple[str, str, str]]:
    """Name, table and meaning of every property; "any table" has the standard checks."""
    claims = [(claim.name, claim.protocol, claim.title) for claim in CLAIMS]
    claims += [(claim.name, claim.table, claim.title) for claim in update_claims.CLAIMS]
    return claims + [(name, "any table", title) for name, title in TITLES.items()]


def _check_values(request: Request, own: Sequence[str], builtin: Sequence[str]) -> None:
    if own or (request.tables and list(builtin) != ["interact"]):
        raise UsageError(
            "explicit values are explored for INTERACT only; check the table interact alone",
            "values",
        )
    if request.relations not in (None, "equivalence"):
        raise UsageError(
            "MATCH and AGREE are equality over explicit values: the relations must be "
            f"equivalence, not {request.relations}",
            "values",
        )


def _wanted(lines: Iterator[Result], request: Request) -> Iterator[Result]:
    return (line for line in lines if not request.names or line.name in request.names)


def _claims_of(table: str, request: Request) -> list[Claim]:
    return [
        claim
        for claim in CLAIMS
        if claim.protocol in PROVED_OF[table]
        and (not request.names or not {claim.name, claim.id}.isdisjoint(request.names))
    ]


def _claims(
    claims: Sequence[Claim], request: Request, bounds: Bounds, proofs: Sequence[Proof]
) -> Iterator[Result]:
    checkers = {small: Checker(_SMALL if small else bounds, proofs=proofs) for small in (0, 1)}
    for claim in claims:
        names = claim.expected if request.relations is None else (request.relations,)
        for name in names:
            small = request.relations is None and _only_shows_a_need(claim, name)
            try:
                yield checkers[small].check(claim, name)
            except KeyboardInterrupt:
                yield claim.result(name, Verdict(Status.UNKNOWN, "interrupted"))
                raise


def _only_shows_a_need(claim: Claim, assumptions: str) -> bool:
    """Whether it is asked only to show which assumptions the claim needs."""
    return assumptions not in (*NAMED, "reflexive") or (
        claim.protocol == "pxp(k)" and claim.expected.get(assumptions) is Status.FAILS
    )


def counterexample(name: str, relations: str | None, n: int, k: int) -> tuple[Result, Checker]:
    """The failing line of the claim `name` (or PROTOCOL.NAME), with the checker that found it.

    Without `relations` it is the first set of assumptions under which the claim is known to fail.
    Raises `UsageError` where there is no such claim, where more protocols than one have one that
    fails, and where it does not fail.
    """
    fails = [
        (claim, assumed)
        for claim in find(name)
        for assumed in (claim.expected if relations is None else (relations,))
        if relations is not None or claim.expected[assumed] is Status.FAILS
    ]
    checker, seen = Checker(Bounds(n, k)), list[str]()
    found = list[Result]()
    for protocol in dict.fromkeys(claim.protocol for claim, _ in fails):
        for claim, assumed in fails:
            if claim.protocol == protocol:
                line = checker.check(claim, assumed)
                seen.append(f"{assumed}: {line.verdict.status}")
                if line.verdict.status is Status.FAILS and line.verdict.trace is not None:
                    found.append(line)
                    break
    if len(found) > 1:
        names = " or ".join(f"{line.subject}.{line.name}" for line in found)
        raise UsageError(f"{name} fails in more than one protocol; choose {names}")
    if not found:
        checked = f" ({'; '.join(seen)})" if seen else ""
        raise UsageError(f"{name} has no counterexample{checked}; try other relations", "relations")
    return found[0], checker


def _over_sessions(request: Request, bounds: Bounds) -> Iterator[Result]:
    """Each formula over the sessions of a built-in protocol, for any data under assumptions."""
    if request.names or request.values is not None:
        raise UsageError(
            "formulas cannot be combined with properties or explicit values", "formulas"
        )
    if len(request.tables) != 1 or request.tables[0] not in PROVED_OF:
        raise UsageError(
            "formulas under relations are checked on the sessions of one protocol; the table must "
            "be interact or pxp",
            "relations",
        )
    assumptions = assumptions_of(request.relations or "")
    formulas = [(text, parse(text)) for text in request.formulas]
    demands = tuple(map(demand, request.fair))
    under = ", ".join([f"{request.relations}", f"{request.runs} runs", *request.fair])
    for text, formula in formulas:
        for protocol in PROVED_OF[request.tables[0]]:
            started = time.perf_counter()
            rules = bounds.rules(protocol)
            verdict, messages = check(rules, assumptions, formula, Runs(request.runs), demands)
            seconds, model = time.perf_counter() - started, f"{protocol} under {request.relations}"
            yield Result(
                protocol, text, text, under, verdict, Status.HOLDS, seconds, model, messages
            )
