"""What RAD adds to the toolkit."""

from pxp_fsm.registry import Plugin

_HERE = "pxp_fsm.plugins.rad"

PLUGIN = Plugin(
    name="rad",
    about="findings in chest radiographs",
    names={"rad": _HERE},
    relations={"same-findings": f"{_HERE}.relations:SameFindings"},
    tasks={"rad": f"{_HERE}.task:RAD"},
)
