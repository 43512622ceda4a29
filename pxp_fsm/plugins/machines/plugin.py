"""What machines of other libraries add to the toolkit."""

from pxp_fsm.registry import Entry, Plugin, SubjectKind

_HERE = "pxp_fsm.plugins.machines"
_OPTIONS = "pxp_fsm.cli.options"

PLUGIN = Plugin(
    name="machines",
    about="machines of transitions, python-statemachine and LangGraph",
    checks=(f"{_HERE}.checks:MACHINES",),
    automata=(f"{_HERE}.reading:table_of",),
    kinds={
        "machine": SubjectKind(
            "a machine of another library",
            {
                "check": Entry(
                    "its states and triggers, or a formula",
                    f"{_HERE}.cli:check",
                    f"{_OPTIONS}.check:CheckTables",
                ),
                "draw": Entry(
                    "its states", f"{_HERE}.cli:draw", f"{_HERE}.cli_options:DrawMachine"
                ),
            },
            # NAME of a module that the user names on the command line: nothing in a file does.
            # Its file in place of the module is told what to write.
            pattern=r"([^\W\d]\w*(\.[^\W\d]\w*)*|.+\.py):[^\W\d]\w*(\.[^\W\d]\w*)*",
        )
    },
)
