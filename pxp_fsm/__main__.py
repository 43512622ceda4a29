"""`python -m pxp_fsm` is the command `pxp`."""

from pxp_fsm.cli import main

main(prog_name="pxp")
