"""What studies add to the toolkit."""

from pxp_fsm.registry import Entry, Plugin

_HERE = "pxp_fsm.plugins.studies"

PLUGIN = Plugin(
    name="studies",
    about="studies with people: arms, consent, blinding, lifecycles that are proved",
    names={"studies": _HERE},
    commands={
        "study": Entry(
            "let people take part in a study",
            f"{_HERE}.cli.commands:study",
            section="Run sessions",
        )
    },
)
