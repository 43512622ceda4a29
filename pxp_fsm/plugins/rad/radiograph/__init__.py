"""How chest radiographs are seen: measured features, and findings explained by them.

scikit-image (extra `rad`) is loaded at the first picture, not with this package.
"""

from pxp_fsm.plugins.rad.radiograph.explanation import LABELS
from pxp_fsm.plugins.rad.radiograph.predictor import Radiograph

__all__ = ["LABELS", "Radiograph"]
