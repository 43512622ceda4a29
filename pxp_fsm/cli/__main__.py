"""`python -m pxp_fsm.cli` is the `pxp` command."""

from pxp_fsm.cli import main

main(prog_name="pxp")
