"""Pictures of the instances of sessions: molecules, thumbnails, and paths of an automaton."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from markupsafe import Markup

from backends.databases import StoredSession
from guards.relations.pathways import ARROW, read_pathway
from pxp_fsm.automata.automaton import Automaton, Transition
from pxp_fsm.diagrams import render, state_diagram
from pxp_fsm.errors import DataError
from pxp_fsm.experiments.reports import palette
from pxp_fsm.prompting.problem import Problem
from pxp_fsm.protocol.messages import Instance
from pxp_fsm.tasks.drug.molecules import draw_step

LONGEST_SIDE = 360
"""Pixels of an embedded image's longest side."""

_MOST_ATOMS, _LONGEST_SMILES, _LONGEST_PATHWAY = 150, 1000, 5000
_ATOMS = {
    "#000000": "ink",
    "#ffffff": "paper",
    "#ff0000": "atom-o",
    "#ff7f00": "atom-o",
    "#0000ff": "atom-n",
    "#4284f4": "atom-n",
    "#a01eef": "atom-n",
    "#00cc00": "atom-x",
    "#33ccaa": "atom-x",
    "#cccc00": "atom-s",
    "#b2b200": "atom-s",
    "#7f4c19": "atom-br",
}
"""RDKit's colours of atoms, by the page's names for them: some cannot be read on black."""


@dataclass
class Gallery:
    """Every picture of a page, each once; `symbols` are put into it, `budget` is bytes left.

    What is over the budget is not shown, and told in words.
    """

    budget: int = 12_000_000
    symbols: list[Markup] = field(default_factory=list)
    left_out: int = 0
    _known: dict[object, Markup | None] = field(default_factory=dict)

    def molecules(self, smiles: str) -> Markup | None:
        """Structures of a SMILES text, or of each step of a pathway; None where it is neither."""
        key = ("molecules", smiles)
        if key not in self._known:
            drawings = steps(smiles) if ARROW in smiles else [(smiles, molecules(smiles))]
            drawn = [
                kept
                for what, drawing in drawings
                if drawing is not None
                and (kept := self._kept(drawing, f"structure of {what}", _ATOMS)) is not None
            ]
            self._known[key] = Markup("<br>").join(drawn) if drawn else None
        return self._known[key]

    def image(self, problem: Problem, instance: Instance) -> Markup | None:
        """The instance's image, made small; None where it has none or it cannot be read."""
        key = ("image", instance.x)
        if key not in self._known:
            made = _small(problem, instance)
            if made is not None and not self._fits(len(made)):
                made = None
            shown = Markup('<img class="xray" alt="{}" src="data:image/jpeg;base64,{}">')
            self._known[key] = (
                None if made is None else shown.format(f"the image of {instance.key}", made)
            )
        return self._known[key]

    def way(self, automaton: Automaton, taken: Sequence[Transition]) -> Markup | None:
        """The automaton with the way that an agent took; alike for all sessions of those tags."""
        key = (automaton.name, tuple(taken))
        if key not in self._known:
            state = taken[-1].target if taken else automaton.initial
            drawing = render(state_diagram(automaton, marked=state, path=taken), "svg").decode()
            words = f"the way through {automaton.name}, ending in {state}"
            self._known[key] = self._kept(drawing, words, palette.INK)
        return self._known[key]

    def chart(self, stored: StoredSession) -> Markup | None:
        """The sequence chart of a system's session; alike for all sessions of those actions."""
        key = tuple(one.action for one in stored.actions)
        if key not in self._known:
            drawing = render(replace(stored.diagram(), title="", note=""), "svg").decode()
            words = f"the {len(key)} actions of {stored.record.session}"
            self._known[key] = self._kept(drawing, words, palette.INK)
        return self._known[key]

    def _kept(self, drawing: str, title: str, colours: dict[str, str]) -> Markup | None:
        prefix = f"p{len(self.symbols)}"
        symbol = palette.embedded(drawing, prefix, title=title, colours=colours, symbol=True)
        if not self._fits(len(symbol)):
            return None
        self.symbols.append(symbol)
        return palette.used(prefix, title, *palette.size(drawing))

    def _fits(self, size: int) -> bool:
        if size > self.budget:
            self.left_out += 1
            return False
        self.budget -= size
        return True


def molecules(smiles: str) -> str | None:
    """An SVG of the molecules of a SMILES text, side by side; None where it is none.

    Nothing but the SMILES is read: what may follow it (names, labels of atoms) is refused.
    """
    from rdkit import Chem
    from rdkit.Chem.Draw import rdMolDraw2D
    from rdkit.rdBase import BlockLogs

    if not smiles.strip() or len(smiles) > _LONGEST_SMILES or smiles.split() != [smiles]:
        return None
    reading: Any = Chem.SmilesParserParams()
    reading.parseName = reading.allowCXSMILES = False
    with BlockLogs():
        molecule = Chem.MolFromSmiles(smiles, reading)
    if molecule is None or not 0 < molecule.GetNumAtoms() <= _MOST_ATOMS:
        return None
    canvas = _canvas()
    rdMolDraw2D.PrepareAndDrawMolecule(canvas, molecule)
    return _finished(canvas)


def steps(text: str) -> Sequence[tuple[str, str]]:
    """Each step of a pathway with an SVG of its reaction; none where `text` is no pathway."""
    try:
        found = read_pathway(text).steps if len(text) <= _LONGEST_PATHWAY else ()
    except DataError:
        return ()
    drawn = []
    for step in found:
        canvas = _canvas()
        draw_step(step, canvas)
        drawn.append((str(step), _finished(canvas)))
    return drawn


def _canvas() -> Any:
    """RDKit's canvas for an SVG that is as large as its molecules are."""
    from rdkit.Chem.Draw import rdMolDraw2D

    canvas = rdMolDraw2D.MolDraw2DSVG(-1, -1)
    options: Any = canvas.drawOptions()
    options.clearBackground = False
    options.bondLineWidth = 1.4
    options.scalingFactor = 21
    options.padding = 0.04
    return canvas


def _finished(canvas: Any) -> str:
    canvas.FinishDrawing()
    return str(canvas.GetDrawingText())


def _small(problem: Problem, instance: Instance) -> str | None:
    """The instance's image as a small JPEG, base64; read and written anew, so it is an image."""
    from PIL import Image

    try:
        found = problem.picture(instance)
        if found is None:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(found.data)) as opened:
                made = opened.convert("L" if opened.mode in ("1", "L", "I;16") else "RGB")
        made.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
        written = io.BytesIO()
        made.save(written, "JPEG", quality=80)
    except Exception:  # noqa: BLE001 - whatever is wrong with an image, the report goes on without
        return None
    return base64.b64encode(written.getvalue()).decode()
