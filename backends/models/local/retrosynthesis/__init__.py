"""One-step retrosynthesis by precedents and reaction templates: a local predictor that learns."""

from backends.models.local.retrosynthesis.precedents import Precedent
from backends.models.local.retrosynthesis.predictor import Retrosynthesis, precedents_of
from backends.models.local.retrosynthesis.ranking import Candidate

__all__ = ["Candidate", "Precedent", "Retrosynthesis", "precedents_of"]
