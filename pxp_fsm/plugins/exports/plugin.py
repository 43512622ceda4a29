"""What exports add to the toolkit."""

from pxp_fsm.registry import Format, Plugin

_HERE = "pxp_fsm.plugins.exports"

PLUGIN = Plugin(
    name="exports",
    about="tables and systems for SPIN, PRISM, nuXmv, TLC, and SCXML both ways",
    names={"exports": _HERE},
    formats={
        "scxml": Format(
            ".scxml", table=f"{_HERE}.scxml:to_scxml", read=f"{_HERE}.scxml:from_scxml"
        ),
        "promela": Format(".pml", system=f"{_HERE}.promela:to_promela"),
        "prism": Format(".prism", system=f"{_HERE}.prism:to_prism"),
        "smv": Format(".smv", system=f"{_HERE}.smv:to_smv"),
        "tla": Format(".tla", system=f"{_HERE}.tla:to_tla", named=True),
    },
)
