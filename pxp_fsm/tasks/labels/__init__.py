"""Labels of texts or pictures of one's own: the task, and the machine that it comes with."""

from typing import TYPE_CHECKING

from pxp_fsm.lazy import attach

if TYPE_CHECKING:
    from pxp_fsm.tasks.labels.neighbours import Neighbours as Neighbours
    from pxp_fsm.tasks.labels.neighbours import Sight as Sight
    from pxp_fsm.tasks.labels.task import LABELS as LABELS

__getattr__, __dir__ = attach(
    globals(),
    {
        "pxp_fsm.tasks.labels.neighbours": "Neighbours Sight",
        "pxp_fsm.tasks.labels.task": "LABELS",
    },
)
