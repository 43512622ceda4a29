"""The page of findings: its numbers are the run's, and its pictures the traces'."""

from __future__ import annotations

import re

import pytest
from findings import page

from pxp_fsm.diagrams import SequenceChart, render
from tests.cli.test_check import ROOT


@pytest.mark.deep
def test_the_page_of_findings_is_what_the_run_gives() -> None:
    """`make findings` writes it anew."""
    found = page.find()
    assert (ROOT / "docs/findings.md").read_text("utf-8") == found.page
    folder = ROOT / "docs" / page.PICTURES
    assert {path.stem for path in folder.iterdir()} == set(found.pictures)
    for name, diagram in found.pictures.items():
        svg = (folder / f"{name}.svg").read_text("utf-8")
        shown = set(re.findall(r"[A-Za-z]{2,}", " ".join(re.findall(r">([^<>]+)</text>", svg))))
        labels = " ".join(re.findall(r"label=(\"[^\"]*\"|\w+)", render(diagram, "dot").decode()))
        assert shown <= set(re.findall(r"[A-Za-z]{2,}", labels.replace("\\n", " "))), name
        if isinstance(diagram, SequenceChart):
            assert {arrow.tag for arrow in diagram.arrows} <= shown
        assert f"({page.PICTURES}/{name}.svg)" in found.page


@pytest.mark.parametrize(
    "name",
    ["ends-agreed", "never-ultra", "refuted-never", "pxp-terminates", "no-alternation", "longest"],
)
def test_a_picture_of_findings_shows_the_trace_and_the_bounds_of_the_text_beside_it(
    name: str,
) -> None:
    blocks = (ROOT / "docs/findings.md").read_text("utf-8").split("\n\n")
    (place,) = (number for number, block in enumerate(blocks) if block.endswith(f"/{name}.svg)"))
    text = next(block for block in blocks[place::-1] if re.search(r"\bINIT, [A-Z]", block))
    *_, told = re.findall(r"INIT(?:,\s[A-Z]+)+", text)
    drawing = (ROOT / "docs" / page.PICTURES / f"{name}.svg").read_text("utf-8")
    shown = re.findall(r">([^<>]+)</text>", drawing)
    messages = [re.fullmatch(r"(\d+) ([A-Z]+)", one) for one in shown]
    arrows = {int(found[1]): found[2] for found in messages if found}
    assert [arrows[number] for number in sorted(arrows)] == re.split(r",\s", told)
    bounds = re.findall(r"n = \d+, k = \d+|\bk = \d+", " ".join(text.split()))
    assert all(bound in " ".join(shown) for bound in bounds[-1:])
    assert bool(bounds) is not (name == "pxp-terminates")
