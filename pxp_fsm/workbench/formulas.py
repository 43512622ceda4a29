"""What `pxp check` does with formulas: on tables, on sessions of a protocol; and termination."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from proofs.checking import Bounds
from proofs.claims import assumptions_of
from proofs.verdicts import Result, Status
from pxp_fsm.errors import UsageError
from pxp_fsm.messages import quoted
from pxp_fsm.workbench.checks import PROVED_OF, Request, product_of, subject

if TYPE_CHECKING:
    from proofs.logic import Formula
    from proofs.logic.steps import Demand


def demands(request: Request) -> tuple[Demand, ...]:
    """The fairness that is asked for. Raises `UsageError`."""
    from proofs.logic.steps import demand

    return tuple(map(demand, request.fair))


def check_about_tables(text: str, formula: Formula) -> None:
    """Raise `UsageError` for a proposition that only sessions of a protocol have."""
    from proofs.logic.formulas import atoms
    from proofs.logic.sessions import is_of_sessions

    found = [name for name in atoms(formula) if is_of_sessions(name)]
    if found:
        raise UsageError(
            f"{quoted(text)} asks for {', '.join(found)}, which sessions of interact and pxp have, "
            f"not tables: say under which assumptions, as with --relations noisy"
        )


def suffix(request: Request) -> str:
    """How fairness is shown beside the runs that count."""
    return "".join(f", {text}" for text in request.fair)


def over_sessions(request: Request) -> Iterator[Result]:
    """Each formula over the sessions of a built-in protocol, for any data under assumptions."""
    from proofs.logic import Runs, parse
    from proofs.logic.asking import check

    if len(request.tables) != 1 or request.tables[0] not in PROVED_OF:
        raise UsageError(
            "formulas with --relations are about sessions of interact or of pxp; name one of them"
        )
    assumptions = assumptions_of(request.relations or "")
    formulas = [(text, parse(text)) for text in request.formulas]
    fairly, bounds = demands(request), Bounds(request.n, request.k)
    for text, formula in formulas:
        for protocol in PROVED_OF[request.tables[0]]:
            started = time.perf_counter()
            rules = bounds.rules(protocol)
            verdict, messages = check(rules, assumptions, formula, Runs(request.runs), fairly)
            shown = f"{request.relations}, {request.runs} runs{suffix(request)}"
            seconds = time.perf_counter() - started
            yield Result(
                protocol,
                text,
                text,
                shown,
                verdict,
                Status.HOLDS,
                seconds,
                f"{protocol} under {request.relations}",
                messages,
            )


def termination(request: Request) -> Iterator[Result]:
    """Whether the product of the tables ends, one line a question."""
    from proofs.logic.systems import terminates

    if request.names or request.relations is not None or request.values is not None:
        raise UsageError("--termination is about tables under free guards; leave out other choices")
    if request.formulas or request.fair or request.runs != "complete":
        raise UsageError("--termination asks its own questions, of runs as fair as each says")
    if not 1 <= len(request.tables) <= 2:
        raise UsageError("--termination is about one table joined with itself, or two: name them")
    product = product_of(request.tables[0], request.tables[-1])
    started = time.perf_counter()
    for question, verdict in terminates(product):
        now = time.perf_counter()
        yield Result(
            subject(product),
            question.name,
            question.title,
            "free guards",
            verdict,
            question.expected,
            now - started,
            product.name,
        )
        started = now
