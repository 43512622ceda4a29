"""DRUG as models and people are asked it: sets of reactants, written as SMILES."""

from __future__ import annotations

from collections.abc import Sequence

from guards.chemistry import canonical_smiles
from pxp_fsm.errors import DataError
from pxp_fsm.messages import Instance, quoted
from pxp_fsm.models import Image
from pxp_fsm.problem import Problem

QUERY = "Which reactants make this molecule in one step, and by which reaction?"


def from_text(text: str) -> str:
    """SMILES joined by ".", as a message carries them: canonical; raises `DataError`."""
    return canonical_smiles(text.strip())


def from_json(value: object) -> str:
    """A list of SMILES as a message carries them; raises `DataError`."""
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise DataError(f"the reactants are a list of SMILES, at least one: {quoted(value)}")
    for smiles in value:
        if not isinstance(smiles, str):
            raise DataError(f"a reactant is a SMILES text: {quoted(smiles)}")
    return canonical_smiles(".".join(value))


def drawing(instance: Instance) -> Image:
    """The molecule drawn, 600 by 400 pixels."""
    from rdkit.Chem import MolFromSmiles
    from rdkit.Chem.Draw import rdMolDraw2D

    canvas = rdMolDraw2D.MolDraw2DCairo(600, 400)
    rdMolDraw2D.PrepareAndDrawMolecule(canvas, MolFromSmiles(canonical_smiles(instance.x)))
    canvas.FinishDrawing()
    return Image("image/png", canvas.GetDrawingText())


PROBLEM = Problem(
    name="drug",
    query=QUERY,
    prediction={
        "type": "array",
        "items": {"type": "string", "description": "the SMILES of one reactant"},
        "description": "the reactants",
    },
    from_json=from_json,
    from_text=from_text,
    drawing=drawing,
    to_json=lambda text: text.split("."),
    smiles=True,
)
