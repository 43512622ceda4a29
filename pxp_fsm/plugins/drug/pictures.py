"""Pictures of molecules, and of the steps of a pathway, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pxp_fsm.errors import DataError
from pxp_fsm.experiments.reports.pictures import Drawing
from pxp_fsm.plugins.drug.molecules import draw_step
from pxp_fsm.plugins.drug.pathway_relations import ARROW, read_pathway

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


def draw_predictions(text: str) -> Sequence[Drawing]:
    """Structures of a SMILES text, or each step of a pathway; none where it is neither."""
    return _steps(text) if ARROW in text else draw_molecules(text)


def draw_molecules(smiles: str) -> Sequence[Drawing]:
    """The molecules of a SMILES text, side by side in one picture; none where it is none.

    Nothing but the SMILES is read: what may follow it (names, labels of atoms) is refused.
    """
    from rdkit import Chem
    from rdkit.Chem.Draw import rdMolDraw2D
    from rdkit.rdBase import BlockLogs

    if not smiles.strip() or len(smiles) > _LONGEST_SMILES or smiles.split() != [smiles]:
        return ()
    reading: Any = Chem.SmilesParserParams()
    reading.parseName = reading.allowCXSMILES = False
    with BlockLogs():
        molecule = Chem.MolFromSmiles(smiles, reading)
    if molecule is None or not 0 < molecule.GetNumAtoms() <= _MOST_ATOMS:
        return ()
    canvas = _canvas()
    rdMolDraw2D.PrepareAndDrawMolecule(canvas, molecule)
    return (_finished(canvas, smiles),)


def _steps(text: str) -> Sequence[Drawing]:
    """The reaction of each step of a pathway; none where `text` is no pathway."""
    try:
        steps = read_pathway(text).steps if len(text) <= _LONGEST_PATHWAY else ()
    except DataError:
        return ()
    drawn = []
    for step in steps:
        canvas = _canvas()
        draw_step(step, canvas)
        drawn.append(_finished(canvas, str(step)))
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


def _finished(canvas: Any, subject: str) -> Drawing:
    canvas.FinishDrawing()
    return Drawing(f"structure of {subject}", str(canvas.GetDrawingText()), _ATOMS)
