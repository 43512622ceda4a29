"""The command group: its help, its errors and its exit codes."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

import click

from pxp_fsm import __version__
from pxp_fsm.errors import BlackboardError, NotThere, PXPError
from pxp_fsm.workbench.cli.check import check
from pxp_fsm.workbench.cli.draw import draw
from pxp_fsm.workbench.cli.exchange import export, import_
from pxp_fsm.workbench.cli.printing import printable
from pxp_fsm.workbench.cli.run import run
from pxp_fsm.workbench.cli.sessions import sessions
from pxp_fsm.workbench.cli.verify import upgrade, verify

BAD_INPUT, FAULT, INTERRUPTED = 2, 3, 130
"""Exit codes beside 0: a request that cannot be met, a database or disk at fault, Ctrl-C."""


class _Group(click.Group):
    def invoke(self, ctx: click.Context) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise click.exceptions.Exit(0) from None
        except (PXPError, OSError) as error:
            lines = f"Error: {error}".split("\n")
            click.echo("\n".join(map(printable, lines)), err=True)
            absent = isinstance(error, NotThere)
            fault = isinstance(error, (BlackboardError, OSError)) and not absent
            raise click.exceptions.Exit(FAULT if fault else BAD_INPUT) from error
        except KeyboardInterrupt:
            raise click.exceptions.Exit(INTERRUPTED) from None


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="pxp")
def main() -> None:
    """State machines, proved and run, for protocols between agents that predict and explain.

    Exit codes: 0 done, 1 a stored run was changed (verify), 2 the request or its data cannot be
    used, 3 a database or disk failed, 130 stopped by Ctrl-C (everything sent so far is stored).
    """


main.add_command(check)
main.add_command(run)
main.add_command(sessions)
main.add_command(draw)
main.add_command(verify)
main.add_command(upgrade)
main.add_command(export)
main.add_command(import_)
