"""`pxp study`: the commands of studies."""

from __future__ import annotations

import click

from pxp_fsm.cli.command import CommandGroup
from pxp_fsm.registry import Entry

_HERE = __name__.rpartition(".")[0]

_COMMANDS = {
    "check": Entry(
        "check a study and prove its lifecycles",
        f"{_HERE}.study:check",
        f"{_HERE}.options:StudyCheckOptions",
    ),
    "serve": Entry(
        "let people take part in a browser",
        f"{_HERE}.study:serve",
        f"{_HERE}.options:StudyServeOptions",
    ),
    "change": Entry(
        "open, pause, resume, close, anonymise a study",
        f"{_HERE}.study:change",
        f"{_HERE}.options:StudyChangeOptions",
    ),
    "status": Entry(
        "show who takes part, and who waits for whom",
        f"{_HERE}.study:status",
        f"{_HERE}.options:StudyStatusOptions",
    ),
    "export": Entry(
        "export a study without names",
        f"{_HERE}.study:export",
        f"{_HERE}.options:StudyExportOptions",
    ),
}


@click.group(cls=CommandGroup, sections={"Commands": _COMMANDS})
def study() -> None:
    """Conduct studies with people, set up in files such as my_study.toml (pxp help studies)."""
