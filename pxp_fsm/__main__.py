"""`python -m pxp_fsm` is the command `pxp`."""

from pxp_fsm.cli.__main__ import main

main(prog_name="pxp")
