"""One-step retrosynthesis by precedents and reaction templates: a local predictor that learns."""

from pxp_fsm.plugins.drug.retrosynthesis.precedents import Precedent
from pxp_fsm.plugins.drug.retrosynthesis.predictor import Retrosynthesis, precedents_of
from pxp_fsm.plugins.drug.retrosynthesis.ranking import Candidate

__all__ = ["Candidate", "Precedent", "Retrosynthesis", "precedents_of"]
