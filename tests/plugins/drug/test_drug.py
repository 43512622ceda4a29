"""DRUG: its data, and what its agents do with them."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest

from backends.databases.blackboard import Proxy
from guards import Derived
from pxp_fsm.errors import DataError, UsageError
from pxp_fsm.experiments.plan_data import data_fingerprint, read_plan
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.plugins.drug import Reactants, Retrosynthesis, SameReaction
from pxp_fsm.plugins.drug.data import bundled, published
from pxp_fsm.plugins.drug.retrosynthesis import predictor
from pxp_fsm.plugins.drug.task import DRUG
from pxp_fsm.protocol.interfaces import Respondent
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question, Tag
from pxp_fsm.protocol.rules import Interact
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.session import Session
from pxp_fsm.tasks.task import Recorded

ROOT = Path(__file__).parents[3]
AUTHORS = Path(
    os.environ.get("PXP_AUTHORS_DATA")
    or next(ROOT.parent.glob("*/data/interact"), "the authors' data")
)
"""The authors' published data: named by the variable, or in a folder beside this repository."""
HEADER = "input,output,explanation\n"
GOOD = 'CC(=O)NC,CN.CC(=O)Cl,"an amide, from an amine and an acid chloride"\n'


def tags(x: str, answer: Answer, *, k: int = 3) -> list[str]:
    """The tags of a session of the real predictor with a database that gives `answer`."""
    return tags_of(x, Proxy({"i": answer}), k=k)


def tags_of(x: str, human: Respondent, *, k: int, revises: bool = False) -> list[str]:
    match, agree = Reactants(), SameReaction()
    members = {
        "m": Agent(Retrosynthesis(), match=match, agree=agree),
        "h": Agent(human, match=match, agree=agree, guards=Derived(revises=revises)),
    }
    session = Session(Interact(n=10, k=k), members, instance=Instance("i", x))
    asyncio.run(session.run())
    return [f"{message.tag}_{message.sender}" for message in session.history]


ANILIDE = "CC(=O)Nc1ccccc1"


def own_answer(x: str) -> Answer:
    """What the untaught predictor says."""
    return asyncio.run(Retrosynthesis().answer(Question("", Instance("i", x))))


def test_the_machine_ratifies_what_it_would_have_said_itself() -> None:
    assert tags(ANILIDE, own_answer(ANILIDE)) == ["INIT_m", "RATIFY_h", "RATIFY_m"]


def test_the_machine_revises_when_it_is_taught_reactants_that_it_derives() -> None:
    lidocaine = "CCN(CC)CC(=O)Nc1c(C)cccc1C"
    second = Retrosynthesis().rank(lidocaine, 2)[1]
    assert second.named[0].template.id == "amide-coupling"
    sent = tags(lidocaine, Answer(second.reactants, "Amide coupling of the acid and the amine."))
    assert sent[:3] == ["INIT_m", "REFUTE_h", "REVISE_m"]
    assert sent[-2:] == ["RATIFY_h", "RATIFY_m"]


def test_the_machine_refutes_what_it_cannot_come_to_and_the_human_rejects_it_after_k() -> None:
    nonsense = Answer("C.CC", "A Suzuki coupling.")
    assert tags(ANILIDE, nonsense) == ["INIT_m", "REFUTE_h", "REFUTE_m", "REJECT_h"]


def test_the_machine_rejects_what_it_can_only_reject_after_k() -> None:
    """h first agrees in part (the reaction), so that it does not reject before the machine may."""
    own = own_answer(ANILIDE)
    human = Turning(Answer("C.CC", own.explanation), Answer("C.CC", "A Suzuki coupling."))
    sent = tags_of(ANILIDE, human, k=4, revises=True)
    assert sent[-1] == "REJECT_m", sent


def test_without_the_extra_molecules_are_refused_in_python_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pxp_fsm.errors.find_spec", lambda _name: None)
    with pytest.raises(UsageError, match=r"needs RDKit, which is not installed.*pxp-fsm\[drug\]"):
        Retrosynthesis()


def test_precedents_of_the_very_molecule_count_only_if_asked_for() -> None:
    data = replace(
        bundled(), sessions=tuple(r for r in bundled().sessions if r.instance.key == "moclobemide")
    )
    left_out, counted = (
        DRUG.known_rows(replace(data, precedents=which))[0] for which in ("others", "all")
    )
    assert left_out == "Of 1 molecules, 1 are among the machine's precedents; those are left out."
    assert counted == "Of 1 molecules, 1 are among the machine's precedents; those count as well."
    for value, problem in (("some", "few:N"), ("others", "20 examples to begin with")):
        with pytest.raises(UsageError, match=problem):
            read_plan(Plan("rad" if value == "others" else "drug", precedents=value))


def test_the_fingerprint_is_of_every_file_that_answers_depend_on() -> None:
    folder = Path(predictor.__file__).parent
    here = {path.name for path in folder.iterdir() if path.is_file()}
    assert here - {"__init__.py"} == set(predictor._FILES)


def test_a_run_says_what_its_answers_owe_to_lessons() -> None:
    data = bundled()
    row = data.sessions[0]
    untaught, *others = Retrosynthesis().rank(row.instance.x, 3)
    told = [
        Message("s", n, sender, tag, Answer(y, ""), "")
        for n, (sender, tag, y) in enumerate(
            [
                ("m", Tag.INIT, untaught.reactants),
                ("h", Tag.REFUTE, others[0].reactants),
                ("m", Tag.REVISE, others[0].reactants),
                ("h", Tag.REFUTE, others[1].reactants),
                ("m", Tag.REVISE, untaught.reactants),
            ],
            start=1,
        )
    ]
    taught = [replace(told[0], payload=Answer(others[0].reactants, ""))]
    assert DRUG.learned is not None
    (line,) = DRUG.learned(
        data, [Recorded("0/1", row.instance.key, told), Recorded("0/1", row.instance.key, taught)]
    )
    assert line == (
        "Revisions of the machine: 2, of which 1 took up the human's reactants. "
        "Lessons of earlier sessions changed 1 of its 2 first answers."
    )


class Turning:
    """A human who gives a first answer once, and then another."""

    name = "turning"

    def __init__(self, first: Answer, then: Answer) -> None:
        self._answers = [first, then]

    async def answer(self, question: Question) -> Answer:
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def test_the_bundled_set_loads_in_three_parts() -> None:
    data = bundled()
    assert (len(data.sessions), len(data.validation), len(data.test)) == (20, 72, 36)
    assert data.in_sample


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (HEADER + GOOD + "CC(=O)NC,CN.CC(=O)Cl\n", "line 3: 2 fields, but the header names 3"),
        (HEADER + GOOD + GOOD + "C1CC,C,x\n", "line 4: .*'C1CC'"),
        (HEADER + "CC,C.C(C,x\n", "line 2: .*C"),
        (HEADER + "CC,,x\n", "line 2: column output is empty"),
        (HEADER + 'CC,C,"never closed\n', "line 2: this is not CSV"),
        ("input,output\nCC,C\n", "line 1: column explanation is missing"),
        (HEADER, "has no reactions"),
        ("", "line 1: column input, output, explanation is missing; the file is empty$"),
        ("input," + HEADER, "line 1: column input is named more than once"),
        (HEADER + "CC,C,a\x00b\n", "line 2: .*NUL"),
    ],
)
def test_a_malformed_file_is_refused_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "retro.csv").write_text(text, "utf-8")
    with pytest.raises(DataError, match=says):
        published(tmp_path)


def test_a_row_over_several_lines_is_named_by_its_first(tmp_path: Path) -> None:
    text = HEADER + 'CC(=O)NC,CN.CC(=O)Cl,"two\nlines"\nC1CC,C,x\n'
    (tmp_path / "retro.csv").write_text(text, "utf-8")
    with pytest.raises(DataError, match="line 4"):
        published(tmp_path)


def test_the_data_folder_may_be_given_as_published_or_itself(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "retro.csv").write_text("\ufeff" + HEADER + GOOD, "utf-8")
    for folder in (tmp_path, tmp_path / "data"):
        (row,) = published(folder).sessions
        assert row.instance == Instance("retro-1", "CNC(C)=O")
    with pytest.raises(DataError, match="there is no such folder"):
        published(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"there is no retro\.csv in it"):
        empty = tmp_path / "empty"
        empty.mkdir()
        published(empty)
    (tmp_path / "data" / "retro.csv").write_bytes(b"input,output,explanation\nCC,C,\xff\n")
    with pytest.raises(DataError, match="not UTF-8"):
        published(tmp_path)


def test_the_authors_examples_are_shown_to_models_unless_sessions_are_about_them(
    tmp_path: Path,
) -> None:
    (tmp_path / "retro.csv").write_text(HEADER + GOOD, "utf-8")
    assert published(tmp_path).examples == ()
    plain = read_plan(Plan("drug", data=str(tmp_path)))[1]
    examples = (
        (HEADER.strip(), "matchOK"),
        (GOOD.strip(), "FALSE"),
        ("CCOC(C)=O,CCO.CC(=O)Cl,x", ""),
    )
    (tmp_path / "few_shot_DRUG.csv").write_text("".join(f"{a},{b}\n" for a, b in examples))
    task, data = read_plan(Plan("drug", data=str(tmp_path)))
    (example,) = data.examples
    assert example.instance == Instance("example-2", "CCOC(C)=O")
    assert task.problem is not None
    assert task.problem.examples == ((example.instance, example.answer),)
    assert data.sessions == plain.sessions
    fingerprints = {data_fingerprint(Plan("drug"), one) for one in (plain, data)}
    assert len(fingerprints) == 2


@pytest.mark.skipif(not AUTHORS.is_dir(), reason="the authors' data are not here")
def test_the_authors_reactions_load_as_they_are() -> None:
    data = published(AUTHORS)
    rows = data.sessions
    assert len(rows) >= 60
    assert len(data.examples) >= 5
    assert rows[0].answer.prediction.startswith("CC(C)(C)OC(=O)OC(=O)OC(C)(C)C")
