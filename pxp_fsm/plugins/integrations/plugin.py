"""What integrations add to the toolkit."""

from pxp_fsm.registry import Plugin

_HERE = "pxp_fsm.plugins.integrations"

PLUGIN = Plugin(
    name="integrations",
    about="recordings of Inspect and of OpenTelemetry, and tasks for Inspect",
    recordings=(f"{_HERE}.spans:SPANS", f"{_HERE}.inspect_logs:INSPECT"),
)
