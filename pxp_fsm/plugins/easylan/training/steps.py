"""The four steps of an update: the format of each result, its faults, MATCH and AGREE.

A result is JSON in which `<??>` stands for whatever the system fills in (section 4.2.1).

Source: EasyLAN (Pan, Li, Yu, Shi), sections 4.1.2 and 5.2, Tables 3 and 4.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from pxp_fsm.documents import faults
from pxp_fsm.errors import DataError, format_path, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.easylan.model.network import Network, name_problem
from pxp_fsm.plugins.easylan.running.requests import form, text
from pxp_fsm.protocol.relations import (
    TOLERANCE,
    Assumption,
    Outcome,
    Relation,
    RelationReply,
    in_session,
)

HOLE = "<??>"


def holes(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of a JSON value at which a text has a hole in it, or is one."""
    if isinstance(value, str):
        if HOLE in value:
            yield path
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from holes(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from holes(item, (*path, index))


def fits(pattern: object, value: object) -> bool:
    """Whether `value` is `pattern` with its holes filled in."""
    if isinstance(pattern, str) and HOLE in pattern:
        if pattern == HOLE:
            return True
        parts = map(re.escape, pattern.split(HOLE))
        return isinstance(value, str) and bool(re.fullmatch(".*".join(parts), value, re.DOTALL))
    if isinstance(pattern, dict) and isinstance(value, dict):
        return pattern.keys() == value.keys() and all(fits(pattern[k], value[k]) for k in pattern)
    if isinstance(pattern, list) and isinstance(value, list):
        pairs = zip(pattern, value, strict=False)
        return len(pattern) == len(value) and all(fits(*pair) for pair in pairs)
    return type(pattern) is type(value) and pattern == value


def written(value: object) -> str:
    """A step's result as the text that a message carries."""
    return json.dumps(value, ensure_ascii=False)


def value_of(text: str) -> object:
    """The JSON value of a message's text; raises `DataError`."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"a step's result must be JSON, not {quoted(text)}: {error}") from error


@dataclass(frozen=True)
class SameJson:
    """MATCH: two JSON values are equal, or one is the other with its holes filled in."""

    name = "JSON with holes"
    assumptions: frozenset[Assumption] = TOLERANCE

    async def holds(self, left: str, right: str) -> Outcome:
        first, other = value_of(left), value_of(right)
        return Outcome.YES if fits(first, other) or fits(other, first) else Outcome.NO


@dataclass(frozen=True)
class HintFollowed:
    """AGREE: there is no hint, or `judge` finds that the rationale follows it.

    A hint stands where a developer's explanation is. Without a judge only the same text follows it.
    """

    judge: Relation | None = None

    @property
    def name(self) -> str:
        return "no hint" if self.judge is None else f"no hint, or {self.judge.name}"

    @property
    def assumptions(self) -> frozenset[Assumption]:
        """As the judge's; but what agrees with no hint at all is not transitive."""
        assumed = TOLERANCE if self.judge is None else self.judge.assumptions
        return assumed - {Assumption.TRANSITIVE}

    def for_session(self, session: str) -> HintFollowed:
        """The same, its judge asked in `session`."""
        return HintFollowed(None if self.judge is None else in_session(self.judge, session))

    async def holds(self, left: str, right: str) -> Outcome | RelationReply:
        if not left.strip() or not right.strip() or left == right:
            return Outcome.YES
        return Outcome.NO if self.judge is None else await self.judge.holds(left, right)


class UpdateStep(StrEnum):
    """The steps, by the states of the pipeline in which they are made."""

    GAP = "GAP"
    REASON = "REASON"
    WEAKNESS = "WEAKNESS"
    PARAMETERS = "PARAMETERS"

    @property
    def number(self) -> int:
        """Its number in the paper, from 1."""
        return list(UpdateStep).index(self) + 1


class Strategy(StrEnum):
    """The strategies, by the labels of the pipeline's rows that choose them."""

    ADD_AGENT = "ADD_AGENT"
    KEEP_OFF = "KEEP_OFF"
    TURN_ON = "TURN_ON"
    ADD_KNOWLEDGE = "ADD_KNOWLEDGE"
    SPLIT = "SPLIT"
    ADD_INPUTS = "ADD_INPUTS"


LACK = "lack_of_agent"
"""The reason type of step 2 that is about no agent of the network."""

CAUSE_OF: Mapping[str, str] = {
    LACK: "NO_AGENT",
    "unexpected_execution_of_agent": "WRONGLY_ACTIVE",
    "poor_performance_of_agent": "POOR",
    "not_activated": "NOT_ACTIVATED",
    "lack_of_knowledge": "LACKS_KNOWLEDGE",
    "need_finer_structure": "NEEDS_STRUCTURE",
    "need_inputs": "NEEDS_INPUTS",
}
"""The pipeline's guard for each reason type of steps 2 and 3."""

_TYPES = tuple(CAUSE_OF)
_NAMES = {"type": "array", "items": {"type": "string"}}
_TEXTS = {
    "type": "array",
    "items": {"type": "string"},
    "description": "one piece of knowledge each",
}


def _agent(**more: object) -> dict[str, object]:
    return form(
        name=text("a short name of its own"),
        task=text("its subtask"),
        output=text("what its output is"),
        enabled={"type": "boolean", "description": "false: it is active under any input"},
        required={**_NAMES, "description": "predecessors without which it is inactive"},
        control_knowledge=_TEXTS,
        knowledge=_TEXTS,
        **more,
    )


_FROM = {**_NAMES, "description": "the agents whose outputs it receives"}
_TO = {**_NAMES, "description": "the agents that receive its output"}
_KNOWLEDGE = form(knowledge=text("a general rule, with a concrete example"))
_PARAMETERS: Mapping[Strategy, dict[str, object]] = {
    Strategy.ADD_AGENT: form(agent=_agent(), **{"from": _FROM, "to": _TO}),
    Strategy.KEEP_OFF: _KNOWLEDGE,
    Strategy.TURN_ON: _KNOWLEDGE,
    Strategy.ADD_KNOWLEDGE: _KNOWLEDGE,
    Strategy.SPLIT: form(
        kind={"type": "string", "enum": ["sequential", "parallel"]},
        agents={"type": "array", "items": _agent(), "minItems": 2},
        edges={
            "type": "array",
            "items": form(**{"from": text("an agent"), "to": text("an agent")}),
            "description": "between the parts, and between them and the agent's neighbours; empty: "
            "each part receives what the agent did, sequential ones also the one before",
        },
    ),
    Strategy.ADD_INPUTS: form(
        **{"from": _FROM},
        required={**_NAMES, "description": "those of its inputs without which it is inactive"},
        new_agents={"type": "array", "items": _agent(**{"from": _FROM})},
    ),
}


_MAY_BE_LEFT_OUT = frozenset({"required", "edges"})


def _relaxed(schema: Any) -> Any:
    """A form in which what may be left out, as by a script that is older than it, may be."""
    if isinstance(schema, list):
        return list(map(_relaxed, schema))
    if not isinstance(schema, dict):
        return schema
    relaxed = {key: _relaxed(part) for key, part in schema.items()}
    if schema.get("type") == "object":
        relaxed["required"] = [key for key in schema["required"] if key not in _MAY_BE_LEFT_OUT]
    return relaxed


def form_of(step: UpdateStep, strategy: Strategy | None = None) -> dict[str, object]:
    """The JSON Schema of a step's result; of the last step, with its strategy's parameters."""
    if step is UpdateStep.GAP:
        return form(gap=text("the deficiency, and the subtask that it is of"))
    if step is UpdateStep.REASON:
        return form(
            reason_type={"type": "string", "enum": list(_TYPES[:3])},
            agent_name=text(f"the agent that it is about; of {LACK}, a name for the one to add"),
            reason_content=text("why the gap exists"),
        )
    if step is UpdateStep.WEAKNESS:
        return form(
            reason_type={"type": "string", "enum": list(_TYPES[3:])},
            reason_content=text("why the agent does poorly"),
        )
    return form(parameters=_PARAMETERS[strategy or Strategy.ADD_AGENT])


def problem_of(
    step: UpdateStep, value: object, network: Network, strategy: Strategy | None = None
) -> str | None:
    """Why `value` is no result of the step, or None: a hole, another form, an agent unknown.

    Whether the network could be updated by it is another question (`strategies.operations_of`).
    """
    hole = next(holes(value), None)
    if hole is not None:
        return f"there is a hole at {format_path(hole)}"
    if not isinstance(value, dict):
        return f"it is not a JSON object, but {quoted(value)}"
    wrong = faults(value, _relaxed(form_of(step, strategy)))
    if wrong:
        return "; ".join(fault.message for fault in wrong)
    return _named_problem(value, network) if step is UpdateStep.REASON else None


def _named_problem(value: Mapping[str, Any], network: Network) -> str | None:
    name, known = value["agent_name"], ", ".join(network.names)
    if value["reason_type"] == LACK:
        if name in network.names:
            return (
                f"there is an agent {quoted(name)} already; of {LACK}, agent_name is a name for "
                f"the agent to add, or empty"
            )
        return name_problem(name) if name else None
    if name not in network.names:
        return f"there is no agent {quoted(name)}; there are: {known}"
    return None


def agents_of(reason: object) -> tuple[str, str]:
    """The agent that a result of step 2 is about, and the name of the one to add; "" is none.

    The paper's own result names the agent that is missing (Figure 5): the name is the new agent's.
    """
    if not isinstance(reason, dict):
        return "", ""
    name = str(reason.get("agent_name", ""))
    return ("", name) if reason.get("reason_type") == LACK else (name, "")


def closed_fields(step: UpdateStep, strategy: Strategy | None) -> Mapping[str, tuple[str, ...]]:
    """The fields of a step's result that have a closed list of values."""
    properties = form_of(step, strategy)["properties"]
    if not isinstance(properties, dict):
        return {}
    return {
        name: tuple(property_schema["enum"])
        for name, property_schema in properties.items()
        if "enum" in property_schema
    }
