"""What networks of LLM agents decide and count, by the rules of their two tables.

A running agent and a running update call these functions with what was found; the proofs call the
same functions with everything that could be. Source: EasyLAN (Pan, Li, Yu, Shi), sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Mapping

from pxp_fsm.automata.expressions import Value
from pxp_fsm.automata.rules import Values
from pxp_fsm.automata.tables import builtin
from pxp_fsm.lazy_dataclasses import dataclass

AGENT, PIPELINE = "lan_agent", "lan_pipeline"
"""The names of the two tables."""

_ANY: dict[str, Value] = {"found": "usable", "reason": "", "weakness": "", "returned": 0}
_ANY |= dict.fromkeys(("returns", "iterations", "retries", "most_iterations", "most_retries"), 0)

CAUSES: dict[str, tuple[str, ...]] = {
    "REASON_MADE": ("NO_AGENT", "WRONGLY_ACTIVE", "POOR"),
    "WEAKNESS_MADE": ("NOT_ACTIVATED", "LACKS_KNOWLEDGE", "NEEDS_STRUCTURE", "NEEDS_INPUTS"),
}
"""The causes of an error among which a step decides, by the state that follows it."""


def _decided(name: str, state: str, known: Mapping[str, Value]) -> str:
    """The guard that is true in `state` of a table; what is not `known` is of no account there."""
    rules = builtin(name).rules
    values = (known.get(stored_name, _ANY.get(stored_name, False)) for stored_name in rules.names)
    return rules.decide(state, tuple(values))


@dataclass(frozen=True, slots=True)
class Inputs:
    """What an agent knows when its inputs are there.

    `blocked`: a required predecessor is inactive; `enabled`: its control module decides.
    """

    blocked: bool
    enabled: bool


def gate_guard(inputs: Inputs) -> str:
    """The guard that is true in GATE: a required predecessor wins over *Enabled*."""
    return _decided(AGENT, "GATE", {"blocked": inputs.blocked, "enabled": inputs.enabled})


def reply_guard(
    state: str, *, usable: bool, active: bool = False, returned: int = 0, returns: int
) -> str:
    """The guard that is true after a module's reply, in CONTROLLED or EXECUTED.

    `usable`: it is of the form; `active`: it says so. `returned` of at most `returns` replies were
    sent back.
    """
    known = {"usable": usable, "active": active, "returned": returned, "returns": returns}
    return _decided(AGENT, state, known)


def returned_after(returned: int, label: str) -> int:
    """How many replies of the module that is asked were sent back, after a row with `label`."""
    (after,) = _stepped(AGENT, label, (0, returned))
    return after


@dataclass(frozen=True, slots=True)
class Facts:
    """What the guards of the pipeline look at; the oracles' answers, frozen.

    `complete`: the step's result is of its form and has no hole; `fresh`: the network is as it was
    when its last run began; `valid`: the copy has no cycle, and nothing else that it must not;
    `clean`: no earlier example is lost by the copy; `attended`: there is a developer.
    """

    satisfied: bool = False
    complete: bool = True
    fresh: bool = True
    valid: bool = True
    clean: bool = True
    iterations_left: bool = True
    retries_left: bool = True
    attended: bool = False
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Counters:
    """How many iterations an example has had, and how many retries the present iteration."""

    iterations: int = 0
    retries: int = 0


def pipeline_guard(state: str, facts: Facts, counters: Counters, most: Counters) -> str:
    """The guard that is true in a state of the pipeline that decides.

    `most` are the largest `counters`; those that `facts` speaks of are not looked at.
    """
    reply = "usable"
    if state == "WEIGH" and not facts.clean:
        reply = "costly" if facts.attended else "unusable"
    elif not (facts.valid if state == "VALIDATE" else facts.complete or state == "WEIGH"):
        reply = "unusable"
    known: dict[str, Value] = {
        "fresh": facts.fresh,
        "satisfied": facts.satisfied,
        "attended": facts.attended,
        "found": reply,
        "iterations": counters.iterations,
        "retries": counters.retries,
        "most_iterations": most.iterations,
        "most_retries": most.retries,
    }
    if facts.cause:
        known |= {"reason": facts.cause.lower(), "weakness": facts.cause.lower()}
    return _decided(PIPELINE, state, known)


def counted(counters: Counters, label: str) -> Counters:
    """The counters after a row with `label`."""
    return Counters(*_stepped(PIPELINE, label, (0, 0, counters.iterations, counters.retries)))


def _stepped(name: str, label: str, stored: Values) -> tuple[int, ...]:
    """The registers of a table after a row with `label`; all that have it count alike."""
    table = builtin(name)
    row = next(row for row in table.transitions if row.label == label)
    asked: Values = () if row.guard is None else (False,) * len(table.rules.oracles)
    return tuple(int(value) for value in table.rules.step(row, (*stored, *asked)))


def is_beginning(label: str) -> bool:
    """Whether a row with `label` begins a run of the network as it is then."""
    return label in _BEGINNINGS


_BEGINNINGS = frozenset({"EXAMPLE", "RUN_AGAIN", "RESTART", "COMMIT", "RESUME"})
