"""One-step retrosynthesis by reaction templates: a local predictor that learns."""

from backends.models.local.retrosynthesis.predictor import Retrosynthesis
from backends.models.local.retrosynthesis.ranking import Candidate

__all__ = ["Candidate", "Retrosynthesis"]
