"""The verdicts on a system that a page shows from the start, computed in this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from proofs.check import check
from proofs.core.results import Result
from pxp_fsm.automata.table_files import Property
from pxp_fsm.web.subjects import SystemSubject
from pxp_fsm.web.views import ResultView, Views

MOST_STATES = 1_000_000
"""The states that are explored for a verdict; beyond, it is UNKNOWN."""


def standard_results(
    subject: SystemSubject, formulas: Sequence[str] = (), limit: int = MOST_STATES
) -> Iterator[ResultView]:
    """The standard checks of a system, what its file demands, and `formulas`, as decided."""
    views = Views(subject.system())
    yield from map(views.result, checked(subject, properties=subject.properties, limit=limit))
    if formulas:
        yield from map(views.result, checked(subject, *formulas, limit=limit))


def checked(
    subject: SystemSubject,
    *wanted: str,
    properties: Iterable[Property] = (),
    limit: int = MOST_STATES,
) -> Iterable[Result]:
    """What is `wanted` of a subject, or its standard checks, with its parameters."""
    parameters = dict(subject.parameters or ())
    return check(
        subject.written(), *wanted, limit=limit, properties=properties, parameters=parameters
    )
