"""Global protocols in Scribble, projected to tables."""

from typing import TYPE_CHECKING

from pxp_fsm.lazy import attach

if TYPE_CHECKING:
    from pxp_fsm.plugins.scribble.protocols import check_fair as check_fair
    from pxp_fsm.plugins.scribble.protocols import check_unfair as check_unfair
    from pxp_fsm.plugins.scribble.protocols import load as load
    from pxp_fsm.plugins.scribble.protocols import read as read
    from pxp_fsm.plugins.scribble.protocols import write as write

__getattr__, __dir__ = attach(
    globals(),
    {"pxp_fsm.plugins.scribble.protocols": "check_fair check_unfair load read write"},
)
