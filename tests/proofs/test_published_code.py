"""The published code's reading of INTERACT: its own sequences, and what follows from them."""

from __future__ import annotations

import pytest

from proofs.audit import AuditedMessage, AuditedSession, FindingKind, Possible, audited
from proofs.audit.sessions import AsPublished
from proofs.languages import Language, ProtocolReading, of_words, sequences
from proofs.languages.published_code import PublishedCode, published_sequences, published_started
from pxp_fsm.errors import UsageError
from pxp_fsm.protocol.relations import EQUIVALENCE, NOISY, TOLERANCE, Assumption
from pxp_fsm.protocol.rules import Interact
from tests.oracles.tag_sequences import by_hand

NAMED = {"equivalence": EQUIVALENCE, "tolerance": TOLERANCE, "noisy": NOISY}
CHANGED_MIND = ("m:INIT", "h:REFUTE", "m:REFUTE", "h:RATIFY")


def of(name: str, rounds: int | None, k: int = 3) -> Language:
    return published_sequences(PublishedCode(rounds, k, NAMED[name]))


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize(("rounds", "k"), [(0, 1), (1, 1), (1, 3), (2, 3)])
def test_the_language_is_what_trying_all_data_gives(rounds: int, k: int, name: str) -> None:
    found = set(of(name, rounds, k).words())
    assert found == by_hand(2 * rounds + 1, k, name, published=True)


def test_in_the_published_code_a_tolerance_is_as_good_as_an_equivalence() -> None:
    """An answer that counts as unchanged is not sent, so that nothing drifts."""
    assert of("tolerance", None) == of("equivalence", None)
    assert of("tolerance", 5) == of("equivalence", 5)
    assert of("tolerance", 5).count() == 7125
    assert of("noisy", 5).count() == 81315


@pytest.mark.deep
def test_there_the_change_of_mind_needs_a_judge_that_contradicts_itself() -> None:
    begun = {name: published_started(PublishedCode(None, 3, NAMED[name])) for name in NAMED}
    assert {name: CHANGED_MIND in found for name, found in begun.items()} == {
        "equivalence": False, "tolerance": False, "noisy": True,
    }  # fmt: skip
    assert CHANGED_MIND in sequences(ProtocolReading(Interact(4, 3), TOLERANCE))


def test_what_differs_from_the_papers_is_ratifying_and_rejecting() -> None:
    """Within two rounds nothing does, but for the answers that are kept."""
    for name in ("equivalence", "noisy"):
        assert of(name, 2) == sequences(ProtocolReading(Interact(5, 3), NAMED[name]))
    papers = sequences(ProtocolReading(Interact(11, 3), NOISY))
    assert (of("noisy", 5) - papers).shortest() == (
        "m:INIT", "h:RATIFY", "m:REFUTE", "h:REFUTE", "m:RATIFY",
    )  # fmt: skip
    rejected = ("m:INIT", "h:REFUTE", "m:REFUTE", "h:REVISE", "m:REJECT", "h:REJECT")
    assert (of("equivalence", 5) - papers).shortest() == rejected
    assert (papers - of("noisy", 5)).shortest() == (
        "m:INIT", "h:RATIFY", "m:REFUTE", "h:RATIFY", "m:REJECT",
    )  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_the_ending_of_each_sequence_is_one_and_none_comes_before_it(name: str) -> None:
    reading = PublishedCode(3, 3, NAMED[name])
    words = list(published_sequences(reading).words())
    for word in words:
        assert reading.ending(word) in ("ratified", "rejected", "bound")
        assert all(reading.ending(word[:length]) is None for length in range(1, len(word)))
    begun = {word[:length] for word in words for length in range(len(word) + 1)}
    assert of_words("begun", begun) == published_started(reading)


def recorded(*tags: str, ending: str) -> AuditedSession:
    said = tuple(AuditedMessage(place % 2 == 0, tag, "", "") for place, tag in enumerate(tags))
    return AuditedSession("s", said, ending)


def test_its_recordings_are_audited_by_its_reading() -> None:
    sticky = recorded("INIT", "RATIFY", "REFUTE", "REFUTE", "RATIFY", ending="ratified")
    found = audited(sticky, AsPublished(5))
    assert found.possible is Possible.NOISY
    assert [one.kind for one in found.findings] == [FindingKind.TAGS_NOISY]
    short = audited(recorded("INIT", "REFUTE", ending="bound"), AsPublished(5))
    assert [one.kind for one in short.findings] == [FindingKind.ENDING]
    beyond = audited(recorded("INIT", "REFUTE", "REVISE", "REFUTE", ending="bound"), AsPublished(1))
    assert [(one.kind, one.number) for one in beyond.findings] == [(FindingKind.MESSAGE, 4)]


def test_relations_for_which_the_order_of_comparing_matters_are_refused() -> None:
    with pytest.raises(UsageError, match="equivalence, tolerance and noisy"):
        PublishedCode(5, 3, EQUIVALENCE - {Assumption.SYMMETRIC})
    with pytest.raises(UsageError, match="rounds"):
        PublishedCode(-1)


@pytest.mark.parametrize(("rounds", "told"), [(None, "any number of"), (3, "3")])
def test_it_is_called_after_its_rounds(rounds: int | None, told: str) -> None:
    assert PublishedCode(rounds, 2).name == f"published code ({told} rounds, k = 2)"
