"""The catalogue of claims about INTERACT and PXP, with names and expected verdicts.

Sources: arXiv 2410.20600 (sections 2 to 4), arXiv 2301.01819 as cited there; some are our own. A
claim whose expected verdict is FAILS is as much a result as one that HOLDS: its counterexample is.

A claim is checked in two ways. Sessions are explored, for which `Claim.check` gives the verdict;
and where a claim is proved for all n and k, `Claim.proved_by` says by what
(`proofs.claims.theorems`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from itertools import product
from types import MappingProxyType

from proofs.claims import predicates
from proofs.claims.predicates import (
    RATIFIED,
    REPLIES,
    STATEMENTS,
    Check,
    every_row_taken,
    some_agent_can_send,
)
from proofs.core.results import Result, Status, Verdict
from proofs.sessions.model import session
from pxp_fsm.automata.actions import Say
from pxp_fsm.errors import UsageError, unknown_name
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.messages import Message, Tag
from pxp_fsm.protocol.relations import EQUIVALENCE, NOISY, TOLERANCE, Assumption

REFLEXIVE = frozenset({Assumption.REFLEXIVE})
LIKE = frozenset({Assumption.DETERMINISTIC, Assumption.SYMMETRIC, Assumption.SHARED})
"""What the answers of two agents to the same question need to be alike."""

REFUTED = session(Tag.INIT, Tag.REFUTE, Tag.REFUTE, Tag.RATIFY)
REVISED = session(Tag.INIT, Tag.REVISE, Tag.REVISE, Tag.RATIFY, Tag.RATIFY)

NAMED: Mapping[str, frozenset[Assumption]] = MappingProxyType(
    {"equivalence": EQUIVALENCE, "tolerance": TOLERANCE, "noisy": NOISY}
)
"""The sets of assumptions that have a name of their own."""

MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        "deterministic": "a question has the same answer each time that an agent is asked it",
        "reflexive": "each value is related to itself",
        "symmetric": "where x is related to y, y is related to x",
        "shared": "both agents give the same answer to a question",
        "transitive": "where x is related to y, and y to z, x is related to z",
        "equivalence": "all five laws: " + ", ".join(Assumption),
        "tolerance": "the laws of an equivalence but transitive",
        "noisy": "no law: each answer may be any",
    }
)
"""What is assumed of MATCH and AGREE, by the names of single laws and of sets."""


def name_of(assumptions: frozenset[Assumption]) -> str:
    """What a set of assumptions is called: by its name, by what it lacks, or by what it has."""
    lacks = " and ".join(
        assumption.value for assumption in Assumption if assumption not in assumptions
    )
    for name, known in NAMED.items():
        if assumptions == known:
            return name
    if len(assumptions) > 2 and assumptions != LIKE:
        return f"without {lacks}"
    return "+".join(assumption.value for assumption in Assumption if assumption in assumptions)


def assumptions_of(name: str) -> frozenset[Assumption]:
    """The set called `name`: equivalence, tolerance, noisy, `without A`, `A+B`.

    Raises `UsageError` for a name that is none of these.
    """
    known = {assumption.value: assumption for assumption in Assumption}
    lacks = name.startswith("without ")
    parts = name.removeprefix("without ").split(" and ") if lacks else name.split("+")
    if name in NAMED:
        return NAMED[name]
    if not all(part in known for part in parts):
        raise UsageError(
            f"there are no assumptions {name!r}; there are: {', '.join(NAMED)}, "
            f"some of {'+'.join(known)}, or 'without' one of them"
        )
    named = frozenset(known[part] for part in parts)
    return EQUIVALENCE - named if lacks else named


@dataclass(frozen=True)
class Claim:
    """A claim about every session of a protocol (`interact`, `pxp` or `pxp(k)`).

    `expected` maps names of sets of assumptions to the verdict that is expected under them. An
    `exact` claim is not about the n and k that sessions are explored for; one that does not
    `explore` is decided from the model by itself. `proved_by` are the names in `proofs.recheck.DUE`
    of what together says it of the tables' rules, where it is proved for all n and k.
    """

    name: str
    title: str
    protocol: str
    check: Check
    expected: Mapping[str, Status] = field(default_factory=dict)
    exact: bool = False
    explores: bool = True
    proved_by: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The name with its protocol's: other protocols have claims of the same name."""
        return f"{self.protocol}.{self.name}"

    @property
    def suffices(self) -> tuple[frozenset[Assumption], ...]:
        """The smallest sets of assumptions under which it is expected to hold."""
        sets = [assumptions_of(n) for n, status in self.expected.items() if status is Status.HOLDS]
        return tuple(
            dict.fromkeys(
                candidate for candidate in sets if not any(smaller < candidate for smaller in sets)
            )
        )

    @property
    def needs(self) -> frozenset[Assumption]:
        """The assumptions without which it does not hold, whatever else is assumed."""
        return frozenset.intersection(*self.suffices) if self.suffices else frozenset()

    def expects(self, assumptions: str) -> Status | None:
        """The verdict that is expected; None where nothing is known for these assumptions.

        What holds under some assumptions holds under more, and what fails fails under fewer.
        """
        expected = self.expected.get(assumptions)
        assumed = assumptions_of(assumptions)
        for name, status in self.expected.items():
            known = assumptions_of(name)
            if status is Status.HOLDS and known <= assumed and not self.exact:
                expected = expected or status
            if status is Status.FAILS and known >= assumed:
                expected = expected or status
        return expected

    def result(
        self,
        assumptions: str,
        verdict: Verdict,
        seconds: float = 0.0,
        model: str = "",
        messages: tuple[Message, ...] = (),
    ) -> Result:
        """The result of checking it under `assumptions`."""
        return Result(
            self.protocol,
            self.name,
            self.title,
            assumptions,
            verdict,
            self.expects(assumptions),
            seconds,
            model,
            messages,
        )


def given(*smallest: frozenset[Assumption]) -> dict[str, Status]:
    """What to expect of a claim that holds where one of these sets is assumed, and only there.

    More assumptions allow fewer sessions, so this is settled by the smallest sets that suffice and
    the largest that do not: those that lack something of each. The three sets that have a name are
    added for the reader.
    """
    if NOISY in smallest:
        return {"noisy": Status.HOLDS}
    lacking = {frozenset(choice) for choice in product(*smallest)}
    largest = [
        EQUIVALENCE - candidate
        for candidate in lacking
        if not any(smaller < candidate for smaller in lacking)
    ]
    sets = [*smallest, *NAMED.values(), *sorted(largest, key=name_of)]
    return {
        name_of(assumed): Status.HOLDS if any(s <= assumed for s in smallest) else Status.FAILS
        for assumed in sets
    }


def _held(*names: str) -> dict[str, Status]:
    return dict.fromkeys(names, Status.HOLDS)


def _tags(messages: Iterable[Say]) -> str:
    return ", ".join(message.tag for message in messages)


def _always(protocol: str) -> Iterator[Claim]:
    """What any two agents with these tables must do, whatever is asked of them."""
    yield Claim(
        "never-stuck",
        "some message can always be sent, and the receiver can take it",
        protocol,
        predicates.no_deadlock,
        given(NOISY),
        proved_by=("never-stuck", "one-guard"),
    )
    yield Claim(
        "silent-end",
        "both tables are in a final state when it is over, not before, and send nothing there",
        protocol,
        predicates.nothing_after_the_end,
        given(NOISY),
        proved_by=("silent-end",),
    )


def _interact() -> Iterator[Claim]:
    yield Claim(
        "terminates",
        "every session ends within n messages",
        "interact",
        predicates.ends_within_n,
        given(NOISY),
        proved_by=("terminates", "at-most-n"),
    )
    yield from _always("interact")
    yield Claim(
        "reject-after-k",
        "REJECT is sent only as message j > k",
        "interact",
        predicates.reject_only_after_k,
        given(NOISY),
        proved_by=("reject-after-k",),
    )
    yield Claim(
        "no-revise-at-2",
        "message 2 is never REVISE",
        "interact",
        predicates.no_revise_at_two,
        given(REFLEXIVE),
        proved_by=("no-revise-at-2",),
    )
    yield Claim(
        "revised-never",
        f"{_tags(REVISED)} does not occur",
        "interact",
        predicates.impossible(*REVISED),
        given(REFLEXIVE, LIKE - {Assumption.SHARED} | {Assumption.TRANSITIVE}),
        explores=False,
        proved_by=("revised-never",),
    )
    yield Claim(
        "ratified-at-3",
        "RATIFY by h at message 2 is answered by RATIFY, and that is the end (n >= 3)",
        "interact",
        predicates.ratify_answered,
        given(LIKE),
        proved_by=("ratified-at-3",),
    )
    yield Claim(
        "strong-once",
        f"the responder h is Strong only in {_tags(RATIFIED)} (n >= 3)",
        "interact",
        predicates.strong_once,
        given(TOLERANCE),
        proved_by=("strong-once",),
    )
    yield Claim(
        "never-ultra",
        "the responder h is never Ultra-Strong",
        "interact",
        predicates.never_ultra_strong,
        given(TOLERANCE),
        proved_by=("never-ultra",),
    )
    yield Claim(
        "refuted-never",
        f"{_tags(REFUTED)} does not occur",
        "interact",
        predicates.impossible(*REFUTED),
        given(LIKE | {Assumption.TRANSITIVE}),
        explores=False,
        proved_by=("refuted-never",),
    )
    yield Claim(
        "ends-agreed",
        "a session that ends in two RATIFYs ends with matching and agreeing answers",
        "interact",
        predicates.final_agreement,
        given(),
    )
    for n, k in predicates.SEQUENCES:
        yield Claim(
            f"sequences-at-{n}-{k}",
            f"at n = {n}, k = {k} there are just the tag sequences that the reading demands",
            "interact",
            predicates.sequences(n, k),
            dict.fromkeys(NAMED, Status.HOLDS),
            exact=True,
            explores=False,
        )
    for name, title, check in STATEMENTS:
        yield Claim(name, title, "interact", check, given(NOISY), exact=True, explores=False)


def _rules_and_rows() -> Iterator[Claim]:
    """What the rules and the rows are by themselves."""
    for name, title, protocol, wrong in predicates.ON_RULES:
        check = predicates.decides(*wrong)
        yield Claim(name, title, protocol, check, given(NOISY), exact=True, explores=False)
    yield Claim(
        "somebody-can-speak",
        "before the end one of the two can send, so that it needs no schedule to go on",
        "interact",
        some_agent_can_send,
        given(NOISY),
        exact=True,
        explores=False,
    )
    for protocol in ("interact", "pxp"):
        yield Claim(
            "every-row-taken",
            "every row of the table is taken in some session",
            protocol,
            every_row_taken,
            given(NOISY),
            exact=True,
        )


_SHARED = frozenset({Assumption.DETERMINISTIC, Assumption.SHARED})
_REPLIES_NEED = {
    Tag.INIT: NOISY,
    Tag.RATIFY: LIKE,
    Tag.REFUTE: _SHARED,
    Tag.REVISE: _SHARED,
    Tag.REJECT: LIKE,
}


def _replies(protocol: str) -> Iterator[Claim]:
    """PXP's replies; PXP(k) takes nothing but what PXP takes, TERM where it must."""
    for tag, needed in _REPLIES_NEED.items():
        answers = " or ".join(reply for reply in Tag if reply in REPLIES[tag])
        yield Claim(
            f"replies-{tag}",
            f"{tag} is answered by {answers}, TERM aside",
            protocol,
            predicates.replies_to(tag),
            given(needed) if protocol == "pxp" else _held("equivalence", name_of(needed and LIKE)),
            proved_by=(f"replies-{tag}",),
        )


def _pxp() -> Iterator[Claim]:
    yield from _always("pxp")
    yield from _replies("pxp")
    yield Claim(
        "terminates",
        "every session ends",
        "pxp",
        predicates.every_session_ends,
        given(),
    )
    yield from _always("pxp(k)")
    yield Claim(
        "terminates",
        "every session ends within 2k + 5 messages, TERM included",
        "pxp(k)",
        predicates.ends_within_2k_plus_5,
        given(LIKE),
        proved_by=("terminates", "within-2k-and-5"),
    )
    yield Claim(
        "self-loops",
        "each self-loop is taken at most k times, so all but 4k messages bring another tag",
        "pxp(k)",
        predicates.loops_at_most_k,
        _held("equivalence", "tolerance", "noisy"),
        proved_by=("self-loops",),
    )
    yield Claim(
        "no-alternation",
        "REFUTE and RATIFY do not answer each other for ever",
        "pxp(k)",
        predicates.never_alternates(Tag.REFUTE, Tag.RATIFY),
        _held("equivalence", "tolerance", name_of(LIKE)) | {"noisy": Status.FAILS},
        proved_by=("no-alternation",),
    )
    yield from _replies("pxp(k)")


def find(name: str) -> tuple[Claim, ...]:
    """The claims of that name: one a protocol; with `PROTOCOL.NAME` one alone.

    Raises `UsageError` where there is none.
    """
    claims = tuple(claim for claim in CLAIMS if name in (claim.name, claim.id))
    if not claims:
        titles = {claim.name: claim.title for claim in CLAIMS}
        raise unknown_name("claim", name, titles, listed="pxp list claims")
    return claims


CLAIMS: tuple[Claim, ...] = (*_rules_and_rows(), *_interact(), *_pxp())


# Where the claims are from: [A] is arXiv 2301.01819v2 as others cite it, [B] arXiv 2410.20600,
# [C] its NeurIPS 2025 workshop version.

OWN = "this package"

_DEFINITIONS = "[B] Definitions 1 and 2"
_REPLIES = "[A] Proposition 5"

SOURCES = MappingProxyType(
    {
        "interact.decides-as-written": "[B] Procedure 2",
        "interact.stops-as-written": "[B] Procedure 1",
        "interact.takes-all-bounds": "[B] Procedure 1; Procedure 2 has k > 1",
        "interact.terminates": "[B] Procedure 1",
        "interact.reject-after-k": "[B] Procedure 2",
        "interact.revised-never": "[B] section 4.3, which names the sequence as hypothetical",
        "interact.strong-once": "observed in [B] section 4.3 and [C] section 5.4",
        "interact.never-ultra": "observed in [B] Figure 4 and [C] Table 1",
        "interact.refuted-never": "[B] section 4.3, which reports the sequence",
        "interact.ultra-is-strong": _DEFINITIONS,
        "interact.strong-is-one-way": _DEFINITIONS,
        "interact.two-way-is-both": "[A] Definition 2, [B] section 2",
        "pxp.decides-as-written": "[A] Definition 5 and Table 4",
        "pxp.replies-INIT": _REPLIES,
        "pxp.replies-RATIFY": _REPLIES,
        "pxp.replies-REVISE": _REPLIES,
        "pxp.replies-REJECT": _REPLIES,
        "pxp(k).self-loops": "[A] section 4.1",
    }
)
"""The sources of claims by `Claim.id`; all others are of this package."""


def source_of(claim: Claim) -> str:
    """Where a claim is from.

    >>> from proofs.claims.catalogue import find
    >>> [source_of(claim) for claim in find("refuted-never")]
    ['[B] section 4.3, which reports the sequence']
    """
    return SOURCES.get(claim.id, OWN)
