"""`check` and `prove` for every subject: systems of tables, and sessions of a protocol."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from proofs.claims.catalogue import CLAIMS, assumptions_of, name_of
from proofs.claims.checking import Bounds, Checker
from proofs.claims.theorems import THEOREMS
from proofs.claims.theorems import prove as prove_theorems
from proofs.core.results import Bound, Result, Status, Verdict
from proofs.logic import Runs, parse
from proofs.logic.fairness import demand
from proofs.logic.sessions import check as check_sessions
from proofs.sessions.running import check_running
from proofs.systems import System, check_formulas, check_standard
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.errors import UsageError
from pxp_fsm.protocol.rules import Interact, Pxp, Rules


def check(
    subject: System | Automaton | Rules | str,
    *formulas: str,
    fair: Iterable[str] = (),
    relations: str = "noisy",
    running: bool = False,
) -> Iterator[Result]:
    """Check a system of tables, or the sessions of a protocol; results come one by one.

    Without `formulas` these are the standard checks of a system, and the claims about a protocol;
    with them, whether each holds (temporal logic, docs/logic.md) on runs that are `fair`. One table
    is joined with itself, a name or file is read as one. `Interact(...)` and `Pxp(...)` are
    checked for any data, under what `relations` says of MATCH and AGREE; with `running` it is
    checked instead that two running agents do what the model says, in every state that it reaches.

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

    Raises `UsageError` for a formula that cannot be read and for what does not go together,
    `TableError` for a table.
    """
    if running:
        if formulas or fair or not isinstance(subject, Interact | Pxp):
            raise UsageError("running=True goes with Interact(...) or Pxp(...) and no formulas")
        return iter((check_running(subject, relations),))
    if isinstance(subject, Interact | Pxp):
        return _check_protocol(subject, formulas, fair, relations)
    system = subject if isinstance(subject, System) else System.load(subject)
    return check_formulas(system, formulas, fair=fair) if formulas else check_standard(system)


def _check_protocol(
    rules: Rules, formulas: Iterable[str], fair: Iterable[str], relations: str
) -> Iterator[Result]:
    protocol = rules.name if rules.n is not None or rules.k is None else f"{rules.name}(k)"
    assumptions, demands = assumptions_of(relations), tuple(map(demand, fair))
    if not formulas:
        checker = Checker(Bounds(rules.n or Bounds().n, rules.k or Bounds().k))
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
    known = {one.name: one for one in THEOREMS.values() if one.subject.name == protocol}
    wanted = [f"{protocol}.{name}" for name in names] or list(known)
    missing = [name for name in wanted if name not in known]
    if missing or not wanted:
        raise UsageError(
            f"there is no proof of {', '.join(missing) or protocol}; there are: "
            f"{', '.join(known or THEOREMS)}"
        )
    for proof in prove_theorems([known[name] for name in wanted]):
        verdict = Verdict(Status.HOLDS, bound=Bound(n="all", k="all"))
        if not proof.proved:
            verdict = Verdict(Status.UNKNOWN, f"induction step: {proof.obstacle}")
        claim, under = proof.theorem.claim, name_of(proof.assumptions)
        yield Result(
            protocol, claim.name, claim.title, under, verdict, Status.HOLDS, proof.seconds, protocol
        )
