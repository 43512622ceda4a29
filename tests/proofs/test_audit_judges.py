"""Consistency of answers with a tolerance or an equivalence, compared with brute force."""

from __future__ import annotations

from itertools import combinations, product

from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.audit import AuditedMessage, AuditedSession, FindingKind
from proofs.audit.sessions import contradictions
from pxp_fsm.protocol.relations import JudgedAnswer

TEXTS = "abcd"
answers = st.lists(
    st.builds(
        JudgedAnswer,
        st.just("MATCH"),
        st.sampled_from(TEXTS),
        st.sampled_from(TEXTS),
        st.booleans(),
    ),
    max_size=7,
)


def partitions(texts: str) -> list[dict[str, int]]:
    return [
        dict(zip(texts, blocks, strict=True)) for blocks in product(range(len(texts)), repeat=4)
    ]


PARTITIONS = partitions(TEXTS)
PAIRS = [frozenset(pair) for pair in combinations(TEXTS, 2)]
TOLERANCES = [
    dict(zip(PAIRS, chosen, strict=True)) for chosen in product((False, True), repeat=len(PAIRS))
]


@settings(max_examples=150)
@given(answers, answers)
def test_the_answers_are_judged_exactly(
    mine: list[JudgedAnswer], yours: list[JudgedAnswer]
) -> None:
    """Compared with every tolerance and every equivalence on four texts."""
    said = (
        AuditedMessage(True, "INIT", "a", "-"),
        AuditedMessage(False, "REFUTE", "b", "-", tuple(yours)),
        AuditedMessage(True, "REFUTE", "c", "-", tuple(mine)),
    )
    found = {one.kind for one in contradictions(AuditedSession("s", said, None))}
    every = [*mine, *yours]
    tolerance = any(
        all((one.left == one.right or near[frozenset(one[1:3])]) is one.held for one in every)
        for near in TOLERANCES
    )
    equivalence = any(
        all((block[one.left] == block[one.right]) is one.held for one in every)
        for block in PARTITIONS
    )
    assert tolerance is not bool(found - {FindingKind.CHAIN})
    assert equivalence is not bool(found)
