"""What DRUG adds to the toolkit."""

from pxp_fsm.registry import Plugin

_HERE = "pxp_fsm.plugins.drug"

PLUGIN = Plugin(
    name="drug",
    about="retrosynthesis of drug molecules",
    names={"drug": _HERE},
    relations={
        "reactants": f"{_HERE}.relations:Reactants",
        "same-reaction": f"{_HERE}.relations:SameReaction",
    },
    tasks={"drug": f"{_HERE}.task:DRUG"},
    pictures={
        "molecules": f"{_HERE}.pictures:draw_molecules",
        "predictions": f"{_HERE}.pictures:draw_predictions",
    },
    options={"data select": f"{_HERE}.selection:MoleculeFilter"},
)
