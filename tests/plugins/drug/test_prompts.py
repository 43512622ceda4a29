"""The prompts of DRUG are whole."""

from __future__ import annotations

from pxp_fsm.prompting.prompts import read_prompts
from pxp_fsm.tasks.prompts import bundled_prompts


def test_the_bundled_prompts_are_whole() -> None:
    found = read_prompts(bundled_prompts("drug"), "drug")
    assert set(found.tags) == {"INIT", "RATIFY", "REFUTE", "REVISE", "REJECT", "TERM"}
    assert found.answer.max_tokens == 1024
