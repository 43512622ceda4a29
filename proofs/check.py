"""`check`, the one door: every subject, whoever asks, is checked here; and `prove`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NoReturn, overload

from proofs.claims.catalogue import Claim, name_of
from proofs.claims.system_certificates import SystemCertificate
from proofs.claims.theorems import THEOREMS, proofs_of
from proofs.core.results import Bound, Result, Status, Verdict, table
from proofs.requests import ALONE, ANY_TABLE, NamedProperty, Request
from proofs.rules.certificates import RulesCertificate, name_of_claim
from proofs.subjects import (
    NAMES,
    PROTOCOLS,
    PROVED_OF,
    SYSTEMS,
    Answer,
    Checkable,
    is_about_sessions,
    is_about_system,
    properties_of,
)
from proofs.systems import Interrupted
from pxp_fsm import defaults, registry
from pxp_fsm.automata.table_files import Property
from pxp_fsm.automata.tables import foreign_automaton
from pxp_fsm.errors import UsageError, quoted, unknown_name


class Results(Sequence[Result]):
    """The results of a check: a sequence that is computed as it is read, and keeps what it has.

    >>> import pxp_fsm as pxp
    >>> results = pxp.check("pxp", "EF ended", "F ended")
    >>> results[0].status.value
    'HOLDS'
    >>> results.as_expected
    False

    `certificates` are those that were made until now, `notes` say which rules nothing has looked
    at, and why. Where reading is interrupted
    (`KeyboardInterrupt`) it has what was found before. It has no truth value: ask `as_expected`.
    """

    def __init__(self, answers: Iterator[Answer]) -> None:
        self._answers = answers
        self._found = list[Result]()
        self._error: Exception | None = None
        self.certificates: tuple[RulesCertificate | SystemCertificate, ...] = ()
        self.notes: tuple[str, ...] = ()

    def _has(self, count: int | None) -> bool:
        """Compute until there are so many results, or all; whether there are so many."""
        while count is None or len(self._found) < count:
            # A generator that has raised is over: without this its error would be raised once,
            # and the next reader would take what was found before for everything.
            if self._error is not None:
                raise self._error
            try:
                result = next(self._answers)
            except StopIteration:
                return False
            except Interrupted as interrupt:
                self._found.append(interrupt.result)
                raise
            except Exception as error:
                self._error = error
                raise
            if isinstance(result, Result):
                self._found.append(result)
            elif isinstance(result, str):
                self.notes = (*self.notes, result)
            else:
                self.certificates = (*self.certificates, result)
        return True

    def __iter__(self) -> Iterator[Result]:
        number = 0
        while self._has(number + 1):
            yield self._found[number]
            number += 1

    def __len__(self) -> int:
        self._has(None)
        return len(self._found)

    @overload
    def __getitem__(self, at: int) -> Result: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Result]: ...

    def __getitem__(self, at: int | slice) -> Result | Sequence[Result]:
        is_near = isinstance(at, int) and at >= 0
        self._has(at + 1 if isinstance(at, int) and is_near else None)
        return self._found[at]

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "results are neither true nor false; ask results.as_expected, or results[0].status"
        )

    @property
    def computed(self) -> tuple[Result, ...]:
        """What has been computed until now."""
        return tuple(self._found)

    @property
    def as_expected(self) -> bool:
        """Whether every verdict is the expected one."""
        return all(result.as_expected for result in self)

    def __repr__(self) -> str:
        return "\n".join(line for line in table(tuple(self)))

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td>{'</td><td>'.join(map(escape, cells))}</td></tr>"
            for cells in (
                (
                    result.subject,
                    result.name,
                    result.assumptions,
                    result.status,
                    result.verdict.explanation,
                )
                for result in self
            )
        )
        head = "<th>subject</th><th>property</th><th>assumptions</th><th>verdict</th><th></th>"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def checkables() -> Iterator[Checkable]:
    """The kinds of subjects that can be checked; tables that no other kind has come last."""
    yield PROTOCOLS
    yield from registry.listed("checks")
    yield SYSTEMS


def known_properties() -> list[NamedProperty]:
    """Every property that can be asked for by name."""
    return [named_property for kind in checkables() for named_property in kind.properties()]


def explain(name: str) -> str:
    """What `pxp help NAME` prints of a check or a claim: of each subject that has one so called.

    "" where there is none.

    >>> print(explain("ultra-is-strong"))
    ultra-is-strong, of interact: a session that is Ultra-Strong for an agent is Strong for it.
    <BLANKLINE>
    Holds for any relations.
    Source: [B] Definitions 1 and 2.
    """
    known = [
        prop for prop in known_properties() if name in (prop.name, f"{prop.subject}.{prop.name}")
    ]
    known.sort(key=lambda prop: prop.subject != ANY_TABLE)
    titles = (
        "" if prop.subject == ANY_TABLE else f"{prop.name}, of {prop.subject}: {prop.title}.\n\n"
        for prop in known
    )
    return "\n\n".join(title + prop.about for title, prop in zip(titles, known, strict=True))


def answer(request: Request) -> Results:
    """What comes of a request; it is computed as it is read.

    Reading raises `UsageError`, with the field of the request, or `TableError`.
    """
    return Results(_answers(request))


def check(
    subject: Any,
    *wanted: str,
    relations: str | None = None,
    n: int = defaults.N,
    k: int = defaults.K,
    values: int | None = None,
    runs: str = "complete",
    fair: Iterable[str] = (),
    channels: Iterable[str] = (),
    limit: int | None = None,
    memory: int | None = None,
    reduction: str | None = None,
    parameters: Mapping[str, object] = MappingProxyType({}),
    properties: Iterable[Property] = (),
) -> Results:
    """Check a table, a system or a protocol: what `pxp check` prints, result by result.

    Without `wanted` it is all that can be said: of the name of a protocol its standard checks and
    every claim under each set of assumptions, of another name or file the standard checks and what
    the file demands, of a `System` its standard checks, of `Interact(n, k)` and `Pxp(k)` the claims
    about their sessions. A machine of another library is checked as a table (pxp help machines).
    `wanted` are names of properties, those of the file too, and formulas (pxp help logic), on runs
    that are `fair`. One table is joined with itself. Sessions of a protocol are checked for any
    data, under what `relations` say of MATCH and AGREE; `running` asks instead whether two running
    agents do what the model says, in every state that it reaches, and `termination` whether a
    system can end, must end, must end under fairness. With `parameters` the
    rules of tables decide and count (`{"n": 4, "k": 2}`), as with the command's `--with`. The other
    options are those of the command: pxp help proofs, pxp help systems.

    >>> import pxp_fsm as pxp
    >>> system = pxp.System.load("pxp")
    >>> [(result.name, result.status.value) for result in pxp.check(system, "EF ended")]
    [('EF ended', 'HOLDS')]
    >>> for result in pxp.check(pxp.Interact(n=4, k=2), "F ended"):
    ...     print(result.status, result.bound)
    HOLDS UP TO n = 4, k = 2
    >>> [result] = pxp.check(pxp.Interact(n=4, k=2), "running")
    >>> print(result.status, result.reason)
    HOLDS UP TO 47 states, 99 messages

    Raises `UsageError` for a subject that is none, and for a machine that cannot be read. Reading
    the results raises it for a formula that cannot be read and for what does not go together, and
    `TableError` for a table.
    """
    if not (SYSTEMS.accepts(subject) or any(kind.accepts(subject) for kind in checkables())):
        raise UsageError(
            f"check takes a System, an automaton, its name or file, a machine of another library, "
            f"or Interact(...) or Pxp(...), not {quoted(subject)}; join tables with System.load"
        )
    if not isinstance(subject, str):
        foreign_automaton(subject)  # refuses here, not when results are read, what cannot be read
    if not isinstance(parameters, Mapping):
        raise UsageError(
            f'parameters are a mapping, as in parameters={{"n": 4}}, not {quoted(parameters)}'
        )
    properties = tuple(properties)
    for text in wanted:
        if not isinstance(text, str):
            raise UsageError(
                f"a formula is a text, not {quoted(text)}; join tables with System.load"
            )
    known = _names(checkables()) | ALONE if wanted else frozenset()
    if not known >= {*wanted}:
        stated = map(name_of_claim, (*properties, *properties_of(subject)))
        known |= {*filter(None, stated)}
    return answer(
        Request(
            subjects=(subject,),
            names=tuple(text for text in wanted if text in known),
            formulas=tuple(text for text in wanted if text not in known),
            relations=relations,
            n=n,
            k=k,
            values=values,
            runs=runs,
            fair=(fair,) if isinstance(fair, str) else tuple(fair),
            channels=(channels,) if isinstance(channels, str) else tuple(channels),
            limit=limit,
            memory=memory,
            reduction=reduction,
            given=dict(parameters),
            properties=properties,
        )
    )


def _answers(request: Request) -> Iterator[Answer]:
    """What comes of a request, from whoever accepts its subjects; `UsageError` if it is nothing."""
    is_answered = False
    for kind, part in _parts(request):
        for result in kind.results(part):
            is_answered = is_answered or isinstance(result, Result)
            yield result
    if not is_answered:
        subjects = ", ".join(map(str, request.subjects or PROVED_OF))
        raise UsageError(
            f"{', '.join(request.names)} is not a property of {subjects}; "
            f"a table of your own has: {', '.join(NAMES)}"
        )


def _parts(request: Request) -> Iterator[tuple[Checkable, Request]]:
    """Who answers what of a request.

    What is asked about one system, about sessions alone, or about values that a plug-in knows is
    answered as a whole; else each kind
    gets its own subjects and names, and tables of no other kind are joined.
    """
    values = [subject for subject in request.subjects if not isinstance(subject, str)]
    if values and len(values) == len(request.subjects):
        plugged: Iterator[Checkable] = registry.listed("checks")
        whole = next((kind for kind in plugged if all(map(kind.accepts, values))), None)
        if whole is not None:
            _check_names(request.names)
            yield whole, request
            return
    of_sessions = is_about_sessions(request)
    if not of_sessions and is_about_system(request):
        yield SYSTEMS, request
        return
    unnamed = ("interact",) if request.values is not None else tuple(PROVED_OF)
    request = replace(request, subjects=request.subjects or unnamed)
    _check_names(request.names)
    if of_sessions:
        yield PROTOCOLS, request
        return
    owners = [
        next(kind for kind in checkables() if kind.accepts(subject))  # no more of them are loaded
        for subject in request.subjects
    ]
    if SYSTEMS in owners and PROTOCOLS not in owners:
        _refuse_bounds(request)
    if request.values is not None:
        yield PROTOCOLS, request
        return
    alone = all(owner is PROTOCOLS for owner in owners)
    for kind in (PROTOCOLS,) if alone else checkables():
        pairs = zip(request.subjects, owners, strict=True)
        own = tuple(subject for subject, owner in pairs if owner is kind)
        # The standard checks are not those of one kind: all that have tables may know them.
        known = _names([kind]) | NAMES.keys() if request.names else frozenset()
        names = tuple(name for name in request.names if name in known)
        if own and (names or not request.names):
            yield kind, replace(request, subjects=own, names=names)


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


def _names(kinds: Iterable[Checkable]) -> frozenset[str]:
    """The names of properties, alone and with what they are of."""
    known = [named_property for kind in kinds for named_property in kind.properties()]
    return frozenset(named_property.name for named_property in known) | {
        f"{named_property.subject}.{named_property.name}" for named_property in known
    }


def _check_names(names: Sequence[str]) -> None:
    if names:
        allowed = _names(checkables()) | ALONE
        for name in names:
            if name not in allowed:
                known = sorted(known_properties(), reverse=True)
                raise unknown_name(
                    "property",
                    name,
                    {named_property.name: named_property.title for named_property in known},
                    listed="pxp list checks or pxp list claims",
                )


def prove(protocol: str, *names: str) -> Results:
    """Prove claims about `interact`, `pxp` or `pxp(k)` for all n and k, from the tables' rules.

    Without `names` these are all of its claims that have a proof. Each is proved from assumptions
    that suffice; where a proof fails nothing is known, and the result is UNKNOWN.

    >>> import pxp_fsm as pxp
    >>> print(*pxp.prove("interact", "reject-after-k"))
    interact.reject-after-k (noisy): HOLDS for all n and k

    Raises `UsageError` for a claim that has no proof.
    """
    known = {theorem.name: theorem for theorem in THEOREMS.values() if theorem.protocol == protocol}
    wanted = [*names] or list(known)
    missing = [f"{protocol}.{name}" for name in wanted if name not in known]
    if missing or not wanted:
        raise UsageError(
            f"there is no proof of {', '.join(missing) or protocol}; there are: "
            f"{', '.join(claim.id for claim in known.values()) or ', '.join(THEOREMS)}"
        )
    return Results(_proved([known[name] for name in wanted]))


def _proved(claims: Sequence[Claim]) -> Iterator[Result]:
    for proof in proofs_of(claims):
        verdict = Verdict(Status.HOLDS, bound=Bound(n="all", k="all"))
        if not proof.proved:
            verdict = Verdict(Status.UNKNOWN, proof.obstacle)
        claim, under = proof.claim, name_of(proof.assumptions)
        yield Result(
            claim.protocol, claim.name, claim.title, under, verdict, Status.HOLDS, proof.seconds,
            claim.protocol,
        )  # fmt: skip
