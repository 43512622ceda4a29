"""What odds add to the toolkit."""

from pxp_fsm.registry import Entry, Plugin

_HERE = "pxp_fsm.plugins.odds"

PLUGIN = Plugin(
    name="odds",
    about="probabilities of the outcomes of sessions",
    names={"odds": f"{_HERE}.rationals:odds"},
    commands={
        "odds": Entry(
            "compute probabilities of outcomes",
            f"{_HERE}.cli.odds:odds",
            f"{_HERE}.cli.options:OddsOptions",
            "Verify tables",
        )
    },
)
