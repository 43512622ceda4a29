"""What `pxp check` does: which claims on which tables, and what comes of it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from proofs import update_claims, updates
from proofs.certificate import Certificate, beyond, certify
from proofs.checking import Bounds, Checker
from proofs.claims import CLAIMS, NAMED, Claim, assumptions_of, find
from proofs.explicit import check_explicit
from proofs.product import Product, standing_checks
from proofs.theorems import Proof
from proofs.verdicts import Result, Status, Verdict
from pxp_fsm.errors import UsageError
from pxp_fsm.soundness import check_peers
from pxp_fsm.tables import NETWORKS, load_automaton

UNEXPECTED, UNKNOWN = 1, 4
PROVED_OF = {"interact": ("interact",), "pxp": ("pxp", "pxp(k)")}
"""The protocols whose claims are about a built-in table."""

_SMALL = Bounds(n=5, k=1)
"""For what each assumption is needed for, a counterexample in a small session is enough."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to check; nothing in `tables` means both built-in protocols.

    With `values`, INTERACT's sessions are explored over so many explicit values of y and of e, for
    which MATCH and AGREE are equality. With `formulas` nothing else is checked: each of them on the
    product of the tables under free guards, over `runs` that are complete, finite or infinite, and
    as fair as `fair` asks (`weak:WHAT`, `strong:WHAT`); with `relations`, over the sessions of a
    built-in protocol. With `termination` it is asked whether the product ends. Several tables, with
    names (NAME=TABLE), and `channels` make a system, which is explored up to `limit` states and
    `memory` MB, with fewer states where it is told how to `reduce` them.
    """

    tables: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    relations: str | None = None
    n: int = 10
    k: int = 3
    values: int | None = None
    formulas: tuple[str, ...] = ()
    runs: str = "complete"
    fair: tuple[str, ...] = ()
    termination: bool = False
    channels: tuple[str, ...] = ()
    limit: int | None = None
    memory: int | None = None
    reduce: str | None = None


@dataclass(frozen=True)
class Checked:
    """The lines of a check, and the certificates of what was proved on the way.

    Where it was `interrupted` there are lines of what was checked before.
    """

    lines: tuple[Result, ...]
    certificates: tuple[Certificate, ...] = ()
    interrupted: bool = False

    def leave(self, folder: Path) -> tuple[Path, ...]:
        """Write the certificates into `folder`, which is made if need be."""
        if self.certificates:
            folder.mkdir(parents=True, exist_ok=True)
        return tuple(one.write(folder) for one in self.certificates)


def run(request: Request) -> Checked:
    """Check what is asked for. Raises `UsageError` or `TableError`.

    Interrupted, it gives what was found so far.
    """
    lines, certificates = list[Result](), list[Certificate]()
    try:
        for one in _checked(request):
            (lines if isinstance(one, Result) else certificates).append(one)  # type: ignore[arg-type] # each to its own
    except KeyboardInterrupt:
        return Checked(tuple(lines), tuple(certificates), interrupted=True)
    return Checked(tuple(lines), tuple(certificates))


def _checked(request: Request) -> Iterator[Result | Certificate]:
    """The lines, and the certificates, as they are found."""
    from pxp_fsm.workbench import systems

    bounds = Bounds(request.n, request.k)
    bounds.rules("interact")
    if request.relations is not None:
        assumptions_of(request.relations)
    if systems.asked_for(request):
        yield from systems.lines(request)
        return
    own = [table for table in request.tables if table not in (*PROVED_OF, *NETWORKS)]
    builtin = [table for table in PROVED_OF if table in request.tables or not request.tables]
    _check_names(request.names)
    if request.formulas or request.termination or request.fair:
        yield from _temporal(request)
        return
    if request.values is not None:
        _check_values(request, own, builtin)
        yield from _over_values(request, bounds)
        return
    found = False
    for one in _everything(request, bounds, own, builtin):
        found = found or isinstance(one, Result)
        yield one
    if not found:
        raise UsageError(
            f"{', '.join(request.names)} is not asked of {', '.join(request.tables)}; of a table "
            f"of your own there are: {', '.join(_TITLES)}"
        )


def _everything(
    request: Request, bounds: Bounds, own: Sequence[str], builtin: Sequence[str]
) -> Iterator[Result | Certificate]:
    """What is known to ask of each table."""
    proofs = list[Proof]()
    for table in builtin:
        yield from _wanted(_standing(table, table), request)
        claims = _claims_of(table, request)
        if any(claim.induction for claim in claims):
            certificate = certify(table)
            proofs += certificate.proofs
            yield certificate
        known = {claim.id for claim in claims}
        yield from _claims(claims, request, bounds, [*proofs, *beyond(table, known)])
    for table in NETWORKS:
        if table in request.tables:
            yield from _wanted(_of_network(table), request)
    if own:
        yield from _wanted(_standing(own[0], own[-1]), request)


def _check_names(names: Sequence[str]) -> None:
    known = {claim.name for claim in CLAIMS} | set(_TITLES)
    known |= {claim.name for claim in update_claims.CLAIMS}
    for name in names:
        if name not in known | {claim.id for claim in CLAIMS}:
            raise UsageError(
                f"there is no property {name!r}; there are: {', '.join(sorted(known))}"
            )


def _check_values(request: Request, own: Sequence[str], builtin: Sequence[str]) -> None:
    if own or (request.tables and list(builtin) != ["interact"]):
        raise UsageError("--values explores INTERACT; give the table interact alone")
    if request.relations not in (None, "equivalence"):
        raise UsageError(
            "over explicit values MATCH and AGREE are equality: --values goes with "
            f"--relations equivalence, not {request.relations}"
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


def _over_values(request: Request, bounds: Bounds) -> Iterator[Result]:
    wanted = _claims_of("interact", request)
    yield from check_explicit(wanted, bounds, request.values or 0)


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
        raise UsageError(f"more than one protocol has a {name} that fails: say {names}")
    if not found:
        told = f" ({'; '.join(seen)})" if seen else ""
        raise UsageError(f"{name} has no counterexample{told}; try another with --relations")
    return found[0], checker


def _temporal(request: Request) -> Iterator[Result]:
    from pxp_fsm.workbench import formulas

    if request.termination:
        return formulas.termination(request)
    if not request.formulas:
        raise UsageError("--fair is about runs of a formula; give a --formula")
    if request.names or request.values is not None:
        raise UsageError("--formula goes without --property and --values; leave them out")
    return _formulas(request) if request.relations is None else formulas.over_sessions(request)


def _formulas(request: Request) -> Iterator[Result]:
    from proofs.logic import Runs, parse
    from proofs.logic.systems import check
    from pxp_fsm.workbench.formulas import check_about_tables, demands, suffix

    if not 1 <= len(request.tables) <= 2:
        raise UsageError("--formula is about one table joined with itself, or two: name them")
    formulas = [(text, parse(text)) for text in request.formulas]
    fairly = demands(request)
    product = product_of(request.tables[0], request.tables[-1])
    for text, formula in formulas:
        check_about_tables(text, formula)
        started = time.perf_counter()
        verdict = check(product, formula, Runs(request.runs), fairly)
        yield Result(
            subject(product),
            text,
            text,
            f"free guards, {request.runs} runs{suffix(request)}",
            verdict,
            Status.HOLDS,
            time.perf_counter() - started,
            product.name,
        )


def product_of(left: str, right: str) -> Product:
    """The product of two tables that can be peers; raises `TableError`."""
    one, two = load_automaton(left), load_automaton(right)
    check_peers(one, two)
    return Product(one, two)


def subject(product: Product) -> str:
    """What a product is called: a table by its name, where it is joined with itself."""
    return product.left.name if product.left == product.right else product.name


def _of_network(table: str) -> Iterator[Result]:
    """The claims about a table of networks, as built and without what each needs."""
    yield from updates.checked(table)


_TITLES = {
    "no-deadlock": "no reachable state is without a step before the end",
    "no-unspecified-reception": "whatever can be sent can be received there and then",
    "no-orphan-message": "nothing can be sent to an agent that has ended",
    "nothing-sent-after-the-end": "an agent that has ended sends nothing",
    "end-reachable-from-everywhere": "from every reachable state both agents can come to an end",
    "no-dead-row": "every row can be taken",
}


def _standing(left: str, right: str) -> Iterator[Result]:
    """The standing checks of two tables under free guards."""
    product = product_of(left, right)
    started = time.perf_counter()
    verdicts = standing_checks(product)
    seconds = (time.perf_counter() - started) / len(verdicts)
    for name, verdict in verdicts.items():
        yield Result(
            subject(product),
            name,
            _TITLES[name],
            "free guards",
            verdict,
            Status.HOLDS,
            seconds,
            product.name,
        )
