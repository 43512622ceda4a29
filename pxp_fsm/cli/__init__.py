"""The `pxp` command. Each sub-command loads what it needs only when it is run."""

from pxp_fsm.cli.main import main

__all__ = ["main"]
