"""The state of a training as data: where its pipeline is, and what it has in hand.

It is written to a file beside the network after each thing that happens, so that a training that
was stopped goes on at the next message of the step that was under way.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pxp_fsm.artifacts import write_atomically
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.tables import builtin
from pxp_fsm.documents import faults, read, text_of
from pxp_fsm.errors import FileError
from pxp_fsm.plugins.easylan.decisions import PIPELINE, Counters
from pxp_fsm.plugins.easylan.model import files
from pxp_fsm.plugins.easylan.model.network import HandledExample
from pxp_fsm.plugins.easylan.model.operations import LoggedOperation, Operation
from pxp_fsm.plugins.easylan.running.execution import NetworkRun
from pxp_fsm.plugins.easylan.running.serialization import of_run, run_from_json
from pxp_fsm.plugins.easylan.training.regressions import Regression
from pxp_fsm.plugins.easylan.training.steps import Strategy, UpdateStep, agents_of
from pxp_fsm.protocol.messages import Answer, Message
from pxp_fsm.protocol.relations import Judgement, Outcome
from pxp_fsm.schemas import DIALECT, read_value, value_schema
from pxp_fsm.sessions.events import Event

FORMAT, VERSION = "pxp-fsm training", 2


@dataclass(frozen=True, slots=True)
class Example:
    """A training example: an input of the network, and the output that is asked for.

    An empty `truth` is not known yet: the developer says it once they have seen an output.
    """

    external: str
    truth: str = ""


@dataclass(frozen=True, slots=True)
class ExampleResult:
    """What came of an example: handled after how many iterations, or not, and why."""

    example: Example
    handled: bool
    iterations: int
    why: str = ""


@dataclass
class TrainingProgress:
    """Where a training's pipeline is, and what it has in hand about the present example.

    `version` is that of the network when its last run began, `run` that run; `verdicts` says of
    outputs whether they will do. `values` are the results of this iteration's steps, `agreed` those
    of each step with the context they were made from: an edit that changes no context changes no
    result; `reopened` those of the steps to which the developer went back. `begun` is the step
    under way with its context, `events` are its messages. `asked` counts what the developer has
    answered. `name` is that of the training's sessions, `data` a digest of the `examples` given.
    """

    name: str = ""
    data: str = ""
    examples: list[Example] = field(default_factory=list)
    state: str = "IDLE"
    version: int = 0
    counters: Counters = field(default_factory=Counters)
    outcomes: list[ExampleResult] = field(default_factory=list)
    run: NetworkRun | None = None
    verdicts: dict[str, bool] = field(default_factory=dict)
    values: dict[UpdateStep, object] = field(default_factory=dict)
    agreed: dict[UpdateStep, tuple[str, object]] = field(default_factory=dict)
    reopened: dict[UpdateStep, tuple[str, object]] = field(default_factory=dict)
    strategy: Strategy | None = None
    refused: tuple[object, str] | None = None
    operations: tuple[Operation, ...] = ()
    regressions: tuple[Regression, ...] = ()
    steps: int = 0
    asked: int = 0
    why: str = ""
    begun: tuple[UpdateStep, str] | None = None
    events: tuple[Event, ...] = ()

    @property
    def agent(self) -> str:
        """The agent that the error is about; empty where it is about none."""
        return agents_of(self.values.get(UpdateStep.REASON))[0]

    @property
    def update(self) -> str:
        """What the update is about, in a few words: the strategy, and the agent."""
        about, new = agents_of(self.values.get(UpdateStep.REASON))
        return f"{self.strategy}: {about or new}".rstrip(": ")


def digest_of(examples: Iterable[Example]) -> str:
    """SHA-256 (hex) of the examples of a training."""
    said = json.dumps([[one.external, one.truth] for one in examples])
    return hashlib.sha256(said.encode()).hexdigest()


def path_of(network: Path) -> Path:
    """The file in which the progress of training the network in a file is kept."""
    return network.with_name(f"{network.name}.training")


def save(progress: TrainingProgress, path: Path) -> None:
    """Write it into a file, whole or not at all. Raises as `write_atomically` does."""
    write_atomically(path, json.dumps(to_json(progress), ensure_ascii=False) + "\n")


def load(path: Path) -> TrainingProgress:
    """The progress that a file holds. Raises `FileError`."""
    text = text_of(path, "the progress of a training", most=files.MOST_BYTES)
    raw = read(text, str(path), is_json=True)
    found = faults(raw, schema())
    if found:
        remedy = "remove the file to begin the training anew"
        raise FileError(f"{path}: {fault.message}; {remedy}" for fault in found)
    return from_json(raw)


def to_json(progress: TrainingProgress) -> dict[str, Any]:
    """It as JSON of the form `schema`."""
    return {
        "format": FORMAT,
        "format_version": VERSION,
        "name": progress.name,
        "data": progress.data,
        "examples": [asdict(one) for one in progress.examples],
        "state": progress.state,
        "version": progress.version,
        "counters": asdict(progress.counters),
        "outcomes": [asdict(one) for one in progress.outcomes],
        "run": None if progress.run is None else of_run(progress.run),
        "verdicts": progress.verdicts,
        "values": progress.values,
        "agreed": progress.agreed,
        "reopened": progress.reopened,
        "strategy": progress.strategy,
        "refused": progress.refused,
        "operations": list(map(files.of_operation, progress.operations)),
        "regressions": [
            {
                "handled": asdict(one.handled),
                "why": one.why,
                "run": None if one.run is None else of_run(one.run),
            }
            for one in progress.regressions
        ],
        "steps": progress.steps,
        "asked": progress.asked,
        "why": progress.why,
        "begun": progress.begun,
        "events": list(map(_written, progress.events)),
    }


def from_json(raw: Mapping[str, Any]) -> TrainingProgress:
    """The progress that JSON of the form `schema` means."""
    refused, run = raw["refused"], raw["run"]
    return TrainingProgress(
        raw["name"],
        raw["data"],
        [Example(**one) for one in raw["examples"]],
        raw["state"],
        raw["version"],
        Counters(**raw["counters"]),
        [ExampleResult(**{**one, "example": Example(**one["example"])}) for one in raw["outcomes"]],
        None if run is None else run_from_json(run),
        dict(raw["verdicts"]),
        {UpdateStep(step): value for step, value in raw["values"].items()},
        {UpdateStep(step): (x, value) for step, (x, value) in raw["agreed"].items()},
        {UpdateStep(step): (x, value) for step, (x, value) in raw["reopened"].items()},
        None if raw["strategy"] is None else Strategy(raw["strategy"]),
        None if refused is None else (refused[0], refused[1]),
        tuple(map(files.operation, raw["operations"])),
        tuple(map(_regression, raw["regressions"])),
        raw["steps"],
        raw["asked"],
        raw["why"],
        None if raw["begun"] is None else (UpdateStep(raw["begun"][0]), raw["begun"][1]),
        tuple(map(_event, raw["events"])),
    )


def _regression(raw: Mapping[str, Any]) -> Regression:
    run = None if raw["run"] is None else run_from_json(raw["run"])
    return Regression(read_value(HandledExample, raw["handled"])[0], run, raw["why"])


def _written(event: Event) -> dict[str, Any]:
    return {
        "message": asdict(event.carried),
        "addition": event.addition,
        "judgements": [asdict(one) for one in event.judgements],
    }


def _event(raw: Mapping[str, Any]) -> Event:
    message = {**raw["message"], "payload": Answer(**raw["message"]["payload"])}
    judgements = (
        Judgement(**{**one, "outcome": Outcome(one["outcome"])}) for one in raw["judgements"]
    )
    return Event.of_message(Message(**message), raw["addition"], judgements)


def _object(**properties: object) -> dict[str, object]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": properties,
    }


def schema() -> dict[str, Any]:
    """The JSON Schema of such files."""
    table: Automaton = builtin(PIPELINE)
    text, number = {"type": "string"}, {"type": "integer", "minimum": 0}
    anything: dict[str, object] = {}
    pair = {"type": "array", "minItems": 2, "maxItems": 2}
    steps = {"propertyNames": {"enum": list(map(str, UpdateStep))}, "type": "object"}
    parts = {kind: value_schema(kind) for kind in (NetworkRun, HandledExample, LoggedOperation)}
    definitions = {name: one for part in parts.values() for name, one in part.pop("$defs").items()}
    run = {"oneOf": [{"type": "null"}, parts[NetworkRun]]}
    message = _object(
        session=text,
        number=number,
        sender=text,
        tag=text,
        payload=_object(prediction=text, explanation=text),
        receiver=text,
    )
    judgement = _object(
        relation=text,
        left=text,
        right=text,
        outcome={"enum": list(map(str, Outcome))},
        asked={"type": "boolean"},
        seconds={"type": "number"},
        detail=text,
    )
    example = _object(external=text, truth=text)
    outcome = _object(example=example, handled={"type": "boolean"}, iterations=number, why=text)
    event = _object(
        message=message, addition=text, judgements={"type": "array", "items": judgement}
    )
    regression = _object(handled=parts[HandledExample], why=text, run=run)
    results = {**steps, "additionalProperties": {**pair, "prefixItems": [text, anything]}}
    begun = {**pair, "prefixItems": [{"enum": list(map(str, UpdateStep))}, text]}
    described = _object(
        format={"const": FORMAT},
        format_version={"const": VERSION},
        name=text,
        data=text,
        examples={"type": "array", "items": example},
        state={"enum": [state.name for state in table.states]},
        version=number,
        counters=_object(iterations=number, retries=number),
        outcomes={"type": "array", "items": outcome},
        run=run,
        verdicts={"type": "object", "additionalProperties": {"type": "boolean"}},
        values={**steps, "additionalProperties": anything},
        agreed=results,
        reopened=results,
        strategy={"enum": [None, *map(str, Strategy)]},
        refused={"oneOf": [{"type": "null"}, {**pair, "prefixItems": [anything, text]}]},
        operations={"type": "array", "items": parts[LoggedOperation]},
        regressions={"type": "array", "items": regression},
        steps=number,
        asked=number,
        why=text,
        begun={"oneOf": [{"type": "null"}, begun]},
        events={"type": "array", "items": event},
    )
    return {"$schema": DIALECT, **described, "$defs": definitions}
