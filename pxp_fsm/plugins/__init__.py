"""Plug-ins that come with the package; core imports none of them (`pxp_fsm.registry`)."""
