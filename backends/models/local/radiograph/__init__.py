"""A local predictor of findings in chest radiographs, from measured features. It learns.

scikit-image and scikit-learn (extra `rad`) are loaded at the first picture, not with this package.
"""

from backends.models.local.radiograph.explanation import LABELS
from backends.models.local.radiograph.images import checked
from backends.models.local.radiograph.predictor import Radiograph

__all__ = ["LABELS", "Radiograph", "checked"]
