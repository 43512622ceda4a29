"""The plug-in that has the scripted task; every command reads it, so it imports nothing heavy."""

from pxp_fsm.registry import Plugin

PLUGIN = Plugin(name="scripted", about="scripted agents", tasks={"scripted": "scripted_task:TASK"})
