"""The findings read in reports: what is read, what is not, and what agrees."""

from __future__ import annotations

import asyncio
import tomllib
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pxp_fsm.plugins.rad import SameFindings
from pxp_fsm.plugins.rad.relations import _read, read_findings
from pxp_fsm.protocol.relations import Assumption, Outcome

RIGHT, LEFT, BOTH, UNSAID = ({"right"}, {"left"}, {"right", "left"}, set[str]())

SENTENCES = [
    ("There is a large left pleural effusion.", {"Pleural Effusion": LEFT}),
    ("The right costophrenic angle is blunted.", {"Pleural Effusion": RIGHT}),
    ("Small bilateral pleural effusions.", {"Pleural Effusion": BOTH}),
    ("Right-sided pneumothorax with a visible pleural line.", {"Pneumothorax": RIGHT}),
    ("Patchy opacity in the left middle zone.", {"Pneumonia": LEFT}),
    ("Air space consolidation.", {"Pneumonia": UNSAID}),
    ("Plate-like atelectasis of the right lower lobe.", {"Atelectasis": RIGHT}),
    ("The cardiac silhouette is markedly enlarged to the left.", {"Cardiomegaly": UNSAID}),
    (
        "A pneumothorax on the right, and minimal atelectasis in the left lower zone.",
        {"Pneumothorax": RIGHT, "Atelectasis": LEFT},
    ),
    ("Cardiomegaly. No pleural effusion, pneumonia, or pneumothorax.", {"Cardiomegaly": UNSAID}),
    ("The lungs are clear.", {"nothing": UNSAID}),
    ("No pneumothorax. The lungs are clear.", {"nothing": UNSAID}),
    ("The lungs are clear, the heart enlarged.", {"Cardiomegaly": UNSAID}),
    ("There is no evidence of cardiac enlargement.", {}),
    ("Consolidation was ruled out.", {"Pneumonia": UNSAID}),  # denied too late to be noticed
    ("", {}),
    ("The patient is a 60-year-old male.", {}),
]

AGREE = [
    ("A left pleural effusion.", "Fluid in the left pleural space.", Outcome.YES),
    ("A left pleural effusion.", "A right pleural effusion.", Outcome.NO),
    ("A left pleural effusion.", "Bilateral pleural effusions.", Outcome.YES),
    ("A pleural effusion.", "A right pleural effusion.", Outcome.YES),
    ("Cardiomegaly.", "Pneumonia of the left lung.", Outcome.NO),
    ("The lungs are clear.", "Nothing abnormal.", Outcome.YES),
    ("The lungs are clear.", "Pneumonia of the left lung.", Outcome.NO),
    ("Cardiomegaly.", "It is a film.", Outcome.UNSURE),
]


@pytest.mark.parametrize(("text", "findings"), SENTENCES)
def test_a_report_is_read_as_it_is_meant(text: str, findings: dict[str, set[str]]) -> None:
    assert read_findings(text) == findings


@pytest.mark.parametrize(("left", "right", "outcome"), AGREE)
def test_what_agrees(left: str, right: str, outcome: Outcome) -> None:
    same = SameFindings()
    assert asyncio.run(same.holds(left, right)) is outcome
    assert asyncio.run(same.holds(right, left)) is outcome


@given(*[st.lists(st.sampled_from([text for text, _ in SENTENCES]), max_size=3)] * 2)
def test_symmetric_and_deterministic(left: list[str], right: list[str]) -> None:
    same, first, second = SameFindings(), " ".join(left), " ".join(right)
    assert same.assumptions == {Assumption.SYMMETRIC, Assumption.DETERMINISTIC}
    outcome = asyncio.run(same.holds(first, second))
    _read.cache_clear()
    assert asyncio.run(same.holds(second, first)) is outcome
    itself = Outcome.YES if read_findings(first) else Outcome.UNSURE
    assert asyncio.run(same.holds(first, first)) is itself


def test_the_lexicon_has_no_idle_group() -> None:
    text = files("pxp_fsm.plugins.rad").joinpath("findings.toml").read_text("utf-8")
    assert [group for group in tomllib.loads(text)["groups"] if f"{{{group}}}" not in text] == []


def test_only_the_beginning_of_a_report_is_read() -> None:
    assert read_findings(" " * 30_000 + "Cardiomegaly.") == {}
    assert read_findings("Cardiomegaly. " * 100_000) == {"Cardiomegaly": set()}


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    assert set(read_findings(text)) <= {
        *("Atelectasis", "Cardiomegaly", "Pleural Effusion", "Pneumonia", "Pneumothorax"),
        "nothing",
    }
