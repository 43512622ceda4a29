"""For all n and k: what is proved, what is not, and that exploration never says otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from proofs.claims.catalogue import REFLEXIVE, REFUTED, REVISED
from proofs.claims.theorems import THEOREMS, WATCHED, prove
from proofs.core.explore import explore
from proofs.induction.invariants import INTERACT, PXP, PXP_K, KeptPast, invariant_of
from proofs.induction.numbers import Numbers, Unknown
from proofs.induction.obligations import RATIFIED, replies
from proofs.sessions.model import SessionModel, SessionState, action_of, speaker_of, tag_of
from proofs.sessions.relational import Theory
from pxp_fsm.automata.actions import Blocked, Say
from pxp_fsm.automata.automaton import Automaton, Kind
from pxp_fsm.automata.tables import builtin
from pxp_fsm.errors import UsageError
from pxp_fsm.protocol import decisions
from pxp_fsm.protocol.decisions import (
    Category,
    Guard,
    check_bounds,
    interact_guard,
    pxp_guard,
)
from pxp_fsm.protocol.relations import EQUIVALENCE, NOISY, TOLERANCE, Assumption
from pxp_fsm.protocol.rules import Interact, Pxp

WITHOUT = {f"no {dropped}": EQUIVALENCE - {dropped} for dropped in Assumption}
SETS = {"noisy": NOISY, "reflexive": REFLEXIVE, "tolerance": TOLERANCE, "equivalence": EQUIVALENCE}
SETS |= WITHOUT
NUMBERS = Numbers()
DEEP = pytest.mark.deep
LARGE = ("no reflexive", "no symmetric", "no shared")
"""The sets under which invariants are large."""
QUICK_FIRST = [pytest.param(name, marks=DEEP if name in LARGE else ()) for name in SETS]

ALWAYS = {"terminates", "never-stuck", "silent-end", "reject-after-k"}
OF_REFLEXIVE = ALWAYS | {"no-revise-at-2", "revised-never"}
OF_TOLERANCE = OF_REFLEXIVE | {"ratified-at-3", "strong-once", "never-ultra"}
INTERACT_PROVED = {
    "noisy": ALWAYS,
    "reflexive": OF_REFLEXIVE,
    "tolerance": OF_TOLERANCE,
    "equivalence": OF_TOLERANCE | {"refuted-never"},
    "no deterministic": OF_REFLEXIVE,
    "no reflexive": ALWAYS | {"revised-never", "ratified-at-3", "refuted-never"},
    "no symmetric": OF_REFLEXIVE,
    "no shared": OF_REFLEXIVE,
    "no transitive": OF_TOLERANCE,
}
SAFE = {"never-stuck", "silent-end", "replies-INIT"}
ANSWERS = SAFE | {f"replies-{tag}" for tag in ("RATIFY", "REFUTE", "REVISE", "REJECT")}
ENDING = ANSWERS | {"terminates", "self-loops", "no-alternation"}
PXP_PROVED = dict.fromkeys(SETS, ANSWERS) | {
    "noisy": SAFE,
    "reflexive": SAFE,
    "no deterministic": SAFE,
    "no symmetric": SAFE | {"replies-REFUTE", "replies-REVISE"},
    "no shared": SAFE,
}


@cache
def proved(subject: str, given: frozenset[Assumption]) -> frozenset[str]:
    claims = [claim for claim in THEOREMS.values() if claim.subject.name == subject]
    found = prove(claims, given, numbers=NUMBERS)
    return frozenset(p.theorem.name.removeprefix(f"{subject}.") for p in found if p.proved)


def test_every_claim_has_the_verdict_that_is_expected() -> None:
    found = {proof.theorem.name: proof for proof in prove(numbers=NUMBERS)}
    assert set(found) == set(THEOREMS)
    assert {name for name, proof in found.items() if not proof.proved} == {
        "interact.ends-agreed",
        "pxp.terminates",
    }
    assert all(proof.proved == proof.theorem.induction.provable for proof in found.values())


def test_a_claim_that_is_not_proved_says_where_the_induction_fails() -> None:
    (proof,) = prove([THEOREMS["interact.terminates"]], numbers=NUMBERS)
    assert proof.obstacle is None
    (proof,) = prove([THEOREMS["interact.refuted-never"]], TOLERANCE, numbers=NUMBERS)
    assert str(proof.obstacle).startswith("not inductive: from (WAIT, DECIDE)")
    assert "by h RATIFY" in str(proof.obstacle)


@pytest.mark.parametrize("name", QUICK_FIRST)
def test_what_is_proved_of_interact_under_each_set_of_assumptions(name: str) -> None:
    assert proved("interact", SETS[name]) == INTERACT_PROVED[name]


@pytest.mark.parametrize("name", SETS)
def test_what_is_proved_of_pxp_under_each_set_of_assumptions(name: str) -> None:
    assert proved("pxp", SETS[name]) == PXP_PROVED[name]


@pytest.mark.parametrize("name", ["tolerance", "equivalence", "no reflexive", "no transitive"])
def test_pxp_k_ends_within_2k_plus_5_messages_without_reflexive_or_transitive(name: str) -> None:
    assert proved("pxp(k)", SETS[name]) == ENDING


@pytest.mark.deep
def test_noisy_pxp_k_bounds_each_self_loop_and_no_more() -> None:
    """REFUTE and RATIFY can alternate for ever, and no answer to a tag is excluded."""
    claims = [claim for claim in THEOREMS.values() if claim.subject.name == "pxp(k)"]
    bounded = [claim for claim in claims if not claim.induction.keep.others]
    found = {proof.theorem.name for proof in prove(bounded, NOISY, numbers=NUMBERS) if proof.proved}
    assert found == {
        f"pxp(k).{name}" for name in ("never-stuck", "silent-end", "replies-INIT", "self-loops")
    }
    assert not prove([THEOREMS["pxp(k).terminates"]], NOISY, numbers=NUMBERS)[0].proved


def test_pxp_k_needs_no_more_than_three_assumptions() -> None:
    three = TOLERANCE - {Assumption.REFLEXIVE}
    assert proved("pxp(k)", three) == ENDING
    assert proved("pxp", three) == ANSWERS


@pytest.mark.deep
@pytest.mark.parametrize("name", ["no symmetric"])
def test_the_bound_of_pxp_k_is_not_proved_without_symmetry(name: str) -> None:
    """REFUTE and RATIFY can alternate, so that no bound on self-loops is one on messages."""
    (proof,) = prove([THEOREMS["pxp(k).terminates"]], SETS[name], numbers=NUMBERS)
    assert not proof.proved


@pytest.mark.parametrize(
    "sets",
    [
        pytest.param([name for name in SETS if name not in LARGE], id="small"),
        pytest.param(LARGE, id="large", marks=DEEP),
    ],
)
def test_the_size_of_each_invariant(sets: Sequence[str]) -> None:
    def size(subject: Any, given: frozenset[Assumption]) -> tuple[int, int]:
        invariant = invariant_of(subject, Theory(given), numbers=NUMBERS)
        return len(invariant.nodes), len(list(invariant.edges))

    for name in sets:
        assert size(INTERACT, SETS[name]) == INTERACT_SIZES[name], name
        assert size(PXP, SETS[name]) == PXP_SIZES[name], name
    assert size(PXP_K, EQUIVALENCE) == size(PXP_K, TOLERANCE) == (45, 116)


INTERACT_SIZES = {
    "noisy": (25, 142),
    "reflexive": (24, 124),
    "tolerance": (44, 409),
    "equivalence": (42, 252),
    "no deterministic": (24, 124),
    "no reflexive": (128, 1573),
    "no symmetric": (120, 3466),
    "no shared": (120, 3562),
    "no transitive": (44, 409),
}
PXP_SIZES = {
    "noisy": (17, 66),
    "reflexive": (17, 66),
    "tolerance": (23, 62),
    "equivalence": (23, 62),
    "no deterministic": (17, 66),
    "no reflexive": (23, 62),
    "no symmetric": (77, 710),
    "no shared": (77, 710),
    "no transitive": (23, 62),
}


# What exploration says, for all n, k <= 6: the same claims, asked of complete sessions.

Said = tuple[Say | Blocked, ...]


def sessions(model: SessionModel) -> Iterator[tuple[Said, SessionState]]:
    """Each session that is over, as what was said and one state at its end for each way to end."""
    level: dict[Said, set[SessionState]] = {(): set(model.initial())}
    while level:
        following: dict[Said, set[SessionState]] = {}
        for said, states in level.items():
            for state in states:
                if state.over:
                    yield said, state
                for step in model.successors(state):
                    following.setdefault((*said, action_of(step)), set()).add(step.target)
        level = following


def replied(said: Said) -> set[str]:
    return {one.tag for one in said if isinstance(one, Say) and one.agent == "h"}


def strong(said: Said) -> bool:
    return replied(said) <= {"RATIFY", "REVISE"} and len(said) > 1


Asked = Callable[[Said, SessionState, int, int], bool]
EXPLORED: dict[str, Asked] = {
    "terminates": lambda said, end, n, k: len(said) <= n,
    "never-stuck": lambda said, end, n, k: end.over != "stuck",
    "silent-end": lambda said, end, n, k: end.at == ("END", "END"),
    "reject-after-k": lambda said, end, n, k: all(
        number > k
        for number, one in enumerate(said, 1)
        if isinstance(one, Say) and one.tag == "REJECT"
    ),
    "no-revise-at-2": lambda said, end, n, k: said[1:2] != (Say("h", "REVISE"),),
    "revised-never": lambda said, end, n, k: said[:5] != REVISED,
    "refuted-never": lambda said, end, n, k: said[:4] != REFUTED,
    "ratified-at-3": lambda said, end, n, k: n < 3 or said[:2] != RATIFIED[:2] or said == RATIFIED,
    "strong-once": lambda said, end, n, k: n < 3 or not strong(said) or said == RATIFIED,
    "never-ultra": lambda said, end, n, k: not strong(said) or "REVISE" not in replied(said),
    "ends-agreed": lambda said, end, n, k: (
        end.over != "ratified"
        or ((0, 1) in end.predictions.left and (0, 1) in end.explanations.left)
    ),
}


@pytest.mark.parametrize("name", ["noisy", "reflexive", "tolerance", "equivalence", "no reflexive"])
def test_exploration_confirms_what_is_proved_and_refutes_only_the_rest(name: str) -> None:
    """For all n, k <= 6: what is proved holds, and what is not proved fails for some n and k."""
    refuted = set()
    for n in range(1, 7):
        for k in range(1, n + 1):  # a larger k is like k = n: no message is beyond it
            model = SessionModel(Interact(n, k), Theory(SETS[name]))
            for said, end in sessions(model):
                refuted |= {
                    claim for claim, holds in EXPLORED.items() if not holds(said, end, n, k)
                }
    assert set(EXPLORED) - refuted == proved("interact", SETS[name])


@pytest.mark.parametrize("name", ["noisy", "tolerance", "equivalence", "no reflexive"])
def test_every_session_explored_is_in_the_invariant(name: str) -> None:
    """Of each state for n, k <= 6, a node has the same machines, relations, numbers and past."""
    theory = Theory(SETS[name])
    invariant = invariant_of(INTERACT, theory, KeptPast(data=True), numbers=NUMBERS)
    known = {
        (*node.state[1:2], *node.state[3:5], node.state.over, *node.region[1:])
        for node in invariant.nodes
    }
    seen = set()
    for n in range(1, 7):
        for k in range(1, n + 1):
            for state in explore(SessionModel(Interact(n, k), theory)).steps:
                numbers = {"sent": state.sent, "n": n, "k": k}
                region = [
                    next(
                        way
                        for way, atoms in feature.alternatives.items()
                        if all(atom.holds(numbers) for atom in atoms)
                    )
                    for feature in invariant.features
                ]
                seen.add((state.at, state.predictions, state.explanations, state.over, *region[1:]))
    assert seen <= known


@pytest.mark.parametrize("name", SETS)
def test_the_replies_of_pxp_are_those_that_exploration_finds(name: str) -> None:
    theory = Theory(SETS[name])
    found: dict[str, set[str]] = {}
    space = explore(SessionModel(Pxp(), theory))
    for state, steps in space.steps.items():
        for step in steps:
            tag, received = tag_of(step), state.tags[1 - speaker_of(step)]
            if received and tag != "TERM":
                found.setdefault(received, set()).add(tag)
    assert replies(invariant_of(PXP, theory, numbers=NUMBERS)) == found


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_longest_session_of_pxp_k_reaches_the_bound_that_is_proved(k: int) -> None:
    model = SessionModel(Pxp(k), Theory(EQUIVALENCE), counting=True)
    assert max(state.sent for state in explore(model).steps) == 2 * k + 5


# What is wrong in a decision function or in a table is not proved.


def guard_at_k(found: Category, changed: bool, number: int, k: int) -> Guard:
    if found is Category.D and number >= k:
        return Guard.REJ
    return interact_guard(found, changed, number, k)


def guard_swapped(found: Category, changed: bool, number: int, k: int) -> Guard:
    return interact_guard(found, not changed, number, k)


def zero_messages(n: int, k: int) -> None:
    check_bounds(n + 1, k)


FAULTS: list[tuple[str, Any, str]] = [
    ("interact_guard", guard_at_k, "interact.reject-after-k"),
    ("interact_guard", guard_swapped, "interact.no-revise-at-2"),
    ("check_bounds", zero_messages, "interact.terminates"),
    ("done", lambda sent, n, stopped: stopped or sent > n, "interact.terminates"),
    ("done", lambda sent, n, stopped: sent + 1 > n, "interact.ratified-at-3"),
    ("stops", lambda tag, previous: tag == "REJECT", "interact.ratified-at-3"),
    ("initiator_speaks", lambda number: number % 2 == 0, "interact.never-stuck"),
    ("initiator_speaks", lambda number: number % 3 == 1, "interact.never-stuck"),
    ("exhausted", lambda loops, k: loops > k, "pxp(k).terminates"),
    ("exhausted", lambda loops, k: False, "pxp(k).terminates"),
    (
        "pxp_guard",
        lambda found, learned: pxp_guard(found, not learned),
        "pxp.replies-REVISE",
    ),
]


@pytest.mark.parametrize(("function", "fault", "claim"), FAULTS)
def test_a_fault_in_a_decision_function_is_not_proved(
    function: str, fault: Any, claim: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decisions, function, fault)
    (proof,) = prove([THEOREMS[claim]])
    assert not proof.proved


def without(table: Automaton, kind: Kind, label: str) -> Automaton:
    rows = tuple(t for t in table.transitions if (t.kind, t.label) != (kind, label))
    return replace(table, transitions=rows)


def swapped(table: Automaton, one: str, two: str) -> Automaton:
    """The table with two guards exchanged."""
    names = {one: two, two: one}
    rows = tuple(replace(t, guard=names.get(t.guard or "", t.guard)) for t in table.transitions)
    return replace(table, transitions=rows)


@pytest.mark.parametrize(
    ("table", "claim"),
    [
        (without(builtin("interact"), Kind.RECEIVE, "REJECT"), "interact.never-stuck"),
        (without(builtin("interact"), Kind.SEND, "REFUTE"), "interact.never-stuck"),
        (without(builtin("interact"), Kind.EVENT, "CLOSE"), "interact.never-stuck"),
        (swapped(builtin("interact"), "REF", "REJ"), "interact.reject-after-k"),
        (swapped(builtin("interact"), "RAT", "REF"), "interact.ratified-at-3"),
        (swapped(builtin("pxp"), "REF", "REV"), "pxp.replies-REVISE"),
        (without(builtin("pxp"), Kind.RECEIVE, "TERM"), "pxp.never-stuck"),
        (replace(builtin("pxp"), final=frozenset({"WAIT"})), "pxp.silent-end"),
    ],
)
def test_a_fault_in_a_table_is_not_proved(table: Automaton, claim: str) -> None:
    (proof,) = prove([THEOREMS[claim]], tables=(table, table), numbers=NUMBERS)
    assert not proof.proved


def test_the_watched_sequences_are_those_of_the_specification() -> None:
    followed = {one.induction.keep.along for one in THEOREMS.values()}
    assert {*WATCHED, *followed} == {(), RATIFIED, REFUTED, REVISED}


def test_rules_that_take_no_number_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an empty model everything would be true: it is unknown instead."""

    def refuse(value: object, _meaning: str) -> None:
        raise UsageError("it takes no number")

    monkeypatch.setattr(decisions, "check_bound", refuse)
    table = builtin("interact")
    with pytest.raises(Unknown, match="take no n and k"):
        prove([THEOREMS["interact.ends-agreed"]], SETS["equivalence"], (table, table))
