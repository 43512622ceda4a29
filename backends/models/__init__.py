"""Models that answer: local predictors, and models behind a network."""

from backends.models.retrosynthesis import Retrosynthesis

__all__ = ["Retrosynthesis"]
