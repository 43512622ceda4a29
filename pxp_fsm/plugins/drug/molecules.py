"""Molecules of DRUG: what rows are selected by ([C], appendix B), and how they are drawn."""

from __future__ import annotations

from functools import lru_cache
from io import BytesIO
from typing import Any

from pxp_fsm.plugins.drug.pathway_relations import ARROW, ReactionStep, read_pathway
from pxp_fsm.plugins.drug.relations import canonical_smiles
from pxp_fsm.prompting.model import Image
from pxp_fsm.protocol.messages import Instance

_MOLECULE, _STEP = (600, 400), (900, 220)
"""Pixels of a drawing of a molecule, and of each step of a pathway."""


def weight(smiles: str) -> float:
    """The average molecular weight of `smiles`, in g/mol; raises `DataError` where it is none.

    >>> f"{weight('CC(=O)Nc1ccc(O)cc1'):.2f}"
    '151.16'
    """
    from rdkit.Chem import MolFromSmiles, rdMolDescriptors

    return float(rdMolDescriptors._CalcMolWt(MolFromSmiles(canonical_smiles(smiles))))


def aromatic_rings(smiles: str) -> int:
    """How many aromatic rings `smiles` has; raises `DataError` where it is no molecule."""
    from rdkit.Chem import MolFromSmiles, rdMolDescriptors

    return int(rdMolDescriptors.CalcNumAromaticRings(MolFromSmiles(canonical_smiles(smiles))))


@lru_cache(maxsize=256)
def drawing(instance: Instance) -> Image:
    """The molecule that `instance.x` is, or each step of a pathway below the one before, as PNG.

    Raises `DataError` where it is neither.
    """
    from rdkit.Chem import MolFromSmiles
    from rdkit.Chem.Draw import rdMolDraw2D

    if ARROW not in instance.x:
        canvas = rdMolDraw2D.MolDraw2DCairo(*_MOLECULE)
        rdMolDraw2D.PrepareAndDrawMolecule(canvas, MolFromSmiles(canonical_smiles(instance.x)))
        canvas.FinishDrawing()
        return Image("image/png", canvas.GetDrawingText())
    from PIL import Image as Pillow

    steps = read_pathway(instance.x).steps
    width, height = _STEP
    sheet = Pillow.new("RGB", (width, height * len(steps)), "white")
    for place, step in enumerate(steps):
        canvas = rdMolDraw2D.MolDraw2DCairo(*_STEP)
        draw_step(step, canvas)
        canvas.FinishDrawing()
        with Pillow.open(BytesIO(canvas.GetDrawingText())) as drawn:
            sheet.paste(drawn, (0, place * height))
    written = BytesIO()
    sheet.save(written, "PNG")
    return Image("image/png", written.getvalue())


def draw_step(step: ReactionStep, canvas: Any) -> None:
    """Draw the reaction of `step` on a canvas of RDKit's."""
    from rdkit.Chem import MolFromSmiles
    from rdkit.Chem.rdChemReactions import ChemicalReaction

    reaction = ChemicalReaction()
    for reactant in step.reactants:
        reaction.AddReactantTemplate(MolFromSmiles(reactant))
    reaction.AddProductTemplate(MolFromSmiles(step.product))
    canvas.DrawReaction(reaction)
