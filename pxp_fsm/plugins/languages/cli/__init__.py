"""`pxp language`."""
