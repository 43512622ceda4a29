"""Study files: what is wrong is told with its line, and the schema is the published one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pxp_fsm.errors import FileError, UsageError
from pxp_fsm.plugins.studies.files import Item, load_study
from pxp_fsm.plugins.studies.questions import checked_answers
from tests.plugins.studies.experts import DRUG, drug


@pytest.mark.parametrize("path", sorted(Path("examples/studies").glob("*.toml")), ids=str)
def test_the_examples_are_studies(path: Path) -> None:
    study = load_study(path)
    assert study.name
    assert study.consent.version


WRONG = {
    'name = "heart"': ('name = "pain"', "line 83: pain stands 2 times; give each its own name"),
    'name = "interact"': ('name = "Inter act"', "a name has lower-case letters, digits and -"),
    "least = 0.001": ("least = 50", "least is more than most"),
    '"sotalol"': ('"water"', "there is no instance 'water'"),
    "k = 3\n\n[[arms]]": ("k = 0\n\n[[arms]]", "line 67: arms[0].k: 0 is too small"),
    'task = "drug"': ('task = "alchemy"', "there is no task 'alchemy'"),
    "seed = 7": ("sead = 7", "line 5: unknown key sead"),
    'answer = "reactants"': ('answer = "both"', "'both' is none of the choices"),
    "cc={code}": ("cc=CODE", "an address that begins with https:// and has a place {code}"),
    'kind = "scale"': ('kind = "choice"', "choices and the kind choice go together"),
    'retention = "': ('retentian = "', "unknown key retentian"),
    "blinded = true\nn = 4": ("blinded = true\ncondition = 'manual'", "condition is for tasks"),
    "blinded = true\nn = 10": ("machine = 'anthropic:x'\nn = 10", "name who runs it in consent"),
    "accepted.STUDY_ID": ("accepted.OTHER", "OTHER: this is none of the parameters"),
    'accepted.STUDY_ID = ["65f1c2a9d0e4b8a7c3d2e1f0"]': ("", "accepted: name what a panel sends"),
    "n = 4\nk = 3": ("protocol = 'pxp'\nn = 4", "n is INTERACT's bound"),
}


@pytest.mark.parametrize("before", WRONG, ids=str)
def test_what_is_wrong_is_told_with_its_line(before: str, tmp_path: Path) -> None:
    after, told = WRONG[before]
    with pytest.raises(FileError) as raised:
        drug(tmp_path, **{before: after})
    assert told in str(raised.value)
    assert all(fault.line is not None for fault in raised.value.faults)


def test_a_fingerprint_is_of_what_a_file_means(tmp_path: Path) -> None:
    same = drug(tmp_path, **{"[consent]": "# a remark\n[consent]"})
    short = drug(tmp_path)
    assert same.fingerprint == short.fingerprint
    assert drug(tmp_path, **{"seed = 7": "seed = 8"}).fingerprint != short.fingerprint
    assert DRUG.is_file()


QUESTIONS = (
    Item("years", "?", "number"),
    Item("trust", "?", "scale"),
    Item("which", "?", "choice", ("a", "b")),
    Item("why", "?", required=False),
)
RIGHT = {"years": 3, "trust": 7, "which": "a"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"years": 10**400},
        {"years": float("nan")},
        {"years": True},
        {"years": "3"},
        {"trust": 8},
        {"trust": 3.5},
        {"which": "c"},
        {"which": ["a"]},
        {"which": ""},
        {"why": "x" * 20_001},
        {"why": {"a": 1}},
        {"other": "x"},
        {"years": None},
    ],
    ids=repr,
)
def test_what_is_no_answer_is_told_with_its_question(wrong: dict[str, Any]) -> None:
    checked_answers(QUESTIONS, RIGHT)
    checked_answers(QUESTIONS, {**RIGHT, "why": "so"})
    with pytest.raises(UsageError, match=next(iter(wrong))):
        checked_answers(QUESTIONS, {**RIGHT, **wrong})
    for nothing in (None, ["x"], "x", 3):
        with pytest.raises(UsageError, match="missing"):
            checked_answers(QUESTIONS, nothing)
