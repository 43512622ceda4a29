"""A drawing that is wider than a page: the pipeline of networks."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from pxp_fsm.automata.tables import load_automaton
from pxp_fsm.diagrams import (
    Style,
    state_diagram,
)
from pxp_fsm.diagrams.rendering import WIDE, arrange
from tests.diagrams.test_styles import check_typeset
from tests.typesetting import has_style

WHOLE = load_automaton("lan_pipeline")
AHEAD = tuple(row for row in WHOLE.transitions if not row.label.startswith("BACK_TO"))
PIPELINE = state_diagram(replace(WHOLE, transitions=AHEAD))
"""The pipeline without the rows that lead back to a step, with which it is wider than a page."""


@pytest.mark.deep
def test_a_wide_automaton_is_laid_out_from_top_to_bottom_and_loses_no_arrow() -> None:
    arranged = arrange(PIPELINE, Style())
    width, height = arranged.canvas.size
    assert width < height
    assert (
        width < 1.1 * WIDE
    )  # with its conditions, the layout without overlaps needs a little more
    assert arrange(PIPELINE, Style(direction="LR")).canvas.size[0] > WIDE
    drawn = " ".join(" ".join(arranged.canvas.lines).split())
    rows = [row.text for edge in PIPELINE.edges for row in edge.rows]
    missing = [text for text in rows if drawn.count(text) < rows.count(text)]
    assert missing == [text for text in missing if len(text) > 24]  # those are in two lines
    references = re.findall(r"\tr\d+ \[label=(\w+)", arranged.source)
    assert set(references) == {"RUN", "HAND_OVER", "HANDED", "PARAMETERS"}
    for diagram in (PIPELINE, state_diagram(WHOLE)):
        arrows = re.findall(r"\ts\d+ -> [srj]\d+ ", arrange(diagram, Style()).source)
        assert len(arrows) == len(diagram.edges)


@pytest.mark.deep
@pytest.mark.skipif(not has_style("tikz.sty"), reason="tikz is not installed (texlive-pictures)")
def test_tikz_of_it_compiles_with_pdflatex(tmp_path: Path) -> None:
    check_typeset({"pipeline": (PIPELINE, Style(size="4.5in", title=False))}, tmp_path)
