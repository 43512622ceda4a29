"""The `pxp` command. Each sub-command loads what it needs only when it is run."""
