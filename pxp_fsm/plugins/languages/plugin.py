"""What languages add to the toolkit."""

from pxp_fsm.registry import Entry, Plugin

_HERE = "pxp_fsm.plugins.languages"

PLUGIN = Plugin(
    name="languages",
    about="tag languages of protocols and recordings, counted and compared",
    names={"language": f"{_HERE}.operands:language"},
    lists={
        "languages": Entry(
            "sets of tag sequences: pxp language LANGUAGE", f"{_HERE}.operands:meanings"
        )
    },
    commands={
        "language": Entry(
            "count, list and compare tag sequences",
            f"{_HERE}.cli.language:language",
            f"{_HERE}.cli.options:LanguageOptions",
            "Verify tables",
        )
    },
)
