"""Predicates of claims: on explored sessions, and on the decision functions themselves.

Each gives a verdict; on sessions, with its trace. Everything else that is claimed follows from what
the decision functions do in sessions. Each of them is set against the sentence of the paper that it
stands for, case by case, for all n, k and j: the finite arguments all of them, the numbers as
symbols (`proofs.induction.numbers`). Sources: arXiv 2410.20600, Procedures 1 and 2; arXiv
2301.01819 as cited there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import product
from typing import NamedTuple

from proofs.core.explore import Space, Step, explore
from proofs.core.properties import always, complete_words, each_step, never_deadlocks, terminates
from proofs.core.results import Status, Verdict
from proofs.induction.exact import exact
from proofs.induction.numbers import NumberCase, Numbers
from proofs.induction.obligations import REPLIES
from proofs.sessions.model import AGENTS, SessionModel, SessionState, speaker_of, tag_of
from proofs.sessions.replay import PrefixModel
from proofs.systems import Composition, system_of
from pxp_fsm.automata.actions import Say
from pxp_fsm.automata.automaton import Kind, Transition, happening
from pxp_fsm.errors import NotEnabled, UsageError
from pxp_fsm.protocol.decisions import Category, Guard
from pxp_fsm.protocol.intelligibility import DEFINITIONS, ONE_WAY, STRONG, ULTRA_STRONG, two_way
from pxp_fsm.protocol.interfaces import Decisions
from pxp_fsm.protocol.messages import Answer, Message, Tag
from pxp_fsm.protocol.relations import EQUIVALENCE, NOISY, TOLERANCE, Assumption
from pxp_fsm.protocol.rules import Interact
from pxp_fsm.sessions.policy import CLOSE

TAGS = tuple(map(str, Tag))
BOOLEANS = (False, True)

Wrong = Iterator[str]
"""The cases in which a function is not what it should be, in words."""


def verdict(found: Wrong) -> Verdict:
    """HOLDS where no case is wrong, FAILS with the first one that is."""
    first = next(found, None)
    return Verdict(Status.HOLDS) if first is None else Verdict(Status.FAILS, first)


def _differing(
    what: str, names: Sequence[str], found: Callable[..., object], due: Callable[..., object]
) -> Wrong:
    """Where two pure functions of the numbers with these names differ."""

    def both(case: NumberCase) -> tuple[object, object]:
        symbols = tuple(map(case.named, names))
        return found(*symbols), due(*symbols)

    for case, (one, other) in Numbers().cases((), both, {}):
        if one != other or type(one) is not type(other):
            where = " where " + " and ".join(map(str, case)) if case else ""
            yield f"{what}{where}: {one}, not {other}"


def categories(functions: Decisions) -> Wrong:
    """A is both, B is MATCH alone, C is AGREE alone, D is neither."""
    due = {(1, 1): Category.A, (1, 0): Category.B, (0, 1): Category.C, (0, 0): Category.D}
    for (match, agree), category in due.items():
        found = functions.category(bool(match), bool(agree))
        if found is not category:
            yield f"MATCH {bool(match)}, AGREE {bool(agree)}: {found}, not {category}"


def interact_guards(functions: Decisions) -> Wrong:
    """RATIFY in A; REJECT in D at j > k; else REVISE if one's answer changed, REFUTE if not."""

    def due(found: Category, changed: bool, j: int, k: int) -> Guard:
        if found is Category.A:
            return Guard.RAT
        if found is Category.D and k + 1 <= j:
            return Guard.REJ
        return {True: Guard.REV, False: Guard.REF}[changed]

    for found, changed in product(Category, BOOLEANS):
        yield from _differing(
            f"{found}, {'' if changed else 'un'}changed",
            "jk",
            partial(functions.interact_guard, found, changed),
            partial(due, found, changed),
        )


def interact_questions(functions: Decisions) -> Wrong:
    """Changed is asked for exactly where the guard depends on it."""

    def depends(found: Category, j: int, k: int) -> bool:
        guards = {functions.interact_guard(found, changed, j, k) for changed in BOOLEANS}
        return len(guards) == 2

    for found in Category:
        asks = partial(functions.interact_depends_on_change, found)
        yield from _differing(f"{found}, asking", "jk", asks, partial(depends, found))


def pxp_guards(functions: Decisions) -> Wrong:
    """RATIFY in A; REJECT in D; else REVISE if learning reconciles the two, REFUTE if not."""
    for found, reconciled in product(Category, BOOLEANS):
        by = {Category.A: Guard.RAT, Category.D: Guard.REJ}
        due = by.get(found, Guard.REV if reconciled else Guard.REF)
        guard = functions.pxp_guard(found, reconciled)
        if guard is not due:
            yield f"{found}, {'' if reconciled else 'not '}reconciled: {guard}, not {due}"


def pxp_questions(functions: Decisions) -> Wrong:
    """An agent learns exactly where its guard depends on what it learns."""
    for found in Category:
        both = {functions.pxp_guard(found, reconciled) for reconciled in BOOLEANS}
        learns = functions.pxp_depends_on_learning(found)
        if learns is not (len(both) == 2):
            yield f"{found}: an agent learns: {learns}"


def turns(functions: Decisions) -> Wrong:
    """The initiator has message 1, and the two alternate."""
    first = functions.initiator_speaks(1)
    if first is not True:
        yield f"message 1 is the initiator's: {first}"
    yield from _differing(
        "whose turn it is next",
        "j",
        lambda j: functions.initiator_speaks(j + 1),
        lambda j: not functions.initiator_speaks(j),
    )


def stop(functions: Decisions) -> Wrong:
    """Stop is a REJECT, or a RATIFY that answers a RATIFY; Done is Stop, or j > n after j + 1."""
    for tag, previous in product(TAGS, repeat=2):
        found = functions.stops(tag, previous)
        if found is not (tag == "REJECT" or (tag, previous) == ("RATIFY", "RATIFY")):
            yield f"{previous}, {tag} stops a session: {found}"
    for stopped in BOOLEANS:
        yield from _differing(
            f"done, {'' if stopped else 'not '}stopped",
            ("sent", "n"),
            partial(functions.done, stopped=stopped),
            partial(lambda stopped, sent, n: stopped or not sent + 1 <= n, stopped),
        )


def loops(functions: Decisions) -> Wrong:
    """PXP(k): a self-loop is a tag that answers itself, and k of them are enough."""
    for received, answer in product(TAGS, repeat=2):
        due = received == answer and answer not in ("INIT", "TERM")
        found = functions.repeats(received, answer)
        if found is not due:
            yield f"{answer} in answer to {received} is a self-loop: {found}"
    yield from _differing(
        "one more is too many",
        ("taken", "k"),
        functions.exhausted,
        lambda taken, k: not taken + 1 <= k,
    )
    unbounded = functions.exhausted(10**6, None)
    if unbounded is not False:
        yield f"without k one more is too many: {unbounded}"


def policy(functions: Decisions) -> Wrong:
    """By default TERM answers a RATIFY or a REJECT that one has oneself answered in kind."""
    for received, own in product((*TAGS, ""), repeat=2):
        due = (received, own) in (("RATIFY", "RATIFY"), ("REJECT", "REJECT"))
        found = functions.concluded(received, own)
        if found is not due:
            yield f"TERM in answer to {received}, having said {own or 'nothing'}: {found}"


def bounds(functions: Decisions) -> Wrong:
    """Exactly the whole numbers n >= 1 and k >= 1 are taken."""

    def taken(check: Callable[..., None], *given: object) -> bool:
        try:
            check(*given)
        except UsageError:
            return False
        return True

    accepts = partial(taken, functions.check_bounds)
    yield from _differing("taking n and k", "nk", accepts, lambda n, k: n >= 1 and k >= 1)
    yield from _differing(
        "taking k",
        "k",
        lambda k: taken(functions.check_bound, k, "k"),
        lambda k: k >= 1,
    )
    for odd in (True, 1.5, 2.0, "2"):
        if taken(functions.check_bound, odd, "k"):
            yield f"{odd!r} is taken for a whole number"


ON_FUNCTIONS: tuple[tuple[str, str, str, tuple[Callable[[Decisions], Wrong], ...]], ...] = (
    (
        "decides-as-written",
        "category and guard are those of Procedure 2, for all n and k",
        "interact",
        (
            categories,
            interact_guards,
        ),
    ),
    (
        "asks-what-matters",
        "whether the answer changed is asked exactly where the guard depends on it",
        "interact",
        (interact_questions,),
    ),
    (
        "stops-as-written",
        "the two take turns, and Stop and Done are those of Procedure 1, for all n",
        "interact",
        (
            turns,
            stop,
        ),
    ),
    (
        "takes-all-bounds",
        "just the whole numbers n >= 1 and k >= 1 are taken as bounds",
        "interact",
        (bounds,),
    ),
    (
        "decides-as-written",
        "category and guard are those of PXP",
        "pxp",
        (
            categories,
            pxp_guards,
        ),
    ),
    (
        "asks-what-matters",
        "an agent learns exactly where its guard depends on what it learns",
        "pxp",
        (pxp_questions,),
    ),
    (
        "hangs-up-when-concluded",
        "by default TERM answers a RATIFY or REJECT that one has said before",
        "pxp",
        (
            turns,
            policy,
        ),
    ),
    (
        "counts-self-loops",
        "just a tag but INIT and TERM that answers itself is a self-loop, k at most",
        "pxp",
        (loops,),
    ),
)
"""Claims by name: what is claimed, of which protocol, and what would be wrong."""


Check = Callable[[SessionModel, Space[SessionState]], Verdict]


def _is_deadlock(state: SessionState) -> bool:
    return state.over == "stuck"


def _strong(state: SessionState) -> bool:
    """The responder h is Strong in this finished session (Definition 2)."""
    return bool(state.over) and state.history[1].accepted and state.history[1].only_accepted


def ends_within_n(model: SessionModel, space: Space[SessionState]) -> Verdict:
    """Every session ends, after n messages at the most."""
    bound = model.rules.n
    verdict = always(space, lambda s: bound is not None and s.sent <= bound)
    if verdict.status is not Status.HOLDS:
        return verdict
    return never_deadlocks(space, lambda s: bool(s.over))


def reject_only_after_k(model: SessionModel, space: Space[SessionState]) -> Verdict:
    """REJECT has a number above k."""
    k = model.rules.k or 0
    return each_step(space, lambda _s, t: tag_of(t) == Tag.REJECT, lambda _s, t: t.target.sent > k)


def no_deadlock(_model: SessionModel, space: Space[SessionState]) -> Verdict:
    """No session gets stuck: the tables allow what the rules demand."""
    return always(space, lambda s: not _is_deadlock(s))


def nothing_after_the_end(model: SessionModel, space: Space[SessionState]) -> Verdict:
    """Both machines are in an end state, in which they send nothing, as soon as it is over."""

    def silent(state: SessionState) -> bool:
        return all(
            where in table.final and not any(t.kind.value == "+" for t in table.leaving(where))
            for table, where in zip(model.both, state.at, strict=True)
        )

    def ended(state: SessionState) -> bool:
        return any(at in table.final for table, at in zip(model.both, state.at, strict=True))

    return always(space, lambda s: silent(s) and not _is_deadlock(s) if s.over else not ended(s))


def no_revise_at_two(_model: SessionModel, space: Space[SessionState]) -> Verdict:
    """Message 2 is not REVISE."""
    return each_step(space, lambda s, _t: s.sent == 1, lambda _s, t: tag_of(t) != Tag.REVISE)


def ratify_answered(_model: SessionModel, space: Space[SessionState]) -> Verdict:
    """RATIFY at message 2 is answered by RATIFY, which ends the session."""
    return each_step(
        space,
        lambda s, _t: s.sent == 2 and s.tags[1] == Tag.RATIFY,
        lambda _s, t: tag_of(t) == Tag.RATIFY and t.target.over == "ratified",
    )


def strong_once(_model: SessionModel, space: Space[SessionState]) -> Verdict:
    """h is Strong only after INIT, RATIFY, RATIFY: three messages, and the last tags of each."""
    only = (Tag.RATIFY, Tag.RATIFY)
    return always(space, lambda s: not _strong(s) or (s.sent == 3 and s.tags == only))


def never_ultra_strong(_model: SessionModel, space: Space[SessionState]) -> Verdict:
    """The responder h is not Ultra-Strong in a finished session (Definition 2)."""
    return always(space, lambda s: not (_strong(s) and s.history[1].revised))


def final_agreement(_model: SessionModel, space: Space[SessionState]) -> Verdict:
    """After two RATIFYs the last predictions match and the last explanations agree."""

    def agree(state: SessionState) -> bool:
        return all((0, 1) in part.left for part in (state.predictions, state.explanations))

    return always(space, lambda s: s.over != "ratified" or agree(s))


def impossible(*word: Say) -> Check:
    """No session begins with `word`."""

    def check(model: SessionModel, _space: Space[SessionState]) -> Verdict:
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

    def check(model: SessionModel, _space: Space[SessionState]) -> Verdict:
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

    def answers(state: SessionState, step: Step[SessionState]) -> bool:
        answered = state.tags[1 - speaker_of(step)]
        return state.sent > 0 and answered == received and tag_of(step) != Tag.TERM

    def check(_model: SessionModel, space: Space[SessionState]) -> Verdict:
        return each_step(space, answers, lambda _s, t: tag_of(t) in REPLIES[received])

    return check


def ends_within_2k_plus_5(model: SessionModel, space: Space[SessionState]) -> Verdict:
    """Every session ends, after 2k + 5 messages at the most."""
    verdict = terminates(space)
    if verdict.status is not Status.HOLDS:
        return verdict
    bound = 2 * (model.rules.k or 0) + 5
    longest = (verdict.bound and verdict.bound.steps) or 0
    return verdict if longest <= bound else replace(verdict, status=Status.FAILS)


def every_session_ends(_model: SessionModel, space: Space[SessionState]) -> Verdict:
    """No session goes on for ever."""
    return terminates(space)


def never_alternates(one: str, other: str) -> Check:
    """No session goes on for ever by answering `one` with `other` and `other` with `one`."""

    def alternates(state: SessionState, step: Step[SessionState]) -> bool:
        received = state.tags[1 - speaker_of(step)]
        return (received, tag_of(step)) in ((one, other), (other, one))

    def check(_model: SessionModel, space: Space[SessionState]) -> Verdict:
        found = terminates(space, alternates)
        return Verdict(Status.HOLDS) if found.status is Status.HOLDS else found

    return check


def decides(*wrong: Callable[[Decisions], Wrong]) -> Check:
    """The decision functions are, for all n, k and j, what the papers write."""

    def check(model: SessionModel, _space: Space[SessionState]) -> Verdict:
        functions = exact(model.rules.functions)
        found = (case for one in wrong for case in one(functions))
        return verdict(found)

    return check


def loops_at_most_k(model: SessionModel, space: Space[SessionState]) -> Verdict:
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
    def check(_model: SessionModel, _sessions: Space[SessionState]) -> Verdict:
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


def every_row_taken(model: SessionModel, space: Space[SessionState]) -> Verdict:
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


def _rows(
    model: SessionModel, state: SessionState, step: Step[SessionState]
) -> Iterator[Transition]:
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


def some_agent_can_send(model: SessionModel, _space: Space[SessionState]) -> Verdict:
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
