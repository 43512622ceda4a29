"""What claims say of explored sessions: each function gives the verdict on one, with its trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from proofs import deciding
from proofs.actions import Say
from proofs.explore import Space, explore
from proofs.following import Following
from proofs.model import Step
from proofs.obligations import REPLIES
from proofs.properties import (
    always,
    complete_words,
    each_step,
    never_deadlocks,
    terminates,
)
from proofs.sessions import SessionModel, State, speaker_of, tag_of
from proofs.verdicts import Status, Verdict
from pxp_fsm.interfaces import Decisions
from pxp_fsm.messages import Tag
from pxp_fsm.relations import EQUIVALENCE, NOISY, TOLERANCE, Assumption
from pxp_fsm.rules import Interact

Check = Callable[[SessionModel, Space[State]], Verdict]


def _stuck(state: State) -> bool:
    return state.over == "stuck"


def _strong(state: State) -> bool:
    """The responder h is Strong in this finished session (Definition 2)."""
    return bool(state.over) and state.history[1].accepted and state.history[1].only_accepted


def ends_within_n(model: SessionModel, space: Space[State]) -> Verdict:
    """Every session ends, after n messages at the most."""
    bound = model.rules.n
    verdict = always(space, lambda s: bound is not None and s.sent <= bound)
    if verdict.status is not Status.HOLDS:
        return verdict
    return never_deadlocks(space, lambda s: bool(s.over))


def reject_only_after_k(model: SessionModel, space: Space[State]) -> Verdict:
    """REJECT has a number above k."""
    k = model.rules.k or 0
    return each_step(space, lambda _s, t: tag_of(t) == Tag.REJECT, lambda _s, t: t.target.sent > k)


def nothing_stuck(_model: SessionModel, space: Space[State]) -> Verdict:
    """No session gets stuck: the tables allow what the rules demand."""
    return always(space, lambda s: not _stuck(s))


def nothing_after_the_end(model: SessionModel, space: Space[State]) -> Verdict:
    """Both machines are in an end state, in which they send nothing, as soon as it is over."""

    def silent(state: State) -> bool:
        return all(
            where in table.final and not any(t.kind.value == "+" for t in table.leaving(where))
            for table, where in zip(model.both, state.at, strict=True)
        )

    def ended(state: State) -> bool:
        return any(at in table.final for table, at in zip(model.both, state.at, strict=True))

    return always(space, lambda s: silent(s) and not _stuck(s) if s.over else not ended(s))


def no_revise_at_two(_model: SessionModel, space: Space[State]) -> Verdict:
    """Message 2 is not REVISE."""
    return each_step(space, lambda s, _t: s.sent == 1, lambda _s, t: tag_of(t) != Tag.REVISE)


def ratify_answered(_model: SessionModel, space: Space[State]) -> Verdict:
    """RATIFY at message 2 is answered by RATIFY, which ends the session."""
    return each_step(
        space,
        lambda s, _t: s.sent == 2 and s.tags[1] == Tag.RATIFY,
        lambda _s, t: tag_of(t) == Tag.RATIFY and t.target.over == "ratified",
    )


def strong_once(_model: SessionModel, space: Space[State]) -> Verdict:
    """h is Strong only after INIT, RATIFY, RATIFY: three messages, and the last tags of each."""
    only = (Tag.RATIFY, Tag.RATIFY)
    return always(space, lambda s: not _strong(s) or (s.sent == 3 and s.tags == only))


def never_ultra_strong(_model: SessionModel, space: Space[State]) -> Verdict:
    """The responder h is not Ultra-Strong in a finished session (Definition 2)."""
    return always(space, lambda s: not (_strong(s) and s.history[1].revised))


def final_agreement(_model: SessionModel, space: Space[State]) -> Verdict:
    """After two RATIFYs the last predictions match and the last explanations agree."""

    def agree(state: State) -> bool:
        return all((0, 1) in part.left for part in (state.predictions, state.explanations))

    return always(space, lambda s: s.over != "ratified" or agree(s))


def impossible(*word: Say) -> Check:
    """No session begins with `word`."""

    def check(model: SessionModel, _space: Space[State]) -> Verdict:
        followed = explore(Following(model, word))
        return always(followed, lambda place: place.followed < len(word))

    return check


SEQUENCES: Mapping[tuple[int, int], Mapping[frozenset[Assumption], int]] = {
    (3, 1): {EQUIVALENCE: 4, TOLERANCE: 4, NOISY: 13},
    (4, 2): {EQUIVALENCE: 8, TOLERANCE: 10, NOISY: 36},
}
"""How many complete tag sequences there are at (n, k)."""


def sequences(n: int, k: int) -> Check:
    """The number of complete tag sequences at (n, k): whether the papers were read right."""

    def check(model: SessionModel, _space: Space[State]) -> Verdict:
        rules = Interact(n, k, model.rules.table, model.rules.functions)
        small = replace(model, rules=rules)
        found = len(complete_words(explore(small, limit=10_000)))
        expected = SEQUENCES[n, k][model.theory.assumptions]
        status = Status.HOLDS if found == expected else Status.FAILS
        return Verdict(status, f"{found} sequences")

    return check


def replies_to(received: str) -> Check:
    """Every answer to `received`, TERM aside, is one that Proposition 5 names."""

    def answers(state: State, step: Step[State]) -> bool:
        answered = state.tags[1 - speaker_of(step)]
        return state.sent > 0 and answered == received and tag_of(step) != Tag.TERM

    def check(_model: SessionModel, space: Space[State]) -> Verdict:
        return each_step(space, answers, lambda _s, t: tag_of(t) in REPLIES[received])

    return check


def ends_within_2k_plus_5(model: SessionModel, space: Space[State]) -> Verdict:
    """Every session ends, after 2k + 5 messages at the most."""
    verdict = terminates(space)
    if verdict.status is not Status.HOLDS:
        return verdict
    bound = 2 * (model.rules.k or 0) + 5
    longest = (verdict.bound and verdict.bound.steps) or 0
    return verdict if longest <= bound else replace(verdict, status=Status.FAILS)


def every_session_ends(_model: SessionModel, space: Space[State]) -> Verdict:
    """No session goes on for ever."""
    return terminates(space)


def never_alternates(one: str, other: str) -> Check:
    """No session goes on for ever by answering `one` with `other` and `other` with `one`."""

    def alternates(state: State, step: Step[State]) -> bool:
        received = state.tags[1 - speaker_of(step)]
        return (received, tag_of(step)) in ((one, other), (other, one))

    def check(_model: SessionModel, space: Space[State]) -> Verdict:
        found = terminates(space, alternates)
        return Verdict(Status.HOLDS) if found.status is Status.HOLDS else found

    return check


def decides(*wrong: Callable[[Decisions], deciding.Wrong]) -> Check:
    """The decision functions are, for all n, k and j, what the papers write."""

    def check(model: SessionModel, _space: Space[State]) -> Verdict:
        found = (case for one in wrong for case in one(model.rules.functions))
        return deciding.verdict(found)

    return check


def loops_at_most_k(model: SessionModel, space: Space[State]) -> Verdict:
    """No self-loop of PXP(k) is taken more than k times."""
    k = model.rules.k or 0
    return always(space, lambda s: all(taken <= k for _, taken in s.loops))
