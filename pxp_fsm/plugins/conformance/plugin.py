"""What conformance testing adds to the toolkit."""

from pxp_fsm.registry import Entry, Plugin

_HERE = "pxp_fsm.plugins.conformance"

PLUGIN = Plugin(
    name="conformance",
    about="conformance tests of programs against tables",
    names={"conformance": _HERE},
    options={"import": f"{_HERE}.cli.options:TraceOptions"},
    commands={
        "conform": Entry(
            "test a program against a table",
            f"{_HERE}.cli.conform:conform",
            f"{_HERE}.cli.options:ConformOptions",
            "Verify tables",
        )
    },
)
