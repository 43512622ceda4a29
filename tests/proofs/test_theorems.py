"""For all n and k: what is proved, what is not, and that exploration never says otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import pytest

from proofs import recheck
from proofs.claims.catalogue import REFLEXIVE, REFUTED, REVISED
from proofs.claims.predicates import RATIFIED, REPLIES
from proofs.claims.theorems import (
    ASSUMED,
    THEOREMS,
    Proof,
    assumed_by,
    proofs_of,
    prove_protocol,
)
from proofs.core.explore import explore
from proofs.rules.prover import prove
from proofs.sessions.model import SessionModel, SessionState, action_of, speaker_of, tag_of
from proofs.sessions.relational import Theory
from pxp_fsm.automata.actions import Blocked, Say
from pxp_fsm.automata.tables import builtin
from pxp_fsm.protocol.relations import EQUIVALENCE, NOISY, TOLERANCE, Assumption
from pxp_fsm.protocol.rules import Interact, Pxp
from tests.changed_tables import changed
from tests.sampling import sampled

WITHOUT = {f"no {dropped}": EQUIVALENCE - {dropped} for dropped in Assumption}
SETS = {"noisy": NOISY, "reflexive": REFLEXIVE, "tolerance": TOLERANCE, "equivalence": EQUIVALENCE}
SETS |= WITHOUT
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
    """The claims that are proved from no more than is given."""
    claims = [claim for claim in THEOREMS.values() if claim.protocol == subject]
    found = [proof for proof in all_proofs() if proof.claim in claims]
    return frozenset(p.claim.name for p in found if p.proved and p.assumptions <= given)


@cache
def all_proofs() -> tuple[Proof, ...]:
    return tuple(proofs_of(THEOREMS.values()))


@pytest.mark.deep
def test_every_claim_is_proved_under_each_set_that_suffices() -> None:
    found = {(proof.claim.id, proof.assumptions): proof for proof in all_proofs()}
    due = {(claim.id, one) for claim in THEOREMS.values() for one in claim.suffices}
    # PXP(k) is proved to answer REFUTE and REVISE as it does from less than the catalogue says.
    weaker = {
        (f"pxp(k).replies-{tag}", frozenset({Assumption.DETERMINISTIC, Assumption.SHARED}))
        for tag in ("REFUTE", "REVISE")
    }
    for name, assumed in weaker:
        due.remove((name, assumed | {Assumption.SYMMETRIC}))
    assert set(found) == due | weaker
    assert all(proof.proved and proof.states for proof in found.values())


@pytest.mark.parametrize("name", SETS)
def test_what_is_proved_of_interact_under_each_set_of_assumptions(name: str) -> None:
    assert proved("interact", SETS[name]) == INTERACT_PROVED[name]


@pytest.mark.parametrize("name", SETS)
def test_what_is_proved_of_pxp_under_each_set_of_assumptions(name: str) -> None:
    assert proved("pxp", SETS[name]) == PXP_PROVED[name]


@pytest.mark.parametrize("name", ["tolerance", "equivalence", "no reflexive", "no transitive"])
def test_pxp_k_ends_within_2k_plus_5_messages_without_reflexive_or_transitive(name: str) -> None:
    assert proved("pxp(k)", SETS[name]) == ENDING


def test_noisy_pxp_k_bounds_each_self_loop_and_no_more() -> None:
    names = {"never-stuck", "silent-end", "replies-INIT", "self-loops"}
    assert proved("pxp(k)", NOISY) == names


# Each assumption is needed: with one less, nothing is proved.

NEEDED = [
    (protocol, place, letter)
    for protocol, parts in recheck.DUE.items()
    for place, part in enumerate(parts)
    for letter in part["relations"]
]


@pytest.mark.parametrize(
    ("protocol", "place", "letter"),
    [pytest.param(*one, marks=() if one[0] == "pxp" else pytest.mark.deep) for one in NEEDED],
)
def test_without_one_of_its_assumptions_a_part_is_not_proved(
    protocol: str, place: int, letter: str
) -> None:
    part = recheck.DUE[protocol][place]
    table = builtin({"pxp(k)": "pxp_k"}.get(protocol, protocol))
    fewer = {**part, "relations": part["relations"].replace(letter, "")}
    found = prove({"m": table, "h": table}, fewer)
    assert found.obstacles, f"{part['claims']} without {ASSUMED[letter]}"
    assert all(
        reason.startswith("not proved: ") or "amalgamate" in reason or "more than" in reason
        for reason in found.obstacles.values()
    )


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


@pytest.mark.deep
@pytest.mark.parametrize(
    "name", sampled(["noisy", "reflexive", "tolerance", "equivalence", "no reflexive"], 2)
)
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


@pytest.mark.parametrize("name", SETS)
def test_the_replies_of_pxp_are_within_those_that_are_proved(name: str) -> None:
    theory = Theory(SETS[name])
    found: dict[str, set[str]] = {}
    space = explore(SessionModel(Pxp(), theory))
    for state, steps in space.steps.items():
        for step in steps:
            tag, received = tag_of(step), state.tags[1 - speaker_of(step)]
            if received and tag != "TERM":
                found.setdefault(received, set()).add(tag)
    within = {tag for tag, tags in found.items() if tags <= REPLIES[tag]}
    assert within == {
        claim.removeprefix("replies-") for claim in PXP_PROVED[name] if claim.startswith("replies-")
    }


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_longest_session_of_pxp_k_reaches_the_bound_that_is_proved(k: int) -> None:
    model = SessionModel(Pxp(k), Theory(EQUIVALENCE), counting=True)
    assert max(state.sent for state in explore(model).steps) == 2 * k + 5


# What is wrong in a rule or in a row is not proved.

FAULTS = [
    ("interact", "j + 1 > k", "j + 1 >= k", "reject-after-k"),
    ("interact", 'changed = "not (same_y and same_e)"', 'changed = "same_y and same_e"',
     "no-revise-at-2"),
    ("interact", "stop or j >= n", "stop or j > n", "at-most-n"),
    ("interact", "stop or j >= n", "j >= n", "ratified-at-3"),
    ("interact", "tag == REJECT or (tag == RATIFY and last == RATIFY)", "tag == REJECT",
     "ratified-at-3"),
    ("interact", 'j = "j + 1"', 'j = "j"', "terminates"),
    ("pxp", "match != agree and same_y and same_e", "match != agree and not same_y",
     "replies-REVISE"),
    ("pxp", 'to = "END", send = "TERM"', 'to = "WAIT", send = "TERM"', "never-stuck"),
    ("pxp_k", "ratified >= k", "ratified > k", "self-loops"),
    ("pxp_k", "last == REFUTE and refuted >= k", "last == RATIFY and refuted >= k", "self-loops"),
    ("pxp_k", 'rejected = "rejected + 1 if last == REJECT and tag == REJECT else rejected"',
     'rejected = "rejected"', "terminates"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "old", "new", "claim"),
    [pytest.param(*one, marks=() if one[0] == "pxp" else pytest.mark.deep) for one in FAULTS],
)
def test_a_fault_in_a_table_is_not_proved(name: str, old: str, new: str, claim: str) -> None:
    protocol = {"pxp_k": "pxp(k)"}.get(name, name)
    obstacles: dict[str, str] = {}
    for part in prove_protocol(protocol, changed(name, (old, new))):
        obstacles |= part.obstacles
    assert claim in obstacles
    assert obstacles[claim].startswith(("not proved: nothing excludes", "there is no"))


def test_each_due_part_speaks_of_what_the_catalogue_says() -> None:
    """The names of the catalogue are those that are due, under assumptions that it names."""
    for protocol, parts in recheck.DUE.items():
        names = {claim["name"] for part in parts for claim in part["claims"]}
        claims = [claim for claim in THEOREMS.values() if claim.protocol == protocol]
        assert names == {name for claim in claims for name in claim.proved_by}
        for part in parts:
            assert {*part["relations"]} <= ASSUMED.keys()
            assert assumed_by(part) <= EQUIVALENCE
