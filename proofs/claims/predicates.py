"""Predicates of claims on explored sessions: each gives a verdict and its trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from proofs.claims import decisions
from proofs.core.explore import Space, explore
from proofs.core.model import Step
from proofs.core.properties import always, complete_words, each_step, never_deadlocks, terminates
from proofs.core.results import Status, Verdict
from proofs.induction.exact import exact
from proofs.induction.obligations import REPLIES
from proofs.sessions.model import AGENTS, SessionModel, State, speaker_of, tag_of
from proofs.sessions.replay import PrefixModel
from proofs.systems import Composition, system_of
from pxp_fsm.automata.actions import Say
from pxp_fsm.automata.automaton import Kind, Transition, happening
from pxp_fsm.errors import NotEnabled
from pxp_fsm.protocol.intelligibility import DEFINITIONS, ONE_WAY, STRONG, ULTRA_STRONG, two_way
from pxp_fsm.protocol.interfaces import Decisions
from pxp_fsm.protocol.messages import Answer, Message, Tag
from pxp_fsm.protocol.relations import EQUIVALENCE, NOISY, TOLERANCE, Assumption
from pxp_fsm.protocol.rules import Interact
from pxp_fsm.sessions.session import CLOSE

Check = Callable[[SessionModel, Space[State]], Verdict]


def _is_deadlock(state: State) -> bool:
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


def no_deadlock(_model: SessionModel, space: Space[State]) -> Verdict:
    """No session gets stuck: the tables allow what the rules demand."""
    return always(space, lambda s: not _is_deadlock(s))


def nothing_after_the_end(model: SessionModel, space: Space[State]) -> Verdict:
    """Both machines are in an end state, in which they send nothing, as soon as it is over."""

    def silent(state: State) -> bool:
        return all(
            where in table.final and not any(t.kind.value == "+" for t in table.leaving(where))
            for table, where in zip(model.both, state.at, strict=True)
        )

    def ended(state: State) -> bool:
        return any(at in table.final for table, at in zip(model.both, state.at, strict=True))

    return always(space, lambda s: silent(s) and not _is_deadlock(s) if s.over else not ended(s))


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
        followed = explore(PrefixModel(model, word))
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
        expected = SEQUENCES[n, k].get(model.theory.assumptions)
        if expected is None:
            told = "the reading says how many for equivalence, tolerance and noisy alone"
            return Verdict(Status.UNKNOWN, f"{found} sequences; {told}")
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


def decides(*wrong: Callable[[Decisions], decisions.Wrong]) -> Check:
    """The decision functions are, for all n, k and j, what the papers write."""

    def check(model: SessionModel, _space: Space[State]) -> Verdict:
        functions = exact(model.rules.functions)
        found = (case for one in wrong for case in one(functions))
        return decisions.verdict(found)

    return check


def loops_at_most_k(model: SessionModel, space: Space[State]) -> Verdict:
    """No self-loop of PXP(k) is taken more than k times."""
    k = model.rules.k or 0
    return always(space, lambda s: all(taken <= k for _, taken in s.loops))


_READ = (Tag.RATIFY, Tag.REFUTE, Tag.REVISE, Tag.REJECT)
_NAMES = tuple(DEFINITIONS)


class Read(NamedTuple):
    """What each agent has sent, and where each definition's automaton is, agent by agent."""

    sent: tuple[frozenset[str], frozenset[str]]
    at: tuple[tuple[str, ...], tuple[str, ...]]


class Tags:
    """The model: two agents that send any of the four tags that count, in any order."""

    name = "any tags"

    def initial(self) -> Iterable[Read]:
        start = tuple(next(iter(DEFINITIONS[name].moves)) for name in _NAMES)
        yield Read((frozenset(), frozenset()), (start, start))

    def successors(self, state: Read) -> Iterator[Step[Read]]:
        for agent, name in enumerate(AGENTS):
            for place, tag in enumerate(_READ):
                sent, at = list(state.sent), list(state.at)
                sent[agent] |= {str(tag)}
                at[agent] = tuple(
                    DEFINITIONS[d].moves[where][place]
                    for d, where in zip(_NAMES, at[agent], strict=True)
                )
                yield Step(Say(name, tag), Read((sent[0], sent[1]), (at[0], at[1])))

    def propositions(self, state: Read) -> frozenset[str]:
        return frozenset(
            f"{name}:{d}"
            for agent, name in enumerate(AGENTS)
            for d in _NAMES
            if DEFINITIONS[d].holds(state.sent[agent])
        )


@cache
def _space() -> Space[Read]:
    return explore(Tags())


def _each(holds: Callable[[frozenset[str]], bool]) -> Check:
    """Something is so of the tags that an agent has sent, whichever they are."""
    return _of(lambda state: all(map(holds, state.sent)))


def _of(holds: Callable[[Read], bool]) -> Check:
    def check(_model: SessionModel, _sessions: Space[State]) -> Verdict:
        found = always(_space(), holds)
        return Verdict(found.status, ", ".join(found.trace.labels) if found.trace else "")

    return check


def _read_alike(state: Read) -> bool:
    """Each automaton accepts what its predicate says."""
    return all(
        DEFINITIONS[name].holds(sent) is (where in DEFINITIONS[name].accepting)
        for sent, at in zip(state.sent, state.at, strict=True)
        for name, where in zip(_NAMES, at, strict=True)
    )


def _both_one_way(state: Read) -> bool:
    return two_way(_messages(state), *AGENTS) is all(map(ONE_WAY.holds, state.sent))


def _messages(state: Read) -> list[Message]:
    """Messages with the tags that have been sent."""
    sent = [(agent, tag) for agent in (0, 1) for tag in sorted(state.sent[agent])]
    return [
        Message("tags", number, AGENTS[agent], tag, Answer("y", "e"), AGENTS[1 - agent])
        for number, (agent, tag) in enumerate(sent, start=1)
    ]


STATEMENTS: tuple[tuple[str, str, Check], ...] = (
    (
        "ultra-is-strong",
        "whoever is Ultra-Strong is Strong, in any session whatever",
        _each(lambda sent: STRONG.holds(sent) or not ULTRA_STRONG.holds(sent)),
    ),
    (
        "strong-is-one-way",
        "a session that is Strong for an agent is one-way intelligible for it",
        _each(lambda sent: ONE_WAY.holds(sent) or not STRONG.holds(sent)),
    ),
    (
        "two-way-is-both",
        "a session is two-way intelligible just where it is one-way for both agents",
        _of(_both_one_way),
    ),
    (
        "read-alike",
        "each definition says the same as a predicate and as an automaton",
        _of(_read_alike),
    ),
)
"""Name, title and check of each."""


def every_row_taken(model: SessionModel, space: Space[State]) -> Verdict:
    """Each row of the tables is taken in some session, by the one agent or the other."""
    taken: set[Transition] = set()
    for state, steps in space.steps.items():
        for step in steps:
            taken.update(_rows(model, state, step))
    rows = dict.fromkeys(row for table in model.both for row in table.transitions)
    never = [f"{row.source} → {row.target} {row.action}" for row in rows if row not in taken]
    if never:
        return Verdict(Status.FAILS, f"never taken: {', '.join(never)}")
    return Verdict(Status.HOLDS)


def _rows(model: SessionModel, state: State, step: Step[State]) -> Iterator[Transition]:
    """The rows that the two agents take in a step: for the message, and for a close after it."""
    if step.target.over == "stuck":
        return
    speaker, tag = speaker_of(step), tag_of(step)
    sent = model.both[speaker].sends(state.at[speaker], tag)
    heard = model.both[1 - speaker].receives(state.at[1 - speaker], tag)
    for row, table in ((sent, model.both[speaker]), (heard, model.both[1 - speaker])):
        if row is None:
            continue
        yield row
        if step.target.over not in ("", "term"):
            try:
                yield table.step(row.target, happening(CLOSE))
            except NotEnabled:
                continue


def some_agent_can_send(model: SessionModel, _space: Space[State]) -> Verdict:
    """However guards fall and whenever a session is closed: before the end an agent can send."""
    composition = Composition(system_of(tuple(zip(AGENTS, model.both, strict=True))))

    def nobody_sends(state: int) -> bool:
        rows = (
            row
            for place, field in enumerate(composition.encoding.fields)
            for row in composition.leaving(place, field.of(state))
        )
        return not composition.ended(state) and all(row.kind is not Kind.SEND for row in rows)

    found = explore(composition).find(nobody_sends)
    if found is None:
        return Verdict(Status.HOLDS)
    return Verdict(Status.FAILS, f"nobody can send after {', '.join(found.labels)}")
