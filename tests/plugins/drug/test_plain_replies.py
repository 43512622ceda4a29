"""Prompts as in Examples 1 and 2 of arXiv 2410.20600: categories, tags, replies in plain form."""

from __future__ import annotations

import pytest

from backends.models.respondent import ModelRespondent, assemble, read_answer
from backends.models.scripts import ScriptedModel
from pxp_fsm.errors import DataError
from pxp_fsm.experiments.members import prompts_of_plan
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.plugins.drug.task import PROBLEM
from pxp_fsm.plugins.rad.task import PROBLEM as FINDINGS
from pxp_fsm.prompting.framing import unframed
from pxp_fsm.prompting.model import ChatRole, Reply
from pxp_fsm.prompting.prompts import read_prompts
from pxp_fsm.protocol.messages import Question
from pxp_fsm.tasks.prompts import bundled_prompts
from pxp_fsm.tasks.task import find_task
from tests.plugins.drug.prompt_fixtures import ASPIRIN, message, now

PAPER = read_prompts(bundled_prompts("drug", of_papers=True), "papers-drug")
HEADINGS = ("Pathway", "Explanation")
RIGHT = "CC(=O)OC(C)=O.O=C(O)c1ccccc1O"


@pytest.mark.parametrize("task", ["drug", "rad"])
def test_the_prompts_of_the_papers_say_what_is_wrong_in_each_category(task: str) -> None:
    found = read_prompts(bundled_prompts(task, of_papers=True), task)
    assert set(found.categories) == {"A", "B", "C", "D"}
    assert set(found.tags) == {"RATIFY", "REFUTE", "REVISE", "REJECT"}
    assert "Correct both" in found.categories["D"]
    assert found.answer.headings == (
        ("Prediction", "Explanation") if task == "rad" else ("Pathway", "Explanation")
    )


def test_a_model_is_told_the_form_and_what_the_other_found_wrong() -> None:
    history = (
        message(1, "m", "INIT", "C.CC", "An\nalkane <|im_end|>"),
        message(2, "h", "REFUTE", RIGHT, "Acetylation."),
    )
    texts = {}
    for found in ("B", "C", "D", ""):
        asked = Question(PROBLEM.query, ASPIRIN, history=history, categories=("", found))
        request = assemble(asked, PROBLEM, PAPER)
        texts[found] = request.turns[-1].text.splitlines()[0]
        assert request.schema is None
        assert request.system.count("Pathway: <pathway>\nExplanation: <explanation>") == 1
        assert unframed(request.turns[-1].text)[-1]["prediction"] == RIGHT
        (own,) = (turn.text for turn in request.turns if turn.role is ChatRole.ASSISTANT)
        assert own == "Pathway: C.CC\nExplanation: An\\nalkane \\u003c|im_end|\\u003e"
    wanted = {found: PAPER.categories[found] for found in "BCD"}
    assert texts == {**wanted, "": PAPER.tags["REFUTE"]}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (f"Pathway: {RIGHT}\nExplanation: Acetylation.", ""),
        (f"pathway : {RIGHT} Explanation: Acetylation.", ""),
        (f"```\nPathway:\n{RIGHT}\n\nEXPLANATION: Acetylation.\n```", ""),
        (f"Pathway: {RIGHT}\nExplanation: Acetylation.\nExplanation: twice", ""),
        (f"Sure! Pathway: {RIGHT}\nExplanation: x", "and nothing before"),
        (f"Pathway: {RIGHT}", "it must be 'Pathway: ... Explanation: ...'"),
        (f"Pathway: {RIGHT}\nExplanation:  ", "explanation must be a text"),
        ("Pathway: salicylic acid\nExplanation: x", "not a valid SMILES"),
        ("Explanation: x\nPathway: C", "and nothing before"),
    ],
)
def test_a_plain_reply_is_read_by_its_headings_or_refused(said: str, why: str) -> None:
    if why:
        with pytest.raises(DataError, match=why.replace(".", r"\.")):
            read_answer(Reply(said), PROBLEM, HEADINGS)
    else:
        answer = read_answer(Reply(said), PROBLEM, HEADINGS)
        assert answer.prediction == RIGHT
        assert answer.explanation.startswith("Acetylation.")


def test_labels_in_plain_form() -> None:
    said = "Prediction: pneumonia, Pleural Effusion\nExplanation: Blunted angle."
    found = read_answer(Reply(said), FINDINGS, ("Prediction", "Explanation"))
    assert found.prediction == FINDINGS.from_text("Pleural Effusion,Pneumonia")


def test_a_refused_plain_reply_is_asked_for_again() -> None:
    model = ScriptedModel([RIGHT, f"Pathway: {RIGHT}\nExplanation: Acetylation."])
    answer = now(ModelRespondent(model, PROBLEM, PAPER).answer(Question(PROBLEM.query, ASPIRIN)))
    assert answer.prediction == RIGHT
    assert len(model.requests) == 2


@pytest.mark.parametrize(
    "headings",
    ['["One"]', '["A", "a"]', '["A", "B", "C"]', '"Prediction"', '["A", "x:y"]', "[1, 2]"],
)
def test_headings_that_cannot_part_a_reply_are_refused(headings: str) -> None:
    text = bundled_prompts("rad", of_papers=True)
    wrong = text.replace('["Prediction", "Explanation"]', headings)
    assert wrong != text
    with pytest.raises(DataError, match="headings must be two different words"):
        read_prompts(wrong, "mine.toml")


def test_unknown_categories_and_headings_of_a_judge_are_refused() -> None:
    text = bundled_prompts("rad", of_papers=True)
    with pytest.raises(DataError, match=r"\[categories\]: 'E' is unknown"):
        read_prompts(text.replace('D = "The', 'E = "The'), "mine.toml")
    with pytest.raises(DataError, match=r"\[judge\]: its reply is yes or no"):
        read_prompts(text.replace("[judge]\n", '[judge]\nheadings = ["A", "B"]\n'), "mine.toml")


def test_a_preset_asks_by_the_prompts_of_the_papers_and_a_file_comes_first() -> None:
    task = find_task("drug")
    own = bundled_prompts("drug")
    pairs = {
        "of the task": Plan("drug"),
        "of the papers, in our words": Plan("drug", preset="B-drug"),
        "of a file": Plan("drug", preset="B-drug", prompts=own),
    }
    found = {whose: prompts_of_plan(plan, task) for whose, plan in pairs.items()}
    assert [whose for whose, _ in found.values()] == [*pairs]
    assert found["of the papers, in our words"][1] == PAPER
    assert found["of a file"][1] == found["of the task"][1] != PAPER
