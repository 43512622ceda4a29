"""Models that answer: local predictors, and models behind a network."""

from backends.models.answering import ModelRespondent
from backends.models.radiograph import Radiograph
from backends.models.retrosynthesis import Retrosynthesis
from backends.models.scripted import ScriptedModel

__all__ = ["ModelRespondent", "Radiograph", "Retrosynthesis", "ScriptedModel"]
