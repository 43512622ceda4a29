"""`python -m pxp_fsm.workbench` is the `pxp` command."""

from pxp_fsm.workbench.cli import main

main(prog_name="pxp")
