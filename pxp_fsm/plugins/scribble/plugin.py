"""What Scribble adds to the toolkit."""

from pxp_fsm.registry import Entry, Plugin, SubjectKind

_HERE = "pxp_fsm.plugins.scribble"

PLUGIN = Plugin(
    name="scribble",
    about="global protocols in Scribble, checked and projected to tables",
    names={"scribble": _HERE},
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
            },
            endings=(".scr",),
        )
    },
)
