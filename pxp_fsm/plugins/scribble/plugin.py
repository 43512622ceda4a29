"""What Scribble adds to the toolkit."""

from pxp_fsm.registry import Entry, Format, Plugin, SubjectKind

_HERE = "pxp_fsm.plugins.scribble"
_CLI = "pxp_fsm.cli"

PLUGIN = Plugin(
    name="scribble",
    about="global protocols in Scribble, checked and projected to tables",
    names={"scribble": _HERE},
    formats={
        "scribble": Format(
            ".scr", read=f"{_HERE}.protocols:read", reads_system=True, channel="fifo:1"
        )
    },
    kinds={
        "global protocol": SubjectKind(
            "a global protocol",
            {
                "check": Entry(
                    "its form, and what its roles do together",
                    f"{_HERE}.cli.protocols:check",
                    f"{_HERE}.cli.options:CheckProtocol",
                ),
                "export": Entry(
                    "as a system file with a table for each role",
                    f"{_HERE}.cli.protocols:export",
                    f"{_HERE}.cli.options:ExportProtocol",
                ),
                "compare": Entry(
                    "inclusion and equivalence",
                    f"{_CLI}.compare:tables",
                    f"{_CLI}.options.results:CompareTables",
                ),
                "draw": Entry(
                    "its roles", f"{_CLI}.draw:tables", f"{_CLI}.options.draw:DrawSystem"
                ),
                "run": Entry("its sessions", f"{_CLI}.run:run", f"{_CLI}.options.sessions:RunTask"),
                "serve": Entry(
                    "its behaviour, step by step",
                    f"{_CLI}.serve:system",
                    f"{_CLI}.options.serve:ServeSystem",
                ),
            },
            endings=(".scr",),
        )
    },
)
