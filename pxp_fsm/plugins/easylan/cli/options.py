"""Options of the `pxp lan` commands."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pxp_fsm.cli.options import common
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import WHO, option


def _network() -> Any:
    return option(argument=True)


def _machine() -> Any:
    return option(
        "The model of every agent (pxp help models), or script:FILE.",
        metavar="WHO",
        listed="models",
        group=WHO,
    )


def _output(text: str) -> Any:
    return option(text, short="-o")


def _steps() -> Any:
    return option(
        "Store the session of each step in this database, as a run.",
        None,
        metavar="URL",
        default="none",
        common=True,
    )


@dataclass(frozen=True, kw_only=True)
class LanNewOptions:
    """Create the initial network for TASK: one agent whose subtask is the task."""

    task: str = option(argument=True)
    output: Path = _output("Write the network to this file (my.lan.json).")


_JUDGE = {"--judge": "give --set judge=MODEL"}


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """What --set KEY=VALUE sets where a network runs."""

    prompts: str | None = option(
        "A file of prompts; those that it leaves out are the bundled ones "
        "(pxp_fsm/plugins/easylan/running/prompts/lan.toml).",
        None,
    )


@dataclass(frozen=True, kw_only=True)
class TestSettings(NetworkSettings):
    """What --set KEY=VALUE sets of a test."""

    judge: str | None = option(
        "The model that decides whether an output is acceptable, and the criteria that no program "
        "can check.",
        None,
        default="equal texts, ignoring case and spaces",
    )


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(NetworkSettings):
    """What --set KEY=VALUE sets of a training."""

    judge: str | None = option(
        "The model that decides whether an output is acceptable and whether a rationale follows "
        "a hint.",
        None,
        default="equal texts, ignoring case and spaces",
    )
    updater: str | None = option(
        "The model of the update's steps.", None, default="that of the agents"
    )
    iterations: int = option("Try at most N updates per example.", 5, least=1)
    retries: int = option("Retry an update at most N times.", 5, least=0)


@dataclass(frozen=True, kw_only=True)
class ComparisonSettings:
    """What --set KEY=VALUE sets of a comparison of three ways of training."""

    judge: str | None = option(
        "The model that decides the criteria that no program can check.", None
    )
    developer: str = option(
        "The developer who supervises EasyLAN: nobody, confirms, edits:P, follows:FILE, terminal.",
        "confirms",
    )
    hand: str = option(
        "The developer who edits the baseline by hand: adds-examples, or follows:FILE.",
        "adds-examples",
    )
    seeds: tuple[int, ...] = option(
        "The seeds; each determines one split.", (1,), least=0, most=10**9, unique=True
    )
    iterations: int = option("Try at most N updates per example.", 5, least=1)
    resume: bool = option(
        "Go on with the comparison that was stopped: what models replied in it is not asked again, "
        "and counts toward the caps.",
        False,
    )


@dataclass(frozen=True, kw_only=True)
class RunNetwork:
    """Run NETWORK on INPUT and print its output."""

    network: Path = _network()
    text: str = option(argument=True, metavar="INPUT")
    machine: str = _machine()
    assignments: tuple[str, ...] = common.assignments()
    verbose: bool = common.verbose("Print each agent's activation and result as they happen.")
    as_json: bool = common.as_json()
    models: common.ModelOptions


@dataclass(frozen=True, kw_only=True)
class LanTrainOptions:
    """Train NETWORK on EXAMPLES, and save its file after each change.

    EXAMPLES is a file of JSON, one example per line: {"input": "...", "output": "..."}. An update
    is tried on a copy. It is committed if the network still handles every earlier example.
    """

    instead: ClassVar[Mapping[str, str]] = _JUDGE
    network: Path = _network()
    examples: Path = option(argument=True)
    machine: str = _machine()
    developer: str = option(
        "The developer who supervises: terminal (a person), nobody (every step is confirmed), or "
        "simulated: confirms, edits:P or follows:FILE.",
        metavar="WHO",
    )
    assignments: tuple[str, ...] = common.assignments()
    database: str | None = option(
        "Store the training and each of its steps in this database, as a run.",
        None,
        metavar="URL",
        default="beside NETWORK, until it is over",
        common=True,
    )
    as_json: bool = common.as_json("Write what came of it as JSON to standard output.")
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

    An output scores 1 if it meets all criteria of the task, else 0. TASK may also be a file of
    examples (.jsonl, as for pxp lan train); an output then scores 1 if it equals the expected text
    or if the judge accepts it. Without TASK, the examples that NETWORK has handled are run again,
    as far as its agents have changed. NETWORK is not changed.
    """

    instead: ClassVar[Mapping[str, str]] = _JUDGE
    network: Path = _network()
    task: str | None = option("", None, argument=True)
    machine: str = _machine()
    assignments: tuple[str, ...] = common.assignments()
    seed: int = option("The seed of the split into training and testing examples.", 1)
    as_json: bool = common.as_json()
    models: common.ModelOptions


@dataclass(frozen=True, kw_only=True)
class RunNetworkTask:
    """Train on a task in three ways, and compare the results."""

    task: str = option(argument=True)
    machine: str = _machine()
    assignments: tuple[str, ...] = common.assignments()
    output: Path = common.run_output()
    database: str | None = common.new_database()
    as_json: bool = common.as_json()
    models: common.ModelOptions


@dataclass(frozen=True, kw_only=True)
class CompareNetworks:
    """Compute the LMD of two networks.

    LMD is the least manual editing (clicks, keys, drags) that turns one into the other. The table
    of published costs is pxp_fsm/plugins/easylan/distance/costs.toml.
    """

    before: Path = _network()
    after: Path = _network()
    as_json: bool = common.as_json()


@dataclass(frozen=True, kw_only=True)
class ServeNetwork:
    """Open the studio: edit, run and train NETWORK in a browser; a new one begins with its task.

    EXAMPLES, as for pxp lan train, are noted too.

    The page has four regions: the network, an agent, runs and examples, and the dialogue on each
    step of an update. The server listens on this machine alone and writes NETWORK and files beside
    it: how far a training has come, places of agents, examples, texts under way. Ctrl-C ends it;
    started again it goes on where it was.
    """

    instead: ClassVar[Mapping[str, str]] = _JUDGE
    network: Path = option("", Path("network.lan.json"), argument=True, metavar="[NETWORK]")
    examples: Path | None = option("", None, argument=True)
    machine: str | None = option(
        "The model of every agent (pxp help models), or script:FILE.",
        None,
        metavar="WHO",
        listed="models",
        default="none: the network is edited alone",
    )
    assignments: tuple[str, ...] = common.assignments()
    database: str | None = _steps()
    port: int | None = common.port()
    browser: bool = common.browser()
    models: common.ModelOptions
