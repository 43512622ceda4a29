"""What panels add to the toolkit."""

from pxp_fsm.registry import Plugin

_HERE = "pxp_fsm.plugins.panels"

PLUGIN = Plugin(
    name="panels",
    about="INTERACT and PXP among several agents",
    names={"Panel": f"{_HERE}.panel:Panel", "panels": _HERE},
    runs={"agents": f"{_HERE}.runs:PANELS"},
    options={"run": f"{_HERE}.forks:TurnChange"},
    subjects=(f"{_HERE}.policy:policy_of",),
)
