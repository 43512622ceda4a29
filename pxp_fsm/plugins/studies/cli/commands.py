"""`pxp study`: the commands of studies."""

from __future__ import annotations

import click

from pxp_fsm.cli.command import CommandGroup
from pxp_fsm.registry import Entry

_HERE = __name__.rpartition(".")[0]

_COMMANDS = {
    "change": Entry(
        "open, pause, resume, close, anonymise a study",
        f"{_HERE}.study:change",
        f"{_HERE}.options:StudyChangeOptions",
    ),
}


_INSTEAD = {
    "serve": "serve STUDY.toml",
    "check": "check STUDY.toml",
    "status": "show STUDY.toml",
    "export": "export STUDY.toml",
}


@click.group(cls=CommandGroup, sections={"Commands": _COMMANDS}, instead=_INSTEAD)
def study() -> None:
    """Conduct studies with people, set up in files such as my_study.toml (pxp help studies)."""
