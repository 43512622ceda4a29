"""Options of the `pxp lan` commands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pxp_fsm.cli.options import common
from pxp_fsm.options import option


def _network() -> Any:
    return option(argument=True)


def _model() -> Any:
    return option("The model of every agent (pxp help models), or script:FILE.", metavar="MODEL")


def _judge(text: str, **described: Any) -> Any:
    return option(text, None, metavar="MODEL", **described)


def _updater() -> Any:
    return option(
        "The model of the update's steps.", None, metavar="MODEL", default="that of the agents"
    )


def _output(text: str) -> Any:
    return option(text, short="-o")


def _iterations() -> Any:
    return option("Try at most N updates per example.", 5, least=1)


def _prompts() -> Any:
    return option(
        "A file of prompts; those that it leaves out are the bundled ones "
        "(pxp_fsm/plugins/easylan/running/prompts/lan.toml).",
        None,
    )


_EXAMPLES = 'JSON, one example per line: {"input": "...", "output": "..."}.'


@dataclass(frozen=True, kw_only=True)
class LanNewOptions:
    """Create the initial network for TASK: one agent whose subtask is the task."""

    task: str = option(argument=True)
    output: Path = _output("Write the network to this file (my.lan.json).")
    agent: str = option("The name of the agent.", "Solver", metavar="NAME")


@dataclass(frozen=True, kw_only=True)
class RunNetwork:
    """Run NETWORK on INPUT and print its output."""

    network: Path = _network()
    text: str = option(argument=True, metavar="INPUT")
    model: str = _model()
    prompts: Path | None = _prompts()
    stream: bool = option("Print each agent's activation and result as they happen.", False)
    models: common.ModelOptions


@dataclass(frozen=True, kw_only=True)
class LanTrainOptions:
    """Train NETWORK on examples, and save its file after each change.

    An update is tried on a copy. It is committed if the network still handles every earlier
    example.
    """

    network: Path = _network()
    examples: Path = option(_EXAMPLES)
    model: str = _model()
    updater: str | None = _updater()
    prompts: Path | None = _prompts()
    unattended: bool = option("Train without a developer: confirm every step.", False)
    developer: str | None = option(
        "The developer who supervises: terminal (a person), or simulated: confirms, edits:P or "
        "follows:FILE.",
        None,
        metavar="WHO",
    )
    judge: str | None = _judge(
        "The model that decides whether an output is acceptable and whether a rationale follows "
        "a hint.",
        default="equal texts, ignoring case and spaces",
    )
    iterations: int = _iterations()
    retries: int = option("Retry an update at most N times.", 5)
    database: str | None = option(
        "Store the session of each step in this database, as a run.", None, metavar="URL"
    )
    models: common.ModelOptions


@dataclass(frozen=True, kw_only=True)
class LanEditOptions:
    """Apply one OPERATION to NETWORK.

    \b
    create NAME TASK OUTPUT     add an agent
    delete NAME                 remove an agent and its edges
    connect NAME NAME           add an edge from the first to the second
    disconnect NAME NAME        remove an edge
    set NAME FIELD VALUE...     set name, task, output; enabled (yes, no);
                                knowledge, control_knowledge, required (texts)
    add NAME FIELD TEXT         add a piece of knowledge or control_knowledge
    replace NAME FIELD N TEXT   replace piece N of it, counted from 1
    drop NAME FIELD N           drop piece N of it
    task TEXT                   set the task of the network
    merge NAME INTO             let the second agent do what the first does too
    split NAME KIND PARTS...    replace an agent by parts, sequential or parallel;
                                each part is NAME TASK OUTPUT
    forget INPUT                forget a handled example
    """

    network: Path = _network()
    words: tuple[str, ...] = option(argument=True, metavar="OPERATION...")


@dataclass(frozen=True, kw_only=True)
class LanHistoryOptions:
    """Print the changes of NETWORK, or do one of ACTIONs: undo, redo, or a number to go back to.

    undo takes back the latest change, redo does again what was undone last, and a number of the
    history makes NETWORK again what it was then. Nothing in the history goes: each of them is a
    change too, and can be undone.
    """

    network: Path = _network()
    action: str | None = option("", None, argument=True, metavar="[undo|redo|N]")
    verbose: bool = common.verbose(
        "List the manual changes, each with its least UED, and with what it really took where that "
        "was counted; with --database also the developer's acts in the steps of the training."
    )
    run: str | None = option(
        "With -v and --database, the run of the training.",
        None,
        metavar="RUN",
        default="the latest one",
        listed="runs",
    )
    database: str | None = common.new_database("none")
    as_json: bool = common.as_json()


@dataclass(frozen=True, kw_only=True)
class ShowNetwork:
    """Print NETWORK, agent by agent: what it is, knows and did in the last run.

    The last run is that of pxp run, pxp lan train or pxp serve.
    """

    network: Path = _network()
    agent: str | None = option("Print this agent alone.", None, metavar="NAME")
    as_json: bool = common.as_json()


@dataclass(frozen=True, kw_only=True)
class ShowTask:
    """Print a task of networks and its criteria.

    The published JSON Schema of task files is pxp_fsm/plugins/easylan/experiments/task.schema.json.
    """

    task: str = option(argument=True)
    as_json: bool = common.as_json()


@dataclass(frozen=True, kw_only=True)
class LanTestOptions:
    """Score NETWORK on TASK (a name or a file), separately for training and testing examples.

    An output scores 1 if it meets all criteria of the task, else 0. With --examples, it scores 1 if
    it equals the expected text or if the judge accepts it. With neither, the examples that NETWORK
    has handled are run again, as far as its agents have changed. NETWORK is not changed.
    """

    network: Path = _network()
    task: str | None = option("", None, argument=True)
    examples: Path | None = option(f"Examples to use instead of a task: {_EXAMPLES}", None)
    model: str = _model()
    prompts: Path | None = _prompts()
    judge: str | None = _judge("The model that decides the criteria that no program can check.")
    seed: int = option("The seed of the split into training and testing examples.", 1)
    models: common.ModelOptions


@dataclass(frozen=True, kw_only=True)
class LanCompareOptions:
    """Train on TASK (a name or a file) in three ways, and compare the results.

    The three ways are EasyLAN; the baseline, where a simulated developer edits by hand and adds
    each failed example as knowledge, or follows a file; and the naive network, whose knowledge is
    exactly the training examples.
    """

    task: str = option(argument=True)
    model: str = _model()
    judge: str | None = _judge("The model that decides the criteria that no program can check.")
    developer: str = option(
        "The developer who supervises EasyLAN: nobody, confirms, edits:P, follows:FILE, terminal.",
        "confirms",
        metavar="WHO",
    )
    hand: str = option(
        "The developer who edits the baseline by hand: adds-examples, or follows:FILE.",
        "adds-examples",
        metavar="WHO",
    )
    seeds: str = option("The seeds; each determines one split.", "1", metavar="N,…")
    iterations: int = _iterations()
    resume: bool = option(
        "Go on with the comparison that was stopped: what models replied in it is not asked again, "
        "and counts toward the caps.",
        False,
    )
    output: Path = common.output("Write the trained networks into this folder.")
    database: str | None = option(
        "The database that stores sessions and calls: a file or a URL.",
        None,
        metavar="URL",
        default="in the output folder",
    )
    models: common.ModelOptions


@dataclass(frozen=True, kw_only=True)
class CompareNetworks:
    """Compute the LMD of two networks.

    LMD is the least manual editing (clicks, keys, drags) that turns one into the other. The table
    of published costs is pxp_fsm/plugins/easylan/distance/costs.toml.
    """

    before: Path = _network()
    after: Path = _network()


@dataclass(frozen=True, kw_only=True)
class ServeNetwork:
    """Open the studio: edit, run and train NETWORK in a browser; a new one begins with its task.

    The page has four regions: the network, an agent, runs and examples, and the dialogue on each
    step of an update. The server listens on this machine alone and writes NETWORK and files beside
    it: how far a training has come, places of agents, examples, texts under way. Ctrl-C ends it;
    started again it goes on where it was.
    """

    network: Path = option("", Path("network.lan.json"), argument=True, metavar="[NETWORK]")
    model: str | None = option(
        "The model of every agent (pxp help models), or script:FILE.",
        None,
        metavar="MODEL",
        default="none: the network is edited alone",
    )
    examples: Path | None = option(f"Also note the examples of this file: {_EXAMPLES}", None)
    updater: str | None = _updater()
    prompts: Path | None = _prompts()
    judge: str | None = _judge("The model that decides whether a rationale follows a hint.")
    iterations: int = _iterations()
    retries: int = option("Retry an update at most N times.", 5)
    database: str | None = option(
        "Store the session of each step in this database, as a run.", None, metavar="URL"
    )
    port: int = common.port(0)
    browser: bool = common.browser()
    models: common.ModelOptions
