"""`compare`: whether a table or a system refines another, or is equivalent to it."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from proofs.check import Results
from proofs.core.explore import TooLarge
from proofs.core.limits import UNLIMITED, Effort, half_of_memory
from proofs.core.results import Result, Status, Verdict, stopped
from proofs.refinement.behaviour import ActionGraph, behaviour_of
from proofs.refinement.relations import TITLES, TRACES, Refinement
from proofs.systems.intervals import by_rules
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.system import System
from pxp_fsm.automata.system_files import is_system_file, read_system
from pxp_fsm.automata.tables import load_automaton
from pxp_fsm.automata.unfolding import as_decided
from pxp_fsm.errors import UsageError, quoted, unknown_name


def compare(
    first: System | Automaton | str,
    second: System | Automaton | str,
    *relations: str,
    hide: Iterable[str] = (),
    limit: int | None = None,
    memory: int | None = None,
    parameters: Mapping[str, object] | None = None,
) -> Results:
    """Compare two tables, or two systems: what `pxp compare` prints, result by result.

    Each is a value, a name or a file. The relations are `trace-inclusion` and `simulation` (of the
    first in the second), `strong-bisimilarity` and `weak-bisimilarity`. Those that are named have
    to hold; without names all are decided, and only `trace-inclusion` has to. Actions that fit a
    pattern in `hide`, in which `*` is any text, are observed by nobody. Systems are explored up to
    `limit` states and `memory` MB.

    Where rules of the tables have parameters, `parameters` give them, before those of a system
    file; without them every choice is compared, whoever decides.

    >>> import pxp_fsm as pxp
    >>> for result in pxp.compare("pxp", "pxp_hang_up", "trace-inclusion", "strong-bisimilarity"):
    ...     print(result.status, result.trace)
    HOLDS None
    FAILS +INIT, +TERM

    Raises `UsageError` for what is neither a table nor a system, a table beside a system, an
    unknown relation, and a pattern that no action fits; `TableError` for a table.
    """
    for name in relations:
        if name not in TITLES:
            raise unknown_name("relation", name, TITLES)
    settings = dict(parameters or {})
    left, right = (_subject(operand, settings) for operand in (first, second))
    known = {name for _, names in (left, right) for name in names}
    unknown = [name for name in settings if name not in known]
    if unknown:
        there = ", ".join(sorted(known)) or "none"
        reason = f"neither counts with a parameter {unknown[0]}; there are: {there}"
        raise UsageError(reason, "parameters")
    subjects = left[0], right[0]
    patterns = (hide,) if isinstance(hide, str) else hide
    if not isinstance(patterns, Iterable) or not all(
        isinstance(pattern, str) for pattern in patterns
    ):
        raise UsageError(f"hide is a pattern or several, as in '!LOG', not {quoted(hide)}", "hide")
    effort = Effort(
        UNLIMITED if limit is None else limit, half_of_memory() if memory is None else memory
    )
    return Results(_compared(subjects, relations, tuple(patterns), effort))


def _subject(
    compared: System | Automaton | str, parameters: Mapping[str, object]
) -> tuple[System | Automaton, Collection[str]]:
    """The table or the system by its rules, where their parameters are known, and their names."""
    own: Mapping[str, object] = {}
    if isinstance(compared, System | Automaton):
        subject = compared
    elif not isinstance(compared, str):
        raise UsageError(
            f"compare takes a System, an automaton, or its name or file, not {quoted(compared)}"
        )
    elif is_system_file(compared):
        subject, own = System.load(compared), read_system(compared).parameters
    else:
        subject = load_automaton(compared)
    known = {parameter.name for table in _tables(subject) for parameter in table.rules.parameters}
    values = {**own, **{name: value for name, value in parameters.items() if name in known}}
    if isinstance(subject, System):
        return by_rules(subject, values).system, known
    return as_decided(subject, values), known


def _compared(
    subjects: tuple[System | Automaton, System | Automaton],
    relations: tuple[str, ...],
    hidden: tuple[str, ...],
    effort: Effort,
) -> Iterator[Result]:
    required = relations or (TRACES,)
    title = " and ".join(_name(subject) for subject in subjects)
    refinement: Refinement | None = None
    for name in relations or TITLES:
        started = time.perf_counter()
        try:
            if refinement is None:
                sides: list[ActionGraph] = [behaviour_of(subject, effort) for subject in subjects]
                refinement = Refinement.of(sides[0], sides[1], hidden)
            verdict = refinement.decide(name)
        except TooLarge as error:
            verdict = Verdict(Status.UNKNOWN, str(error))
        except Exception as error:  # noqa: BLE001 - what machines refuse is a verdict, the rest is raised
            verdict = stopped(error)
        yield Result(
            title,
            name,
            TITLES[name],
            ", ".join([*_decided(subjects), *_told(hidden)]),
            verdict,
            Status.HOLDS if name in required else None,
            time.perf_counter() - started,
            title,
        )


def _told(hidden: Sequence[str]) -> Sequence[str]:
    return [f"{pattern} hidden" for pattern in hidden] or ["nothing hidden"]


def _tables(subject: System | Automaton) -> Sequence[Automaton]:
    if isinstance(subject, Automaton):
        return [subject]
    return [member.automaton for member in subject.members]


def _decided(subjects: Sequence[System | Automaton]) -> Sequence[str]:
    """That rules are not looked at, where a table has some: every choice is compared."""
    tables = [table for subject in subjects for table in _tables(subject)]
    return ["whoever decides"] if any(table != table.without_rules() for table in tables) else []


def _name(subject: System | Automaton) -> str:
    if isinstance(subject, Automaton):
        return subject.name
    return f"({subject.name} over {subject.channel.name})"
