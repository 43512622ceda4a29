"""DRUG: retrosynthesis of approved small-molecule drugs."""

from typing import TYPE_CHECKING

from pxp_fsm.lazy import attach

if TYPE_CHECKING:
    from pxp_fsm.plugins.drug.pathway_relations import InvalidPathway as InvalidPathway
    from pxp_fsm.plugins.drug.pathway_relations import PathwayPart as PathwayPart
    from pxp_fsm.plugins.drug.pathway_relations import SamePathway as SamePathway
    from pxp_fsm.plugins.drug.relations import InvalidSmiles as InvalidSmiles
    from pxp_fsm.plugins.drug.relations import Reactants as Reactants
    from pxp_fsm.plugins.drug.relations import SameReaction as SameReaction
    from pxp_fsm.plugins.drug.retrosynthesis import Retrosynthesis as Retrosynthesis

__getattr__, __dir__ = attach(
    globals(),
    {
        "pxp_fsm.plugins.drug.pathway_relations": "InvalidPathway PathwayPart SamePathway",
        "pxp_fsm.plugins.drug.relations": "InvalidSmiles Reactants SameReaction",
        "pxp_fsm.plugins.drug.retrosynthesis": "Retrosynthesis",
    },
)
