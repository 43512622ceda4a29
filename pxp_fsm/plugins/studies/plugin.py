"""What studies add to the toolkit."""

from pxp_fsm.registry import Entry, Plugin, SubjectKind

_HERE = "pxp_fsm.plugins.studies"

PLUGIN = Plugin(
    name="studies",
    about="studies with people: arms, consent, blinding, lifecycles that are proved",
    names={"studies": _HERE},
    kinds={
        "study": SubjectKind(
            "a study",
            {
                "check": Entry(
                    "its file, and the lifecycles by which it is run",
                    f"{_HERE}.cli.study:check",
                    f"{_HERE}.cli.options:CheckStudy",
                ),
                "export": Entry(
                    "its data without names",
                    f"{_HERE}.cli.study:export",
                    f"{_HERE}.cli.options:ExportStudy",
                ),
                "serve": Entry(
                    "its people, who take part in a browser",
                    f"{_HERE}.cli.study:serve",
                    f"{_HERE}.cli.options:ServeStudy",
                ),
                "show": Entry(
                    "who takes part, how far they are, who waits for whom",
                    f"{_HERE}.cli.study:show",
                    f"{_HERE}.cli.options:ShowStudy",
                ),
            },
            keys=("experts", "arms", "tasks", "consent"),
            others=("study change",),
        )
    },
    commands={
        "study": Entry(
            "let people take part in a study",
            f"{_HERE}.cli.commands:study",
            section="Run sessions",
        )
    },
)
