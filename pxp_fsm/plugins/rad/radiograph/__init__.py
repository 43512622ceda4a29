"""A local predictor of findings in chest radiographs, from measured features. It learns.

scikit-image (extra `rad`) is loaded at the first picture, not with this package.
"""

from pxp_fsm.plugins.rad.radiograph.explanation import LABELS
from pxp_fsm.plugins.rad.radiograph.images import checked
from pxp_fsm.plugins.rad.radiograph.predictor import Radiograph

__all__ = ["LABELS", "Radiograph", "checked"]
