"""The plug-in that the core's own tests install: one task."""

from __future__ import annotations

from pxp_fsm.registry import Plugin

PLUGIN = Plugin(
    name="animals",
    about="the task of the core's own tests",
    tasks={"animals": "tests.tasks.animals:ANIMALS"},
)
