"""The claims about INTERACT and PXP, each under a name, with the verdict that is expected of it.

Sources: arXiv 2410.20600 (sections 2 to 4), arXiv 2301.01819 as cited there; some are our own. A
claim whose expected verdict is FAILS is as much a result as one that HOLDS: its counterexample is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from proofs.explore import Space, explore
from proofs.following import Following
from proofs.model import Step
from proofs.properties import (
    always,
    complete_words,
    each_step,
    never_deadlocks,
    terminates,
)
from proofs.sessions import SessionModel, State
from proofs.verdicts import Status, Verdict
from pxp_fsm.messages import Tag
from pxp_fsm.relations import EQUIVALENCE, NOISY, TOLERANCE, Assumption
from pxp_fsm.rules import Interact

ASSUMPTIONS: Mapping[str, frozenset[Assumption]] = MappingProxyType(
    {
        "equivalence": EQUIVALENCE,
        "tolerance": TOLERANCE,
        "reflexive": frozenset({Assumption.REFLEXIVE}),
        "noisy": NOISY,
        **{f"without {one.value}": EQUIVALENCE - {one} for one in Assumption},
    }
)
"""Sets of assumptions on MATCH and AGREE, by the name that a verdict gives them."""

Check = Callable[[SessionModel, Space[State]], Verdict]


@dataclass(frozen=True)
class Claim:
    """A claim about every session of a protocol (`interact`, `pxp` or `pxp(k)`).

    `expected` maps names of `ASSUMPTIONS` to the verdict that is expected under them. An `exact`
    claim names its own n and k, and is not bounded by those that sessions are explored for.
    """

    name: str
    title: str
    protocol: str
    check: Check
    expected: Mapping[str, Status] = field(default_factory=dict)
    exact: bool = False


def _holds(*names: str) -> dict[str, Status]:
    return dict.fromkeys(names, Status.HOLDS)


def _fails(*names: str) -> dict[str, Status]:
    return dict.fromkeys(names, Status.FAILS)


def _without(*names: str) -> tuple[str, ...]:
    return tuple(f"without {name}" for name in names)


def _tag(step: Step[State]) -> str:
    return step.label.partition(" ")[2]


def _stuck(state: State) -> bool:
    return state.over == "stuck"


def _strong(state: State) -> bool:
    """The responder h is Strong in this finished session (Definition 2)."""
    return bool(state.over) and state.history[1].accepted and state.history[1].only_accepted


def _ends_within_n(model: SessionModel, space: Space[State]) -> Verdict:
    bound = model.rules.n
    verdict = always(space, lambda s: bound is not None and s.sent <= bound)
    if verdict.status is not Status.HOLDS:
        return verdict
    return never_deadlocks(space, lambda s: bool(s.over))


def _reject_only_after_k(model: SessionModel, space: Space[State]) -> Verdict:
    k = model.rules.k or 0
    return each_step(space, lambda _s, t: _tag(t) == Tag.REJECT, lambda _s, t: t.target.sent > k)


def _nothing_stuck(_model: SessionModel, space: Space[State]) -> Verdict:
    return always(space, lambda s: not _stuck(s))


def _nothing_after_the_end(model: SessionModel, space: Space[State]) -> Verdict:
    """In a finished session both machines are in an end state, in which they send nothing."""

    def silent(state: State) -> bool:
        return all(
            where in table.final and not any(t.kind.value == "+" for t in table.leaving(where))
            for table, where in zip(model.both, state.at, strict=True)
        )

    return always(space, lambda s: not s.over or (not _stuck(s) and silent(s)))


def _no_revise_at_two(_model: SessionModel, space: Space[State]) -> Verdict:
    return each_step(space, lambda s, _t: s.sent == 1, lambda _s, t: _tag(t) != Tag.REVISE)


def _ratify_answered(_model: SessionModel, space: Space[State]) -> Verdict:
    return each_step(
        space,
        lambda s, _t: s.sent == 2 and s.tags[1] == Tag.RATIFY,
        lambda _s, t: _tag(t) == Tag.RATIFY and t.target.over == "ratified",
    )


def _strong_once(_model: SessionModel, space: Space[State]) -> Verdict:
    """h is Strong only after INIT, RATIFY, RATIFY: three messages, and the last tags of each."""
    only = (Tag.RATIFY, Tag.RATIFY)
    return always(space, lambda s: not _strong(s) or (s.sent == 3 and s.tags == only))


def _never_ultra_strong(_model: SessionModel, space: Space[State]) -> Verdict:
    return always(space, lambda s: not (_strong(s) and s.history[1].revised))


def _final_agreement(_model: SessionModel, space: Space[State]) -> Verdict:
    def agree(state: State) -> bool:
        return all((0, 1) in part.left for part in (state.predictions, state.explanations))

    return always(space, lambda s: s.over != "ratified" or agree(s))


def _impossible(*word: str) -> Check:
    """No session begins with `word`."""

    def check(model: SessionModel, _space: Space[State]) -> Verdict:
        followed = explore(Following(model, word))
        return always(followed, lambda place: place.followed < len(word))

    return check


_SEQUENCES: Mapping[tuple[int, int], Mapping[frozenset[Assumption], int]] = {
    (3, 1): {EQUIVALENCE: 4, TOLERANCE: 4, NOISY: 13},
    (4, 2): {EQUIVALENCE: 8, TOLERANCE: 10, NOISY: 36},
}


def _sequences(n: int, k: int) -> Check:
    """The number of complete tag sequences at (n, k): whether the papers were read right."""

    def check(model: SessionModel, _space: Space[State]) -> Verdict:
        small = replace(model, rules=Interact(n, k))
        found = len(complete_words(explore(small)))
        expected = _SEQUENCES[n, k][model.theory.assumptions]
        status = Status.HOLDS if found == expected else Status.FAILS
        return Verdict(status, f"{found} sequences")

    return check


_REPLIES: Mapping[str, tuple[str, ...]] = {
    Tag.INIT: (Tag.RATIFY, Tag.REFUTE, Tag.REVISE, Tag.REJECT),
    Tag.RATIFY: (Tag.RATIFY,),
    Tag.REVISE: (Tag.RATIFY,),
    Tag.REJECT: (Tag.REJECT,),
    Tag.REFUTE: (Tag.REFUTE, Tag.REVISE, Tag.REJECT),
}


def _replies_to(received: str) -> Check:
    """Every answer to `received`, TERM aside, is one that Proposition 5 names."""

    def answers(state: State, step: Step[State]) -> bool:
        other = 1 if step.label.startswith("m ") else 0
        return state.sent > 0 and state.tags[other] == received and _tag(step) != Tag.TERM

    def check(_model: SessionModel, space: Space[State]) -> Verdict:
        return each_step(space, answers, lambda _s, t: _tag(t) in _REPLIES[received])

    return check


def _ends_within_2k_plus_5(model: SessionModel, space: Space[State]) -> Verdict:
    verdict = terminates(space)
    if verdict.status is not Status.HOLDS:
        return verdict
    bound = 2 * (model.rules.k or 0) + 5
    longest = int(verdict.detail.split()[-2])
    return verdict if longest <= bound else Verdict(Status.FAILS, verdict.detail)


_SOUND = ("equivalence", "tolerance", "without reflexive")
_REPLY_VERDICTS: Mapping[str, dict[str, Status]] = {
    Tag.INIT: _holds("noisy"),
    Tag.RATIFY: {
        **_holds(*_SOUND),
        **_fails("noisy", *_without("deterministic", "symmetric", "shared")),
    },
    Tag.REVISE: {
        **_holds(*_SOUND, "without symmetric"),
        **_fails("noisy", *_without("deterministic", "shared")),
    },
    Tag.REJECT: {
        **_holds(*_SOUND),
        **_fails("noisy", *_without("deterministic", "symmetric", "shared")),
    },
    Tag.REFUTE: {
        **_holds(*_SOUND, "without symmetric"),
        **_fails("noisy", *_without("deterministic", "shared")),
    },
}

ALL = ("equivalence", "tolerance", "noisy")
CLAIMS: tuple[Claim, ...] = (
    Claim(
        "ends-within-n",
        "every session ends within n messages",
        "interact",
        _ends_within_n,
        _holds("noisy"),
    ),
    Claim(
        "reject-only-after-k",
        "REJECT is sent only as message j > k",
        "interact",
        _reject_only_after_k,
        _holds("noisy"),
    ),
    Claim(
        "no-deadlock",
        "no agent is stuck, and what is sent can be received",
        "interact",
        _nothing_stuck,
        _holds("noisy"),
    ),
    Claim(
        "nothing-after-the-end",
        "both agents are in END when it is over, and send nothing there",
        "interact",
        _nothing_after_the_end,
        _holds("noisy"),
    ),
    Claim(
        "no-revise-at-2",
        "message 2 is never REVISE",
        "interact",
        _no_revise_at_two,
        {
            **_holds("reflexive", *_without("deterministic", "symmetric", "shared", "transitive")),
            **_fails("noisy", *_without("reflexive")),
        },
    ),
    Claim(
        "ratify-answered",
        "RATIFY by h at message 2 is answered by RATIFY, and that is the end",
        "interact",
        _ratify_answered,
        {
            **_holds("tolerance", *_without("reflexive", "transitive")),
            **_fails("noisy", *_without("deterministic", "symmetric", "shared")),
        },
    ),
    Claim(
        "strong-responder",
        "the responder h is Strong only in INIT, RATIFY, RATIFY",
        "interact",
        _strong_once,
        {
            **_holds("tolerance", *_without("transitive")),
            **_fails("noisy", *_without("deterministic", "reflexive", "symmetric", "shared")),
        },
    ),
    Claim(
        "responder-never-ultra-strong",
        "the responder h is never Ultra-Strong",
        "interact",
        _never_ultra_strong,
        {
            **_holds("tolerance", *_without("transitive")),
            **_fails("noisy", *_without("deterministic", "reflexive", "symmetric", "shared")),
        },
    ),
    Claim(
        "no-change-of-mind",
        "INIT, REFUTE, REFUTE, RATIFY does not occur",
        "interact",
        _impossible("m INIT", "h REFUTE", "m REFUTE", "h RATIFY"),
        {
            **_holds("equivalence", *_without("reflexive")),
            **_fails("tolerance", "noisy", *_without("deterministic", "symmetric", "shared")),
        },
    ),
    Claim(
        "no-double-revision",
        "INIT, REVISE, REVISE, RATIFY, RATIFY does not occur",
        "interact",
        _impossible("m INIT", "h REVISE", "m REVISE", "h RATIFY", "m RATIFY"),
        {**_holds("reflexive", "equivalence", *_without("reflexive")), **_fails("noisy")},
    ),
    Claim(
        "final-agreement",
        "a session that ends in two RATIFYs ends with matching and agreeing answers",
        "interact",
        _final_agreement,
        _fails("equivalence", "tolerance"),
    ),
    *(
        Claim(
            f"sequences-at-{n}-{k}",
            f"at n = {n}, k = {k} there are just the tag sequences that the reading demands",
            "interact",
            _sequences(n, k),
            _holds(*ALL),
            exact=True,
        )
        for n, k in _SEQUENCES
    ),
    *(
        Claim(
            f"replies-to-{received.lower()}",
            f"{received} is answered by {' or '.join(tags)}, TERM aside",
            "pxp",
            _replies_to(received),
            _REPLY_VERDICTS[received],
        )
        for received, tags in _REPLIES.items()
    ),
    Claim("terminates", "every session ends", "pxp", lambda _m, s: terminates(s), _fails(*ALL)),
    Claim(
        "no-deadlock",
        "no agent is stuck, and what is sent can be received",
        "pxp",
        _nothing_stuck,
        _holds("noisy"),
    ),
    Claim(
        "ends-within-2k+5",
        "every session ends within 2k + 5 messages, TERM included",
        "pxp(k)",
        _ends_within_2k_plus_5,
        {
            **_holds("equivalence", "tolerance", *_without("reflexive")),
            **_fails("noisy", *_without("deterministic", "symmetric", "shared")),
        },
    ),
)
