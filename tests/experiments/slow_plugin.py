"""The plug-in that has the slow task; every command reads it, so it imports nothing heavy."""

from pxp_fsm.registry import Plugin

PLUGIN = Plugin(
    name="slow",
    about="scripted agents that take their time",
    tasks={"slow": "tests.experiments.slow_task:TASK"},
)
