"""Options of the commands about pxp-fsm itself: `pxp list`, `help`, `doctor`."""

from __future__ import annotations

from pxp_fsm.cli.options import common
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import option
from pxp_fsm.registry import contributions

KINDS = {
    "tasks": "what sessions are about: pxp run TASK",
    "checks": "what is checked of any table or system: pxp help CHECK",
    "claims": "what is claimed of one protocol: pxp check --property CLAIM",
    "runs": "the runs of a database: pxp report DATABASE RUN",
    "costs": "what models cost in each run: pxp list costs RUN",
    "models": "models with their prices: pxp run --machine MODEL",
    "systems": "built-in tables, and the tables and system files of this folder: pxp check SYSTEM",
} | {name: entry.short for name, entry in contributions("lists").items()}
"""What can be listed, and which command takes such a name."""


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """List what commands take by name, each with its meaning.

    Runs and costs are those of the database, costs of one RUN where it is given; models are those
    of the catalogue, with prices; systems are the built-in tables, and the tables and system files
    of this folder. Of costs, calls served from the call cache are counted ("cached" says how many)
    and cost nothing; "prompt cache" are tokens that the vendor had cached; "again" counts retries
    after a failure, "a session" the calls per started session, and "unsettled" the calls that were
    under way when a run was stopped: each counts for the most that it may have cost. Without an
    argument list what can be listed.
    """

    kind: str | None = option("", None, argument=True, choices=tuple(KINDS))
    run: str | None = option("", None, argument=True, metavar="[RUN]", listed="runs")
    database: str = common.database("The database that holds the runs: a file or a URL.")
    as_json: bool = common.as_json()


@dataclass(frozen=True, kw_only=True)
class HelpOptions:
    """Print the page TOPIC, the options of the command TOPIC, or what the check TOPIC says.

    Without TOPIC list the pages.
    """

    topic: str | None = option("", None, argument=True)


@dataclass(frozen=True, kw_only=True)
class DoctorOptions:
    """Report what is installed, which extras and outside tools are found, and what they enable.

    Exit code 1: a package of pxp-fsm is shadowed or was replaced by another.
    """

    as_json: bool = common.as_json()
