"""What the commands of `pxp lan` take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backends.models.settings import Settings
from pxp_fsm.cli.options import common
from pxp_fsm.options import option


def _network() -> Any:
    return option(argument=True)


def _model() -> Any:
    return option(
        "Whom all its agents ask: a model (docs/models.md), or script:FILE.", metavar="MODEL"
    )


def _judge(told: str, **described: Any) -> Any:
    return option(told, None, metavar="MODEL", **described)


def _output(told: str) -> Any:
    return option(told, short="-o")


def _iterations() -> Any:
    return option("Updates an example may take.", 5, least=1)


_EXAMPLES = 'JSON, one example per line: {"input": "...", "output": "..."}.'


@dataclass(frozen=True, kw_only=True)
class New:
    """Make the network that TASK begins with: one agent, whose subtask is the task."""

    task: str = option(argument=True)
    output: Path = _output("Where it is written (my.lan.json).")
    agent: str = option("Its name.", "Solver", metavar="NAME")


@dataclass(frozen=True, kw_only=True)
class Run:
    """Run NETWORK on INPUT and print its output."""

    network: Path = _network()
    text: str = option(argument=True, metavar="INPUT")
    model: str = _model()
    stream: bool = option("Each agent's activation and result as they happen.", False)
    models: Settings


@dataclass(frozen=True, kw_only=True)
class Train:
    """Train NETWORK by examples; its file is written anew after each change.

    An update is tried on a copy, and committed if every example that was handled before still is.
    """

    network: Path = _network()
    examples: Path = option(_EXAMPLES)
    model: str = _model()
    unattended: bool = option("Nobody supervises: every step is confirmed.", False)
    developer: str | None = option(
        "Who supervises: terminal (a person); or simulated, confirms, edits:P or follows:FILE.",
        None,
        metavar="WHO",
    )
    judge: str | None = _judge(
        "Who decides whether an output will do, and a rationale follows a hint.",
        default="only the same text, whatever its case and spaces",
    )
    iterations: int = _iterations()
    retries: int = option("Retries an update may take.", 5)
    database: str | None = option("Keep each step's session there, as a run.", None, metavar="URL")
    models: Settings


@dataclass(frozen=True, kw_only=True)
class Edit:
    """Edit NETWORK by one OPERATION.

    \b
    create NAME TASK OUTPUT     a new agent
    delete NAME                 an agent goes, with its edges
    connect NAME NAME           a new edge, from the first to the second
    disconnect NAME NAME        an edge goes
    set NAME FIELD VALUE...     name, task, output; enabled (yes, no);
                                knowledge, control_knowledge, required (texts)
    """

    network: Path = _network()
    words: tuple[str, ...] = option(argument=True, metavar="OPERATION...")


@dataclass(frozen=True, kw_only=True)
class Log:
    """Print what was done to NETWORK, change by change."""

    network: Path = _network()


@dataclass(frozen=True, kw_only=True)
class Undo:
    """Undo the latest change of NETWORK; the log keeps both."""

    network: Path = _network()


@dataclass(frozen=True, kw_only=True)
class Draw:
    """Draw NETWORK: its agents and the edges between them."""

    network: Path = _network()
    output: Path = _output("Its ending (.svg .png .dot .gv .mmd) determines the format.")


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """List the tasks that come with the package, or the criteria of TASK (a name or a file).

    The published JSON Schema of task files is pxp_fsm/experiments/networks/task.schema.json.
    """

    task: str | None = option("", None, argument=True)


@dataclass(frozen=True, kw_only=True)
class Test:
    """Score NETWORK on TASK (a name or a file): training and testing examples apart.

    An output scores 1 if it meets all criteria of the task, else 0. With --examples it is right if
    it is the output that was asked for, as a text, or if the judge says that it will do. NETWORK is
    not changed.
    """

    network: Path = _network()
    task: str | None = option("", None, argument=True)
    examples: Path | None = option(f"In place of a task: {_EXAMPLES}", None)
    model: str = _model()
    judge: str | None = _judge("Who decides the criteria that no program can.")
    seed: int = option("Of the task's split.", 1)
    models: Settings


@dataclass(frozen=True, kw_only=True)
class Compare:
    """Train on TASK (a name or a file) in three ways, and set them side by side.

    EasyLAN; the baseline, edited by hand by a simulated developer, who adds each example that goes
    wrong as knowledge or follows a file; and the naive network, whose knowledge is exactly the
    training examples.
    """

    task: str = option(argument=True)
    model: str = _model()
    judge: str | None = _judge("Who decides the criteria that no program can.")
    developer: str = option(
        "Who supervises EasyLAN: nobody, confirms, edits:P, follows:FILE or terminal.",
        "confirms",
        metavar="WHO",
    )
    hand: str = option(
        "Who edits the baseline by hand: adds-examples, or follows:FILE.",
        "adds-examples",
        metavar="WHO",
    )
    seeds: str = option("One split for each.", "1", metavar="N,…")
    iterations: int = _iterations()
    output: Path = common.output("Where the trained networks are written.")
    database: str | None = option(
        "Where sessions and calls are stored: a file or URL.",
        None,
        metavar="URL",
        default="in the output folder",
    )
    models: Settings


@dataclass(frozen=True, kw_only=True)
class Distance:
    """LMD: the least editing by hand (clicks, keys, drags) that turns BEFORE into AFTER.

    The published table of costs is pxp_fsm/networks/distance/costs.toml.
    """

    before: Path = _network()
    after: Path = _network()


@dataclass(frozen=True, kw_only=True)
class Actions:
    """What was done by hand to NETWORK, from its log: each action with its least UED."""

    network: Path = _network()
