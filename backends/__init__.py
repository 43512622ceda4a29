"""Everything outside the process: models, databases and people."""

__distribution__ = "pxp-fsm"
