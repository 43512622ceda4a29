"""Predicates of claims: on explored sessions, and on the rules of the tables themselves.

Each gives a verdict; on sessions, with its trace. Each rule is set against the sentence of the
paper that it stands for, written once more here, in all cases of all n, k and j. Sources: arXiv
2410.20600, Procedures 1 and 2; arXiv 2301.01819 as cited there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from itertools import product
from typing import Any, NamedTuple

from proofs import recheck
from proofs.core.explore import Space, Step, explore
from proofs.core.properties import always, complete_words, each_step, never_deadlocks, terminates
from proofs.core.results import Status, Verdict
from proofs.sessions.model import (
    AGENTS,
    SessionModel,
    SessionState,
    session,
    speaker_of,
    tag_of,
)
from proofs.sessions.replay import PrefixModel
from proofs.systems import Composition, system_of
from pxp_fsm.automata.actions import Say
from pxp_fsm.automata.arithmetic import Case, Linear, cases, cases_of_all, value_in, whole_numbers
from pxp_fsm.automata.automaton import Automaton, Kind, Transition, happening
from pxp_fsm.automata.expressions import (
    INT,
    TRUE,
    Disjunction,
    Expression,
    Negated,
    Value,
    enumeration,
    parse_expression,
    str_of,
)
from pxp_fsm.automata.rules import witness
from pxp_fsm.automata.tables import builtin
from pxp_fsm.errors import NotEnabled, UsageError
from pxp_fsm.protocol.decisions import concluded, initiator_speaks
from pxp_fsm.protocol.intelligibility import DEFINITIONS, ONE_WAY, STRONG, ULTRA_STRONG, two_way
from pxp_fsm.protocol.messages import Answer, Message, Tag
from pxp_fsm.protocol.relations import EQUIVALENCE, NOISY, TOLERANCE, Assumption
from pxp_fsm.protocol.rules import AGREE, LIMITED, MATCH, Interact, Rules
from pxp_fsm.sessions.policy import CLOSE

TAGS = tuple(map(str, Tag))
BOOLEANS = (False, True)

REPLIES = {tag: frozenset(replies.split(", ")) for tag, replies in recheck.REPLIES.items()}
"""PXP's replies under equivalence, TERM aside (arXiv 2301.01819, Prop. 5; REFUTE's are ours)."""

RATIFIED = session(Tag.INIT, Tag.RATIFY, Tag.RATIFY)
"""The session that is ratified at once."""

Wrong = Iterator[str]
"""The cases in which rules are not what the papers say, in words."""


def verdict(wrong: Wrong) -> Verdict:
    """HOLDS where no case is wrong, FAILS with the first one that is."""
    first = next(wrong, None)
    return Verdict(Status.HOLDS) if first is None else Verdict(Status.FAILS, first)


def _differing(table: Automaton, subject: str, expression: Expression, written: str) -> Wrong:
    """Where an expression of a table and a sentence of a paper are not worth the same.

    All cases are looked at, those of numbers by what is compared in them.
    """
    rules, kept = table.rules, dict(table.rules.types) | {"tag": _TAG}
    members = {member for kind in kept.values() for member in kind.members}
    due = parse_expression(written, kept, members)

    def both(case: Case) -> bool:
        actual, other = value_in(expression, case), value_in(due, case)
        if isinstance(actual, Linear) and isinstance(other, Linear):
            return case.holds(actual.plus(other, -1)) and case.holds(other.plus(actual, -1))
        return actual == other

    for case, alike in cases(both, rules.bounds):
        if not alike:
            where = witness(rules, case) or "some values"
            yield f"{subject} at {where} is not {written}"


_TAG = enumeration(("INIT", "RATIFY", "REFUTE", "REVISE", "REJECT", "TERM"))


def _guards(table: Automaton, written: Mapping[str, str]) -> Wrong:
    """Where a guard of a table is not what a paper says; one that is else is left by the others."""
    if table.rules.whens.keys() != written.keys():
        yield f"the guards are {', '.join(table.rules.whens)}"
        return
    for guard, sentence in written.items():
        when = table.rules.whens[guard]
        others = [
            condition
            for name, condition in table.rules.whens.items()
            if name != guard and condition
        ]
        expression = Negated(Disjunction(tuple(others))) if when is None else when
        yield from _differing(table, guard, expression, sentence)


def interact_guards(rules: Rules) -> Wrong:
    """RATIFY in A; REJECT in D at j > k; else REVISE if one's answer changed, REFUTE if not."""
    early = "not (match and agree) and (match or agree or j + 1 <= k)"
    yield from _guards(
        rules.ruled,
        {
            "RAT": "match and agree",
            "REJ": "not match and not agree and j + 1 > k",
            "REV": f"{early} and not (same_y and same_e)",
            "REF": f"{early} and same_y and same_e",
        },
    )


def pxp_guards(rules: Rules) -> Wrong:
    """RATIFY in A; REJECT in D; else REVISE if learning reconciles the two, REFUTE if not."""
    yield from _guards(
        rules.ruled,
        {
            "RAT": "match and agree",
            "REJ": "not match and not agree",
            "REV": "match != agree and same_y and same_e",
            "REF": "match != agree and not (same_y and same_e)",
        },
    )


def compared(rules: Rules) -> Wrong:
    """MATCH and AGREE compare what was received with one's own; then, INTERACT the new pair with
    one's own, PXP with the one received. A guard asks for no more than it depends on."""
    new = "own" if isinstance(rules, Interact) else "received"
    written = [(MATCH, ("received", "own")), (AGREE, ("received", "own"))]
    written += [(MATCH, ("new", new)), (AGREE, ("new", new))]
    comparisons = [(oracle.relation, oracle.roles) for oracle in rules.ruled.rules.oracles]
    if comparisons != written:
        yield f"{comparisons} are compared, not {written}"
    asked = rules.ruled.rules
    state = next(iter(asked.deciding))
    names = [oracle.name for oracle in asked.oracles]
    for numbers in _numbers(rules):
        for size in range(len(names)):
            for answers in product(BOOLEANS, repeat=size):
                known = {**numbers, **dict(zip(names[:size], answers, strict=True))}
                due = len(asked.possible(state, known)) > 1
                if isinstance(asked.next_question(state, known), str) is due:
                    yield f"{'more' if due else 'nothing more'} is to be asked at {known}"


def _numbers(rules: Rules) -> list[dict[str, Value]]:
    """Values of parameters and registers, one for each case that the guards tell apart."""
    table = rules.ruled.rules
    whens = [when for when in table.whens.values() if when is not None]
    distinct = dict[tuple[tuple[str, Value], ...], None]()
    for case, _ in cases_of_all([partial(value_in, when) for when in whens], table.bounds):
        numbers = whole_numbers(case.atoms, table.stored)
        if numbers is not None:
            kept = {register.name: register.initial for register in table.registers} | numbers
            distinct[tuple((name, kept[name]) for name in table.stored)] = None
    return [dict(values) for values in distinct]


def stop(rules: Rules) -> Wrong:
    """Stop is a REJECT, or a RATIFY that answers a RATIFY; Done is Stop, or j > n after j + 1."""
    table = rules.ruled
    updates = {"j": "j + 1", "last": "tag"}
    updates["stop"] = "tag == REJECT or (tag == RATIFY and last == RATIFY)"
    if any(register.initial not in (0, "NONE", False) for register in table.rules.registers):
        yield "something has been counted before the first message"
    for name, sentence in updates.items():
        if name not in table.rules.on_message:
            yield f"nothing is remembered as {name}"
            return
        yield from _differing(table, name, table.rules.on_message[name], sentence)
    closing = [row for row in table.transitions if row.urgent and row.when is not None]
    for row in closing:
        yield from _differing(table, row.action, row.when or TRUE, "stop or j >= n")
    if {row.source for row in closing} != {"WAIT", "DECIDE"}:
        yield "a session is not closed wherever one waits or decides"


def turns(_rules: Rules) -> Wrong:
    """The initiator has message 1, and the two alternate."""
    speakers = [initiator_speaks(number) for number in range(1, 101)]
    if speakers != [True, False] * 50:
        yield "the two do not alternate, the initiator first"


def loops(_rules: Rules) -> Wrong:
    """PXP(k): a self-loop is a tag that answers itself, and k of them are enough."""
    yield from limits(builtin(LIMITED))


def limits(table: Automaton) -> Wrong:
    """Where a table of PXP(k) counts otherwise, or its guards are not PXP's as far as k allows."""
    used = dict[str, str]()
    for guard, (tag, name) in _COUNTED.items():
        again = f"last == {tag} and tag == {tag}"
        written = f"{name} + 1 if {again} else {name}"
        yield from _differing(table, name, table.rules.on_message[name], written)
        used[guard] = f"last == {tag} and {name} >= k"
    yield from _differing(table, "last", table.rules.on_message["last"], "tag")
    if any(register.initial not in (0, "NONE") for register in table.rules.registers):
        yield "something has been counted before the first message"
    for guard, when in table.rules.whens.items():
        if when is not None:
            plain = str_of(builtin("pxp").rules.whens[guard] or _pxp_else(), expanded=True)
            yield from _differing(table, guard, when, f"({plain}) and not ({used[guard]})")


def _pxp_else() -> Expression:
    others = (when for when in builtin("pxp").rules.whens.values() if when is not None)
    return Negated(Disjunction(tuple(others)))


_COUNTED = {
    "RAT": ("RATIFY", "ratified"),
    "REF": ("REFUTE", "refuted"),
    "REV": ("REVISE", "revised"),
    "REJ": ("REJECT", "rejected"),
}
"""By which register PXP(k) counts the self-loop of each guard's tag."""


def policy(_rules: Rules) -> Wrong:
    """By default TERM answers a RATIFY or a REJECT that one has oneself answered in kind."""
    for received, own in product((*TAGS, ""), repeat=2):
        due = (received, own) in (("RATIFY", "RATIFY"), ("REJECT", "REJECT"))
        concludes = concluded(received, own)
        if concludes is not due:
            yield f"TERM in answer to {received}, having said {own or 'nothing'}: {concludes}"


def bounds(rules: Rules) -> Wrong:
    """Exactly the whole numbers n >= 1 and k >= 1 are taken."""
    declared = [
        (parameter.name, parameter.type, parameter.minimum)
        for parameter in rules.ruled.rules.parameters
    ]
    if declared != [("n", INT, 1), ("k", INT, 1)]:
        yield f"the parameters are {declared}"
    for value in (1, 2, 10**30, 0, -1, True, 1.5, 2.0, "2", Fraction(2), Decimal(2)):
        due = type(value) is int and value >= 1
        for name in ("n", "k"):
            bounds: Any = {"n": 3, "k": 3, name: value}
            try:
                Interact(**bounds)
            except UsageError:
                is_taken = False
            else:
                is_taken = True
            if is_taken is not due:
                yield f"{name} = {value!r} is {'taken' if is_taken else 'refused'}"


ON_RULES: tuple[tuple[str, str, str, tuple[Callable[[Rules], Wrong], ...]], ...] = (
    (
        "decides-as-written",
        "category and guard are those of Procedure 2, for all n and k",
        "interact",
        (interact_guards,),
    ),
    (
        "asks-what-matters",
        "whether the answer changed is asked exactly where the guard depends on it",
        "interact",
        (compared,),
    ),
    (
        "stops-as-written",
        "the two take turns, and Stop and Done are those of Procedure 1, for all n",
        "interact",
        (turns, stop),
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
        (pxp_guards,),
    ),
    (
        "asks-what-matters",
        "an agent learns exactly where its guard depends on what it learns",
        "pxp",
        (compared,),
    ),
    (
        "hangs-up-when-concluded",
        "by default TERM answers a RATIFY or REJECT that one has said before",
        "pxp",
        (turns, policy),
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
    """Every session ends, after n messages at the most; one that is stuck has not ended."""
    bound = model.rules.n
    verdict = always(space, lambda s: bound is not None and s.sent <= bound)
    if verdict.status is not Status.HOLDS:
        return verdict
    return never_deadlocks(space, lambda s: bool(s.over) and not _is_deadlock(s))


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
        followed = explore(PrefixModel(model, word), until=lambda at: at.followed == len(word))
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
        rules = Interact(n, k, model.rules.table)
        small = replace(model, rules=rules)
        count = len(complete_words(explore(small, limit=10_000)))
        expected = SEQUENCES[n, k].get(model.theory.assumptions)
        if expected is None:
            told = "the reading says how many for equivalence, tolerance and noisy alone"
            return Verdict(Status.UNKNOWN, f"{count} sequences; {told}")
        status = Status.HOLDS if count == expected else Status.FAILS
        return Verdict(status, f"{count} sequences")

    return check


def replies_to(received: str) -> Check:
    """Every answer to `received`, TERM aside, is one that Proposition 5 names."""

    def answers(state: SessionState, step: Step[SessionState]) -> bool:
        answered = state.tags[1 - speaker_of(step)]
        return answered == received and tag_of(step) != Tag.TERM

    def check(_model: SessionModel, space: Space[SessionState]) -> Verdict:
        return each_step(space, answers, lambda _s, t: tag_of(t) in REPLIES[received])

    return check


def ends_within_2k_plus_5(model: SessionModel, space: Space[SessionState]) -> Verdict:
    """Every session ends, after 2k + 5 messages at the most."""
    verdict = _all_end(space)
    if verdict.status is not Status.HOLDS:
        return verdict
    bound = 2 * (model.rules.k or 0) + 5
    longest = (verdict.bound and verdict.bound.steps) or 0
    return verdict if longest <= bound else replace(verdict, status=Status.FAILS)


def every_session_ends(_model: SessionModel, space: Space[SessionState]) -> Verdict:
    """No session goes on for ever, or gets stuck before its end."""
    return _all_end(space)


def _all_end(space: Space[SessionState]) -> Verdict:
    stuck = always(space, lambda state: not _is_deadlock(state))
    return terminates(space) if stuck.status is Status.HOLDS else stuck


def never_alternates(tag: str, other: str) -> Check:
    """No session goes on for ever by answering `tag` with `other` and `other` with `tag`."""

    def alternates(state: SessionState, step: Step[SessionState]) -> bool:
        received = state.tags[1 - speaker_of(step)]
        return (received, tag_of(step)) in ((tag, other), (other, tag))

    def check(_model: SessionModel, space: Space[SessionState]) -> Verdict:
        result = terminates(space, alternates)
        return Verdict(Status.HOLDS) if result.status is Status.HOLDS else result

    return check


def decides(*wrong: Callable[[Rules], Wrong]) -> Check:
    """The rules of the table are, for all n, k and j, what the papers write."""

    def check(model: SessionModel, _space: Space[SessionState]) -> Verdict:
        return verdict(case for finder in wrong for case in finder(model.rules))

    return check


def loops_at_most_k(model: SessionModel, space: Space[SessionState]) -> Verdict:
    """No self-loop of PXP(k) is taken more than k times."""
    k = model.rules.k or 0
    return always(space, lambda s: all(count <= k for count in s.counted if type(count) is int))


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
        result = always(_space(), holds)
        return Verdict(result.status, ", ".join(result.trace.labels) if result.trace else "")

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

    trace = explore(composition).find(nobody_sends)
    if trace is None:
        return Verdict(Status.HOLDS)
    return Verdict(Status.FAILS, f"nobody can send after {', '.join(trace.labels)}")
