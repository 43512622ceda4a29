"""What exports add to the toolkit."""

from pxp_fsm.registry import Format, Plugin

_HERE = "pxp_fsm.plugins.exports"

PLUGIN = Plugin(
    name="exports",
    about="tables and systems for SPIN, PRISM, nuXmv, TLC; SCXML, KMC's and CADP's both ways",
    names={"exports": _HERE},
    formats={
        "scxml": Format(
            ".scxml", table=f"{_HERE}.scxml:to_scxml", read=f"{_HERE}.scxml:from_scxml"
        ),
        "promela": Format(".pml", system=f"{_HERE}.promela:to_promela"),
        "prism": Format(".prism", system=f"{_HERE}.prism:to_prism"),
        "smv": Format(".smv", system=f"{_HERE}.smv:to_smv"),
        "tla": Format(".tla", system=f"{_HERE}.tla:to_tla", named=True),
        "aalpy": Format(".dot", table=f"{_HERE}.aalpy_dot:to_aalpy"),
        "cfsm": Format(
            ".cfsm",
            system=f"{_HERE}.cfsm:to_cfsm",
            read=f"{_HERE}.cfsm:from_cfsm",
            reads_system=True,
            channel="fifo",
        ),
        "kmc": Format(
            ".txt",
            system=f"{_HERE}.cfsm:to_cfsm",
            read=f"{_HERE}.cfsm:from_cfsm",
            reads_system=True,
            channel="fifo",
        ),
        "aut": Format(
            ".aut",
            table=f"{_HERE}.aldebaran:to_aldebaran",
            system=f"{_HERE}.aldebaran:graph_to_aldebaran",
            read=f"{_HERE}.aldebaran:from_aldebaran",
        ),
    },
)
