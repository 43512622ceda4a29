"""`pxp test`: the machine of a run on test data, by message."""

from __future__ import annotations

import asyncio
import json

import click

from backends.databases import SqlBlackboard
from backends.models.settings import Settings
from pxp_fsm.cli.options import sessions as options
from pxp_fsm.cli.presentation.text import console, printable, waits
from pxp_fsm.errors import Halted, counted
from pxp_fsm.experiments import accuracy, costs
from pxp_fsm.experiments.accuracy import Examination
from pxp_fsm.experiments.costs import Meter
from pxp_fsm.experiments.plan_data import with_stored_caps
from pxp_fsm.experiments.sheets import Sheet, as_rich
from pxp_fsm.experiments.statistics import rounded


def test(request: options.TestOptions) -> None:
    """Ask what is not answered yet, and print the curve."""
    run = request.run
    with SqlBlackboard(request.database, create=False) as board:
        meter = costs.meter_of(board, run)
        board.lock(run)
        try:
            settings = with_stored_caps(request.models.settings, board.run(run))
            asked = asyncio.run(
                _asked(board, run, request.limit, settings, meter, as_json=request.as_json)
            )
        except KeyboardInterrupt:
            reason = f"Stopped. What was replied is stored: pxp test {run} asks the rest"
            raise KeyboardInterrupt(reason) from None
        except Halted as error:
            raise Halted(
                f"{error}\nWhat was replied is stored: pxp test {run} asks the rest"
            ) from error
        finally:
            board.unlock(run)
    every, whole = len(asked.data.test), len(asked.answered)
    if request.as_json:
        curve = [
            {
                "messages heard": j,
                "median": float(at.median),
                "least": float(at.least),
                "most": float(at.most),
            }
            for j, at in asked.curve()
        ]
        document = {"run": run, "right": curve, "rows": every, "answered": whole}
        click.echo(json.dumps(document, indent=1))
        return
    rows = [
        (str(j), *(rounded(share) for share in (at.median, at.least, at.most)))
        for j, at in asked.curve()
    ]
    headings = ("messages heard", "right, median", "min", "max")
    console().print(as_rich(Sheet(f"Run {run} on its test data", headings, tuple(rows))))
    click.echo(f"{whole} of {counted(every, 'test row')} were asked after every message.")
    if meter.shown():
        click.echo(f"Models were asked, the sessions included: {meter.shown()}")


async def _asked(
    board: SqlBlackboard,
    run: str,
    rows: int | None,
    settings: Settings,
    meter: Meter,
    *,
    as_json: bool,
) -> Examination:
    async with costs.serving_of(board, run, settings, meter, waits) as serving:
        examination = accuracy.of_run(board, run, settings, serving.model)
        about = (examination.plan, examination.task, examination.data, examination.until)
        stored = accuracy.from_record(board, run, *about, settings.catalogue)
        await stored.ask(rows)
        examination.right |= stored.right
        asked = len(examination.data.test[:rows])
        every = len(examination.cuts) * asked
        left = every - len(examination.right)
        click.echo(
            printable(
                f"Run {run}: {counted(asked, 'test row')}, {left:,} of "
                f"{counted(every, 'question')} to be asked"
            ),
            err=as_json,
        )
        at_once = every if settings.batches else settings.in_flight
        await examination.ask(rows, at_once, serving.session)
    return examination
