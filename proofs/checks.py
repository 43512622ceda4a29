"""`check` and `prove` for every subject: systems of tables, and sessions of a protocol."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from proofs.claims.catalogue import CLAIMS, assumptions_of, name_of
from proofs.claims.checking import Bounds, Checker, Substitutes
from proofs.claims.theorems import THEOREMS, unproved
from proofs.claims.theorems import prove as prove_theorems
from proofs.core.results import Bound, Result, Status, Verdict, stopped
from proofs.induction.numbers import Unknown
from proofs.logic import Runs, parse
from proofs.logic.fairness import demand
from proofs.logic.sessions import check as check_sessions
from proofs.sessions.running import check_running
from proofs.systems import Reduction, System, check_formulas, check_standard
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.protocol.rules import Interact, Pxp, Rules


def check(
    subject: System | Automaton | Rules | str,
    *formulas: str,
    fair: Iterable[str] = (),
    relations: str = "noisy",
    reduction: str | None = None,
    running: bool = False,
) -> Iterator[Result]:
    """Check a system of tables, or the sessions of a protocol; results come one by one.

    Without `formulas` these are the standard checks of a system, and the claims about a protocol;
    with them, whether each holds (pxp help logic) on runs that are `fair`. One table is joined
    with itself, a name or file is read as one. `Interact(...)` and `Pxp(...)` are checked for any
    data, under what `relations` says of MATCH and AGREE; with `running` it is checked instead that
    two running agents do what the model says, in every state that it reaches.
    A `reduction` of a system, "symmetry" or "partial-order", visits fewer states: pxp help systems.

    >>> import pxp_fsm as pxp
    >>> system = pxp.System.load("pxp")
    >>> [(result.name, result.status.value) for result in pxp.check(system, "EF ended")]
    [('EF ended', 'HOLDS')]
    >>> for result in pxp.check(pxp.Interact(n=4, k=2), "F ended"):
    ...     print(result.status, result.bound)
    HOLDS UP TO n = 4, k = 2
    >>> [result] = pxp.check(pxp.Interact(n=4, k=2), running=True)
    >>> print(result.status, result.reason)
    HOLDS UP TO 47 states, 99 messages

    Raises `UsageError` for a formula that cannot be read, a reduction that cannot be used and for
    what does not go together, `TableError` for a table.
    """
    if running:
        if formulas or fair or not isinstance(subject, Interact | Pxp):
            raise UsageError("running=True goes with Interact(...) or Pxp(...) and no formulas")
        return iter((check_running(subject, relations),))
    reduced = _reduction(reduction)
    if isinstance(subject, Interact | Pxp):
        if reduced:
            raise UsageError("a reduction is of a system's states; sessions have one of their own")
        return _check_protocol(subject, formulas, fair, relations)
    if not isinstance(subject, System | Automaton | str):
        raise UsageError(
            f"check takes a System, an automaton, its name or file, or Interact(...) or Pxp(...), "
            f"not {quoted(subject)}; join tables with System.load"
        )
    if isinstance(fair, str):
        fair = (fair,)
    for text in formulas:
        if not isinstance(text, str):
            raise UsageError(
                f"a formula is a text, not {quoted(text)}; join tables with System.load"
            )
    system = subject if isinstance(subject, System) else System.load(subject)
    if formulas:
        return check_formulas(system, formulas, fair=fair, reduction=reduced)
    return check_standard(system, reduction=reduced)


def _reduction(name: str | None) -> Reduction | None:
    if name is None:
        return None
    try:
        return Reduction(name)
    except ValueError as error:
        known = ", ".join(Reduction)
        raise UsageError(f"there is no reduction {quoted(name)}; there are: {known}") from error


def _check_protocol(
    rules: Rules, formulas: Iterable[str], fair: Iterable[str], relations: str
) -> Iterator[Result]:
    protocol = rules.name if rules.n is not None or rules.k is None else f"{rules.name}(k)"
    assumptions, demands = assumptions_of(relations), tuple(map(demand, fair))
    if not formulas:
        tables = {} if rules.table is None else {rules.name: rules.table}
        instead = Substitutes(tables, rules.functions)
        checker = Checker(Bounds(rules.n or Bounds().n, rules.k or Bounds().k), instead=instead)
        for claim in CLAIMS:
            if claim.protocol == protocol:
                yield checker.check(claim, relations)
    for text in formulas:
        started = time.perf_counter()
        verdict, messages = check_sessions(rules, assumptions, parse(text), Runs.COMPLETE, demands)
        yield Result(
            protocol,
            text,
            text,
            relations,
            verdict,
            Status.HOLDS,
            time.perf_counter() - started,
            f"{protocol} under {relations}",
            messages,
        )


def prove(protocol: str, *names: str) -> Iterator[Result]:
    """Prove claims about `interact`, `pxp` or `pxp(k)` for all n and k, by induction.

    Without `names` these are all of its claims that have a proof. Each is proved from assumptions
    that suffice; where an induction fails nothing is known, and the result is UNKNOWN.

    >>> import pxp_fsm as pxp
    >>> print(*pxp.prove("interact", "reject-after-k"))
    interact.reject-after-k (noisy): HOLDS for all n and k

    Raises `UsageError` for a claim that has no proof.
    """
    known = {
        one.name: one
        for one in THEOREMS.values()
        if one.subject.name == protocol and one.induction.provable
    }
    wanted = [f"{protocol}.{name}" for name in names] or list(known)
    missing = [name for name in wanted if name not in known]
    if missing or not wanted:
        raise UsageError(
            f"there is no proof of {', '.join(missing) or protocol}; there are: "
            f"{', '.join(known or THEOREMS)}"
        )
    theorems = [known[name] for name in wanted]
    try:
        proofs = prove_theorems(theorems)
    except Unknown as error:
        proofs = unproved([theorem.claim for theorem in theorems], error)
    except Exception as error:  # noqa: BLE001 - whatever a decision function does
        reason = Unknown(stopped(error).reason)
        proofs = unproved([theorem.claim for theorem in theorems], reason)
    for proof in proofs:
        verdict = Verdict(Status.HOLDS, bound=Bound(n="all", k="all"))
        if not proof.proved:
            verdict = Verdict(Status.UNKNOWN, proof.reason)
        claim, under = proof.theorem.claim, name_of(proof.assumptions)
        yield Result(
            protocol, claim.name, claim.title, under, verdict, Status.HOLDS, proof.seconds, protocol
        )
