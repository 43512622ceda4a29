"""`pxp conform`."""
