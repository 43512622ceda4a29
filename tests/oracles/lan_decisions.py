"""The decisions of EasyLAN written a second time, as functions: what its tables must say.

Source: EasyLAN (Pan, Li, Yu, Shi), sections 3 and 4.
"""

from __future__ import annotations

from pxp_fsm.plugins.easylan.decisions import CAUSES, Counters, Facts, Inputs


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
