"""RAD: findings in chest radiographs."""

from typing import TYPE_CHECKING

from pxp_fsm.lazy import attach

if TYPE_CHECKING:
    from pxp_fsm.plugins.rad.radiograph import Radiograph as Radiograph
    from pxp_fsm.plugins.rad.relations import SameFindings as SameFindings

__getattr__, __dir__ = attach(
    globals(),
    {
        "pxp_fsm.plugins.rad.radiograph": "Radiograph",
        "pxp_fsm.plugins.rad.relations": "SameFindings",
    },
)
