"""Files of prompts: slots are checked when they are read; what fills them is never looked at."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pxp_fsm.errors import DataError
from pxp_fsm.prompting.prompts import Prompts, read_prompts
from tests.tasks import animals

LEAST = """
[answer]
max_tokens = 100
system = "s $form"
question = "q $instance"
received = "r $message"
again = "a $reason"
[judge]
max_tokens = 10
system = "s $form"
question = "$first or $second"
again = "a $reason"
"""


def prompts(**changed: str) -> Prompts:
    text = LEAST
    for old, new in changed.items():
        assert old in text
        text = text.replace(old, new)
    return read_prompts(text, "mine.toml")


def test_the_bundled_prompts_are_whole() -> None:
    found = read_prompts(animals.PROMPTS, "animals")
    assert set(found.tags) == {"INIT", "RATIFY", "REFUTE", "REVISE", "REJECT", "TERM"}
    assert found.answer.max_tokens == 256


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"s $form"', '"s"', "[answer] system lacks $form"),
        ("r $message", "r $meaning", "[answer] received lacks $message, or in its place"),
        (
            'system = "s $form"',
            'headings = ["A", "B"]\nsystem = "A: B"',
            "system lacks $form; without",
        ),
        ("$message", "$message $tag", "has '$tag'"),
        ("q $instance", "costs $5", "write $$ for a dollar sign"),
        ("q $instance", "${instance.__class__}", "write $$ for a dollar sign"),
        ("q $instance", "<data>$instance</data>", "only what fills a slot is framed"),
        ("max_tokens = 100", "max_tokens = true", "max_tokens must be a whole number"),
        ("max_tokens = 100", "max_tokens = 0", "max_tokens must be a whole number"),
        (
            "max_tokens = 10\n",
            "max_tokens = 10\ntemperature = nan\n",
            "temperature must be a number",
        ),
        ("max_tokens = 10\n", 'max_tokens = 10\nmodel = "x"\n', "'model' is unknown"),
        ("[judge]", "[jury]", "'jury' is unknown"),
        ('again = "a $reason"', "", "[answer] again is missing"),
        ("[answer]", "answer", "is not TOML"),
        ("[answer]", "tags = {RATIFY = 1}\n[answer]", "each tag needs a sentence"),
        ("[answer]", 'tags = {RATIFY = "</data>"}\n[answer]', "only what fills a slot"),
    ],
)
def test_a_fault_is_named_with_its_place(old: str, new: str, said: str) -> None:
    with pytest.raises(DataError) as found:
        read_prompts(LEAST.replace(old, new, 1), "mine.toml")
    assert str(found.value).startswith("mine.toml")
    assert said in str(found.value)


def test_a_paper_is_one_file_for_two_tasks() -> None:
    """Each part is read as a file of its own would be; another task is told what there is."""
    other = LEAST.replace("q $instance", "Q $x")
    both = "".join(
        text.replace("[answer]", f"[{task}.answer]").replace("[judge]", f"[{task}.judge]")
        for task, text in (("rad", LEAST), ("drug", other))
    )
    assert read_prompts(both, "b.toml", "rad") == read_prompts(LEAST, "b.toml")
    assert read_prompts(both, "b.toml", "drug") == read_prompts(other, "b.toml", "drug")
    for task, named in (("animals", "animals"), ("", "TASK")):
        with pytest.raises(DataError, match=rf"no table \[{named}.answer\]; .*: 'rad, drug'"):
            read_prompts(both, "b.toml", task)
    with pytest.raises(DataError, match=r"b\.toml, drug, \[answer\] question has '\$z'"):
        read_prompts(both.replace("$x", "$z"), "b.toml", "drug")


def test_a_form_may_be_written_by_its_headings() -> None:
    found = prompts(
        **{
            'system = "s $form"\nquestion = "q $instance"': (
                'headings = ["Pathway", "Explanation"]\nsystem = "s"\n'
                'question = "$x. Pathway: <pathway> Explanation: <explanation>"'
            )
        }
    )
    assert found.answer.headings == ("Pathway", "Explanation")


@given(st.text())
def test_what_fills_a_slot_is_never_looked_at_for_slots(text: str) -> None:
    assert prompts().answer.fill("question", instance=f"$form ${{x}} {text}") == (
        f"q $form ${{x}} {text}"
    )


def test_a_fingerprint_tells_prompts_apart_and_no_comments() -> None:
    same = read_prompts("# a remark\n" + LEAST, "mine.toml")
    assert prompts().fingerprint == same.fingerprint
    changed: list[dict[str, Any]] = [
        {"q $instance": "Q $instance"},
        {"max_tokens = 100": "max_tokens = 101"},
        {"max_tokens = 10\n": "max_tokens = 10\ntemperature = 0\n"},
        {"[answer]": 'tags = {RATIFY = "yes"}\n[answer]'},
    ]
    seen = {prompts(**change).fingerprint for change in changed} | {prompts().fingerprint}
    assert len(seen) == 5


def test_the_form_of_the_file_is_that_of_the_documents() -> None:
    """Every text and every slot stands in docs/prompts.md."""
    from pathlib import Path

    from pxp_fsm.prompting.prompts import SLOTS

    told = (Path(__file__).parents[2] / "docs" / "prompts.md").read_text("utf-8")
    for texts in SLOTS.values():
        for text, (may, must) in texts.items():
            assert f"`{text}`" in told
            for slot in may | must:
                assert f"`${slot}`" in told
