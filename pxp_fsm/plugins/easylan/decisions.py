"""The decision functions of networks of LLM agents: guards and counters. Written once.

A running agent and a running update call these functions with what was found; the proofs call the
same functions with everything that could be. Source: EasyLAN (Pan, Yu, Li, Shi), sections 3 and 4.
"""

from __future__ import annotations

from dataclasses import dataclass

AGENT, PIPELINE = "lan_agent", "lan_pipeline"
"""The names of the two tables."""

CAUSES: dict[str, tuple[str, ...]] = {
    "REASON_MADE": ("NO_AGENT", "WRONGLY_ACTIVE", "POOR"),
    "WEAKNESS_MADE": ("NOT_ACTIVATED", "LACKS_KNOWLEDGE", "NEEDS_STRUCTURE", "NEEDS_INPUTS"),
}
"""The causes of an error among which a step decides, by the state that follows it."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What an agent knows when its inputs are there.

    `blocked`: a required predecessor is inactive; `enabled`: its control module decides.
    """

    blocked: bool
    enabled: bool


def gate_guard(inputs: Inputs) -> str:
    """The guard that is true in GATE: a required predecessor wins over *Enabled*."""
    if inputs.blocked:
        return "BLOCKED"
    return "ASK" if inputs.enabled else "ALWAYS"


def reply_guard(usable: bool, tries_left: bool, meaning: str) -> str:
    """The guard that is true after a module's reply: its `meaning` only if it is of the form."""
    if usable:
        return meaning
    return "AGAIN" if tries_left else "LOST"


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


def pipeline_guard(state: str, facts: Facts) -> str:
    """The guard that is true in a state of the pipeline that decides."""
    if state == "HAND_OVER":
        return "ATTENDED" if facts.attended else "ALONE"
    if not facts.fresh:
        return "STALE"
    if state == "JUDGE":
        return _judged(facts)
    passed = _passes(state, facts)
    if passed:
        return passed
    if state == "WEIGH" and facts.attended:
        return "REGRESSES"
    return "AGAIN" if facts.retries_left else "STUCK"


def _judged(facts: Facts) -> str:
    if facts.satisfied:
        return "SATISFIED"
    return "MORE" if facts.iterations_left else "EXHAUSTED"


def _passes(state: str, facts: Facts) -> str:
    """The guard by which the pipeline goes on from `state`; empty where it cannot."""
    if state == "VALIDATE":
        return "VALID" if facts.valid else ""
    if state == "WEIGH":
        return "CLEAN" if facts.clean else ""
    if state == "COMMIT":
        return "FRESH"
    if not facts.complete:
        return ""
    return facts.cause if state in CAUSES else "READY"


@dataclass(frozen=True, slots=True)
class Counters:
    """How many iterations an example has had, and how many retries the present iteration."""

    iterations: int = 0
    retries: int = 0


def counted(counters: Counters, label: str) -> Counters:
    """The counters after a row with `label`.

    That a step is agreed on resets nothing: otherwise a copy that is never valid would be made
    again for ever. Only a new iteration has new retries, and only a word from outside (an example,
    the developer) has new iterations. An iteration that an edit of the network ends is not counted.
    """
    if label in ("EXAMPLE", "RESUME"):
        return Counters()
    if label == "BEGIN":
        return Counters(counters.iterations + 1, 0)
    if label == "RESTART":
        return Counters(max(counters.iterations - 1, 0), counters.retries)
    if label == "REPEAT":
        return Counters(counters.iterations, counters.retries + 1)
    return counters


def is_beginning(label: str) -> bool:
    """Whether a row with `label` begins a run of the network as it is then."""
    return label in _BEGINNINGS


_BEGINNINGS = frozenset({"EXAMPLE", "RUN_AGAIN", "RESTART", "COMMIT", "RESUME"})
