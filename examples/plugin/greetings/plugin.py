"""What the plug-in adds; nothing here is heavy, since every command reads it."""

from pxp_fsm.registry import Entry, Format, Plugin

PLUGIN = Plugin(
    name="greetings",
    about="in which language somebody greets",
    tasks={"greetings": "greetings.task:GREETINGS"},
    checks=("greetings.check:PHRASES",),
    formats={"phrasebook": Format(".phrases", table="greetings.phrasebook:to_phrasebook")},
    pages={"greetings": "greetings.page:pages"},
    commands={"greet": Entry("greet in a language", "greetings.cli:greet")},
)
