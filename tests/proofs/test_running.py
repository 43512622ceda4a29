"""Running agents do what the model says; what they do otherwise is found."""

from __future__ import annotations

import asyncio
import random
from contextlib import nullcontext
from dataclasses import dataclass
from types import ModuleType

import pytest

import pxp_fsm as pxp
from proofs.claims.catalogue import CLAIMS, assumptions_of, name_of
from proofs.core.explore import Trace, explore
from proofs.core.results import Status
from proofs.sessions import running
from proofs.sessions.explicit import Explicit
from proofs.sessions.model import AGENTS, SessionModel, SessionState, action_of
from proofs.sessions.relational import Theory
from proofs.sessions.replay import ScriptedSession
from proofs.sessions.running import check_running, compare
from pxp_fsm.protocol import relations, rules, situation
from pxp_fsm.protocol.messages import Answer, Question
from pxp_fsm.protocol.relations import EQUIVALENCE, NOISY, TOLERANCE, Assumption, Outcome
from pxp_fsm.protocol.rules import Interact, Pxp, Rules
from pxp_fsm.sessions import agent as agents
from pxp_fsm.sessions import policy as policies
from pxp_fsm.sessions.session import Session
from tests.oracles.session_rules import Reading, in_order
from tests.proofs.source_changes import changed
from tests.sampling import WHOLE, sampled
from tests.sessions.agents import Asked, run, yes_or_no


def model(of: Rules, assumptions: frozenset[Assumption]) -> SessionModel:
    return SessionModel(of, Theory(assumptions), observes=of.n is not None)


@pytest.mark.parametrize(
    ("of", "assumptions", "states", "messages"),
    [
        pytest.param(Interact(10, 4), EQUIVALENCE, 685, 1869, marks=pytest.mark.deep),
        pytest.param(Interact(10, 3), TOLERANCE, 1418, 5677, marks=pytest.mark.deep),
        pytest.param(Interact(10, 3), NOISY, 612, 2633, marks=pytest.mark.deep),
        (Pxp(), NOISY, 47, 334),
        (Pxp(2), TOLERANCE, 81, 109),
    ],
    ids=lambda value: name_of(value) if isinstance(value, frozenset) else None,
)
def test_two_agents_do_in_every_state_what_the_model_says(
    of: Rules, assumptions: frozenset[Assumption], states: int, messages: int
) -> None:
    """The states are those of the model with what each agent has sent, which claims ask for."""
    found = compare(model(of, assumptions))
    assert (found.difference, found.states, found.messages) == ("", states, messages)


@pytest.mark.parametrize(
    "changes", [pytest.param("nothing", marks=pytest.mark.deep), "derive", "Situation.derived"]
)
def test_what_a_session_cannot_tell_apart_need_not_be_compared_apart(
    changes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside every state by itself: as many states, the same verdict."""
    subject = model(Interact(3, 1), assumptions_of("deterministic+symmetric+shared"))
    change = next((one for one in CHANGES if one.name == changes), None)
    with changed(change.module, change.name, change.old, change.new) if change else nullcontext():
        found = compare(subject)
        monkeypatch.setattr(running, "_hidden", lambda structure: structure)
        each = compare(subject)
    assert bool(found.difference) is bool(each.difference) is bool(change)
    if not change:
        assert found.states == each.states == each.distinct == 261
        assert found.messages < each.messages / 10


@pytest.mark.deep
@pytest.mark.parametrize("k", [1, 2, 3] if WHOLE else [1, 2])
def test_the_same_of_pxp_k_where_relations_may_say_anything(k: int) -> None:
    found = compare(model(Pxp(k), NOISY))
    assert (found.difference, found.states) == ("", {1: 583, 2: 3031, 3: 9735}[k])


@pytest.mark.deep
@pytest.mark.parametrize("name", ["equivalence", "tolerance", "noisy"])
def test_the_same_beyond_message_12(name: str) -> None:
    for k in (3, 12) if WHOLE else (3,):
        assert not compare(model(Interact(13, k), assumptions_of(name))).difference


SETS = {(c.protocol, name) for c in CLAIMS for name in c.expected if c.protocol != "pxp(k)"}


@pytest.mark.deep
@pytest.mark.parametrize(("protocol", "name"), sorted(SETS))
def test_the_same_under_every_set_of_assumptions_that_a_claim_names(
    protocol: str, name: str
) -> None:
    of = Interact(5, 2) if protocol == "interact" else Pxp()
    found = compare(SessionModel(of, Theory(assumptions_of(name)), observes=False))
    assert found.difference == ""


@pytest.mark.deep
def test_the_library_gives_a_typed_result() -> None:
    (result,) = pxp.check(pxp.Interact(n=3, k=1), "running", relations="tolerance")
    assert (result.subject, result.name) == ("interact", "sessions-agree-with-model")
    assert (result.status, result.bound and result.bound.parameters) == (
        Status.HOLDS_UP_TO,
        {"n": 3, "k": 1},
    )
    (result,) = pxp.check(pxp.Pxp(), "running")
    assert (result.status, result.bound) == (Status.HOLDS, None)
    by_name = pxp.check("pxp", "running", relations="noisy", k=1)
    assert [result.subject for result in by_name] == ["pxp", "pxp(k)"]
    with pytest.raises(pxp.PXPError, match="leave the other options out"):
        list(pxp.check(pxp.Pxp(), "F ended", "running"))


SMALL = Interact(5, 2)


@dataclass(frozen=True)
class Change:
    """One place of the source of a function; and the rules under which it is to be seen."""

    module: ModuleType
    name: str
    old: str
    new: str
    of: Rules = SMALL
    assumptions: frozenset[Assumption] = NOISY

    def __str__(self) -> str:
        return f"{self.name}: {self.new}"


REVERSED = "question.roles[::-1] if Role.NEW in question.roles else question.roles"
ELSEWHERE = "('new', 'received') if Role.NEW in question.roles else question.roles"

CHANGES = [
    # rules
    Change(rules, "derive", "map(Role, question.roles)", f"map(Role, {ELSEWHERE})"),
    Change(rules, "derive", "map(Role, question.roles)", f"map(Role, {REVERSED})"),
    Change(rules, "derive", "map(Role, question.roles)", f"map(Role, {REVERSED})", Pxp()),
    Change(rules, "_carried", "row.carry for", "'own' if guard == 'REF' else row.carry for", Pxp()),
    Change(
        rules,
        "Interact.ending",
        "ending_after(len(history),",
        "ending_after(len(history) - (len(history) > 12),",
        Interact(13, 3),
        EQUIVALENCE,
    ),
    Change(rules, "Pxp.says_term", "in history)", "in history[:12])", Pxp(3), NOISY),
    Change(
        rules,
        "derive",
        "_stored(rules, number)",
        "_stored(rules, min(number, 12))",
        Interact(13, 12),
        EQUIVALENCE,
    ),
    # situation
    Change(situation, "Situation.pair", "self.own if role is Role.OWN else ", ""),
    Change(
        situation,
        "Situation.derived",
        "match(left.prediction, right.prediction)",
        "match(right.prediction, left.prediction)",
    ),
    Change(
        situation,
        "Situation.derived",
        "agree(left.explanation, right.explanation)",
        "agree(left.explanation, right.prediction)",
    ),
    # agent
    Change(agents, "Seat._next", "before or fresh", "fresh"),
    Change(
        agents,
        "Seat._next",
        "history[-2].answer",
        "history[-2 if number < 13 else -12].answer",
        Interact(13, 3),
        EQUIVALENCE,
    ),
    # relations
    Change(
        relations,
        "Relations._holds",
        "(name, digest(left), digest(right))",
        "(name, *sorted((digest(left), digest(right))))",
    ),
    Change(relations, "Relations._holds", "judgement.outcome is Outcome.YES", "left != right"),
    Change(
        relations,
        "Relations.shared_with",
        "all(",
        "any(",
        Interact(3, 1),
        EQUIVALENCE - {Assumption.SHARED},
    ),
    Change(
        relations,
        "Relations.assumptions",
        "- {Assumption.SHARED}",
        "",
        Interact(3, 1),
        TOLERANCE - {Assumption.SHARED},
    ),
    # session and rules together
    Change(rules, "derive", "not revises and", "(not revises or question.name == 'same_e') and"),
    Change(policies, "Schedule.due", "len(history) + 1", "len(history)"),
]


@pytest.mark.parametrize("change", sampled(CHANGES, 3), ids=str)
def test_a_change_of_what_runs_is_found(change: Change) -> None:
    """All of these passed every claim, for all that a claim is about is the model."""
    subject = model(change.of, change.assumptions)
    with changed(change.module, change.name, change.old, change.new):
        assert compare(subject).difference
    assert not compare(model(Interact(2, 1), NOISY)).difference


def test_a_difference_is_a_failure_with_the_trace_to_it() -> None:
    with changed(rules, "Interact.ending", "len(history),", "len(history) + 1,"):
        result = check_running(Interact(4, 2), "noisy")
    assert result.status is Status.FAILS
    assert result.reason == ("the machines are at ('END', 'END'), by the model ('WAIT', 'DECIDE')")
    assert result.trace is not None
    assert len(result.trace.steps) == 3


# Random sessions.


class Related:
    """A random relation over texts, symmetric or not, that is the same whenever it is asked."""

    def __init__(self, chance: random.Random, share: float, assumed: frozenset[Assumption]) -> None:
        self._chance = chance
        self._share = share
        self._assumed = assumed
        self._known: dict[tuple[str, str], bool] = {}

    def __call__(self, left: str, right: str) -> Outcome:
        if Assumption.TRANSITIVE in self._assumed:
            return yes_or_no(left[:1] == right[:1])
        if Assumption.DETERMINISTIC not in self._assumed:
            return yes_or_no(self._chance.random() < self._share)
        if Assumption.REFLEXIVE in self._assumed and left == right:
            return yes_or_no(True)
        symmetric = Assumption.SYMMETRIC in self._assumed
        pair = (min(left, right), max(left, right)) if symmetric else (left, right)
        if pair not in self._known:
            self._known[pair] = self._chance.random() < self._share
        return yes_or_no(self._known[pair])


def random_rules(chance: random.Random) -> Rules:
    if chance.random() < 0.6:
        return Interact(chance.randint(1, 40), chance.randint(1, 40))
    return Pxp(chance.choice((None, *range(1, 41))))


def played(of: Rules, assumed: frozenset[Assumption], chance: random.Random) -> Session:
    """A session of two agents that answer at random, with relations of their own."""
    texts = [f"{letter}{number}" for letter in "abc" for number in range(chance.randint(1, 4))]

    def say(_question: Question) -> Answer:
        return Answer(chance.choice(texts), chance.choice(texts))

    share = chance.choice((0.1, 0.5, 0.9))
    shared = [Asked(Related(chance, share, assumed), name) for name in ("match", "agree")]
    own = [Asked(Related(chance, share, assumed), name) for name in ("match", "agree")]
    both = shared if Assumption.SHARED in assumed else own
    members = [
        pxp.Agent(say, match=match, agree=agree, memo=False) for match, agree in (shared, both)
    ]
    return run(members[0], members[1], of, limit=60)


def taken_by(of: SessionModel, session: Session) -> set[SessionState]:
    """The states of the model after the messages of a session, however its data were related."""
    states = set(of.initial())
    for message in session.history:
        said = (message.sender, message.tag)
        states = {
            step.target
            for state in states
            for step in of.successors(state)
            if (action_of(step).agent, getattr(step.action, "tag", "")) == said
        }
    return states


@pytest.mark.parametrize("seed", sampled(range(60), 3))
def test_a_random_session_is_one_of_the_model(seed: int) -> None:
    chance = random.Random(seed)
    of = random_rules(chance)
    assumed = chance.choice((EQUIVALENCE, TOLERANCE, NOISY, TOLERANCE - {Assumption.SHARED}))
    session = played(of, assumed, chance)
    states = taken_by(SessionModel(of, Theory(assumed), observes=False), session)
    machines = tuple(session.states[name] for name in AGENTS)
    reading = Reading(of.n, of.k)
    ending = reading.over([message.tag for message in session.history])
    assert str(session.ending) == (ending or "limit")
    assert (machines, ending) in {(state.at, state.over) for state in states}
    in_order(reading, session.history)


def test_absurd_bounds_are_unknown_and_not_endless() -> None:
    result = check_running(Interact(100_000, 1), "noisy", limit=500)
    assert result.status is Status.UNKNOWN
    assert result.reason.endswith("more than 500 states")


@pytest.mark.parametrize("of", [Interact(5, 1), Pxp(1)], ids=["interact", "pxp"])
def test_what_is_said_to_match_is_equal_where_relations_are_equality(of: Rules) -> None:
    """The texts that realise a trace are related as it says."""
    of_model = model(of, EQUIVALENCE)
    found = explore(of_model)

    async def follow(trace: Trace[SessionState]) -> int:
        session = ScriptedSession(of, EQUIVALENCE)
        count = 0
        for step in trace.steps:
            expected = session.after(step)
            for relation, left, right, holds in expected.asked:
                if relation in ("MATCH", "AGREE"):
                    count += 1
                    assert (left == right) is holds, (step, expected.asked)
            assert await session.send(expected) == ""
        return count

    ends = [state for state in found.steps if not found.steps[state]]
    assert sum(asyncio.run(follow(found.trace_to(state))) for state in ends) > 40


def test_agents_that_assume_something_else_are_no_session_of_the_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of_model = model(Interact(2, 1), TOLERANCE)
    for assumed, told in ((EQUIVALENCE, ", ".join(sorted(EQUIVALENCE))), (NOISY, "nothing")):
        monkeypatch.setattr(ScriptedSession, "assumptions", assumed)
        said = f"a session of such agents is said to assume {told}"
        assert compare(of_model).difference == said


def test_a_comparison_is_called_after_its_protocol() -> None:
    rules_of = (Interact(2, 1), Pxp(), Pxp(1))
    names = [check_running(of, "equivalence").subject for of in rules_of]
    assert names == ["interact", "pxp", "pxp(k)"]


def test_an_explicit_session_has_the_propositions_of_what_it_stands_for() -> None:
    explicit = Explicit(Interact(2, 1), 2)
    (start,) = explicit.initial()
    after = next(iter(explicit.successors(start))).target
    assert "m:INIT" not in explicit.propositions(start)
    assert "m:INIT" in explicit.propositions(after)


def test_values_that_are_equal_are_told_once_both_are_there() -> None:
    explicit = Explicit(Interact(2, 1), 2)
    seen = set()
    for state in explore(explicit).steps:
        values = state.values
        for structure, equal in (
            (state.predictions, values.y_m == values.y_h),
            (state.explanations, values.e_m == values.e_h),
        ):
            both = all(state.tags) and equal
            assert structure.left == structure.right
            assert ((0, 1) in structure.left, (1, 0) in structure.left) == (both, both)
            seen.add((all(state.tags), both))
    assert seen == {(False, False), (True, False), (True, True)}


def test_states_that_a_session_does_not_tell_apart_are_counted() -> None:
    """Without *reflexive*, no session knows which values are equal."""
    result = check_running(Interact(2, 1), "without reflexive")
    assert result.status is Status.HOLDS_UP_TO
    assert "; a session tells " in result.verdict.detail
    assert "a session tells" not in check_running(Interact(2, 1), "equivalence").verdict.detail
