"""The roof: tasks, runs, statistics and the `pxp` command; it alone knows all other rooms."""
