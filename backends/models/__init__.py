"""Models that give answers: local predictors, and models on servers."""

from backends.models.local.radiograph import Radiograph
from backends.models.local.retrosynthesis import Retrosynthesis
from backends.models.respondent import ModelRespondent
from backends.models.scripts import ScriptedModel

__all__ = ["ModelRespondent", "Radiograph", "Retrosynthesis", "ScriptedModel"]
