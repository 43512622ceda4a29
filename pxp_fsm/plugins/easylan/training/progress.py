"""The state of a training as data: where its pipeline is, and what it has in hand.

It is stored with each event of the training's session, so that a training that was stopped goes
on at the next message of the step that was under way.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, field
from typing import Any

from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.tables import builtin
from pxp_fsm.documents import faults
from pxp_fsm.errors import DataError
from pxp_fsm.lazy_dataclasses import dataclass
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

    `version` is that of the network when its last run began, `run` that run, `satisfied` whether
    its output will do; `verdicts` says it of all outputs. `values` are the results of this
    iteration's steps, `agreed` those of each step with the context they were made from: an edit
    that changes no context changes no result; `reopened` those of the steps to which the developer
    went back. `begun` is the step under way with its context, `events` are its messages. `asked`
    counts what the developer has answered, `calls` how often models were asked, and `seconds` is
    how long the developer was, about anything but outputs. `name` is that of the training's
    sessions, `data` a digest of the `examples` given.
    """

    name: str = ""
    data: str = ""
    examples: list[Example] = field(default_factory=list)
    state: str = "IDLE"
    version: int = 0
    counters: Counters = field(default_factory=Counters)
    outcomes: list[ExampleResult] = field(default_factory=list)
    run: NetworkRun | None = None
    satisfied: bool = False
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
    calls: int = 0
    seconds: float = 0.0
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
    encoded = json.dumps([[example.external, example.truth] for example in examples])
    return hashlib.sha256(encoded.encode()).hexdigest()


def to_text(progress: TrainingProgress) -> str:
    """It as it is stored with an event."""
    return json.dumps(to_json(progress), ensure_ascii=False)


def from_text(text: str, session: str) -> TrainingProgress:
    """What is stored with an event of `session`. Raises `DataError`."""
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{session}: what is stored of the training is no JSON: {error}") from error
    for fault in faults(raw, schema()):
        raise DataError(f"{session}: what is stored of the training is broken: {fault.message}")
    return from_json(raw)


def to_json(progress: TrainingProgress) -> dict[str, Any]:
    """It as JSON of the form `schema`."""
    return {
        "name": progress.name,
        "data": progress.data,
        "examples": [asdict(example) for example in progress.examples],
        "state": progress.state,
        "version": progress.version,
        "counters": asdict(progress.counters),
        "outcomes": [asdict(outcome) for outcome in progress.outcomes],
        "run": None if progress.run is None else of_run(progress.run),
        "satisfied": progress.satisfied,
        "verdicts": progress.verdicts,
        "values": progress.values,
        "agreed": progress.agreed,
        "reopened": progress.reopened,
        "strategy": progress.strategy,
        "refused": progress.refused,
        "operations": list(map(files.of_operation, progress.operations)),
        "regressions": [
            {
                "handled": asdict(regression.handled),
                "why": regression.why,
                "run": None if regression.run is None else of_run(regression.run),
            }
            for regression in progress.regressions
        ],
        "steps": progress.steps,
        "asked": progress.asked,
        "calls": progress.calls,
        "seconds": progress.seconds,
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
        [Example(**example) for example in raw["examples"]],
        raw["state"],
        raw["version"],
        Counters(**raw["counters"]),
        [
            ExampleResult(**{**outcome, "example": Example(**outcome["example"])})
            for outcome in raw["outcomes"]
        ],
        None if run is None else run_from_json(run),
        raw["satisfied"],
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
        raw["calls"],
        raw["seconds"],
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
        "judgements": [asdict(judgement) for judgement in event.judgements],
    }


def _event(raw: Mapping[str, Any]) -> Event:
    message = {**raw["message"], "payload": Answer(**raw["message"]["payload"])}
    judgements = (
        Judgement(**{**judgement, "outcome": Outcome(judgement["outcome"])})
        for judgement in raw["judgements"]
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
    definitions = {
        name: definition
        for part in parts.values()
        for name, definition in part.pop("$defs").items()
    }
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
        name=text,
        data=text,
        examples={"type": "array", "items": example},
        state={"enum": [state.name for state in table.states]},
        version=number,
        counters=_object(iterations=number, retries=number),
        outcomes={"type": "array", "items": outcome},
        run=run,
        satisfied={"type": "boolean"},
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
        calls=number,
        seconds={"type": "number", "minimum": 0},
        why=text,
        begun={"oneOf": [{"type": "null"}, begun]},
        events={"type": "array", "items": event},
    )
    return {"$schema": DIALECT, **described, "$defs": definitions}
