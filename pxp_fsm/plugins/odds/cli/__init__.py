"""`pxp odds`."""
